"""A comparison as Markdown: the conclusion, the ranks, the pairs."""

from collections.abc import Sequence

from eqlab.comparison.caveats import caveats
from eqlab.comparison.compare import Comparison
from eqlab.comparison.tables import sentence, tables
from eqlab.tables.markdown import markdown_table, safe

SHOWN = 2
"""Tables: ranks and pairs."""


def comparison_page(found: Sequence[Comparison], missing: str) -> str:
    parts = []
    for one in found:
        parts += [f"### {safe(one.title)}", "", safe(sentence(one)), ""]
        for table in tables(one)[:SHOWN]:
            parts += [markdown_table(table), ""]
        parts += [*(f"- {safe(said)}" for said in caveats(one, missing)), ""]
    return "\n".join(parts)
