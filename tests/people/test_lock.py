"""Confirmatory is a word that has to be earned: locked before the first answer, and nothing changed since."""

from dataclasses import replace

import pytest
from small_study import small_design, take

from eqlab.core.errors import StoreError
from eqlab.people.erase import erase_person
from eqlab.people.lock import lock_plan, read_lock, standing
from eqlab.people.register import Register
from eqlab.people.study import AnalysisPlan


def with_plan(register, **plan):
    """The same study in the same store, its file's analysis plan changed."""
    study = replace(register.study, analysis=AnalysisPlan(**plan))
    return Register(register.store, replace(register.design, study=study), register.clock)


def test_locked_before_the_first_answer_is_confirmatory(make_register, clock):
    register = make_register()
    assert (read_lock(register), standing(register, "1").confirmatory) == (None, False)
    person = register.arrive("h", "en")
    take(register, person, until="trial")  # the quiz is answered, no trial is
    clock.now += 1
    lock, new = lock_plan(register, "1")
    assert (new, lock.at, read_lock(register)) == (True, clock.now, lock)
    clock.now += 1
    take(register, person)
    found = standing(register, "1")
    assert (found.confirmatory, found.label, found.first_answer_at) == (True, "confirmatory", clock.now)


def test_never_locked_or_locked_after_the_first_answer_is_exploratory(make_register, clock):
    register = make_register()
    take(register, register.arrive("h", "en"))
    assert "never locked" in standing(register, "1").reason
    clock.now += 1
    lock_plan(register, "1")
    found = standing(register, "1")
    assert not found.confirmatory
    assert "after the first answer" in found.reason


def test_locked_at_the_very_moment_of_the_first_answer_is_not_before_it(make_register):
    register = make_register()
    lock_plan(register, "1")
    take(register, register.arrive("h", "en"))
    assert not standing(register, "1").confirmatory


def test_the_same_plan_again_changes_nothing_and_another_is_refused(make_register, clock):
    register = make_register()
    first, _ = lock_plan(register, "1")
    clock.now += 60
    assert lock_plan(register, "1") == (first, False)
    with pytest.raises(StoreError, match=r"analysis\.alpha was 0\.05, is 0\.01"):
        lock_plan(with_plan(register, alpha=0.01), "1")
    with pytest.raises(StoreError, match="another plan"):
        lock_plan(register, "2")
    assert read_lock(register) == first


@pytest.mark.parametrize(
    ("plan", "version", "said"),
    [
        ({"exclude": ()}, "1", "analysis.exclude"),
        ({"reference": "b"}, "1", "analysis.reference"),
        ({}, "2", 'eqlab was "1", is "2"'),
    ],
)
def test_a_changed_plan_or_version_is_exploratory(make_register, clock, plan, version, said):
    register = make_register()
    lock_plan(register, "1")
    clock.now += 1
    take(register, register.arrive("h", "en"))
    found = standing(with_plan(register, **plan), version)
    assert not found.confirmatory
    assert said in found.reason
    assert standing(register, "1").confirmatory


def test_erasing_early_answers_does_not_make_a_late_lock_early(make_register, clock):
    register = make_register(batches=3)
    early, late = register.arrive("early", "en"), register.arrive("late", "en")
    take(register, early)
    clock.now += 1
    lock_plan(register, "1")
    clock.now += 1
    take(register, late)
    erase_person(register, early)
    assert "erased" in standing(register, "1").reason


def test_erasing_people_who_came_after_the_lock_keeps_it_confirmatory(make_register, clock):
    register = make_register(batches=3)
    before = register.arrive("looked only", "en")
    take(register, before, until="trial")
    lock_plan(register, "1")
    clock.now += 1
    after = register.arrive("after", "en")
    take(register, after)
    for person in (before, after):
        erase_person(register, person)
    assert standing(register, "1").confirmatory


def test_a_study_that_has_not_begun_cannot_be_locked(make_register):
    register = make_register()
    with pytest.raises(StoreError, match="has not begun"):
        lock_plan(Register(register.store, small_design("other"), register.clock), "1")
