"""Scatter plots as one SVG file that needs nothing else: dots with whiskers, names where there is room for them, and on
request a stepped line along those that nobody to their left beats."""

from collections.abc import Iterator, Sequence

from markupsafe import escape

from eqlab.core.text import visible
from eqlab.core.values import dataclass
from eqlab.tables.svg import Axis, Range

Box = tuple[float, float, float, float]
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 60, 96, 64
_LABELLED = 20
"""With more dots than this, names show only when pointed at."""
_STYLE = """
text{font:14px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Arial,sans-serif;fill:#565f69}
.title{font-size:17px;font-weight:650;fill:#1b2026}.name{font-size:12px;font-weight:600;fill:#1b2026}.page{fill:#fff}
.rail{stroke:#e6e8e6}.whisker{stroke:#0a5d94;stroke-width:2;stroke-opacity:.45}.dot{fill:#0a5d94;stroke:#fff}
.edge{fill:none;stroke:#b4570b;stroke-width:1.5;stroke-dasharray:5 3}
.curve{fill:none;stroke:#8b3f73;stroke-width:3}.down{stroke:#0a5d94;stroke-width:1.5;stroke-dasharray:2 3}
@media (prefers-color-scheme:dark){text{fill:#bbb}.title,.name{fill:#ddd}.rail{stroke:#444}.page{fill:#161616}
.whisker{stroke:#8ab4f8}.dot{fill:#8ab4f8;stroke:#161616}}
"""


@dataclass(frozen=True, slots=True)
class Dot:
    name: str
    x: float
    y: float
    x_bounds: Range | None = None
    y_bounds: Range | None = None
    words: str = ""
    """What the dot says when pointed at."""


@dataclass(frozen=True, slots=True)
class Scatter:
    title: str
    under: str
    """A line below the title; empty: none."""
    x_label: str
    y_label: str
    dots: tuple[Dot, ...]
    log: bool = False
    """Whether the axis across is logarithmic."""
    steps: bool = False
    """Whether to draw the line along those that no dot to their left beats."""
    curve: tuple[tuple[float, float], ...] = ()
    """A line through these places, with a line down to the axis from each dot: a distribution, and who is where."""


def scatter_file(panels: Sequence[Scatter], width: int = 960, height: int = 620) -> str:
    """Panels one below the other."""
    words = escape(visible(" ".join(_words(panel) for panel in panels)))
    body = "".join(
        f'<g transform="translate(0 {height * place})">{_panel(panel, width, height)}</g>'
        for place, panel in enumerate(panels)
    )
    whole = height * len(panels)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {whole}" width="{width}" height="{whole}" '
        f'role="img" aria-label="{words}"><title>{words}</title><style>{_STYLE}</style>'
        f'<rect class="page" width="{width}" height="{whole}"/>{body}</svg>\n'
    )


def _words(panel: Scatter) -> str:
    """The picture for whoever cannot see it."""
    dots = "; ".join(dot.words or f"{dot.name} {dot.y:g} at {dot.x:g}" for dot in panel.dots)
    return f"{panel.title}: {panel.y_label} against {panel.x_label}. {dots}."


def _panel(panel: Scatter, width: int, height: int) -> str:
    through = [Dot("", x, y) for x, y in panel.curve]
    every = (*panel.dots, *through)
    across = _axis([(dot.x, dot.x_bounds) for dot in every], _LEFT, width - _RIGHT, log=panel.log)
    up = _axis([(dot.y, dot.y_bounds) for dot in every], height - _BOTTOM, _TOP)
    parts = [
        f'<text class="title" x="16" y="28">{escape(visible(panel.title))}</text>',
        f'<text x="16" y="52">{escape(visible(panel.under))}</text>' if panel.under else "",
        *_rails(panel, across, up, width, height),
        _steps(panel.dots, across, up) if panel.steps else "",
        *(_curve(through, panel.dots, across, up, height) if through else ()),
        *(_dot(dot, across, up) for dot in panel.dots),
    ]
    if len(panel.dots) <= _LABELLED:
        dots = [(across.at(dot.x), up.at(dot.y)) for dot in panel.dots]
        for name, x, y, side in _placed_names(dots, [dot.name for dot in panel.dots], (_LEFT, 0.0, width, height)):
            anchor = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{side}"'
            parts.append(f'<text class="name" {anchor}>{escape(visible(name))}</text>')
    return "".join(parts)


def _axis(values: Sequence[tuple[float, Range | None]], start: float, end: float, *, log: bool = False) -> Axis:
    """A little longer than the values and their intervals."""
    ends = [bound for value, bounds in values for bound in (value, *(bounds or ()))] or [0.0, 1.0]
    low, high = min(ends), max(ends)
    if log:
        factor = max(1.4, (high / low) ** 0.08)
        return Axis(low / factor, high * factor, start, end, "px", log=True)
    margin = 0.06 * (high - low) or 0.5
    return Axis(low - margin, high + margin, start, end, "px")


def _rails(panel: Scatter, across: Axis, up: Axis, width: int, height: int) -> Iterator[str]:
    bottom, right = height - _BOTTOM, width - _RIGHT
    for tick in across.ticks():
        x = across.place(tick)
        yield f'<line class="rail" x1="{x}" x2="{x}" y1="{_TOP}" y2="{bottom}"/>'
        yield f'<text x="{x}" y="{bottom + 20}" text-anchor="middle">{amount(tick)}</text>'
    for tick in up.ticks():
        y = up.at(tick)
        yield f'<line class="rail" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 10}" y="{y + 5:.1f}" text-anchor="end">{tick:g}</text>'
    middle = (_LEFT + right) / 2
    yield f'<text x="{middle:.0f}" y="{height - 14}" text-anchor="middle">{escape(visible(panel.x_label))}</text>'
    yield f'<text x="{_LEFT - 10}" y="{_TOP - 12}">{escape(visible(panel.y_label))}</text>'


def amount(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _dot(dot: Dot, across: Axis, up: Axis) -> str:
    x, y = across.place(dot.x), up.place(dot.y)
    drawn = ""
    if dot.y_bounds:
        low, high = map(up.place, dot.y_bounds)
        drawn += f'<line class="whisker" x1="{x}" x2="{x}" y1="{low}" y2="{high}"/>'
    if dot.x_bounds:
        left, right = map(across.place, dot.x_bounds)
        drawn += f'<line class="whisker" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>'
    words = escape(visible(dot.words or dot.name))
    return f'{drawn}<circle class="dot" cx="{x}" cy="{y}" r="5"><title>{words}</title></circle>'


def _steps(dots: Sequence[Dot], across: Axis, up: Axis) -> str:
    """From the left, a step up wherever a dot is higher than all before it."""
    best: list[Dot] = []
    for dot in sorted(dots, key=lambda dot: (dot.x, -dot.y)):
        if not best or dot.y > best[-1].y:
            best.append(dot)
    if len(best) < 2:
        return ""
    path = f"M{across.place(best[0].x)} {up.place(best[0].y)}"
    path += "".join(f"H{across.place(dot.x)}V{up.place(dot.y)}" for dot in best[1:])
    return f'<path class="edge" d="{path}"/>'


def _curve(through: Sequence[Dot], dots: Sequence[Dot], across: Axis, up: Axis, height: int) -> Iterator[str]:
    places = " ".join(f"{across.place(dot.x)},{up.place(dot.y)}" for dot in through)
    yield f'<polyline class="curve" points="{places}"/>'
    for dot in dots:
        x = across.place(dot.x)
        yield f'<line class="down" x1="{x}" x2="{x}" y1="{up.place(dot.y)}" y2="{height - _BOTTOM}"/>'


def _placed_names(
    dots: Sequence[tuple[float, float]], names: Sequence[str], bounds: Box
) -> Iterator[tuple[str, float, float, str]]:
    """Each name with its place beside its dot, on the first of four sides where it stays on the page and off dots and
    other names."""
    letter, gap = 7.0, 8.0
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in dots]
    for name, (x, y) in zip(names, dots, strict=True):
        length, tall = letter * len(name), 1.8 * letter
        above, below = y - 5, y + 1.3 * letter + 6
        places = [
            (x + gap, above, "start"),
            (x - gap, above, "end"),
            (x + gap, below, "start"),
            (x - gap, below, "end"),
        ]
        boxes = [
            (px - length * (side == "end"), py - tall, px + length * (side == "start"), py) for px, py, side in places
        ]
        free = [
            place
            for place, box in enumerate(boxes)
            if box[0] > bounds[0] and box[2] < bounds[2] and not _meets(box, taken)
        ]
        side = free[0] if free else 1 if x > bounds[2] / 2 else 0
        taken.append(boxes[side])
        yield name, *places[side]


def _meets(box: Box, others: Sequence[Box]) -> bool:
    return any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in others)
