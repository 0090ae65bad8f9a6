"""`pater train`: learn a model from files or a pipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from . import checks
from . import options as o
from .errors import StoppedError, UsageError
from .evaluation_report import advice
from .learner_options import Algo, checked, operating_point, with_settings
from .library import one_line_errors
from .progressive import Display
from .sharded import ShardDisplay, bytes_of, check_shards, train_in_shards
from .signals import stop_in_order

EXAMPLE = """\b
Examples:
  pater train rows.svm -m rows.pater
  pater train 'part-*.csv.gz' --label churn -m churn.pater
  pater train rows.svm --window 10000 --window-output windows.csv --plot windows.png -m rows.pater
  pater train big.svm --algo so-pater-i --covariance diagonal --checkpoint-every 60s --resume -m big.pater
  pater train 'part-*.parquet' --label churn --workers 4 -m churn.pater
  zcat clicks.vw.gz | pater train - --format vw -m clicks.pater
"""


@with_settings
def train(
    data: o.Data,
    *,
    model: o.ModelOut,
    algo: Algo = "auto",
    settings: dict[str, Any],
    passes: Annotated[
        int, typer.Option("--passes", min=1, max=10_000, metavar="N", help="Number of passes over the files.")
    ] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint, if there is one.")] = False,
    checkpoint_every: Annotated[
        str | None,
        typer.Option(
            "--checkpoint-every", metavar="N|TIME", help="Write a checkpoint every N rows, or every 30s or 5m."
        ),
    ] = None,
    workers: o.Workers = None,
    scheduler: o.Scheduler = None,
    shard_size: o.ShardSize = None,
    initial: Annotated[
        Path | None,
        typer.Option(
            "--initial-model", "-i", dir_okay=False, metavar="FILE", help="Continue from this model, with its settings."
        ),
    ] = None,
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
    window: o.Window = None,
    window_output: o.WindowOutput = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            dir_okay=False,
            metavar="FILE",
            help="Draw the windows: png, pdf or svg.",
            callback=checks.no_dash,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show only errors and skipped lines.")] = False,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Print a JSON line after 1, 2, 4, 8 ... rows, and at the end.")
    ] = False,
) -> None:
    """Learn a model from labelled rows, in one pass, and save it."""
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
    if (window_output or plot) and not window:
        raise UsageError(f"{'--window-output' if window_output else '--plot'} needs --window.")
    checks.check_ending("--window-output", window_output, checks.TABLES, data)
    checks.check_ending("--plot", plot, checks.PICTURES, data)
    checks.check_outputs(model, window_output, plot)
    chosen: dict[str, Any] = {
        "algo": algo,
        "scoring": scoring,
        "scale": scale,
        "initial": initial,
        "on_error": on_error,
        "features": features,
        "threads": threads,
        "encoding": encoding,
        "interactions": pairs,
    }
    options: dict[str, Any] = {
        **checked(algo, settings, others=others, saved="--initial-model" if initial else None),
        **operating_point(max_fpr, max_fnr, cost),
        "format": format,
        "label": label,
        "weight": weight_column,
        "categorical": categorical or (),
        "drop": drop or (),
        "delimiter": delimiter,
        "decimal": decimal,
        "bits": bits,
    }
    if workers is not None or scheduler is not None or shard_size is not None:
        size = None if shard_size is None else bytes_of("--shard-size", shard_size)
        one_stream = {
            "--passes": passes > 1,
            "--initial-model": initial is not None,
            "--checkpoint-every": checkpoint_every is not None,
            "--threads": threads is not None,
            "--window": window is not None,
            "-": "-" in data,
        }
        check_shards(workers, scheduler, one_stream)
        train_in_shards(
            data,
            {**chosen, "options": options},
            ShardDisplay(quiet=quiet, log_json=log_json),
            workers=workers,
            scheduler=scheduler,
            model=model,
            resume=resume,
            size=size,
            max_classes=max_classes,
        )
        return
    display = Display(quiet=quiet, log_json=log_json)
    with one_line_errors(display.compiling, quiet=quiet):
        from pater.stream.training import train as learn

        watched = None
        if window:
            from .watching import Watching

            settings_told = {name: value for name, value in settings.items() if value is not None}
            advised = advice(algo, settings_told, saved=False)
            watched = Watching(window, advised, as_json=log_json, quiet=quiet)
        stop_in_order()
        try:
            display.start()
            learn(
                data,
                model=model,
                passes=passes,
                checkpoint_every=checkpoint_every,
                resume=resume,
                max_classes=max_classes,
                show=display.show,
                at=display.at,
                report=display.report,
                judged=watched.judged if watched else None,
                **chosen,
                **options,
            )
            if watched and display.run:
                inputs: list[str | Path] = [*(each.name for each in display.run.input.sources), model]
                watched.finish({}, window_output, plot, inputs)
        except KeyboardInterrupt as stop:
            display.close()
            there = checkpoint_every and Path(f"{model}.checkpoint").exists()
            kept = "the last checkpoint is kept; --resume continues from it." if there else "nothing was saved."
            raise StoppedError(stop, kept) from None
        finally:
            display.close()
    display.finish()
