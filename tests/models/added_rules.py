"""Add the rules of docs/add-an-algorithm.md, exactly as on the page, and look for them everywhere.

Run by `test_add_an_algorithm.py` in a separate process: the passes are compiled with the table of rules as it is when
they are imported.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from pathlib import Path

from pater.kernels import rules
from pater.models import settings
from pater.reference import first_order

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "add-an-algorithm.md").read_text()
PYTHON = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
LINES = re.findall(r"^```diff\n\+(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)


def add(module, start):
    """Add to a module the block of the page that begins with this line."""
    (block,) = (block for block in PYTHON if re.search(f"^{start}", block, flags=re.MULTILINE))
    exec(compile(block, module.__file__, "exec"), vars(module))


add(rules, r"def ogd\(margin")
add(rules, r"def ogd_of_power\(")
add(rules, r"def pater_between\(")
for line in LINES:
    rules.RULES.update(eval(f"{{{line}}}", vars(rules)))
rules.RULES["pater-between-all"] = rules.Rule("", vars(rules)["pater_between"], moves_along_means=True, passive=False)
add(settings, "power = Setting")
settings.SETTINGS["power"] = settings.power
add(first_order, r"def ogd\(X")

# ruff: noqa: E402 (what is compiled with the rules comes after them)
import numpy as np
import pytest
import scipy.sparse as sp

import pater
from pater import stream
from pater.cli import main
from pater.files import model_file
from pater.files.model_file import ModelFileError
from pater.models.matrices import rows_of
from pater.models.model import Model
from pater.models.search import Grid
from pater.models.spec import Spec
from pater.stream.merging import merged

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 5)) * (RNG.random((600, 5)) < 0.6)
TWO = (X @ [1, -1, 2, 0, 0.5] + RNG.normal(size=600) > 0.5).astype(int)
THREE = np.digitize(X @ [1, -1, 2, 0, 0.5], [-0.5, 0.8])
ONES = np.c_[X, np.ones(600)]


def weights(rows, labels, spec):
    model = Model.new(np.unique(labels), rows.shape[1], (spec,))
    model.learn(rows_of(rows), labels)
    w, bias = model.state.own_weights()
    return np.c_[w, bias]


def close(found, wanted, tolerance):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * np.abs(wanted).max())


def command(*arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([str(argument) for argument in arguments])
    return out.getvalue()


def help_of_train():
    """The help in one line, with hyphens at line ends repaired."""
    return " ".join(command("train", "--help").split()).replace("- ", "-")


def dense_and_sparse():
    for weight, alpha in ((None, (1, 1)), (((0, 0.5), (1, 3.0)), (0.5, 3.0)), ("balanced", "balanced")):
        spec = Spec("ogd", C=0.7, class_weight=weight)
        dense = weights(X, TWO, spec)
        close(weights(sp.csr_array(X), TWO, spec), dense, 1e-10)
        close(dense[0], first_order.ogd(ONES, 2 * TWO - 1, 0.7, alpha=alpha)[-1], 1e-9)


def several_classes():
    found = weights(X, THREE, Spec("ogd", C=0.7))
    for k in range(3):
        close(found[k], first_order.ogd(ONES, np.where(k == THREE, 1, -1), 0.7)[-1], 1e-9)


def search():
    grid = Grid([Spec("ogd", C=C) for C in (0.01, 0.1, 10.0)], "accuracy")
    grid.learn(X, TWO)
    assert len(set(grid.scores()["accuracy"][0])) == 3
    assert grid.best[0] == np.argmax(grid.scores()["accuracy"])
    for k, spec in enumerate(grid.specs):
        close(grid.models[0].state.some_of([k]).weights()[0], weights(X, TWO, spec)[:, :5], 1e-10)


def written(name, labels, rows):
    cells = [" ".join(f"{j}:{x!r}" for j, x in enumerate(row)) for row in rows]
    Path(name).write_text("".join(f"{label} {row}\n" for label, row in zip(labels, cells, strict=True)))


def the_command_line():
    written("rows.svm", TWO, X.tolist())
    helped = help_of_train()
    assert "alma, ogd, ogd-of-power, pater-between, pater-between-all; second order" in helped
    assert "For pa-i, pa-ii, scw-i, scw-ii, ogd and ogd-of-power; " in helped
    command("train", "rows.svm", "-q", "--algo", "ogd", "-C", "0.7", "-m", "rows.pater")
    told = json.loads(command("inspect", "rows.pater", "--json"))
    assert (told["learner"], told["settings"]["C"]) == ("ogd", 0.7)
    judged = json.loads(command("evaluate", "rows.svm", "--algo", "ogd", "--json"))
    assert judged["accuracy"] > 0.7


def saving_and_loading():
    learner = stream.load("rows.pater")
    close(learner.state().weights()[0][0, :5], weights(X, TWO, Spec("ogd", C=0.7))[0, :5], 1e-10)
    learner.learn(next(iter(stream.read("rows.svm"))))
    learner.save("more.pater")
    with pytest.raises(ModelFileError, match=r"no estimator learns by 'ogd'; use pater predict, or stream\.load\.$"):
        pater.load("more.pater")
    assert stream.load("more.pater").rows == 1200


def merging():
    for k, name in enumerate("ab"):
        half = slice(300 * k, 300 * (k + 1))
        written(f"{name}.svm", TWO[half], X[half].tolist())
        stream.train(f"{name}.svm", algo="ogd", C=0.7, model=f"{name}.pater")
    command("merge", "a.pater", "b.pater", "-m", "both.pater")
    parts = [stream.load(f"{name}.pater") for name in "ab"]
    both = stream.load("both.pater").state().weights()[0]
    close(both, merged(parts, ["a", "b"]).state().weights()[0], 1e-12)
    close(both, np.mean([part.state().weights()[0] for part in parts], axis=0), 1e-12)


def a_setting_of_its_own():
    close(weights(X, TWO, Spec("ogd-of-power", C=0.7)), weights(X, TWO, Spec("ogd", C=0.7)), 1e-12)
    told = "--power P How fast the steps shrink: the k-th has the length C/k^power. For ogd-of-power; "
    assert told in help_of_train()
    command("train", "rows.svm", "-q", "--algo", "ogd-of-power", "--power", "0.9", "-m", "power.pater")
    assert stream.load("power.pater").specs[0].power == 0.9
    assert json.loads(command("inspect", "power.pater", "--json"))["settings"]["power"] == 0.9
    trained = stream.train("rows.svm", algo="ogd-of-power", power=0.9).state().weights()[0][0, :5]
    close(trained, weights(X, TWO, Spec("ogd-of-power", power=0.9))[0, :5], 1e-10)


def between_by_hand(rows, signs, covariance=None, r=30.0):
    """The weights after one pass of `pater_between`, in plain NumPy; with a covariance, of its second-order form."""
    d = rows.shape[1]
    w, precision = np.zeros(d), np.eye(d)
    n, seen, total, loss = ({-1: zero, 1: zero} for zero in (0, 0, np.zeros(d), 0.0))
    for x, c in zip(rows, signs, strict=True):
        own = max(0.0, 1 - c * (w @ x))
        seen[c] += 1
        if own == 0.0:
            continue
        n[c], total[c], loss[c] = n[c] + 1, total[c] + x, loss[c] + own
        z = sum(side * total[side] / max(n[side], 1) for side in (-1, 1))
        taken = 0.5 * (own / n[c] + sum(loss[side] / max(n[side], 1) for side in (-1, 1)))
        image = np.linalg.solve(precision, z)
        w = w + taken / (z @ image) * image
        entered = (seen[-1] + seen[1]) / (2 * seen[c])
        if covariance == "full":
            precision += entered / r * np.outer(x, x)
        elif covariance == "diagonal":
            precision += entered / r * np.diag(x * x)
    return w


def along_class_means():
    signs = 2 * TWO - 1
    by_hand = between_by_hand(ONES, signs)
    costs = [Spec("pater-between", class_weight=((0, 1.0), (1, cost))) for cost in (1.0, 2.0, 3.0, 4.0)]
    for rows in (X, sp.csr_array(X), sp.csr_array(np.pad(X, ((0, 0), (0, 400))))):
        close(weights(rows, TWO, costs[0])[0, [0, 1, 2, 3, 4, -1]], by_hand, 1e-9)
        grid = Grid(costs, "accuracy")
        grid.learn(rows, TWO)
        close(grid.models[0].state.some_of([0]).own_weights()[0][0, :5], by_hand[:5], 1e-9)
    for covariance in ("full", "diagonal"):
        spec = Spec("so-pater-between", covariance=covariance, form="step", r=30.0)
        for rows in (X, sp.csr_array(X)):
            close(weights(rows, TWO, spec)[0], between_by_hand(ONES, signs, covariance), 1e-8)


def class_sums_in_common():
    """A rule that every sample enters shares them in a herd, and in the file of one."""
    costs = [Spec("pater-between-all", class_weight=((0, 1.0), (1, cost))) for cost in (1.0, 2.0, 3.0, 4.0)]
    grid = Grid(costs, "accuracy")
    grid.learn(sp.csr_array(X), TWO)
    model = grid.models[0]
    assert [herd.sharing for herd in model.state.herds] == [True]
    model_file.save("herd.pater", model_file.Saved(model))
    again = model_file.load("herd.pater").model
    assert [herd.sharing for herd in again.state.herds] == [True]
    for k, cost in enumerate(costs):
        found = np.c_[again.state.own_weights()[0], again.state.own_weights()[1]][k]
        assert found.tobytes() == np.c_[model.state.own_weights()[0], model.state.own_weights()[1]][k].tobytes()
        close(found, weights(X, TWO, cost)[0], 1e-9)


for found in (
    dense_and_sparse,
    several_classes,
    search,
    the_command_line,
    saving_and_loading,
    merging,
    a_setting_of_its_own,
    along_class_means,
    class_sums_in_common,
):
    found()
    print(found.__name__.replace("_", " "), file=sys.stderr)
