"""A table as HTML: heads, rows, drawings beside the first column. Everything in it is text, escaped; classes are those
of the page's style sheet, and a notebook shows it without one."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from eqlab.core.results import Cell, Column, Estimate, Table
from eqlab.core.text import is_number, visible
from eqlab.core.values import dataclass
from eqlab.tables import svg
from eqlab.tables.cells import RIGHT, cell_text
from eqlab.tables.svg import tints

Link = Callable[[str], str]
"""From the name of a row to where it leads; empty: nowhere."""


def html_table(
    table: Table,
    links: Link = lambda name: "",
    marked: Collection[tuple[int, int]] = frozenset(),
    *,
    labelled: bool = False,
) -> Markup:
    """The whole table; `links` are of the first column; `marked`: cells, by row and column. `labelled`: cells carry
    their titles, and on a phone each row is a card."""
    drawings = _drawings(table)
    tint = tints([cell for row in table.rows for cell in row if isinstance(cell, Estimate)]) if table.heat else None
    first, *rest = table.columns
    heads = [_head(first), *(head for head, _ in drawings), *map(_head, rest)]
    texts = iter(_escaped([cell_text(column, cell) for cells in table.rows for column, cell in _paired(rest, cells)]))
    rows = []
    for place, cells in enumerate(table.rows):
        drawn = (f'<td class="draw">{draw(cells)}</td>' for _, draw in drawings)
        body = [
            _cell(column, cell, next(texts), tint, marked=bool(marked) and (place, at) in marked, labelled=labelled)
            for at, (column, cell) in enumerate(_paired(rest, cells), start=1)
        ]
        rows.append(f"<tr>{_row_head(first, cells[0], links, labelled)}{''.join(drawn)}{''.join(body)}</tr>")
    classes = " ".join([*(["heat"] if tint else []), *(["cards"] if labelled else [])])
    kind = f' class="{classes}"' if classes else ""
    return Markup(
        f"<table{kind}><thead><tr>{''.join(heads)}</tr></thead>\n<tbody>\n" + "\n".join(rows) + "\n</tbody></table>"
    )


@dataclass(frozen=True, slots=True)
class RowMarks:
    """What a sortable table shows of a row beside its cells."""

    values: Sequence[Any] = ()
    """What each cell is sorted by."""
    href: str = ""
    """Where its name leads."""
    flag: str = ""
    """A warning beside its name."""
    quiet: str = ""
    """A remark beside its name."""
    drawing: str = ""
    """Markup."""
    caveats: Sequence[str] = ()
    kind: str = ""
    """A class of the style sheet."""
    before: str = ""
    """Markup before its name: a box to tick."""
    key: str = ""
    """What the row is, for scripts that put new numbers into it."""


def sortable_table(
    table: Table, marks: Sequence[RowMarks], *, axis: Markup, after: str, caption: Markup, more: str = ""
) -> Markup:
    """A table that a small script sorts; on a phone each row is a card whose cells carry their titles. The first text
    column names the row; drawings stand after the column `after`. `more`: further attributes of the table."""
    names = next(place for place, column in enumerate(table.columns) if column.kind == "text")
    heads = "".join(
        _sortable_head(column)
        + (f'<th scope="col" role="columnheader" class="drawing">{axis}</th>' * (column.key == after))
        for column in table.columns
    )
    bodies = [
        _sortable_row(table, cells, row_marks, names, after) for cells, row_marks in zip(table.rows, marks, strict=True)
    ]
    if table.note:
        caption = Markup('{} <span class="quiet">{}</span>').format(caption, visible(table.note))
    return Markup(
        f'<table class="scores" role="table" data-sortable{more}>\n<caption>{caption}</caption>\n'
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>\n{"".join(bodies)}</table>'
    )


def _sortable_head(column: Column) -> str:
    css = ' class="num count"' if column.kind == "count" else ' class="num"' if column.kind in RIGHT else ""
    first = ' data-first="ascending"' if column.kind in ("text", "rank") else ""
    note = f' title="{escape(column.note)}"' if column.note else ""
    kind = "text" if column.kind in ("text", "flag") else "number"
    return f'<th scope="col" role="columnheader"{css} data-sort="{kind}"{first}{note}>{escape(column.title)}</th>'


def _sortable_row(table: Table, cells: Sequence[Cell], marks: RowMarks, names: int, after: str) -> str:
    parts = []
    for place, (column, cell) in enumerate(zip(table.columns, cells, strict=True)):
        text = escape(visible(cell_text(column, cell)))
        value = _sort_key(marks.values[place])
        if place == names:
            name = f"<bdi>{text}</bdi>"
            name = f'<a href="{escape(marks.href)}">{name}</a>' if marks.href else name
            name += f' <span class="flag">{escape(marks.flag)}</span>' if marks.flag else ""
            name += f' <span class="quiet">{escape(visible(marks.quiet))}</span>' if marks.quiet else ""
            parts.append(f'<th scope="row" role="rowheader" data-value="{text}">{marks.before}{name}</th>')
        else:
            text = Markup(f'<strong class="bad">{text}</strong>') if column.kind == "flag" and cell is False else text
            parts.append(
                f'<td role="cell"{_sortable_class(column, cell)} data-label="{escape(column.title)}"'
                f' data-value="{escape(value)}">{text}</td>'
            )
        if column.key == after:
            parts.append(f'<td role="cell" class="drawing">{marks.drawing}</td>')
    caveats = "".join(f"<li>{escape(visible(caveat))}</li>" for caveat in marks.caveats)
    if caveats:
        caveats = f'<tr role="row" class="caveats"><td role="cell" colspan="{len(parts)}"><ul>{caveats}</ul></td></tr>'
    kind = f' class="{escape(marks.kind)}"' if marks.kind else ""
    kind += f' data-key="{escape(marks.key)}"' if marks.key else ""
    return f'<tbody role="rowgroup"{kind}><tr role="row">{"".join(parts)}</tr>{caveats}</tbody>\n'


def _sortable_class(column: Column, cell: Cell) -> str:
    if column.kind == "count":
        return ' class="num count nowrap zero"' if cell == 0 else ' class="num count nowrap"'
    if column.key == "score":
        return ' class="num strong nowrap"'
    if column.key == "date":
        return ' class="nowrap"'
    return ' class="num nowrap"' if column.kind in RIGHT or column.key == "interval" else ""


def _sort_key(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return str(value[0])
    if isinstance(value, float):
        return f"{value:.4f}" if is_number(value) else ""
    return str(value)


def _paired(columns: Sequence[Column], cells: Sequence[Cell]) -> Iterator[tuple[Column, Cell]]:
    """The cells after the first, each with its column."""
    return zip(columns, cells[1:], strict=True)


_APART = "\x1f"


def _escaped(texts: Sequence[str]) -> list[str]:
    """Each of them visible and escaped; all at once where nothing hides in them, as in most tables."""
    if "".join(texts).isprintable():
        return str(escape(_APART.join(texts))).split(_APART) if texts else []
    return [str(escape(visible(text))) for text in texts]


def _cell(
    column: Column,
    value: Cell,
    text: str,
    tint: Callable[[Estimate], str] | None = None,
    *,
    marked: bool = False,
    labelled: bool = False,
) -> str:
    """`text`: of the value, escaped."""
    css = ""
    if column.kind in RIGHT:
        css = ' class="num nowrap"' if column.kind in ("rank", "money", "p") else ' class="num"'
    elif isinstance(value, Estimate):
        css = f' class="nowrap {escape(tint(value))}"' if tint else ' class="nowrap"'
    css += f' data-label="{escape(visible(column.title))}"' if labelled and text else ""
    return f"<td{css}>{f'<mark>{text}</mark>' if marked else text}</td>"


def _head(column: Column) -> str:
    css = ' class="num"' if column.kind in RIGHT else ""
    note = f' title="{escape(visible(column.note))}"' if column.note else ""
    return f'<th scope="col"{css}{note}>{escape(visible(column.title))}</th>'


def _row_head(column: Column, value: Cell, links: Link, labelled: bool) -> str:
    if not isinstance(value, str):
        return _cell(column, value, escape(visible(cell_text(column, value))), labelled=labelled)
    name = escape(visible(value))
    where = links(value)
    return f'<th scope="row">{f"""<a href="{escape(where)}">{name}</a>""" if where else name}</th>'


def _drawings(table: Table) -> list[tuple[str, Callable[[Sequence[Cell]], Markup]]]:
    """What is drawn beside the first column: (head, from a row to its drawing)."""
    made: list[tuple[str, Callable[[Sequence[Cell]], Markup]]] = []
    titles = table.titles
    if levels := table.drawn("stacked"):
        keys = "".join(
            f"{svg.swatch(svg.level_texture(place, len(levels)))}{escape(level)} " for place, level in enumerate(levels)
        )
        made.append((f'<th scope="col" class="draw">{keys}</th>', lambda cells: _stacked(levels, titles, cells)))
    column = "".join(table.drawn("whiskers"))
    if column in titles:
        place = titles.index(column)
        estimates = [cell for cell in table.column(column) if isinstance(cell, Estimate)]
        if any(estimate.value is not None for estimate in estimates):
            scale = svg.table_range([estimate for estimate in estimates if estimate.value is not None])
            head = f'<th scope="col" class="draw">{escape(column)}{svg.axis(scale)}</th>'
            made.append((head, lambda cells: _whisker(str(cells[0]), cells[place], scale)))
    return made


def _stacked(levels: Sequence[str], titles: Sequence[str], cells: Sequence[Cell]) -> Markup:
    counts: Mapping[str, int] = {
        level: value for level in levels if isinstance(value := cells[titles.index(level)], int)
    }
    return svg.stacked_bar(str(cells[0]), counts)


def _whisker(name: str, cell: Cell, scale: svg.Range) -> Markup:
    return svg.whisker(name, cell, scale, [("zero", 0.0)]) if isinstance(cell, Estimate) else Markup("")
