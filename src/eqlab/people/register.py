"""A person's way through a study, one transaction a step: arrive, consent, answer page after page, end or stop.
What a method returns is on disk. A repeated post and one that skips ahead change nothing."""

import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from eqlab.core.answers import Answer
from eqlab.core.errors import StoreError
from eqlab.core.forms import check_values
from eqlab.core.trials import Trial
from eqlab.people import places
from eqlab.people.design import Design, Step, personal_seed, steps_from_json, steps_to_json
from eqlab.people.study import Ending
from eqlab.store.engine import take_turn, writing
from eqlab.store.schema import events, panel_events, panel_ids, participants, planned
from eqlab.store.schema import places as places_table
from eqlab.store.store import Store, write_answers

State = Literal["arrived", "taking", "finished", "extra", "declined", "failed", "full", "stopped"]
ENDED: frozenset[State] = frozenset({"finished", "extra", "declined", "failed", "full", "stopped"})
_ENDING: Mapping[State, Ending] = {
    "finished": "complete",
    "extra": "complete",
    "declined": "declined",
    "failed": "failed",
    "full": "full",
}

_PERSON = (participants.c.study_id == bindparam("study"), participants.c.person == bindparam("who"))
_FIND = select(participants).where(*_PERSON)
_FIND_AND_LOCK = _FIND.with_for_update()
_MOVE = (
    update(participants)
    .where(*_PERSON)
    .values(step=bindparam("to_step"), attempt=bindparam("to_attempt"), seen_at=bindparam("now"))
)
_FIND_PANEL = select(panel_ids.c.person).where(
    panel_ids.c.study_id == bindparam("study"), panel_ids.c.hash == bindparam("panel")
)
_ADD_EVENT = insert(events)
_ADD_PLANNED = insert(planned)


@dataclass(frozen=True, slots=True)
class View:
    """Where a person stands: what the next page is made of."""

    person: str
    state: State
    number: int
    """Of the page, from 0."""
    total: int
    """Pages in all, as far as known."""
    step: Step | None
    """None when taking part has ended."""
    attempt: int
    """From 1; 2 is the second try of the quiz."""
    trial: Trial | None
    arm: str | None
    ending: Ending | None
    language: str


@dataclass(frozen=True, slots=True)
class Saved:
    """What became of a post: `saved`; `again` (was saved before); `ahead` or `ended` (changed nothing);
    `refused` (with the reason by field, or under "" for the whole form)."""

    outcome: Literal["saved", "again", "ahead", "ended", "refused"]
    problems: Mapping[str, str] = field(default_factory=dict)


class Unknown(StoreError):
    """No such person in this study."""


class Register:
    """The people of one study. Safe to call from several threads and processes."""

    def __init__(self, store: Store, design: Design, clock: Callable[[], float] = time.time) -> None:
        self.store = store
        self.design = design
        self.study = design.study
        self.clock = clock
        self._first = design.first_steps()
        self._total = max(len(batch.trials) for batch in design.batches) + len(self._first) + 1
        self._total += min(self.study.checks.attention, len(design.attention))

    # -- arriving ----------------------------------------------------------------------------------------------

    def arrive(self, panel_hash: str | None, language: str) -> str:
        """The person behind a panel's id, known or new; without an id always a new one."""
        now = self.clock()
        with writing(self.store.engine) as connection:
            if panel_hash is not None:
                take_turn(connection, f"door {self.study.id} {panel_hash}")
                known = connection.execute(_FIND_PANEL, {"study": self.study.id, "panel": panel_hash}).scalar()
                if known is not None:
                    return str(known)
            person = secrets.token_hex(8)
            state = self._first_state(connection, panel_hash, now)
            connection.execute(
                insert(participants),
                {
                    "study_id": self.study.id,
                    "person": person,
                    "state": state,
                    "step": 0,
                    "attempt": 1,
                    "steps": steps_to_json(self._first),
                    "seed": personal_seed(self.study.seed, person),
                    "language": language,
                    "arrived_at": now,
                    "seen_at": now,
                    "ended_at": now if state in ENDED else None,
                },
            )
            if panel_hash is not None:
                row = {"study_id": self.study.id, "hash": panel_hash, "person": person}
                connection.execute(insert(panel_ids), row)
            self._note(connection, person, "arrived", now, state=state)
        return person

    def _first_state(self, connection: Connection, panel_hash: str | None, now: float) -> State:
        """People are told that a study is full, or not for them, before they are asked for consent."""
        if panel_hash is not None and self.study.not_after:
            query = select(panel_ids.c.person).where(
                panel_ids.c.hash == panel_hash, panel_ids.c.study_id.in_(self.study.not_after)
            )
            if connection.execute(query).first() is not None:
                return "full"
        return "arrived" if places.anything_free(connection, self.study.id, now) else "full"

    # -- looking -----------------------------------------------------------------------------------------------

    def look(self, person: str) -> View:
        with self.store.engine.connect() as connection:
            row = connection.execute(_FIND, {"study": self.study.id, "who": person}).first()
        if row is None:
            raise Unknown("Nobody by this name takes part.", "Open the study's link again.")
        return self._view(row)

    def _view(self, row: Row[Any]) -> View:
        steps = steps_from_json(row.steps)
        ended = row.state in ENDED
        step = None if ended else steps[row.step]
        known = len(steps) if row.arm is not None else self._total
        return View(
            row.person,
            row.state,
            row.step,
            known,
            step,
            row.attempt,
            self.design.trials[step.trial] if step and step.trial else None,
            row.arm,
            _ENDING.get(row.state),
            row.language,
        )

    # -- answering ---------------------------------------------------------------------------------------------

    def consent(self, person: str, agreed: bool) -> Saved:
        now = self.clock()
        with writing(self.store.engine) as connection:
            row = self.lock(connection, person)
            if row.state in ENDED:
                return Saved("ended")
            if row.step > 0:
                return Saved("again")
            if not agreed:
                self._end(connection, row, "declined", now)
                return Saved("saved")
            connection.execute(
                update(participants).where(*_PERSON),
                {
                    "study": self.study.id,
                    "who": person,
                    "consented_at": now,
                    "consent_version": self.study.consent.version,
                },
            )
            self._note(connection, person, "consented", now, version=self.study.consent.version)
            self._plan(connection, person, self._first, 0)
            self._go_on(connection, row, now)
        return Saved("saved")

    def save(
        self,
        person: str,
        number: int,
        attempt: int,
        values: Mapping[str, Any],
        *,
        shown_at: float | None = None,
        away: float = 0.0,
    ) -> Saved:
        """Keep the answer to page `number`. `shown_at` is when the person got the page, `away` how many seconds it was
        out of sight."""
        now = self.clock()
        with writing(self.store.engine) as connection:
            row = self.lock(connection, person)
            early = self._out_of_turn(row, number, attempt)
            if early is not None:
                return early
            step = steps_from_json(row.steps)[row.step]
            trial = self.design.trials.get(step.trial)
            if trial is not None:
                problems = _problems(trial, values)
                if problems:
                    return Saved("refused", problems)
                took = None if shown_at is None else max(0.0, now - shown_at)
                self._keep_answer(connection, person, trial, attempt, values, took, now)
            self._note(connection, person, "saved", now, page=number, attempt=attempt, away=round(max(0.0, away), 1))
            if step.kind == "quiz" and trial is not None and not is_right(trial, values):
                self._wrong(connection, row, now)
            elif step.kind == "debrief":
                self._finish(connection, row, now)
            else:
                self._go_on(connection, row, now)
        return Saved("saved")

    def _out_of_turn(self, row: Row[Any], number: int, attempt: int) -> Saved | None:
        if number < row.step or (number == row.step and attempt < row.attempt):
            return Saved("again")
        if row.state in ENDED:
            return Saved(
                "again" if number == row.step and attempt == row.attempt and row.state != "stopped" else "ended"
            )
        if number > row.step or attempt > row.attempt or row.step == 0:
            return Saved("ahead")
        return None

    def _keep_answer(
        self,
        connection: Connection,
        person: str,
        trial: Trial,
        attempt: int,
        values: Mapping[str, Any],
        took: float | None,
        now: float,
    ) -> None:
        text = json.dumps(dict(values), ensure_ascii=False, sort_keys=True)
        answer = Answer(
            self.design.run.id, trial.id, f"person:{person}", 0, attempt, text, "ok", values, latency=took, at=now
        )
        write_answers(connection, [answer])

    def _wrong(self, connection: Connection, row: Row[Any], now: float) -> None:
        """A wrong answer to the quiz: another try, or the end, which is never a rejection."""
        if row.attempt >= self.study.tutorial.tries:
            self._end(connection, row, "failed", now)
            return
        self._move(connection, row.person, row.step, row.attempt + 1, now)

    def _go_on(self, connection: Connection, row: Row[Any], now: float) -> None:
        """To the next page. After the common ones a place is claimed; after that, every save renews it."""
        until = now + self.study.places.lease_minutes * 60
        following = row.step + 1
        if row.place is not None:
            places.keep(connection, self.study.id, row.place, row.person, until)
        elif following == len(self._first):
            for place, other in places.reopen_overdue(connection, self.study.id, now):
                self._note(connection, other, "expired", now, place=place)
            design = self.design
            held = places.claim(connection, self.study.id, design.arms, row.person, row.seed, until, design.sizes)
            if held is None:
                self._end(connection, row, "full", now)
                return
            self._assign(connection, row, held, now)
        self._move(connection, row.person, following, 1, now)

    def _assign(self, connection: Connection, row: Row[Any], held: places.Claim, now: float) -> None:
        own = self.design.own_steps(held.arm, held.batch, row.seed)
        connection.execute(
            update(participants).where(*_PERSON),
            {
                "study": self.study.id,
                "who": row.person,
                "state": "taking",
                "arm": held.arm,
                "batch": held.batch,
                "place": held.place,
                "assigned_at": now,
                "steps": steps_to_json((*self._first, *own)),
            },
        )
        self._plan(connection, row.person, own, len(self._first))
        self._note(connection, row.person, "assigned", now, arm=held.arm, batch=held.batch, place=held.place)

    def _finish(self, connection: Connection, row: Row[Any], now: float) -> None:
        """The last commit. Who lost the place to somebody else meanwhile is kept as `extra`."""
        held = places.keep(connection, self.study.id, row.place, row.person, now)
        if held:
            places.finish(connection, self.study.id, row.place, row.person)
        self._end(connection, row, "finished" if held else "extra", now)

    # -- ending ------------------------------------------------------------------------------------------------

    def stop(self, person: str) -> None:
        """The person stops; what they said so far is kept unless they also ask for its deletion (`erase`)."""
        now = self.clock()
        with writing(self.store.engine) as connection:
            row = self.lock(connection, person)
            if row.state in ENDED:
                return
            if row.place is not None:
                places.give_back(connection, self.study.id, row.place, person)
            self._end(connection, row, "stopped", now)

    def release(self, panel_hash: str, event: str, reason: str) -> bool:
        """A panel says that somebody has returned or timed out: the place is open at once. False for an event that was
        acted upon before, or a person we do not know."""
        now = self.clock()
        with writing(self.store.engine) as connection:
            take_turn(connection, f"places {self.study.id}")
            seen = select(panel_events.c.event).where(
                panel_events.c.study_id == self.study.id, panel_events.c.event == event
            )
            if connection.execute(seen).first() is not None:
                return False
            connection.execute(insert(panel_events), {"study_id": self.study.id, "event": event, "at": now})
            person = connection.execute(_FIND_PANEL, {"study": self.study.id, "panel": panel_hash}).scalar()
            if person is None:
                return False
            held = select(places_table.c.number).where(
                places_table.c.study_id == self.study.id,
                places_table.c.person == person,
                places_table.c.state == "held",
            )
            for number in connection.execute(held).scalars().all():
                places.give_back(connection, self.study.id, number, person)
            self._note(connection, person, "released", now, reason=reason)
        return True

    # -- steps of the above ------------------------------------------------------------------------------------

    def lock(self, connection: Connection, person: str) -> Row[Any]:
        row = connection.execute(_FIND_AND_LOCK, {"study": self.study.id, "who": person}).first()
        if row is None:
            raise Unknown("Nobody by this name takes part.", "Open the study's link again.")
        return row

    def _move(self, connection: Connection, person: str, step: int, attempt: int, now: float) -> None:
        where = {"study": self.study.id, "who": person}
        connection.execute(_MOVE, {**where, "to_step": step, "to_attempt": attempt, "now": now})

    def _end(self, connection: Connection, row: Row[Any], state: State, now: float) -> None:
        connection.execute(
            update(participants).where(*_PERSON),
            {"study": self.study.id, "who": row.person, "state": state, "ended_at": now, "seen_at": now},
        )
        self._note(connection, row.person, state, now, page=row.step)

    def _plan(self, connection: Connection, person: str, steps: Iterable[Step], first: int) -> None:
        rows = [
            {
                "run_id": self.design.run.id,
                "subject": f"person:{person}",
                "position": position,
                "benchmark": self.design.trials[step.trial].benchmark,
                "trial_id": step.trial,
                "repeat": 0,
            }
            for position, step in enumerate(steps, start=first)
            if step.trial
        ]
        if rows:
            connection.execute(_ADD_PLANNED, rows)

    def _note(self, connection: Connection, person: str | None, kind: str, at: float, **detail: Any) -> None:
        row = {"study_id": self.study.id, "person": person, "at": at, "kind": kind, "detail": json.dumps(detail)}
        connection.execute(_ADD_EVENT, row)


def is_right(trial: Trial, values: Mapping[str, Any]) -> bool:
    """Whether a quiz or an attention check was answered as it should be."""
    right: Mapping[str, int] = trial.key["right"]
    return all(values.get(key) == value for key, value in right.items())


def _problems(trial: Trial, values: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with an answer, by field; `missing`, `off` or, under "", the whole. Words are the page's affair."""
    found = {}
    for scale in trial.form.scales:
        value = values.get(scale.key)
        if value is None:
            found[scale.key] = "missing"
        elif isinstance(value, bool) or not isinstance(value, int) or not scale.holds(value):
            found[scale.key] = "off"
    if not found and check_values(trial.form, values):
        found[""] = "unknown"
    return found
