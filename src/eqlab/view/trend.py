"""Over time: the rows of one table in the order in which they were run, such as the versions of a model, and whether
each differs from the one before it."""

from collections.abc import Sequence
from itertools import pairwise

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from eqlab.analysis.multiplicity import holm
from eqlab.comparison.verdict import ALPHA, Verdict
from eqlab.core.results import Column, Estimate, Table, goodness
from eqlab.core.text import utc
from eqlab.publish.groups import Group, Row
from eqlab.tables.forest import Forest, ForestLine
from eqlab.view.runs import fits, result_address
from eqlab.view.site import asked, asked_number, must, site_of

MOST = 60
"""Rows of a picture: the newest."""


def trend(request: Request) -> Response:
    site = site_of(request)
    groups = site.shelf.settle(0.3).groups
    number = asked_number(request, "table")
    group: Group = must(groups[number - 1] if number <= len(groups) else None, "This store has no such table.")
    query = asked(request, "q")
    rows = in_time(group, query)
    forest = Forest(
        group.title, rows[0].result.headline.name if rows else "",
        tuple(ForestLine(_when(row), row.result.headline, valid=row.result.valid) for row in reversed(rows)),
        group.scale,
    )  # fmt: skip
    return site.page(
        request, "trend", group=group, number=number, query=query, forest=forest, live=True,
        at_once=len({row.record.config.id for row in rows}) < len(rows),
        sentence=sentence(changes := _changes(group, rows)), table=_table(rows, changes),
        hrefs=[(_when(row), result_address(row.record.config.id, row.result)) for row in reversed(rows)],
    )  # fmt: skip


def in_time(group: Group, query: str = "") -> list[Row]:
    """Oldest first; people were asked once, and stand in no row of versions."""
    rows = [row for row in group.rows if not row.people and fits(query, f"{row.name} {row.record.config.id}")]
    return sorted(rows, key=lambda row: row.record.created_at)[-MOST:]


def _when(row: Row) -> str:
    return f"{utc(row.record.created_at)[:10]} {row.name}"


Change = tuple[Row, Row, Estimate, str]
"""The row before, the row, their difference, and what it is called."""


def _changes(group: Group, rows: Sequence[Row]) -> list[Change]:
    """Each against the one before it, paired over shared items; called clear after Holm's correction for all steps.
    Models of one run were asked at once: none comes after the other."""
    verdict: Verdict | None = next((own for name, own in group.verdicts if not name), None)
    if verdict is None:
        return []
    found = [
        (before, row, verdict.pair(row.name, before.name))
        for before, row in pairwise(rows)
        if before.record.config.id != row.record.config.id
    ]
    adjusted = holm([pair.difference.p for _, _, pair in found])
    changes = []
    for (before, row, pair), p in zip(found, adjusted, strict=True):
        gap = pair.difference
        estimate = Estimate("change", gap.value, gap.n, gap.se, gap.low, gap.high)
        clear = p is not None and p < ALPHA and bool(pair.separated) and bool(gap.value)
        better = goodness(gap.value or 0.0, row.result.better) > 0
        words = ("better" if better else "worse") if clear else "cannot say" if p is None else "not clear"
        changes.append((before, row, estimate, words))
    return changes


def sentence(changes: Sequence[Change]) -> str:
    if not changes:
        return "Nothing came after another here; run a later version on the same items."
    clear = [(row, words) for _, row, _, words in changes if words in ("better", "worse")]
    steps = "1 step" if len(changes) == 1 else f"{len(changes)} steps"
    if not clear:
        return f"No clear change in {steps}: differences of this size come by chance (Holm over the steps, 5 %)."
    told = "; ".join(f"{_when(row)} is {words} than the one before" for row, words in clear)
    return f"{len(clear)} of {steps} {'is' if len(clear) == 1 else 'are'} clear (Holm, 5 %): {told}."


def _table(rows: Sequence[Row], changes: Sequence[Change]) -> Table:
    """Newest first."""
    steps = {id(row): (estimate, words) for _, row, estimate, words in changes}
    columns = (
        "model", "run", Column("at", "run on, UTC"), Column("score", "score", "estimate"),
        Column("change", "change from the one before", "estimate"), Column("verdict", "verdict"),
    )  # fmt: skip
    lines = [
        (
            row.name, row.record.config.id, utc(row.record.created_at)[:16].replace("T", " "), row.result.headline,
            *steps.get(id(row), ("", "")),
        )
        for row in reversed(rows)
    ]  # fmt: skip
    note = "Changes are paired over the items that both answered, each with its own 95 % interval."
    return Table("Step by step", columns, lines, note)


ROUTES = [Route("/trend", trend)]
