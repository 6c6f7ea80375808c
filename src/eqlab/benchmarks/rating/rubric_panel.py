"""Several judges under one rubric: the panel over all scales together, then every scale by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from eqlab.benchmarks.rating.panel_result import Measure, panel_result
from eqlab.benchmarks.rating.rated import RatedReply, on_scale
from eqlab.benchmarks.rating.rubric_items import overall
from eqlab.core.results import Result, Table

_EACH = ("Pooled ratings", "Pooled differences", "What the panel is worth", "How mild each judge is")


def rubric_panel(given: Mapping[str, Sequence[RatedReply]], title: str) -> Result | None:
    """None where the judges cannot be pooled."""
    scales = next((ratings[0].trial.form.scales for ratings in given.values() if ratings), ())
    whole = panel_result(given, Measure(0, 100, overall, "overall", title, whole=False))
    if whole is None:
        return None
    parts: dict[str, list[Table]] = {}
    for scale in scales:
        measure = Measure(scale.low, scale.high, lambda one: one.value, title=title)
        found = panel_result({judge: on_scale(own, scale) for judge, own in given.items()}, measure)
        for table in found.tables if found else ():
            if table.title in _EACH:
                parts.setdefault(table.title, []).append(_headed(table, scale.key))
    each = [_joined(title, tables) for title, tables in parts.items()] if len(scales) > 1 else []
    return replace(whole, tables=(*whole.tables[:-1], *each, whole.tables[-1]))


def _headed(table: Table, scale: str) -> Table:
    return replace(table, rows=tuple((scale, *row) for row in table.rows))


def _joined(title: str, tables: Sequence[Table]) -> Table:
    first = tables[0]
    columns = ("scale", *(column.split(", ")[0] for column in first.titles))
    rows = tuple(row for table in tables for row in table.rows)
    return Table(f"{title}, scale by scale", columns, rows, first.note)
