"""The analysis plan, frozen: what will be done, with which pages and which version, before the first answer is seen.
Only then may a result be called confirmatory, and who is in it is fixed by rule. All times are the store's."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Connection, func, select, update

from eqlab.core.design import Design
from eqlab.core.errors import StoreError
from eqlab.core.plural import many
from eqlab.core.runs import PERSON, SIMULATED, is_simulated
from eqlab.core.text import people
from eqlab.core.values import dataclass
from eqlab.store.engine import snapshot, take_turn, writing
from eqlab.store.schema import answers, events, participants, places, studies
from eqlab.store.study.chain import ENDS, NOTED, Link, breaks, mark_of, note_breaks, note_digest, read_chain
from eqlab.store.study.participation import Participation
from eqlab.store.study.researchers import LOOKS, AuditEntry, audit_of, note

Label = Literal["confirmatory", "interim", "exploratory", "simulated"]
_TAKEN_OUT = ("erased", "banned", "released")
SAMPLE = "finished in a planned place, until the last is filled or the study is closed"
"""Who is in the result, as plans since 0.3 freeze it. Nothing that happens later changes it, except that people may
delete their answers."""


@dataclass(frozen=True, slots=True)
class Lock:
    at: float
    sha256: str
    version: str
    """Of eqlab, when the plan was locked."""
    plan: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlanStanding:
    """What a result may be called."""

    confirmatory: bool
    """Whether the plan was locked in time and nothing has touched it or the data since."""
    reason: str
    lock: Lock | None
    first_answer_at: float | None
    done: int = 0
    planned: int = 0
    """Places that are filled, and places in all."""
    simulated: int = 0
    """Simulated people among the participants."""
    looks: tuple[AuditEntry, ...] = ()
    """Times at which somebody knew results before the planned number was reached."""
    settled_at: float | None = None
    """When it was settled who is in the result: the last place was filled, or the study closed. None before that, and
    under plans older than 0.3."""
    closed_early: bool = False
    """Whether the study was closed before its places were filled."""
    later_looks: int = 0
    """Times at which somebody knew results after that."""
    late: tuple[str, ...] | None = None
    """Who finished after the study was closed, by the chain of events; None in exports from before it was kept."""

    @property
    def label(self) -> Label:
        if self.simulated:
            return "simulated"
        if not self.confirmatory:
            return "exploratory"
        return "interim" if self.done < self.planned and not self.closed_early else "confirmatory"

    @property
    def in_places(self) -> bool:
        """Whether only those are analysed who finished in a planned place."""
        return self.lock is not None and self.lock.plan.get("sample") == SAMPLE


def plan_of(design: Design, version: str, code: str = "", libraries: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What is frozen: the plan as the study file has it, the pages it is about, and the code that will do it: its
    version, the hash of its source and the libraries it calculates with. Plans without libraries are older than 0.3."""
    plan: dict[str, Any] = {
        "analysis": asdict(design.study.analysis),
        "design_sha256": design.sha256,
        "eqlab": version,
    }
    if code:
        plan["code_sha256"] = code
    if libraries is not None:
        plan |= {"libraries": dict(libraries), "sample": SAMPLE}
    found: dict[str, Any] = json.loads(canonical(plan))  # as it will be read back
    return found


def canonical(plan: Mapping[str, Any]) -> str:
    return json.dumps(plan, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def plan_sha256(plan: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(plan).encode()).hexdigest()


def lock_plan(
    participation: Participation,
    version: str,
    code: str = "",
    who: str = "",
    libraries: Mapping[str, str] | None = None,
) -> tuple[Lock, bool]:
    """Freeze the plan; (the lock, whether it is new). The same plan again changes nothing, another is refused, and so
    is any while simulated people are in the study."""
    plan = plan_of(participation.design, version, code, libraries)
    found = plan_sha256(plan)
    with writing(participation.store.engine) as connection:
        take_turn(connection, f"lock {participation.study.id}")
        lock = _read(connection, participation.study.id)
        if lock is not None and lock.sha256 != found:
            raise StoreError(
                f"Study '{participation.study.id}' has been locked on {moment(lock.at)} with another plan: "
                f"{differences(lock.plan, plan)}.",
                "Restore the file; a changed plan can only be analysed as exploratory.",
            )
        if lock is not None:
            return lock, False
        simulated = _simulated(connection, participation.study.id)
        if simulated:
            raise StoreError(
                f"Study '{participation.study.id}' holds {people(simulated, 'simulated')}.",
                "Clear them first: 'eqlab study clear FILE'.",
            )
        now = participation.clock()
        connection.execute(
            update(studies)
            .where(studies.c.id == participation.study.id)
            .values(locked_at=now, lock_sha256=found, lock_version=version, lock_plan=canonical(plan))
        )
        given = _answers(connection, participation.design)[0]
        late = {"answered": given} if given else {}  # whatever the clock says then or now
        note(connection, now, who, "locked", participation.study.id, sha256=found, **late)
    return Lock(now, found, version, plan), True


def read_lock(participation: Participation) -> Lock | None:
    with participation.store.engine.connect() as connection:
        return _read(connection, participation.study.id)


def other_version(
    participation: Participation, version: str, code: str = "", libraries: Mapping[str, str] | None = None
) -> str:
    """That a study was locked by another eqlab than this, before more people are asked, and the way to stay
    confirmatory; nothing where it was not."""
    store, study = participation.store, participation.study.id
    with store.engine.connect() as connection:
        begun = connection.execute(select(studies.c.id).where(studies.c.id == study)).first()
        lock = _read(connection, study) if begun else None
    if lock is None:
        return ""
    locked, now = lock.plan.get("libraries") or {}, libraries or {}
    others = [name for name in locked if name in now and locked[name] != now[name]]
    if lock.version == version and lock.plan.get("code_sha256", code) == code and not others:
        return ""
    named = ", ".join(f"{name} {now[name]} for {locked[name]}" for name in others)
    same = f"the same with {named}" if others else "another build of it"
    this = same if lock.version == version else f"eqlab {version}"
    return (
        f"Study '{study}' was locked on {moment(lock.at)} with eqlab {lock.version}, and this is {this}: what it "
        "analyses, people who are still to come included, is exploratory. To stay confirmatory, go on with the locked "
        f"version: uv tool run --from 'eqlab[study]=={lock.version}' eqlab study serve FILE, and later "
        "study analyze FILE; if the store was upgraded since, on your copy from before that (--store)."
    )


def standing(
    participation: Participation,
    version: str,
    code: str = "",
    libraries: Mapping[str, str] | None = None,
    at: Connection | None = None,
) -> PlanStanding:
    """Confirmatory only if the plan was locked before the first trial was answered, it and the code that carries it out
    are still the same, no researcher has taken anybody's answers out since, and the chain of events agrees with the
    tables. As it is now, or when the snapshot `at` was taken."""
    design, study = participation.design, participation.study.id
    with snapshot(participation.store.engine) if at is None else nullcontext(at) as connection:
        lock = _read(connection, study)
        simulated = _simulated(connection, study)
        done, shut, planned = _places(connection, study)
        course = _course(lock, read_chain(connection, study), audit_of(connection, study), planned)
        removed = _removed(_told(connection, study), course)
        ends = _ends(connection, study, course)
        first = _answers(connection, design)[1]
        given = _firsts(connection, design) if lock and first is not None and first <= lock.at else {}
        torn = _torn(connection, design, course, removed, ends, (done, planned))
    done = min(done, len(ends)) if course.ruled else done
    now = plan_of(design, version, code, libraries if course.ruled else None)
    reason = _objection(study, course, given, removed, now) or "; ".join(torn)
    settled, closed_early, late = _settled(course, ends, planned)
    early = tuple(filter(course.is_early, course.looks))
    close = ""
    if closed_early and settled is not None:
        filled = f"{len(ends) - len(late)} of {many(planned, 'planned place')} filled"
        close = f"the study was closed on {moment(settled)} with {filled}"
        if not reason and early:
            reason = f"{close}, after somebody had looked at results"
    after = 0 if settled is None else sum(look.at >= settled for look in course.looks if look not in early)
    more = (done + shut, planned, simulated, early, settled, closed_early, after, late)
    if simulated:
        return PlanStanding(False, f"{simulated} of the people are simulated", lock, first, *more)
    if reason or lock is None:
        return PlanStanding(False, reason, lock, first, *more)
    if first is None:
        when = "no trial has been answered yet"
    elif first <= lock.at:
        when = "the first trial was answered after that, as the chain of events tells; a clock ran ahead"
    else:
        when = f"the first trial was answered on {moment(first)}"
    if closed_early:
        when += f"; {close}; nobody had looked at results before"
    elif done + shut < planned:
        when += f"; {done} of {many(planned, 'planned place')} {'is' if done == 1 else 'are'} filled"
    return PlanStanding(True, f"the plan was locked on {moment(lock.at)}; {when}", lock, first, *more)


@dataclass(frozen=True, slots=True)
class _Course:
    """What happened in a study, as its chain of events and audit trail tell it: in a store or an export."""

    lock: Lock | None
    ruled: bool
    """Whether the plan says who is in the result."""
    links: Sequence[Link]
    entries: Sequence[AuditEntry]
    numbers: Mapping[str, int]
    """Where an entry of the trail stands in the chain, by its digest."""
    looks: Sequence[AuditEntry]
    end: AuditEntry | None
    """When the study was closed first."""
    full: Link | None
    """The link of whoever filled the last place, when nobody in one had gone: from here on it is settled who is in."""

    def place(self, entry: AuditEntry) -> int:
        """-1 for one from before there were links of the trail."""
        return self.numbers.get(note_digest((entry.at, entry.who, entry.action, entry.detail)), -1)

    def before(self, entry: AuditEntry, other: AuditEntry) -> bool:
        """Whether something was done before something else: by the chain, for a clock can be set."""
        return self.place(entry) < self.place(other) if self.place(other) >= 0 else entry.at <= other.at

    def is_early(self, look: AuditEntry) -> bool:
        """Whether there were results to see, not yet all of them, and more could come. Looks from before it was kept
        saw some."""
        seen = look.detail.get("answered") != 0
        part = look.detail.get("done", 0) < look.detail.get("planned", 0)
        return seen and part and (self.end is None or self.before(look, self.end))

    @property
    def filled(self) -> bool:
        """Whether the last place was filled before the study was closed."""
        return self.full is not None and not (self.end and 0 <= self.place(self.end) < self.full.number)

    def is_in_time(self, one: "_End") -> bool:
        """Whether somebody finished before the study was closed, and not after it had been full."""
        if self.full is not None and one.number > self.full.number:
            return False
        if self.end is None:
            return True
        linked = min(one.number, self.place(self.end)) >= 0
        return one.number < self.place(self.end) if linked else one.at <= self.end.at

    @property
    def since_lock(self) -> frozenset[str]:
        """Marks of those who were assigned or came to the end after the lock, where its link tells of no answer: they
        answered after it, whatever a clock said."""
        made = [one for one in self.entries if one.action == "locked" and not one.detail.get("answered")]
        lock = min((self.place(one) for one in made if self.lock and one.at == self.lock.at), default=-1)
        if lock < 0:
            return frozenset()
        return frozenset(one.mark for one in self.links if one.number > lock and one.kind in ("assigned", *ENDS))


def _course(lock: Lock | None, links: Sequence[Link], entries: Sequence[AuditEntry], planned: int) -> _Course:
    ruled = lock is not None and "sample" in lock.plan
    numbers = {link.digest: link.number for link in links if link.kind == NOTED}
    full = _full(links, planned) if ruled else None
    course = _Course(lock, ruled, links, entries, numbers, (), None, full)
    closed = [entry for entry in entries if entry.action == "closed"] if ruled else []
    end = min(closed, key=course.place, default=None)
    return replace(course, looks=_looks(entries, course), end=end)


def _torn(
    connection: Connection,
    design: Design,
    course: _Course,
    removed: "_Removed",
    ends: "Sequence[_End]",
    places: tuple[int, int],
) -> list[str]:
    """What the chain says against the tables, in words. `places`: those that are filled, and all."""
    done, planned = places
    lock, study = course.lock, design.study.id
    if lock is None or not course.ruled:
        torn = note_breaks(connection, study)
        return [*torn, *(["the lock is not the one that was made"] if lock and _relocked(lock, course.entries) else [])]
    torn = breaks(connection, design, lock.at)
    if planned != (meant := sum(1 for _ in design.places())):
        torn.append(f"the tables hold {many(planned, 'place')}, and the study has {meant}")
    if done != len(ends) and not torn:
        torn.append(f"the tables hold {many(done, 'filled place')}, and {people(len(ends))} finished")
    if _relocked(lock, course.entries):
        torn.append("the lock is not the one that was made")
    again = [one for one in ends if course.full and one.number > course.full.number]
    if again and not torn:
        said = f"{people(len(again))} filled one that was opened again after that"
        torn.append(f"every place had been filled, and {said}")
    if removed.untold and not torn:
        torn.append(f"the audit trail tells that a researcher shut out {people(removed.untold)}, and no event does")
    return torn


@dataclass(frozen=True, slots=True)
class _Removed:
    """People whose answers are gone or left out."""

    unlocked: int
    """Had answered before the plan was locked."""
    by_researcher: int
    """Had answered a trial and were erased, banned or released by a researcher, whoever has deleted them since."""
    untold: int
    """Were banned or released as the audit trail tells, and no event does."""


def _objection(
    study: str, course: _Course, given: Mapping[str, float], removed: _Removed, plan: Mapping[str, Any]
) -> str:
    """`given`: when people answered first."""
    lock = course.lock
    if lock is None:
        return "the analysis plan was never locked"
    since = course.since_lock
    early = [at for person, at in given.items() if at <= lock.at and mark_of(study, person) not in since]
    if early:
        return f"the plan was locked on {moment(lock.at)}, after the first answer of {moment(min(early))}"
    if removed.unlocked:
        return f"answers that {people(removed.unlocked)} had given before the plan was locked were erased"
    late = max((entry.detail.get("answered", 0) for entry in course.entries if entry.action == "locked"), default=0)
    if late:
        return f"the plan was locked on {moment(lock.at)}, when {many(late, 'answer')} had been given"
    if removed.by_researcher:
        return (
            f"after the plan was locked a researcher erased, shut out or released {people(removed.by_researcher)} who "
            "had answered, and nobody can tell what they would have changed"
        )
    if plan_sha256(plan) != lock.sha256:
        return f"the plan is not the one that was locked on {moment(lock.at)}: {differences(lock.plan, plan)}"
    return ""


def _relocked(lock: Lock, entries: Sequence[AuditEntry]) -> bool:
    """Whether time or plan of a lock are others than those that the audit trail tells, where it tells of one."""
    made = [(entry.at, entry.detail.get("sha256")) for entry in entries if entry.action == "locked"]
    return bool(made) and (lock.at, lock.sha256) not in made


def differences(locked: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Where two plans differ, in words."""
    old, new = _flat(locked), _flat(now)
    return "; ".join(
        f"{name} was {json.dumps(old.get(name))}, is {json.dumps(new.get(name))}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    )


def _flat(plan: Mapping[str, Any]) -> dict[str, Any]:
    parts = ("analysis", "libraries")
    rest = {name: value for name, value in plan.items() if name not in parts}
    return rest | {f"{part}.{name}": value for part in parts for name, value in plan.get(part, {}).items()}


def _read(connection: Connection, study: str) -> Lock | None:
    row = connection.execute(
        select(studies.c.locked_at, studies.c.lock_sha256, studies.c.lock_version, studies.c.lock_plan).where(
            studies.c.id == study
        )
    ).first()
    if row is None:
        raise StoreError(f"Study '{study}' has not begun in this store.", "Start it with 'eqlab study serve'.")
    return None if row.locked_at is None else Lock(row[0], row[1], row[2], json.loads(row[3]))


def _answers(connection: Connection, design: Design) -> tuple[int, float | None]:
    """How often a page was answered that comes with a place, and when first; what everybody is asked before that says
    nothing of the trials."""
    before = [step.trial for step in design.first_steps() if step.trial]
    query = select(func.count(), func.min(answers.c.at)).where(
        answers.c.run_id == design.run.id, answers.c.trial_id.not_in(before) if before else answers.c.at.is_not(None)
    )
    count, first = connection.execute(query).one()
    return int(count), first


def _firsts(connection: Connection, design: Design) -> dict[str, float]:
    """When each person first answered a page that comes with a place."""
    before = [step.trial for step in design.first_steps() if step.trial]
    query = (
        select(answers.c.subject, func.min(answers.c.at))
        .where(answers.c.run_id == design.run.id, answers.c.trial_id.not_in(before), answers.c.at.is_not(None))
        .group_by(answers.c.subject)
    )
    return {subject.removeprefix(PERSON): at for subject, at in connection.execute(query)}


def answered_before_lock(connection: Connection, study: str, person: str, answered: Collection[float]) -> bool:
    """Whether any of these answers of somebody was given before the plan was locked, or there is no lock."""
    lock = _read(connection, study)
    if lock is None or not any(at <= lock.at for at in answered):
        return lock is None and bool(answered)
    course = _course(lock, read_chain(connection, study), audit_of(connection, study), 0)
    return mark_of(study, person) not in course.since_lock


def _looks(entries: Sequence[AuditEntry], course: _Course) -> list[AuditEntry]:
    """Without those at simulated people. Under a lock there are none."""
    locked = max((entry for entry in entries if entry.action == "locked"), key=course.place, default=None)

    def rehearsed(look: AuditEntry) -> bool:
        return look.detail.get("label") == "simulated" and (locked is None or course.before(look, locked))

    return [entry for entry in entries if entry.action in LOOKS and not rehearsed(entry)]


def untold(
    design: Design,
    standing: PlanStanding,
    links: Sequence[Link],
    entries: Sequence[AuditEntry],
    told: Sequence[tuple[str, Any]],
    given: Mapping[str, float],
    plan: Mapping[str, Any],
    finished: Iterable[tuple[str, float]],
) -> list[str]:
    """What an export's chain, audit trail, events (kind, detail), first answers of people, plan and those who finished
    in a place (when) tell against what it says of its results."""
    if standing.lock is None or "sample" not in standing.lock.plan:
        return []
    planned = sum(1 for _ in design.places())
    course = _course(standing.lock, links, entries, planned)
    removed = _removed([one for one in told if one[0] in _TAKEN_OUT], course)
    early = sum(map(course.is_early, course.looks))
    settled, closed_early, late = _settled(course, _linked(design.study.id, course, finished), planned)
    objection = _objection(design.study.id, course, given, removed, plan)
    if not objection and removed.untold:
        objection = f"a researcher shut out {people(removed.untold)}"
    said = (
        (standing.confirmatory and bool(objection), f"that {objection}"),
        (len(standing.looks) < early, f"{many(early, 'look')} before the planned number was reached"),
        (standing.planned != planned, f"that {many(planned, 'place')} were planned"),
        (standing.label == "confirmatory" and settled is None, "that not every place is filled"),
        (standing.confirmatory and closed_early != standing.closed_early, "when the study was closed"),
        (standing.confirmatory and closed_early and early > 0, "that results had been seen before it was closed early"),
        (standing.confirmatory and set(late) != set(standing.late or ()), "who finished too late, and who in time"),
        (standing.confirmatory and settled != standing.settled_at, "since when it is settled who is in them"),
    )
    return [f"what it says of its results leaves out {words}" for is_so, words in said if is_so]


def _told(connection: Connection, study: str) -> list[tuple[str, Any]]:
    query = select(events.c.kind, events.c.detail).where(events.c.study_id == study, events.c.kind.in_(_TAKEN_OUT))
    return [(row.kind, json.loads(row.detail)) for row in connection.execute(query)]


def _removed(told: Sequence[tuple[str, Any]], course: _Course) -> _Removed:
    ours = [(kind, detail) for kind, detail in told if detail.get("by") == "researcher" or detail.get("shut_out")]
    shut_out = sum(
        entry.action in ("banned", "released")
        and course.place(entry) >= 0
        and not is_simulated(str(entry.detail.get("person", "")))
        for entry in course.entries
    )
    shut_out_told = sum(detail.get("shut_out", 0) if kind == "erased" else 1 for kind, detail in ours)
    return _Removed(
        sum(bool(detail.get("answered_unlocked")) for _, detail in told),
        sum(bool(detail.get("answered")) for _, detail in ours),
        max(shut_out - shut_out_told, 0),
    )


def _simulated(connection: Connection, study: str) -> int:
    query = select(func.count()).where(participants.c.study_id == study, participants.c.person.like(f"{SIMULATED}%"))
    return int(connection.execute(query).scalar_one())


def _full(links: Sequence[Link], planned: int) -> Link | None:
    """The link of whoever filled the last place, when nobody in one had gone: from here on it is settled who is in."""
    there: set[str] = set()
    for link in links:
        if link.kind == "finished":
            there.add(link.mark)
        elif link.kind == "erased":
            there.discard(link.mark)
        if planned and len(there) >= planned:
            return link
    return None


def _places(connection: Connection, study: str) -> tuple[int, int, int]:
    """(filled, filled by somebody who is gone, all)"""
    query = select(places.c.state, func.count()).where(places.c.study_id == study).group_by(places.c.state)
    counts = {row[0]: int(row[1]) for row in connection.execute(query)}
    return counts.get("done", 0), counts.get("shut", 0), sum(counts.values())


@dataclass(frozen=True, slots=True)
class _End:
    """That somebody finished in a place."""

    person: str
    at: float
    number: int
    """Of its link in the chain; -1 without one, as in studies from before there was a chain."""


def _ends(connection: Connection, study: str, course: _Course) -> list[_End]:
    query = select(participants.c.person, participants.c.ended_at).where(
        participants.c.study_id == study,
        participants.c.state == "finished",
        participants.c.ended_at.is_not(None),
    )
    return _linked(study, course, [(row.person, row.ended_at) for row in connection.execute(query)])


def _linked(study: str, course: _Course, finished: Iterable[tuple[str, float]]) -> list[_End]:
    numbers = {link.mark: link.number for link in course.links if link.kind == "finished"}
    return [_End(person, at, numbers.get(mark_of(study, person), -1)) for person, at in finished]


def _settled(course: _Course, ends: Sequence[_End], planned: int) -> tuple[float | None, bool, tuple[str, ...]]:
    """When it was settled who is in the result, whether by an early close, and who finished after that."""
    in_time = [one for one in ends if course.is_in_time(one)]
    late = tuple(one.person for one in ends if one not in in_time)
    if course.full and course.filled:
        return course.full.at, False, late
    if course.ruled and len(in_time) >= planned > 0:  # from before there was a chain
        return max(one.at for one in in_time), False, late
    return (None, False, late) if course.end is None else (course.end.at, True, late)


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
