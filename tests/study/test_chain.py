"""The chain of events and its seals, against somebody who can write to the database and set the clock."""

import json
import sys
from dataclasses import replace

import pytest
from made_studies import made, rehearsed, write_replies
from small_study import answer_for, locked_study, rate, take
from sqlalchemy import delete, insert, select, update

from eqlab.core.errors import DataError, StoreError
from eqlab.store.schema import answers, audit, chain, events, participants, places, runs, studies
from eqlab.store.store import Store
from eqlab.store.study import chain as chains
from eqlab.store.study import records
from eqlab.store.study.chain import mark_of
from eqlab.store.study.lock import PlanStanding, canonical, lock_plan, plan_of, plan_sha256, standing
from eqlab.store.study.records import erase_person, read_records
from eqlab.store.study.researchers import read_audit
from eqlab.store.study.studies import set_status
from eqlab.study.kinds import find_kind
from eqlab.study.results import analysis, bundle, redo_script
from eqlab.study.results import lock_file as lock_files
from eqlab.study.results.analysis import analyse, analysis_code, analysis_libraries
from eqlab.study.results.bundle import exported_breaks, exported_data
from eqlab.study.results.export import export_all, table_breaks
from eqlab.study.results.lock_file import (
    SealCheck,
    check_seal,
    lock_file,
    make_seal,
    read_lock_file,
    stored_breaks,
    stored_data,
    write_lock_file,
)
from eqlab.study.results.registration import questions, write_registration


@pytest.fixture
def settled(make_participation, clock):
    return locked_study(make_participation, clock)


def without(participation, person):
    """What somebody does who can write to the database: a person is gone from every table that knows them."""
    with participation.store.engine.begin() as connection:
        for name, table, where in records._tables(participation, person):
            assert name
            connection.execute(delete(table).where(*where))
        connection.execute(
            update(places).where(places.c.person == person).values(state="open", person=None, held_until=None)
        )


def test_a_person_missing_from_every_table_is_noticed(settled):
    people = [rate(settled, name, (1, 2, 3)) for name in "ab"]
    without(settled, people[0])
    rate(settled, "c", (3, 3, 3))  # somebody more welcome
    found = standing(settled, *analysis_code(), analysis_libraries())
    assert (found.label, found.reason) == (
        "exploratory", "1 person who had been assigned to a place can be found in no table",
    )  # fmt: skip


def test_changed_answers_changed_links_and_people_from_nowhere_are_noticed(settled):
    people = [rate(settled, name, (1, 2, 3)) for name in "ab"]

    def reason():
        return standing(settled, *analysis_code(), analysis_libraries()).reason

    def change(statement):
        with settled.store.engine.begin() as connection:
            connection.execute(statement)

    mine = (answers.c.subject == f"person:{people[0]}", answers.c["values"].contains('"rating": 1'))
    change(update(answers).where(*mine).values(values='{"rating": 3}'))
    assert "the answers of 1 person are not those with which they finished" in reason()
    change(delete(chain).where(chain.c.kind == "finished", chain.c.mark == mark_of("small", people[0])))
    assert "link 3 of the chain of events is missing or was changed" in reason()  # after the lock's and one's own
    change(delete(chain))
    assert "the tables hold 2 people whom no server assigned to a place" in reason()


@pytest.mark.parametrize(
    ("table", "values", "said"),
    [
        (participants, {"state": "stopped"}, "the state of 1 person is not the one in which they ended"),
        (participants, {"state": "extra"}, "the state of 1 person is not the one in which they ended"),
        (participants, {"ended_at": 1e9}, "the state of 1 person is not the one in which they ended"),
        (participants, {"assigned_at": 1.0}, "the assignment of 1 person is not dated as it was"),
        (participants, {"batch": 7}, "the arm of 1 person is not the one that was drawn"),
        (answers, {"latency": 0.1}, "the answers of 1 person are not those with which they finished"),
    ],
)
def test_a_person_cannot_be_taken_out_of_the_sample_by_a_changed_row(settled, table, values, said):
    """State, end, arm and page times decide who is analysed and where, as much as the answers do."""
    people = [rate(settled, name, (1, 2, 3)) for name in "ab"]
    stands = standing(settled, *analysis_code(), analysis_libraries())
    assert stands.label == "confirmatory"
    mine = table.c.person == people[0] if table is participants else table.c.subject == f"person:{people[0]}"
    with settled.store.engine.begin() as connection:
        connection.execute(update(table).where(mine).values(values))
    found = standing(settled, *analysis_code(), analysis_libraries())
    assert (found.label, found.reason) == ("exploratory", said)


def changed(participation, *statements):
    """What is said of a study after somebody has written to its database."""
    with participation.store.engine.begin() as connection:
        for statement in statements:
            connection.execute(statement)
    found = standing(participation, *analysis_code(), analysis_libraries())
    return found.label, found.reason


def test_places_that_nobody_filled_do_not_end_a_study(settled):
    rate(settled, "a", (1, 2, 3))
    said = changed(settled, update(places).values(state="done"))
    assert said == ("exploratory", "the tables hold 2 filled places, and 1 person finished")
    analyse(settled, "ada")
    changed(settled, update(places).where(places.c.person.is_(None)).values(state="open"))
    rate(settled, "b", (1, 2, 3))
    found = standing(settled, *analysis_code(), analysis_libraries())
    assert (found.label, [look.detail["done"] for look in found.looks]) == ("confirmatory", [1])  # that was early


def test_people_written_into_the_tables_without_a_time_of_assignment_are_noticed(settled, tmp_path):
    """Of a row without that time the chain said nothing, and the result had as many people as somebody liked."""
    seal = make_seal(settled, "ada")
    one = rate(settled, "a", (1, 2, 3))
    with settled.store.engine.begin() as connection:
        for table, key, name in ((participants, "person", "{}"), (answers, "subject", "person:{}")):
            rows = connection.execute(select(table).where(table.c[key] == name.format(one))).mappings().all()
            made = {"assigned_at": None} if table is participants else {}
            connection.execute(insert(table), [{**row, key: name.format("b" * 16), **made} for row in rows])
    label, reason = changed(settled, update(places).values(state="done"))
    assert label == "exploratory"
    assert "the tables hold 1 person whom no server assigned to a place" in reason
    export_all(settled, tmp_path, "ada")
    for against in (stored_breaks(settled, seal["sealed_at"]), exported_breaks(tmp_path, seal["sealed_at"])):
        assert "the tables hold 1 person whom no server assigned to a place" in against


@pytest.mark.parametrize(
    "values",
    [{"locked_at": 1.0}, {"lock_sha256": "0" * 64}, {"lock_plan": '{"analysis": {}}', "lock_sha256": "0" * 64}],
)
def test_a_lock_whose_time_or_plan_was_changed_is_noticed(settled, values):
    label, reason = changed(settled, update(studies).values(values))
    assert label == "exploratory"
    assert "the lock is not the one that was made" in reason or "the plan is not the one" in reason
    with settled.store.engine.begin() as connection:
        connection.execute(update(audit).where(audit.c.action == "locked").values(at=1.0))
    assert "1 row of the audit trail is missing or changed" in stored_breaks(settled, 0.0)


def test_a_lock_cannot_become_one_from_before_there_was_a_chain(settled):
    rate(settled, "a", (1, 2, 3))
    plan = plan_of(settled.design, *analysis_code())
    made = {"lock_plan": canonical(plan), "lock_sha256": plan_sha256(plan)}
    told = json.dumps({"sha256": plan_sha256(plan)})
    said = changed(
        settled, update(studies).values(made), update(audit).where(audit.c.action == "locked").values(detail=told)
    )
    assert said[0] == "exploratory"
    assert "of the audit trail is missing or changed" in said[1]


def test_a_late_lock_that_is_dated_back_stays_late(make_participation, clock):
    participation = make_participation(batches=1, size=4)
    rate(participation, "a", (1, 2, 3))
    clock.now += 10
    lock_plan(participation, *analysis_code(), "ada", analysis_libraries())
    rate(participation, "b", (1, 2, 3))
    said = changed(participation, update(studies).values(locked_at=1.0))
    assert said[0] == "exploratory"
    assert "answers had been given" in said[1]


def test_a_late_lock_stays_late_whatever_the_clock_said(make_participation, clock):
    participation = make_participation(batches=1, size=4)
    rate(participation, "a", (1, 2, 3))
    clock.now -= 86400
    lock_plan(participation, *analysis_code(), "ada", analysis_libraries())
    clock.now += 86401
    rate(participation, "b", (1, 2, 3))
    label, reason = changed(participation)
    assert label == "exploratory"
    assert "answers had been given" in reason


def test_a_look_that_is_dated_after_the_end_was_before_it(settled, clock):
    rate(settled, "a", (1, 2, 3))
    clock.now += 86400
    analyse(settled, "ada")
    clock.now -= 86395
    set_status(settled, "closed", "ada")
    label, reason = changed(settled)
    assert label == "exploratory"
    assert "after somebody had looked at results" in reason


def test_answers_of_another_run_do_not_vouch_for_those_that_are_analysed(settled):
    for name in "ab":
        rate(settled, name, (1, 2, 3))
    seal, run = make_seal(settled, "ada"), settled.design.run.id
    with settled.store.engine.begin() as connection:
        for table, column in ((runs, runs.c.id), (answers, answers.c.run_id)):
            rows = connection.execute(select(table).where(column == run)).all()
            connection.execute(insert(table), [{**row._mapping, column.name: "shadow"} for row in rows])
    label, reason = changed(
        settled,
        update(studies).values(run_id="shadow"),
        update(answers)
        .where(answers.c.run_id == run, answers.c["values"].like("%rating%"))
        .values(values='{"rating": 3}'),
    )
    assert label == "exploratory"
    assert "the answers of 2 people" in reason
    assert check_seal(seal, *stored_data(settled)).changed == 2


def test_an_answer_on_a_page_that_somebody_never_had_is_an_error_in_one_line(settled):
    one, other = (rate(settled, name, (1, 2, 3)) for name in "ab")
    (page, *_) = {row[0] for row in stored_data(settled)[1][one]} - {row[0] for row in stored_data(settled)[1][other]}
    moved = update(answers).where(answers.c.subject == f"person:{one}", answers.c.trial_id == page)
    assert changed(settled, moved.values(subject=f"person:{other}"))[0] == "exploratory"
    with pytest.raises(StoreError, match="belongs to none of their pages"):
        analyse(settled, "ada")


@pytest.mark.parametrize(("finished", "label"), [(False, "exploratory"), (True, "confirmatory")])
def test_whoever_answered_and_is_sent_away_by_a_researcher_was_taken_out(settled, clock, finished, label):
    one = settled.arrive("one", "en")
    view = take(settled, one, until="trial")
    settled.save(one, view.number, view.attempt, answer_for(view))
    if finished:
        take(settled, one)
    settled.send_away(one, "returned", "ada")
    for name in "ab"[finished:]:
        rate(settled, name, (1, 2, 3))
    assert changed(settled)[0] == label


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (delete(audit).where(audit.c.action == "analysed"), "1 row of the audit trail is missing or changed"),
        (
            update(audit).where(audit.c.action == "analysed").values(detail='{"done": 2, "planned": 2}'),
            "1 row of the audit trail is missing or changed; 1 row of the audit trail is made by no command",
        ),
        (
            insert(audit).values(at=9e9, who="ada", action="closed", study_id="small", detail="{}"),
            "1 row of the audit trail is made by no command",
        ),
    ],
)
def test_a_look_cannot_be_taken_back_nor_an_end_made_up(settled, tmp_path, statement, said):
    rate(settled, "a", (1, 2, 3))
    analyse(settled, "ada")
    rate(settled, "b", (1, 2, 3))
    assert standing(settled, *analysis_code(), analysis_libraries()).label == "confirmatory"
    assert changed(settled, statement) == ("exploratory", said)
    export_all(settled, tmp_path, "ada")
    assert "; ".join(exported_breaks(tmp_path, 0.0)) == said


def test_an_erasure_by_a_researcher_cannot_become_the_persons_own(settled):
    people = [rate(settled, name, (1, 2, 3)) for name in "ab"]
    erase_person(settled, people[0], "researcher", "ada")
    rate(settled, "c", (1, 2, 3))
    mine = json.dumps({"by": "person", "answered_unlocked": False, "answered": 4, "arm": "warm"})
    said = changed(settled, update(events).where(events.c.kind == "erased").values(detail=mine))
    assert said == ("exploratory", "what is told of the erasure of 1 person is not what happened")


def test_whoever_is_banned_and_erased_leaves_the_trail_and_breaks_nothing(settled):
    one = rate(settled, "a", (1, 2, 3))
    settled.send_away(one, "banned", "ada")
    erase_person(settled, one, "person")
    assert one not in json.dumps([entry.detail for entry in read_audit(settled.store, "small")])
    assert stored_breaks(settled, 0.0) == []


def test_somebody_who_finishes_while_the_label_is_made_breaks_nothing(settled, monkeypatch):
    """On PostgreSQL each query saw another moment: the link of somebody who had just finished was missing."""
    rate(settled, "a", (1, 2, 3))
    read, came = chains.read_chain, []

    def and_then_somebody_finishes(connection, study):
        links = read(connection, study)
        if not came:
            came.append(rate(settled, "b", (1, 2, 3)))
        return links

    monkeypatch.setattr(chains, "read_chain", and_then_somebody_finishes)
    found = standing(settled, *analysis_code(), analysis_libraries())
    assert (found.label, found.done, len(came)) == ("interim", 1, 1)


def test_an_export_while_people_come_agrees_with_itself(settled, tmp_path, monkeypatch):
    """Result, tables, rows, chain and audit trail are those of one moment: else `verify` and `redo` find fault with a
    sound export later, and the look that is kept tells of fewer people than were shown."""
    rate(settled, "a", (1, 2, 3))
    analysed = analysis.analyse_roll

    def and_then_somebody_comes(*given):
        found = analysed(*given)
        rate(settled, "b", (1, 2, 3))
        return found

    monkeypatch.setattr(analysis, "analyse_roll", and_then_somebody_comes)
    export_all(settled, tmp_path, "ada")
    monkeypatch.undo()
    assert exported_breaks(tmp_path, 0.0) == []
    assert bundle.redo(tmp_path)[1] == []
    assert len(redo_script.analysed(tmp_path)) == 1
    assert table_breaks(tmp_path) == []
    assert [entry.detail["done"] for entry in read_audit(settled.store, "small") if entry.action == "exported"] == [1]


def test_a_seal_made_while_people_answer_holds(settled, clock, monkeypatch):
    """Somebody's answers were on their way into the store: with an earlier time, and not in what the seal has read."""
    rate(settled, "a", (1, 2, 3))
    half = settled.arrive("half", "en")
    view = take(settled, half, until="trial")
    read = lock_files.stored_data

    def and_then_they_are_there(participation):
        found = read(participation)
        settled.save(half, view.number, view.attempt, answer_for(view))
        rate(settled, "new", (1, 2, 3))
        clock.now += 1
        return found

    monkeypatch.setattr(lock_files, "stored_data", and_then_they_are_there)
    seal = make_seal(settled, "ada")
    monkeypatch.undo()
    assert check_seal(seal, *stored_data(settled)).holds


@pytest.mark.parametrize("answered", [True, False])
def test_what_is_added_to_a_quiet_time_before_a_seal_is_found(settled, clock, answered):
    half = settled.arrive("half", "en")
    view = take(settled, half, until="trial")
    if answered:
        settled.save(half, view.number, view.attempt, answer_for(view))
    clock.now += 3 * 3600
    seal = make_seal(settled, "ada")
    links, given = stored_data(settled)
    added = [("t", 1, "{}", clock.now - 3600, 5.0)]
    assert check_seal(seal, links, given).holds
    assert check_seal(seal, links, {**given, "new": added}).added == 1


def test_who_deletes_before_they_got_a_place_is_not_missing_from_a_seal(settled):
    person = settled.arrive("a", "en")
    view = take(settled, person, until="quiz")
    settled.save(person, view.number, view.attempt, {"quiz1": 2})
    seal = make_seal(settled, "ada")
    assert len(seal["people"]) == 1
    erase_person(settled, person, "person")
    check = check_seal(seal, *stored_data(settled), stored_breaks(settled, seal["sealed_at"]))
    assert (check.erased, check.missing, check.holds) == (1, 0, True)
    assert standing(settled, *analysis_code(), analysis_libraries()).confirmatory


def test_who_deletes_their_answers_breaks_no_chain(settled):
    people = [rate(settled, name, (1, 2, 3)) for name in "ab"]
    erase_person(settled, people[0], "person")
    rate(settled, "c", (3, 3, 3))
    assert standing(settled, *analysis_code(), analysis_libraries()).label == "confirmatory"


def test_a_seal_holds_while_the_study_goes_on_and_not_after_a_change(settled, clock, tmp_path):
    one = rate(settled, "a", (1, 2, 3))
    half = settled.arrive("half", "en")
    view = take(settled, half, until="trial")
    settled.save(half, view.number, view.attempt, answer_for(view))
    clock.now += 200
    clock.now -= 30  # of another machine, which is behind the server's
    seal = make_seal(settled, "ada")
    clock.now += 30
    path = tmp_path / "seal.json"
    write_lock_file(path, seal)
    assert read_lock_file(path) == json.loads(json.dumps(seal))
    assert not standing(settled, *analysis_code(), analysis_libraries()).looks
    assert one not in path.read_text()
    clock.now += 60
    take(settled, half)
    export_all(settled, tmp_path / "out", "ada")
    for data in (stored_data(settled), exported_data(tmp_path / "out")):
        assert check_seal(seal, *data) == SealCheck(2, 0, 0, 0, 0, ())
    links, given = stored_data(settled)
    (before,) = check_seal(seal, links[: seal["links"] - 1], given).broken
    assert before.endswith("was it made before the seal?")
    back = {**given, one: [(trial, n, '{"rating": 3}', *when) for trial, n, _, *when in given[one]]}
    assert check_seal(seal, links, back).changed == 1
    hurried = {**given, one: [(*first, 0.1) for *first, _ in given[one]]}
    assert check_seal(seal, links, hurried).changed == 1
    assert check_seal(seal, links, {half: given[half]}).missing == 1
    assert check_seal(seal, links, {**given, "new": given[one]}).added == 1
    assert not check_seal(seal, links[1:], given).holds
    rebuilt = []
    extend_by_hand(rebuilt, links[1:])
    assert check_seal(seal, rebuilt, given).broken  # whole by itself, and not what was sealed
    erase_person(settled, one, "person")
    assert check_seal(seal, *stored_data(settled)) == SealCheck(1, 1, 0, 0, 0, ())
    write_lock_file(path, {**seal, "answers": 0})
    with pytest.raises(DataError, match="not the one whose hash"):
        read_lock_file(path)


def test_a_seal_that_is_newer_than_an_export_by_looks_holds(settled, tmp_path):
    """The look of the export itself comes into the chain after what it holds. A store that lacks looks was set back."""
    rate(settled, "a", (1, 2, 3))
    export_all(settled, tmp_path / "out", "ada")
    links, given = exported_data(tmp_path / "out")
    first = make_seal(settled, "ada")
    analyse(settled, "ada")
    second = make_seal(settled, "ada")
    for seal, later in ((first, 1), (second, 3)):
        against = exported_breaks(tmp_path / "out", seal["sealed_at"])
        check = check_seal(seal, links, given, against, is_export=True)
        assert (check.later, check.broken, check.holds) == (later, (), True)
        assert check_seal(seal, *stored_data(settled), is_export=True).later == 0
        assert check_seal(seal, links, {}, is_export=True).missing == 1
        assert not check_seal(seal, links[:-1], given, is_export=True).holds
        assert not check_seal(seal, links, given).holds
        older = {name: value for name, value in seal.items() if name != "looks_since"}
        assert not check_seal(older, links, given, is_export=True).holds
    elsewhere = []
    extend_by_hand(elsewhere, [*links[:-1], replace(links[-1], at=1.0)])
    assert not check_seal(first, elsewhere, given, is_export=True).holds
    rate(settled, "b", (1, 2, 3))
    (before,) = check_seal(make_seal(settled, "ada"), links, given, is_export=True).broken
    assert before.endswith("was it made before the seal?")


def extend_by_hand(rebuilt, links):
    """A chain that somebody has made again, without a gap."""
    last = ""
    for number, one in enumerate(links, start=1):
        last = chains._link(last, number, one.at, one.kind, one.mark, one.digest)
        rebuilt.append(replace(one, number=number, link=last))


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_the_lock_can_be_registered_as_text_and_json(settled, tmp_path):
    stands = standing(settled, *analysis_code(), analysis_libraries())
    text, plain = write_registration(tmp_path / "small", settled.design, stands)
    told = json.loads(plain.read_text())
    assert told["lock_sha256"] == stands.lock.sha256
    assert list(told["answers"]) == [
        "data", "hypotheses", "measures", "conditions", "analyses", "exclusions", "sample", "other",
    ]  # fmt: skip
    said = text.read_text()
    assert all(one["answer"] in said for one in told["answers"].values())
    assert "locked before anybody had answered" in told["answers"]["data"]["answer"]
    assert "- a: 2 places" in told["answers"]["conditions"]["answer"]
    assert f"numpy {analysis_libraries()['numpy']}" in told["answers"]["analyses"]["answer"]
    assert "- outside: did not finish in a planned place" in told["answers"]["exclusions"]["answer"]


SEVERAL = "[places]\nbatch_size = 12\npeople_per_batch = 3\n[checks]\nattention = 0\n[design]\narms_per_person = "
ONE = SEVERAL.partition("[design]")[0]
TWO_SCALES = "".join(
    f'[[scale]]\nkey = "{key}"\ntext = "Is it {key}?"\nlow = 1\nhigh = 5\nends = ["no", "yes"]\n'
    for key in ("warm", "apt")
)
EVOKED = "[places]\npeople_per_batch = 1\n[checks]\nattention = 0\n[analysis]\n"
THREE = {"arms": ("a", "b", "c")}
AGAINST_A = "'b', 'c', each against 'a': log-odds of "
AGAINST_NEUTRAL = "'negative situations' against 'Neutral': change in Negative Affect"


@pytest.mark.parametrize(
    ("kind", "more", "analyses", "conditions"),
    [
        ("rating", {**THREE, "tables": ONE}, AGAINST_A, "- b (from replies.csv:b): "),
        ("rating", {**THREE, "tables": SEVERAL + '"all"'}, AGAINST_A, "- b (from replies.csv:b)\n"),
        ("rating", {**THREE, "tables": SEVERAL + "2"}, AGAINST_A, "- c (from replies.csv:c)\nGroups"),
        ("rating", {"tables": ONE + TWO_SCALES}, "'b' against 'a' on each of 2 scales: ", "- a (from"),
        ("rating", {"arms": ("a",), "tables": ONE}, "The headline", "- a (from replies.csv:a): "),
        ("pairwise", {**THREE, "tables": ONE}, AGAINST_A, "- c (from replies.csv:c)\nGroups"),
        ("evoked", {"arms": (), "tables": EVOKED + 'reference = "Neutral"'}, AGAINST_NEUTRAL, "- Neutral: "),
        ("evoked", {"arms": (), "tables": EVOKED}, "The headline", "- Neutral: "),
        ("eqbench", {"arms": (), "top": "limit = 6"}, "The headline", "- dialogues: "),
    ],
)  # fmt: skip
def test_a_registration_names_the_arms_and_the_very_contrasts_that_are_made(tmp_path, kind, more, analyses, conditions):
    """It named "pairs", 'a + b' and Holm over situations, none of which the confirmatory result has."""
    write_replies(tmp_path)
    store = Store(str(tmp_path / "store.db"))
    design = made(tmp_path, store, kind, **more)
    store.close()
    stands = PlanStanding(False, "x", None, None)
    told = {question.key: question.answer for question in questions(design, stands)}
    assert told["analyses"].startswith(analyses)
    assert conditions in told["conditions"]
    people = rehearsed(design, min(sum(design.sizes.values()), 24 if kind != "evoked" else 400), 0.7)
    done = analysis.analyse_roll(design, people, stands).planned
    planned = find_kind(kind).planned(design) if analyses != "The headline" else None
    if planned is None:
        assert not done
        assert "against" not in told["analyses"]
        return
    assert {(one.arm, one.reference) for one in done} == {(arm, planned.reference) for arm in planned.arms}
    assert len(done) == planned.scales * len(planned.arms)
    assert ("Holm's correction over all 2" in told["analyses"]) == (len(done) == 2)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("emobench", ["what helps most?", "choice: one of 4 answers", "emotion: one of 6 answers", "cause: one of 4"]),
        ("seceu", ["A story and four feelings", "4 times a number from 0 to 10, 10 in all"]),
        ("eqbench", ["4 times a number from 0 to 10;"]),
    ],
)
def test_a_registration_names_every_measure_and_no_words_of_an_item(tmp_path, kind, said):
    """It had the first item's question and choices, which a release withholds, and not the other tasks."""
    store = Store(str(tmp_path / "store.db"))
    design = made(tmp_path, store, kind, arms=())
    store.close()
    told = {question.key: question.answer for question in questions(design, PlanStanding(False, "x", None, None))}
    assert all(words in told["measures"] for words in said)
    scales = [scale for trial in design.batches[0].trials for scale in trial.form.scales]
    own = {scale.text for scale in scales} | {text for scale in scales for _, text in scale.anchors if len(text) > 20}
    own -= {text for text in own if "possible" in text}
    assert own
    assert not [text for text in own if text in told["measures"]]


def test_a_registration_names_what_every_item_is_asked(tmp_path):
    write_replies(tmp_path)
    store = Store(str(tmp_path / "store.db"))
    design = made(tmp_path, store, "rating", tables=TWO_SCALES)
    store.close()
    told = {question.key: question.answer for question in questions(design, PlanStanding(False, "x", None, None))}
    assert "- Is it warm? (1 to 5; 1 = no; 5 = yes)\n- Is it apt? (1 to 5; 1 = no; 5 = yes)" in told["measures"]


def test_a_registration_does_not_deny_data_that_were_erased(make_participation, tmp_path):
    """Analysed, erased, and only then locked: "No data" would be a lie for the registry."""
    participation = make_participation(batches=1)
    person = rate(participation, "a", (1, 2, 3))
    analyse(participation, "ada")
    erase_person(participation, person, "researcher", "ada")
    lock_plan(participation, *analysis_code(), "ada", analysis_libraries())
    stands = standing(participation, *analysis_code(), analysis_libraries())
    assert stands.first_answer_at is None
    _, plain = write_registration(tmp_path / "small", participation.design, stands)
    said = json.loads(plain.read_text())["answers"]["data"]["answer"]
    assert said.startswith("Yes, although none are left: answers that 1 person had given before the plan was locked")


def test_a_lock_file_is_signed_and_a_changed_one_is_found_out(make_participation, tmp_path):
    participation = make_participation()
    lock, _ = lock_plan(participation, *analysis_code())
    path = tmp_path / "small.lock.json"
    content = lock_file("small", "A small study", lock)
    write_lock_file(path, content)
    assert read_lock_file(path) == json.loads(json.dumps(content))
    for name, value, said in (
        ("locked_at", lock.at - 3600, "signature"),
        ("study", "other", "signature"),
        ("plan", {**lock.plan, "eqlab": "9"}, "hash"),
        ("signature", "", "not signed"),
    ):
        write_lock_file(path, {**content, name: value})
        with pytest.raises(DataError, match=said):
            read_lock_file(path)


def test_without_the_package_that_signs_a_lock_says_in_one_line_how_to_get_it(
    make_participation, tmp_path, monkeypatch
):
    from eqlab.core.errors import UsageError
    from eqlab.study.results import lock_file as module

    lock, _ = lock_plan(make_participation(), *analysis_code())
    path = tmp_path / "small.lock.json"
    signed = lock_file("small", "A small study", lock)
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    write_lock_file(path, lock_file("small", "A small study", lock))
    with pytest.raises(DataError, match=r"is not signed.*eqlab\[study\]"):
        read_lock_file(path)
    write_lock_file(path, signed)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(UsageError, match=r"needs the package 'cryptography'.*eqlab\[study\]"):
        read_lock_file(path)


# -- what an attack found --


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"state": "banned"}, "the state of 1 person"),  # without the event that a ban leaves
        ({"steps": "trial"}, "the pages of 1 person"),
        ({"arm": "other"}, "the arm of 1 person"),
    ],
)
def test_a_row_of_a_person_that_was_changed_is_found_out_by_label_and_seal(settled, tmp_path, values, why):
    people = [rate(settled, name, (1, 2, 3)) for name in "ab"]
    seal = make_seal(settled, "ada")
    assert standing(settled, *analysis_code(), analysis_libraries()).label == "confirmatory"
    assert check_seal(seal, *stored_data(settled), stored_breaks(settled, seal["sealed_at"])).holds
    (row,) = [one for one in read_records(settled.store, settled.design).people if one.person == people[0]]
    if "steps" in values:  # its trials are not counted as such any more
        values = {"steps": row.steps.replace('"trial"', '"question"')}
    if "arm" in values:
        values = {"arm": {"a": "b", "b": "a"}[row.arm]}
    with settled.store.engine.begin() as connection:
        connection.execute(update(participants).where(participants.c.person == people[0]).values(**values))
    found = standing(settled, *analysis_code(), analysis_libraries())
    assert found.label == "exploratory"
    assert why in found.reason
    export_all(settled, tmp_path / "out", "ada")
    for data, against in (
        (stored_data(settled), stored_breaks(settled, seal["sealed_at"])),
        (exported_data(tmp_path / "out"), exported_breaks(tmp_path / "out", seal["sealed_at"])),
    ):
        check = check_seal(seal, *data, against)
        assert not check.holds
        assert why in " ".join(check.broken)


def test_a_seal_holds_after_a_ban_that_is_told(settled, tmp_path):
    people = [rate(settled, name, (1, 2, 3)) for name in "ab"]
    seal = make_seal(settled, "ada")
    settled.send_away(people[0], "banned", "ada")
    export_all(settled, tmp_path / "out", "ada")
    assert stored_breaks(settled, seal["sealed_at"]) == exported_breaks(tmp_path / "out", seal["sealed_at"]) == []


def test_an_end_that_is_set_before_the_lock_does_not_hide_that_nobody_saw_it(settled):
    one = rate(settled, "a", (1, 2, 3))
    with settled.store.engine.begin() as connection:
        connection.execute(delete(chain))
        early = {"assigned_at": 1.0, "ended_at": 2.0}
        connection.execute(update(participants).where(participants.c.person == one).values(**early))
    found = standing(settled, *analysis_code(), analysis_libraries())
    assert found.label == "exploratory"
    assert "the state of 1 person" in found.reason


def test_an_erasure_whose_event_is_gone_is_still_in_the_chain(settled):
    people = [rate(settled, name, (1, 2, 3)) for name in "ab"]
    erase_person(settled, people[0], "researcher", "ada")
    rate(settled, "c", (3, 3, 3))
    with settled.store.engine.begin() as connection:
        connection.execute(delete(events).where(events.c.kind == "erased"))
    found = standing(settled, *analysis_code(), analysis_libraries())
    assert found.label == "exploratory"
    assert "no event tells of the erasure of 1 person" in found.reason


def test_a_study_with_fewer_places_than_planned_is_not_confirmatory(settled):
    rate(settled, "a", (1, 2, 3))
    assert standing(settled, *analysis_code(), analysis_libraries()).label == "interim"
    with settled.store.engine.begin() as connection:
        connection.execute(delete(places).where(places.c.state == "open"))
    found = standing(settled, *analysis_code(), analysis_libraries())
    assert found.label == "exploratory"
    assert "the tables hold 1 place, and the study has 2" in found.reason
