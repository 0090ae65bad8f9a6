"""A real cluster of processes: the same bits on any number of workers, whoever is first and whoever dies."""

from __future__ import annotations

import os
import time

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from distributed import Client, LocalCluster
from sklearn.base import clone

import pater.dask
from pater import PATERClassifier, SecondOrderPATERClassifier, merge_all
from pater.dask.engine import Engine
from pater.files.in_bytes import to_bytes
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline

HERE = os.getpid()
N_BLOCKS = 8


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        yield client


def scaled(cluster, client, n):
    cluster.scale(n)
    client.wait_for_workers(n, timeout=60)


def block(k):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(50, 3)) if k != 2 else np.empty((0, 3))
    return X, np.where(X[:, 0] > 0.5, "yes", "no") if k != 5 else np.full(50, "maybe")


class Here(tuple):
    """A batch that must not come to the process of the tests."""

    def __reduce__(self):
        return _elsewhere, (HERE, tuple(self))


def _elsewhere(pid, parts):
    assert os.getpid() != pid, "data came to the client"
    return Here(parts)


def content(model):
    return to_bytes(model.save)


def table(k):
    X, y = block(k % 2)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(country=np.where(X[:, 1] > 0, "de", "fr"), y=y)
    frame.loc[frame.index[:20], "country"] = "only here" if k == 3 else "all"
    return frame


def batches(sleep, pid=HERE):
    def load(k):
        time.sleep(sleep[k])
        assert os.getpid() != pid
        return Here(block(k))

    return [delayed(load)(k) for k in range(N_BLOCKS)]


def test_one_two_and_four_workers_give_the_same_bits_in_any_order(cluster, client):
    estimator = PATERClassifier("II")
    wanted = content(merge_all(clone(estimator).partial_fit(*block(k)) for k in range(N_BLOCKS) if k != 2))
    frame = dd.from_map(table, range(6), meta=table(0))
    behind = OnlinePipeline([("t", TableEncoder(warm_up=90)), ("m", SecondOrderPATERClassifier(covariance="diagonal"))])
    of_tables, sequential = set(), set()
    for n in (1, 2, 4):
        scaled(cluster, client, n)
        for sleep in (np.zeros(N_BLOCKS), np.linspace(0.2, 0, N_BLOCKS) if n > 1 else np.zeros(N_BLOCKS)):
            model = pater.dask.fit(estimator, batches(sleep))
            assert content(model) == wanted
        sequential.add(
            content(pater.dask.fit(estimator, batches(np.zeros(N_BLOCKS)), client=client, exact="sequential"))
        )
        of_tables.add(content(pater.dask.fit(behind, frame.drop(columns="y"), frame["y"])))
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert len(of_tables) == len(sequential) == 1
    one = clone(estimator)
    for k in range(N_BLOCKS):
        one = one.partial_fit(*block(k)) if k != 2 else one
    assert sequential == {content(one)}
    X = frame[["a", "b", "c"]].to_dask_array(lengths=[50] * 6)
    said = pater.dask.predict(model, X)
    assert said.chunks == X.chunks[:1]
    assert (said.compute() == model.predict(X.compute())).all()


def test_a_worker_that_dies_changes_nothing(cluster, client, tmp_path):
    scaled(cluster, client, 2)
    wanted = content(merge_all(PATERClassifier().partial_fit(*block(k)) for k in range(N_BLOCKS) if k != 2))

    def load(k):
        if k == 4 and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os._exit(1)
        return block(k)

    for exact in (None, "sequential"):
        (tmp_path / "died").unlink(missing_ok=True)
        model = pater.dask.fit(PATERClassifier(), [delayed(load)(k) for k in range(N_BLOCKS)], exact=exact)
        assert (tmp_path / "died").exists()
        assert (content(model) == wanted) == (exact is None)
    client.wait_for_workers(2, timeout=60)


def test_errors_are_one_line_without_the_stack_of_a_worker(cluster, client):
    scaled(cluster, client, 2)
    bad = [*batches(np.zeros(N_BLOCKS)), delayed((np.full((3, 3), np.nan), np.array(["yes", "no", "no"])))]
    for exact in (None, "sequential"):
        with pytest.raises(ValueError, match=r"^block 8 \(the first is block 0\): X contains NaN in row 0") as caught:
            pater.dask.fit(PATERClassifier(), bad, exact=exact)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__


def test_a_worker_of_another_version_is_named(cluster, client, monkeypatch):
    scaled(cluster, client, 2)
    worker = sorted(client.scheduler_info()["workers"])[-1]

    def set_version(version):
        import pater

        pater.__version__ = version

    def hide():
        import sys

        sys.modules["hidden"], sys.modules["pater"] = sys.modules["pater"], None

    def show():
        import sys

        sys.modules["pater"] = sys.modules.pop("hidden")

    client.run(set_version, "0.0.1", workers=[worker])
    try:
        told = f"the worker {worker} has pater 0.0.1 on .*; the client has pater {pater.__version__} on "
        with pytest.raises(pater.dask.OtherVersionError, match=told):
            pater.dask.fit(PATERClassifier(), batches(np.zeros(N_BLOCKS)))
        with monkeypatch.context() as patched:  # as if it had joined later
            patched.setattr(Engine, "check", lambda self: None)
            with pytest.raises(pater.dask.OtherVersionError, match=told):
                pater.dask.fit(PATERClassifier(), batches(np.full(N_BLOCKS, 0.05)))
    finally:
        client.run(set_version, pater.__version__, workers=[worker])
    client.run(hide, workers=[worker])
    try:
        with pytest.raises(pater.dask.OtherVersionError, match=f"{worker} has no pater on Python"):
            pater.dask.fit(PATERClassifier(), batches(np.zeros(N_BLOCKS)))
    finally:
        client.run(show, workers=[worker])
