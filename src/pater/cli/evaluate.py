"""`pater evaluate`: a model against labelled data, or a learner by progressive validation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from . import options as o
from .learner_options import Algo, checked, operating_point, with_settings
from .terminal import printable, say_skipped, tell, tell_json

EXAMPLE = """\b
Examples:
  pater evaluate new.svm --model rows.pater
  pater evaluate rows.svm --algo so-pater-i --plot curves.png
"""


@with_settings
def evaluate(
    data: o.Data,
    *,
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", dir_okay=False, metavar="FILE", help="Judge this model, which does not learn."),
    ] = None,
    algo: Algo = "auto",
    settings: dict[str, Any],
    plot: Annotated[
        Path | None, typer.Option("--plot", dir_okay=False, metavar="FILE", help="Draw both curves: png, pdf or svg.")
    ] = None,
    as_json: o.AsJson = False,
    format: o.Format = None,
    label: o.Label = None,
    weight_column: o.WeightColumn = None,
    categorical: o.Categorical = None,
    drop: o.Drop = None,
    bits: o.Bits = None,
    features: o.Features = o.LIMIT_OF_FEATURES,
    scale: o.Scale = False,
    scoring: o.Scoring = "balanced_accuracy",
    max_fpr: o.MaxFpr = None,
    max_fnr: o.MaxFnr = None,
    cost: o.Cost = None,
    on_error: o.OnError = "stop",
    threads: o.Threads = None,
) -> None:
    """Judge a model on labelled data; without --model, a learner on each row before it learns from it."""
    point = {"--max-fpr": max_fpr is not None, "--max-fnr": max_fnr is not None, "--cost": cost is not None}
    others = {"--scale": scale, "--scoring": scoring != "balanced_accuracy", **point}
    with o.one_line_errors():
        from pater.formats.errors import Skipped
        from pater.formats.reading import make_input
        from pater.models.metrics import SCORES
        from pater.stream import InputError, load
        from pater.stream import evaluation as v
        from pater.stream.algorithms import specs_of
        from pater.stream.learner import Learner
        from pater.stream.training import matched

        given = checked(algo, settings, others=others, saved="--model" if model else None)
        given |= operating_point(max_fpr, max_fnr, cost)
        saved = load(model) if model else None
        source = make_input(
            data,
            format=format,
            columns=saved.columns if saved else None,
            label=label,
            weight=weight_column,
            categorical=categorical or (),
            drop=drop or (),
            bits=bits,
            features=1 << 30 if saved else features,
            on_error=on_error,
            threads=threads,
            keep_missing=saved.scale if saved else scale,
        )
        columns = source.describe()
        skipped = Skipped()
        if saved:
            result = v.judge(saved, source.batches(), skipped).result()
        else:
            weights = matched(given.pop("class_weight", None), numeric=columns.numeric_labels)
            specs = specs_of(algo, class_weight=weights, **given)
            if scoring not in SCORES:
                raise InputError(f"there is no score {scoring!r}.")
            learner = Learner(specs, columns, scoring, scale, skip=on_error == "skip")
            result = v.judge_progressively(learner, source.batches(), skipped).result()
        if plot:
            v.plot(result, plot, [*(each.name for each in source.sources), *([model] if model else [])])
    if as_json:
        tell_json({**result, "skipped": skipped.count})
    else:
        _show(result)
    say_skipped(skipped)


def _show(result: dict[str, Any]) -> None:
    names = [printable(str(label)) for label in result["classes"]]
    width = max(8, *(len(name) for name in names), *(len(f"{n:,}") for row in result["confusion"] for n in row))
    tell(f"{'truth, then said':<18}" + "".join(f"{name:>{width + 2}}" for name in names))
    for name, row in zip(names, result["confusion"], strict=True):
        tell(f"{name:<18}" + "".join(f"{n:>{width + 2},}" for n in row))
    tell()
    tell(f"{result['rows']:,} rows, accuracy {result['accuracy']:.4f}, balanced {result['balanced_accuracy']:.4f}")
    for each in result["of_class"]:
        rates = [
            ("FPR", "fpr"),
            ("FNR", "fnr"),
            ("TER", "ter"),
            ("precision", "precision"),
            ("recall", "recall"),
            ("F1", "f1"),
        ]
        told = [f"{shown} {each[name]:.4f}" for shown, name in [*rates, ("G-mean", "g_mean")]]
        if "brier" in each:
            told += [f"Brier score {each['brier']:.4f}", f"log loss {each['log_loss']:.4f}"]
        if each["roc_auc"] is not None:
            told += [f"ROC area {each['roc_auc']:.4f}", f"average precision {each['average_precision']:.4f}"]
        tell(f"class {each['class']}: {', '.join(told)}")
