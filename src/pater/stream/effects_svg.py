"""Effect curves as SVG that takes its colours from the surrounding page.

Knows `preprocessing/curves.py` only. A range of numbers is a line with its band, over columns of rows; anything else
is a bar with its error. A band or an error reaches two standard errors to both sides.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html import escape
from itertools import pairwise
from math import ceil, floor, isfinite, log10

from ..preprocessing.curves import Curve, Effect

WIDTH, HEIGHT = 480.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 10.0, 12.0, 58.0
ROWS = 30.0  # height of the columns of rows below a line
MOST_BARS = 14
LINE = 20.0  # height of a bar and the space around it
DAY = 86400.0
SKEWED = 12.0  # times the median width: if the widest range is wider, all are drawn with the same width


def drawing(curve: Curve, least: float = 0.0) -> str:
    """The picture of a curve; its scale reaches at least to ±`least`, so that small effects look small."""
    if curve.pieces:
        return _lines(curve, least)
    return _columns(curve, least) if curve.part == "hour" else _bars(curve, least)


def shown(curve: Curve) -> list[Effect]:
    """The values of a curve drawn as bars; if there are many, those that matter most."""
    effects = curve.foremost(MOST_BARS)
    return effects if curve.part else sorted(effects, key=lambda effect: -effect.effect)


def _lines(curve: Curve, least: float) -> str:
    pieces = curve.pieces
    missing = [effect for effect in curve.effects if effect.kind == "missing"]
    right = WIDTH - RIGHT - (44 if missing else 0)
    values = [v for e in pieces for end in (e.effect_at_start, e.effect_at_end) for v in _around(end, e)]
    values += [v for e in missing for v in _around(e.effect, e)]
    scale = _Scale([*values, -least, least], HEIGHT - BOTTOM, TOP)
    cuts = [pieces[0].start, *(piece.end for piece in pieces)]
    widths = sorted(end - start for start, end in pairwise(cuts))
    even = len(pieces) > 2 and widths[-1] > SKEWED * widths[len(widths) // 2]
    share = [k / len(pieces) if even else (c - cuts[0]) / (cuts[-1] - cuts[0]) for k, c in enumerate(cuts)]
    at = [LEFT + part * (right - LEFT) for part in share]
    parts = [scale.grid(LEFT, WIDTH - RIGHT)]
    most = max([1, *(effect.rows or 0 for effect in curve.effects)])
    upper, lower, line = [], [], []
    for piece, x0, x1 in zip(pieces, at, at[1:], strict=False):
        parts.append(_rows(piece, x0, x1 - x0, most))
        for x, end in ((x0, piece.effect_at_start), (x1, piece.effect_at_end)):
            low, high = _around(end, piece)
            upper.append(f"{x:.1f},{scale(high):.1f}")
            lower.append(f"{x:.1f},{scale(low):.1f}")
            line.append(f"{x:.1f},{scale(end):.1f}")
    if isfinite(pieces[0].standard_error):
        parts.append(f'<polygon class="band" points="{" ".join(upper + lower[::-1])}"/>')
    parts.append(f'<polyline class="curve" points="{" ".join(line)}"/>')
    for piece, x0, x1 in zip(pieces, at, at[1:], strict=False):  # a place to point at
        parts.append(
            f'<rect class="point" x="{x0:.1f}" y="{TOP:.1f}" width="{x1 - x0:.1f}" '
            f'height="{HEIGHT - BOTTOM + ROWS - TOP:.1f}"><title>{_tooltip(piece)}</title></rect>'
        )
    for effect in missing:
        x = WIDTH - RIGHT - 20
        parts += [_rows(effect, x - 12, 24, most), _dot(effect, x, scale)]
        parts.append(_text(x, HEIGHT - 12, "missing", "middle"))
    ticks = list(zip(at, cuts, strict=True))[1:-1]
    if not even:
        nice = _moments(cuts[0], cuts[-1]) if curve.kind == "date" else _numbers(cuts[0], cuts[-1])
        ticks = [(LEFT + (tick - cuts[0]) / (cuts[-1] - cuts[0]) * (right - LEFT), tick) for tick in nice]
    parts += _ticks(ticks, curve.kind == "date", cuts[-1] - cuts[0])
    return _svg(HEIGHT, f"effect of {curve.name}", parts)


def _columns(curve: Curve, least: float) -> str:
    """One column for each hour."""
    values = [v for e in curve.effects for v in _around(e.effect, e)]
    scale = _Scale([*values, -least, least], HEIGHT - BOTTOM, TOP)
    step = (WIDTH - RIGHT - LEFT) / len(curve.effects)
    most = max([1, *(effect.rows or 0 for effect in curve.effects)])
    parts = [scale.grid(LEFT, WIDTH - RIGHT)]
    for k, effect in enumerate(curve.effects):
        x, y, zero = LEFT + k * step, scale(effect.effect), scale(0.0)
        parts.append(_rows(effect, x, step, most))
        parts.append(
            f'<rect class="bar {_sign(effect)}" x="{x + 1.5:.1f}" y="{min(y, zero):.1f}" width="{step - 3:.1f}" '
            f'height="{max(0.5, abs(y - zero)):.1f}"><title>{_tooltip(effect)}</title></rect>'
        )
        if isfinite(effect.standard_error):
            low, high = (scale(value) for value in _around(effect.effect, effect))
            parts.append(f'<path class="error" d="M{x + step / 2:.1f} {low:.1f}V{high:.1f}"/>')
        if k % 3 == 0:
            hour = effect.value.split()[1]
            parts.append(_text(x + step / 2, HEIGHT - 12, f"{hour}:00", "middle"))
    return _svg(HEIGHT, f"effect of {curve.name}", parts)


def _bars(curve: Curve, least: float) -> str:
    """Bars one below the other, each with its name and its rows."""
    effects, left, right = shown(curve), 150.0, WIDTH - 62.0
    height = 26.0 + LINE * len(effects)
    scale = _Scale([-least, least, *(v for e in effects for v in _around(e.effect, e))], left, right)
    parts = [
        f'<path class="grid" d="M{scale(tick):.1f} 4V{height - 20:.1f}"/>'
        f"{_text(scale(tick), height - 6, told, 'middle')}"
        for tick, told in scale.ticks()
    ]
    parts.append(f'<path class="zero" d="M{scale(0.0):.1f} 4V{height - 20:.1f}"/>')
    for k, effect in enumerate(effects):
        y, x, zero = 6 + k * LINE, scale(effect.effect), scale(0.0)
        name = effect.value if len(effect.value) <= 22 else f"{effect.value[:21]}…"
        parts.append(_text(left - 8, y + 12, name, "end", "name"))
        parts.append(
            f'<rect class="bar {_sign(effect)}" x="{min(x, zero):.1f}" y="{y + 2:.1f}" height="{LINE - 7:.1f}" '
            f'width="{max(0.5, abs(x - zero)):.1f}"><title>{_tooltip(effect)}</title></rect>'
        )
        if isfinite(effect.standard_error):
            low, high = (scale(value) for value in _around(effect.effect, effect))
            parts.append(f'<path class="error" d="M{low:.1f} {y + LINE / 2 - 1.5:.1f}H{high:.1f}"/>')
        if effect.rows is not None:
            parts.append(_text(WIDTH - 4, y + 12, f"{effect.rows:,}", "end"))
    return _svg(height, f"effect of {curve.name}", parts)


class _Scale:
    """From effects to places in the picture."""

    def __init__(self, values: list[float], start: float, stop: float) -> None:
        low, high = min(values), max(values)
        pad = 0.05 * (high - low) or 1.0
        self.low, self.high, self.start, self.stop = low - pad, high + pad, start, stop

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.stop - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        step = _step((self.high - self.low) / 5)
        digits = max(0, -floor(log10(step)))
        places = [k * step for k in range(ceil(self.low / step), floor(self.high / step) + 1)]
        return [(place, f"{place + 0.0:+.{digits}f}" if abs(place) > step / 2 else "0") for place in places]

    def grid(self, left: float, right: float) -> str:
        lines = [
            f'<path class="{"zero" if told == "0" else "grid"}" d="M{left:.1f} {self(tick):.1f}H{right:.1f}"/>'
            f"{_text(left - 6, self(tick) + 3.5, told, 'end')}"
            for tick, told in self.ticks()
        ]
        return "".join(lines)


def _step(size: float) -> float:
    """The nice number at or above a size: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(size))
    return next(power * nice for nice in (1, 2, 5, 10) if power * nice >= size * (1 - 1e-9))


def _numbers(low: float, high: float) -> list[float]:
    """Nice numbers in a range."""
    step = _step((high - low) / 6)
    return [k * step for k in range(ceil(low / step), floor(high / step) + 1)]


def _moments(low: float, high: float) -> list[float]:
    """The beginnings of hours, days or months in a range of seconds since 1970."""
    step = next((s for s in (60, 300, 900, 3600, 10800, 21600, 43200, 86400, 172800, 604800) if high - low <= 7 * s), 0)
    if step:
        return [float(k * step) for k in range(ceil(low / step), floor(high / step) + 1)]
    first, last = (_date(value).year * 12 + _date(value).month - 1 for value in (low, high))
    months = range(first + 1, last + 1)[:: max(1, ceil((last - first) / 7))]
    return [datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC).timestamp() for month in months]


def _date(seconds: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def _ticks(ticks: list[tuple[float, float]], is_date: bool, span: float) -> list[str]:
    """The numbers below an axis, as many as fit."""
    parts, last = [], -1e9
    for x, value in ticks:
        told = _moment(value, span) if is_date else f"{value:.6g}"
        room = 3.2 * len(told)
        if x - room > last + 6 and x + room < WIDTH:
            parts.append(_text(x, HEIGHT - 12, told, "middle"))
            last = x + room
    return parts


def _moment(seconds: float, span: float) -> str:
    form = "%H:%M" if span < 2 * DAY else "%d %b" if span < 300 * DAY else "%b %Y"
    return _date(seconds).strftime(form)


def _rows(effect: Effect, x: float, width: float, most: int) -> str:
    if not effect.rows:
        return ""
    height = ROWS * effect.rows / most
    y = HEIGHT - BOTTOM + ROWS + 4 - height
    return f'<rect class="rows" x="{x + 0.5:.1f}" y="{y:.1f}" width="{max(0.5, width - 1):.1f}" height="{height:.1f}"/>'


def _dot(effect: Effect, x: float, scale: _Scale) -> str:
    low, high = (scale(value) for value in _around(effect.effect, effect))
    error = f'<path class="error" d="M{x:.1f} {low:.1f}V{high:.1f}"/>' if isfinite(effect.standard_error) else ""
    place = f'cx="{x:.1f}" cy="{scale(effect.effect):.1f}"'
    return f'{error}<circle class="dot" {place} r="3.5"><title>{_tooltip(effect)}</title></circle>'


def _around(value: float, effect: Effect) -> tuple[float, float]:
    error = 2 * effect.standard_error if isfinite(effect.standard_error) else 0.0
    return value - error, value + error


def _sign(effect: Effect) -> str:
    return "above" if effect.effect >= 0 else "below"


def _tooltip(effect: Effect) -> str:
    sure = f" ± {effect.standard_error:.2g}" if isfinite(effect.standard_error) else ""
    rows = "" if effect.rows is None else f", {effect.rows:,} rows"
    return escape(f"{effect.value}: {effect.effect:+.3g}{sure}{rows}")


def _text(x: float, y: float, text: str, anchor: str, kind: str = "tick") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(height: float, description: str, parts: list[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escape(description)}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )
