"""What a person's moves change: who may come in, whether it is their turn, whether an answer can be kept, where they go
next. Decided on locked rows; what is to be written is left to the changes."""

import json
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, delete, select, update

from eqlab.core.answers import Answer
from eqlab.core.design import Design, Step, personal_seed, steps_from_json, steps_to_json
from eqlab.core.forms import Writing, problems, settled
from eqlab.core.moves import ENDED, Arrival, ConsentMove, FilledPage, Saved, State, Why
from eqlab.core.runs import SIMULATED, is_simulated
from eqlab.core.trials import Trial
from eqlab.store.engine import take_turn
from eqlab.store.schema import answers, arrivals, panel_ids, participants, planned, studies, tombstones
from eqlab.store.study import places
from eqlab.store.study.places import Changes, Person, find_people

_KNOWN = select(panel_ids.c.study_id, panel_ids.c.hash, panel_ids.c.person).where(
    panel_ids.c.study_id.in_(bindparam("studies", expanding=True)),
    panel_ids.c.hash.in_(bindparam("hashes", expanding=True)),
)
_CAME = select(arrivals.c.person, arrivals.c.hash, arrivals.c.tombstone).where(
    arrivals.c.study_id == bindparam("study"), arrivals.c.person.in_(bindparam("people", expanding=True))
)
_BURIED = select(tombstones.c.hash).where(
    tombstones.c.study_id == bindparam("study"), tombstones.c.hash.in_(bindparam("hashes", expanding=True))
)
_STANDS = select(studies.c.status, studies.c.locked_at).where(studies.c.id == bindparam("study"))
_SOMEBODY = (
    select(participants.c.person)
    .where(participants.c.study_id == bindparam("study"), participants.c.person.not_like(f"{SIMULATED}%"))
    .limit(1)
)


def read_stand(connection: Connection, study: str) -> Literal["paused", "closed"] | None:
    """Why a study lets nobody in."""
    status: Literal["paused", "closed"] | None = connection.execute(_STANDS, {"study": study}).one().status
    return status


def find_panel(connection: Connection, studies: Sequence[str], hashes: Collection[str]) -> dict[tuple[str, str], str]:
    """Whose panel ids these are: (study, hash) → person."""
    if not hashes:
        return {}
    rows = connection.execute(_KNOWN, {"studies": list(studies), "hashes": sorted(hashes)})
    return {(row.study_id, row.hash): row.person for row in rows}


def came_with(connection: Connection, study: str, person: str) -> str | None:
    """The hash of the panel id with which somebody came who has not consented yet."""
    row = connection.execute(_CAME, {"study": study, "people": [person]}).first()
    return None if row is None else row.hash


def is_buried(connection: Connection, study: str, person: str) -> bool:
    """Whether what was given with the panel id of somebody who has come was deleted."""
    row = connection.execute(_CAME, {"study": study, "people": [person]}).first()
    mark = None if row is None else row.tombstone
    return mark is not None and connection.execute(_BURIED, {"study": study, "hashes": [mark]}).first() is not None


class Admission:
    """Who may come in, in one transaction. A panel id is the person's who consented with it: they are let in again in
    the browser where they did, or with proof that it is them. Before a consent the id is nobody's: every browser that
    comes with it is somebody new. Who is new learns at once when there is no place for them."""

    def __init__(
        self, connection: Connection, design: Design, changes: Changes, now: float, arrivals: Sequence[Arrival]
    ) -> None:
        self._study, self._changes, self._now = design.study, changes, now
        self._first = steps_to_json(design.first_steps())
        if not arrivals:
            return
        study = {"study": design.study.id}
        hashes = {arrival.panel_hash for arrival in arrivals if arrival.panel_hash is not None}
        self._known = find_panel(connection, (design.study.id, *design.study.not_after), hashes)
        again = [person for (where, _), person in self._known.items() if where == design.study.id]
        here = [arrival.session for arrival in arrivals if arrival.session is not None]
        rows = connection.execute(_CAME, {**study, "people": sorted(here)}).all() if here else []
        self._came = {row.person: row.hash for row in rows}
        self._people = find_people(connection, design.study.id, {*again, *here}, lock=True)
        buried = {arrival.tombstone for arrival in arrivals if arrival.tombstone is not None}
        self._buried = set(connection.execute(_BURIED, {**study, "hashes": sorted(buried)}).scalars()) if buried else ()
        self._free = places.anything_free(connection, design.study.id, now)
        simulated = any(arrival.simulated for arrival in arrivals)
        if simulated:  # not beside a lock that is just being made
            take_turn(connection, f"lock {design.study.id}")
        self._status, self._locked = connection.execute(_STANDS, study).one()
        self._begun = simulated and connection.execute(_SOMEBODY, study).first() is not None

    def let_in(self, arrival: Arrival) -> Saved:
        person = self._known.get((self._study.id, arrival.panel_hash or ""))
        if person is not None and person in self._people and self._people[person].consented_at is not None:
            return self._again(arrival, person)
        person = self._before_consent(arrival)
        if person is not None:
            return self._again(arrival, person)
        why = self._objection(arrival)
        if why is not None:
            return Saved("", "turned_away", {"": why})
        return Saved(self._new(arrival), "saved")

    def _objection(self, arrival: Arrival) -> Why | None:
        if arrival.simulated and (self._locked is not None or self._begun):
            return "simulated"
        if arrival.tombstone is not None and arrival.tombstone in self._buried:
            return "erased"
        if self._status == "paused":
            return "paused"
        return "closed" if self._status == "closed" else None

    def _before_consent(self, arrival: Arrival) -> str | None:
        """Whom this browser has been so far with this id. 0.2 gave an id to whoever first came with it; such a row
        counts in the browser that has it."""
        here, panel_hash = arrival.session, arrival.panel_hash
        if here is None or here not in self._people:
            return None
        if panel_hash is None:
            return here
        came = self._came.get(here) == panel_hash or self._known.get((self._study.id, panel_hash)) == here
        return here if came else None

    def _again(self, arrival: Arrival, person: str) -> Saved:
        """Whoever knows a panel's id is not yet that person."""
        who = self._people[person]
        if who.consented_at is not None and not arrival.vouched and arrival.session != person:
            return Saved("", "turned_away", {"": "elsewhere"})
        if who.state == "full" and who.consented_at is None and self._begins(arrival.panel_hash) == "arrived":
            self._changes.change(who, state="arrived", ended_at=None, seen_at=self._now)
            self._changes.note(person, "admitted")
        return Saved(person, "again")

    def returning(self, person: str) -> Person | None:
        """Who is back in a study that lets people in."""
        return self._people.get(person) if self._status is None else None

    def _new(self, arrival: Arrival) -> str:
        person = f"{SIMULATED}{secrets.token_hex(7)}" if arrival.simulated else secrets.token_hex(8)
        state = self._begins(arrival.panel_hash)
        self._changes.add(
            participants,
            {
                "study_id": self._study.id,
                "person": person,
                "state": state,
                "step": 0,
                "attempt": 1,
                "steps": self._first,
                "seed": personal_seed(self._study.seed, person),
                "language": arrival.language,
                "arrived_at": self._now,
                "seen_at": self._now,
                "ended_at": self._now if state in ENDED else None,
                "device": arrival.device,
            },
        )
        if arrival.panel_hash is not None:
            own = {"study_id": self._study.id, "hash": arrival.panel_hash, "person": person}
            self._changes.add(arrivals, {**own, "tombstone": arrival.tombstone})
        self._changes.note(person, "arrived", state=state)
        return person

    def _begins(self, panel_hash: str | None) -> State:
        """People are told that a study is full, or not for them, before they are asked for consent."""
        if took_one_of(self._study.not_after, panel_hash, self._known):
            return "took_another"
        return "arrived" if self._free and self._status is None else "full"


_SLACK = 1.0
"""Seconds by which a page's own word about its time may pass what the server saw, before it counts as impossible."""
FIXED = frozenset({"consent", "quiz", "debrief", "talk"})
"""Pages whose answer cannot be changed afterwards."""
MOST_CHANGES = 20
"""Of one answer: more than anybody needs, and few enough that nobody fills a store with them."""


class Answering:
    """The pages of a study in one transaction."""

    def __init__(self, connection: Connection, design: Design, changes: Changes, now: float) -> None:
        self._connection, self._design, self._changes, self._now = connection, design, changes, now
        self._study = design.study
        self._first = design.first_steps()
        self._openings: places.Openings | None = None
        self._taken: dict[str, str] = {}
        """Panel ids that consents of this transaction have taken: hash → person."""

    def consent(self, who: Person, move: ConsentMove) -> Saved:
        if who.state in ENDED:
            return Saved(who.person, "ended")
        if who.step > 0:
            return Saved(who.person, "again")
        if not move.agreed:
            self.end(who, "declined")
            return Saved(who.person, "saved")
        if status := read_stand(self._connection, self._study.id):  # nobody is inside before they have consented
            return Saved(who.person, "turned_away", {"": status})
        why = self._take_id(who)
        if why == "not_after":
            self.end(who, "took_another")
            return Saved(who.person, "saved")
        if why is not None:
            return Saved(who.person, "turned_away", {"": why})
        version = self._study.consent.version
        self._changes.change(who, consented_at=self._now, consent_version=version)
        self._changes.note(who.person, "consented", version=version)
        self._plan(who.person, self._first, 0)
        self.move_on(who)
        return Saved(who.person, "saved")

    def save(self, who: Person, page: FilledPage) -> Saved:
        if page.correct:
            return self._correct(who, page)
        early = _out_of_turn(who, page)
        if early is not None:
            return early
        step = steps_from_json(who.steps)[who.step]
        if step.kind == "talk":  # is held turn by turn, elsewhere
            return Saved(who.person, "refused", {"": "unknown"})
        trial = self._design.trials.get(step.trial)
        if trial is not None:
            page = replace(page, values=settled(trial.form, page.values, typed=page.typed))
            wrong = problems(trial.form, page.values)
            if wrong:
                return Saved(who.person, "refused", wrong)
            took, possible = self._took(who, page)
            self._changes.answer(self._answer(page, trial, page.attempt, took))
            more = _worked(page, trial, took) | ({} if possible else {"impossible": True})
        else:
            more = {"away": 0.0}
        self._changes.note(who.person, "saved", page=page.number, attempt=page.attempt, **more)
        if step.kind == "quiz" and trial is not None and not is_right(trial, page.values):
            self._wrong(who)
        elif step.kind == "debrief":
            self._finish(who)
        else:
            self.move_on(who)
        return Saved(who.person, "saved")

    def move_on(self, who: Person) -> None:
        """To the next page. After the common ones a place is claimed; after that, every save renews it."""
        until = self._now + self._study.places.lease_minutes * 60
        following = who.step + 1
        if who.place is not None:
            self._changes.renew(who.place, who.person, until)
        elif following == len(self._first):
            held = self._claim(who, until)
            if held is None:
                self.end(who, "full")
                return
            self._assign(who, held)
        self._changes.change(who, step=following, attempt=1, seen_at=self._now)

    def stay(self, who: Person) -> None:
        """A save that leaves the person where they are: their place is theirs for longer."""
        if who.place is not None:
            self._changes.renew(who.place, who.person, self._now + self._study.places.lease_minutes * 60)
        self._changes.change(who, seen_at=self._now)

    def end(self, who: Person, state: State) -> None:
        self._changes.change(who, state=state, ended_at=self._now, seen_at=self._now)
        self._changes.note(who.person, state, page=who.step)

    # -- steps of the above ------------------------------------------------------------------------------------

    def _take_id(self, who: Person) -> Literal["elsewhere", "erased", "not_after"] | None:
        """The panel id with which they came becomes theirs, once: unless somebody has consented with it in another
        browser, or was erased. Two who consent at the same moment meet on the primary key; the later of the two fails,
        and finds the other when it is done again."""
        study = self._study.id
        rows = self._connection.execute(_CAME, {"study": study, "people": [who.person]})
        came = next(iter(rows), None)
        if came is None:  # without a panel, or let in by 0.2
            return None
        known = find_panel(self._connection, (study, *self._study.not_after), [came.hash])
        owner = self._taken.get(came.hash) or known.get((study, came.hash))
        if owner is not None and owner != who.person and self._has_consented(owner):
            return "elsewhere"
        if is_buried(self._connection, study, who.person):
            return "erased"
        if took_one_of(self._study.not_after, came.hash, known):
            return "not_after"
        self._taken[came.hash] = who.person
        own = {"study_id": study, "hash": came.hash, "person": who.person, "tombstone": came.tombstone}
        if owner is None:
            self._changes.add(panel_ids, own)
        else:
            theirs = (panel_ids.c.study_id == study, panel_ids.c.hash == came.hash)
            self._connection.execute(update(panel_ids).where(*theirs).values(own))
        self._connection.execute(delete(arrivals).where(arrivals.c.study_id == study, arrivals.c.person == who.person))
        return None

    def _has_consented(self, person: str) -> bool:
        if person in self._taken.values():
            return True
        found = find_people(self._connection, self._study.id, [person])
        return person in found and found[person].consented_at is not None

    def _answer(self, page: FilledPage, trial: Trial, attempt: int, took: float | None) -> Answer:
        text = json.dumps(dict(page.values), ensure_ascii=False, sort_keys=True)
        return Answer(
            self._design.run.id, trial.id, f"person:{page.person}", 0, attempt, text, "ok", page.values,
            latency=took, at=self._now,
        )  # fmt: skip

    def _took(self, who: Person, page: FilledPage) -> tuple[float | None, bool]:
        """Seconds on a page, and whether what the page said of them is possible. Nobody sees a page before the one
        before it is saved: the server's own clock bounds the time, whatever a browser says. Simulated people, who are
        marked as such, have no time of their own and are believed. Where the clock was set back between two pages
        nobody knows the time."""
        most = self._now - who.seen_at
        if most < 0 and not is_simulated(who.person):
            return None, True
        most = max(0.0, most)
        if page.shown_at is None:
            return most, True
        said = self._now - page.shown_at
        if is_simulated(who.person):
            return max(0.0, said), True
        return min(max(0.0, said), most), -_SLACK <= said <= most + _SLACK

    def _correct(self, who: Person, page: FilledPage) -> Saved:
        """Another answer to the page before the current one. The first stays in the store; the last one counts."""
        if who.state in ENDED:
            return Saved(who.person, "ended")
        steps = steps_from_json(who.steps)
        if page.number != who.step - 1 or not may_correct(steps, who.step, len(self._first)):
            return Saved(who.person, "again")
        trial = self._design.trials[steps[page.number].trial]
        given = last_given(self._connection, self._design.run.id, who.person, trial.id)
        page = replace(page, values=settled(trial.form, page.values, typed=page.typed))
        wrong = problems(trial.form, page.values)
        if wrong:
            return Saved(who.person, "refused", wrong)
        if given is None or given[0] > MOST_CHANGES or dict(given[1]) == dict(page.values):
            return Saved(who.person, "again")
        attempt = given[0] + 1
        self._changes.answer(self._answer(page, trial, attempt, None))
        took, _ = self._took(who, page)
        more = _worked(page, trial, took) | ({} if took is None else {"seconds": round(took, 3)})
        self._changes.note(who.person, "corrected", page=page.number, attempt=attempt, **more)
        return Saved(who.person, "saved")

    def reconsider(self, who: Person) -> None:
        """Somebody who consented when the last place had just gone is back: a place that has come free is theirs."""
        if who.state != "full" or who.consented_at is None or who.step != len(self._first) - 1:
            return
        until = self._now + self._study.places.lease_minutes * 60
        held = self._claim(who, until)
        if held is not None:
            self._assign(who, held)
            self._changes.change(who, step=who.step + 1, attempt=1, seen_at=self._now, ended_at=None)

    def _wrong(self, who: Person) -> None:
        """A wrong answer to the quiz: another try, or the end, which is never a rejection."""
        if who.attempt >= self._study.tutorial.tries:
            self.end(who, "failed")
        else:
            self._changes.change(who, step=who.step, attempt=who.attempt + 1, seen_at=self._now)

    def _claim(self, who: Person, until: float) -> places.Claim | None:
        if not self._design.in_order:
            return self._open_places().claim(who.person, who.seed, until)
        stratum = self._stratum(who)
        return None if stratum is None else self._open_places().claim_in_order(who.person, stratum, until)

    def _stratum(self, who: Person) -> str | None:
        """By what the person has answered before, in this transaction or an earlier one."""
        before = self._design.before
        if before is None or not self._study.quota.question:
            return ""
        values = self._changes.answered(who.person, before.id)
        if values is None:
            given = last_given(self._connection, self._design.run.id, who.person, before.id)
            values = given[1] if given else {}
        return self._design.stratum(values)

    def _open_places(self) -> places.Openings:
        if self._openings is None:
            self._openings = places.Openings(self._connection, self._design, self._now)
            for place, person in self._openings.reopened:
                self._changes.note(person, "expired", place=place)
        return self._openings

    def _assign(self, who: Person, held: places.Claim) -> None:
        steps = self._design.own_steps(held.arm, held.batch, who.seed)
        self._changes.change(
            who,
            state="taking",
            arm=held.arm,
            batch=held.batch,
            place=held.place,
            assigned_at=self._now,
            steps=steps_to_json((*self._first, *steps)),
        )
        self._plan(who.person, steps, len(self._first))
        self._changes.note(who.person, "assigned", arm=held.arm, batch=held.batch, place=held.place)

    def _finish(self, who: Person) -> None:
        """The last commit. Who lost the place to somebody else meanwhile is kept as `extra`."""
        done = places.finish(self._connection, self._study.id, who.place, who.person)
        self.end(who, "finished" if done else "extra")

    def _plan(self, person: str, steps: Iterable[Step], first: int) -> None:
        for position, step in enumerate(steps, start=first):
            if step.trial:
                row = {
                    "run_id": self._design.run.id,
                    "subject": f"person:{person}",
                    "position": position,
                    "benchmark": self._design.trials[step.trial].benchmark,
                    "trial_id": step.trial,
                    "repeat": 0,
                }
                self._changes.add(planned, row)


def took_one_of(others: Iterable[str], panel_hash: str | None, known: Mapping[tuple[str, str], str]) -> bool:
    """Whether somebody took part in another study after which this one is not for them."""
    return any((other, panel_hash) in known for other in others)


def _worked(page: FilledPage, trial: Trial, took: float | None) -> dict[str, Any]:
    """How somebody worked on a page, as its event tells."""
    away = round(max(0.0, page.away), 1)
    told: dict[str, Any] = {"away": away if took is None else min(away, took)}
    written = any(isinstance(field, Writing) for field in trial.form.fields)
    return told | ({"pasted": page.pasted} if page.pasted or (written and page.pasted is not None) else {})


def may_correct(steps: Sequence[Step], step: int, first: int) -> bool:
    """Whether the page before this one can be changed: not across the claim of a place, which followed from it."""
    return 0 < step < len(steps) and step != first and steps[step - 1].kind not in FIXED


_LAST_GIVEN = (
    select(answers.c.attempt, answers.c["values"])
    .where(
        answers.c.run_id == bindparam("run"),
        answers.c.subject == bindparam("who"),
        answers.c.trial_id == bindparam("trial"),
    )
    .order_by(answers.c.attempt.desc())
    .limit(1)
)


def last_given(connection: Connection, run: str, person: str, trial: str) -> tuple[int, Mapping[str, Any]] | None:
    """(attempt, values) of what a person answered last to a trial."""
    row = connection.execute(_LAST_GIVEN, {"run": run, "who": f"person:{person}", "trial": trial}).first()
    return None if row is None else (row[0], json.loads(row[1]))


def is_right(trial: Trial, values: Mapping[str, Any]) -> bool:
    """Whether a quiz, an attention check or a gold item was answered as it should be."""
    right: Mapping[str, int] = trial.key.get("right", {})
    accepted: Mapping[str, list[int]] = trial.key.get("accept", {})
    return all(_same(values.get(key), value) for key, value in right.items()) and all(
        values.get(key) in some for key, some in accepted.items()
    )


def _same(given: Any, wanted: Any) -> bool:
    """A word that was asked for may be written in any case, with marks around it."""
    if isinstance(given, str) and isinstance(wanted, str):
        return given.strip(" \t\n.,;:!?\"'“”„»«").casefold() == wanted.casefold()
    return bool(given == wanted)


def _out_of_turn(who: Person, page: FilledPage) -> Saved | None:
    here = (page.number, page.attempt) == (who.step, who.attempt)
    if page.number < who.step or (page.number == who.step and page.attempt < who.attempt):
        return Saved(who.person, "again")
    if who.state in ENDED:
        return Saved(who.person, "again" if here and who.state not in ("stopped", "returned", "banned") else "ended")
    if not here or who.step == 0:
        return Saved(who.person, "ahead")
    return None
