"""Pipelines of shards that start from one encoder that has begun, through bytes, and are merged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from preprocessing.tables_to_encode import frame

from pater import AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier, merge_all
from pater.estimators.load import load
from pater.estimators.shards import begun_bytes, starting_from, without_begun
from pater.files.container import ModelFileError
from pater.files.in_bytes import from_bytes, to_bytes
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline
from pater.stream.begun import encoder_from_bytes, encoder_to_bytes


def labelled(n):
    table = frame(n).drop(columns=["note", "id"])
    return table, (table["normal"].fillna(0) + (table["country"] == "c1") > 0.3).to_numpy().astype(int)


@pytest.mark.parametrize("learner", [PATERClassifier("II"), SecondOrderPATERClassifier(), AutoPATERClassifier()])
def test_shards_are_merged_to_a_pipeline_of_all_rows(learner):
    table, y = labelled(2400)
    estimator = OnlinePipeline([("table", TableEncoder(warm_up=400)), ("model", learner)])
    content = begun_bytes(estimator.steps[0][1], [table[:200], table[1200:1400]])
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
    both = merge_all(shards)
    encoding = both.named_steps["table"].encoding_
    x = table["normal"].dropna()
    assert encoding.rows == both.named_steps["model"].t_ == 2400
    np.testing.assert_allclose(encoding.moments[0], [x.size, x.mean(), ((x - x.mean()) ** 2).sum()], rtol=1e-9)
    whole = OnlinePipeline([("table", TableEncoder(warm_up=400)), ("model", learner)]).partial_fit(table, y)
    assert both.score(table, y) > whole.score(table, y) - 0.05
    both.partial_fit(table[:10], y[:10])


def test_the_first_batch_of_a_shard_does_not_decide_what_candidates_see():
    """However many categories it brings: pools of shards can be merged."""
    table, y = labelled(1200)
    estimator = OnlinePipeline([("table", TableEncoder(warm_up=100)), ("model", AutoPATERClassifier())])
    content = begun_bytes(estimator.steps[0][1], [table[:100]])
    levels = []
    for some in (slice(0, 20), slice(100, 1200)):
        shard = starting_from(content, estimator).partial_fit(table[some], y[some])
        levels.append(shard.steps[1][1]._model.views.levels.tolist())
    assert levels[0] == levels[1]


def test_bytes_that_hold_no_encoder_are_refused(tmp_path):
    table, y = labelled(300)
    content = begun_bytes(TableEncoder(), [table])
    encoder = encoder_from_bytes(content)
    assert encoder_to_bytes(encoder) == content
    with pytest.raises(ModelFileError, match="checksum"):
        encoder_from_bytes(content[:-8] + bytes(8))
    PATERClassifier().fit(table[["flag"]], y).save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="no sound encoder"):
        encoder_from_bytes((tmp_path / "m").read_bytes())
    (tmp_path / "begun").write_bytes(content)
    with pytest.raises(ModelFileError, match="not a sound model file"):
        load(tmp_path / "begun")


def test_no_rows_or_a_bad_setting_begin_nothing():
    for samples in ([], [pd.DataFrame({"x": []})]):
        with pytest.raises(ValueError, match="no row"):
            begun_bytes(TableEncoder(), samples)
    some = pd.DataFrame({"x": [1.0, 2.0]})
    assert begun_bytes(TableEncoder(), [some[:0], some]) == begun_bytes(TableEncoder(), [some])
    with pytest.raises(ValueError, match="resolution"):
        begun_bytes(TableEncoder(resolution="finest"), [pd.DataFrame({"x": [1.0, 2.0]})])
