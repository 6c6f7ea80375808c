"""The kit of drawings, as small SVG strings: one axis, dot and whisker, histogram, stacked bar.

Positions across are percentages and heights pixels, so a drawing fills any width while its text keeps its size.
Colours come from the page's style sheet by class; shape and texture say the same as colour. No `url()`: textures are
dashed lines, so the page's policy can forbid every load."""

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from eqlab.core.answers import OUTCOMES
from eqlab.core.results import Estimate
from eqlab.core.text import estimate_text, is_number, number, short, visible
from eqlab.core.values import dataclass

Range = tuple[float, float]
STATUS_ORDER = OUTCOMES

_LEFT, _RIGHT = 5.0, 95.0
_ROW = 34
_PLOT = 96
_BOTTOM = _PLOT + 18
_STRIP = 30
"""Height of the longest bar of a strip, up or down."""
_DASHES = {"ok": "", "unparseable": "7 3", "refused": "2 3"}


@dataclass(frozen=True, slots=True)
class FigureColumn:
    """One column of a histogram."""

    words: str
    count: int
    off: bool = False
    """Off the scale."""


@dataclass(frozen=True, slots=True)
class Axis:
    """From values to places: on a page in per cent of the width, so that a drawing fills any; in a file in pixels.
    Values beyond the ends are placed at them."""

    low: float
    high: float
    start: float = 5.0
    end: float = 95.0
    unit: str = "%"
    log: bool = False
    """Whether equal factors are equally far apart."""

    def at(self, value: float) -> float:
        low, high, value = (math.log10(bound) if self.log else bound for bound in (self.low, self.high, value))
        low, high = common_range([(low, high)])
        share = min(max((value - low) / (high - low), 0.0), 1.0)
        return self.start + share * (self.end - self.start)

    def place(self, value: float) -> str:
        return f"{self.at(value):.2f}%" if self.unit == "%" else f"{self.at(value):.1f}"

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def ticks(self) -> list[float]:
        """Round values inside; on a logarithmic axis 1, 2 and 5 of every decade, where there are many 1 alone."""
        if not self.log:
            return ticks(self.low, self.high)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        inside = [value for power in powers for factor in (1, 2, 5) if self.holds(value := factor * 10.0**power)]
        if len(inside) < 3:
            return ticks(self.low, self.high)
        return inside if len(inside) <= 8 else [value for value in inside if math.log10(value).is_integer()]


def svg(height: int, title: str, description: str, body: str, kind: str) -> Markup:
    title, description = escape(visible(title)), escape(visible(description))
    return Markup(
        f'<svg class="{kind}" width="100%" height="{height}" role="img" aria-label="{title}: {description}">'
        f"<title>{title}</title><desc>{description}</desc>{body}</svg>"
    )


def common_range(ranges: Sequence[Range]) -> Range:
    """One axis for all; never of length zero."""
    finite = [bound for pair in ranges for bound in pair if is_number(bound)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    return (low, high) if high > low else (low, low + 1.0)


def bounds_of(estimate: Estimate) -> Range | None:
    """The ends of its interval, if it has one."""
    if estimate.low is None or estimate.high is None or not is_number(estimate.low + estimate.high):
        return None
    return estimate.low, estimate.high


def on_axis(value: float, scale: Range) -> bool:
    return scale[0] <= value <= scale[1]


def ticks(low: float, high: float, at_most: int = 6) -> list[float]:
    """Round values inside the range, at most `at_most` of them."""
    span = high - low
    power = 10.0 ** math.floor(math.log10(span / at_most))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10, 20) if span / (power * factor) <= at_most - 1)
    first = math.ceil(low / step - 1e-9)
    return [round(index * step, 10) + 0.0 for index in range(first, math.floor(high / step + 1e-9) + 1)]


def axis(scale: Range) -> Markup:
    """The labels of a column of whiskers."""
    marks = "".join(
        f'<line class="thin" x1="{x}" x2="{x}" y1="16" y2="20"/>'
        f'<text x="{x}" y="11" text-anchor="middle">{tick:g}</text>'
        for tick in ticks(*scale)
        for x in [_x(tick, scale)]
    )
    line = f'<line class="thin" x1="{_LEFT}%" x2="{_RIGHT}%" y1="20" y2="20"/>'
    return svg(21, "Axis", f"from {scale[0]:g} to {scale[1]:g}", marks + line, "axis")


def whisker(
    name: str, estimate: Estimate, scale: Range, baselines: Sequence[tuple[str, float]] = (), valid: bool = True
) -> Markup:
    """A score with its 95 % interval; `baselines` are (name, value), drawn as ticks that tell both, if on the axis.
    A ring instead of a dot: not valid. A triangle at the edge: the value lies outside the axis."""
    words = [estimate_text(estimate) + ("" if valid else ", not valid")]
    ticks_drawn = []
    for label, value in sorted(
        (baseline for baseline in baselines if on_axis(baseline[1], scale)), key=lambda one: one[1]
    ):
        words.append(f"baseline {label} {number(value, estimate.digits)}")
        ticks_drawn.append(_baseline_tick(words[-1], _x(value, scale)))
    body = _whisker(estimate, scale, "".join(ticks_drawn), valid)
    return svg(_ROW, short(name), "; ".join(words), body, "dots")


def bare_whisker(estimate: Estimate, scale: Range, valid: bool = True) -> Markup:
    """The same without words, for a row whose other cells say them: a third of the size."""
    body = _whisker(estimate, scale, "", valid)
    return Markup(f'<svg class="dots" width="100%" height="{_ROW}" aria-hidden="true">{body}</svg>')


def _whisker(estimate: Estimate, scale: Range, ticks_drawn: str, valid: bool) -> str:
    middle = _ROW // 2
    line = "whisker" if valid else "whisker doubtful"
    body = [f'<line class="rail" x1="{_LEFT}%" x2="{_RIGHT}%" y1="{middle}" y2="{middle}"/>', ticks_drawn]
    if estimate.low is not None and estimate.high is not None and is_number(estimate.low + estimate.high):
        left, right = _x(estimate.low, scale), _x(estimate.high, scale)
        body.append(f'<line class="{line}" x1="{left}" x2="{right}" y1="{middle}" y2="{middle}"/>')
        for end, bound in ((left, estimate.low), (right, estimate.high)):
            if on_axis(bound, scale):
                body.append(f'<line class="{line}" x1="{end}" x2="{end}" y1="{middle - 5}" y2="{middle + 5}"/>')
    if estimate.value is not None and is_number(estimate.value):
        body.append(_point(estimate.value, scale, middle, "dot" if valid else "ring"))
    else:
        nothing = "no score" if estimate.note else "undefined"  # its reason stands in the text
        body.append(f'<text class="halo" x="{_RIGHT}%" y="{middle + 4}" text-anchor="end">{nothing}</text>')
    return "".join(body)


def baseline_mark(name: str, value: float, scale: Range, digits: int = 2) -> Markup:
    """A baseline in a row of its own: a diamond, or a triangle at the edge when it lies off the axis."""
    return svg(_ROW, f"Baseline {short(name)}", number(value, digits), _diamond(value, scale), "dots")


def bare_baseline(value: float, scale: Range) -> Markup:
    """The same without words, for a row whose other cells say them."""
    body = _diamond(value, scale)
    return Markup(f'<svg class="dots" width="100%" height="{_ROW}" aria-hidden="true">{body}</svg>')


def _diamond(value: float, scale: Range) -> str:
    middle = _ROW // 2
    body = f'<line class="rail" x1="{_LEFT}%" x2="{_RIGHT}%" y1="{middle}" y2="{middle}"/>'
    if is_number(value) and not on_axis(value, scale):
        body += _point(value, scale, middle, "base")
    elif is_number(value):
        diamond = f'<path class="base" d="M0 {middle - 6}l6 6-6 6-6-6z"/>'
        body += f'<svg x="{_x(value, scale)}" overflow="visible">{diamond}</svg>'
    return body


def histogram(scores: Sequence[float], scale: Range, labels: Sequence[tuple[float, str]] = ()) -> Markup:
    """How many items have which score. Scores off the scale have a striped bar of their own at the edge. `labels`: the
    words of a scale that has some, a bar for each."""
    if labels and {round(score, 9) for score in scores} <= {value for value, _ in labels}:
        return _by_word(scores, labels)
    low, high = common_range([scale])
    bins, labelled = (20, 5) if low < 0 < high else (10, 2)  # both sides of zero need finer steps
    inside = [0] * bins
    under = over = 0
    for score in scores:
        if score < low:
            under += 1
        elif score > high:
            over += 1
        else:
            inside[min(int((score - low) / (high - low) * bins), bins - 1)] += 1
    edges = [f"{low + (high - low) * index / bins:.4g}" for index in range(bins + 1)]
    columns = [FigureColumn(f"below {edges[0]}", under, off=True)] if under else []
    columns += [FigureColumn(f"{edges[i]} to {edges[i + 1]}", count) for i, count in enumerate(inside)]
    columns += [FigureColumn(f"above {edges[-1]}", over, off=True)] if over else []
    words = ", ".join(f"{column.words}: {column.count}" for column in columns if column.count)
    slot = (_RIGHT - _LEFT) / len(columns)
    most = max(1, *(column.count for column in columns))
    body = "".join(_bar(_LEFT + slot * index, slot, column, most) for index, column in enumerate(columns))
    start = _LEFT + slot * bool(under)
    marked = range(labelled if under else 0, bins + (not over), labelled)  # a striped bar has the words of its edge
    body += "".join(_label(start + slot * index, edges[index]) for index in marked)
    body += f'<line class="thin" x1="{_LEFT}%" x2="{_RIGHT}%" y1="{_BOTTOM}" y2="{_BOTTOM}"/>'
    return svg(_BOTTOM + 20, "Items by score", words or "no scored items", body, "histogram")


def _by_word(scores: Sequence[float], labels: Sequence[tuple[float, str]]) -> Markup:
    columns = [FigureColumn(word, sum(abs(score - value) < 1e-9 for score in scores)) for value, word in labels]
    slot = (_RIGHT - _LEFT) / len(columns)
    most = max(1, *(column.count for column in columns))
    body = "".join(_bar(_LEFT + slot * index, slot, column, most) for index, column in enumerate(columns))
    for index, column in enumerate(columns):
        body += _label(_LEFT + slot * (index + 0.5), str(escape(visible(short(column.words, 18)))))
    body += f'<line class="thin" x1="{_LEFT}%" x2="{_RIGHT}%" y1="{_BOTTOM}" y2="{_BOTTOM}"/>'
    words = ", ".join(f"{column.words}: {column.count}" for column in columns)
    return svg(_BOTTOM + 20, "Items by score", words, body, "histogram")


def status_bar(counts: Mapping[str, int]) -> Markup:
    """One bar, split by status in a fixed order; each status has its own texture."""
    total = sum(counts.get(status, 0) for status in STATUS_ORDER)
    body = []
    start = 0.0
    for status in STATUS_ORDER:
        if count := counts.get(status, 0):
            width = 100 * count / total
            body.append(f'<svg x="{start:.3f}%" width="{width:.3f}%" height="22">{_texture(status, 22)}</svg>')
            start += width
    words = ", ".join(f"{status} {counts.get(status, 0)}" for status in STATUS_ORDER)
    return svg(22, "Replies by status", words if total else "no trials", "".join(body), "statuses")


_LEVELS = ("refused", "unparseable", "ok")
"""Textures of a stacked bar from worst to best; with more levels the middle one is repeated."""


def level_texture(index: int, count: int) -> str:
    return _LEVELS[0] if index == 0 else _LEVELS[-1] if index == count - 1 else _LEVELS[1]


def stacked_bar(name: str, counts: Mapping[str, int]) -> Markup:
    """One bar, split by level from worst to best, each with its share in words."""
    total = sum(counts.values())
    body, words, start = [], [], 0.0
    for index, (level, count) in enumerate(counts.items()):
        words.append(f"{level} {count}")
        if count:
            width = 100 * count / total
            texture = _texture(level_texture(index, len(counts)), 22)
            body.append(f'<svg x="{start:.3f}%" width="{width:.3f}%" height="22">{texture}</svg>')
            start += width
    return svg(22, short(name), ", ".join(words) if total else "nothing", "".join(body), "statuses")


def strip(differences: Sequence[float], words: str) -> Markup:
    """Wins and losses as one row of bars, largest win first: up where it is better, down where it is worse."""
    most = max((abs(difference) for difference in differences), default=0.0) or 1.0
    slot = 100 / max(1, len(differences))
    body = []
    for place, one in enumerate(sorted(differences, reverse=True)):
        height = _STRIP * abs(one) / most
        kind, y = ("up", _STRIP - height) if one > 0 else ("down", _STRIP) if one < 0 else ("same", _STRIP - 0.5)
        body.append(
            f'<rect class="{kind}" x="{place * slot:.3f}%" width="{slot * 0.85:.3f}%" y="{y:.1f}" '
            f'height="{max(height, 1.0):.1f}"/>'
        )
    body.append(f'<line class="thin" x1="0" x2="100%" y1="{_STRIP}" y2="{_STRIP}"/>')
    return svg(2 * _STRIP, "Item by item", words, "".join(body), "strip")


def table_range(estimates: Sequence[Estimate]) -> Range:
    """An axis that holds every interval of a column, and zero where they lie on both sides or near it."""
    bounds = [b for e in estimates for b in (e.low, e.value, e.high) if b is not None and is_number(b)]
    low, high = common_range([(b, b) for b in bounds])
    reach = high - low
    return (min(low, 0.0) if low < reach else low, max(high, 0.0) if high > -reach else high)


def swatch(status: str) -> Markup:
    """The key to `status_bar`; decoration beside the word that names it."""
    return Markup(f'<svg class="swatch" width="22" height="12" aria-hidden="true">{_texture(status, 12)}</svg>')


def _texture(status: str, height: int) -> str:
    if status == "unanswered":
        return f'<rect class="empty" x="1" y="1" width="100%" height="{height - 2}"/>'
    if status == "error":
        return (
            '<rect class="s-error" width="100%" height="40%"/><rect class="s-error" y="60%" width="100%" height="40%"/>'
        )
    middle = height // 2
    dash = f' stroke-dasharray="{_DASHES[status]}"' if _DASHES[status] else ""
    return (
        f'<line class="s-{status}" x1="0" x2="100%" y1="{middle}" y2="{middle}" stroke-width="{height}"{dash}/>'
        f'<rect class="s-{status}" x="0" width="1.5" height="{height}"/>'
    )


def _x(value: float, scale: Range) -> str:
    return Axis(*scale, _LEFT, _RIGHT).place(value)


def _point(value: float, scale: Range, middle: int, kind: str) -> str:
    x = _x(value, scale)
    if on_axis(value, scale):
        return f'<circle class="{kind}" cx="{x}" cy="{middle}" r="5"/>'
    side = -1 if value < scale[0] else 1
    triangle = f'<path class="{kind}" d="M{9 * side} {middle}L{-2 * side} {middle - 6}V{middle + 6}z"/>'
    return f'<svg x="{x}" overflow="visible">{triangle}</svg>'


def _baseline_tick(words: str, x: str) -> str:
    line = f'<line class="base" x1="{x}" x2="{x}" y1="4" y2="{_ROW - 4}"/>'
    return f"<g><title>{escape(visible(words))}</title>{line}</g>"


def _bar(left: float, slot: float, column: FigureColumn, most: int) -> str:
    """Drawn as a very thick line in a window of its own, so that a dash makes the stripes of an odd column."""
    if not column.count:
        return ""
    top = _BOTTOM - _PLOT * column.count / most
    middle = left + slot / 2
    kind, dash = ("off", ' stroke-dasharray="3 3"') if column.off else ("bar", "")
    line = f'<line class="{kind}" x1="0" x2="0" y1="{_BOTTOM}" y2="{top:.1f}" stroke-width="2000"{dash}/>'
    edge = _label(middle, column.words) if column.off else ""
    return (
        f'<svg x="{left + slot * 0.06:.2f}%" width="{slot * 0.88:.2f}%">{line}</svg>{edge}'
        f'<text class="count" x="{middle:.2f}%" y="{top - 4:.1f}" text-anchor="middle">{column.count}</text>'
    )


def _label(x: float, text: str) -> str:
    text = text.replace("below ", "&lt; ").replace("above ", "&gt; ")
    return f'<text x="{x:.2f}%" y="{_BOTTOM + 14}" text-anchor="middle">{text}</text>'


STEPS = 6
"""Tints of one hue."""


# -- Heat maps: emotions by subjects, every cell a number with its n; the tint only repeats what the number says. One
# hue, from pale to full, tells more from less; where values lie on both sides of zero a second hue, orange, is for
# those below it. Both hues and every step differ in lightness, so the map reads without colour vision and in print.


@dataclass(frozen=True, slots=True)
class HeatCell:
    estimate: Estimate | None
    tint: str
    """A class of the style sheet; empty: no tint."""
    anchor: str = ""
    """Whose items are behind it; empty for people of a published study."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    measure: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]
    note: str
    two_sided: bool
    """Whether values lie on both sides of zero."""


@dataclass(frozen=True, slots=True)
class HeatColumn:
    name: str
    estimates: tuple[Estimate, ...]
    anchor: str = ""


def heat_map(measure: str, columns: Sequence[HeatColumn], note: str) -> HeatMap | None:
    """None with fewer than two emotions: there is nothing to compare."""
    names = list(dict.fromkeys(estimate.name for column in columns for estimate in column.estimates))
    if len(names) < 2:
        return None
    known = [{estimate.name: estimate for estimate in column.estimates} for column in columns]
    tint = tints([estimate for own in known for estimate in own.values()])
    rows = tuple(
        (
            name,
            tuple(
                HeatCell(found := own.get(name), tint(found), column.anchor)
                for own, column in zip(known, columns, strict=True)
            ),
        )
        for name in names
    )
    return HeatMap(measure, tuple(column.name for column in columns), rows, note, tint.two_sided)


class tints:
    """From an estimate to its tint, on one scale for all of a map."""

    def __init__(self, estimates: Sequence[Estimate]) -> None:
        values = [estimate.value for estimate in estimates if estimate.value is not None and is_number(estimate.value)]
        self._low, self._high = min(values, default=0.0), max(values, default=0.0)

    @property
    def two_sided(self) -> bool:
        return self._low < 0 < self._high

    def __call__(self, estimate: Estimate | None) -> str:
        if estimate is None or estimate.value is None or not is_number(estimate.value):
            return ""
        value, low, high = estimate.value, self._low, self._high
        if self.two_sided:
            share = abs(value) / max(-low, high)
            return f"{'below' if value < 0 else 'heat'}-{_step(share)}"
        share = (value - low) / (high - low) if high > low else 0.0
        return f"heat-{_step(share)}"


def _step(share: float) -> int:
    return min(STEPS, 1 + int(share * STEPS))


# The course of an emotion through a talk.
_COURSE_WIDTH, _COURSE_HEIGHT, _COURSE_EDGE = 132.0, 28.0, 4.0


def course(values: Sequence[float]) -> Markup:
    """The emotion from the opening to the end as a small line; empty where nobody told it."""
    if len(values) < 2:
        return Markup("")
    step = (_COURSE_WIDTH - 2 * _COURSE_EDGE) / (len(values) - 1)
    points = [(_COURSE_EDGE + place * step, _down(value)) for place, value in enumerate(values)]
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    words = f"emotion {', '.join(f'{value:g}' for value in values)} of 100"
    x, y = points[-1]
    middle = _down(50)
    return Markup(
        f'<svg class="course" width="{_COURSE_WIDTH:g}" height="{_COURSE_HEIGHT:g}" role="img" aria-label="{words}">'
        f'<line x1="0" x2="{_COURSE_WIDTH:g}" y1="{middle:.1f}" y2="{middle:.1f}"/>'
        f'<polyline points="{drawn}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="3"/></svg>'
    )


def mark(value: float, before: float | None = None) -> Markup:
    """One emotion as a dot on a rail from 0 to 100, beside the line it belongs to, with the way it came."""
    x = _across(value)
    came = f'<line class="came" x1="{_across(before):.1f}" x2="{x:.1f}" y1="6" y2="6"/>' if before is not None else ""
    words = f"emotion {value:g} of 100" + ("" if before is None else f", {value - before:+g}")
    return Markup(
        f'<svg class="course" width="{_COURSE_WIDTH:g}" height="12" role="img" aria-label="{words}">'
        f'<line x1="0" x2="{_COURSE_WIDTH:g}" y1="6" y2="6"/>{came}<circle cx="{x:.1f}" cy="6" r="4"/></svg>'
    )


def _across(value: float) -> float:
    return _COURSE_EDGE + max(0.0, min(100.0, value)) / 100 * (_COURSE_WIDTH - 2 * _COURSE_EDGE)


def _down(value: float) -> float:
    return _COURSE_EDGE + (1 - max(0.0, min(100.0, value)) / 100) * (_COURSE_HEIGHT - 2 * _COURSE_EDGE)
