"""Confirmatory is a word that has to be earned: locked before the first answer, and nothing changed since."""

import json
from dataclasses import replace

import pytest
from small_study import SECONDS, rate, small_design, take
from sqlalchemy import delete, insert, select

from eqlab.core.errors import StoreError
from eqlab.core.forms import Form, Scale
from eqlab.core.study import AnalysisPlan
from eqlab.core.trials import Trial
from eqlab.store.schema import answers, audit, chain
from eqlab.store.study.lock import lock_plan, read_lock, standing
from eqlab.store.study.participation import Participation
from eqlab.store.study.records import erase_person
from eqlab.store.study.studies import set_status
from eqlab.study.results.analysis import analyse, analysis_code, analysis_libraries
from eqlab.study.results.bundle import exported_breaks
from eqlab.study.results.export import export_all


def with_plan(participation, **plan):
    """The same study in the same store, its file's analysis plan changed."""
    study = replace(participation.study, analysis=AnalysisPlan(**plan))
    return Participation(participation.store, replace(participation.design, study=study), participation.clock)


def test_locked_before_the_first_answer_is_confirmatory(make_participation, clock):
    participation = make_participation()
    assert (read_lock(participation), standing(participation, "1").confirmatory) == (None, False)
    person = participation.arrive("h", "en")
    take(participation, person, until="trial")  # the quiz is answered, no trial is
    clock.now += 1
    lock, new = lock_plan(participation, "1")
    assert (new, lock.at, read_lock(participation)) == (True, clock.now, lock)
    clock.now += 1
    answered = clock.now + SECONDS
    take(participation, person)
    found = standing(participation, "1")
    assert (found.confirmatory, found.first_answer_at) == (True, answered)
    assert (found.label, found.done, found.planned) == ("interim", 1, 4)  # not before the planned number
    for name in "ijk":
        take(participation, participation.arrive(name, "en"))
    assert standing(participation, "1").label == "confirmatory"


def test_never_locked_or_locked_after_the_first_answer_is_exploratory(make_participation, clock):
    participation = make_participation()
    take(participation, participation.arrive("h", "en"))
    assert "never locked" in standing(participation, "1").reason
    clock.now += 1
    lock_plan(participation, "1")
    found = standing(participation, "1")
    assert not found.confirmatory
    assert "after the first answer" in found.reason


def test_answers_to_the_questions_before_are_no_trials(make_participation, clock):
    """Somebody had answered the page about themselves when the plan was locked: nothing is known of a result."""
    own = Trial("question", ("before",), "before", "", Form((Scale("gender", "Gender", 1, 2, ()),)), "")
    participation = make_participation(replace(small_design(), before=own))
    person = participation.arrive("h", "en")
    view = take(participation, person, until="question")
    participation.save(person, view.number, 1, {"gender": 1})
    clock.now += 1
    lock_plan(participation, "1")
    clock.now += 1
    found = standing(participation, "1")
    assert (found.confirmatory, found.first_answer_at) == (True, None)
    erase_person(participation, person, "person")
    assert standing(participation, "1").confirmatory


def test_locked_at_the_very_moment_of_the_first_answer_is_not_before_it(make_participation):
    participation = make_participation()
    person = participation.arrive("h", "en")
    view = take(participation, person, until="trial")
    lock_plan(participation, "1")
    participation.save(person, view.number, 1, {"rating": 1})
    assert not standing(participation, "1").confirmatory


def test_a_lock_by_a_clock_that_runs_ahead_is_before_what_the_chain_has_after_it(make_participation, clock):
    """On a machine an hour ahead of the server's: honest people answered "before" it."""
    participation = make_participation(arms=("a",), batches=2, size=4)
    clock.now += 3600
    lock_plan(participation, *analysis_code(), "ada", analysis_libraries())
    clock.now -= 3600
    one = rate(participation, "a", (1, 2, 3))
    found = standing(participation, *analysis_code(), analysis_libraries())
    assert (found.label, found.first_answer_at < found.lock.at) == ("interim", True)
    assert "answered after that, as the chain of events tells" in found.reason
    erase_person(participation, one, "person")
    rate(participation, "b", (1, 2, 3))
    rate(participation, "c", (1, 2, 3))
    assert standing(participation, *analysis_code(), analysis_libraries()).label == "confirmatory"
    with participation.store.engine.begin() as connection:  # somebody whom the chain does not know
        rows = connection.execute(select(answers)).mappings().all()
        made = [{**row, "subject": "person:made up"} for row in rows if row["subject"] == rows[0]["subject"]]
        connection.execute(insert(answers), made)
    assert "after the first answer" in standing(participation, *analysis_code(), analysis_libraries()).reason


def test_without_a_link_of_the_lock_the_clock_tells(make_participation, clock):
    participation = make_participation(arms=("a",), batches=2, size=4)
    clock.now += 3600
    lock_plan(participation, "1", who="ada")
    clock.now -= 3600
    rate(participation, "a", (1, 2, 3))
    assert standing(participation, "1").confirmatory
    with participation.store.engine.begin() as connection:
        connection.execute(delete(chain))
        connection.execute(delete(audit))
    assert "after the first answer" in standing(participation, "1").reason


def test_the_same_plan_again_changes_nothing_and_another_is_refused(make_participation, clock):
    participation = make_participation()
    first, _ = lock_plan(participation, "1")
    clock.now += 60
    assert lock_plan(participation, "1") == (first, False)
    with pytest.raises(StoreError, match=r"analysis\.alpha was 0\.05, is 0\.01"):
        lock_plan(with_plan(participation, alpha=0.01), "1")
    with pytest.raises(StoreError, match="another plan"):
        lock_plan(participation, "2")
    assert read_lock(participation) == first


@pytest.mark.parametrize(
    ("plan", "version", "said"),
    [
        ({"exclude": ()}, "1", "analysis.exclude"),
        ({"reference": "b"}, "1", "analysis.reference"),
        ({}, "2", 'eqlab was "1", is "2"'),
    ],
)
def test_a_changed_plan_or_version_is_exploratory(make_participation, clock, plan, version, said):
    participation = make_participation()
    lock_plan(participation, "1")
    clock.now += 1
    take(participation, participation.arrive("h", "en"))
    found = standing(with_plan(participation, **plan), version)
    assert not found.confirmatory
    assert said in found.reason
    assert standing(participation, "1").confirmatory


def test_erasing_early_answers_does_not_make_a_late_lock_early(make_participation, clock):
    participation = make_participation(batches=3)
    early, late = participation.arrive("early", "en"), participation.arrive("late", "en")
    take(participation, early)
    clock.now += 1
    lock_plan(participation, "1")
    clock.now += 1
    take(participation, late)
    erase_person(participation, early)
    assert "erased" in standing(participation, "1").reason


def test_people_who_delete_their_own_answers_keep_it_confirmatory(make_participation, clock):
    participation = make_participation(batches=3)
    before = participation.arrive("looked only", "en")
    take(participation, before, until="trial")
    lock_plan(participation, "1")
    clock.now += 1
    after = participation.arrive("after", "en")
    take(participation, after)
    for person in (before, after):
        erase_person(participation, person, "person")
    assert standing(participation, "1").confirmatory


@pytest.mark.parametrize("change", ["one more is late", "nobody is late", "settled before"])
@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_an_export_cannot_choose_who_finished_in_time(make_participation, clock, tmp_path, change):
    """One name in study.json took a person out of a confirmatory result, or let one in, and every check agreed."""
    participation = make_participation(arms=("a",), batches=2)
    lock_plan(participation, *analysis_code(), libraries=analysis_libraries())
    clock.now += 1
    extra = participation.arrive("late", "en")
    take(participation, extra, until="trial")
    first = participation.arrive("i", "en")
    take(participation, first)
    set_status(participation, "closed", "ada")
    take(participation, extra)
    export_all(participation, tmp_path / "out", "ada")
    assert exported_breaks(tmp_path / "out", 0.0) == []
    path = tmp_path / "out" / "study.json"
    about = json.loads(path.read_text())
    stands = about["standing"]
    assert (stands["confirmatory"], stands["late"]) == (True, [extra])
    stands |= {
        "one more is late": {"late": [extra, first]},
        "nobody is late": {"late": []},
        "settled before": {"late": None, "settled_at": stands["settled_at"] - 1},
    }[change]
    path.write_text(json.dumps(about))
    said = exported_breaks(tmp_path / "out", 0.0)
    assert said[0].startswith("what it says of its results leaves out")


def test_who_is_returned_after_answering_is_told_above_the_tables_by_arm(make_participation, clock):
    """A panel's messages are signed with a secret that the researcher has: with them people can be chosen by their
    answers, and the word confirmatory stays."""
    participation = make_participation()
    lock_plan(participation, *analysis_code(), libraries=analysis_libraries())
    clock.now += 1
    quiet = participation.arrive("quiet", "en")
    take(participation, quiet, until="trial")
    assert participation.release("quiet", "event-0", "RETURNED")
    person = participation.arrive("liked", "en")
    view = take(participation, person, until="trial")
    participation.save(person, view.number, 1, {"rating": 1})
    arm = participation.look(person).arm
    assert participation.release("liked", "event-1", "RETURNED")
    for name in "ijkl":
        take(participation, participation.arrive(name, "en"))
    found = analyse(participation)
    assert found.standing.label == "confirmatory"
    (told,) = [said for said in found.result.caveats if said.startswith("Returned to the panel")]
    assert f"after answering a trial: 1 (by arm: {arm} 1)" in told


def test_a_study_that_has_not_begun_cannot_be_locked(make_participation):
    participation = make_participation()
    with pytest.raises(StoreError, match="has not begun"):
        lock_plan(Participation(participation.store, small_design("other"), participation.clock), "1")


@pytest.mark.parametrize("edit", ["planned", "label", "question"])
@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_an_export_cannot_choose_its_places_or_questions(make_participation, clock, tmp_path, edit):
    """An interim result became final by one number, and a reversed one right by other names of its arms."""
    participation = make_participation(arms=("a", "b"), batches=2)
    lock_plan(participation, *analysis_code(), libraries=analysis_libraries())
    clock.now += 1
    for name in "ij":
        take(participation, participation.arrive(name, "en"))
    export_all(participation, tmp_path / "out", "ada")
    assert exported_breaks(tmp_path / "out", 0.0) == []
    path = tmp_path / "out" / ("questions.jsonl" if edit == "question" else "study.json")
    if edit == "question":
        text = path.read_text()
        path.write_text(text.replace('\\"arm\\":\\"a\\"', '\\"arm\\":\\"A\\"'))
        assert path.read_text() != text
    else:
        about = json.loads(path.read_text())
        assert (about["standing"]["done"], about["standing"]["planned"]) == (2, 4)
        about["standing"] |= {"planned": 2} if edit == "planned" else {"done": 4}
        about["standing"]["label"] = "confirmatory"
        path.write_text(json.dumps(about))
    said = " ".join(exported_breaks(tmp_path / "out", 0.0))
    told = {"planned": "4 places were planned", "label": "not every place", "question": "another text than was asked"}
    assert told[edit] in said


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_an_export_cannot_forget_that_somebody_looked_before_the_close(make_participation, clock, tmp_path):
    participation = make_participation(arms=("a",), batches=2)
    lock_plan(participation, *analysis_code(), libraries=analysis_libraries())
    clock.now += 1
    take(participation, participation.arrive("i", "en"))
    analyse(participation, "ada")
    set_status(participation, "closed", "ada")
    export_all(participation, tmp_path / "out", "ada")
    assert exported_breaks(tmp_path / "out", 0.0) == []
    path = tmp_path / "out" / "study.json"
    about = json.loads(path.read_text())
    about["standing"] |= {"confirmatory": True, "label": "confirmatory"}
    path.write_text(json.dumps(about))
    assert "before it was closed early" in " ".join(exported_breaks(tmp_path / "out", 0.0))
