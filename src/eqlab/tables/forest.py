"""The forest plot: every subject of a table on one axis, highest score first, no-skill baselines as labelled lines.

Names, plot and numbers are placed in per cent of the width, so text keeps its size on page and in file. A page has
it twice, with names beside the plot and above it; its style sheet shows the one that fits."""

from collections.abc import Sequence

from markupsafe import Markup, escape

from eqlab.core.results import Estimate
from eqlab.core.text import (
    TOO_FEW,
    UNDEFINED,
    estimate_text,
    interval_of,
    is_number,
    number,
    short,
    short_name,
    value_of,
    visible,
)
from eqlab.core.values import dataclass
from eqlab.tables.svg import Axis, Range, on_axis, ticks

ROW = 32
_LABEL = 16
_AXIS = 34
_EDGE = 2.0
"""Per cent of the plot left free at both ends."""
_NAME = 40
"""Characters of a name."""
STYLE = """
text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Arial,sans-serif;fill:#565f69}
.f-name,.f-value{fill:#1b2026}.f-name{font-weight:600}.f-title{font-size:17px;font-weight:650;fill:#1b2026}
.f-page{fill:#fff}.rail{stroke:#e6e8e6}.thin{stroke:#565f69}.base{stroke:#b4570b;stroke-width:1.5;stroke-dasharray:5 3}
.f-base{fill:#b4570b}.whisker{stroke:#0a5d94;stroke-width:2}.dot{fill:#0a5d94;stroke:#fff;stroke-width:1.5}
.people .dot{fill:#8b3f73}.people .whisker{stroke:#8b3f73}
.beside .dot{fill:#7b858e}.beside .whisker{stroke:#7b858e}.beside .f-name{font-weight:400}
.ring{fill:#fff;stroke:#a3260f;stroke-width:2}.doubtful{stroke:#a3260f;stroke-dasharray:3 2}
.f-own .rail{stroke:#565f69;stroke-dasharray:2 4}
"""
"""The colours of a file of its own: those of the page, in daylight."""


@dataclass(frozen=True, slots=True)
class ForestLine:
    name: str
    estimate: Estimate
    rank: tuple[int, int] | None = None
    valid: bool = True
    people: bool = False
    anchor: str = ""
    """Where the page says more of it."""
    beside: bool = False
    """Whether it is there to compare with, and not what the picture is about."""


@dataclass(frozen=True, slots=True)
class Forest:
    title: str
    measure: str
    """What the axis counts."""
    lines: tuple[ForestLine, ...]
    scale: Range
    baselines: tuple[tuple[str, float], ...] = ()
    own: str = ""
    """A line kept free for the reader's own model, with these words on it; empty: none."""

    @property
    def drawn(self) -> bool:
        """Whether there is anything to see."""
        return any(is_number(line.estimate.value) for line in self.lines)

    @property
    def words(self) -> str:
        """The picture for whoever cannot see it."""
        parts = [f"{line.name} {estimate_text(line.estimate)}{rank_text(line.rank)}" for line in self.lines]
        parts += [f"baseline {name} {number(value, 1)}" for name, value in self.baselines]
        return "; ".join(parts)


def rank_text(rank: tuple[int, int] | None) -> str:
    if rank is None:
        return ""
    return f", rank {rank[0]}" if rank[0] == rank[1] else f", rank {rank[0]} to {rank[1]}"


def inline(forest: Forest) -> Markup:
    """For a page whose style sheet knows the classes; names lead to their section."""
    title, words = escape(visible(f"{forest.title}: {forest.measure}")), escape(visible(forest.words))
    drawn = ""
    for kind, narrow in (("wide", False), ("narrow", True)):
        body, height = _body(forest, linked=True, narrow=narrow)
        drawn += (
            f'<svg class="forest {kind}" width="100%" height="{height}" role="group" aria-label="{title}. {words}">'
            f"<title>{title}</title>{body}</svg>"
        )
    return Markup(drawn)


def standalone(forest: Forest, width: int = 1280) -> str:
    """A file of its own, readable on a slide."""
    body, height = _body(forest, linked=False)
    top = 44
    words = escape(visible(forest.words))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height + top + 12}" role="img" '
        f'aria-label="{words}"><title>{escape(visible(forest.title))}</title><desc>{words}</desc>'
        f'<style>{STYLE}</style><rect class="f-page" width="100%" height="100%"/>'
        f'<text class="f-title" x="16" y="28">{escape(visible(forest.title))}</text>'
        f'<svg x="16" y="{top}" width="{width - 32}" height="{height}">{body}</svg></svg>\n'
    )


def text_lines(forest: Forest, width: int) -> list[str]:
    """The picture in letters, for a terminal: name, interval and dot, score; baselines as lines through all."""
    low, high = forest.scale
    own = [("your model", forest.own)] if forest.own else []
    lines = [(short_name(line.name, min(_NAME, width // 3)), _value(line, ranked=False)) for line in forest.lines] + own
    names, values = [name for name, _ in lines], [value for _, value in lines]
    left, right = max(map(len, names), default=0), max(map(len, values), default=0)
    room = max(20, width - left - right - 4)

    def column(value: float) -> int:
        return round((min(max(value, low), high) - low) / (high - low) * (room - 1))

    shown = _merged([baseline for baseline in forest.baselines if on_axis(baseline[1], forest.scale)])
    marks = {column(value) for _, value in shown}
    drawn = [forest.title, ""]
    for name, value in shown:
        at, label = column(value), f"{short(name, 48)} {number(value, 1)}"
        said = f"{label} ╷" if at + 2 + len(label) > room and at > len(label) else f"╷ {label}"
        drawn.append(" " * (left + 2 + (at if said[0] == "╷" else at - len(label) - 1)) + said)
    for place, name in enumerate(names):
        cells = ["╎" if at in marks else " " for at in range(room)]
        estimate = forest.lines[place].estimate if place < len(forest.lines) else None
        if estimate is None:
            cells = ["╎" if at in marks else "·" for at in range(room)]
        elif estimate.value is not None and is_number(estimate.value):
            if estimate.low is not None and estimate.high is not None:
                for at in range(column(estimate.low), column(estimate.high) + 1):
                    cells[at] = "─"
            cells[column(estimate.value)] = "●"
        drawn.append(f"{name:<{left}}  {''.join(cells)}  {values[place]:>{right}}".rstrip())
    axis = [" "] * (room + 8)
    for tick in ticks(*forest.scale):
        axis[column(tick) : column(tick) + len(f"{tick:g}")] = f"{tick:g}"
    return [*drawn, " " * (left + 2) + "".join(axis).rstrip()]


_LEFT, _CHARACTER = 0.3, 7.2
"""The share of the width that names have, and how wide a character of one is."""
_PLOT = 0.45 * 720
"""How wide the axis is, at least."""
_TYPE = 720
"""The narrowest drawing whose names and numbers do not meet; a canvas shows it as large as it can."""


def fitted(forest: Forest, size: tuple[int, int]) -> str:
    """A canvas of this size, filled: rows are as far apart as there is room, type as large as names and numbers let
    it be. Under the title: n, and what the lines are."""
    width, height = size
    shown = _merged([baseline for baseline in forest.baselines if on_axis(baseline[1], forest.scale)])
    top, rows = 66, len(forest.lines) + bool(forest.own)
    fixed = top + _LABEL * len(shown) + 6 + _AXIS + 12
    name = max((len(short_name(line.name, _NAME)) for line in forest.lines), default=0)
    across = max(_TYPE, round((_CHARACTER * name + 16) / _LEFT), round((fixed + ROW * rows) * width / height))
    down = round(across * height / width)
    body, drawn = _body(forest, linked=False, row=(down - fixed) // rows, ranks=False)
    words, title = escape(visible(forest.words)), escape(visible(forest.title))
    counts = sorted({line.estimate.n for line in forest.lines if line.estimate.n})
    n = "" if not counts else f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"
    under = " · ".join(part for part in (forest.measure, n, "lines: 95 % intervals") if part not in ("", forest.title))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {across} {down}" '
        f'role="img" aria-label="{words}"><title>{title}</title><desc>{words}</desc>'
        f'<style>{STYLE}</style><rect class="f-page" width="100%" height="100%"/>'
        f'<text class="f-title" x="16" y="28">{title}</text><text x="16" y="48">{escape(visible(under))}</text>'
        f'<svg x="16" y="{top}" width="{across - 32}" height="{drawn}">{body}</svg></svg>\n'
    )


def _body(forest: Forest, *, linked: bool, narrow: bool = False, row: int = ROW, ranks: bool = True) -> tuple[str, int]:
    shown = _merged([one for one in forest.baselines if on_axis(one[1], forest.scale)])
    top = _LABEL * len(shown) + 6
    height = top + row * (len(forest.lines) + bool(forest.own))
    ranked = ranks and len(forest.lines) > 1 and not narrow
    plot = "".join(_baseline(name, value, forest.scale, place, height) for place, (name, value) in enumerate(shown))
    beside = ""
    for place, line in enumerate(forest.lines):
        middle = top + row * place + row // 2 + 4
        drawn = _whisker(line, forest.scale, middle)
        words = _words(line, middle - 9 if narrow else middle + 4, linked, ranked)
        kind = "people" if line.people else "beside" if line.beside else ""
        plot += f'<g class="{kind}">{drawn}</g>' if kind else drawn
        beside += f'<g class="{kind}">{words}</g>' if line.beside else words
    if forest.own:
        middle = height - row + row // 2 + 4
        baseline = middle - 9 if narrow else middle + 4
        rail = f'<line class="rail" x1="{_EDGE}%" x2="{100 - _EDGE}%" y1="{middle}" y2="{middle}"/>'
        plot += f'<g class="f-own">{rail}</g>'
        beside += f'<text class="f-name" x="0" y="{baseline}">your model</text>'
        beside += f'<text class="f-value" x="100%" y="{baseline}" text-anchor="end">{escape(forest.own)}</text>'
    plot += _axis(forest, height)
    x, width = ("0", "100%") if narrow else (f"{_LEFT:.0%}", "45%")
    return (
        f'<svg x="{x}" width="{width}" height="{height + _AXIS}" overflow="visible">{plot}</svg>{beside}',
        height + _AXIS,
    )


def _words(line: ForestLine, baseline: int, linked: bool, ranked: bool) -> str:
    name = f'<text class="f-name" x="0" y="{baseline}">{escape(visible(short_name(line.name, _NAME)))}</text>'
    if linked and line.anchor:
        name = f'<a href="#{escape(line.anchor)}">{name}</a>'
    value = escape(visible(_value(line, ranked)))
    return name + f'<text class="f-value" x="100%" y="{baseline}" text-anchor="end">{value}</text>'


def _value(line: ForestLine, ranked: bool) -> str:
    """Score, interval and rank in words."""
    value = "no score" if not is_number(line.estimate.value) else value_of(line.estimate)
    if (bounds := interval_of(line.estimate)) not in (UNDEFINED, TOO_FEW):
        value += f" ({bounds})"
    return value + (rank_text(line.rank) if ranked else "")


def _merged(baselines: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Lowest first; those that are printed as one number are one line with both names."""
    found: dict[str, tuple[list[str], float]] = {}
    for name, value in sorted(baselines, key=lambda one: one[1]):
        found.setdefault(number(value, 1), ([], value))[0].append(name)
    return [(", ".join(names), value) for names, value in found.values()]


def _whisker(line: ForestLine, scale: Range, middle: int) -> str:
    estimate, kind = line.estimate, "whisker" if line.valid else "whisker doubtful"
    drawn = f'<line class="rail" x1="{_EDGE}%" x2="{100 - _EDGE}%" y1="{middle}" y2="{middle}"/>'
    if estimate.value is None or not is_number(estimate.value):
        return drawn
    if estimate.low is not None and estimate.high is not None and is_number(estimate.low + estimate.high):
        left, right = _x(estimate.low, scale), _x(estimate.high, scale)
        drawn += f'<line class="{kind}" x1="{left}" x2="{right}" y1="{middle}" y2="{middle}"/>'
        for end, bound in ((left, estimate.low), (right, estimate.high)):
            if on_axis(bound, scale):
                drawn += f'<line class="{kind}" x1="{end}" x2="{end}" y1="{middle - 5}" y2="{middle + 5}"/>'
    point = "dot" if line.valid else "ring"
    x = _x(estimate.value, scale)
    if on_axis(estimate.value, scale):
        return drawn + f'<circle class="{point}" cx="{x}" cy="{middle}" r="5"/>'
    side = -1 if estimate.value < scale[0] else 1
    edge = f'<path class="{point}" d="M{9 * side} {middle}L{-2 * side} {middle - 6}V{middle + 6}z"/>'
    return drawn + f'<svg x="{x}" overflow="visible">{edge}</svg>'


def _baseline(name: str, value: float, scale: Range, row: int, bottom: int) -> str:
    """A line through all rows; each label has a height of its own, so that close ones stay readable."""
    x, y = _x(value, scale), _LABEL * row + 12
    words = visible(f"{short(name, 48)} {number(value, 1)}")
    share = (value - scale[0]) / (scale[1] - scale[0])
    far = share > 0.5 and (1.1 - share) * _PLOT < _CHARACTER * len(words)  # it fits on the left only
    label = escape(words)
    text = f'<text class="f-base" x="{x}" dx="{-5 if far else 5}" y="{y}" text-anchor="{"end" if far else "start"}">'
    return f'<line class="base" x1="{x}" x2="{x}" y1="{y - 9}" y2="{bottom}"/>{text}{label}</text>'


def _axis(forest: Forest, bottom: int) -> str:
    marks = "".join(
        f'<line class="thin" x1="{x}" x2="{x}" y1="{bottom}" y2="{bottom + 4}"/>'
        f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>'
        for tick in ticks(*forest.scale)
        for x in [_x(tick, forest.scale)]
    )
    line = f'<line class="thin" x1="{_EDGE}%" x2="{100 - _EDGE}%" y1="{bottom}" y2="{bottom}"/>'
    return f'{line}{marks}<text x="50%" y="{bottom + 31}" text-anchor="middle">{escape(visible(forest.measure))}</text>'


def _x(value: float, scale: Range) -> str:
    return Axis(*scale, _EDGE, 100 - _EDGE).place(value)


def widest(baselines: Sequence[Sequence[tuple[str, float]]]) -> tuple[tuple[str, float], ...]:
    """One value for each baseline's name: the mean over subjects, who may have answered different items."""
    found: dict[str, list[float]] = {}
    for baseline in baselines:
        for name, value in baseline:
            if is_number(value):
                found.setdefault(name, []).append(value)
    return tuple((name, sum(values) / len(values)) for name, values in found.items())
