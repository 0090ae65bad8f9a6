"""Which of several models predicts: the best by its score, or the one that a file names, until more is learned."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import pater
from pater import AutoPATERClassifier, PATERClassifier, stream
from pater.files import container
from pater.files.model_file import ModelFileError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(300, 3))
BINARY = (X[:, 0] > 0.8).astype(int)
THREE = BINARY + (X[:, 1] > 0.5)


def with_header(path, out, **changed):
    header, arrays = container.read(path, {})
    header.update(changed)
    container.write(out, {name: value for name, value in header.items() if name != "checksum"}, arrays)
    return out


@pytest.fixture(params=[BINARY, THREE], ids=["two", "three"])
def saved(request, tmp_path):
    model = AutoPATERClassifier(weights=(0.1, 0.5)).fit(X, request.param)
    model.save(tmp_path / "m")
    return model, tmp_path / "m", request.param


def test_a_file_names_the_models_that_speak(saved, tmp_path):
    model, path, _ = saved
    header, _ = container.read(path, {})
    assert header["chosen"] == model._chosen(model._model)
    PATERClassifier().fit(X, BINARY).save(tmp_path / "one")
    assert container.read(tmp_path / "one", {})[0]["chosen"] is None


def test_they_speak_until_more_is_learned(saved, tmp_path):
    model, path, y = saved
    width = len(model._model.specs)
    others = [k + 1 if k % width < width - 1 else k - 1 for k in model._chosen(model._model)]
    path = with_header(path, tmp_path / "other", chosen=others)
    loaded, learner = pater.load(path), stream.load(path)
    expected = model._model.state.some_of(others).weights()[0]
    assert loaded.coef_.tobytes() == learner.state().weights()[0].tobytes() == expected.tobytes()
    assert learner.chosen() == others
    loaded.save(tmp_path / "again")
    assert pater.load(tmp_path / "again").coef_.tobytes() == expected.tobytes()
    assert pickle.loads(pickle.dumps(loaded)).coef_.tobytes() == expected.tobytes()
    assert loaded.set_params(scoring="accuracy").best_params_ == model.set_params(scoring="accuracy").best_params_
    for each in (loaded, model):
        each.set_params(scoring="balanced_accuracy").partial_fit(X, y)
    assert loaded.coef_.tobytes() == model.coef_.tobytes()
    assert loaded.best_params_ == model.best_params_


def test_without_it_the_scores_choose(saved, tmp_path):
    model, path, _ = saved
    header, arrays = container.read(path, {})
    del header["chosen"], header["checksum"]
    container.write(tmp_path / "old", header, arrays)
    assert pater.load(tmp_path / "old").best_params_ == model.best_params_


@pytest.mark.parametrize(
    "forge",
    [
        lambda chosen, n: [-1, *chosen[1:]],
        lambda chosen, n: [*chosen[:-1], n],
        lambda chosen, n: [*chosen[:-1], 1 << 70],
        lambda chosen, n: [*chosen, 0],
        lambda chosen, n: [],
        lambda chosen, n: [True, *chosen[1:]],
        lambda chosen, n: [float(k) for k in chosen],
        lambda chosen, n: {"0": 0},
        lambda chosen, n: 0,
        lambda chosen, n: "0",
        lambda chosen, n: [None],
    ],
)
def test_forged_choices_are_refused(saved, tmp_path, forge):
    model, path, _ = saved
    forged = forge(model._chosen(model._model), model._model.state.n_models)
    path = with_header(path, tmp_path / "forged", chosen=forged)
    for load in (pater.load, stream.load):
        with pytest.raises(ModelFileError, match="the models that it chose are not its own"):
            load(path)


def test_of_one_model_there_is_nothing_to_choose(tmp_path):
    PATERClassifier().fit(X, BINARY).save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="the models that it chose are not its own"):
        pater.load(with_header(tmp_path / "m", tmp_path / "forged", chosen=[0]))


def test_what_was_taken_out_follows_what_is_learned():
    model = AutoPATERClassifier(weights=(0.5,))
    for start in range(0, 300, 30):
        model.partial_fit(X[start : start + 30], BINARY[start : start + 30])
        told = model.decision_function(X)
        inner = model._model
        w, bias = inner.state.some_of(model._chosen(inner)).weights()
        np.testing.assert_allclose(told, X @ w[0] + bias[0], rtol=1e-12)
        assert model.decision_function(X).tobytes() == told.tobytes()
