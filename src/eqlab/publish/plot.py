"""Pictures to take away: forest plot, profile, heat map, or score against cost, as one drawing that needs nothing
else."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from markupsafe import escape

from eqlab.core.errors import UsageError
from eqlab.core.text import is_number, number, short, short_name, visible
from eqlab.data.files import write_whole
from eqlab.publish.cost import Spent, cost_chart
from eqlab.publish.groups import Group, RunRecord, group
from eqlab.publish.report.opening import forests
from eqlab.publish.report.sections import heat_of, profiles_of
from eqlab.tables.forest import Forest, ForestLine, standalone
from eqlab.tables.heat import STEPS, HeatMap

Kind = Literal["forest", "profile", "heat", "cost"]
KINDS: tuple[Kind, ...] = ("forest", "profile", "heat", "cost")
ENDINGS = (".svg", ".png", ".pdf")
WIDTH = 1280


def check(where: Path) -> None:
    """Before anything is read: a wrong ending or folder is said at once."""
    if where.suffix.lower() not in ENDINGS:
        raise UsageError(f"'{where.name}' is not a picture file.", f"Write a file that ends with {', '.join(ENDINGS)}.")
    if not where.resolve().parent.is_dir():
        raise UsageError(f"There is no folder {where.resolve().parent}.", "Make it, or write elsewhere.")


def write_plot(records: Sequence[RunRecord], where: Path, kind: Kind = "forest") -> int:
    """Writes the drawing; returns how many charts are in it."""
    check(where)
    charts = list(_charts(group(records), kind))
    if not charts:
        raise UsageError(f"These results have nothing for --kind {kind}.", "Choose another --kind, or other runs.")
    drawn, height = _stacked(charts)
    if where.suffix.lower() == ".svg":
        write_whole(where, drawn)
    else:
        from eqlab.publish.browser import draw

        draw(drawn, (WIDTH, height), where)
    return len(charts)


def _charts(groups: Sequence[Group], kind: Kind) -> Iterator[str]:
    if kind == "forest":
        for one in groups:
            yield from (standalone(forest, WIDTH) for forest in forests(one))
    elif kind == "profile":
        for profile in profiles_of(groups):
            for line in profile.lines:
                title = f"{profile.subject}: {line.label}"
                drawn = (ForestLine(line.label, line.estimate, None, line.valid, line.people),)
                known = tuple((name, value) for _, name, value in line.letters)
                forest = Forest(title, line.detail.partition(";")[0], drawn, line.scale, known)
                if forest.drawn:
                    yield standalone(forest, WIDTH)
    elif kind == "cost":
        yield from (chart for one in groups if (chart := _cost(one)))
    else:
        yield from (_heat(found, one.title) for one in groups if (found := heat_of(one)))


def _cost(one: Group) -> str | None:
    rows = [row for row in one.rows if row.result.ranked and not row.people]
    spent = [Spent(row.name, row.result.headline, row.result.usage) for row in rows]
    return cost_chart(one.title, rows[0].result.headline.name, spent, WIDTH) if rows else None


def _stacked(charts: Sequence[str]) -> tuple[str, int]:
    """Charts one below the other; each is a whole drawing already."""
    heights = [int(chart.partition(' height="')[2].partition('"')[0]) for chart in charts]
    if len(charts) == 1:
        return charts[0], heights[0]
    body, top = "", 0
    for chart, height in zip(charts, heights, strict=True):
        body += chart.replace("<svg ", f'<svg y="{top}" ', 1)
        top += height
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}">{body}</svg>\n', top


_STYLE = """
text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Arial,sans-serif;fill:#1b2026}
.title{font-size:17px;font-weight:650}.soft{fill:#565f69}
"""


def _heat(found: HeatMap, title: str) -> str:
    """Rows are emotions, columns subjects; the tint repeats the number."""
    left, top, row = 220, 76, 30
    column = (WIDTH - left - 16) // max(1, len(found.columns))
    height = top + row * len(found.rows) + 20
    letters = max(6, column // 9)
    parts = [f'<text class="title" x="16" y="28">{_text(f"{title}: {found.measure}")}</text>']
    for index, name in enumerate(found.columns):
        x = left + column * index + column // 2
        parts.append(
            f'<text class="soft" x="{x}" y="{top - 12}" text-anchor="middle">{_text(short_name(name, letters))}</text>'
        )
    for place, (name, cells) in enumerate(found.rows):
        y = top + row * place
        parts.append(f'<text x="16" y="{y + 20}">{_text(short(name, 28))}</text>')
        for index, cell in enumerate(cells):
            x = left + column * index
            value = cell.estimate.value if cell.estimate else None
            said = number(value, cell.estimate.digits) if cell.estimate and is_number(value) else "none"
            parts.append(f'<rect x="{x}" y="{y}" width="{column - 2}" height="{row - 2}" fill="{_colour(cell.tint)}"/>')
            parts.append(f'<text x="{x + column // 2}" y="{y + 20}" text-anchor="middle">{_text(said)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" role="img">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _text(text: str) -> str:
    return str(escape(visible(text)))


def _colour(tint: str) -> str:
    """The page's tints on white: blue for more, orange below zero."""
    kind, _, step = tint.partition("-")
    if not step.isdecimal():
        return "#ffffff"
    share = 0.4 * int(step) / STEPS
    hue = (180, 87, 11) if kind == "below" else (10, 93, 148)
    return "#" + "".join(f"{round(255 + (part - 255) * share):02x}" for part in hue)
