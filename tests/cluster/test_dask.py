"""Blocks of Dask collections learned here, one by one: the same bits as by hand, and errors that say where."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask.delayed import delayed
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

import pater.dask
from pater import AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier, TERClassifier, merge_all
from pater.estimators.blocks import shares, spread
from pater.estimators.load import load
from pater.estimators.shards import begun_bytes, starting_from, together, without_begun
from pater.files.in_bytes import from_bytes, to_bytes
from pater.models import shards
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline

CUTS = [0, 300, 450, 451, 700]


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """No cluster, no threads, and tables that begin with few rows."""
    monkeypatch.setattr(shards, "BEGINNING", 300)
    with dask.config.set(scheduler="sync"):
        yield


def rows(n=700, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), np.linspace(-0.5, 1, n_classes - 1))


def pieces(X, y, cuts=CUTS):
    return [(X[a:b], y[a:b]) for a, b in pairwise(cuts)]


def as_arrays(X, y, cuts=CUTS):
    sizes = tuple(np.diff(cuts).tolist())
    return da.from_array(X, chunks=(sizes, X.shape[1])), da.from_array(y, chunks=(sizes,))


def content(model):
    return to_bytes(model.save)


def by_hand(estimator, parts):
    return merge_all(clone(estimator).partial_fit(X, y) for X, y in parts if len(y))


def table(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"amount": rng.lognormal(size=n), "country": rng.choice(["de", "fr", "jp"], n)})
    frame["fraud"] = np.where((frame["amount"] > 2) | (frame["country"] == "jp"), "yes", "no")
    return frame


def behind_encoder(learner=None, **params):
    learner = SecondOrderPATERClassifier(covariance="diagonal") if learner is None else learner
    return OnlinePipeline([("columns", TableEncoder(**{"warm_up": 200, **params})), ("learner", learner)])


@pytest.mark.first_quick
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "estimator",
    [
        PATERClassifier("II"),
        SecondOrderPATERClassifier(probability=True),
        AutoPATERClassifier(),
        TERClassifier(class_weight={0: 2.0}, ridge=0.1),
    ],
)
def test_it_is_what_merging_the_blocks_by_hand_comes_to(estimator, n_classes):
    X, y = rows(n_classes=n_classes)
    model = pater.dask.fit(estimator, *as_arrays(X, y))
    assert content(model) == content(by_hand(estimator, pieces(X, y)))
    assert type(model) is type(estimator)
    assert model.get_params() == estimator.get_params()
    assert not hasattr(estimator, "_model")
    one = clone(estimator)
    for some, labels in pieces(X, y):
        one.partial_fit(some, labels)
    assert content(pater.dask.fit(estimator, *as_arrays(X, y), exact="sequential")) == content(one)


def test_blocks_of_all_kinds_are_learned_from():
    X, y = rows()
    wanted = content(by_hand(PATERClassifier(), pieces(X, y)))
    dX, dy = as_arrays(X, y)
    of_frame = dd.concat([dd.from_pandas(pd.DataFrame(X[a:b]), npartitions=1) for a, b in pairwise(CUTS)])
    batches = [delayed(lambda a, b: (X[a:b], y[a:b]))(a, b) for a, b in pairwise(CUTS)]
    unknown, unknown_labels = of_frame.to_dask_array(), dy[dy > -1]
    assert np.isnan(unknown.chunks[0]).all()
    assert np.isnan(unknown_labels.chunks[0]).all()
    for given in (
        (dX, dy),
        (unknown, unknown_labels),
        (unknown, dy),
        (dX, unknown_labels),
        (of_frame, dy),
        (batches,),
        ([*zip(dX.to_delayed().ravel(), dy.to_delayed(), strict=True)],),
    ):
        assert content(pater.dask.fit(PATERClassifier(), *given)) == wanted
    with dask.config.set(scheduler="threads"):
        assert content(pater.dask.fit(PATERClassifier(), dX, dy)) == wanted


class Coordinates:
    """Looks like a block of the package `sparse`."""

    def __init__(self, block):
        self.block, self.shape, self.ndim, self.dtype = block, block.shape, 2, block.dtype

    def to_scipy_sparse(self):
        return sp.coo_matrix(self.block)


def test_sparse_blocks_are_learned_from_and_predicted():
    X, y = rows()
    X[np.abs(X) < 0.5] = 0
    dX, dy = as_arrays(X, y)
    wanted = by_hand(PATERClassifier(), [(sp.csr_array(some), labels) for some, labels in pieces(X, y)])
    for form in (sp.csr_array, sp.csc_matrix, sp.coo_array, Coordinates):
        blocks = dX.map_blocks(form, meta=np.empty((0, 3)))
        model = pater.dask.fit(PATERClassifier(), blocks, dy)
        assert content(model) == content(wanted)
        assert (pater.dask.predict(model, blocks).compute() == wanted.predict(sp.csr_array(X))).all()


def test_weights_text_and_class_weights_go_along():
    X, y = rows()
    names, weights = np.array(["no", "maybe"])[y], np.random.default_rng(1).random(y.size)
    estimator = PATERClassifier("II", class_weight={"maybe": 3.0})
    dX, dy = as_arrays(X, names)
    model = pater.dask.fit(estimator, dX, dy, sample_weight=as_arrays(X, weights)[1])
    parts = [clone(estimator).partial_fit(X[a:b], names[a:b], sample_weight=weights[a:b]) for a, b in pairwise(CUTS)]
    assert content(model) == content(merge_all(parts))
    assert model.classes_.tolist() == ["maybe", "no"]


@pytest.mark.slow
def test_blocks_may_be_empty_of_one_class_or_alone_with_a_class():
    X, y = rows(n_classes=3)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    cuts = [0, 0, 10, np.searchsorted(y, 1), np.searchsorted(y, 1), 600, 700, 700]
    for estimator in (PATERClassifier(), SecondOrderPATERClassifier(), AutoPATERClassifier()):
        model = pater.dask.fit(estimator, *as_arrays(X, y, cuts))
        assert model.classes_.tolist() == [0, 1, 2]
        assert content(model) == content(by_hand(estimator, pieces(X, y, cuts)))
        told = pater.dask.fit(estimator, *as_arrays(X, y, cuts), classes=[0, 1, 2, 3])
        assert told.classes_.tolist() == [0, 1, 2, 3]
        one = pater.dask.fit(estimator, *as_arrays(X, y, cuts), exact="sequential")
        assert one.classes_.tolist() == [0, 1, 2]


def test_a_table_begins_with_rows_of_all_blocks_and_counts_each_row_once():
    frame = table()
    frame.loc[1100:1200, "country"] = "only here"
    X, y = frame.drop(columns="fraud"), frame["fraud"]
    estimator, cuts = behind_encoder(), [0, 500, 1000, 1500]
    batches = [delayed((X[a:b], y[a:b])) for a, b in pairwise(cuts)]
    model = pater.dask.fit(estimator, batches)
    begun = begun_bytes(estimator, [(X[a : a + 100], y[a : a + 100], None) for a in cuts[:-1]])
    parts = [
        without_begun(begun, starting_from(begun, estimator).partial_fit(X[a:b], y[a:b])) for a, b in pairwise(cuts)
    ]
    assert content(model) == content(together(begun, merge_all(from_bytes(content(part), load) for part in parts)))
    assert model.named_steps["columns"].encoding_.rows == model.named_steps["learner"].t_ == 1500
    assert "country=only here" in model.named_steps["columns"].get_feature_names_out()
    assert model.score(X, y) > 0.8
    assert not hasattr(estimator.steps[0][1], "_stream")
    one = clone(estimator)
    for a, b in pairwise(cuts):
        one.partial_fit(X[a:b], y[a:b])
    assert content(pater.dask.fit(estimator, batches, exact="sequential")) == content(one)
    model.partial_fit(X, y)


@pytest.mark.first_quick
@pytest.mark.parametrize("learner", [PATERClassifier("II"), AutoPATERClassifier()])
def test_a_table_may_begin_with_one_class_and_weights(learner):
    frame = table(1500)
    X, y, weights = frame.drop(columns="fraud"), frame["fraud"].to_numpy(object), np.linspace(0, 2, 1500)
    y[:1300], y[1400:] = "no", "perhaps"
    batches = [delayed((X[a:b], y[a:b], weights[a:b])) for a, b in pairwise([0, 300, 700, 1200, 1500])]
    model = pater.dask.fit(behind_encoder(learner), [*batches[:3], delayed((X[:0], y[:0], weights[:0])), batches[3]])
    assert model.classes_.tolist() == ["no", "perhaps", "yes"]
    assert model.named_steps["columns"].encoding_.rows == 1499  # the first of which weighs nothing


@pytest.mark.parametrize("exact", [None, "sequential"])
def test_a_table_of_few_rows_is_learned_as_one_block(exact):
    frame = table(250)
    X, y = frame.drop(columns="fraud"), frame["fraud"]
    cuts = [0, 0, 100, 101, 250]
    batches = [delayed((X[a:b], y[a:b])) for a, b in pairwise(cuts)]
    model = pater.dask.fit(behind_encoder(), batches, exact=exact)
    whole = behind_encoder().partial_fit(X, y)
    assert (model.decision_function(X) == whole.decision_function(X)).all()
    assert model.named_steps["columns"].encoding_.rows == 250


def test_a_table_whose_first_blocks_are_short_looks_at_more():
    frame = table(1200)
    X, y = frame.drop(columns="fraud"), frame["fraud"]
    cuts = [*range(0, 400, 20), 400, 400, 1200]
    batches = [delayed((X[a:b], y[a:b])) for a, b in pairwise(cuts)]
    model = pater.dask.fit(behind_encoder(), batches)
    assert model.named_steps["columns"].encoding_.rows == 1200
    assert model.score(X, y) > 0.75


def test_blocks_that_give_rows_are_spread_and_give_alike():
    assert spread(3, 8) == [0, 1, 2]
    assert spread(80, 8) == list(range(0, 80, 10))
    assert set(spread(81, 8)) <= set(spread(81, 16))
    assert shares({0: 500, 10: 500, 20: 500}, 1000) == {0: 334, 10: 333, 20: 333}
    assert shares({0: 0, 1: 50, 2: 5000, 3: 5000}, 1000) == {1: 50, 2: 475, 3: 475}
    assert sum(shares(dict.fromkeys(range(7), 150), 1000).values()) == 1000


def test_each_partition_is_read_once(tmp_path):
    def read(k):
        (tmp_path / f"{k}-{len(list(tmp_path.iterdir()))}").touch()
        return table(200, seed=k)

    frame = dd.from_map(read, range(12), meta=table(2))
    pater.dask.fit(behind_encoder(), frame.drop(columns="fraud"), frame["fraud"])
    assert sorted(int(path.name.partition("-")[0]) for path in tmp_path.iterdir()) == list(range(12))

    def read_numbers(block_info=None):
        (tmp_path / f"block-{len(list(tmp_path.iterdir()))}").touch()
        return np.random.default_rng(0).normal(size=(100, 4))

    numbers = da.map_blocks(read_numbers, chunks=((100,) * 5, (4,)), dtype=float, meta=np.empty((0, 0)))
    pater.dask.fit(PATERClassifier(), numbers[:, :3], numbers[:, 3] > 0)
    assert len(list(tmp_path.glob("block-*"))) == 5


def test_blocks_of_a_file_are_its_partitions_whatever_columns_are_read(tmp_path):
    for k in range(5):
        frame = table(200, seed=k).assign(more=1.0, other=2.0, third=3.0, fourth=4.0)
        frame.to_parquet(tmp_path / f"part-{k}.parquet")
    frame = dd.read_parquet(tmp_path)
    labels = (frame["fraud"] == "yes").astype(int)
    model = pater.dask.fit(PATERClassifier(), frame[["amount"]], labels)
    parts = [table(200, seed=k) for k in range(5)]
    assert content(model) == content(
        by_hand(PATERClassifier(), [(each[["amount"]], (each["fraud"] == "yes").astype(int)) for each in parts])
    )
    assert model.feature_names_in_.tolist() == ["amount"]


X, Y = rows()
DX, DY = as_arrays(X, Y)
FRAME = dd.from_pandas(table(60), npartitions=3)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((PATERClassifier(), X, Y), TypeError, "X is a numpy ndarray; .* in memory"),
        ((PATERClassifier(), DX, Y), TypeError, "y is a numpy ndarray; it must be a dask array"),
        ((PATERClassifier(), DX), TypeError, "y is None"),
        ((PATERClassifier(), DX.rechunk((700, 2)), DY), ValueError, r"2 chunks of columns.*X\.rechunk\(\{1: -1\}\)"),
        ((PATERClassifier(), DX[:, 0], DY), ValueError, "X must have rows and columns, but it has 1 dimension"),
        ((PATERClassifier(), DX, DX), ValueError, "y must be one column"),
        ((PATERClassifier(), DX, DY.rechunk(350)), ValueError, r"X has 4 blocks of rows, y has 2.*y\.rechunk"),
        ((PATERClassifier(), DX, DY[::-1]), ValueError, "block 0 of X has 300 rows, that of y has 249"),
        ((PATERClassifier(), DX, DY[DY == 0]), ValueError, r"block \d .*: X has \d+ rows, y has"),
        ((PATERClassifier(), DX, DY, DY[DY == 0]), ValueError, r"block \d .*: X has \d+ rows, sample_weight has"),
        ((PATERClassifier(), da.where(DX > 3, np.nan, DX), DY), ValueError, r"^block \d .*X contains NaN in row \d+"),
        ((PATERClassifier(), DX, DY * 0), ValueError, "one class only"),
        ((PATERClassifier(), DX[DX[:, 0] > 99], DY[DX[:, 0] > 99]), ValueError, "X has no rows"),
        ((PATERClassifier(class_weight={7: 2.0}), DX, DY), ValueError, r"class_weight names \[7\]"),
        ((PATERClassifier(n_passes=2), DX, DY), ValueError, "one pass and in order"),
        ((PATERClassifier(shuffle=True), DX, DY), ValueError, "one pass and in order"),
        ((PATERClassifier(warm_start=True).fit(X, Y), DX, DY), ValueError, "warm_start"),
        ((PATERClassifier("III"), DX, DY), ValueError, "variant must be one of"),
        ((PATERClassifier(random_state=np.random.RandomState(0)), DX, DY), ValueError, "random_state"),
        ((SGDClassifier(), DX, DY), TypeError, "SGDClassifier cannot be learned in blocks"),
        (
            (OnlinePipeline([("scale", StandardScaler()), ("learn", PATERClassifier())]), DX, DY),
            TypeError,
            "this one has StandardScaler, PATERClassifier",
        ),
        ((PATERClassifier(), FRAME[["amount", "country"]], FRAME["fraud"]), TypeError, "'country'.*OnlinePipeline"),
        ((PATERClassifier(), FRAME[["amount"]], "fraud"), TypeError, "y is a str"),
        (
            (PATERClassifier(), FRAME[["amount"]], FRAME["fraud"].where(FRAME["amount"] > 0.5)),
            ValueError,
            "no label in",
        ),
        ((PATERClassifier(), []), ValueError, "empty list"),
        ((PATERClassifier(), [delayed((X, Y))], DY), TypeError, "bring their own labels"),
        ((PATERClassifier(), [delayed(X)]), ValueError, "block 0 .*a batch is .X, y."),
        ((PATERClassifier(), [delayed((X, Y)), delayed((X[:, :2], Y))]), ValueError, "block 1 does not go with"),
        ((PATERClassifier(), [delayed((X, Y)), delayed((X, Y.astype(str)))]), ValueError, "block 1 does not go with"),
        ((behind_encoder(fine_bins=1), FRAME[["amount"]], FRAME["fraud"]), ValueError, "fine_bins"),
        ((PATERClassifier(), DX, DY, None, [0, 5]), ValueError, r"block \d .*not among the classes"),
        ((PATERClassifier(), DX, DY, None, None, "127.0.0.1:8786"), TypeError, "client must be a"),
        ((PATERClassifier(), DX, DY, None, None, None, "yes"), ValueError, "exact must be None or 'sequential'"),
    ],
)
def test_mistakes_are_said(arguments, kind, message):
    with pytest.raises(kind, match=message) as caught:
        pater.dask.fit(*arguments)
    assert caught.value.__cause__ is None
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_without_dask_it_says_what_to_install():
    script = "import sys; sys.modules['distributed'] = None; import pater; import pater.dask"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].startswith("ImportError: pater.dask needs Dask")
    assert 'pip install "pater[dask]"' in done.stderr
