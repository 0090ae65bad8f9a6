"""The histograms of an operating point in a model file: forged ones are refused with the reason."""

from __future__ import annotations

import numpy as np
import pytest

import pater
from pater import stream
from pater.files import container
from pater.files.container import ModelFileError

POINT = {"max_fpr": 0.1}


@pytest.fixture
def path(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 3))
    path = tmp_path / "model.pater"
    pater.PATERClassifier(operating_point=POINT).fit(X, X[:, 0] > 0.5).save(path)
    return path


def rewritten(path, change):
    """The file with its header and arrays changed."""
    header, arrays = container.read(path, {})
    change(header, arrays)
    container.write(path, {name: value for name, value in header.items() if name != "checksum"}, arrays)
    return path


def number(name, value):
    def change(header, arrays):
        arrays["operating.numbers"][0, header["operating"].index(name)] = value

    return change


def count(value):
    def change(header, arrays):
        arrays["operating.counts"][1, 7] = value

    return change


def spec(value):
    def change(header, arrays):
        header["specs"][0]["operating_point"] = value

    return change


def header(**values):
    def change(header, arrays):
        header |= values

    return change


def drop(name):
    def change(header, arrays):
        del arrays[name]

    return change


def narrow(header, arrays):
    arrays["operating.counts"] = arrays["operating.counts"][:, 1:]


def three(header, arrays):
    header["classes"] |= {"type": "<i8", "values": [0, 1, 2]}
    header["state"]["models"] = 3
    for name in arrays:
        arrays[name] = np.repeat(arrays[name], 3, axis=0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (number("threshold", 1e9), "threshold is out of range"),
        (number("threshold", np.nan), "not finite"),
        (number("square", -1.0), "square"),
        (number("gain_neg", 0.0), "gain_neg"),
        (number("gain_pos", 1e30), "gain_pos"),
        (number("n_neg", 2.0**60), "n_neg"),
        (number("tp", -1.0), "tp"),
        (count(-1.0), "counts margins wrongly"),
        (count(1e300), "counts margins wrongly"),
        (count(np.inf), "not finite"),
        (spec(None), "operating point"),
        (spec({"max_fpr": 2.0}), "such that max_fpr is above 0 and below 1"),
        (spec({"max_fpr": 0.1, "max_fnr": 0.1}), "must be None"),
        (spec([0.1]), "operating_point is not None"),
        (spec({"cost": {"false_positive": 10**400, "false_negative": 1}}), "false_positive"),
        (header(operating=None), "operating point"),
        (header(operating=["t"]), "lacks numbers"),
        (header(operating=7), "no names"),
        (drop("operating.counts"), "missing"),
        (drop("operating.numbers"), "missing"),
        (narrow, "wrong shape"),
        (three, "two classes"),
    ],
)
def test_a_forged_part_is_refused(path, change, told):
    rewritten(path, change)
    for load in (pater.load, stream.load):
        with pytest.raises(ModelFileError, match=told):
            load(path)


def test_the_parameters_of_the_estimator_are_those_of_the_models(path):
    def change(header, arrays):
        header["estimator"]["params"]["operating_point"] = {"max_fpr": 0.2}

    with pytest.raises(ModelFileError, match="not those of its estimator"):
        pater.load(rewritten(path, change))
