"""Turns and calls in the store, on both engines: a turn is kept once and in its turn, a question is asked by one, and
limits hold whoever asks."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import select
from talk_case import PANEL, talk_design

from eqlab.core.answers import Answer
from eqlab.store.schema import events, planned, talk_calls
from eqlab.store.store import Store
from eqlab.store.study import talks
from eqlab.store.study.participation import Participation
from eqlab.store.study.records import erase_person
from eqlab.store.study.studies import create_study
from eqlab.store.study.talks import CallLimits
from eqlab.study.kinds import kind_of
from eqlab.study.talks import chain

MANY = CallLimits(None, None, 100, 100)


class Room:
    """One study, its clock and a person who has come to the talk."""

    def __init__(self, folder, url):
        design = talk_design(folder, "http://127.0.0.1:9/v1")
        self.design = replace(design, study=replace(design.study, panel=PANEL))
        self.store, self.now = Store(url), 1000.0
        create_study(self.store, self.design, "", "test", {})
        self.participation = Participation(self.store, self.design, lambda: self.now)
        self.kind = kind_of(self.design.study)

    def chain(self, first, found):
        return chain(self.kind, self.design.study, first, found, {True: 1, False: 2})

    def person(self, name):
        who = self.participation.arrive(name, "en")
        self.participation.consent(who, agreed=True)
        return who

    def stand(self, who):
        return talks.talk_position(self.participation, who, self.chain)

    def say(self, who, number, text="Hello.", emotion=50, leaves=0, trial=None):
        here = self.stand(who)
        values = {"feeling": "", "emotion": emotion, "leaves": leaves, "says": text}
        answer = Answer(self.design.run.id, "", "", 0, 1, text, "ok", values, at=self.now)
        pending = trial or (here.pending.id if here and here.pending else "")
        return talks.keep_turn(self.participation, who, number, pending, answer, self.chain)

    def ask(self, who, limits=MANY, worst=(10, 1.0), seconds=15.0, trial=None):
        pending = trial or self.stand(who).pending.id
        return talks.begin_call(self.participation, who, pending, worst, limits, seconds, self.chain)

    def end(self, who, call, text="Mhm.", status="ok", down="", stopped=False, trial=None, finish=""):
        pending = trial or self.stand(who).pending.id
        said = [Answer(self.design.run.id, pending, "", 0, 1, text, status, at=self.now, finish=finish)] if text else []
        return talks.end_call(self.participation, who, [call], (5, 0.25), said, self.chain, down, stopped)


@pytest.fixture
def room(tmp_path, store_url):
    made = Room(tmp_path, store_url)
    yield made
    made.store.close()


def test_a_clock_set_back_leaves_nobody_waiting_for_it(room):
    who = room.person("one")
    assert room.say(who, 0) == "kept"
    room.ask(who)
    assert room.stand(who).asked == "asked"
    room.now -= 7200
    assert room.stand(who).asked != "asked"
    assert room.ask(who).id is not None  # the question is asked again


def test_a_talk_turn_by_turn(room):
    who = room.person("one")
    assert room.stand(who).turns == ()
    assert room.say(who, 0) == "kept"
    assert room.say(who, 0, trial=room.stand(who).first.id) == "again"
    assert room.say(who, 7) == "ahead"
    call = room.ask(who)
    assert room.end(who, call.id) == "kept"
    assert [turn.answer.text for turn in room.stand(who).turns] == ["Hello.", "Mhm."]
    assert room.say(who, 2, emotion=80, leaves=1) == "kept"
    assert room.stand(who) is None, "the talk is over, and the next page has come"
    assert room.participation.look(who).step.kind == "trial"
    assert room.say(who, 2) == "again"
    with room.store.engine.connect() as connection:
        rows = (
            connection.execute(select(planned.c.position).where(planned.c.subject == f"person:{who}")).scalars().all()
        )
    assert len(rows) == len(set(rows)) == 4, "the talk's first page, its rating, and two turns"


def test_one_of_many_asks(room):
    who = room.person("one")
    room.say(who, 0)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: room.ask(who), range(8)))
    assert sorted(one.why for one in found) == ["", *["asked"] * 7]
    (call,) = [one.id for one in found if one.id]
    room.now += 16
    assert room.ask(who).why == "", "whoever asked has not been heard of"
    talks.renew_call(room.participation, [call], 15.0)
    assert room.ask(who).why == "asked"


def test_one_of_many_is_kept(room):
    who = room.person("one")
    first = room.stand(who).pending.id
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: room.say(who, 0, text=f"No. {n}", trial=first), range(8)))
    assert sorted(found) == ["again"] * 7 + ["kept"]
    assert len(room.stand(who).turns) == 1


def test_what_was_answered_is_not_asked_again(room):
    who = room.person("one")
    room.say(who, 0)
    trial = room.stand(who).pending.id
    call = room.ask(who)
    room.end(who, call.id)
    assert room.ask(who, trial=trial).why == "gone"
    assert room.end(who, call.id, "A second reply.", trial=trial) == "again"
    assert "A second reply." not in str(room.stand(who).turns)


def test_limits_count_what_is_under_way_at_its_worst(room):
    one, two = room.person("one"), room.person("two")
    for who in (one, two):
        room.say(who, 0)
    call = room.ask(one, CallLimits(1.5, None, 100, 100))
    assert call.id
    assert room.ask(two, CallLimits(1.5, None, 100, 100)).why == "waits"
    assert room.ask(two, CallLimits(0.5, None, 100, 100)).why == "spent"
    room.end(one, call.id)
    assert room.ask(two, CallLimits(1.5, None, 100, 100)).why == ""
    room.say(one, 2)
    assert room.ask(one, CallLimits(None, 1.0, 100, 100)).why == "spent", "a quarter is spent, and one may follow"
    assert room.ask(one, CallLimits(None, None, 2, 100)).why == "spent"
    assert room.ask(one, CallLimits(None, None, 100, 1)).why == "spent"
    assert room.ask(one).why == ""
    found = talks.calls_in(room.participation)
    assert (found.calls, found.cost) == (3, 2.25)


def test_a_lost_call_settles_nothing_and_is_told(room):
    who = room.person("one")
    room.say(who, 0)
    call = room.ask(who)
    assert room.end(who, call.id, text="", down="gone away") == "again"
    assert room.stand(who).pending is not None
    assert room.ask(who).why == room.stand(who).asked == "failed", "not because another process looks"
    talks.ask_again(room.participation, who, room.chain)
    assert room.ask(who).why == ""
    talks.ask_again(room.participation, who, room.chain)
    assert room.ask(who).why == "asked"


@pytest.mark.parametrize(("status", "down"), [("unparseable", ""), ("error", "gone away")])
def test_what_came_of_a_call_is_written_once_however_often_it_is_tried(room, status, down):
    """A connection that broke while it was committed: whether it was, nobody had heard."""
    who = room.person("one")
    room.say(who, 0)
    call = room.ask(who)
    for _ in range(2):
        room.end(who, call.id, text="" if down else "Hm", status=status, down=down)
    assert len(room.stand(who).attempts) == (not down)
    with room.store.engine.connect() as connection:
        kinds = connection.execute(select(events.c.kind).where(events.c.person == who)).scalars().all()
    assert kinds.count("down") == bool(down)


def test_a_call_whose_time_ran_out_and_that_another_has_answered_only_says_what_it_took(room):
    who = room.person("one")
    room.say(who, 0)
    first, trial = room.ask(who), room.stand(who).pending.id
    room.now += 60
    second = room.ask(who)
    assert room.end(who, second.id, text="Mine.") == "kept"
    assert room.end(who, first.id, text="Late.", trial=trial) == "again"
    assert [turn.answer.text for turn in room.stand(who).turns if not turn.trial.seat] == ["Mine."]
    found = talks.calls_in(room.participation)
    assert (found.calls, found.left, found.cost) == (2, 0, 0.5)


def test_what_a_stop_of_the_server_cut_off_is_asked_again_unasked(room):
    who = room.person("one")
    room.say(who, 0)
    call = room.ask(who)
    assert room.end(who, call.id, text="", down="cut off", stopped=True) == "again"
    assert room.ask(who).why == ""
    room.now += 60
    found = talks.calls_in(room.participation)
    assert (found.calls, found.under_way, found.left, found.failed, found.cost) == (2, 0, 1, 1, 1.25)


def test_what_is_sent_once_more_is_held_like_the_first_and_what_was_is_settled(room):
    who = room.person("one")
    room.say(who, 0)
    calls, trial, limits = [room.ask(who).id], room.stand(who).pending.id, CallLimits(1.5, None, 100, 100)

    def again(took):
        more = talks.repeat_call(room.participation, calls, trial, took, (9, 1.0), limits, 15.0)
        calls.extend([more.id] if more.id else [])
        return more.why

    assert [again(took) for took in ((0, 0.0), (5, 0.25), (14, 1.25))] == ["", "", "waits"]
    found = talks.calls_in(room.participation)
    assert (found.calls, found.under_way, found.cost) == (3, 3, 1.25)
    room.now += 14
    talks.renew_call(room.participation, calls, 15.0)
    room.now += 14
    assert talks.calls_in(room.participation).under_way == 3


def test_whoever_stops_or_is_erased_gets_no_late_reply(room):
    one, two = room.person("one"), room.person("two")
    for who in (one, two):
        room.say(who, 0)
    calls = {who: room.ask(who).id for who in (one, two)}
    pending = {who: room.stand(who).pending.id for who in (one, two)}
    room.participation.stop(one)
    erase_person(room.participation, two)
    assert room.end(one, calls[one], trial=pending[one]) == "again"
    assert room.end(two, calls[two], trial=pending[two]) == "ended"
    assert room.ask(two, trial=pending[two]).why == "gone"
    with room.store.engine.connect() as connection:
        rows = connection.execute(select(talk_calls).order_by(talk_calls.c.id)).all()
    assert [(row.person, row.state, row.cost) for row in rows] == [(one, "done", 0.25), (None, "done", 0.25)]


def test_only_a_talk_that_is_over_is_left(room):
    who = room.person("one")
    step = room.stand(who).step
    assert talks.leave_talk(room.participation, who, step, room.chain) == "ahead"
    assert talks.leave_talk(room.participation, who, step + 1, room.chain) == "again"


def test_every_turn_renews_the_place(room):
    who = room.person("one")
    for turn in range(3):
        room.now += 50 * 60
        assert room.say(who, 2 * turn) == "kept"
        room.end(who, room.ask(who).id)
    room.say(who, 6, leaves=2)
    view = room.participation.look(who)
    room.participation.save(who, view.number, 1, {"understood": 4})
    room.participation.save(who, view.number + 1, 1, {})
    assert room.participation.look(who).state == "finished"
