"""The output of `pater evaluate`: windows and alarms along the stream, then the overall scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pater.kernels.rules import RULES
from pater.models.settings import AUTO, SETTINGS

from .progressive import counted
from .terminal import complain, printable, tell, tell_json

if TYPE_CHECKING:
    from pater.stream.drift import Alarm

MOST_ALARMS = 5  # most alarms shown
_RATES = (
    ("FPR", "fpr"),
    ("FNR", "fnr"),
    ("TER", "ter"),
    ("precision", "precision"),
    ("recall", "recall"),
    ("F1", "f1"),
    ("G-mean", "g_mean"),
)
_WINDOW = (
    ("rows", "rows", 11),
    ("positive", "positive", 10),
    ("accuracy", "accuracy", 10),
    ("balanced", "balanced_accuracy", 10),
    ("FPR", "fpr", 8),
    ("FNR", "fnr", 8),
    ("ROC area", "roc_auc", 10),
    ("Brier", "brier", 8),
)


class Windows:
    """Print each window as a line of a table, or as JSON."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json, self._begun = as_json, False

    def __call__(self, window: dict[str, Any]) -> None:
        if self._as_json:
            tell_json(window)
            return
        columns = [column for column in _WINDOW if column[1] in window]
        if not self._begun:
            tell("".join(f"{shown:>{width}}" for shown, _, width in columns))
        self._begun = True
        tell("".join(f"{_cell(window[name]):>{width}}" for _, name, width in columns))


def _cell(value: float | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


class Alarms:
    """Print the first few alarms, and with the first one what to do."""

    def __init__(self, advice: str) -> None:
        self._advice, self._told = advice, 0

    def __call__(self, alarm: Alarm) -> None:
        self._told += 1
        if self._told <= MOST_ALARMS:
            complain(f"drift: {alarm}.{f' {self._advice}' if self._told == 1 else ''}")
        elif self._told == MOST_ALARMS + 1:
            complain("drift: further alarms are not shown; --json lists them all.")


def advice(algo: str, settings: dict[str, Any], *, saved: bool) -> str:
    """What to do when a stream drifts."""
    if saved:
        return "The model does not learn: continue from it with pater train --initial-model, or train a new one."
    if settings.get("forgetting", 1.0) < 1:
        return "If it lasts, a smaller --forgetting follows faster."
    if algo == AUTO:
        return "auto switches to a shorter memory if that is better; --forgetting 0.99 keeps it short from the start."
    if algo in RULES and SETTINGS["forgetting"].has(algo):
        return "If it lasts, follow the stream with --forgetting 0.999 or --algo auto."
    return "If it lasts, follow the stream with --algo auto."


def show(result: dict[str, Any]) -> None:
    """Print the overall scores."""
    names = [printable(str(label)) for label in result["classes"]]
    width = max(8, *(len(name) for name in names), *(len(f"{n:,}") for row in result["confusion"] for n in row))
    tell(f"{'actual / predicted':<18}" + "".join(f"{name:>{width + 2}}" for name in names))
    for name, row in zip(names, result["confusion"], strict=True):
        tell(f"{name:<18}" + "".join(f"{n:>{width + 2},}" for n in row))
    tell()
    tell(f"{counted(result['rows'])}, accuracy {result['accuracy']:.4f}, balanced {result['balanced_accuracy']:.4f}")
    for each in result["of_class"]:
        told = [f"{shown} {each[name]:.4f}" for shown, name in _RATES]
        if "brier" in each:
            told += [f"Brier score {each['brier']:.4f}", f"log loss {each['log_loss']:.4f}"]
        if each["roc_auc"] is not None:
            told += [f"ROC area {each['roc_auc']:.4f}", f"average precision {each['average_precision']:.4f}"]
        tell(f"class {each['class']}: {', '.join(told)}")
    for each in result["of_class"]:
        if each.get("reliability"):
            _show_reliability(each)


def _show_reliability(of_class: dict[str, Any]) -> None:
    tell()
    title = f"probability of {of_class['class']}"
    tell(f"{title:<24}{'rows':>12}{'predicted':>12}{'observed':>12}")
    for step in of_class["reliability"]:
        tell(f"{step['from']:<7g}to {step['to']:<14g}{step['rows']:>12,}{step['told']:>12.4f}{step['observed']:>12.4f}")
