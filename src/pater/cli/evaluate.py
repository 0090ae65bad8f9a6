"""`pater evaluate`: a model against labelled data, or a learner by progressive validation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from . import options as o
from .errors import UsageError
from .evaluation_report import Alarms, Windows, advice, show
from .learner_options import Algo, checked, operating_point, with_settings
from .terminal import say_skipped, tell, tell_json

EXAMPLE = """\b
Examples:
  pater evaluate new.svm --model rows.pater
  pater evaluate rows.svm --algo so-pater-i --plot curves.png
  pater evaluate rows.svm --window 10000 --delay 500 --window-output windows.csv --plot windows.png
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
        Path | None,
        typer.Option("--plot", dir_okay=False, metavar="FILE", help="Draw curves and windows: png, pdf or svg."),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option("--window", min=1, metavar="ROWS", help="Tell how good the answers were in every so many rows."),
    ] = None,
    window_output: Annotated[
        Path | None,
        typer.Option("--window-output", dir_okay=False, metavar="FILE", help="Windows as .csv, .jsonl or .parquet."),
    ] = None,
    delay: Annotated[
        int,
        typer.Option("--delay", min=0, metavar="ROWS", help="Labels come so many rows after what they belong to."),
    ] = 0,
    threshold: o.Threshold = None,
    as_json: o.AsJson = False,
    format: o.Format = None,
    label: o.Label = None,
    weight_column: o.WeightColumn = None,
    categorical: o.Categorical = None,
    drop: o.Drop = None,
    encoding: o.Encoding = None,
    interactions: o.Interactions = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    max_classes: o.MaxClasses = o.MOST_CLASSES,
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
    o.check_encoding(encoding, scale=scale, bits=bits, crossed=bool(interactions))
    pairs = o.pairs_of(interactions)
    point = {"--max-fpr": max_fpr is not None, "--max-fnr": max_fnr is not None, "--cost": cost is not None}
    others = {
        "--scale": scale,
        "--encoding": encoding is not None,
        "--interactions": pairs is not None,
        "--scoring": scoring != "balanced_accuracy",
        **point,
    }
    if model and delay:
        raise UsageError("--delay cannot go with --model, which does not learn.")
    if threshold is not None and not model:
        raise UsageError("--threshold goes with --model; a learner has --max-fpr, --max-fnr or --cost.")
    if window_output and not window:
        raise UsageError("--window-output goes with --window.")
    with o.one_line_errors():
        from pater.formats.errors import Skipped
        from pater.formats.reading import make_input
        from pater.models.metrics import SCORES
        from pater.stream import InputError, load
        from pater.stream import evaluation as v
        from pater.stream.algorithms import specs_of
        from pater.stream.drift import DriftWatch
        from pater.stream.encoder import is_encoded, new_encoder
        from pater.stream.guards import Guards
        from pater.stream.judged import Judged
        from pater.stream.learner import Learner
        from pater.stream.pictures import plot as draw
        from pater.stream.prediction import write_table
        from pater.stream.training import matched
        from pater.stream.windows import Windows as ByWindow

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
            delimiter=delimiter,
            decimal=decimal,
            features=1 << 30 if saved else features,
            on_error=on_error,
            threads=threads,
            keep_missing=saved.scale if saved else scale,
            encoded=is_encoded(encoding, scale=scale, bits=bits),
        )
        columns = source.describe()
        skipped = Skipped()
        drift = DriftWatch(Alarms(advice(algo, given, saved=saved is not None)))
        by_window = ByWindow(window, Windows(as_json=as_json)) if window else None
        judged = Judged(drift, *([by_window] if by_window else []))
        if saved:
            at = o.checked_threshold(threshold, saved)
            v.judge(saved, source.batches(), skipped, judged, threshold=at)
        else:
            weights = matched(given.pop("class_weight", None), numeric=columns.numeric_labels)
            if scoring not in SCORES:
                raise InputError(f"there is no score {scoring!r}.")
            specs = specs_of(algo, scoring, class_weight=weights, **given)
            encoder = new_encoder(columns, pairs)
            skip, fading = on_error == "skip", given.get("fading")
            learner = Learner(specs, columns, scoring, scale, skip=skip, encoder=encoder, fading=fading)
            guards = Guards(max_classes)
            batches = guards.over(source.batches(), learner)
            batches = encoder.over(batches) if encoder else batches
            v.judge_progressively(learner, batches, skipped, judged, delay=delay)
            guards.finish(learner)
        if by_window:
            by_window.finish()
        result = {**judged.result(), "alarms": [alarm.to_json() for alarm in drift.alarms]}
        inputs: list[str | Path] = [*(each.name for each in source.sources), *([model] if model else [])]
        if by_window and window_output:
            write_table(by_window.windows, window_output, inputs)
        if plot:
            draw({**result, "windows": by_window.windows if by_window else []}, plot, inputs)
    if as_json:
        tell_json({**result, "skipped": skipped.count, **({"final": True} if window else {})})
    else:
        if window:
            tell()
        show(result)
    say_skipped(skipped)
