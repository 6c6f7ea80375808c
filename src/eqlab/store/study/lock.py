"""The analysis plan, frozen: what will be done, with which pages and which version, before the first answer is seen.
Only then may a result be called confirmatory, and who is in it is fixed by rule. All times are the store's."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Connection, func, select, update

from eqlab.core.design import Design
from eqlab.core.errors import StoreError
from eqlab.core.plural import many
from eqlab.core.runs import SIMULATED, is_simulated
from eqlab.core.text import people
from eqlab.store.engine import kept_copy, snapshot, take_turn, writing
from eqlab.store.schema import answers, events, participants, places, studies
from eqlab.store.study.chain import NOTED, Link, breaks, mark_of, note_breaks, note_digest, read_chain
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
    copy = kept_copy(store.engine)
    where = f"--store {copy}" if copy else "--store with a copy of this store from before the upgrade"
    return (
        f"Study '{study}' was locked on {moment(lock.at)} with eqlab {lock.version}, and this is {this}: what it "
        "analyses, people who are still to come included, is exploratory. To stay confirmatory, go on with the locked "
        f"version: uv tool run --from 'eqlab[study]=={lock.version}' eqlab study serve FILE, and later "
        f"study analyze FILE, {where}."
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
    study = participation.study.id
    with snapshot(participation.store.engine) if at is None else nullcontext(at) as connection:
        lock = _read(connection, study)
        first = _answers(connection, participation.design)[1]
        simulated = _simulated(connection, study)
        done, shut, planned = _places(connection, study)
        entries = audit_of(connection, study)
        ruled = lock is not None and "sample" in lock.plan
        links = read_chain(connection, study)
        place = _places_in(links)
        removed = _removed(_told(connection, study), entries, place)
        looks = _looks(entries, place)
        end = min((entry for entry in entries if entry.action == "closed"), key=place, default=None) if ruled else None
        ends = _ends(connection, study, links)
        full = _full(links, planned) if ruled else None
        after_full = [one for one in ends if full and one.number > full.number]
        in_time = [one for one in ends if (end is None or one.is_before(end, place)) and one not in after_full]
        torn = breaks(connection, participation.design, lock.at) if ruled and lock else note_breaks(connection, study)
        if ruled and planned != (meant := sum(1 for _ in participation.design.places())):
            torn.append(f"the tables hold {many(planned, 'place')}, and the study has {meant}")
        if ruled and done != len(ends):
            torn = torn or [f"the tables hold {many(done, 'filled place')}, and {people(len(ends))} finished"]
            done = min(done, len(ends))
        if lock is not None and _relocked(lock, entries):
            torn.append("the lock is not the one that was made")
    if after_full and not torn:
        again = people(len(after_full))
        torn.append(f"every place had been filled, and {again} filled one that was opened again after that")
    early = tuple(entry for entry in looks if _early_look(entry))
    now = plan_of(participation.design, version, code, libraries if ruled else None)
    late = max((entry.detail.get("answered", 0) for entry in entries if entry.action == "locked"), default=0)
    if ruled and removed.untold and not torn:
        torn.append(f"no event tells that {people(removed.untold)} was shut out, and the audit trail does")
    reason = _objection(lock, first, late, removed, now) or "; ".join(torn)
    filled = full.at if full and _in_time(full, end, place) else None
    if filled is None and ruled and len(in_time) >= planned > 0:  # from before there was a chain
        filled = max(one.at for one in in_time)
    closed_early = end is not None and filled is None
    settled = filled or (end.at if end else None)
    close = (
        ""
        if end is None
        else f"was closed on {moment(end.at)} with {len(in_time)} of {many(planned, 'planned place')} filled"
    )
    if closed_early and not reason and end and any(_before(entry, end, place) for entry in early):
        reason = f"the study {close}, after somebody had looked at results"
    after = 0 if settled is None else sum(entry.at >= settled for entry in looks if entry not in early)
    late_people = tuple(one.person for one in ends if one not in in_time)
    more = (done + shut, planned, simulated, early, settled, closed_early, after, late_people)
    if simulated:
        return PlanStanding(False, f"{simulated} of the people are simulated", lock, first, *more)
    if reason or lock is None:
        return PlanStanding(False, reason, lock, first, *more)
    when = "no trial has been answered yet" if first is None else f"the first trial was answered on {moment(first)}"
    if closed_early:
        when += f"; the study {close}; nobody had looked at results before"
    elif done + shut < planned:
        when += f"; {done} of {many(planned, 'planned place')} {'is' if done == 1 else 'are'} filled"
    return PlanStanding(True, f"the plan was locked on {moment(lock.at)}; {when}", lock, first, *more)


@dataclass(frozen=True, slots=True)
class _Removed:
    """People whose answers are gone or left out."""

    unlocked: int
    """Had answered before the plan was locked."""
    by_researcher: int
    """Had answered a trial and were erased, banned or released by a researcher, whoever has deleted them since."""
    untold: int
    """Were banned or released as the audit trail tells, and no event does."""


def _objection(lock: Lock | None, first: float | None, late: int, removed: _Removed, plan: Mapping[str, Any]) -> str:
    """`late`: how many answers there were when the plan was locked."""
    if lock is None:
        return "the analysis plan was never locked"
    if first is not None and first <= lock.at:
        return f"the plan was locked on {moment(lock.at)}, after the first answer of {moment(first)}"
    if removed.unlocked:
        return f"{people(removed.unlocked)} who had answered before the plan was locked were erased"
    if late:
        return f"the plan was locked on {moment(lock.at)}, when {many(late, 'answer')} had been given"
    if removed.by_researcher:
        return (
            f"the answers of {people(removed.by_researcher)} were erased or shut out by a researcher after the plan "
            "was locked, and nobody can tell what they would have changed"
        )
    if plan_sha256(plan) != lock.sha256:
        return f"the plan is not the one that was locked on {moment(lock.at)}: {differences(lock.plan, plan)}"
    return ""


def _relocked(lock: Lock, entries: Sequence[AuditEntry]) -> bool:
    """Whether time or plan of a lock are others than those that the audit trail tells, where it tells of one."""
    made = [(entry.at, entry.detail.get("sha256")) for entry in entries if entry.action == "locked"]
    return bool(made) and (lock.at, lock.sha256) not in made


Place = Callable[[AuditEntry], int]


def _places_in(links: Sequence[Link]) -> Place:
    """Where an entry of the audit trail stands in the chain; -1 for one from before there were links of it."""
    numbers = {link.digest: link.number for link in links if link.kind == NOTED}
    return lambda entry: numbers.get(note_digest((entry.at, entry.who, entry.action, entry.detail)), -1)


def _before(entry: AuditEntry, end: AuditEntry, place: Place) -> bool:
    """Whether something was done before the end of a study: by the chain, for a clock can be set."""
    return place(entry) < place(end) if place(end) >= 0 else entry.at <= end.at


def _early_look(entry: AuditEntry) -> bool:
    return bool(entry.detail.get("done", 0) < entry.detail.get("planned", 0))


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


def _rehearsed(look: AuditEntry, locked: AuditEntry | None, place: Place) -> bool:
    """Whether a look was at simulated people. Under a lock there are none."""
    return look.detail.get("label") == "simulated" and (locked is None or _before(look, locked, place))


def _looks(entries: Sequence[AuditEntry], place: Place) -> list[AuditEntry]:
    locked = max((entry for entry in entries if entry.action == "locked"), key=place, default=None)
    return [entry for entry in entries if entry.action in LOOKS and not _rehearsed(entry, locked, place)]


def _in_time(full: Link, end: AuditEntry | None, place: Place) -> bool:
    """Whether the last place was filled before the study was closed."""
    return end is None or not 0 <= place(end) < full.number


def untold(
    standing: PlanStanding, links: Sequence[Link], entries: Sequence[AuditEntry], told: Sequence[tuple[str, Any]]
) -> list[str]:
    """What an export's chain, audit trail and events (kind, detail) tell against what it says of its results."""
    if standing.lock is None or "sample" not in standing.lock.plan:
        return []
    place = _places_in(links)
    removed = _removed([one for one in told if one[0] in _TAKEN_OUT], entries, place)
    taken = removed.unlocked + removed.by_researcher + removed.untold
    early = sum(map(_early_look, _looks(entries, place)))
    end = min((entry for entry in entries if entry.action == "closed"), key=place, default=None)
    full = _full(links, standing.planned)
    closed_early = end is not None and place(end) >= 0 and not (full and _in_time(full, end, place))
    said = (
        (standing.confirmatory and taken > 0, f"that answers were erased or shut out ({people(taken)})"),
        (len(standing.looks) < early, f"{many(early, 'look')} before the planned number was reached"),
        (standing.confirmatory and closed_early != standing.closed_early, "when the study was closed"),
    )
    return [f"what it says of its results leaves out {words}" for is_so, words in said if is_so]


def _told(connection: Connection, study: str) -> list[tuple[str, Any]]:
    query = select(events.c.kind, events.c.detail).where(events.c.study_id == study, events.c.kind.in_(_TAKEN_OUT))
    return [(row.kind, json.loads(row.detail)) for row in connection.execute(query)]


def _removed(told: Sequence[tuple[str, Any]], entries: Sequence[AuditEntry], place: Place) -> _Removed:
    ours = [(kind, detail) for kind, detail in told if detail.get("by") == "researcher" or detail.get("shut_out")]
    shut_out = sum(
        entry.action in ("banned", "released")
        and place(entry) >= 0
        and not is_simulated(str(entry.detail.get("person", "")))
        for entry in entries
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

    def is_before(self, end: AuditEntry, place: Place) -> bool:
        """Whether it was before the end of the study: by the chain, for a clock can be set."""
        return self.number < place(end) if min(self.number, place(end)) >= 0 else self.at <= end.at


def _ends(connection: Connection, study: str, links: Sequence[Link]) -> list[_End]:
    numbers = {link.mark: link.number for link in links if link.kind == "finished"}
    query = select(participants.c.person, participants.c.ended_at).where(
        participants.c.study_id == study,
        participants.c.state == "finished",
        participants.c.ended_at.is_not(None),
    )
    return [
        _End(row.person, row.ended_at, numbers.get(mark_of(study, row.person), -1)) for row in connection.execute(query)
    ]


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
