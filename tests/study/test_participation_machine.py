"""Arrivals, saves, leavers, returns, expiries, releases, erasures and late finishers in any order: no place is ever
held twice, arms stay balanced, and every acknowledged answer is stored exactly once."""

import atexit
import json
import shutil
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from small_study import answer_for, small_design
from sqlalchemy import select, text

from eqlab.core.moves import ENDED, Arrival
from eqlab.store.schema import places
from eqlab.store.store import Store
from eqlab.store.study.participation import Participation
from eqlab.store.study.records import erase_person
from eqlab.store.study.studies import create_study

PANEL = [f"panel-{number}" for number in range(5)]
LEASE = 600.0


@cache
def empty_store():
    """Made once: its tables take longer than most examples."""
    path = Path(tempfile.mkdtemp()) / "empty.db"
    atexit.register(shutil.rmtree, path.parent)
    Store(str(path)).close()
    return path


class Study(RuleBasedStateMachine):
    where = ""

    @initialize(seed=st.integers(0, 5), people=st.sampled_from([1, 1, 2]))
    def begin(self, seed, people):
        self.folder = Path(tempfile.mkdtemp())
        if not self.where:
            shutil.copy(empty_store(), self.folder / "study.db")
        self.store = Store(self.where or str(self.folder / "study.db"))
        self.now = 1_000_000.0
        design = small_design(
            f"machine-{seed}-{people}", batches=1, people=people, size=1, attention=1, lease=LEASE / 60, seed=seed
        )
        if self.where:
            with self.store.engine.begin() as connection:
                for table in (
                    "chain",
                    "panel_events",
                    "events",
                    "places",
                    "arrivals",
                    "panel_ids",
                    "participants",
                    "studies",
                ):
                    connection.execute(text(f"DELETE FROM {table}"))
                for table in ("answers", "planned"):
                    connection.execute(text(f"DELETE FROM {table}"))
        create_study(self.store, design, "", "test", {})
        self.participation = Participation(self.store, design, lambda: self.now)
        self.people: dict[str, str] = {}
        self.acknowledged: dict[tuple[str, str, int], dict] = {}
        self.posts: list[tuple[str, int, int, dict]] = []
        self.events = 0

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, *queries):
        """As they stand: building a query takes longer than most of them."""
        with self.store.engine.connect() as connection:
            found = [connection.exec_driver_sql(query).all() for query in queries]
        return found if len(found) > 1 else found[0]

    def open_places(self):
        rows = self.read("SELECT arm, state, held_until FROM places")
        free = [row.arm for row in rows if row.state == "open" or (row.state == "held" and row.held_until < self.now)]
        return Counter(free)

    def post(self, person, view, values):
        """Save, remember what was acknowledged, and check how an arm was chosen if one was."""
        free = self.open_places()
        saved = self.participation.save(person, view.number, view.attempt, values)
        if saved.outcome == "saved" and view.trial is not None:
            key = (person, view.trial.id, view.attempt)
            assert key not in self.acknowledged
            self.acknowledged[key] = values
            self.posts.append((person, view.number, view.attempt, values))
        after = self.participation.look(person)
        if view.arm is None and after.arm is not None:
            assert free[after.arm] == max(free.values())
        return saved

    @rule(panel=st.sampled_from(PANEL))
    def arrive(self, panel):
        free = self.open_places()
        person = self.participation.admit(Arrival(panel, "en", session=self.people.get(panel)))
        if panel in self.people:
            assert person == self.people[panel]
        else:
            assert (self.participation.look(person).state == "full") == (not free)
        self.people[panel] = person

    @rule(panel=st.sampled_from(PANEL), pages=st.sampled_from([9, 3, 1]))
    def take_part(self, panel, pages):
        """Come, or come back, and answer some pages rightly; nine are more than there are."""
        self.arrive(panel)
        person = self.people[panel]
        for _ in range(pages):
            view = self.participation.look(person)
            if view.step is None:
                return
            if view.step.kind == "consent":
                self.participation.consent(person, agreed=True)
            else:
                assert self.post(person, view, answer_for(view)).outcome == "saved"

    @rule(panel=st.sampled_from(PANEL))
    def come_and_wait(self, panel):
        """Hold a place and leave the page open until it is somebody else's."""
        self.take_part(panel, 3)
        self.now += LEASE + 1

    @precondition(lambda self: self.people)
    @rule(data=st.data(), agreed=st.booleans())
    def consent_at_any_time(self, data, agreed):
        person = self.people[data.draw(st.sampled_from(sorted(self.people)))]
        self.participation.consent(person, agreed=agreed)

    @precondition(lambda self: self.people)
    @rule(data=st.data(), value=st.sampled_from([0, 1, 2, 3, 4, "many", None]))
    def save_something(self, data, value):
        person = self.people[data.draw(st.sampled_from(sorted(self.people)))]
        view = self.participation.look(person)
        if view.trial is None:
            return
        values = {scale.key: value for scale in view.trial.form.scales}
        good = all(type(value) is int and scale.holds(value) for scale in view.trial.form.scales)
        assert self.post(person, view, values).outcome == ("saved" if good else "refused")

    @precondition(lambda self: self.posts)
    @rule(data=st.data(), other=st.integers(1, 3))
    def post_again(self, data, other):
        """A double click, a reload, a second device: the first answer stands, whatever the second says."""
        person, number, attempt, values = data.draw(st.sampled_from(self.posts))
        if person not in self.people.values():
            return
        changed = dict.fromkeys(values, other)
        assert self.participation.save(person, number, attempt, changed).outcome in ("again", "ended")

    @precondition(lambda self: self.people)
    @rule(data=st.data(), by=st.integers(1, 9))
    def skip_ahead(self, data, by):
        person = self.people[data.draw(st.sampled_from(sorted(self.people)))]
        view = self.participation.look(person)
        assert self.participation.save(person, view.number + by, 1, {"rating": 1}).outcome in ("ahead", "ended")
        assert self.participation.look(person) == view

    @precondition(lambda self: self.people)
    @rule(data=st.data(), delete=st.booleans())
    def stop(self, data, delete):
        panel = data.draw(st.sampled_from(sorted(self.people)))
        person = self.people[panel]
        before = self.participation.look(person)
        self.participation.stop(person)
        assert self.participation.look(person).state == ("stopped" if before.step is not None else before.state)
        if delete:
            erase_person(self.participation, person)
            del self.people[panel]
            self.acknowledged = {key: kept for key, kept in self.acknowledged.items() if key[0] != person}

    @rule(minutes=st.sampled_from([1, 5, 11, 60]))
    def time_passes(self, minutes):
        self.now += minutes * 60

    @rule(panel=st.sampled_from(PANEL), again=st.booleans())
    def panel_says_returned(self, panel, again):
        self.events += 0 if again else 1
        self.participation.release(panel, f"event-{self.events}", "RETURNED")

    @invariant()
    def every_acknowledged_answer_is_stored_exactly_once(self):
        if not hasattr(self, "store"):
            return
        rows = self.read('SELECT subject, trial_id, attempt, "values" FROM answers')
        stored = {(who.removeprefix("person:"), trial, attempt): json.loads(kept) for who, trial, attempt, kept in rows}
        assert len(stored) == len(rows)
        assert stored == self.acknowledged

    @invariant()
    def no_place_is_held_twice(self):
        if not hasattr(self, "store"):
            return
        every, there = self.read(
            "SELECT person, arm, batch, number, state, held_until FROM places",
            "SELECT person, state, arm, batch, place FROM participants",
        )
        held, free = ([row for row in every if (row.state == "open") == is_open] for is_open in (False, True))
        people = {row.person: row for row in there}
        owners = [row.person for row in held]
        assert len(set(owners)) == len(owners)
        assert all(row.person is None and row.held_until is None for row in free)
        for row in held:
            person = people[row.person]
            assert (person.arm, person.batch, person.place) == (row.arm, row.batch, row.number)
            assert (row.state == "done") == (person.state == "finished")
        done = {row.person for row in held if row.state == "done"}
        assert {name for name, row in people.items() if row.state == "finished"} == done
        assert all(row.state in ENDED | {"arrived", "taking"} for row in people.values())


SETTINGS = settings(stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.mark.parametrize("orders", [10, pytest.param(40, marks=pytest.mark.claims)])
def test_any_order_of_events_sqlite(orders):
    machine = type("OnSqlite", (Study,), {})
    machine.TestCase.settings = settings(SETTINGS, max_examples=orders)
    machine.TestCase().runTest()


def test_any_order_of_events_postgresql(postgres):
    Store(postgres).close()
    machine = type("OnPostgresql", (Study,), {"where": postgres})
    machine.TestCase.settings = settings(SETTINGS, max_examples=5)
    machine.TestCase().runTest()


@pytest.mark.parametrize("people", [60])
def test_simultaneous_arrivals_fill_every_place_once(make_participation, people):
    """60 people at once for 2 × 20 places, from many threads."""
    from concurrent.futures import ThreadPoolExecutor

    from small_study import take

    participation = make_participation(batches=20, size=1, attention=0)

    def visit(number):
        return take(participation, participation.arrive(f"panel-{number}", "en")).state

    with ThreadPoolExecutor(8) as pool:
        states = Counter(pool.map(visit, range(people)))
    assert states == {"finished": 40, "full": 20}
    with participation.store.engine.connect() as connection:
        rows = connection.execute(select(places)).all()
    assert Counter((row.arm, row.state) for row in rows) == {("a", "done"): 20, ("b", "done"): 20}
    assert len({row.person for row in rows}) == 40
