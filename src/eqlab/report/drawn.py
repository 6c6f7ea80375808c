"""Which cells of a benchmark's own table are drawn: estimates as whiskers on one axis, counts as a stacked bar."""

from collections.abc import Callable, Sequence

from eqlab.core.results import Estimate, Table
from eqlab.report import text
from eqlab.report.figures import Range, table_range

Cells = Sequence[str | int | float | Estimate | None]


def drawn_cell(table: Table, cells: Cells) -> Estimate | None:
    cell = cells[table.columns.index(table.whiskers)] if table.whiskers in table.columns else None
    return cell if isinstance(cell, Estimate) else None


def printed_cells(
    cells: Cells, numeric: Sequence[bool], tint: Callable[[Estimate], str] | None
) -> list[tuple[str, str]]:
    """(class, text) of every cell of a row."""
    found = []
    for index, value in enumerate(cells):
        css = ""
        if index < len(numeric) and numeric[index]:
            css = "num"
        elif isinstance(value, Estimate):
            css = f"nowrap {tint(value)}" if tint else "nowrap"
        found.append((css, text.cell(value)))
    return found


def drawn_range(table: Table) -> Range | None:
    """The axis of a table's whiskers; None if there is nothing to draw."""
    found = [own for cells in table.rows if (own := drawn_cell(table, cells)) is not None and own.value is not None]
    return table_range(found) if found else None


def levels_of(table: Table, cells: Cells) -> dict[str, int]:
    """The counts of a stacked bar."""
    values = {name: cells[table.columns.index(name)] for name in table.stacked}
    return {name: value for name, value in values.items() if isinstance(value, int)}
