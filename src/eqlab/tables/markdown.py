"""A table as Markdown, and text that Markdown takes for text."""

from collections.abc import Sequence

from eqlab.core.results import Table
from eqlab.core.text import visible
from eqlab.tables.cells import RIGHT, cell_text

_MARKS = "&\\`*_[]<>|@#"


def markdown_table(table: Table) -> str:
    """Heads, rows, then the note; the title is the caller's, who knows how deep it stands."""
    lines = [
        _line([safe(title) for title in table.titles]),
        _line(["--:" if column.kind in RIGHT else ":--" for column in table.columns]),
        *(
            _line([safe(cell_text(column, value)) for column, value in zip(table.columns, row, strict=True)])
            for row in table.rows
        ),
    ]
    return "\n".join([*lines, "", safe(table.note)] if table.note else lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def safe(text: str) -> str:
    """Names come from servers and files: nothing in them may break a table, or be a link, a tag or a mention."""
    return "".join(f"&#{ord(char)};" if char in _MARKS else char for char in visible(" ".join(text.split())))
