"""What a result may be called, against a researcher who would like to call it more: erasing, looking, simulating; and
against browsers that say what they please."""

import hashlib
import json
import re
import sys
import threading
import time
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from small_study import answer_for, locked_study, rate, take
from sqlalchemy import delete, update

from eqlab.core.errors import DataError, StoreError
from eqlab.core.moves import Arrival
from eqlab.core.runs import is_simulated
from eqlab.core.study import AnalysisPlan
from eqlab.store.schema import events, places, studies
from eqlab.store.study.chain import extend
from eqlab.store.study.lock import lock_plan, standing
from eqlab.store.study.participation import Participation, TurnedAway
from eqlab.store.study.records import clear_simulated, erase_person
from eqlab.store.study.researchers import note, read_audit, write_note
from eqlab.store.study.studies import set_status
from eqlab.study.results import redo_script
from eqlab.study.results.analysis import (
    _ROOTS,
    analyse,
    analysis_code,
    analysis_libraries,
    imported_sources,
    log_look,
)
from eqlab.study.results.bundle import exported_breaks, redo
from eqlab.study.results.export import export_all, export_table
from eqlab.study.results.participants import read_participants
from eqlab.study.results.public import publish


@pytest.fixture
def locked(make_participation, clock):
    """A study with every place filled, its plan locked before the first came."""
    participation = make_participation(batches=3, size=4)
    lock_plan(participation, *analysis_code())
    clock.now += 1
    people = [rate(participation, f"h{n}", (1 + n % 3, 3, 2, 1 + n % 2)) for n in range(6)]
    return participation, people


# -- erasing and shutting out --


def test_a_researcher_who_erases_after_the_lock_loses_the_word_confirmatory(locked, clock):
    participation, people = locked
    assert standing(participation, *analysis_code()).label == "confirmatory"
    erase_person(participation, people[0], "researcher", "ada")
    found = analyse(participation)
    assert found.standing.label == "exploratory"
    assert "a researcher erased, shut out or released" in found.standing.reason
    assert found.result.sentence.startswith("Exploratory")
    assert any("0 at their own request on the page, 1 by a researcher" in said for said in found.result.caveats)
    (event,) = [one for one in read_participants(participation).events if one.kind == "erased"]
    assert (event.detail["by"], event.at, event.detail["answered"]) == ("researcher", clock.now, 4)
    (done,) = [one for one in read_audit(participation.store, "small") if one.action == "erased"]
    assert (done.who, done.at) == ("ada", clock.now)


def test_a_person_who_deletes_their_own_answers_does_not(locked):
    participation, people = locked
    erase_person(participation, people[0], "person")
    found = standing(participation, *analysis_code())
    assert (found.label, found.done) == ("confirmatory", 6)  # nobody takes the place any more
    assert participation.look(participation.arrive("another", "en")).state == "full"


def test_erasing_somebody_who_answered_no_trial_changes_nothing(make_participation):
    participation = make_participation()
    lock_plan(participation, "1")
    person = participation.arrive("h", "en")
    take(participation, person, until="trial")
    erase_person(participation, person, "researcher", "ada")
    assert standing(participation, "1").confirmatory


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("gone", ["deleted", "event removed by hand"])
@pytest.mark.parametrize("state", ["banned", "returned"])
def test_whoever_was_shut_out_stays_told_when_they_are_gone(make_participation, clock, gone, state):
    participation = locked_study(make_participation, clock)
    person = participation.arrive("a", "en")
    view = take(participation, person, until="trial")
    participation.save(person, view.number, view.attempt, answer_for(view))
    participation.send_away(person, state, "ada")
    if gone == "deleted":
        erase_person(participation, person, "person")
    else:
        with participation.store.engine.begin() as connection:
            connection.execute(delete(events).where(events.c.kind.in_(("banned", "released"))))
    for name in "bc":
        rate(participation, name, (1, 2, 3))
    found = standing(participation, *analysis_code(), analysis_libraries())
    assert found.label == "exploratory"
    kept = "a researcher erased, shut out or released 1 person who had answered"
    why = kept if gone == "deleted" else "a researcher shut out 1 person, and no event does"
    assert why in found.reason


def test_a_banned_person_is_left_out_and_the_label_falls(locked):
    participation, people = locked
    participation.send_away(people[1], "banned", "ada")
    found = analyse(participation)
    assert found.standing.label == "exploratory"
    assert people[1] not in {person.person for person in found.sample.everybody}
    assert participation.look(people[1]).state == "banned"


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_erased_means_gone_from_the_files_of_the_store_too(make_participation, store_url):
    participation = make_participation(batches=8, size=6)
    people = [participation.arrive(f"h{n}", "en") for n in range(12)]
    for person in people:
        take(participation, person)
    gone = people[5]
    files = [Path(store_url), Path(f"{store_url}-wal")]

    def copies(name):
        return sum(path.read_bytes().count(name.encode()) for path in files if path.exists())

    assert copies(gone) > 10
    erase_person(participation, gone, "person")
    assert copies(gone) == 0
    assert copies(people[6]) > 10


# -- looking early --


def test_a_look_before_the_planned_number_is_interim_and_stays_known(make_participation, clock):
    participation = make_participation(batches=1, size=4)
    lock_plan(participation, *analysis_code())
    clock.now += 1
    rate(participation, "a", (1, 2, 3))
    early = analyse(participation, "ada")
    assert early.standing.label == "interim"
    assert early.result.sentence.startswith("Interim")
    assert early.standing.looks == ()
    rate(participation, "b", (3, 2, 3))
    late = analyse(participation, "ada")
    assert late.standing.label == "confirmatory"
    assert [(one.who, one.action, one.detail["done"]) for one in late.standing.looks] == [("ada", "analysed", 1)]
    assert any("looked at once before the planned number" in said for said in late.result.caveats)


def test_an_export_before_the_planned_number_is_a_look_too(make_participation, clock, tmp_path):
    participation = make_participation(batches=1, size=4)
    lock_plan(participation, *analysis_code())
    clock.now += 1
    rate(participation, "a", (1, 2, 3))
    blocked = tmp_path / "blocked"
    blocked.write_text("no folder")
    with pytest.raises(DataError, match="blocked"):  # the first file cannot be written: the look is kept already
        export_all(participation, blocked, "eve")
    export_all(participation, tmp_path / "out", "ada")
    looks = standing(participation, *analysis_code()).looks
    assert [(one.who, one.action) for one in looks] == [("eve", "exported"), ("ada", "exported")]


# -- the lock --


def test_the_lock_covers_the_code_that_analyses(make_participation, clock):
    participation = make_participation()
    version, code = analysis_code()
    lock_plan(participation, version, code)
    assert standing(participation, version, code).confirmatory
    changed = standing(participation, version, "0" * 64)
    assert not changed.confirmatory
    assert "code_sha256" in changed.reason


def test_the_code_hash_follows_the_source(monkeypatch):
    import eqlab.study.results.analysis as module

    before = analysis_code()
    monkeypatch.setattr(module, "_ROOTS", ("core/text.py",))
    module.analysis_code.cache_clear()
    try:
        assert module.analysis_code() != before
    finally:
        module.analysis_code.cache_clear()


def test_the_hash_covers_what_the_analysis_imports_and_what_that_imports(tmp_path):
    for name, text in {
        "a.py": "from eqlab.b.c import (\n    one,\n    two,\n)\nKIND = 'x'\n",
        "b/__init__.py": "",
        "b/c.py": 'def late():\n    import eqlab.d\n    from eqlab.b import e, f\nMADE = "eqlab.g.h:Kind"\n',
        "b/e.py": "import numpy\n",
        "d.py": "",
        "g/h.py": "",
        "other.py": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert set(imported_sources(tmp_path, ["a.py"])) == {
        "a.py", "b/__init__.py", "b/c.py", "b/e.py", "d.py", "g/h.py",
    }  # fmt: skip
    hashed = imported_sources(files("eqlab"), _ROOTS)
    assert {
        "store/study/records.py", "store/study/lock.py", "runs/score.py", "study/results/participants.py",
        "study/kinds.py", "analysis/confirmatory.py", "benchmarks/rating/study.py", "instruments/__init__.py",
    } <= set(hashed)  # fmt: skip
    assert not [name for name in hashed if name.startswith(("cli/", "study/web/", "view/", "sweep/"))]
    calculating = ("analysis/", "benchmarks/", "instruments/")
    imported = {
        name
        for path, source in hashed.items()
        if path.startswith(calculating)
        for name in re.findall(r"^\s*(?:import|from) (\w+)(?=[\w.]* import |\n| as )", source.decode(), re.MULTILINE)
    }
    reads_tables = {"python_calamine"}
    assert imported - sys.stdlib_module_names - {"eqlab"} - reads_tables <= set(analysis_libraries())


# -- who is in a result is settled, and stays so --


@pytest.fixture
def settled(make_participation, clock):
    return locked_study(make_participation, clock)


def sample(participation):
    found = analyse(participation, "ada")
    return found.standing.label, {person.person for person in found.sample.kept}, found


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_a_confirmatory_result_is_final(settled, clock, tmp_path):
    slow = settled.arrive("slow", "en")
    view = take(settled, slow, until="trial")
    settled.save(slow, view.number, view.attempt, answer_for(view))
    clock.now += 3600  # the place is somebody else's by now
    people = {rate(settled, name, (1, 2, 3)) for name in "ab"}
    label, kept, found = sample(settled)
    assert (label, kept) == ("confirmatory", people)
    assert found.sample.excluded == {slow: ("outside",)}
    before = found.result.headline
    clock.now += 60
    assert take(settled, slow).state == "extra"
    label, kept, found = sample(settled)
    assert (label, kept, found.result.headline) == ("confirmatory", people, before)
    (said,) = [one for one in found.result.caveats if one.startswith("Who is in this result is settled")]
    assert "finished later or without a place, and not in it: 1; looked at once since then" in said
    export_all(settled, tmp_path / "out", "ada")
    assert redo(tmp_path / "out")[1] == []
    assert redo_script.analysed(tmp_path / "out") == people


def test_whoever_is_gone_from_a_full_study_leaves_no_place_for_others(settled, clock, tmp_path):
    """Else a result that has been seen could be drawn again until it pleases."""
    one, other = (rate(settled, name, (1, 2, 3)) for name in "ab")
    since = sample(settled)[2].standing.settled_at
    clock.now += 60
    erase_person(settled, other, "person")
    clock.now += 60
    assert settled.look(settled.arrive("c", "en")).state == "full"
    assert not settled.store.shut(settled.design.run.id)
    label, kept, found = sample(settled)
    assert (label, kept, found.standing.settled_at) == ("confirmatory", {one}, since)
    (said,) = [one for one in found.result.caveats if one.startswith("Who is in this result is settled")]
    assert "deleted or shut out since then, and no longer in it: 1; looked at once since then" in said
    assert not [one for one in found.result.caveats if "preliminary" in one]
    export_all(settled, tmp_path / "out", "ada")
    assert redo(tmp_path / "out")[1] == []


def test_a_place_that_was_opened_by_hand_in_a_full_study_is_told(settled, clock):
    other = [rate(settled, name, (1, 2, 3)) for name in "ab"][1]
    erase_person(settled, other, "person")
    with settled.store.engine.begin() as connection:
        connection.execute(update(places).where(places.c.state == "shut").values(state="open"))
    assert rate(settled, "c", (3, 3, 3)) not in sample(settled)[1]
    found = sample(settled)[2].standing
    assert found.label == "exploratory"
    assert "every place had been filled, and 1 person filled one that was opened again after that" in found.reason


def test_before_a_study_is_full_the_place_of_somebody_erased_opens_again(settled):
    erase_person(settled, rate(settled, "a", (1, 2, 3)), "person")
    people = {rate(settled, name, (1, 2, 3)) for name in "bc"}
    assert sample(settled)[:2] == ("confirmatory", people)


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("looked", "label"), [(False, "confirmatory"), (True, "exploratory")])
def test_a_study_closed_early_is_final_too_and_says_so(settled, clock, tmp_path, looked, label):
    one = rate(settled, "a", (1, 2, 3))
    late = settled.arrive("late", "en")
    take(settled, late, until="trial")
    if looked:
        analyse(settled, "ada")
    clock.now += 5
    set_status(settled, "closed", "ada")
    clock.now += 5
    run = settled.design.run.id
    assert not settled.store.shut(run)
    assert take(settled, late).state == "finished"  # who is inside may finish, beside the result
    found_label, kept, found = sample(settled)
    assert (found_label, kept) == (label, {one})
    assert "was closed on" in found.standing.reason
    assert "with 1 of 2 planned places filled" in found.standing.reason
    assert not [said for said in found.result.caveats if "preliminary" in said]
    clock.now += 5
    again = analyse(settled, "ada").standing  # looks after the end are told as such, as in a full study
    assert (len(again.looks), again.later_looks) == (int(looked), 1)
    export_all(settled, tmp_path / "out", "ada")
    assert redo_script.analysed(tmp_path / "out") == {one}
    assert exported_breaks(tmp_path / "out", 0.0) == []


def test_a_look_before_anybody_has_answered_a_trial_is_none_at_results(settled, clock, tmp_path):
    analyse(settled, "ada")
    export_all(settled, tmp_path / "empty", "ada")
    first = settled.arrive("a", "en")
    take(settled, first, until="trial")  # the quiz and all that comes before a place says nothing of the trials
    log_look(settled, "ada", "read", standing(settled, *analysis_code(), analysis_libraries()))
    take(settled, first)
    clock.now += 5
    set_status(settled, "closed", "ada")
    clock.now += 5
    label, kept, found = sample(settled)
    assert (label, kept, found.standing.looks) == ("confirmatory", {first}, ())
    assert found.standing.reason.endswith("nobody had looked at results before")
    assert [one.action for one in read_audit(settled.store, "small")].count("analysed") == 2  # all looks are kept
    out = tmp_path / "out"
    export_all(settled, out, "ada")
    assert exported_breaks(out, 0.0) == []


@pytest.mark.parametrize("detail", [{}, {"answered": 1}, {"answered": None}])
def test_a_look_that_does_not_tell_that_there_was_nothing_to_see_saw_results(settled, clock, detail):
    write_note(settled.store, clock.now, "ada", "analysed", "small", done=0, planned=2, label="interim", **detail)
    rate(settled, "a", (1, 2, 3))
    set_status(settled, "closed", "ada")
    assert sample(settled)[0] == "exploratory"


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("hours", [24, -24])
def test_who_finished_in_time_is_told_by_the_chain_and_not_by_the_clock(settled, clock, tmp_path, hours):
    """A clock that is set forward, or back, for the moment of the closing changes nobody's place in the order."""
    one = rate(settled, "a", (1, 2, 3))
    late = settled.arrive("late", "en")
    take(settled, late, until="trial")
    now = clock.now + 5
    clock.now += hours * 3600
    set_status(settled, "closed", "ada")
    clock.now = now
    assert take(settled, late).state == "finished"
    label, kept, found = sample(settled)
    assert (label, kept) == ("confirmatory", {one})
    assert found.sample.excluded == {late: ("outside",)}
    assert "with 1 of 2 planned places filled" in found.standing.reason
    assert not any("preliminary" in said for said in found.result.caveats)
    export_all(settled, tmp_path / "out", "ada")
    assert redo(tmp_path / "out")[1] == []
    assert redo_script.analysed(tmp_path / "out") == {one}


def test_a_study_that_was_closed_is_not_open_again_by_a_cell(settled, clock):
    one = rate(settled, "a", (1, 2, 3))
    set_status(settled, "closed", "ada")
    with settled.store.engine.begin() as connection:
        connection.execute(update(studies).values(status=None))
    clock.now += 5
    rate(settled, "b", (1, 2, 3))
    assert sample(settled)[1] == {one}


def test_who_finishes_after_the_close_and_deletes_does_not_undo_it(settled, clock):
    one = rate(settled, "a", (1, 2, 3))
    late = settled.arrive("late", "en")
    take(settled, late, until="trial")
    analyse(settled, "ada")
    set_status(settled, "closed", "ada")
    clock.now += 5
    assert take(settled, late).state == "finished"
    erase_person(settled, late, "person")
    label, kept, found = sample(settled)
    assert (label, kept) == ("exploratory", {one})
    assert "with 1 of 2 planned places filled, after somebody had looked" in found.standing.reason
    assert not [said for said in found.result.caveats if "no longer in it" in said]


def test_a_release_of_somebody_who_has_finished_does_nothing(settled):
    person = rate(settled, "a", (1, 2, 3))
    settled.send_away(person, "returned", "ada")
    erase_person(settled, person, "person")
    people = {rate(settled, name, (1, 2, 3)) for name in "bc"}
    assert sample(settled)[:2] == ("confirmatory", people)


def test_a_changed_library_is_told_and_plans_from_before_do_not_know_any(settled, make_participation):
    code = analysis_code()
    assert standing(settled, *code, analysis_libraries()).confirmatory
    changed = standing(settled, *code, {**analysis_libraries(), "numpy": "0.9"})
    assert (changed.label, 'is "0.9"' in changed.reason, "libraries.numpy" in changed.reason) == (
        "exploratory", True, True,
    )  # fmt: skip


# -- simulated people --


def simulated(participation, number):
    return participation.admit(Arrival(f"sim-{number}", "en", simulated=True))


def test_simulated_people_are_marked_in_every_row_and_never_confirmatory(make_participation, tmp_path):
    participation = make_participation(batches=1)
    people = [simulated(participation, number) for number in range(2)]
    for person in people:
        assert is_simulated(person)
        take(participation, person)
    found = analyse(participation)
    assert (found.standing.label, found.standing.simulated) == ("simulated", 2)
    assert found.result.sentence.startswith("Simulated")
    assert "2 of the people are simulated" in found.result.caveats[0]
    for what in ("answers", "participants", "events"):
        lines = export_table(participation, what, "csv").decode().splitlines()
        assert lines[0].endswith("simulated") or "simulated" in lines[0].split(",")
        where = lines[0].split(",").index("simulated")
        import csv

        assert {row[where] for row in csv.reader(lines[1:])} == {"true"}
    export_all(participation, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "study.json").read_text())["simulated"] == 2
    rows = [json.loads(line) for line in (tmp_path / "out" / "records.jsonl").read_text().splitlines()]
    assert {row["simulated"] for row in rows} == {True}


def test_a_look_at_a_rehearsal_is_no_look_at_people(make_participation, clock):
    participation = make_participation(batches=1, size=4)
    take(participation, simulated(participation, 1))
    assert analyse(participation, "ada").standing.label == "simulated"
    clear_simulated(participation, "ada")
    lock_plan(participation, *analysis_code(), "ada", analysis_libraries())
    clock.now += 1
    rate(participation, "a", (1, 2, 3))
    set_status(participation, "closed", "ada")
    found = standing(participation, *analysis_code(), analysis_libraries())
    assert (found.label, found.looks) == ("confirmatory", ())


def test_under_a_lock_every_look_counts_whatever_it_was_called(settled, clock):
    """Somebody simulated who has slipped in must not make a look at people one at a rehearsal."""
    rate(settled, "a", (1, 2, 3))
    write_note(settled.store, clock.now, "ada", "analysed", "small", done=1, planned=2, label="simulated")
    rate(settled, "b", (1, 2, 3))
    found = standing(settled, *analysis_code(), analysis_libraries())
    assert (found.label, len(found.looks)) == ("confirmatory", 1)


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_nobody_simulated_comes_in_beside_a_lock_that_is_being_made(make_participation, monkeypatch):
    """Whoever asks while the plan is being locked waits, and is turned away."""
    participation = make_participation()
    locking, asked = threading.Event(), threading.Event()

    def slowly(*args, **more):
        locking.set()
        asked.wait(30)
        time.sleep(0.2)
        return note(*args, **more)

    monkeypatch.setattr("eqlab.store.study.lock.note", slowly)
    lock = threading.Thread(target=lambda: lock_plan(participation, *analysis_code()))
    lock.start()
    assert locking.wait(30)
    asked.set()
    with pytest.raises(TurnedAway):
        participation.admit(Arrival("x", "en", simulated=True))
    lock.join()
    assert standing(participation, *analysis_code()).simulated == 0


def test_a_locked_study_takes_no_simulated_people(make_participation):
    participation = make_participation()
    lock_plan(participation, "1")
    with pytest.raises(TurnedAway, match="simulated"):
        simulated(participation, 1)


@pytest.mark.parametrize("state", ["banned", "returned"])
def test_whom_a_rehearsal_shuts_out_is_nobody(make_participation, clock, state):
    participation = make_participation(arms=("a",), batches=2, size=4)
    person = participation.admit(Arrival("x", "en", simulated=True))
    take(participation, person, until="trial")
    participation.send_away(person, state, "ada")
    clear_simulated(participation, "ada")
    clock.now += 1
    lock_plan(participation, *analysis_code(), "ada", analysis_libraries())
    clock.now += 1
    for name in "ab":
        rate(participation, name, (1, 2, 3))
    assert standing(participation, *analysis_code(), analysis_libraries()).label == "confirmatory"


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_who_leaves_while_the_last_place_is_filled_leaves_it_shut_or_comes_first(settled, clock, monkeypatch):
    """Chain and places must agree on whether the study was full: else an honest one would look refilled."""
    gone = rate(settled, "a", (1, 2, 3))
    last = settled.arrive("b", "en")
    view = take(settled, last, until="trial")
    while view.number < view.total - 1:
        settled.save(last, view.number, view.attempt, answer_for(view))
        view = settled.look(last)
    filling, leaving = threading.Event(), threading.Event()

    def slowly(*happened):
        extend(*happened)
        filling.set()
        leaving.wait(0.5)

    monkeypatch.setattr("eqlab.store.study.places.extend", slowly)
    save = threading.Thread(target=lambda: settled.save(last, view.number, view.attempt, answer_for(view)))
    save.start()
    assert filling.wait(30)
    erase_person(settled, gone, "person")
    leaving.set()
    save.join()
    if settled.look(settled.arrive("c", "en")).state != "full":
        rate(settled, "c", (1, 2, 3))
    assert standing(settled, *analysis_code(), analysis_libraries()).label == "confirmatory"


def test_a_study_that_has_begun_takes_no_simulated_people(make_participation):
    participation = make_participation()
    participation.arrive("somebody", "en")
    with pytest.raises(TurnedAway, match="simulated"):
        simulated(participation, 1)


def test_a_study_with_simulated_people_cannot_be_locked_until_they_are_cleared(make_participation):
    participation = make_participation(batches=1)
    take(participation, simulated(participation, 1))
    with pytest.raises(StoreError, match="holds 1 simulated person") as error:
        lock_plan(participation, "1")
    assert "study clear" in error.value.hint
    assert clear_simulated(participation, "ada") == 1
    assert read_participants(participation).people == ()
    lock_plan(participation, "1")
    for name in "ab":
        assert take(participation, participation.arrive(name, "en")).state == "finished"  # both places were open


# -- time --


def test_a_page_cannot_have_taken_longer_than_the_server_saw(make_participation, clock):
    participation = make_participation(size=6)
    person = participation.arrive("bot", "en")
    take(participation, person, until="trial")
    while (view := participation.look(person)).step is not None:
        clock.now += 0.05
        participation.save(person, view.number, 1, answer_for(view), shown_at=clock.now - 12.5, away=9.0)
    (bot,) = read_participants(participation).people
    trials = [page for page in bot.pages if page.kind == "trial"]
    assert all(page.seconds == pytest.approx(0.05) for page in trials)
    assert bot.too_fast == len(trials)
    assert bot.impossible == len(bot.pages) - 1  # all but the quiz, which was honest
    assert all(one.away <= one.seconds for one in bot.given)


def test_a_page_that_does_not_say_when_it_was_shown_has_the_servers_time(make_participation, clock):
    participation = make_participation()
    person = participation.arrive("h", "en")
    view = take(participation, person, until="trial")
    clock.now += 7
    participation.save(person, view.number, 1, answer_for(view))
    (one,) = read_participants(participation).people
    assert one.pages[-1].seconds == 7
    assert one.impossible == 0


def test_reading_twice_within_the_time_that_passed_is_possible(make_participation, clock):
    participation = make_participation()
    person = participation.arrive("h", "en")
    view = take(participation, person, until="trial")
    clock.now += 30
    participation.save(person, view.number, 1, answer_for(view), shown_at=clock.now - 12)
    (one,) = read_participants(participation).people
    assert (one.pages[-1].seconds, one.impossible) == (12, 0)


# -- the export suffices --


def test_the_analysis_can_be_redone_from_the_export_alone(locked, tmp_path):
    participation, people = locked
    participation.send_away(people[2], "banned", "ada")
    found = analyse(participation)
    export_all(participation, tmp_path / "out")
    again, different = redo(tmp_path / "out")
    assert different == []
    assert again.design.sha256 == participation.design.sha256
    assert again.result.headline.value == found.result.headline.value
    assert again.standing.label == found.standing.label
    assert [one.estimate.value for one in again.planned] == [one.estimate.value for one in found.planned]


def test_a_changed_export_is_found_out(locked, tmp_path):
    participation, _ = locked
    export_all(participation, tmp_path / "out")
    path = tmp_path / "out" / "records.jsonl"
    path.write_text(path.read_text().replace('\\"rating\\": 1', '\\"rating\\": 3', 1))
    with pytest.raises(DataError, match=r"records\.jsonl is not the file"):
        redo(tmp_path / "out")
    path.write_text(path.read_text().replace('"trial_id"', '"trial"', 1))
    about = tmp_path / "out" / "study.json"
    told = json.loads(about.read_text())
    told["sha256"]["records.jsonl"] = hashlib.sha256(path.read_bytes()).hexdigest()
    about.write_text(json.dumps(told))
    with pytest.raises(DataError, match="out does not fit together"):
        redo(tmp_path / "out")


@pytest.mark.parametrize(
    ("done", "told"),
    [
        (
            "banned",
            "that after the plan was locked a researcher erased, shut out or released 1 person who had answered",
        ),
        ("looked", "1 look before the planned number was reached"),
        ("closed", "when the study was closed"),
    ],
)
@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_an_export_that_calls_its_results_more_than_they_are_is_found_out(settled, clock, tmp_path, done, told):
    """One cell of study.json: what it says is held against the chain, the audit trail and the events beside it."""
    person = rate(settled, "a", (1, 2, 3))
    if done == "banned":
        settled.send_away(person, "banned", "ada")
    elif done == "looked":
        analyse(settled, "ada")
    if done == "closed":
        set_status(settled, "closed", "ada")
    else:
        rate(settled, "b", (1, 2, 3))
    export_all(settled, tmp_path / "out", "ada")
    assert exported_breaks(tmp_path / "out", 0.0) == []
    path = tmp_path / "out" / "study.json"
    about = json.loads(path.read_text())
    about["standing"] |= {"label": "confirmatory", "confirmatory": True, "looks": [], "closed_early": False}
    about["standing"]["done"] = about["standing"]["planned"]
    path.write_text(json.dumps(about))
    (said,) = exported_breaks(tmp_path / "out", 0.0)
    assert said.startswith(f"what it says of its results leaves out {told}")
    assert redo(tmp_path / "out")[1][-1] == said


@pytest.mark.parametrize(
    ("done", "told"),
    [("late", "after the first answer of"), ("other plan", "the plan is not the one that was locked")],
)
@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_an_export_that_hides_a_late_lock_or_another_plan_is_found_out(make_participation, clock, tmp_path, done, told):
    participation = make_participation(arms=("a",), batches=1, size=4)
    if done == "late":
        rate(participation, "early", (1, 2, 3))
        clock.now += 10
    lock_plan(participation, *analysis_code(), "ada", analysis_libraries())
    if done == "other plan":
        clock.now += 10
        rate(participation, "a", (1, 2, 3))
        study = replace(participation.study, analysis=AnalysisPlan(alpha=0.2))
        participation = Participation(participation.store, replace(participation.design, study=study), clock)
    export_all(participation, tmp_path / "out", "ada")
    path = tmp_path / "out" / "study.json"
    about = json.loads(path.read_text())
    about["standing"] |= {"label": "confirmatory", "confirmatory": True}
    path.write_text(json.dumps(about))
    (said,) = exported_breaks(tmp_path / "out", 0.0)
    assert told in said
    assert redo(tmp_path / "out")[1][-1] == said


def test_the_export_has_every_text_position_seed_and_hash(locked, tmp_path):
    participation, _ = locked
    export_all(participation, tmp_path / "out")
    about = json.loads((tmp_path / "out" / "study.json").read_text())
    assert about["seed"] == 0
    assert about["design_sha256"] == participation.design.sha256
    assert about["standing"]["lock"]["sha256"] == standing(participation, *analysis_code()).lock.sha256
    assert (about["eqlab"], about["code_sha256"]) == analysis_code()
    questions = (tmp_path / "out" / "questions.csv").read_text()
    for batch in participation.design.batches:
        for trial in batch.trials:
            assert trial.key["reply"] in questions
    people_csv = (tmp_path / "out" / "participants.csv").read_text()
    assert "device" in people_csv.splitlines()[0].split(",")
    assert "steps" in people_csv.splitlines()[0].split(",")


# -- the public release --


def test_the_public_release_has_no_pseudonym_no_time_and_no_rare_cell(locked, tmp_path):
    participation, people = locked
    written = publish(participation, tmp_path / "public")
    whole = "".join(path.read_text() for path in written)
    for person in people:
        assert person not in whole
    assert "1970-01" not in whole
    assert "100000" not in whole  # seconds since 1970, as the clock of the test has them
    answers = (tmp_path / "public" / "answers.csv").read_text().splitlines()
    assert "seconds" not in answers[0]
