"""Pipelines of shards that start from a begun one, through bytes, and are merged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from preprocessing.tables_to_encode import frame

from pater import AROWClassifier, AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier, merge_all
from pater.estimators.load import load
from pater.estimators.shards import begun_bytes, starting_from, together, without_begun
from pater.files.container import ModelFileError
from pater.files.in_bytes import from_bytes, to_bytes
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline


def labelled(n):
    table = frame(n).drop(columns=["note", "id"])
    return table, (table["normal"].fillna(0) + (table["country"] == "c1") > 0.3).to_numpy().astype(int)


@pytest.mark.first_quick
@pytest.mark.parametrize("learner", [PATERClassifier("II"), SecondOrderPATERClassifier(), AutoPATERClassifier()])
def test_shards_are_merged_to_a_pipeline_of_all_rows(learner):
    table, y = labelled(2400)
    estimator = OnlinePipeline([("table", TableEncoder(warm_up=400)), ("model", learner)])
    content = begun_bytes(estimator, [(table[some], y[some], None) for some in (slice(200), slice(1200, 1400))])
    assert not hasattr(estimator.steps[0][1], "_stream")
    shards = []
    for start, stop in ((0, 900), (900, 901), (901, 2400)):
        shard = starting_from(content, estimator)
        for at in range(start, stop, 500):
            some = slice(at, min(at + 500, stop))
            shard.partial_fit(table[some], y[some], classes=[0, 1])
        shard = without_begun(content, shard)
        assert shard.named_steps["table"].encoding_.rows == stop - start
        shards.append(from_bytes(to_bytes(shard.save), load))
    both = together(content, merge_all(shards))
    encoding = both.named_steps["table"].encoding_
    x = table["normal"].dropna()
    assert encoding.rows == both.named_steps["model"].t_ == 2400
    np.testing.assert_allclose(encoding.moments[0], [x.size, x.mean(), ((x - x.mean()) ** 2).sum()], rtol=1e-9)
    whole = OnlinePipeline([("table", TableEncoder(warm_up=400)), ("model", learner)]).partial_fit(table, y)
    assert both.score(table, y) > whole.score(table, y) - 0.05
    both.partial_fit(table[:10], y[:10])


@pytest.mark.first_quick
@pytest.mark.parametrize(
    "learner",
    [
        PATERClassifier("II"),
        SecondOrderPATERClassifier(),
        AROWClassifier(covariance="diagonal"),
        pytest.param(AutoPATERClassifier(), marks=pytest.mark.slow),
    ],
)
def test_in_any_order_and_grouping_they_say_the_same(learner):
    """Categories that only some have met get other columns, but mean the same."""
    table, y = labelled(1600)
    estimator = OnlinePipeline([("table", TableEncoder(warm_up=300)), ("model", learner)])
    content = begun_bytes(estimator, [(table[some], y[some], None) for some in (slice(150), slice(800, 950))])
    shards = []
    for k, (start, stop) in enumerate(((0, 500), (500, 520), (520, 1000), (1000, 1600))):
        some = table[start:stop].copy()
        some.loc[some.index[:8], "country"] = f"only {k}"
        shard = starting_from(content, estimator).partial_fit(some, y[start:stop], classes=[0, 1])
        shards.append(without_begun(content, shard))
    rows = table.assign(country=np.resize([f"only {k}" for k in range(4)] + ["c1", "c2"], 1600))
    said = together(content, merge_all(shards)).decision_function(rows)
    a, b, c, d = shards
    others = {
        "from the right": merge_all([a, merge_all([b, merge_all([c, d])])]),
        "as a tree": merge_all([merge_all([a, b]), merge_all([c, d])]),
        "backwards": merge_all([d, c, b, a]),
    }
    for name, other in others.items():
        assert other.named_steps["table"].encoding_.rows == 1600
        gap = np.abs(together(content, other).decision_function(rows) - said).max()
        assert gap < 1e-10 * np.abs(said).max(), name


def test_the_first_batch_of_a_shard_does_not_decide_what_candidates_see():
    """However many categories it brings, pools of shards can be merged."""
    table, y = labelled(1200)
    estimator = OnlinePipeline([("table", TableEncoder(warm_up=100)), ("model", AutoPATERClassifier())])
    content = begun_bytes(estimator, [(table[:100], y[:100], None)])
    levels = []
    for some in (slice(0, 20), slice(100, 1200)):
        shard = starting_from(content, estimator).partial_fit(table[some], y[some])
        levels.append(shard.steps[1][1]._model.views.levels.tolist())
    assert levels[0] == levels[1]


def test_what_begins_is_a_model_file(tmp_path):
    """It is checked like any other."""
    table, y = labelled(300)
    estimator = OnlinePipeline([("columns", TableEncoder()), ("learner", SecondOrderPATERClassifier())])
    content = begun_bytes(estimator, [(table, y, None)])
    (tmp_path / "begun").write_bytes(content)
    assert load(tmp_path / "begun").named_steps["model"].t_ == 300
    with pytest.raises(ModelFileError, match="checksum"):
        starting_from(content[:-8] + bytes(8), estimator)
    assert [name for name, _ in starting_from(content, estimator).steps] == ["columns", "learner"]


def test_what_one_shard_learns_from_a_beginning_is_what_one_pass_learns_from_there():
    """The beginning was a separate pass over some rows, with the encoding that they decided together."""
    table, y = labelled(1500)
    estimator = OnlinePipeline([("table", TableEncoder()), ("model", SecondOrderPATERClassifier(forgetting=0.99))])
    content = begun_bytes(estimator, [(table[:1000], y[:1000], None)])
    shard = starting_from(content, estimator).partial_fit(table[1000:], y[1000:])
    begun = from_bytes(content, load)
    rows = begun.steps[0][1].transform(table[:1000])
    by_hand = SecondOrderPATERClassifier(forgetting=0.99).partial_fit(rows, y[:1000])
    np.testing.assert_array_equal(by_hand.coef_, begun.steps[1][1].coef_)
    assert shard.steps[1][1].t_ == 1500
    assert without_begun(content, shard).steps[0][1].encoding_.rows == 500


def test_no_rows_or_a_bad_setting_begin_nothing():
    learner = ("model", PATERClassifier())
    estimator = OnlinePipeline([("table", TableEncoder()), learner])
    for some in ([], [(pd.DataFrame({"x": []}), np.array([]), None)]):
        with pytest.raises(ValueError, match="no row"):
            begun_bytes(estimator, some)
    rows, y = pd.DataFrame({"x": [1.0, 2.0]}), np.array([0, 1])
    assert begun_bytes(estimator, [(rows[:0], y[:0], None), (rows, y, None)]) == begun_bytes(
        estimator, [(rows, y, None)]
    )
    with pytest.raises(ValueError, match="resolution"):
        begun_bytes(OnlinePipeline([("table", TableEncoder(resolution="finest")), learner]), [(rows, y, None)])
