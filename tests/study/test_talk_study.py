"""The kind talk without a web server: its file, its design, its statistics, its simulated people, and comparisons with
simulated speakers."""

from dataclasses import replace

import pytest
from talk_case import talk_design, talk_text

from eqlab.benchmarks.dialogue.people_result import RATED, contrasts, people_result, ratings_of
from eqlab.benchmarks.dialogue.talked import talks_of
from eqlab.comparison.speakers import Talk, compare_speakers, talks_in
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored
from eqlab.core.errors import DataError, UsageError
from eqlab.core.forms import Form, Scale
from eqlab.core.studied import PeopleResult, Truth
from eqlab.core.trials import Trial
from eqlab.store.store import Store
from eqlab.study.build_design import design_of
from eqlab.study.file import read_study
from eqlab.study.kinds import find_kind
from eqlab.study.results import analysis
from eqlab.study.results.analysis import analyse_roll
from eqlab.study.results.analysis import people_result as of_kind
from eqlab.study.results.registration import questions
from eqlab.study.simulation.simulate import Simulation, cast, recovered, rehearse, simulate
from eqlab.study.talks import settled, too_little

HONEST = {"honest": 1.0}
LISTENER = 'person = "listener"'


@pytest.fixture
def design(tmp_path):
    return lambda **more: talk_design(tmp_path, "http://127.0.0.1:9/v1", **more)


def rehearsed(design, people, effect, seed=1):
    wanted = Simulation(people, Truth(effect), HONEST)
    return rehearse(design, cast(design, wanted, seed))


# -- the file ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('help = "In', '# help = "In', "talk.help: is missing"),
        ('help = "In distress?', 'help = "CHANGE ME:', "talk.help: is not written yet"),
        ("machine =", "# machine =", "talk.machine: is missing"),
        ('machine = "You', 'machine = "CHANGE ME You', "talk.machine: is not written yet"),
        ('told = "consent"', "", "talk.told: is missing"),
        ('told = "consent"', 'told = "never"', "talk.told: .*never"),
        ("turns = 3", "turns = 0", "talk.turns: 0 is out of range"),
        ("turns = 3", "turnings = 3", "turnings"),
        ("turns = 3", 'turns = 3\nperson = "listener"\nabout = "own"', "talk.about: is for people who speak"),
        ("turns = 3", 'turns = 3\nabout = "personas"\nopening = "x"', "talk.opening: is for people who speak of"),
        ("[talk]", "[options]\nspeaker = 'x'\n[talk]", r"options: is not for talk studies.*\[talk\]"),
        ("turns = 3", "max_calls = 5\nmax_calls_person = 6", "talk.max_calls_person: 6 is out of range"),
    ],
)
def test_a_file_that_does_not_protect_people_or_makes_no_sense_is_refused(old, new, told):
    text = talk_text()
    assert old in text
    with pytest.raises(DataError, match=told):
        read_study(text.replace(old, new))


def test_without_talk_nothing_works_and_others_may_not_have_it():
    text = talk_text()
    without = text[: text.index("[talk]")] + text[text.index("[[scale]]") :]
    with pytest.raises(DataError, match=r"talk: is missing"):
        read_study(without)
    with pytest.raises(DataError, match=r"talk: is not for this kind"):
        read_study(text.replace('kind = "talk"', 'kind = "rating"'))


def test_an_arm_must_be_one_model_without_a_key_in_its_address(tmp_path, design):
    store = Store(str(tmp_path / "s.db"))
    for spec, told in (
        ("fixed", "not a model"),
        ("a,b", "not a model"),
        ("m@http://u:secret@h/v1", "password or a key"),
    ):
        study = read_study(talk_text("", arms={"x": spec}))
        with pytest.raises(UsageError, match=told):
            design_of(study, store)
    store.close()


def test_a_limit_of_cost_needs_prices(design, tmp_path):
    with pytest.raises(UsageError, match=r"talk.max_cost needs prices.*good-model-x1"):
        list(too_little(design(talk="max_cost = 1.0")))
    assert not list(too_little(talk_design(tmp_path, "", talk="max_cost = 1.0", arms={"a": "embedded"})))


def test_limits_may_change_and_pages_may_not(design):
    one = design()
    assert design(talk="max_calls = 7\nmax_calls_person = 3\nper_minute = 1").sha256 == one.sha256
    assert design(talk="characters = 500").sha256 != one.sha256
    assert design(help_line="Call somebody else.").sha256 != one.sha256


# -- the design ----------------------------------------------------------------------------------------------------


def test_every_arm_has_the_same_personas_and_a_rating_after_each_talk(design):
    made = design(top="limit = 6", talk='about = "personas"\ntalks = 2')
    assert [len(batch.trials) for batch in made.batches] == [4] * 6
    items = {arm: [[t.items for t in b.trials] for b in made.batches if b.arm == arm] for arm in made.arms}
    assert items["kestrel"] == items["heron"]
    steps = made.own_steps("kestrel", 0, 5)
    assert [step.kind for step in steps] == ["talk", "trial", "talk", "trial", "debrief"]
    shown = made.trials[steps[0].trial].stimulus
    assert "Put yourself in this person's place" in shown
    with pytest.raises(UsageError, match="2 talks a person need as many personas"):
        design(top="limit = 1", talk='about = "personas"\ntalks = 2')


def test_the_run_says_who_spoke(design):
    (config,) = design().run.benchmarks
    assert (config.name, config.options["speaker"], config.options["turns"]) == ("dialogue", "person", 3)
    (config,) = design(talk=LISTENER, top="limit = 2").run.benchmarks
    assert "good-model-x1@http://127.0.0.1:9/v1" in config.options["speaker"]


# -- when a turn is settled ----------------------------------------------------------------------------------------


def attempt(status, finish="", number=1):
    return Answer("r", "t", "person:x", 0, number, "", status, finish=finish)


@pytest.mark.parametrize(
    ("attempts", "stands"),
    [
        ([], False),
        ([attempt("error")], False),
        ([attempt("unparseable")], False),
        ([attempt("unparseable"), attempt("unparseable", number=2)], True),
        ([attempt("unparseable"), attempt("error", number=2)], False),
        ([attempt("refused", "content_filter")], True),
        ([attempt("unparseable"), attempt("ok", number=2)], True),
        ([attempt("unparseable", "length"), attempt("error", number=2)], False),
        ([attempt("refused", "left")], True),
        ([attempt("unparseable"), attempt("refused", "down", 2)], True),
    ],
)
def test_a_models_turn_stands_when_nothing_more_is_to_be_had(attempts, stands):
    assert (settled(attempts, 2, of_person=False) is not None) is stands


# -- statistics ----------------------------------------------------------------------------------------------------


def test_the_effect_that_was_put_in_is_found_again_and_covered(design):
    """40 studies of 30 people: the interval must hold the truth in 95 % of them, give or take chance."""
    made, truth, inside, total = design(), Truth(8.0), 0, 40
    values = []
    for seed in range(total):
        sample = analysis.select_sample(rehearsed(made, 30, 8.0, seed), ())
        (one,) = recovered(made, truth, sample)
        inside += one.inside is True
        values.append(one.found.value)
    assert inside >= 34, inside
    assert sum(values) / total == pytest.approx(8.0, abs=1.5)


def test_no_effect_is_no_effect(design):
    made = design()
    (one,) = recovered(made, Truth(0.0), analysis.select_sample(rehearsed(made, 60, 0.0), ()))
    assert one.name == "final emotion, heron − kestrel"
    assert abs(one.found.value) < 3 * one.found.se
    assert one.found.n == 60


def test_people_who_listen_give_the_human_level(design):
    made = design(talk=f"{LISTENER}\ntalks = 2", top="limit = 4", arms={"s": "speaker-m"})
    sample = analysis.select_sample(rehearsed(made, 30, 12.0), ())
    (one,) = recovered(made, Truth(12.0), sample)
    assert (one.name, one.put_in, one.null) == ("final emotion", 62.0, None)
    assert one.inside is True
    found = of_kind(made, sample.kept)
    result = found.result
    assert (result.subject, result.benchmark, result.headline.of, result.headline.n) == (
        "people",
        "dialogue",
        "people",
        30,
    )
    assert result.rules["seat"] == "listener"
    assert found.contrasts == ()
    assert {table.title for table in result.tables} >= {
        "The course of emotion",
        "How talks ended",
        "How people rated the whole",
    }
    assert len(result.transcripts) == 60


def test_a_reversed_scale_of_the_whole_is_named_as_it_is_read():
    scale = Scale("cold", "How cold?", 1, 5, reverse=True)
    trial = Trial("dialogue", ("whole",), RATED, "", Form((scale,)), "", key={"arm": "heron"})
    answer = Answer("r", trial.id, "person:1", 0, 1, "", "ok", {"cold": 1})
    (rating,) = ratings_of([Scored(trial, 0, (answer,))])
    assert (rating.scale, rating.value) == ("cold (turned round)", 5)


def test_people_who_speak_are_compared_by_listener(design):
    made = design(talk='about = "personas"', top="limit = 4")
    sample = analysis.select_sample(rehearsed(made, 24, 10.0), ())
    found = of_kind(made, sample.kept)
    talks = talks_in([found.result])
    assert {talk.listener for talk in talks} == {"good-model-x1", "bad-model-x2"}
    assert {talk.speaker for talk in talks} == {"people"}
    assert len({talk.who for talk in talks}) == 24
    assert len({talk.persona for talk in talks}) == 4
    assert {one.group for one in found.result.items} == {"kestrel", "heron"}
    assert (
        "felt better with heron than with kestrel" in found.result.sentence
        or "cannot be told apart" in found.result.sentence
    )
    assert not found.result.ranked
    course = next(table for table in found.result.tables if table.title == "The course of emotion, arm by arm")
    assert course.titles == ("when", "kestrel", "heron")
    first, last = course.rows[0], course.rows[-1]
    assert (first[0], last[0], first[1].n) == ("at the opening", "after reply 3", 12)
    assert last[2].value > first[2].value
    assert [name for name, _ in found.result.others.shares] == ["kestrel", "heron"], (
        "the models are on a board, not people"
    )


def test_people_are_the_reference_for_simulated_speakers(design):
    made = design(talk='about = "personas"', top="limit = 6")
    found = of_kind(made, analysis.select_sample(rehearsed(made, 48, 10.0), ()).kept)
    people = talks_in([found.result])
    cells = sorted({(talk.listener, talk.persona) for talk in people})
    simulated = [
        Talk(listener, persona, "sim", "sim", 70.0 + place % 5) for place, (listener, persona) in enumerate(cells)
    ]
    (one,) = compare_speakers([*people, *simulated], "people")
    assert one.speaker == "sim"
    assert len(one.listeners) == 2
    assert one.bias.value == pytest.approx(17.0, abs=6.0), "people end at 50 and 60, the simulation at 72"


def test_talks_of_several_people_with_one_persona_are_not_mixed_up(design):
    made = design(talk=LISTENER, top="limit = 1")
    people = rehearsed(made, 8, 0.0).people
    talks = talks_of(turn for person in people for turn in person.turns)
    assert len(talks) == 8
    assert all(talk.replies == 3 for talk in talks)
    assert len({talk.person for talk in talks}) == 8


def test_nobody_yet_is_said_plainly(design):
    made = design()
    found = people_result([], made.run.benchmarks[0].options)
    assert found.headline.value is None
    assert "none of them has an end" in found.sentence
    found, why = contrasts([], "kestrel", ["heron"], 0.05)
    assert found == ()
    assert why == "An arm needs two people whose talks have an end: kestrel (0 people), heron (0 people)."


@pytest.mark.parametrize("left", [1, 0])
def test_an_arm_whose_talks_broke_off_takes_nobody_elses_comparison_with_it(design, left):
    made = design(arms={"kestrel": "one", "heron": "two", "wren": "three"})
    people = analysis.select_sample(rehearsed(made, 36, 25.0), ()).kept
    broken = [person for person in people if person.arm == "wren"]
    found = of_kind(made, [person for person in people if person not in broken[left:]])
    (one,) = found.contrasts
    assert one.arm == "heron"
    assert one.p_holm == min(1.0, 2 * one.p), "wren was planned too"
    assert f"wren ({'1 person' if left else '0 people'})" in found.planned[0].note
    assert f"wren ({'1 person' if left else '0 people'})" in str(found.result.caveats)


# -- the whole ---------------------------------------------------------------------------------------------------


def test_the_whole_rehearsal_counts_everybody_and_every_answer(design, tmp_path):
    pytest.importorskip("fastapi")
    from eqlab.study.simulation.personas import MIX

    made = design()
    outcome = simulate(made, talk_text(), Simulation(24, Truth(10.0), MIX, at_once=12), lambda _: None)
    assert outcome.complaints == []
    assert outcome.recovered
    assert "Planned contrasts" in str([table.title for table in outcome.analysis.shown])


def test_the_plan_decides_at_its_own_level(design):
    made = design(tables="")
    strict = replace(made, study=replace(made.study, analysis=replace(made.study.analysis, alpha=0.01)))
    from eqlab.store.study.lock import PlanStanding

    roll = rehearsed(strict, 40, 12.0)
    found = analyse_roll(strict, roll, PlanStanding(True, "for a test", None, None, 0, 0, 0, ()))
    (one,) = found.planned
    assert one.low < one.estimate.low
    assert "99 % interval" in found.result.sentence
    made_of = PeopleResult(found.result, (replace(one, p=0.03, p_holm=0.03),))
    (shown,) = find_kind("talk").recovered(strict, Truth(12.0), made_of)
    assert shown.told is False  # its 95 % interval leaves out 0
    change = next(estimate for estimate in found.result.estimates if estimate.name == "change of emotion")
    assert (change.n, change.of) == (found.result.headline.n, "people")  # one persona, "own": it was "n = 1"
    assert change.low < change.value < change.high
    asked = next(question for question in questions(strict, found.standing) if question.key == "analyses")
    assert asked.answer.startswith(f"'{one.arm}' against '{one.reference}': final emotion, one value a person")
    assert "alpha = 0.01. The headline" in asked.answer
    measures = next(question for question in questions(strict, found.standing) if question.key == "measures")
    rated = {scale.text for batch in strict.batches for trial in batch.trials[1::2] for scale in trial.form.scales}
    assert rated
    assert all(text in measures.answer for text in {"How do you feel right now?"} | rated)


def test_who_listens_compares_no_arms_and_plans_none(design):
    assert find_kind("talk").planned(design(talk=LISTENER)) is None
    assert find_kind("talk").power(design(talk=LISTENER)).startswith("Nothing is compared where people listen")
    from eqlab.store.study.lock import PlanStanding

    listening = design(talk=LISTENER)
    standing = PlanStanding(True, "for a test", None, None)
    measures = next(question for question in questions(listening, standing) if question.key == "measures")
    assert "The headline is final emotion, 0 to 100, of whoever speaks" in measures.answer


def test_texts_for_people_who_speak_are_told_where_people_listen(design):
    plan = design(talk=LISTENER)
    spoken = replace(plan.study.consent, text="Say after each reply how you feel.")
    (said,) = (
        warning
        for warning in find_kind("talk").warnings(replace(plan, study=replace(plan.study, consent=spoken)))
        if "how they feel" in warning
    )
    assert said.endswith("but this still speaks of it: consent, note.") or said.endswith("of it: consent.")
    assert not [one for one in find_kind("talk").warnings(design()) if "how they feel" in one]


@pytest.mark.parametrize(("talk", "said"), [(LISTENER, True), ('about = "personas"', True), ("", False)])
def test_english_personas_on_german_pages_are_told(design, talk, said):
    plan = design(talk=talk)
    german = replace(plan, study=replace(plan.study, language="de"))
    assert any("open personas are English" in one for one in find_kind("talk").warnings(german)) is said
    assert not any("are English" in one for one in find_kind("talk").warnings(plan))
