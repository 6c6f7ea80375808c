"""Which cells of a benchmark's own table are drawn: estimates as whiskers on one axis, counts as a stacked bar."""

from collections.abc import Callable, Sequence

from markupsafe import Markup, escape

from eqlab.core import text
from eqlab.core.results import Estimate, Table
from eqlab.publish.figures import Range, table_range

Cells = Sequence[str | int | float | Estimate | None]


def drawn_cell(table: Table, cells: Cells) -> Estimate | None:
    cell = cells[table.columns.index(table.whiskers)] if table.whiskers in table.columns else None
    return cell if isinstance(cell, Estimate) else None


def printed_cells(cells: Cells, numeric: Sequence[bool], tint: Callable[[Estimate], str] | None) -> Markup:
    """Cells of a row as HTML: a large report has a hundred thousand, too many for a template to look at each."""
    found = []
    for index, value in enumerate(cells):
        css = ""
        if index < len(numeric) and numeric[index]:
            css = ' class="num"'
        elif isinstance(value, Estimate):
            css = f' class="nowrap {escape(tint(value))}"' if tint else ' class="nowrap"'
        found.append(f"<td{css}>{escape(text.visible(text.cell(value)))}</td>")
    return Markup("".join(found))


def drawn_range(table: Table) -> Range | None:
    """The axis of a table's whiskers; None if there is nothing to draw."""
    found = [own for cells in table.rows if (own := drawn_cell(table, cells)) is not None and own.value is not None]
    return table_range(found) if found else None


def levels_of(table: Table, cells: Cells) -> dict[str, int]:
    """The counts of a stacked bar."""
    values = {name: cells[table.columns.index(name)] for name in table.stacked}
    return {name: value for name, value in values.items() if isinstance(value, int)}
