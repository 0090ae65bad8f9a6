"""`pater evaluate`: evaluate a model on labelled data, or a learner by progressive validation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import checks
from . import options as o
from .errors import UsageError
from .evaluation_report import advice, show
from .learner_options import Algo, checked, operating_point, with_settings
from .library import one_line_errors
from .terminal import say_skipped, tell, tell_json

if TYPE_CHECKING:
    from pater.formats.batches import Batch

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
        typer.Option(
            "--model", "-m", dir_okay=False, metavar="FILE", help="Evaluate this model, which does not learn."
        ),
    ] = None,
    algo: Algo = "auto",
    settings: dict[str, Any],
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            dir_okay=False,
            metavar="FILE",
            help="Draw curves and windows: png, pdf or svg.",
            callback=checks.no_dash,
        ),
    ] = None,
    window: o.Window = None,
    window_output: o.WindowOutput = None,
    delay: Annotated[
        str,
        typer.Option(
            "--delay",
            metavar="ROWS|COLUMN",
            help="Labels arrive this many rows later, or at the time given by a column of a table.",
        ),
    ] = "0",
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="COLUMN",
            help="The time of each row, for --delay COLUMN.  [default: row numbers, or the only other date column]",
        ),
    ] = None,
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
    """Evaluate a model on labelled data; without --model, test a learner on each row before it learns from it."""
    checks.check_encoding(encoding, scale=scale, bits=bits, crossed=bool(interactions))
    checks.check_columns(label, weight_column, drop)
    pairs = checks.pairs_of(interactions)
    point = {"--max-fpr": max_fpr is not None, "--max-fnr": max_fnr is not None, "--cost": cost is not None}
    others = {
        "--scale": scale,
        "--encoding": encoding is not None,
        "--interactions": pairs is not None,
        "--scoring": scoring != "balanced_accuracy",
        **point,
    }
    late = checks.checked_delay(delay, time)
    if model and late:
        raise UsageError("--delay cannot be combined with --model: a saved model does not learn.")
    if threshold is not None and not model:
        raise UsageError("--threshold needs --model; a learner has --max-fpr, --max-fnr or --cost.")
    if window_output and not window:
        raise UsageError("--window-output needs --window.")
    checks.check_ending("--window-output", window_output, checks.TABLES, data)
    checks.check_ending("--plot", plot, checks.PICTURES, data)
    checks.check_outputs(window_output, plot)
    with one_line_errors():
        from pater.formats.errors import Skipped
        from pater.stream import evaluation as v
        from pater.stream.beginning import Beginning
        from pater.stream.guards import Guards
        from pater.stream.label_times import LabelTimes
        from pater.stream.widths import weighing

        from .watching import Watching

        given = checked(algo, settings, others=others, saved="--model" if model else None)
        given |= operating_point(max_fpr, max_fnr, cost)
        begin = Beginning(
            algo=algo,
            scoring=scoring,
            scale=scale,
            initial=model,
            on_error=on_error,
            features=1 << 30 if model else features,
            threads=threads,
            encoding=encoding,
            interactions=pairs,
            options={
                **given,
                "format": format,
                "label": label,
                "weight": weight_column,
                "categorical": categorical or (),
                "drop": drop or (),
                "bits": bits,
                "delimiter": delimiter,
                "decimal": decimal,
            },
        )
        saved, source = begin.before, begin.input(data)
        skipped = Skipped()
        watched = Watching(window, advice(algo, given, saved=saved is not None), as_json=as_json, keep=True)
        judged = watched.judged
        if saved:
            at = checks.checked_threshold(threshold, saved)
            v.judge(saved, source.batches(), skipped, judged, threshold=at)
        else:
            learner = begin.learner(source)
            encoder = learner.encoder
            guards = Guards(max_classes)
            batches: Iterator[Batch] = (weighing(batch, learner) for batch in source.batches())
            known = LabelTimes(source.describe(), late, time) if isinstance(late, str) else late
            if isinstance(known, LabelTimes):
                batches = known.over(batches)
            batches = guards.over(batches, learner)
            batches = encoder.over(batches) if encoder else batches
            v.judge_progressively(learner, batches, skipped, judged, delay=known)
            guards.finish(learner)
        inputs: list[str | Path] = [*(each.name for each in source.sources), *([model] if model else [])]
        result = watched.finish(judged.result(), window_output, plot, inputs)
    if as_json:
        tell_json({**result, "skipped": skipped.count, **({"final": True} if window else {})})
    else:
        if window:
            tell()
        show(result)
    say_skipped(skipped)
