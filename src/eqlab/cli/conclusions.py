"""What a command that asked models says first: one sentence per benchmark, with the same verdict as the report's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eqlab.core.results import Result
    from eqlab.store.reader import StoredRun


@dataclass(frozen=True, slots=True)
class Conclusion:
    sentence: str
    data: dict[str, Any]


def conclusions(scored: "Sequence[tuple[StoredRun, Sequence[Result]]]") -> list[Conclusion]:
    """In the order of the report's tables."""
    from eqlab.comparison.tables import verdict_data
    from eqlab.publish.groups import RunRecord, group

    records = [RunRecord(one.config, one.created_at, one.provenance, tuple(own)) for one, own in scored]
    found = []
    for one in group(records):
        verdicts = [verdict_data(verdict, one.things, rater) for rater, verdict in one.verdicts]
        data = {"title": one.title, "sentence": one.sentence, "verdicts": verdicts}
        found.append(Conclusion(one.sentence, data))
    return found


def print_conclusions(found: Sequence[Conclusion]) -> None:
    """Several are told apart by their titles."""
    from eqlab.cli.output import say

    for one in found:
        title = f"{one.data['title']}: " if len(found) > 1 else ""
        say(f"{title}{one.sentence}\n", style="bold")


def without_answers(results: "Sequence[Result]") -> list[str]:
    """Subjects of whom no answer at all could be used: not a low score but a run that failed."""
    totals: dict[str, list[int]] = {}
    for result in results:
        counts = result.counts
        asked = sum(counts.get(status, 0) for status in ("ok", "refused", "unparseable", "error"))
        own = totals.setdefault(result.subject, [0, 0])
        own[0] += asked
        own[1] += counts.get("ok", 0) + counts.get("refused", 0)
    return [
        f"{subject.partition(':')[2] or subject}: none of {asked} answers could be used; 'eqlab show --status "
        "unparseable' shows them."
        for subject, (asked, usable) in totals.items()
        if asked and not usable
    ]
