"""A study analysed: who came, who is left out and why, then the benchmark's own statistics of people, each labelled
confirmatory or exploratory. Nothing is computed here that a benchmark computes."""

import getpass
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from eqlab.core.design import Design
from eqlab.core.results import Estimate, Result, Table
from eqlab.core.runs import PERSON
from eqlab.core.studied import Analysed, Contrast, PeopleResult
from eqlab.publish.report.write import write_results
from eqlab.runs.score import titled
from eqlab.store.study.lock import PlanStanding, moment, standing
from eqlab.store.study.participation import Participation
from eqlab.store.study.researchers import write_note
from eqlab.study.kinds.registry import kind_of
from eqlab.study.results import flow
from eqlab.study.results.code import analysis_code
from eqlab.study.results.participants import Participant, Participants, read_participants, scored_of

_SENSITIVITY_ROWS = 8


@dataclass(frozen=True, slots=True)
class StudyAnalysis:
    design: Design
    standing: PlanStanding
    sample: flow.AnalysisSample
    people: tuple[Table, ...]
    """Who came, arm by arm, where they left, who is analysed, checks."""
    planned: tuple[Contrast, ...]
    """The contrasts that the study planned; empty for kinds that plan none, or if no model fits."""
    shown: tuple[Table, ...]
    """What a terminal shows of the tables: people, sensitivity, and what is about the plan."""
    result: Result
    """As the benchmark makes it of the people who are analysed, with all tables and the label."""


def analyse(participation: Participation, who: str = "", action: str = "analysed") -> StudyAnalysis:
    """The analysis of a study as its store is now. That somebody has looked is kept in the store: whoever knows results
    before the planned number is reached could stop when they please."""
    stands = standing(participation, *analysis_code())
    found = analyse_roll(participation.design, read_participants(participation), stands)
    log_look(participation, who, action, stands)
    return found


def log_look(participation: Participation, who: str, action: str, stands: PlanStanding) -> None:
    """`action` is analysed, exported or published."""
    write_note(
        participation.store,
        participation.clock(),
        who or current_user(),
        action,
        participation.study.id,
        done=stands.done,
        planned=stands.planned,
        label=stands.label,
    )


def current_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no name for this user on this machine
        return "unknown"


def analyse_roll(design: Design, participants: Participants, status: PlanStanding) -> StudyAnalysis:
    """The same of people who need not be in any store."""
    plan = design.study.analysis
    found = flow.sample(participants, plan.exclude)
    made = people_result(design, found.kept)
    own = [
        *(_labelled(table, status.label) for table in made.planned),
        *(_labelled(table, "exploratory") for table in made.exploratory),
    ]
    people = (
        flow.flow_table(participants),
        flow.arm_table(design, participants, found),
        *((left,) if (left := flow.leaving_table(participants)) else ()),
        flow.exclusion_table(found, plan.exclude),
        flow.checks_table(found, design.study.checks.least_seconds),
    )
    raw = made.result
    whole = people_result(design, found.everybody).result if found.excluded else None
    shown = (*people, *own, _sensitivity(raw, whole))
    result = replace(
        raw,
        sentence=f"{status.label.capitalize()}: {raw.sentence}",
        rules={**raw.rules, "standing": status.label},
        caveats=(
            _why(status),
            *_preliminary(design, participants),
            *_looks(status),
            *_erased(participants),
            *_no_rule(design),
            *raw.caveats,
        ),
        tables=(*shown, *(_labelled(table, "exploratory") for table in raw.tables)),
    )
    return StudyAnalysis(design, status, found, people, made.contrasts, shown, result)


def people_result(design: Design, people: Sequence[Participant]) -> PeopleResult:
    """What the study's kind makes of these people."""
    kind = kind_of(design.study)
    scored = scored_of(design.run.id, people, kind.form().benchmark)
    scores = {f"{PERSON}{person.person}": person.scores for person in people}
    made = kind.result(design, Analysed(tuple(scored), scores))
    asked = next((one for one in design.run.benchmarks if one.name == made.result.benchmark), None)
    return made if asked is None else replace(made, result=titled(made.result, asked))


def write_report(participation: Participation, found: StudyAnalysis, where: Path) -> Path:
    """The HTML report of a study: its result with the label, the people and the checks."""
    stored = participation.store.read_run(participation.design.run.id)
    return write_results([(stored, [found.result])], where)


def _sensitivity(planned: Result, whole: Result | None) -> Table:
    """The same numbers with nobody excluded."""
    title, columns = "If nobody were excluded", ("", "as planned", "nobody excluded")
    if whole is None:
        return Table(title, columns, (), "The same: the plan's rules exclude nobody.")
    before = _numbers(planned)
    after = _numbers(whole)
    rows = tuple((name, before[name], after.get(name)) for name in list(before)[:_SENSITIVITY_ROWS])
    return Table(title, columns, rows, "Sensitivity, exploratory: the headline and what stands behind it.")


def _numbers(result: Result) -> dict[str, Estimate]:
    found: dict[str, Estimate] = {}
    for one in (result.headline, *result.estimates):
        if one.value is not None:
            found.setdefault(one.name, one)  # the headline is among the estimates again, with fewer words
    return found


def _labelled(table: Table, label: str) -> Table:
    return replace(table, title=f"{label.capitalize()}: {table.title}")


def _looks(status: PlanStanding) -> tuple[str, ...]:
    """Early looks are told whatever the label: a planned number that was kept is no reason to hide them."""
    if not status.looks:
        return ()
    when = ", ".join(f"{moment(one.at)} ({one.detail['done']} of {one.detail['planned']})" for one in status.looks[-5:])
    count = len(status.looks)
    times = "once" if count == 1 else f"{count} times"
    return (f"Results were looked at {times} before the planned number was reached: {when}.",)


def _erased(participants: Participants) -> tuple[str, ...]:
    by_self, by_us = participants.erased_by("person"), participants.erased_by("researcher")
    if not by_self and not by_us:
        return ()
    return (f"Erased: {by_self} at their own request on the page, {by_us} by a researcher; their answers are gone.",)


def _why(status: PlanStanding) -> str:
    planned = status.label in ("confirmatory", "interim")
    rest = " (the headline and the planned contrasts; the rest is exploratory)" if planned else ""
    return f"This analysis is {status.label}{rest}: {status.reason}."


def _preliminary(design: Design, participants: Participants) -> tuple[str, ...]:
    places = sum(design.sizes.values())
    done = sum(person.state == "finished" for person in participants.people)
    if done >= places:
        return ()
    return (f"{done} of {places} places are done: the result is preliminary.",)


def _no_rule(design: Design) -> tuple[str, ...]:
    """A plan of 0.1 may have a rule that is refused now."""
    study = design.study
    if "straight_lining" not in study.analysis.exclude or not kind_of(study).form().one_scale or len(study.scales) > 1:
        return ()
    return (
        "The plan's rule straight_lining is not applied: with one scale a page it leaves out careful raters of good "
        "replies. Report this as a deviation from the plan.",
    )
