"""The table of settings, and what is derived from it: specs, the kernels' record, JSON, options, docs."""

from __future__ import annotations

import inspect
import math
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

import pater
from pater.cli.app import app
from pater.cli.learner_options import default_of, rules_of
from pater.estimators.load import OF_RULE
from pater.estimators.online import OnlineClassifier
from pater.files.codec import UnsoundError, spec_from_json, spec_to_json
from pater.kernels.rules import RULES
from pater.models.setting_kinds import Choice, ClassWeights, Number, OperatingPoint, SettingError, Switch
from pater.models.settings import AUTO, SETTINGS, WPATER, by_keyword
from pater.models.spec import RECORD, Spec, settings_of
from pater.stream import InputError, train
from pater.stream.algorithms import specs_of

ESTIMATORS = [getattr(pater, name) for name in pater.__all__ if isinstance(getattr(pater, name), type)]
ONLINE = [kind for kind in ESTIMATORS if issubclass(kind, OnlineClassifier)]
NUMBERS = [name for name, setting in SETTINGS.items() if isinstance(setting.kind, Number)]
DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_rules_name_settings_that_there_are():
    """And each setting gets its rules from them: a rule's own settings are listed nowhere else."""
    named = {name for rule in RULES.values() for name in rule.settings}
    assert named == {name for name, setting in SETTINGS.items() if setting.is_of_some}
    for name in named:
        assert SETTINGS[name].rules == tuple(key for key, rule in RULES.items() if name in rule.settings)
        assert not SETTINGS[name].has(WPATER)


def test_no_name_stands_for_two_settings():
    for faces in (
        [setting.parameter for setting in SETTINGS.values() if setting.parameter],
        [setting.keyword for setting in SETTINGS.values() if setting.keyword],
        [option for setting in SETTINGS.values() for option in setting.options],
        list(RECORD.names),
    ):
        assert len(set(faces)) == len(faces)


def test_what_a_rule_asks_for_is_in_the_record():
    seen = {"margin", "xx", "k", "own_loss", "accumulated_loss", "zz", "c"}
    for rule in RULES.values():
        assert set(inspect.signature(rule.step).parameters) - seen <= set(RECORD.names)


def test_specs_are_the_table():
    assert Spec._fields == ("rule", *SETTINGS)
    assert Spec("pa") == ("pa", *(setting.default for setting in SETTINGS.values()))
    assert set(Spec.__annotations__) <= set(Spec._fields)
    spec = Spec("scw-i", C=3.0)
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert type(pickle.loads(pickle.dumps(spec))) is Spec
    assert spec.own_settings() == {"C": 3.0, "covariance": "full", "eta": 0.9}
    assert spec._replace(rule="arow", average=True).without_unused() == Spec("arow", average=True)


def test_every_setting_reaches_its_field():
    spec = Spec("scw-i", 2.0, (("b", 5.0),), (0.5, 0.25), False, True, 0.9, True, 0.8, True, True, "full", "step", 7.0)
    (p,) = settings_of((spec._replace(eta=0.975, approximation=0.3),), ("a", "b"))
    assert p["rule"] == RULES["scw-i"].code
    assert [p[name] for name in ("positive", "intercept", "average", "watch", "discount", "calibrate")] == [
        1,
        0,
        1,
        1,
        1,
        1,
    ]
    assert [p[name] for name in ("C", "alpha_neg", "alpha_pos", "forgetting", "fading")] == [2.0, 0.5, 1.25, 0.9, 0.8]
    assert [p[name] for name in ("balanced", "leader", "r", "approximation")] == [0, 0, 7.0, 0.3]
    assert p["phi"] == pytest.approx(1.959964, abs=1e-6)


def examples(setting):
    """Values that a setting may have."""
    if isinstance(setting.kind, Choice):
        return setting.kind.names
    if isinstance(setting.kind, Switch):
        return True, False
    if isinstance(setting.kind, ClassWeights):
        return None, "balanced", ((1, 2.0), ("spam", 3.0))
    if isinstance(setting.kind, OperatingPoint):
        return None, ("max_fpr", 0.01), ("max_fnr", 0.05), ("cost", 1.0, 50.0)
    return (
        [(0.5, 2.0)]
        if setting.name == "alphas"
        else [value for value in (0.75, 1.0, 30.0) if setting.kind.allows(value)]
    )


@pytest.mark.parametrize("name", SETTINGS)
def test_json_and_back(name):
    for value in (SETTINGS[name].default, *examples(SETTINGS[name])):
        spec = Spec("arow", **{name: value})
        assert spec_from_json(spec_to_json(spec)) == spec
    without = {key: value for key, value in spec_to_json(Spec("arow")).items() if key != name}
    assert spec_from_json(without) == Spec("arow")


NO_SETTINGS = [-1, 0.0, math.nan, math.inf, 10**400, "tall", [1], [1, -1.0], [[1, 2, 3]], [["a", -1]], {"a": 1}]


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("value", NO_SETTINGS, ids=lambda value: str(value)[:12])
def test_json_of_no_setting(name, value):
    described = {**spec_to_json(Spec("arow")), name: value}
    with pytest.raises(UnsoundError, match=f"its {name} |a class weight has no"):
        spec_from_json(described)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [-1, 0, math.nan, math.inf, 10**400, "1", None, 1j, [1.0]])
def test_numbers_out_of_range(name, value):
    with pytest.raises(SettingError, match=f"^the number must be {re.escape(SETTINGS[name].kind.wanted)}, got "):
        SETTINGS[name].checked(value, "the number")


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_every_type(name):
    for kind in (float, np.float64, np.float32, np.float16):
        found = SETTINGS[name].checked(kind(0.75), name)
        assert (found, type(found)) == (0.75, float)


@pytest.mark.parametrize("kind", ONLINE)
def test_estimators_have_the_defaults_of_the_table(kind):
    """Except for those that choose along the stream, in which later predictions count for more."""
    model, rule = kind(), kind()._checked_specs()[0].rule
    for setting in SETTINGS.values():
        if setting.parameter in model.get_params() and setting.name not in ("discount", "average"):
            value = getattr(model, setting.parameter)
            found_out = kind is pater.AutoPATERClassifier and setting.name in ("fading", "forgetting")
            assert value == (None if found_out else setting.default_of(rule))


@pytest.mark.parametrize("kind", ONLINE)
def test_estimators_have_the_settings_of_their_rules(kind):
    rules = set(kind._rules.values())
    own = {setting.parameter for setting in SETTINGS.values() if any(map(setting.has, rules))}
    counts = {"", "fading", "discount"}  # for those that choose along the stream
    there = {setting.parameter for setting in SETTINGS.values()} & set(kind().get_params())
    assert own - counts == there - counts


def test_no_rule_is_that_of_two_estimators():
    rules = [rule for kind in ONLINE if kind is not pater.AutoPATERClassifier for rule in kind._rules.values()]
    assert len(rules) == len(set(rules))
    assert set(rules) == set(OF_RULE) <= set(RULES)


@pytest.mark.parametrize("algo", [WPATER, *RULES])
def test_an_algorithm_takes_its_own_settings_and_no_others(algo):
    for keyword, setting in by_keyword().items():
        given = {"class_weight": "balanced", "operating_point": {"max_fpr": 0.1}}
        value = setting.default_of(algo) if setting.default is not None else given[keyword]
        taken = setting.kind.taken(value)
        if setting.has(algo):
            assert all(getattr(spec, setting.name) == taken for spec in specs_of(algo, **{keyword: value}))
        else:
            with pytest.raises(InputError, match=f"^{algo} has no {keyword}; it is for {', '.join(setting.rules)}"):
                specs_of(algo, **{keyword: value})


@pytest.mark.parametrize("verb", ["train", "evaluate"])
def test_options_and_their_help(verb):
    command = get_command(app).commands[verb]
    options = {option: parameter for parameter in command.params for option in parameter.opts}
    for setting in SETTINGS.values():
        for option in setting.options:
            assert options[option].help.startswith(setting.says)
            if setting.is_of_some:
                assert all(
                    rule in options[option].help or "second order" in options[option].help for rule in setting.rules
                )
    assert set(re.findall(r"[a-z][a-z-]+", options["--algo"].help)) >= {WPATER, *RULES}


def test_what_auto_tries_is_what_the_help_says():
    """The average and the class weight, which differ, too, have texts of their own."""
    several = {name for name in SETTINGS if len({getattr(spec, name) for spec in specs_of(AUTO)}) > 1}
    assert several - {"average", "class_weight"} == {each.name for each in SETTINGS.values() if each.auto_tries}
    for name in ("forgetting", "covariance", "r"):
        assert default_of(SETTINGS[name]).startswith("several side by side for auto, ")
    assert default_of(SETTINGS["eta"]) == "0.9"


def table():
    """The settings that only some rules have, as the table of docs/command-line.md."""
    lines = ["| option | for | what it is |", "| --- | --- | --- |"]
    shown = [setting for setting in SETTINGS.values() if setting.options and len(setting.rules) < len(RULES)]
    for setting in shown:
        option, rules = min(setting.options, key=len), rules_of(setting, lambda rule: f"`{rule}`")
        wanted = setting.kind.wanted.capitalize()
        lines.append(f"| `{option}` | {rules} | {setting.says} {wanted}; by default {default_of(setting)}. |")
    return "\n".join(lines)


def test_train_names_all_settings_that_it_takes():
    assert [name for name in by_keyword() if f"`{name}`" not in train.__doc__] == []


def test_the_docs_have_the_table():
    page = (DOCS / "command-line.md").read_text()
    assert table() in page, f"docs/command-line.md should hold\n\n{table()}\n"
    assert all(f"`{rule}`" in page for rule in RULES)
    page = (DOCS / "model-file.md").read_text()
    assert ", ".join(f"`{name}`" for name in Spec._fields).replace("`alphas`", "`alphas` (α⁻, α⁺)") in page
