"""Who came, who went and where: everybody is counted once, erased people included. And who is left out of the
analysis by the plan's rules, with the reasons."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eqlab.core.design import Design
from eqlab.core.results import Estimate, Table
from eqlab.core.study import Exclusion
from eqlab.study.results.participants import Participant, Participants

FLOW = (
    "turned away: the study was full",
    "left before consent",
    "declined",
    "left or stopped before the trials",
    "failed the comprehension check",
    "consented, but the study was full by then",
    "assigned: still at it, or left",
    "assigned: stopped",
    "assigned: finished",
    "assigned: finished late, kept as extra",
    "returned to the panel, or released by the researcher",
    "banned by the researcher",
    "erased at their request",
    "erased by the researcher",
)
"""Every way that coming can end. A person is in exactly one."""
RULES: Mapping[Exclusion, str] = {
    "failed_attention": "answered an instructed check otherwise than asked",
    "too_fast": "answered more than half of the pages faster than the study's least_seconds",
    "straight_lining": "gave one value throughout",
    "incomplete": "did not come to the end",
    "failed_gold": "answered a gold item otherwise than is right",
    "inconsistent": "answered a repeated page more than half a scale away from before, on average",
}


@dataclass(frozen=True, slots=True)
class AnalysisSample:
    """Who is analysed, and who is not for which reasons. Only people who answered a trial can be either."""

    kept: tuple[Participant, ...]
    excluded: Mapping[str, tuple[Exclusion, ...]]
    everybody: tuple[Participant, ...]


def where(person: Participant) -> str:
    """The way in which one person's coming ended."""
    if person.state in ("returned", "banned"):
        return FLOW[10] if person.state == "returned" else FLOW[11]
    if person.state == "full":
        return FLOW[0] if person.consented_at is None else FLOW[5]
    if person.state in ("declined", "failed"):
        return FLOW[2] if person.state == "declined" else FLOW[4]
    if person.assigned_at is None:
        return FLOW[1] if person.consented_at is None else FLOW[3]
    return {"stopped": FLOW[7], "finished": FLOW[8], "extra": FLOW[9]}.get(person.state, FLOW[6])


def flow_table(participants: Participants) -> Table:
    counts = Counter(where(person) for person in participants.people)
    counts[FLOW[12]] += participants.erased_by("person")
    counts[FLOW[13]] += participants.erased_by("researcher")
    rows = [("arrived", len(participants.people) + participants.erased), *((name, counts[name]) for name in FLOW)]
    happened = Counter(event.kind for event in participants.events)
    note = f"Places given to somebody else because nothing was saved: {happened['expired']}; by the panel's word: "
    return Table("Who came", ("", "people"), tuple(rows), f"{note}{happened['released']}.")


def arm_table(design: Design, participants: Participants, sample: AnalysisSample) -> Table:
    kept = {person.person for person in sample.kept}
    rows: list[tuple[str | int, ...]] = []
    for arm in design.arms:
        own = [person for person in participants.people if person.arm == arm]
        ends = Counter(where(person) for person in own)
        rows.append(
            (
                arm,
                design.sizes[arm],
                len(own),
                *(ends[name] for name in FLOW[6:10]),
                sum(person.person in sample.excluded for person in own),
                sum(person.person in kept for person in own),
            )
        )
    columns = ("arm", "places", "assigned", "at it or left", "stopped", "finished", "extra", "excluded", "analysed")
    return Table("Arm by arm", columns, tuple(rows))


def leaving_table(participants: Participants) -> Table | None:
    """On which page those stand who have not come to an end, or stopped; None if nobody does."""
    left = Counter(
        (person.page, person.steps[person.page].kind)
        for person in participants.people
        if person.state in ("arrived", "taking", "stopped")
    )
    if not left:
        return None
    rows = tuple((page + 1, kind, count) for (page, kind), count in sorted(left.items()))
    return Table("Where people left", ("page", "kind", "people"), rows, "Who is still at it stands here too.")


def reasons(person: Participant, rules: Sequence[Exclusion]) -> tuple[Exclusion, ...]:
    """Which of the rules speak against a person."""
    against: Mapping[Exclusion, bool] = {
        "failed_attention": person.checks(False) > 0,
        "too_fast": 2 * person.too_fast > person.timed,
        "straight_lining": person.straight_lining,
        "incomplete": not person.complete,
        "failed_gold": person.gold(False) > 0,
        "inconsistent": person.apart is not None and person.apart > 0.5,
    }
    return tuple(rule for rule in rules if against[rule])


def sample(participants: Participants, rules: Sequence[Exclusion]) -> AnalysisSample:
    answered = tuple(
        person
        for person in participants.people
        if person.state != "banned" and any(page.kind in ("trial", "talk") for page in person.pages)
    )
    found = {person.person: reasons(person, rules) for person in answered}
    return AnalysisSample(
        tuple(person for person in answered if not found[person.person]),
        {person: why for person, why in found.items() if why},
        answered,
    )


def exclusion_table(found: AnalysisSample, rules: Sequence[Exclusion]) -> Table:
    """Each rule by itself, since people may break several; then the people."""
    trials = {person.person: sum(page.kind in ("trial", "talk") for page in person.pages) for person in found.everybody}

    def row(name: str, people: Sequence[str]) -> tuple[str, int, int]:
        return name, len(people), sum(trials[person] for person in people)

    rows = [row("answered at least one trial", list(trials))]
    for rule in rules:
        own = [person for person, why in found.excluded.items() if rule in why]
        rows.append(row(f"{rule}: {RULES[rule]}", own))
    rows.append(row("excluded in all", list(found.excluded)))
    rows.append(row("analysed", [person.person for person in found.kept]))
    note = "By the plan's rules; somebody may break several." if rules else "The plan excludes nobody."
    return Table("Who is analysed", ("", "people", "trials answered"), tuple(rows), note)


def checks_table(found: AnalysisSample, least_seconds: float) -> Table:
    """How carefully those took part who answered a trial, excluded or not."""
    from eqlab.analysis.intervals import proportion_estimate

    people = found.everybody

    def share(name: str, hits: int) -> tuple[str, int, Estimate]:
        return name, hits, proportion_estimate(name, hits, len(people))

    return Table(
        "Checks",
        ("", "people", "share, % of those who answered a trial"),
        (
            share("failed an instructed check", sum(person.checks(False) > 0 for person in people)),
            share("failed two or more", sum(person.checks(False) > 1 for person in people)),
            share("claimed page times that cannot be", sum(person.impossible > 0 for person in people)),
            share("needed a second try at the quiz", sum(person.quiz_attempts > 1 for person in people)),
            share("straight-lined", sum(person.straight_lining for person in people)),
            share(
                f"answered more than half of the pages in under {least_seconds:g} s",
                sum(2 * person.too_fast > person.timed for person in people),
            ),
        ),
        "Counted for everybody, whatever the plan excludes.",
    )
