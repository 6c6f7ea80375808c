"""A person's way, step by step, on SQLite and on PostgreSQL."""

import json

import pytest
from small_study import answer_for, small_design, take
from sqlalchemy import func, select

from eqlab.core.errors import StoreError
from eqlab.core.runs import PEOPLE
from eqlab.people.erase import erase_person, export_person, find_by_panel
from eqlab.people.founding import found
from eqlab.people.moves import Unknown
from eqlab.store.schema import answers, events, panel_ids, places


def count(register, table):
    with register.store.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar()


def place_states(register):
    with register.store.engine.connect() as connection:
        return [row[0] for row in connection.execute(select(places.c.state).order_by(places.c.number))]


def test_whole_way_ends_with_a_place_done_and_every_answer_stored(make_register):
    register = make_register()
    person = register.arrive("hash-1", "en")
    view = take(register, person)
    assert (view.state, view.ending) == ("finished", "complete")
    assert place_states(register).count("done") == 1
    rows = list(register.store.scored(register.design.run.id, PEOPLE, "rating"))
    assert len(rows) == 2
    assert all(row.attempts[0].values == {"rating": 2} for row in rows)
    assert all(row.attempts[0].latency == 5 for row in rows)


def test_the_same_panel_id_is_the_same_person(make_register):
    register = make_register()
    person = register.arrive("hash-1", "en")
    take(register, person, until="trial")
    assert register.arrive("hash-1", "en") == person
    assert register.look(person).step.kind == "trial"
    assert register.arrive("hash-2", "en") != person
    assert register.arrive(None, "en") != register.arrive(None, "en")


def test_repeated_and_skipped_posts_change_nothing(make_register):
    register = make_register()
    person = register.arrive("h", "en")
    assert register.save(person, 0, 1, {}).outcome == "ahead"  # consent is not a page to save
    assert register.save(person, 3, 1, {"rating": 1}).outcome == "ahead"
    view = take(register, person, until="trial")
    before = count(register, answers)
    assert register.save(person, view.number, 1, {"rating": 3}).outcome == "saved"
    assert register.save(person, view.number, 1, {"rating": 1}).outcome == "again"
    assert register.save(person, view.number + 5, 1, {"rating": 1}).outcome == "ahead"
    assert register.consent(person, agreed=False).outcome == "again"
    assert count(register, answers) == before + 1
    (answer,) = [
        row.attempts[0] for row in register.store.scored(register.design.run.id, PEOPLE, "rating") if row.attempts
    ]
    assert answer.values == {"rating": 3}


@pytest.mark.parametrize(
    ("values", "problems"),
    [
        ({}, {"rating": "missing"}),
        ({"rating": 4}, {"rating": "off"}),
        ({"rating": 0}, {"rating": "off"}),
        ({"rating": "2"}, {"rating": "off"}),
        ({"rating": True}, {"rating": "off"}),
        ({"rating": 2.0}, {"rating": "off"}),
        ({"rating": 2, "more": 1}, {"": "unknown"}),
    ],
)
def test_what_is_no_answer_is_refused_and_not_stored(make_register, values, problems):
    register = make_register(attention=0)
    person = register.arrive("h", "en")
    view = take(register, person, until="trial")
    before = count(register, answers)
    saved = register.save(person, view.number, 1, values)
    assert (saved.outcome, dict(saved.problems)) == ("refused", problems)
    assert count(register, answers) == before
    assert register.look(person).number == view.number


def test_quiz_has_two_tries_and_then_ends_without_a_place(make_register):
    register = make_register()
    person = register.arrive("h", "en")
    view = take(register, person, until="quiz")
    register.save(person, view.number, 1, {"quiz1": 2})
    assert register.look(person).attempt == 2
    assert register.save(person, view.number, 1, {"quiz1": 1}).outcome == "again"
    assert register.look(person).step.kind == "quiz"
    register.save(person, view.number, 2, {"quiz1": 2})
    assert (register.look(person).state, register.look(person).ending) == ("failed", "failed")
    assert register.save(person, view.number, 2, {"quiz1": 2}).outcome == "again"
    assert count(register, answers) == 2
    assert set(place_states(register)) == {"open"}


def test_declined_people_leave_no_answer(make_register):
    register = make_register()
    person = register.arrive("h", "en")
    register.consent(person, agreed=False)
    assert register.look(person).ending == "declined"
    assert register.save(person, 1, 1, {"quiz1": 1}).outcome == "ended"
    assert count(register, answers) == 0


def test_full_study_says_so_before_consent(make_register):
    register = make_register(batches=1)
    for name in ("a", "b"):
        take(register, register.arrive(name, "en"))
    late = register.look(register.arrive("c", "en"))
    assert (late.state, late.ending, late.number) == ("full", "full", 0)


def test_expired_place_goes_to_the_next_and_the_late_finisher_is_extra(make_register, clock):
    register = make_register(arms=("a",), batches=1, lease=10)
    slow = register.arrive("slow", "en")
    take(register, slow, until="trial")
    clock.now += 601
    fast = register.arrive("fast", "en")
    assert take(register, fast).state == "finished"
    assert take(register, slow).state == "extra"
    assert place_states(register) == ["done"]
    assert len(list(register.store.scored(register.design.run.id, PEOPLE, "rating"))) == 4


def test_late_finisher_whose_place_nobody_took_keeps_it(make_register, clock):
    register = make_register(arms=("a",), batches=1, lease=10)
    slow = register.arrive("slow", "en")
    take(register, slow, until="debrief")
    clock.now += 6000
    assert take(register, slow).state == "finished"
    assert place_states(register) == ["done"]


def test_every_save_renews_the_place(make_register, clock):
    register = make_register(arms=("a",), batches=1, size=4, lease=10)
    person = register.arrive("h", "en")
    take(register, person, until="trial")
    while register.look(person).step.kind in ("trial", "attention"):
        view = register.look(person)
        clock.now += 590
        register.save(person, view.number, 1, answer_for(view))
    assert register.look(register.arrive("other", "en")).state == "full"


def test_panel_event_releases_at_once_and_only_once(make_register):
    register = make_register(arms=("a",), batches=1)
    person = register.arrive("h", "en")
    take(register, person, until="trial")
    assert register.release("h", "event-1", "RETURNED")
    assert place_states(register) == ["open"]
    other = register.arrive("i", "en")
    take(register, other, until="trial")
    assert not register.release("h", "event-1", "RETURNED")
    assert not register.release("nobody", "event-2", "RETURNED")
    assert place_states(register) == ["held"]
    assert take(register, person).state == "extra"


def test_arms_fill_evenly(make_register):
    register = make_register(batches=3, people=2)
    people = [register.arrive(f"h{n}", "en") for n in range(12)]
    arms = []
    for person in people:
        take(register, person, until="trial")
        arms.append(register.look(person).arm)
        assert abs(arms.count("a") - arms.count("b")) <= 1
    assert arms.count("a") == 6


def test_stopping_opens_the_place_and_keeps_answers_unless_erased(make_register):
    register = make_register()
    person = register.arrive("h", "en")
    view = take(register, person, until="trial")
    register.save(person, view.number, 1, {"rating": 3})
    register.stop(person)
    assert set(place_states(register)) == {"open"}
    assert register.look(person).state == "stopped"
    assert register.save(person, view.number + 1, 1, {"rating": 3}).outcome == "ended"
    kept = export_person(register, person)
    assert sorted(str(one["values"]) for one in kept["answers"]) == ["{'quiz1': 1}", "{'rating': 3}"]
    assert find_by_panel(register, "h") == person
    assert erase_person(register, person) == 2
    assert find_by_panel(register, "h") is None
    assert count(register, answers) == count(register, panel_ids) == 0
    with register.store.engine.connect() as connection:
        left = connection.execute(select(events.c.kind, events.c.person)).all()
    assert left == [("erased", None)]
    with pytest.raises(Unknown):
        register.look(person)
    with pytest.raises(Unknown):
        export_person(register, person)


def test_erasing_a_finished_person_opens_the_place_again(make_register):
    register = make_register(arms=("a",), batches=1)
    person = register.arrive("h", "en")
    take(register, person)
    assert place_states(register) == ["done"]
    erase_person(register, person)
    assert place_states(register) == ["open"]


def test_people_of_an_earlier_study_may_be_kept_out(make_register):
    first = make_register()
    first.arrive("h", "en")
    second = make_register(small_design("second", not_after=("small",)))
    assert second.look(second.arrive("h", "en")).state == "full"
    assert second.look(second.arrive("i", "en")).state == "arrived"


def test_a_begun_study_keeps_its_pages(make_register):
    register = make_register()
    found(register.store, small_design(), "", "test", {})
    with pytest.raises(StoreError, match="other pages"):
        found(register.store, small_design(size=3), "", "test", {})


def test_plan_is_drawn_once_and_stored(make_register):
    register = make_register(size=6, attention=2)
    person = register.arrive("h", "en")
    take(register, person, until="trial")
    kept = export_person(register, person)["participants"][0]
    assert json.loads(json.dumps(kept["steps"])) == kept["steps"]
    kinds = [kind for kind, _ in kept["steps"]]
    assert kinds[:3] == ["consent", "quiz", "trial"]
    assert kinds.count("attention") == 2
    assert kinds[-1] == "debrief"
    assert len({trial for _, trial in kept["steps"] if trial}) == 9
