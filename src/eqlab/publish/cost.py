"""Score against cost: what each model's points took, in money where every price is known, else in tokens.

The axis of cost is logarithmic, since models differ by factors; nobody cheaper beats those on the stepped line."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import escape

from eqlab.core.results import Estimate
from eqlab.core.text import is_number, number, short, visible
from eqlab.core.usage import Usage
from eqlab.publish.figures import Range, ticks
from eqlab.publish.scatter import placed_names

HEIGHT = 620
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 48, 96, 64
_DOT = 6
_STYLE = """
text{font:14px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Arial,sans-serif;fill:#565f69}
.title{font-size:17px;font-weight:650;fill:#1b2026}.name{font-size:14px;font-weight:600;fill:#1b2026}.page{fill:#fff}
.rail{stroke:#e6e8e6}.whisker{stroke:#0a5d94;stroke-width:2;stroke-opacity:.5}.dot{fill:#0a5d94;stroke:#fff}
.edge{fill:none;stroke:#b4570b;stroke-width:1.5;stroke-dasharray:5 3}
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """One model's score and what its answers took."""

    name: str
    score: Estimate
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class Priced:
    """A model with its place on the axis of cost."""

    name: str
    score: Estimate
    each: float
    """Money for a thousand answers, or tokens for one."""


def cost_chart(title: str, measure: str, some: Sequence[Spent], width: int) -> str | None:
    """The drawing as a file of its own; None where nobody has both a score and a cost."""
    scored = [one for one in some if is_number(one.score.value)]
    axis, found = _priced(scored)
    if not found:
        return None
    xs = _decades([one.each for one in found])
    ys = _span([bound for one in found for bound in _bounds(one.score)])
    missing = [one.name for one in some if one.name not in {priced.name for priced in found}]
    said = "; ".join(f"{one.name} {number(one.score.value, one.score.digits)} at {_amount(one.each)}" for one in found)
    words = escape(visible(f"{title}: {measure} against {axis}. {said}"))
    under = "The dashed line joins those that no cheaper model beats."
    if missing:
        under += f" Not drawn, because their cost is unknown: {', '.join(missing[:5])}{' …' * (len(missing) > 5)}."
    parts = [
        f'<text class="title" x="16" y="28">{escape(visible(f"{title}: score and cost"))}</text>',
        f'<text x="16" y="52">{escape(visible(short(under, 160)))}</text>',
        *_axes(xs, ys, axis, measure, width),
        _edge(found, xs, ys, width),
        *(_point(one, xs, ys, width) for one in found),
    ]
    dots = [(_x(one.each, xs, width), _y(one.score.value or 0.0, ys)) for one in found]
    bounds = (_LEFT, 0.0, width, HEIGHT)
    for text, x, y, side in placed_names(dots, [one.name for one in found], bounds, letter=8.0, gap=_DOT + 3):
        parts.append(f'<text class="name" x="{x:.1f}" y="{y:.1f}" text-anchor="{side}">{escape(visible(text))}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}" role="img" aria-label="{words}">'
        f"<title>{words}</title><style>{_STYLE}</style>"
        f'<rect class="page" width="100%" height="100%"/>{"".join(parts)}</svg>\n'
    )


def _priced(some: Sequence[Spent]) -> tuple[str, list[Priced]]:
    """In money if all have a known price in one currency, else in tokens; those without are left out."""
    used = [(one, one.usage) for one in some if one.usage is not None and one.usage.answers]
    currencies = {usage.currency for _, usage in used if usage.cost is not None}
    if used and len(currencies) == 1 and all(usage.cost for _, usage in used):
        each = [Priced(one.name, one.score, 1000 * (usage.cost or 0) / usage.answers) for one, usage in used]
        return f"{currencies.pop()} for 1,000 answers", each
    counted = [
        Priced(one.name, one.score, ((usage.tokens_in or 0) + (usage.tokens_out or 0)) / usage.answers)
        for one, usage in used
        if usage.tokens_in is not None or usage.tokens_out is not None
    ]
    return "tokens for one answer, prompt included", [one for one in counted if one.each > 0]


def _bounds(score: Estimate) -> tuple[float, ...]:
    return tuple(bound for bound in (score.value, score.low, score.high) if bound is not None and is_number(bound))


def _decades(values: Sequence[float]) -> Range:
    """A little more than the values' range, as logarithms."""
    low, high = math.log10(min(values)), math.log10(max(values))
    room = max(0.15, 0.08 * (high - low))
    return low - room, high + room


def _span(values: Sequence[float]) -> Range:
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room


def _marks(xs: Range) -> list[float]:
    """1, 2 and 5 of every decade inside; where there are many, 1 alone; in a short range, round values."""
    whole = range(math.floor(xs[0]), math.ceil(xs[1]) + 1)
    some = [factor * 10.0**power for power in whole for factor in (1, 2, 5)]
    inside = [value for value in some if xs[0] <= math.log10(value) <= xs[1]]
    if len(inside) < 3:
        return ticks(10 ** xs[0], 10 ** xs[1])
    return inside if len(inside) <= 8 else [value for value in inside if math.log10(value).is_integer()]


def _axes(xs: Range, ys: Range, axis: str, measure: str, width: int) -> list[str]:
    bottom, right, parts = HEIGHT - _BOTTOM, width - _RIGHT, []
    for value in _marks(xs):
        x = f"{_x(value, xs, width):.1f}"
        parts.append(f'<line class="rail" x1="{x}" x2="{x}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(f'<text x="{x}" y="{bottom + 20}" text-anchor="middle">{_amount(value)}</text>')
    for tick in ticks(*ys):
        y = _y(tick, ys)
        parts.append(f'<line class="rail" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 10}" y="{y + 5:.1f}" text-anchor="end">{tick:g}</text>')
    middle = (_LEFT + right) / 2
    parts.append(f'<text x="{middle:.0f}" y="{HEIGHT - 14}" text-anchor="middle">{escape(axis)}</text>')
    parts.append(f'<text x="{_LEFT - 10}" y="{_TOP - 12}">{escape(visible(measure))}, 95 % intervals</text>')
    return parts


def _edge(found: Sequence[Priced], xs: Range, ys: Range, width: int) -> str:
    """From the cheapest on, a step up wherever more money buys a higher score."""
    best: list[Priced] = []
    for one in sorted(found, key=lambda one: (one.each, -(one.score.value or 0.0))):
        if not best or (one.score.value or 0.0) > (best[-1].score.value or 0.0):
            best.append(one)
    if len(best) < 2:
        return ""
    path = f"M{_x(best[0].each, xs, width):.1f} {_y(best[0].score.value or 0.0, ys):.1f}"
    for one in best[1:]:
        path += f"H{_x(one.each, xs, width):.1f}V{_y(one.score.value or 0.0, ys):.1f}"
    return f'<path class="edge" d="{path}"/>'


def _point(one: Priced, xs: Range, ys: Range, width: int) -> str:
    x, y = _x(one.each, xs, width), _y(one.score.value or 0.0, ys)
    whisker = ""
    if one.score.low is not None and one.score.high is not None:
        low, high = _y(one.score.low, ys), _y(one.score.high, ys)
        whisker = f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>'
    return f'{whisker}<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{_DOT}"/>'


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _x(value: float, xs: Range, width: int) -> float:
    share = (math.log10(value) - xs[0]) / (xs[1] - xs[0])
    return _LEFT + share * (width - _LEFT - _RIGHT)


def _y(value: float, ys: Range) -> float:
    share = (value - ys[0]) / (ys[1] - ys[0])
    return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)
