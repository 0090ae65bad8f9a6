"""Options that several verbs share, and how the errors of the library become lines for the reader."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from .errors import CommandError, UsageError
from .startup import announced, without_blas
from .terminal import say_compiling, say_warning

Data = Annotated[
    list[str], typer.Argument(metavar="DATA...", help="Files, globs, or - for standard input; plain or compressed.")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="NAME",
        help="libsvm, vw, csv, tsv, parquet or arrow.  [default: by the ending of the name, else libsvm]",
    ),
]
Label = Annotated[
    str | None,
    typer.Option("--label", "-l", metavar="COLUMN", help="A table's label.  [default: label, target, class or y]"),
]
WeightColumn = Annotated[
    str | None, typer.Option("--weight-column", metavar="COLUMN", help="A table's importance of each row.")
]
Categorical = Annotated[
    list[str] | None,
    typer.Option("--categorical", metavar="COLUMN", help="Hash this column of a table as column=value. Repeatable."),
]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Leave this column of a table out. Repeatable.")
]
Bits = Annotated[
    int | None,
    typer.Option(
        "--bits",
        "-b",
        min=1,
        max=26,
        metavar="N",
        help="Hash feature names to 2^N columns.  [default: 18 for VW and for tables with text, else no hash]",
    ),
]
Features = Annotated[
    int, typer.Option("--features", min=1, metavar="N", help="The most features that indices may ask for.")
]
OnError = Annotated[
    str,
    typer.Option("--on-error", metavar="stop|skip", help="What to do with a malformed line; skipped ones are counted."),
]
Threads = Annotated[
    int | None, typer.Option("--threads", "-j", min=1, metavar="N", help="Threads.  [default: one a processor]")
]
Algo = Annotated[
    str,
    typer.Option(
        "--algo",
        "-a",
        metavar="NAME",
        help="auto, pater-i, pater-ii, pa, pa-i, pa-ii, perceptron, alma; of second order so-pater-i, so-pater-ii, "
        "arow, cw, scw-i, scw-ii or so-perceptron.",
    ),
]
Aggressiveness = Annotated[
    float | None,
    typer.Option("--aggressiveness", "-C", metavar="C", help="C of pa-i, pa-ii, scw-i and scw-ii.  [default: 1]"),
]
Covariance = Annotated[
    str | None,
    typer.Option(
        "--covariance",
        metavar="full|diagonal",
        help="Of second order: O(d²) a row, or only what the row holds.  [default: full]",
    ),
]
Form = Annotated[
    str | None,
    typer.Option(
        "--form",
        metavar="leader|step",
        help="Of so-pater: the weights that fit all the past best, or one more step.  [default: leader]",
    ),
]
Ridge = Annotated[
    float | None,
    typer.Option("--r", metavar="R", help="r of so-pater, arow and so-perceptron.  [default: 30 for so-pater, else 1]"),
]
Confidence = Annotated[
    float | None,
    typer.Option("--eta", metavar="ETA", help="η of cw, scw-i and scw-ii, above 0.5 and below 1.  [default: 0.9]"),
]
Approximation = Annotated[
    float | None,
    typer.Option("--alpha", metavar="ALPHA", help="α of alma, above 0 and at most 1.  [default: 0.9]"),
]
ClassWeight = Annotated[
    str | None,
    typer.Option("--class-weight", "-w", metavar="LABEL:WEIGHT,...", help="For example 1:10; or balanced."),
]
Scoring = Annotated[
    str,
    typer.Option("--scoring", metavar="NAME", help="What best means to auto: accuracy, balanced_accuracy, ter, f1 ..."),
]
Scale = Annotated[bool, typer.Option("--scale", help="Standardise as the stream passes.")]
Average = Annotated[bool, typer.Option("--average", help="Predict with the average of the weights over the stream.")]
NoIntercept = Annotated[bool, typer.Option("--no-intercept", help="Learn no constant term.")]
ModelOut = Annotated[Path, typer.Option("--model", "-m", dir_okay=False, metavar="FILE", help="Where the model goes.")]
ModelIn = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", dir_okay=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]

LIMIT_OF_FEATURES = 1 << 22

_SETTINGS = {
    "C": "--aggressiveness",
    "covariance": "--covariance",
    "form": "--form",
    "r": "--r",
    "eta": "--eta",
    "approximation": "--alpha",
}


@contextmanager
def one_line_errors(compiling: Callable[[], None] = say_compiling) -> Iterator[None]:
    """Whatever is wrong with an input or a model file ends in one line; `compiling` is called if there is a wait."""
    without_blas()
    from pater.files.model_file import ModelFileError
    from pater.models.model import ManyClassesWarning
    from pater.stream import InputError

    try:
        with announced(compiling), warnings.catch_warnings():
            warnings.simplefilter("always", ManyClassesWarning)
            warnings.showwarning = say_warning
            yield
    except (InputError, ModelFileError) as error:
        raise CommandError(str(error)) from None
    except MemoryError:
        raise CommandError("there is not enough memory; fewer --bits or --features need less.") from None


def settings(algo: str, given: dict[str, Any], *, others: dict[str, bool], saved: str | None) -> dict[str, Any]:
    """Those of `given` that were given; wrong usage if one has a wrong value, or would be ignored.

    `saved` is the option that named a saved model, whose own settings hold; `others` says of the learner's other
    options whether they were given.
    """
    from pater.kernels.rules import RULES
    from pater.models.settings import RULE_SETTINGS

    given = {name: value for name, value in given.items() if value is not None}
    ignored = [*(option for option, there in others.items() if there), *(_SETTINGS[name] for name in given)]
    if saved and ignored:
        raise UsageError(f"{', '.join(ignored)} cannot go with {saved}: the settings of that model hold.")
    for name, value in given.items():
        option, setting = _SETTINGS[name], RULE_SETTINGS[name]
        if wrong := setting.wrong(option, value):
            raise UsageError(wrong)
        if algo in ("auto", *RULES) and algo not in setting.rules:
            raise UsageError(f"--algo {algo} has no {option}; it is for {', '.join(setting.rules)}.")
    return given


def class_weight(text: str | None) -> dict[str, float] | str | None:
    """From 1:10 or spam:3,ham:1 to weights by label."""
    if text is None or text == "balanced":
        return text
    weights: dict[str, float] = {}
    for part in text.split(","):
        label, _, number = part.strip().rpartition(":")
        try:
            weights[label.strip()] = float(number)
        except ValueError:
            label = ""
        if not label or not 0 < weights[label.strip()] < float("inf"):
            raise UsageError(
                f"--class-weight wants LABEL:WEIGHT with a positive weight, as in 1:10; got {part.strip()!r}."
            )
    return weights
