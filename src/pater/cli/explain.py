"""`pater explain`: show what a model has learned about each column, and why it predicts rows as it does."""

from __future__ import annotations

import shutil
import sys
from itertools import islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import checks
from . import options as o
from .errors import UsageError
from .library import one_line_errors
from .signals import stop_in_order
from .terminal import printable, say, say_skipped, tell, tell_json

if TYPE_CHECKING:
    from pater.preprocessing.curves import Curve, Effect

EXAMPLE = """\b
Examples:
  pater explain fraud.pater
  pater explain fraud.pater --html fraud.html
  pater explain fraud.pater new.csv --limit 3
  head -n 2 new.csv | pater explain fraud.pater - -f csv --json
"""
MOST_VALUES = 12  # most categories or words shown of a column, and most columns without effect
BAR = 20
MOST_ROWS = 1 << 62  # most rows that can be asked for
TINY = 1e-12  # the least length of a full bar, so that rounding errors draw none


def explain(
    *,
    model: o.ModelIn,
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ROWS]...", help="Rows to explain: files, globs, or - for standard input."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option("--top", min=0, metavar="N", help="How many columns to show.  [default: 10; with --json all]"),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=0, metavar="N", help="How many rows to explain.  [default: 10; with --json all]"),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            dir_okay=False,
            metavar="FILE",
            help="Write one page with the curves, and the rows if there are any.",
            callback=checks.no_dash,
        ),
    ] = None,
    as_json: o.AsJson = False,
    format: o.Format = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    on_error: o.OnError = "stop",
    threads: o.Threads = None,
) -> None:
    """Show what each column of a table adds to the margin, with row counts and standard errors; or explain rows."""
    if html is not None and as_json:
        raise UsageError("--html and --json cannot be combined: run it twice.")
    with one_line_errors():
        from pater.formats.errors import Skipped
        from pater.stream import load
        from pater.stream.explanation import curves_of, curves_told, explain_rows, row_told

        stop_in_order()
        learner, skipped = load(model), Skipped()
        most = min(limit, MOST_ROWS) if limit is not None else None if as_json else 10
        reading: dict[str, Any] = {"format": format, "threads": threads, "on_error": on_error}
        reading |= {"delimiter": delimiter, "decimal": decimal}
        found = explain_rows(learner, data, skipped, **reading) if data else None
        rows = (row_told(learner, some, r) for some in found or () for r in range(len(some)))
        if data and as_json:
            for told in islice(rows, most):
                tell_json(told)
        elif html is not None or data:
            shown = list(islice(rows, None if most is None else most + 1))
            if html is not None:
                from pater.stream.effects_page import write_page

                write_page(learner, html, model, shown[:most], data or [])
                say(f"{html} is written; open it in a browser.")
            else:
                for told in shown[:most]:
                    _row(told, 10 if top is None else top)
            if data and not shown:
                say("There are no rows to explain.")
            if most is not None and len(shown) > most:
                what = "row is" if most == 1 else f"{most} rows are"
                say(f"Only the first {what} shown: see more of them with --limit.")
        else:
            curves = curves_of(learner)
            if as_json:
                tell_json(curves_told(learner, curves, top), indent=1)
            else:
                _curves(curves_told(learner, curves, 0), curves, 10 if top is None else top)
        if found is not None:
            found.close()
    say_skipped(skipped)


def _curves(told: dict[str, Any], curves: list[Curve], top: int) -> None:
    for base in told["base"]:
        name = base["class"]
        threshold = f"; {name} is predicted from {told['threshold']:.4g} on" if "threshold" in told else ""
        tell(f"class {name}: the average row has a margin of {base['margin']:.4g}{threshold}")
    if not told["counted"]:
        tell("rows were not counted when this model was trained: effects are not centred")
    from pater.preprocessing.curves import foremost_columns, rounding_of

    names = [base["class"] for base in told["base"]]
    rounding = rounding_of(curves, [base["margin"] for base in told["base"]])
    wanted = foremost_columns(curves, top)
    for curve in wanted:
        of_class = f", class {names[curve.model]}" if len(names) > 1 else ""
        tell()
        tell(f"{curve.name} ({curve.kind}{of_class}), spread {curve.spread:.3g}")
        _effects(curve, rounding)
    left = len({curve.column for curve in curves}) - len({curve.column for curve in wanted})
    if left:
        tell()
        tell(f"and {left} more columns that matter less (--top)")
    without = [printable(name) for name in told["without_effect"]]
    if without:
        more = f" and {len(without) - MOST_VALUES} more" if len(without) > MOST_VALUES else ""
        tell()
        tell(f"no effect: {', '.join(without[:MOST_VALUES])}{more}")


def _effects(curve: Curve, rounding: float) -> None:
    """Print the effects of a curve, with bars unless all effects are rounding errors."""
    effects = curve.foremost(MOST_VALUES)
    largest = curve.largest if curve.largest > rounding else inf
    names = [printable(effect.value) for effect in effects]
    width = max(map(len, names))
    told = zip(names, effects, strict=True)
    lines = [(f"  {name:<{width}}  {each.rows_told:>11}  {_sized(each)}  ", each.effect) for name, each in told]
    _tell_with_bars(lines, largest)
    if len(effects) < len(curve.effects):
        tell(f"  and {len(curve.effects) - len(effects)} more that matter less")


def _sized(effect: Effect) -> str:
    sure = f" ± {effect.standard_error:<7.2g}" if effect.standard_error == effect.standard_error else ""
    return f"{effect.effect:>+8.3f}{sure}"


def _tell_with_bars(lines: list[tuple[str, float]], largest: float) -> None:
    """Print lines, each with a bar in proportion to its number; on a narrow terminal, bars are shorter."""
    bar = BAR
    if sys.stdout.isatty():
        bar = max(0, min(BAR, shutil.get_terminal_size().columns - max(len(text) for text, _ in lines)))
    for text, value in lines:
        tell(f"{text}{('+' if value > 0 else '-') * round(bar * abs(value) / largest)}".rstrip())


def _row(told: dict[str, Any], top: int) -> None:
    unit = "line" if "line" in told else "row"
    tell(f"{told['source']}, {unit} {told[unit]}: predicted {told['prediction']}")
    for margin in told["margins"]:
        name = margin["class"]
        threshold = f" ({name} from {told['threshold']:.4g} on)" if "threshold" in told else ""
        tell(f"  margin of {name}: {margin['margin']:+.4f}{threshold}")
        terms = sorted(margin["terms"], key=lambda term: -abs(term["adds"]))
        lines = [(f"{term['name']} = {_value(term['value'])}", term["adds"]) for term in terms[:top]]
        if len(terms) > top:
            lines.append((f"{len(terms) - top} others", sum(term["adds"] for term in terms[top:])))
        lines.append(("base", margin["base"]))
        names = [printable(name if len(name) <= 60 else f"{name[:59]}…") for name, _ in lines]
        width, largest = max(map(len, names)), max(TINY, *(abs(adds) for _, adds in lines))
        told_of = zip(names, lines, strict=True)
        _tell_with_bars([(f"    {name:<{width}}  {adds:>+9.4f}  ", adds) for name, (_, adds) in told_of], largest)
    tell()


def _value(value: str | None) -> str:
    return "missing" if value is None else value
