"""The analysis plan, frozen: what will be done, with which pages and which version, before the first answer is seen.
Only then may a result be called confirmatory. All times are the store's."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, func, select, update

from eqlab.core.design import Design
from eqlab.core.errors import StoreError
from eqlab.store.engine import take_turn, writing
from eqlab.store.schema import answers, events, studies
from eqlab.store.study.participation import Participation


@dataclass(frozen=True, slots=True)
class Lock:
    at: float
    sha256: str
    version: str
    """Of eqlab, when the plan was locked."""
    plan: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """What a result may be called."""

    confirmatory: bool
    reason: str
    lock: Lock | None
    first_answer_at: float | None

    @property
    def label(self) -> str:
        return "confirmatory" if self.confirmatory else "exploratory"


def plan_of(design: Design, version: str) -> dict[str, Any]:
    """What is frozen: the plan as the study file has it, the pages it is about, and the version that will do it."""
    plan = {"analysis": asdict(design.study.analysis), "design_sha256": design.sha256, "eqlab": version}
    found: dict[str, Any] = json.loads(canonical(plan))  # as it will be read back
    return found


def canonical(plan: Mapping[str, Any]) -> str:
    return json.dumps(plan, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def plan_sha256(plan: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(plan).encode()).hexdigest()


def lock_plan(participation: Participation, version: str) -> tuple[Lock, bool]:
    """Freeze the plan; (the lock, whether it is new). The same plan again changes nothing, another is refused."""
    plan = plan_of(participation.design, version)
    found = plan_sha256(plan)
    with writing(participation.store.engine) as connection:
        take_turn(connection, f"lock {participation.study.id}")
        there = _read(connection, participation.study.id)
        if there is not None and there.sha256 != found:
            raise StoreError(
                f"Study '{participation.study.id}' has been locked on {moment(there.at)} with another plan: "
                f"{differences(there.plan, plan)}.",
                "Restore the file; a changed plan can only be analysed as exploratory.",
            )
        if there is not None:
            return there, False
        now = participation.clock()
        connection.execute(
            update(studies)
            .where(studies.c.id == participation.study.id)
            .values(locked_at=now, lock_sha256=found, lock_version=version, lock_plan=canonical(plan))
        )
    return Lock(now, found, version, plan), True


def read_lock(participation: Participation) -> Lock | None:
    with participation.store.engine.connect() as connection:
        return _read(connection, participation.study.id)


def standing(participation: Participation, version: str) -> Standing:
    """Confirmatory only if the plan was locked before the first trial was answered and is still the same."""
    with participation.store.engine.connect() as connection:
        lock = _read(connection, participation.study.id)
        first = _first_answer(connection, participation.design)
        gone = _erased_before_lock(connection, participation.study.id)
    reason = _objection(lock, first, gone, plan_of(participation.design, version))
    if reason or lock is None:
        return Standing(False, reason, lock, first)
    when = "no trial has been answered yet" if first is None else f"the first trial was answered on {moment(first)}"
    return Standing(True, f"the plan was locked on {moment(lock.at)}; {when}", lock, first)


def _objection(lock: Lock | None, first: float | None, gone: int, plan: Mapping[str, Any]) -> str:
    if lock is None:
        return "the analysis plan was never locked"
    if first is not None and first <= lock.at:
        return f"the plan was locked on {moment(lock.at)}, after the first answer of {moment(first)}"
    if gone:
        return f"{gone} of the people who were erased had answered before the plan was locked"
    if plan_sha256(plan) != lock.sha256:
        return f"the plan is not the one that was locked on {moment(lock.at)}: {differences(lock.plan, plan)}"
    return ""


def differences(locked: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Where two plans differ, in words."""
    old, new = _flat(locked), _flat(now)
    return "; ".join(
        f"{name} was {json.dumps(old.get(name))}, is {json.dumps(new.get(name))}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    )


def _flat(plan: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in plan.items() if name != "analysis"}
    return {**{f"analysis.{name}": value for name, value in plan["analysis"].items()}, **rest}


def _read(connection: Connection, study: str) -> Lock | None:
    row = connection.execute(
        select(studies.c.locked_at, studies.c.lock_sha256, studies.c.lock_version, studies.c.lock_plan).where(
            studies.c.id == study
        )
    ).first()
    if row is None:
        raise StoreError(f"Study '{study}' has not begun in this store.", "Start it with 'eqlab study serve'.")
    return None if row.locked_at is None else Lock(row[0], row[1], row[2], json.loads(row[3]))


def _first_answer(connection: Connection, design: Design) -> float | None:
    """When the first trial of a batch was answered; questionnaires and the quiz come before and say nothing of it."""
    before = [trial.id for trial in (*design.instruments, *design.quizzes)]
    query = select(func.min(answers.c.at)).where(
        answers.c.run_id == design.run.id, answers.c.trial_id.not_in(before) if before else answers.c.at.is_not(None)
    )
    first: float | None = connection.execute(query).scalar()
    return first


def _erased_before_lock(connection: Connection, study: str) -> int:
    rows = connection.execute(select(events.c.detail).where(events.c.study_id == study, events.c.kind == "erased"))
    return sum(bool(json.loads(detail).get("answered_unlocked")) for detail in rows.scalars())


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
