"""`pater train`: learn a model from files or a pipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .errors import StoppedError
from .progressive import Display
from .signals import stop_in_order

EXAMPLE = """\b
Examples:
  pater train rows.svm -m rows.pater
  pater train 'part-*.csv.gz' --label churn --scale -m churn.pater
  pater train big.svm --algo pater-i --class-weight 1:10 --checkpoint-every 60s --resume -m big.pater
  zcat clicks.vw.gz | pater train - --format vw -m clicks.pater
"""


def train(
    data: o.Data,
    model: o.ModelOut,
    algo: o.Algo = "auto",
    C: o.Aggressiveness = None,
    covariance: o.Covariance = None,
    form: o.Form = None,
    r: o.Ridge = None,
    eta: o.Confidence = None,
    alpha: o.Approximation = None,
    class_weight: o.ClassWeight = None,
    passes: Annotated[
        int, typer.Option("--passes", min=1, max=10_000, metavar="N", help="How often to pass over the files.")
    ] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint, if there is one.")] = False,
    checkpoint_every: Annotated[
        str | None,
        typer.Option("--checkpoint-every", metavar="N|TIME", help="Rows, or a time such as 30s or 5m."),
    ] = None,
    initial: Annotated[
        Path | None,
        typer.Option(
            "--initial-model", "-i", dir_okay=False, metavar="FILE", help="Go on from this model, its settings."
        ),
    ] = None,
    format: o.Format = None,
    label: o.Label = None,
    weight_column: o.WeightColumn = None,
    categorical: o.Categorical = None,
    drop: o.Drop = None,
    bits: o.Bits = None,
    features: o.Features = o.LIMIT_OF_FEATURES,
    scale: o.Scale = False,
    average: o.Average = False,
    no_intercept: o.NoIntercept = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Fit probabilities along the stream, for pater predict.")
    ] = False,
    scoring: o.Scoring = "balanced_accuracy",
    on_error: o.OnError = "stop",
    threads: o.Threads = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but errors and what was skipped.")] = False,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Print a JSON line at every power of two of rows, and at the end.")
    ] = False,
) -> None:
    """Learn a model from labelled rows, in one pass, and save it."""
    given = {"C": C, "covariance": covariance, "form": form, "r": r, "eta": eta, "approximation": alpha}
    others = {
        "--algo": algo != "auto",
        "--class-weight": class_weight is not None,
        "--scale": scale,
        "--average": average,
        "--no-intercept": no_intercept,
        "--probabilities": probabilities,
        "--scoring": scoring != "balanced_accuracy",
    }
    display = Display(quiet=quiet, log_json=log_json)
    with o.one_line_errors(display.compiling):
        from pater.stream import train as learn

        stop_in_order()
        try:
            display.start()
            learn(
                data,
                model=model,
                algo=algo,
                **o.settings(algo, given, others=others, saved="--initial-model" if initial else None),
                class_weight=o.class_weight(class_weight),
                intercept=not no_intercept,
                average=average,
                probability=probabilities,
                scoring=scoring,
                scale=scale,
                passes=passes,
                initial=initial,
                checkpoint_every=checkpoint_every,
                resume=resume,
                on_error=on_error,
                features=features,
                threads=threads,
                show=display.show,
                at=display.at,
                report=display.report,
                format=format,
                label=label,
                weight=weight_column,
                categorical=categorical or (),
                drop=drop or (),
                bits=bits,
            )
        except KeyboardInterrupt as stop:
            display.close()
            there = checkpoint_every and Path(f"{model}.checkpoint").exists()
            kept = "the last checkpoint is kept; --resume goes on from it." if there else "nothing was saved."
            raise StoppedError(stop, kept) from None
        finally:
            display.close()
    display.finish()
