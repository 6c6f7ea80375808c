"""The report in a page of Markdown: what was found, and every score with its interval."""

from collections.abc import Sequence

from eqlab.comparison.scores import score_table
from eqlab.core.results import Result
from eqlab.publish.groups import RunRecord, group
from eqlab.store.reader import StoredRun
from eqlab.tables.markdown import markdown_table, safe


def summary(found: Sequence[tuple[StoredRun, Sequence[Result]]]) -> str:
    records = [RunRecord(one.config, one.created_at, one.provenance, tuple(own)) for one, own in found]
    parts = ["# EQ Lab", ""]
    for one in group(records):
        parts += [f"## {safe(one.title)}", "", safe(one.sentence), ""]
        parts.append(markdown_table(score_table([row.line for row in one.rows], "page")))
        floor = ", ".join(f"{safe(name)} {value}" for _, name, value in one.baselines)
        parts += ["", f"What takes no skill scores: {floor}.", ""] if floor else [""]
        said = dict.fromkeys(caveat for row in one.rows for caveat in row.result.caveats)
        parts += [*(f"- {safe(caveat)}" for caveat in said), ""] if said else []
        parts += [f"{safe(' · '.join(one.facts))}", ""]
    return "\n".join(parts)
