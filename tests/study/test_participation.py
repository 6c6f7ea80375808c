"""A person's way, step by step, on SQLite and on PostgreSQL."""

import json
from dataclasses import replace

import pytest
from small_study import answer_for, small_design, take
from sqlalchemy import func, select

from eqlab.core.errors import StoreError
from eqlab.core.moves import Unknown
from eqlab.core.runs import PEOPLE
from eqlab.store.schema import answers, events, panel_ids, places, progress
from eqlab.store.study import places as store_places
from eqlab.store.study.participation import SteadyClock
from eqlab.store.study.records import erase_cleanly, erase_person, export_person, find_by_panel
from eqlab.store.study.researchers import read_audit
from eqlab.store.study.studies import create_study
from eqlab.study.results.analysis import flow_table
from eqlab.study.results.participants import read_participants


def count(participation, table):
    with participation.store.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar()


def place_states(participation):
    with participation.store.engine.connect() as connection:
        return [row[0] for row in connection.execute(select(places.c.state).order_by(places.c.number))]


def test_whole_way_ends_with_a_place_done_and_every_answer_stored(make_participation):
    participation = make_participation()
    person = participation.arrive("hash-1", "en")
    view = take(participation, person)
    assert (view.state, view.ending) == ("finished", "complete")
    assert place_states(participation).count("done") == 1
    rows = list(participation.store.scored(participation.design.run.id, PEOPLE, "rating"))
    assert len(rows) == 2
    assert all(row.attempts[0].values == {"rating": 2} for row in rows)
    assert all(row.attempts[0].latency == 5 for row in rows)


def test_the_same_panel_id_is_the_same_person(make_participation):
    participation = make_participation()
    person = participation.arrive("hash-1", "en")
    take(participation, person, until="trial")
    assert participation.arrive("hash-1", "en") == person
    assert participation.look(person).step.kind == "trial"
    assert participation.arrive("hash-2", "en") != person
    assert participation.arrive(None, "en") != participation.arrive(None, "en")


def test_repeated_and_skipped_posts_change_nothing(make_participation):
    participation = make_participation()
    person = participation.arrive("h", "en")
    assert participation.save(person, 0, 1, {}).outcome == "ahead"  # consent is not a page to save
    assert participation.save(person, 3, 1, {"rating": 1}).outcome == "ahead"
    view = take(participation, person, until="trial")
    before = count(participation, answers)
    assert participation.save(person, view.number, 1, {"rating": 3}).outcome == "saved"
    assert participation.save(person, view.number, 1, {"rating": 1}).outcome == "again"
    assert participation.save(person, view.number + 5, 1, {"rating": 1}).outcome == "ahead"
    assert participation.consent(person, agreed=False).outcome == "again"
    assert count(participation, answers) == before + 1
    (answer,) = [
        row.attempts[0]
        for row in participation.store.scored(participation.design.run.id, PEOPLE, "rating")
        if row.attempts
    ]
    assert answer.values == {"rating": 3}


@pytest.mark.parametrize(
    ("values", "problems"),
    [
        ({}, {"rating": "missing"}),
        ({"rating": 4}, {"rating": "off"}),
        ({"rating": 0}, {"rating": "off"}),
        ({"rating": "two"}, {"rating": "off"}),
        ({"rating": True}, {"rating": "off"}),
        ({"rating": 2.5}, {"rating": "off"}),
        ({"rating": 2, "more": 1}, {"": "unknown"}),
    ],
)
def test_what_is_no_answer_is_refused_and_not_stored(make_participation, values, problems):
    participation = make_participation(attention=0)
    person = participation.arrive("h", "en")
    view = take(participation, person, until="trial")
    before = count(participation, answers)
    saved = participation.save(person, view.number, 1, values)
    assert (saved.outcome, dict(saved.problems)) == ("refused", problems)
    assert count(participation, answers) == before
    assert participation.look(person).number == view.number


def test_quiz_has_two_tries_and_then_ends_without_a_place(make_participation):
    participation = make_participation()
    person = participation.arrive("h", "en")
    view = take(participation, person, until="quiz")
    participation.save(person, view.number, 1, {"quiz1": 2})
    assert participation.look(person).attempt == 2
    assert participation.save(person, view.number, 1, {"quiz1": 1}).outcome == "again"
    assert participation.look(person).step.kind == "quiz"
    participation.save(person, view.number, 2, {"quiz1": 2})
    assert (participation.look(person).state, participation.look(person).ending) == ("failed", "failed")
    assert participation.save(person, view.number, 2, {"quiz1": 2}).outcome == "again"
    assert count(participation, answers) == 2
    assert set(place_states(participation)) == {"open"}


def test_declined_people_leave_no_answer(make_participation):
    participation = make_participation()
    person = participation.arrive("h", "en")
    participation.consent(person, agreed=False)
    assert participation.look(person).ending == "declined"
    assert participation.save(person, 1, 1, {"quiz1": 1}).outcome == "ended"
    assert count(participation, answers) == 0


def test_full_study_says_so_before_consent(make_participation):
    participation = make_participation(batches=1)
    for name in ("a", "b"):
        take(participation, participation.arrive(name, "en"))
    late = participation.look(participation.arrive("c", "en"))
    assert (late.state, late.ending, late.number) == ("full", "full", 0)


def test_expired_place_goes_to_the_next_and_the_late_finisher_is_extra(make_participation, clock):
    participation = make_participation(arms=("a",), batches=1, lease=10)
    slow = participation.arrive("slow", "en")
    take(participation, slow, until="trial")
    clock.now += 601
    fast = participation.arrive("fast", "en")
    assert take(participation, fast).state == "finished"
    assert take(participation, slow).state == "extra"
    assert place_states(participation) == ["done"]
    assert len(list(participation.store.scored(participation.design.run.id, PEOPLE, "rating"))) == 4


def test_late_finisher_whose_place_nobody_took_keeps_it(make_participation, clock):
    participation = make_participation(arms=("a",), batches=1, lease=10)
    slow = participation.arrive("slow", "en")
    take(participation, slow, until="debrief")
    clock.now += 6000
    assert take(participation, slow).state == "finished"
    assert place_states(participation) == ["done"]


@pytest.mark.parametrize("until", ["trial", "debrief"])
def test_a_lapsed_place_that_was_opened_to_others_is_taken_back_by_its_holder(make_participation, clock, until):
    """Two places lapse; the newcomer takes one of them, and the other's holder comes back before anybody else."""
    participation = make_participation(arms=("a",), batches=2, lease=10)
    first, second = (participation.arrive(name, "en") for name in ("first", "second"))
    for person in (first, second):
        take(participation, person, until=until)
    clock.now += 6000
    take(participation, participation.arrive("newcomer", "en"), until="trial")
    assert place_states(participation) == ["held", "open"]
    view = participation.look(second)
    participation.save(second, view.number, view.attempt, answer_for(view))
    assert place_states(participation) == ["held", "done" if until == "debrief" else "held"]
    assert participation.look(participation.arrive("too late", "en")).state == "full"
    assert take(participation, second).state == "finished"
    assert take(participation, first).state == "extra"


def test_every_save_renews_the_place(make_participation, clock):
    participation = make_participation(arms=("a",), batches=1, size=4, lease=10)
    person = participation.arrive("h", "en")
    take(participation, person, until="trial")
    while participation.look(person).step.kind in ("trial", "attention"):
        view = participation.look(person)
        clock.now += 590
        participation.save(person, view.number, 1, answer_for(view))
    assert participation.look(participation.arrive("other", "en")).state == "full"


def test_panel_event_releases_at_once_and_only_once(make_participation):
    participation = make_participation(arms=("a",), batches=1)
    person = participation.arrive("h", "en")
    take(participation, person, until="trial")
    assert participation.release("h", "event-1", "RETURNED")
    assert place_states(participation) == ["open"]
    other = participation.arrive("i", "en")
    take(participation, other, until="trial")
    assert not participation.release("h", "event-1", "RETURNED")
    assert not participation.release("nobody", "event-2", "RETURNED")
    assert place_states(participation) == ["held"]
    assert participation.look(person).state == "returned"


def test_whoever_returned_does_not_take_the_place_again(make_participation):
    participation = make_participation(arms=("a",), batches=1)
    person = participation.arrive("h", "en")
    view = take(participation, person, until="trial")
    assert participation.release("h", "event-1", "RETURNED")
    assert participation.save(person, view.number, 1, {"rating": 1}).outcome == "ended"
    assert place_states(participation) == ["open"]


def test_whoever_timed_out_may_finish_as_extra_and_keeps_no_place(make_participation):
    participation = make_participation(arms=("a",), batches=1)
    person = participation.arrive("h", "en")
    take(participation, person, until="trial")
    assert participation.release("h", "event-1", "timed-out")
    assert take(participation, person).state == "extra"
    assert place_states(participation) == ["open"]


def test_arms_fill_evenly(make_participation):
    participation = make_participation(batches=3, people=2)
    people = [participation.arrive(f"h{n}", "en") for n in range(12)]
    arms = []
    for person in people:
        take(participation, person, until="trial")
        arms.append(participation.look(person).arm)
        assert abs(arms.count("a") - arms.count("b")) <= 1
    assert arms.count("a") == 6


def test_stopping_opens_the_place_and_keeps_answers_unless_erased(make_participation):
    participation = make_participation()
    person = participation.arrive("h", "en")
    view = take(participation, person, until="trial")
    participation.save(person, view.number, 1, {"rating": 3})
    participation.stop(person)
    assert set(place_states(participation)) == {"open"}
    assert participation.look(person).state == "stopped"
    assert participation.save(person, view.number + 1, 1, {"rating": 3}).outcome == "ended"
    kept = export_person(participation, person)
    assert sorted(str(one["values"]) for one in kept["answers"]) == ["{'quiz1': 1}", "{'rating': 3}"]
    assert find_by_panel(participation, "h") == person
    assert erase_person(participation, person) == 2
    assert find_by_panel(participation, "h") is None
    assert count(participation, answers) == count(participation, progress) == count(participation, panel_ids) == 0
    with participation.store.engine.connect() as connection:
        left = connection.execute(select(events.c.kind, events.c.person)).all()
    assert left == [("erased", None)]
    with pytest.raises(Unknown):
        participation.look(person)
    with pytest.raises(Unknown):
        export_person(participation, person)


def test_erasing_a_finished_person_opens_the_place_again(make_participation):
    participation = make_participation(arms=("a",), batches=1)
    person = participation.arrive("h", "en")
    take(participation, person)
    assert place_states(participation) == ["done"]
    erase_person(participation, person)
    assert place_states(participation) == ["open"]


def test_people_of_an_earlier_study_may_be_kept_out(make_participation):
    first = make_participation()
    second = make_participation(small_design("second", not_after=("small",)))
    early = second.arrive("h", "en")  # before anything of the first study
    first.consent(first.arrive("h", "en"), agreed=True)
    assert second.look(second.arrive("h", "en")).state == "took_another"
    assert second.look(second.arrive("i", "en")).state == "arrived"
    second.consent(early, agreed=True)
    assert second.look(early).state == "took_another"
    flow = dict(flow_table(read_participants(second)).rows)  # they were called full, with places open
    assert (flow["turned away: took part in another study"], flow["turned away: the study was full"]) == (2, 0)


def test_a_begun_study_keeps_its_pages(make_participation):
    participation = make_participation()
    create_study(participation.store, small_design(), "", "test", {})
    with pytest.raises(StoreError, match="other pages"):
        create_study(participation.store, small_design(size=3), "", "test", {})


def test_plan_is_drawn_once_and_stored(make_participation):
    participation = make_participation(size=6, attention=2)
    person = participation.arrive("h", "en")
    take(participation, person, until="trial")
    kept = export_person(participation, person)["participants"][0]
    assert json.loads(json.dumps(kept["steps"])) == kept["steps"]
    kinds = [kind for kind, _ in kept["steps"]]
    assert kinds[:3] == ["consent", "quiz", "trial"]
    assert kinds.count("attention") == 2
    assert kinds[-1] == "debrief"
    assert len({trial for _, trial in kept["steps"] if trial}) == 9


def test_two_transactions_never_decide_on_the_same_person_at_once(make_participation):
    """Whoever reads a person to change them holds the row to the end: the second waits and sees the outcome."""
    import threading

    from eqlab.store.engine import writing
    from eqlab.store.study.places import find_people

    participation = make_participation()
    person = participation.arrive(None, "en")
    held, seen, order = threading.Event(), threading.Event(), []

    def second():
        held.wait(20)
        participation.consent(person, True)
        order.append("second")
        seen.set()

    other = threading.Thread(target=second)
    other.start()
    with writing(participation.store.engine) as connection:
        assert person in find_people(connection, participation.study.id, [person], lock=True)
        held.set()
        assert not seen.wait(0.7)
        order.append("first")
    other.join(20)
    assert order == ["first", "second"]
    assert participation.look(person).number == 1


def test_a_page_sent_from_two_tabs_at_once_is_kept_once(make_participation):
    import threading

    participation = make_participation()
    person = participation.arrive(None, "en")
    participation.consent(person, True)
    together, outcomes = threading.Barrier(4), []

    def send(value):
        together.wait(20)
        outcomes.append(participation.save(person, 1, 1, {"quiz1": value}).outcome)

    tabs = [threading.Thread(target=send, args=(1,)) for _ in range(4)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join(30)
    assert sorted(outcomes) == ["again", "again", "again", "saved"]
    assert count(participation, answers) == 1


def test_a_clock_set_back_keeps_nobody_waiting_and_makes_no_time_of_nothing(make_participation, clock):
    participation = make_participation(arms=("a",), batches=1, lease=10.0)
    slow = participation.arrive("slow", "en")
    view = take(participation, slow, until="trial")
    clock.now -= 7200  # the machine was started anew, two hours earlier by its clock
    assert participation.save(slow, view.number, view.attempt, answer_for(view), shown_at=clock()).outcome == "saved"
    (answer,) = [one for row in participation.store.scored(participation.design.run.id, PEOPLE, "rating")
                 for one in row.attempts]  # fmt: skip
    assert answer.latency is None  # nobody knows it
    clock.now += 700  # longer than the lease of ten minutes, less than the two hours
    assert take(participation, participation.arrive("next", "en")).state == "finished"


def test_the_time_goes_on_when_the_machines_clock_is_set_back():
    wall, steady = [1000.0], [5.0]
    clock = SteadyClock(lambda: wall[0], lambda: steady[0])
    assert clock() == 1000.0
    wall[0], steady[0] = 1000.0 - 7200, 15.0
    assert clock() == 1010.0
    wall[0], steady[0] = 2000.0, 25.0  # set right, or woken up
    assert clock() == 2000.0


def test_the_number_of_pages_is_right_from_the_first_page_on(make_participation):
    participation = make_participation(batches=1, attention=2)
    person = participation.arrive("h", "en")
    totals = set()
    while (view := participation.look(person)).step is not None:
        totals.add(view.total)
        if view.step.kind == "consent":
            participation.consent(person, agreed=True)
        else:
            participation.save(person, view.number, view.attempt, answer_for(view))
    assert totals == {view.number + 1}


def test_where_batches_differ_in_length_the_first_pages_say_at_most(make_participation):
    design = small_design(batches=1)
    first, *rest = design.batches
    participation = make_participation(replace(design, batches=(replace(first, trials=first.trials[:1]), *rest)))
    person = participation.arrive("h", "en")
    seen = []
    while (view := participation.look(person)).step is not None:
        seen.append((view.sure, view.total))
        if view.step.kind == "consent":
            participation.consent(person, agreed=True)
        else:
            participation.save(person, view.number, view.attempt, answer_for(view))
    assert {total for sure, total in seen if sure} == {view.number + 1}
    assert not seen[0][0]
    assert seen[0][1] >= view.number + 1


def test_the_pseudonym_of_somebody_erased_leaves_the_audit(make_participation):
    participation = make_participation()
    person, other = participation.arrive("h", "en"), participation.arrive("i", "en")
    for one in (person, other):
        take(participation, one, until="trial")
        participation.send_away(one, "returned", "ada")
    erase_person(participation, person, "person")
    told = [one.detail.get("person") for one in read_audit(participation.store, "small")]
    assert told == ["erased", other]


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_deleted_is_said_only_when_nothing_is_left_in_the_files(make_participation, monkeypatch):
    monkeypatch.setattr("eqlab.store.engine._SCRUB", 0.01)
    participation = make_participation()
    people = [participation.arrive(name, "en") for name in "hi"]
    for person in people:
        take(participation, person)
    with participation.store.engine.connect() as reader:
        reader.execute(select(answers)).first()  # somebody reads, and holds the log
        assert erase_cleanly(participation, people[0], "person")[1] is False
    assert erase_cleanly(participation, people[1], "person")[1] is True


@pytest.mark.parametrize("how", ["erased", "stopped", "returned", "released"])
def test_what_the_database_ends_in_a_deadlock_is_done_again(make_participation, monkeypatch, how):
    """A deletion and a release at one moment waited for each other, and one of them failed."""
    participation = make_participation()
    person = participation.arrive("h", "en")
    take(participation, person, until="trial")
    give_back, asked = store_places.give_back, []

    def ended_once(*given):
        asked.append(given)
        if len(asked) == 1:
            raise StoreError("The store failed: deadlock detected.")
        return give_back(*given)

    monkeypatch.setattr(store_places, "give_back", ended_once)
    doings = {
        "erased": lambda: erase_person(participation, person, "person"),
        "stopped": lambda: participation.stop(person),
        "returned": lambda: participation.send_away(person, "returned", "ada"),
        "released": lambda: participation.release("h", "event", "returned"),
    }
    doings[how]()
    assert len(asked) == 2
    assert set(place_states(participation)) == {"open"}
