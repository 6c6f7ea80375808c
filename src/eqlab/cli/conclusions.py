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
        own = totals.setdefault(result.subject, [0, 0, 0])
        own[0] += counts.get("unparseable", 0)
        own[1] += counts.get("error", 0)
        own[2] += counts.get("ok", 0) + counts.get("refused", 0)
    said = []
    for subject, (unread, lost, usable) in totals.items():
        name = subject.partition(":")[2] or subject
        if unread and not usable:
            said.append(
                f"{name}: none of {unread + lost} answers could be used; 'eqlab show --status unparseable' shows them."
            )
        elif lost and not usable:
            said.append(f"{name}: no answer came; 'eqlab show --status error' says why.")
    return said
