"""A comparison as Markdown: the conclusion, the ranks, the pairs."""

from collections.abc import Sequence

from eqlab.comparison.caveats import caveats
from eqlab.comparison.compare import Comparison
from eqlab.comparison.tables import sentence, tables
from eqlab.core.results import Table
from eqlab.core.text import cell, visible

_MARKS = "&\\`*_[]<>|@#"
SHOWN = 2
"""Tables: ranks and pairs."""


def comparison_page(found: Sequence[Comparison], missing: str) -> str:
    parts = []
    for one in found:
        parts += [f"### {safe(one.title)}", "", safe(sentence(one)), ""]
        for table in tables(one)[:SHOWN]:
            parts += [*_rows(table), ""]
        parts += [*(f"- {safe(said)}" for said in caveats(one, missing)), ""]
    return "\n".join(parts)


def _rows(table: Table) -> list[str]:
    head = [f"| {' | '.join(safe(column) for column in table.columns)} |", f"|{'---|' * len(table.columns)}"]
    body = [f"| {' | '.join('' if one is None else safe(cell(one)) for one in row)} |" for row in table.rows]
    return [*head, *body, "", safe(table.note)] if table.note else [*head, *body]


def safe(text: str) -> str:
    """Names come from servers and files: nothing in them may break a table, or be a link, a tag or a mention."""
    return "".join(f"&#{ord(char)};" if char in _MARKS else char for char in visible(" ".join(text.split())))
