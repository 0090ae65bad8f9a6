"""Curves and windows of an evaluation as a picture. Needs matplotlib."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..files.writing import replacing
from ..formats.errors import InputError

_LINES = (("balanced_accuracy", "balanced accuracy"), ("fpr", "FPR"), ("fnr", "FNR"), ("roc_auc", "ROC area"))


def plot(result: dict[str, Any], path: Path, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Draw both curves of each class, and windows if there are any; never write over an input."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("a picture needs matplotlib: pip install 'pater[study]'.") from None
    windows, curves = result.get("windows", []), "of_class" in result
    layout = [["roc", "precision"]] * curves + [["windows", "windows"]] * bool(windows)
    figure = Figure(figsize=(9, {1: 4, 2: 7}[len(layout)]), layout="constrained")
    axes: dict[str, Any] = figure.subplot_mosaic(layout)  # type: ignore[arg-type]  # a list of lists is one
    if curves:
        _curves(result, axes["roc"], axes["precision"])
    if windows:
        _windows(windows, result.get("alarms", []), axes["windows"])
    for each in axes.values():
        if each.get_legend_handles_labels()[0]:
            each.legend(frameon=False)
    try:
        with replacing(path, inputs) as file:
            figure.savefig(file, format=path.suffix[1:].lower() or "png")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}.") from None


def _curves(result: dict[str, Any], roc: Any, precision_recall: Any) -> None:
    for each in result["of_class"]:
        if each["roc"]:
            roc.plot(*zip(*each["roc"], strict=True), label=f"{each['class']}: area {each['roc_auc']:.3f}")
            points = zip(*each["precision_recall"], strict=True)
            precision_recall.plot(*points, label=f"{each['class']}: average {each['average_precision']:.3f}")
            precision_recall.plot(each["recall"], each["precision"], "ko", markersize=4)
            roc.plot(each["fpr"], each["recall"], "ko", markersize=4)
    roc.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
    roc.set(xlabel="false-positive rate", ylabel="true-positive rate", title="ROC")
    precision_recall.set(xlabel="recall", ylabel="precision", title="Precision and recall", ylim=(0, 1.02))


def _windows(windows: list[dict[str, Any]], alarms: list[dict[str, Any]], axes: Any) -> None:
    rows = [each["rows"] for each in windows]
    for name, label in _LINES:
        values = [float("nan") if each[name] is None else each[name] for each in windows]
        axes.plot(rows, values, marker="." if len(rows) < 50 else "", label=label)
    for k, alarm in enumerate(alarms):
        axes.axvline(alarm["row"], color="0.4", linestyle=":", linewidth=1, label="alarm" if k == 0 else None)
    size = max(each["window"] for each in windows)
    axes.set(xlabel="rows", title=f"Windows of {size:,} rows", ylim=(-0.02, 1.02), xlim=(0, rows[-1]))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
