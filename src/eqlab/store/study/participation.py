"""The people of one study. What a method returns is on disk. A repeated move and one that skips ahead change nothing.
Moves of several people that wait at the same time share a transaction."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from eqlab.core.design import Design, steps_from_json
from eqlab.core.errors import StoreError
from eqlab.core.moves import ENDED, ENDING, Arrival, ConsentMove, FilledPage, Move, Saved, State, Unknown, View, Why
from eqlab.core.trials import Trial
from eqlab.store.engine import despite_deadlock, reading, take_turn, writing
from eqlab.store.schema import panel_events
from eqlab.store.store import Store
from eqlab.store.study import places
from eqlab.store.study.chain import given_by
from eqlab.store.study.moves import (
    Admission,
    Answering,
    came_with,
    find_panel,
    is_buried,
    last_given,
    may_correct,
    read_stand,
)
from eqlab.store.study.places import Changes, Person, find_people, lock_person
from eqlab.store.study.researchers import note

T = TypeVar("T", Saved, View)


class SteadyClock:
    """The time of day that never goes back while the program runs: where somebody sets the machine's clock back, it
    goes on from where it was. So nobody waits for a clock to catch up, and no page takes less than no time."""

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._steady = wall, steady
        self._ahead = wall() - steady()

    def __call__(self) -> float:
        steady = self._steady()
        self._ahead = max(self._ahead, self._wall() - steady)
        return steady + self._ahead


steady_time = SteadyClock()


class Participation:
    """Safe to call from several threads and processes."""

    def __init__(self, store: Store, design: Design, clock: Callable[[], float] = steady_time) -> None:
        self.store = store
        self.design = design
        self.study = design.study
        self.clock = clock
        self._first = len(design.first_steps())
        lengths = {len(design.own_steps(batch.arm, batch.number, 0)) for batch in design.batches}
        self._total = self._first + max(lengths)
        self._alike = len(lengths) == 1

    # -- looking -----------------------------------------------------------------------------------------------

    def look(self, person: str) -> View:
        return _only(self.look_at([person]))

    def look_at(self, people: Collection[str]) -> list[View | Unknown]:
        """Where each of them stands, in this order."""
        with reading(self.store.engine) as connection:
            found = find_people(connection, self.study.id, people)
        return [self._view(found[person]) if person in found else Unknown() for person in people]

    def _view(self, who: Person) -> View:
        steps = steps_from_json(who.steps)
        step = None if who.state in ENDED else steps[who.step]
        return View(
            who.person,
            who.state,
            who.step,
            len(steps) if who.arm is not None else self._total,
            step,
            who.attempt,
            self.design.trials[step.trial] if step and step.trial else None,
            who.arm,
            ENDING.get(who.state),
            who.language,
            step is not None and may_correct(steps, who.step, self._first),
            self._alike or who.arm is not None,
        )

    def look_back(self, person: str) -> tuple[View, Mapping[str, Any]] | None:
        """The page before the current one with what was answered; None when it cannot be changed any more. Its attempt
        is that of the answer, so that each change makes it another page."""
        with reading(self.store.engine) as connection:
            who = find_people(connection, self.study.id, [person]).get(person)
            if who is None:
                raise Unknown
            view = self._view(who)
            if not view.back:
                return None
            step = steps_from_json(who.steps)[who.step - 1]
            trial = self.design.trials[step.trial]
            given = last_given(connection, self.design.run.id, person, trial.id)
        attempt, values = given or (1, {})
        return replace(view, number=view.number - 1, step=step, trial=trial, attempt=attempt, back=False), values

    def answered(self, person: str, number: int) -> tuple[Trial, Mapping[str, Any]] | None:
        """The question of page `number` and what counts of a person's answers to it; None where there is none."""
        with reading(self.store.engine) as connection:
            who = find_people(connection, self.study.id, [person]).get(person)
            steps = steps_from_json(who.steps) if who is not None else ()
            if number >= len(steps) or not steps[number].trial:
                return None
            given = last_given(connection, self.design.run.id, person, steps[number].trial)
        return (self.design.trials[steps[number].trial], given[1]) if given else None

    def knows(self, panel_hash: str, session: str | None = None) -> bool:
        """Whether somebody with this panel id takes part, or has come with it in this browser before."""
        with reading(self.store.engine) as connection:
            came = session is not None and came_with(connection, self.study.id, session) == panel_hash
            return came or bool(find_panel(connection, [self.study.id], [panel_hash]))

    def why_not(self, person: str) -> tuple[Why, str | None] | None:
        """Why somebody who has come cannot consent, and who has consented with the same panel id before them."""
        with reading(self.store.engine) as connection:
            if status := read_stand(connection, self.study.id):
                who = find_people(connection, self.study.id, [person]).get(person)
                return (status, None) if who is not None and who.consented_at is None else None
            panel_hash = came_with(connection, self.study.id, person)
            if panel_hash is None:
                return None
            owner = find_panel(connection, [self.study.id], [panel_hash]).get((self.study.id, panel_hash))
            if owner is not None:
                return "elsewhere", owner
            return ("erased", None) if is_buried(connection, self.study.id, person) else None

    # -- moving on ---------------------------------------------------------------------------------------------

    def arrive(self, panel_hash: str | None, language: str) -> str:
        """The person behind a panel's id, known or new; without an id always a new one."""
        return self.admit(Arrival(panel_hash, language))

    def admit(self, arrival: Arrival) -> str:
        """Who it is that comes; raises when the door is closed to them."""
        saved = _only(self.make([arrival]))
        if saved.outcome == "turned_away":
            raise TurnedAway(str(saved.problems[""]))
        return saved.person

    def consent(self, person: str, agreed: bool) -> Saved:
        return _only(self.make([ConsentMove(person, agreed)]))

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
        """Keep the answer to page `number`."""
        return _only(self.make([FilledPage(person, number, attempt, values, shown_at, away)]))

    @despite_deadlock
    def make(self, moves: Sequence[Move]) -> list[Saved | Unknown]:
        """Make these moves in one transaction, in this order: all of them are on disk, or none."""
        try:
            return self._make(moves)
        except IntegrityError:  # another transaction has just let in the same panel id: now it is there to be found
            return self._make(moves)

    def _make(self, moves: Sequence[Move]) -> list[Saved | Unknown]:
        now = self.clock()
        changes = Changes(self.study.id, now)
        names = {move.person for move in moves if not isinstance(move, Arrival)}
        arrivals = [move for move in moves if isinstance(move, Arrival)]
        with writing(self.store.engine) as connection:
            people = find_people(connection, self.study.id, names, lock=True)
            admission = Admission(connection, self.design, changes, now, arrivals)
            answering = Answering(connection, self.design, changes, now)

            def made(move: Move) -> Saved | Unknown:
                if isinstance(move, Arrival):
                    let_in = admission.let_in(move)
                    back = admission.returning(let_in.person)
                    if back is not None:
                        answering.reconsider(back)
                    return let_in
                if move.person not in people:
                    return Unknown()
                who = people[move.person]
                return answering.consent(who, move) if isinstance(move, ConsentMove) else answering.save(who, move)

            outcomes = [made(move) for move in moves]
            changes.write(connection)
        return outcomes

    # -- ending ------------------------------------------------------------------------------------------------

    @despite_deadlock
    def stop(self, person: str) -> None:
        """The person stops; what they said so far is kept unless they also ask for its deletion (`erase`)."""
        now = self.clock()
        changes = Changes(self.study.id, now)
        with writing(self.store.engine) as connection:
            who = lock_person(connection, self.study.id, person)
            if who.state in ENDED:
                return
            if who.place is not None:
                places.give_back(connection, self.study.id, who.place, person)
            Answering(connection, self.design, changes, now).end(who, "stopped")
            changes.write(connection)

    @despite_deadlock
    def release(self, panel_hash: str, event: str, reason: str) -> bool:
        """A panel says that somebody has returned or timed out: the place is open at once. Who has returned is done
        here too; who is only late may finish as `extra`. False for an event that was acted upon before, or a person we
        do not know."""
        now = self.clock()
        with writing(self.store.engine) as connection:
            take_turn(connection, f"panel {self.study.id}")
            seen = select(panel_events.c.event).where(
                panel_events.c.study_id == self.study.id, panel_events.c.event == event
            )
            if connection.execute(seen).first() is not None:
                return False
            connection.execute(insert(panel_events), {"study_id": self.study.id, "event": event, "at": now})
            person = find_panel(connection, [self.study.id], [panel_hash]).get((self.study.id, panel_hash))
            if person is None:
                return False
            state: State | None = "returned" if reason.lower().startswith("return") else None
            self._let_go(connection, now, person, state, "released", {"reason": reason})
        return True

    @despite_deadlock
    def send_away(self, person: str, state: Literal["returned", "banned"], by: str) -> None:
        """A researcher's doing: the place opens again, and the person is done here. Of somebody who is banned the place
        opens even when it was filled."""
        kind = "released" if state == "returned" else "banned"
        now = self.clock()
        with writing(self.store.engine) as connection:
            if state == "returned" and lock_person(connection, self.study.id, person).state in ENDED:
                return  # nothing is left to be released
            self._let_go(connection, now, person, state, kind, {"by": "researcher"})
            note(connection, now, by, kind, self.study.id, person=person)

    def _let_go(
        self, connection: Connection, now: float, person: str, state: State | None, kind: str, detail: dict[str, Any]
    ) -> None:
        changes = Changes(self.study.id, now)
        who = lock_person(connection, self.study.id, person)
        goes = state == "banned" or who.state not in ENDED
        answered = self.trials_answered(connection, person) if goes else {}  # of somebody who has ended all stays
        if who.place is not None and goes:
            places.give_back(connection, self.study.id, who.place, person)
            changes.change(who, place=None)
        if state is not None and goes:
            changes.change(who, state=state, ended_at=now, seen_at=now)
        changes.note(person, kind, page=who.step, answered=len(answered), **detail)
        changes.write(connection)

    def trials_answered(self, connection: Connection, person: str) -> dict[str, float]:
        """The trials that somebody has answered, and when first; of a talk that is under way the one that it is."""
        trials = {trial.id for batch in self.design.batches for trial in batch.trials}
        given = given_by(connection, self.study.id, [person], self.design.run.id).get(person, ())
        return {trial: at for trial, _, _, at, *_ in sorted(given, key=lambda one: -one[3]) if trial in trials}


class TurnedAway(StoreError):
    """The door is closed to somebody."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The study lets nobody in: {why}.", "See 'eqlab study status'.")
        self.why = why


def _only(found: Sequence[T | Unknown]) -> T:
    (one,) = found
    if isinstance(one, Unknown):
        raise one
    return one
