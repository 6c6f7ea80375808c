"""A study analysed: who came, who is left out and why, then the benchmark's own statistics of people, each labelled
confirmatory or exploratory. Nothing is computed here that a benchmark computes."""

import getpass
import hashlib
import platform
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

from eqlab.core.design import Design
from eqlab.core.environment import entry_points
from eqlab.core.plural import many
from eqlab.core.results import Estimate, Result, Table
from eqlab.core.runs import PERSON
from eqlab.core.studied import Analysed, Contrast, PeopleResult
from eqlab.core.study import Exclusion
from eqlab.core.values import dataclass
from eqlab.publish.report.write import write_results
from eqlab.runs.score import titled
from eqlab.store.engine import snapshot
from eqlab.store.study.lock import PlanStanding, moment, standing
from eqlab.store.study.participation import Participation
from eqlab.store.study.records import Records, read_records
from eqlab.store.study.researchers import write_note
from eqlab.study.kinds import GROUP, kind_of
from eqlab.study.results.participants import Participant, Participants, participants_of, scored_of

_SENSITIVITY_ROWS = 8


@dataclass(frozen=True, slots=True)
class AnalysisSample:
    """Who is analysed, and who is not for which reasons. Only people who answered a trial can be either."""

    kept: tuple[Participant, ...]
    excluded: Mapping[str, tuple[str, ...]]
    everybody: tuple[Participant, ...]


@dataclass(frozen=True, slots=True)
class StudyAnalysis:
    design: Design
    standing: PlanStanding
    sample: AnalysisSample
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
    return analyse_moment(participation, who, action)[0]


def analyse_moment(participation: Participation, who: str, action: str) -> tuple[StudyAnalysis, Records, Participants]:
    """The same, with the rows that it was made of: all of one moment, while people go on answering."""
    found = analyse_unseen(participation)
    log_look(participation, who, action, found[0].standing)
    return found


def analyse_unseen(participation: Participation) -> tuple[StudyAnalysis, Records, Participants]:
    """The same, for whoever keeps the look themselves, before anything of it is shown or written."""
    stands, records, participants = read_moment(participation)
    return analyse_roll(participation.design, participants, stands), records, participants


def read_moment(participation: Participation) -> tuple[PlanStanding, Records, Participants]:
    """Everybody and how the study stands, at one moment: a look is at what is read, whatever comes in before it is
    kept."""
    with snapshot(participation.store.engine) as connection:
        stands = standing(participation, *analysis_code(), analysis_libraries(), connection)
        records = read_records(participation.store, participation.design, connection)
    return stands, records, participants_of(participation.design, records)


def current_standing(participation: Participation) -> PlanStanding:
    return standing(participation, *analysis_code(), analysis_libraries())


def log_look(participation: Participation, who: str, action: str, stands: PlanStanding) -> str:
    """`action` is analysed, exported, published or read; `stands`: as of the moment that was read. Returns what the
    results may be called."""
    nothing = {"answered": 0} if stands.first_answer_at is None else {}
    write_note(
        participation.store,
        participation.clock(),
        who or current_user(),
        action,
        participation.study.id,
        done=stands.done,
        planned=stands.planned,
        label=stands.label,
        **nothing,
    )
    return stands.label


def current_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no name for this user on this machine
        return "unknown"


def analyse_roll(design: Design, participants: Participants, status: PlanStanding) -> StudyAnalysis:
    """The same of people who need not be in any store."""
    plan = design.study.analysis
    sample = select_sample(participants, plan.exclude, status)
    made = people_result(design, sample.kept)
    tables = [
        *(_labelled(table, status.label) for table in made.planned),
        *(_labelled(table, "exploratory") for table in made.exploratory),
    ]
    people = (
        flow_table(participants),
        arm_table(design, participants, sample),
        *((left,) if (left := leaving_table(participants)) else ()),
        exclusion_table(sample, (*plan.exclude, *((OUTSIDE,) if status.in_places else ()))),
        checks_table(sample, design.study.checks.least_seconds),
    )
    raw = made.result
    whole = people_result(design, sample.everybody).result if sample.excluded else None
    shown = (*people, *tables, _sensitivity(raw, whole))
    result = replace(
        raw,
        sentence=f"{status.label.capitalize()}: {raw.sentence if sample.kept else _nobody(sample) or raw.sentence}",
        rules={**raw.rules, "standing": status.label},
        caveats=(
            _why(status),
            *_preliminary(design, participants, status),
            *_looks(status),
            *_later(participants, status),
            *_returned(participants),
            *_erased(participants),
            *_no_rule(design),
            *raw.caveats,
        ),
        tables=(*shown, *(_labelled(table, "exploratory") for table in raw.tables)),
    )
    return StudyAnalysis(design, status, sample, people, made.contrasts, shown, result)


def _nobody(sample: AnalysisSample) -> str:
    """Where answers came and none counts."""
    n = len(sample.excluded)
    who = f"all {n} people who answered are excluded" if n > 1 else "the one person who answered is excluded"
    return f"Nothing is left to analyse: {who} (table 'Who is analysed')." if n else ""


def people_result(design: Design, people: Sequence[Participant]) -> PeopleResult:
    """What the study's kind makes of these people."""
    kind = kind_of(design.study)
    scored = scored_of(design.run.id, people, kind.form().benchmark)
    scores = {f"{PERSON}{person.person}": person.scores for person in people}
    result = kind.result(design, Analysed(tuple(scored), scores))
    config = next(
        (
            benchmark_config
            for benchmark_config in design.run.benchmarks
            if benchmark_config.name == result.result.benchmark
        ),
        None,
    )
    return result if config is None else replace(result, result=titled(result.result, config))


def write_report(participation: Participation, analysis: StudyAnalysis, where: Path) -> Path:
    """The HTML report of a study: its result with the label, the people and the checks."""
    stored = participation.store.read_run(participation.design.run.id)
    return write_results([(stored, [analysis.result])], where)


def _sensitivity(planned: Result, whole: Result | None) -> Table:
    """The same numbers with nobody excluded."""
    title, columns = "If nobody were excluded", ("", "as planned", "nobody excluded")
    if whole is None:
        return Table(title, columns, (), "The same: the plan's rules exclude nobody.")
    before = _numbers(planned)
    after = _numbers(whole)
    rows = tuple((name, before.get(name), after.get(name)) for name in list(before or after)[:_SENSITIVITY_ROWS])
    return Table(title, columns, rows, "Sensitivity, exploratory: the headline and what stands behind it.")


def _numbers(result: Result) -> dict[str, Estimate]:
    estimates: dict[str, Estimate] = {}
    for estimate in (result.headline, *result.estimates):
        if estimate.value is not None:
            estimates.setdefault(estimate.name, estimate)  # the headline is among the estimates again, with fewer words
    return estimates


def _labelled(table: Table, label: str) -> Table:
    return replace(table, title=f"{label.capitalize()}: {table.title}")


def _looks(status: PlanStanding) -> tuple[str, ...]:
    """Early looks are told whatever the label: a planned number that was kept is no reason to hide them."""
    if not status.looks:
        return ()
    when = ", ".join(f"{moment(one.at)} ({one.detail['done']} of {one.detail['planned']})" for one in status.looks[-5:])
    return (f"Results were looked at {_times(len(status.looks))} before the planned number was reached: {when}.",)


def _later(participants: Participants, status: PlanStanding) -> tuple[str, ...]:
    """What happened after it was settled who is in the result."""
    settled = status.settled_at
    if settled is None:
        return ()
    late = sum(
        person.state == "extra" or (person.state == "finished" and _outside(person, status))
        for person in participants.people
    )
    beside = f"; finished later or without a place, and not in it: {late}" if late else ""
    gone = 0 if status.closed_early else status.done - sum(one.state == "finished" for one in participants.people)
    left = f"; deleted or shut out since then, and no longer in it: {gone}" if gone > 0 else ""
    looks = f"; looked at {_times(status.later_looks)} since then" if status.later_looks else ""
    return (f"Who is in this result is settled since {moment(settled)}{beside}{left}{looks}.",)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _returned(participants: Participants) -> tuple[str, ...]:
    """Who is taken out once their answers are known may be taken out for them."""
    arms = Counter(
        one.arm or ""
        for one in participants.people
        if one.state == "returned" and any(page.kind in ("trial", "talk") for page in one.pages)
    )
    if not arms:
        return ()
    each = ", ".join(f"{arm} {count}" for arm, count in sorted(arms.items()))
    return (
        f"Returned to the panel, or released, after answering a trial: {arms.total()} (by arm: {each}). Whether a "
        "panel sent such a message, its own list of submissions shows.",
    )


def _erased(participants: Participants) -> tuple[str, ...]:
    by_self, by_us = participants.erased_by("person"), participants.erased_by("researcher")
    if not by_self and not by_us:
        return ()
    return (f"Erased: {by_self} at their own request on the page, {by_us} by a researcher; their answers are gone.",)


def _why(status: PlanStanding) -> str:
    planned = status.label in ("confirmatory", "interim")
    rest = " (the headline and the planned contrasts; the rest is exploratory)" if planned else ""
    return f"This analysis is {status.label}{rest}: {status.reason}."


def _preliminary(design: Design, participants: Participants, status: PlanStanding) -> tuple[str, ...]:
    places = sum(design.sizes.values())
    done = sum(person.state == "finished" for person in participants.people)
    if done >= places or status.settled_at is not None:
        return ()
    return (f"{done} of {many(places, 'place')} {'is' if done == 1 else 'are'} done: the result is preliminary.",)


def _no_rule(design: Design) -> tuple[str, ...]:
    """A plan of 0.1 may have a rule that is refused now."""
    study = design.study
    if "straight_lining" not in study.analysis.exclude or not kind_of(study).form().one_scale or len(study.scales) > 1:
        return ()
    return (
        "The plan's rule straight_lining is not applied: with one scale a page it leaves out careful raters of good "
        "replies. Report this as a deviation from the plan.",
    )


# -- who came, and who is analysed -----------------------------------------------------------------------------------

FLOW: Mapping[str, str] = {
    "full": "turned away: the study was full",
    "took_another": "turned away: took part in another study",
    "came": "left before consent",
    "declined": "declined",
    "consented": "left or stopped before the trials",
    "failed": "failed the comprehension check",
    "full_by_then": "consented, but the study was full by then",
    "assigned": "assigned: still at it, or left",
    "stopped": "assigned: stopped",
    "finished": "assigned: finished",
    "extra": "assigned: finished late, kept as extra",
    "returned": "returned to the panel, or released by the researcher",
    "banned": "banned by the researcher",
    "erased_by_person": "erased at their request",
    "erased_by_researcher": "erased by the researcher",
}
"""Every way that coming can end. A person is in exactly one."""
OUTSIDE = "outside"
"""The rule of every plan since 0.3, beside those that the study file names."""
RULES: Mapping[str, str] = {
    "failed_attention": "answered an instructed check otherwise than asked",
    "too_fast": "answered more than half of the pages faster than the study's least_seconds",
    "straight_lining": "gave one value throughout",
    "incomplete": "did not come to the end",
    "failed_gold": "answered a gold item otherwise than is right",
    "inconsistent": "answered a repeated page more than half a scale away from before, on average",
    OUTSIDE: "did not finish in a planned place by the time the last was filled or the study closed",
}


def way_out(person: Participant) -> str:
    """The way in which one person's coming ended."""
    if person.state in ("returned", "banned", "took_another", "declined", "failed"):
        return FLOW[person.state]
    if person.state == "full":
        return FLOW["full" if person.consented_at is None else "full_by_then"]
    if person.assigned_at is None:
        return FLOW["came" if person.consented_at is None else "consented"]
    return FLOW[person.state if person.state in ("stopped", "finished", "extra") else "assigned"]


def flow_table(participants: Participants) -> Table:
    counts = Counter(way_out(person) for person in participants.people)
    for whose in ("person", "researcher"):
        counts[FLOW[f"erased_by_{whose}"]] += participants.erased_by(whose)
    rows = [
        ("arrived", len(participants.people) + participants.erased),
        *((name, counts[name]) for name in FLOW.values()),
    ]
    happened = Counter(event.kind for event in participants.events)
    note = (
        f"Places given to somebody else because nothing was saved: {happened['expired']}; by a researcher's or the "
        f"panel's word: {happened['released']}."
    )
    return Table("Who came", ("", "people"), tuple(rows), note)


def arm_table(design: Design, participants: Participants, sample: AnalysisSample) -> Table:
    kept = {person.person for person in sample.kept}
    rows: list[tuple[str | int, ...]] = []
    for arm in design.arms:
        own = [person for person in participants.people if person.arm == arm]
        ends = Counter(way_out(person) for person in own)
        rows.append(
            (
                arm,
                design.sizes[arm],
                len(own),
                *(ends[FLOW[name]] for name in ("assigned", "stopped", "finished", "extra")),
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


def select_sample(
    participants: Participants, rules: Sequence[Exclusion], status: PlanStanding | None = None
) -> AnalysisSample:
    """Whom the plan's rules leave in the analysis, and whom they leave out."""
    answered = tuple(
        person
        for person in participants.people
        if person.state != "banned" and any(page.kind in ("trial", "talk") for page in person.pages)
    )
    found: dict[str, tuple[str, ...]] = {
        person.person: (*reasons(person, rules), *((OUTSIDE,) if status and _outside(person, status) else ()))
        for person in answered
    }
    return AnalysisSample(
        tuple(person for person in answered if not found[person.person]),
        {person: why for person, why in found.items() if why},
        answered,
    )


def _outside(person: Participant, status: PlanStanding) -> bool:
    """Whether somebody is not in the result by the rule that a plan since 0.3 has."""
    if not status.in_places:
        return False
    if status.late is not None:
        return person.state != "finished" or person.person in status.late
    late = status.settled_at is not None and person.ended_at is not None and person.ended_at > status.settled_at
    return person.state != "finished" or late


def exclusion_table(found: AnalysisSample, rules: Sequence[str]) -> Table:
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


def checks_table(sample: AnalysisSample, least_seconds: float) -> Table:
    """How carefully those took part who answered a trial, excluded or not; each sign of those who could show it."""
    from eqlab.analysis.intervals import proportion_estimate

    everybody = sample.everybody
    checked = [person for person in everybody if person.checks(True) or person.checks(False)]
    quizzed = [person for person in everybody if person.quiz_attempts]
    lined = [person for person in everybody if person.could_straight_line]
    haste = f"answered more than half of the pages in under {least_seconds:g} s"
    signs: tuple[tuple[str, Sequence[Participant], Callable[[Participant], bool]], ...] = (
        ("failed an instructed check", checked, lambda person: person.checks(False) > 0),
        ("failed two or more", checked, lambda person: person.checks(False) > 1),
        ("claimed page times that cannot be", everybody, lambda person: person.impossible > 0),
        ("needed a second try at the quiz", quizzed, lambda person: person.quiz_attempts > 1),
        ("straight-lined", lined, lambda person: person.straight_lining),
        (haste, everybody, lambda person: 2 * person.too_fast > person.timed),
    )
    rows = []
    for name, people, shows in signs:
        hits = sum(map(shows, people))
        if people:
            rows.append((name, hits, proportion_estimate(name, hits, len(people))))
    note = "Of everybody who answered a trial and whose pages could show it, whatever the plan excludes."
    return Table("Checks", ("", "people", "share, %"), tuple(rows), note)


# -- the code that carries out an analysis ---------------------------------------------------------------------------

_ROOTS = ("study/results/analysis.py", "benchmarks/registry.py")
"""Where the analysis begins; the registries name the benchmarks and kinds of study that it may come to."""
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(eqlab[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+(eqlab[\w.]*))", re.MULTILINE
)
_REGISTERED = re.compile(r"\"(eqlab[\w.]+):\w+\"")
"""What is imported by name: `"eqlab.benchmarks.rating.study:RatingStudy"`."""
_LIBRARIES = ("numpy", "scipy", "msgspec")
"""What benchmarks and statistics calculate with."""


@cache
def analysis_code() -> tuple[str, str]:
    """(version of eqlab, sha256 over names and contents of every module that an analysis may import)."""
    whole = hashlib.sha256()
    for name, content in sorted(imported_sources(files("eqlab"), _ROOTS).items()):
        whole.update(f"{name}\0{len(content)}\0".encode())
        whole.update(content)
    return version("eqlab"), whole.hexdigest()


@cache
def analysis_libraries() -> Mapping[str, str]:
    """Versions of Python, of the libraries that calculate, and of packages that bring a kind of study or benchmark."""
    points = [point for group in ("eqlab.benchmarks", GROUP) for point in entry_points(group=group)]
    others = {
        point.dist.name: f"{point.dist.version} (source {_source_of(point.module)})"
        for point in points
        if point.dist is not None
    }
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{name: version(name) for name in _LIBRARIES}, **others}


def _source_of(module: str) -> str:
    """The start of a hash of all sources of the package that a module is in, whatever version it calls itself."""
    spec = find_spec(module.partition(".")[0])
    folders = [Path(one) for one in spec.submodule_search_locations or ()] if spec else []
    found = sorted((str(path.relative_to(folder)), path) for folder in folders for path in folder.rglob("*.py"))
    if spec and spec.origin and not folders:
        found = [(module, Path(spec.origin))]
    whole = hashlib.sha256()
    for name, path in found:
        content = path.read_bytes().replace(b"\r\n", b"\n")
        whole.update(f"{name}\0{len(content)}\0".encode())
        whole.update(content)
    return whole.hexdigest()[:32]


def imported_sources(root: Traversable, first: Iterable[str]) -> dict[str, bytes]:
    """Every module that these files of the package lead to by imports, inside functions too, with its source. Packages
    are imported with what is in them; the package's own `__init__`, which only leads to its verbs, is left out."""
    found: dict[str, bytes] = {}
    todo, looked_at = list(first), set[str]()
    while todo:
        name = todo.pop()
        if name in looked_at:
            continue
        looked_at.add(name)
        place = root.joinpath(*name.split("/"))
        if not place.is_file():
            continue
        found[name] = place.read_bytes().replace(b"\r\n", b"\n")
        text = found[name].decode()
        for module, names, plain in _IMPORT.findall(text):
            todo += _files_of(module or plain, re.findall(r"\w+", names))
        for module in _REGISTERED.findall(text):
            todo += _files_of(module, ())
    return found


def _files_of(module: str, names: Iterable[str]) -> Iterator[str]:
    """Files that importing these names from a module may read."""
    parts = module.split(".")[1:]
    for end in range(1, len(parts) + 1):
        yield "/".join([*parts[:end], "__init__.py"])
    for path in (parts, *([*parts, name] for name in names)):
        if path:
            yield f"{'/'.join(path)}.py"
            yield f"{'/'.join(path)}/__init__.py"
