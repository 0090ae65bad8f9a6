"""A real cluster of processes: the same bits on any number of workers, whoever is first and whoever dies."""

from __future__ import annotations

import os
import time
from contextlib import suppress

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from distributed import Client, LocalCluster
from distributed.comm import CommClosedError
from sklearn.base import clone

import pater.dask
from pater import PATERClassifier, merge_all
from pater.dask.engine import Engine
from pater.files.in_bytes import to_bytes
from pater.models import shards
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline

pytestmark = pytest.mark.slow  # test_dask.py tests the same in one process

N_BLOCKS = 8
BEHIND_ENCODER = OnlinePipeline([("t", TableEncoder(warm_up=90)), ("m", PATERClassifier())])


@pytest.fixture(scope="module")
def cluster():
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", memory_limit=0)
    yield cluster
    with suppress(KeyError):  # which Dask may raise at its very end for a short-lived worker
        cluster.close()


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        yield client


@pytest.fixture
def told(monkeypatch):
    """Everything that came to the client."""
    gather, told = Client._gather, []

    async def watched(self, *arguments, **more):
        found = await gather(self, *arguments, **more)
        told.extend(found.values() if isinstance(found, dict) else found)
        return found

    monkeypatch.setattr(Client, "_gather", watched)
    return told


def scaled(cluster, client, n):
    cluster.scale(n)
    client.wait_for_workers(n, timeout=60)


def block(k):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(50, 3)) if k != 2 else np.empty((0, 3))
    return X, np.where(X[:, 0] > 0.5, "yes", "no") if k != 5 else np.full(50, "maybe")


def content(model):
    return to_bytes(model.save)


def table(k):
    X, y = block(k % 2)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(country=np.where(X[:, 1] > 0, "de", "fr"), y=y)
    frame.loc[frame.index[:20], "country"] = "only here" if k == 3 else "all"
    return frame


def batches(sleep=0.0):
    """Blocks of which the earlier ones come later."""

    def load(k):
        time.sleep(sleep * (N_BLOCKS - k))
        return block(k)

    return [delayed(load)(k) for k in range(N_BLOCKS)]


def one_pass(estimator):
    model = clone(estimator)
    for k in range(N_BLOCKS):
        model = model.partial_fit(*block(k)) if k != 2 else model
    return model


def test_one_two_and_four_workers_give_the_same_bits_in_any_order(cluster, client, told, monkeypatch):
    monkeypatch.setattr(shards, "BEGINNING", 100)
    estimator = PATERClassifier("II")
    wanted = content(merge_all(clone(estimator).partial_fit(*block(k)) for k in range(N_BLOCKS) if k != 2))
    frame = dd.from_map(table, range(6), meta=table(0))
    X, y = frame.drop(columns="y"), frame["y"]
    merged, sequential = set(), set()
    for n in (1, 2, 4):
        scaled(cluster, client, n)
        for sleep in (0.0, 0.03):
            model = pater.dask.fit(estimator, batches(sleep))
            assert content(model) == wanted
        assert content(pater.dask.fit(estimator, batches(), exact="sequential")) == content(one_pass(estimator))
        merged.add(content(pater.dask.fit(BEHIND_ENCODER, X, y)))
        sequential.add(content(pater.dask.fit(BEHIND_ENCODER, X, y, client=client, exact="sequential")))
    assert len(merged) == len(sequential) == 1
    assert all(isinstance(each, bytes | int) for each in told), "data came to the client"
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    with dask.config.set(scheduler="sync"):
        assert merged == {content(pater.dask.fit(BEHIND_ENCODER, X, y))}
        assert sequential == {content(pater.dask.fit(BEHIND_ENCODER, X, y, exact="sequential"))}
    rows = frame[["a", "b", "c"]].to_dask_array(lengths=[50] * 6)
    said = pater.dask.predict(model, rows)
    assert said.chunks == rows.chunks[:1]
    assert (said.compute() == model.predict(rows.compute())).all()


@pytest.mark.parametrize("exact", [None, "sequential"])
def test_a_worker_that_dies_changes_nothing(cluster, client, tmp_path, monkeypatch, exact):
    monkeypatch.setattr(shards, "BEGINNING", 100)
    scaled(cluster, client, 2)

    def load(k):
        if k == 9 and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os._exit(1)
        frame = table(k)
        return frame.drop(columns="y"), frame["y"]

    batches = [delayed(load)(k) for k in range(12)]
    model = pater.dask.fit(BEHIND_ENCODER, batches, exact=exact)
    assert (tmp_path / "died").exists()
    with dask.config.set(scheduler="sync"):
        assert content(model) == content(pater.dask.fit(BEHIND_ENCODER, batches, exact=exact))
    client.wait_for_workers(2, timeout=60)


@pytest.mark.parametrize("said", [CommClosedError("Stream is closed"), OSError("Timed out")])
def test_a_worker_that_goes_while_it_is_asked_for_its_version_is_passed_over(cluster, client, monkeypatch, said):
    scaled(cluster, client, 2)
    run = Client.run

    def one_has_gone(self, *arguments, **more):
        return {"tcp://127.0.0.1:1": said, **run(self, *arguments, **more)}

    monkeypatch.setattr(Client, "run", one_has_gone)
    model = pater.dask.fit(PATERClassifier(), batches())
    with dask.config.set(scheduler="sync"):
        assert content(model) == content(pater.dask.fit(PATERClassifier(), batches()))


def test_errors_are_one_line_without_the_stack_of_a_worker(cluster, client):
    scaled(cluster, client, 2)
    bad = [*batches(), delayed((np.full((3, 3), np.nan), np.array(["yes", "no", "no"])))]
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
            pater.dask.fit(PATERClassifier(), batches())
        with monkeypatch.context() as patched:  # as if it had joined later
            patched.setattr(Engine, "check", lambda self: None)
            with pytest.raises(pater.dask.OtherVersionError, match=told):
                pater.dask.fit(PATERClassifier(), batches(0.01))
    finally:
        client.run(set_version, pater.__version__, workers=[worker])
    client.run(hide, workers=[worker])
    try:
        with pytest.raises(pater.dask.OtherVersionError, match=f"{worker} has no pater on Python"):
            pater.dask.fit(PATERClassifier(), batches())
    finally:
        client.run(show, workers=[worker])
