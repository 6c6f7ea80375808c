"""Scatter plots as one SVG file that needs nothing else: a panel per external score, whiskers where errors are
known."""

from collections.abc import Iterator, Sequence

from markupsafe import escape

from eqlab.comparison.correlate import Correlation, Point, sentence
from eqlab.core.text import number, visible
from eqlab.publish.figures import ticks

Box = tuple[float, float, float, float]
_WIDTH, _HEIGHT = 720, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 60, 44, 52
_LABELLED = 20
"""With more models than this, names show only when pointed at."""
_Z = 1.959963984540054
_STYLE = """
text{font:12px system-ui,sans-serif;fill:#222}.title{font-weight:600;font-size:14px}.rail{stroke:#bbb}
.whisker{stroke:#0b5394;stroke-opacity:.45}.dot{fill:#0b5394;stroke:#fff}.name{font-size:10px;fill:#555}.page{fill:#fff}
@media (prefers-color-scheme:dark){text{fill:#ddd}.name{fill:#aaa}.rail{stroke:#555}.page{fill:#161616}
.whisker{stroke:#8ab4f8}.dot{fill:#8ab4f8;stroke:#161616}}
"""


def scatter(found: Sequence[Correlation]) -> str:
    height = _HEIGHT * len(found)
    body = "".join(
        f'<g transform="translate(0 {_HEIGHT * index})">{_panel(one)}</g>' for index, one in enumerate(found)
    )
    words = escape(" ".join(sentence(one) for one in found))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img" aria-label="{words}"><title>{words}</title><style>{_STYLE}</style>'
        f'<rect class="page" width="{_WIDTH}" height="{height}"/>{body}</svg>\n'
    )


def _panel(one: Correlation) -> str:
    xs = _range([(point.theirs, point.theirs_se) for point in one.points])
    ys = _range([(point.ours, point.ours_se) for point in one.points])
    r = one.association.pearson
    shown = "r undefined" if r.value is None else f"r = {number(r.value)}"
    if r.low is not None and r.high is not None:
        shown += f" ({number(r.low)} … {number(r.high)})"
    title = escape(f"{one.title} against {visible(one.name)}: {shown}, {r.n} models")
    parts = [f'<text class="title" x="{_LEFT}" y="24">{title}</text>']
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for tick in ticks(*xs):
        x = _x(tick, xs)
        parts.append(f'<line class="rail" x1="{x}" x2="{x}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{tick:g}</text>')
    for tick in ticks(*ys):
        y = _y(tick, ys)
        parts.append(f'<line class="rail" x1="{_LEFT}" x2="{right}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{float(y) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    middle = (_LEFT + right) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 12}" text-anchor="middle">{escape(visible(one.name))}</text>')
    parts.append(
        f'<text transform="translate(16 {_HEIGHT / 2}) rotate(-90)" text-anchor="middle">{escape(one.title)}</text>'
    )
    parts += [_dot(point, xs, ys) for point in one.points]
    if len(one.points) <= _LABELLED:
        parts += _names(one.points, xs, ys)
    return "".join(parts)


def _dot(point: Point, xs: tuple[float, float], ys: tuple[float, float]) -> str:
    x, y = _x(point.theirs, xs), _y(point.ours, ys)
    parts = []
    if point.ours_se:
        low, high = _y(point.ours - _Z * point.ours_se, ys), _y(point.ours + _Z * point.ours_se, ys)
        parts.append(f'<line class="whisker" x1="{x}" x2="{x}" y1="{low}" y2="{high}"/>')
    if point.theirs_se:
        left, right = _x(point.theirs - _Z * point.theirs_se, xs), _x(point.theirs + _Z * point.theirs_se, xs)
        parts.append(f'<line class="whisker" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>')
    name = escape(visible(point.model))
    words = f"{name}: {point.theirs:g}, {point.ours:.2f}"
    parts.append(f'<circle class="dot" cx="{x}" cy="{y}" r="4.5"><title>{words}</title></circle>')
    return "".join(parts)


def _names(points: Sequence[Point], xs: tuple[float, float], ys: tuple[float, float]) -> list[str]:
    dots = [(float(_x(point.theirs, xs)), float(_y(point.ours, ys))) for point in points]
    bounds = (_LEFT, 0.0, _WIDTH, _HEIGHT)
    return [
        f'<text class="name" x="{x:.1f}" y="{y:.1f}" text-anchor="{side}">{escape(visible(name))}</text>'
        for name, x, y, side in placed_names(dots, [point.model for point in points], bounds)
    ]


def placed_names(
    dots: Sequence[tuple[float, float]], names: Sequence[str], bounds: Box, *, letter: float = 5.6, gap: float = 7.0
) -> Iterator[tuple[str, float, float, str]]:
    """Each name with its place beside its dot, on the first of four sides where it stays on the page and off dots and
    other names. `letter`: how wide one is."""
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in dots]
    for name, (x, y) in zip(names, dots, strict=True):
        width, tall = letter * len(name), 1.8 * letter
        above, below = y - 5, y + 1.3 * letter + 6
        places = [
            (x + gap, above, "start"),
            (x - gap, above, "end"),
            (x + gap, below, "start"),
            (x - gap, below, "end"),
        ]
        boxes = [
            (px - width * (side == "end"), py - tall, px + width * (side == "start"), py) for px, py, side in places
        ]
        free = [
            k for k, box in enumerate(boxes) if box[0] > bounds[0] and box[2] < bounds[2] and not _meets(box, taken)
        ]
        chosen = free[0] if free else 1 if x > bounds[2] / 2 else 0
        taken.append(boxes[chosen])
        yield name, *places[chosen]


def _meets(box: Box, others: Sequence[Box]) -> bool:
    return any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in others)


def _range(values: Sequence[tuple[float, float | None]]) -> tuple[float, float]:
    ends = [value + side * _Z * (se or 0.0) for value, se in values for side in (-1, 1)]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    room = 0.05 * (high - low) or 0.5
    return low - room, high + room


def _x(value: float, scale: tuple[float, float]) -> str:
    share = (value - scale[0]) / (scale[1] - scale[0])
    return f"{_LEFT + share * (_WIDTH - _LEFT - _RIGHT):.1f}"


def _y(value: float, scale: tuple[float, float]) -> str:
    share = (value - scale[0]) / (scale[1] - scale[0])
    return f"{_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM):.1f}"
