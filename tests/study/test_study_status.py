"""How a study stands, on both stores; the median's interval against scipy."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from later import Later
from small_study import SECONDS, answer_for, small_design, take

from eqlab.analysis.intervals import proportion_estimate
from eqlab.core.study import Pay
from eqlab.store.study.records import erase_person
from eqlab.study.results.status import median_estimate, quantile, study_status

stats = Later("scipy.stats")


def paid(**more):
    return small_design(pay=Pay("GBP", per_hour=9.0, reward=1.5, fee=0.25), **more)


def test_an_empty_study(make_participation):
    now = study_status(make_participation(paid()))
    assert [(arm.arm, arm.open, arm.held, arm.done, arm.extra) for arm in now.arms] == [
        ("a", 2, 0, 0, 0),
        ("b", 2, 0, 0, 0),
    ]
    assert (now.places, now.done, now.people, now.pages, now.events) == (4, 0, {}, (), ())
    assert now.times.minutes.value is None
    assert now.times.per_hour is None
    assert now.attention.value is None
    assert (now.budget.spent, now.budget.expected) == (0, 4 * 1.5 * 1.25)


def test_states_are_told_in_words(make_participation):
    now = replace(study_status(make_participation(paid())), people={"finished": 2, "full": 1, "took_another": 3})
    assert now.people_said == (
        "2 finished, 1 turned away (the study was full), 3 turned away (took part in another study)"
    )
    assert replace(now, people={}).people_said == "nobody yet"


def test_people_on_their_way_and_at_the_end(make_participation, clock):
    participation = make_participation(paid(lease=10))
    done = participation.arrive("done", "en")
    take(participation, done, until="debrief")
    clock.now = 1_000_000 + 600 - SECONDS
    take(participation, done)
    declined = participation.arrive("declined", "en")
    participation.consent(declined, agreed=False)
    silent = participation.arrive("silent", "en")
    take(participation, silent, until="trial")
    clock.now += 700
    here = participation.arrive("here", "en")
    take(participation, here, until="quiz")
    gone = participation.arrive("gone", "en")
    erase_person(participation, gone)
    now = study_status(participation)
    assert now.people == {"arrived": 1, "declined": 1, "finished": 1, "taking": 1}
    assert now.erased == 1
    assert sum(arm.done for arm in now.arms) == 1
    assert sum(arm.held for arm in now.arms) == 0  # held too long counts as open
    assert sum(arm.open for arm in now.arms) == 3
    by_page = [(page.kind, page.reached, page.here, page.left) for page in now.pages[:3]]
    assert by_page == [("consent", 4, 0, 1), ("quiz", 3, 1, 0), ("trial", 2, 0, 1)]
    assert now.times.minutes.value == pytest.approx(10)
    assert now.times.per_hour == pytest.approx(9.0)
    assert now.times.paid_for == pytest.approx(10)
    assert now.times.too_low is False
    assert now.budget.spent == pytest.approx(1.875)
    assert (now.attention.value, now.attention.n) == (0, 1)
    assert now.attention_people == {0: 1}
    assert now.events[0].kind == "erased"
    assert any(event.kind == "assigned" for event in now.events)
    assert not any("arm" in event.detail for event in now.events)  # with its time: a look
    assert not any(person in str(now) for person in (done, declined, silent, here, gone))


def test_who_found_the_study_full_has_reached_no_page(make_participation):
    participation = make_participation(batches=1)
    people = [participation.arrive(f"p{number}", "en") for number in range(8)]
    for person in people:
        if participation.look(person).state not in ("full", "finished"):
            take(participation, person)
    late = participation.arrive("late", "en")
    now = study_status(participation)
    assert participation.look(late).state == "full"
    assert now.pages[0].reached == len(people)  # those who had come while there were places


def test_who_is_told_full_after_the_quiz_left_nowhere(make_participation):
    """An alert said that people leave at the quiz, which they had passed: their places were gone by then."""
    participation = make_participation(batches=1)
    late = [participation.arrive(f"late {number}", "en") for number in range(2)]
    for person in late:
        take(participation, person, until="quiz")
    for number in range(2):
        take(participation, participation.arrive(f"h{number}", "en"))
    for person in late:
        take(participation, person, until="full")
        assert participation.look(person).state == "full"
    assert [(page.reached, page.left) for page in study_status(participation).pages[:2]] == [(4, 0), (4, 0)]


def test_slow_people_are_paid_too_little(make_participation, clock):
    participation = make_participation(paid())
    person = participation.arrive("h", "en")
    clock.now += 1800
    take(participation, person)
    assert study_status(participation).times.too_low is True


def test_careless_people_are_counted(make_participation, clock):
    participation = make_participation(paid(size=6, attention=2))
    for name, careless in (("a", True), ("b", False)):
        person = participation.arrive(name, "en")
        take(participation, person, until="trial")
        odd = 0
        while (view := participation.look(person)).step is not None:
            if careless:
                values = {scale.key: 1 for scale in view.trial.form.scales} if view.trial else {}
            else:
                odd += 1
                values = answer_for(view) if view.step.kind != "trial" else {"rating": 1 + odd % 3}
            clock.now += 20
            shown = participation.clock() - (0.5 if careless else 20)
            participation.save(person, view.number, view.attempt, values, shown_at=shown)
    now = study_status(participation)
    assert (now.straight_lining.value, now.straight_lining.n) == (None, 0)  # one scale a page can show no pattern
    assert now.too_fast.value == 50
    assert now.too_fast.low is not None
    assert 0 < now.attention.value <= 50
    assert sum(now.attention_people.values()) == 2
    assert [page.seconds for page in now.pages if page.kind == "trial"]


def test_shares_of_pages_count_people(make_participation, clock):
    """264 pages of 24 people said 0.0 … 1.4: as if each page were somebody else's."""
    participation = make_participation(paid(size=6, attention=2))
    for name in "ab":
        take(participation, participation.arrive(name, "en"))
    now = study_status(participation)
    assert (now.too_fast.value, now.too_fast.n > 10) == (0, True)
    assert now.too_fast.high == pytest.approx(proportion_estimate("two people", 0, 2).high)
    assert now.attention.high == pytest.approx(now.too_fast.high)


def test_late_finishers_are_extra_and_cost_too(make_participation, clock):
    participation = make_participation(paid(arms=("a",), batches=1, lease=10))
    slow = participation.arrive("slow", "en")
    take(participation, slow, until="trial")
    clock.now += 601
    take(participation, participation.arrive("fast", "en"))
    take(participation, slow)
    now = study_status(participation)
    assert [(arm.open, arm.held, arm.done, arm.extra) for arm in now.arms] == [(0, 0, 1, 1)]
    assert now.budget.spent == now.budget.expected == pytest.approx(2 * 1.875)


def test_without_pay_there_is_no_budget(make_participation):
    participation = make_participation(small_design())
    take(participation, participation.arrive("h", "en"))
    now = study_status(participation)
    assert now.budget is None
    assert now.times.too_low is None


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=120))
def test_interval_of_the_median_has_its_probability(values):
    ordered = sorted(values)
    found = median_estimate("m", ordered)
    n = len(ordered)
    k = int(stats.binom.ppf(0.025, n, 0.5))  # smallest k with P(X <= k) >= 0.025: x(k) is the order statistic
    if k == 0:
        assert found.low is None
        assert n < 6
    else:
        assert (found.low, found.high) == (ordered[k - 1], ordered[n - k])
        assert 1 - 2 * stats.binom.cdf(k - 1, n, 0.5) >= 0.95
        assert found.low <= found.value <= found.high


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_quantile_is_numpys(values, share):
    import numpy as np

    assert quantile(sorted(values), share) == pytest.approx(float(np.quantile(values, share)), rel=1e-9, abs=1e-6)


def test_status_is_the_same_after_another_start(make_participation):
    participation = make_participation(paid())
    take(participation, participation.arrive("h", "en"))
    first = study_status(participation)
    again = study_status(type(participation)(participation.store, participation.design, participation.clock))
    assert replace(again, at=first.at) == first
