"""The report in a page of Markdown: what was found, and every score with its interval."""

from collections.abc import Sequence

from eqlab.core.results import Result
from eqlab.core.text import count_of, interval_of, value_of
from eqlab.publish.groups import RunRecord, group
from eqlab.store.reader import StoredRun
from eqlab.tables.markdown import safe


def summary(found: Sequence[tuple[StoredRun, Sequence[Result]]]) -> str:
    records = [RunRecord(one.config, one.created_at, one.provenance, tuple(own)) for one, own in found]
    parts = ["# EQ Lab", ""]
    for one in group(records):
        parts += [f"## {safe(one.title)}", "", safe(one.sentence), ""]
        parts += ["| who | score | 95 % interval | n | rank | valid |", "|---|---|---|---|---|---|"]
        for row in one.rows:
            head = row.result.headline
            rank = "–".join(map(str, dict.fromkeys(row.rank))) if row.rank else "none"
            cells = (
                row.name,
                value_of(head),
                interval_of(head),
                count_of(head),
                rank,
                "yes" if row.result.valid else "no",
            )
            parts.append(f"| {' | '.join(safe(cell) for cell in cells)} |")
        floor = ", ".join(f"{safe(name)} {value}" for _, name, value in one.baselines)
        parts += ["", f"What takes no skill scores: {floor}.", ""] if floor else [""]
        said = dict.fromkeys(caveat for row in one.rows for caveat in row.result.caveats)
        parts += [*(f"- {safe(caveat)}" for caveat in said), ""] if said else []
        parts += [f"{safe(' · '.join(one.facts))}", ""]
    return "\n".join(parts)
