"""Kinds of study: each is checked, dealt, simulated with a known truth and analysed; and their registry."""

import re
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import combinations

import pytest
from made_studies import made, rehearsed, study_text, write_replies

from eqlab.benchmarks.rating.benchmark import Ratings
from eqlab.benchmarks.rating.trials import RATING, by_key, condition_of
from eqlab.core.errors import DataError, UsageError
from eqlab.core.runs import PEOPLE
from eqlab.core.studied import Analysed, StudyKind, Worded
from eqlab.store.store import Store
from eqlab.store.study.lock import PlanStanding
from eqlab.store.study.studies import create_study
from eqlab.study import kinds
from eqlab.study.build_design import open_study
from eqlab.study.file import read_study
from eqlab.study.overview import overview, power_of, warnings
from eqlab.study.results import analysis
from eqlab.study.results.analysis import people_result
from eqlab.study.results.participants import scored_of
from eqlab.study.results.registration import questions
from eqlab.study.simulation.simulate import recovered
from eqlab.tables.cells import p_text

SCALES = "".join(
    f'[[scale]]\nkey = "{key}"\ntext = "How {key}?"\nlow = 1\nhigh = {high}\nends = ["not at all", "fully"]\n{more}\n'
    for key, high, more in (("cognitive", 5, ""), ("affective", 7, ""), ("cold", 5, "reverse = true"))
)


@pytest.fixture
def make(tmp_path):
    write_replies(tmp_path)
    store = Store(str(tmp_path / "store.db"))
    yield lambda kind, **more: made(tmp_path, store, kind, **more)
    store.close()


def by_person(design):
    return [[trial.key for trial in batch.trials] for batch in design.batches]


# -- registry ------------------------------------------------------------------------------------------------------


def test_every_kind_has_a_form_of_its_name_and_a_template():
    assert set(kinds.kind_names()) >= {"rating", "pairwise", "reply", "evoked", "eqbench"}
    for name in kinds.kind_names():
        kind: StudyKind = kinds.find_kind(name)
        assert kind.form().kind == name
        assert f'kind = "{name}"' in kind.form().template
        if isinstance(kind, Worded):
            assert kind.in_words({}).words == kind.words


def test_an_unknown_kind_is_named_with_those_that_are():
    with pytest.raises(UsageError, match="no kind of study 'ratings'"):
        kinds.find_kind("ratings")
    with pytest.raises(DataError, match="did you mean rating"):
        read_study(study_text("ratings"))


# -- several arms a person -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("each", [1, 2, 3])
def test_every_prompt_meets_every_arm_equally_often_and_nobody_a_prompt_twice(make, each, blocked):
    if each == 1 and blocked:
        pytest.skip("one arm has no blocks")
    tables = f"[design]\narms_per_person = {each}\nblocked = {str(blocked).lower()}\n[places]\nbatch_size = 6\n"
    design = make("rating", arms=("a", "b", "c"), tables=tables)
    met = Counter()
    for keys in by_person(design):
        assert len({key["prompt"] for key in keys}) == len(keys) == 6
        counts = Counter(key["arm"] for key in keys)
        assert len(counts) == each
        assert set(counts.values()) == {6 // each}
        met.update((key["arm"], key["prompt"]) for key in keys)
    assert len(met) == 3 * 24
    assert len(set(met.values())) == 1
    assert set(design.arms) == {" + ".join(group) for group in combinations("abc", each)}


def test_blocks_keep_arms_together_in_counterbalanced_order(make):
    design = make("rating", tables='[design]\narms_per_person = "all"\nblocked = true\n[places]\nbatch_size = 6\n')
    firsts = Counter()
    for place in design.places():
        steps = design.own_steps(place.arm, place.batch, place.number)
        arms = [design.trials[step.trial].key["arm"] for step in steps if step.kind == "trial"]
        assert arms in (["a"] * 3 + ["b"] * 3, ["b"] * 3 + ["a"] * 3)
        firsts[arms[0]] += 1
    assert firsts["a"] == firsts["b"]


def test_within_people_the_effect_is_found_again(make):
    design = make(
        "rating", tables='[design]\narms_per_person = "all"\n[places]\nbatch_size = 12\npeople_per_batch = 8\n'
    )
    sample = analysis.select_sample(rehearsed(design, 32, 1.0), ())
    (one,) = recovered(design, registry_truth(1.0), sample)
    assert (one.name, one.inside) == ("log-odds, b − a", True)
    assert one.found.low > 0


def registry_truth(effect):
    from eqlab.core.studied import Truth

    return Truth(effect)


def test_more_arms_than_there_are_is_refused():
    with pytest.raises(DataError, match=r"design\.arms_per_person: 3 is out of range"):
        read_study(study_text("rating", tables="[design]\narms_per_person = 3"))
    with pytest.raises(DataError, match="design: is not for this kind"):
        read_study(study_text("eqbench", arms=(), tables="[design]\narms_per_person = 1"))


# -- own scales ----------------------------------------------------------------------------------------------------


def test_own_scales_are_all_on_a_page_and_each_is_analysed(make):
    design = make("rating", tables=SCALES + "[places]\nbatch_size = 12\npeople_per_batch = 12\n")
    (form,) = {trial.form for batch in design.batches for trial in batch.trials}
    assert [(scale.key, scale.high) for scale in form.scales] == [("cognitive", 5), ("affective", 7), ("cold", 5)]
    kept = analysis.select_sample(rehearsed(design, 48, 1.2), ()).kept
    found = people_result(design, kept)
    (measures,) = (one.answer for one in questions(design, PlanStanding(True, "", None, None)) if one.key == "measures")
    assert re.findall(r"How (\w+)\?.*reverse-keyed", measures) == ["cold"]
    assert {check.form for check in design.attention} == {form}  # nobody tells a check by the number of its scales
    assert all(check.key["right"].keys() <= set(form.keys) for check in design.attention)
    contrasts = {one.estimate.name: one for one in found.contrasts}
    keys = ("cognitive", "affective", "cold (turned round)")
    assert set(contrasts) == {f"log-odds, {key}: b − a" for key in keys}
    for key in keys:  # the last is reverse-keyed: people rate it the other way round
        one = contrasts[f"log-odds, {key}: b − a"]
        assert one.estimate.low < 1.2 < one.estimate.high
        assert one.p_holm >= one.p
    assert len(found.planned[0].rows) == 3
    titles = [table.title for table in found.result.tables]
    assert titles == ["Mean ratings", "How the scales go together"]
    assert [gap.name for gap in found.result.estimates] == [
        *("cognitive: b − a", "affective: b − a", "cold (turned round): b − a")
    ]
    assert "cold (turned round): b − a +" in found.result.sentence


ENDS = 'high = 7\nends = ["not at all", "very"]'
FIVE = 'labels = ["not at all", "a little", "somewhat", "quite", "very"]'
THREE = 'high = 3\nlabels = ["short", "middling", "long"]'


@pytest.mark.parametrize(
    ("key", "values"),
    [*(("rating", values) for values in (ENDS, FIVE, THREE))]
    + [(key, ENDS) for key in ("condition", "overall", "good", "reply", "person", "arm")],
)
def test_a_scale_of_ones_own_is_ones_own_whatever_its_key(make, tmp_path, key, values):
    """Called `rating`, it was read as Bad, Okay, Good. So it is stored where studies began before."""
    tables = f'[[scale]]\nkey = "{key}"\ntext = "How kind is it?"\n{values}\n[places]\nbatch_size = 12\n'
    new = make("rating", tables=tables)
    (path, store) = (tmp_path / "rating.toml", Store(str(tmp_path / "begun.db")))
    path.write_text(study_text("rating", tables=tables))
    older = replace(new, batches=tuple(replace(b, trials=tuple(map(by_key, b.trials))) for b in new.batches))
    assert (older.sha256 == new.sha256) is (key != "rating")
    create_study(store, older, "", "0.2.0", {})
    assert open_study(path, store)[1].sha256 == older.sha256
    store.close()
    for design in (new, older):
        kept = analysis.select_sample(rehearsed(design, 8, 1.2), ()).kept
        scored = scored_of(design.run.id, kept, "rating")
        for result in (people_result(design, kept).result, Ratings().score(PEOPLE, scored, {"purpose": "people"})):
            assert result.title == "Replies rated by people on 1 scale"
            assert result.items[0].values.keys() == {key}
            assert "Good" not in f"{result.sentence}{result.item_labels}"


def test_the_form_named_in_the_file_is_the_form(make):
    form = '[[scale]]\nkey = "rating"\ntext = "{}"\nhigh = 3\nlabels = ["Bad", "Okay", "Good"]\n'
    for text, condition in ((RATING.text, "absolute"), ("How kind is it?", "scales")):
        design = make("rating", tables=form.format(text))
        assert {trial.condition for batch in design.batches for trial in batch.trials} == {condition}
    german = make("rating", language="de")
    assert {condition_of(trial) for batch in german.batches for trial in batch.trials} == {"absolute"}


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        ('key = "a"\ntext = "t"\nhigh = 5', "scale[1].ends: are missing"),
        ('key = "a"\ntext = "t"\nhigh = 3\nlabels = ["x", "y"]', "scale[1].labels: are 2 for the values 1 to 3"),
        ('key = "A b"\ntext = "t"\nends = ["x", "y"]', "scale[1].key: names a column"),
        ('key = "a"\ntext = "t"\nhigh = 50\nends = ["x", "y"]', "scale[1].high: 50 is out of range"),
    ],
)
def test_a_scale_that_makes_no_sense_is_named(scale, said):
    with pytest.raises(DataError) as error:
        read_study(study_text("rating", tables=f"[[scale]]\n{scale}"))
    assert said in str(error.value)


# -- pairs ---------------------------------------------------------------------------------------------------------


def test_every_pair_is_shown_in_both_orders_and_a_person_sees_both(make):
    design = make("pairwise", arms=("a", "b", "c"), tables="[places]\nbatch_size = 9\n")
    seen = Counter((key["prompt"], *key["arms"]) for keys in by_person(design) for key in keys)
    assert len(seen) == 24 * 3 * 2
    assert set(seen.values()) == {1}
    for keys in by_person(design):
        firsts = Counter(key["arms"][0] < key["arms"][1] for key in keys)
        assert abs(firsts[True] - firsts[False]) <= 1
    shown = design.batches[0].trials[0].stimulus
    assert shown.count("<|>") == 2
    assert "First reply:" in shown


def test_strengths_are_found_again_ties_and_places_aside(make):
    design = make("pairwise", arms=("a", "b", "c"), tables="[places]\nbatch_size = 12\npeople_per_batch = 4\n")
    kept = analysis.select_sample(rehearsed(design, 48, 0.8), ()).kept
    found = people_result(design, kept)
    assert [one.arm for one in found.contrasts] == ["b", "c"]
    for one in found.contrasts:
        assert one.estimate.low < 0.8 < one.estimate.high
        assert one.estimate.low > 0
    places = {one.name: one for one in found.result.estimates}
    assert places["first place"].low < 0.2 < places["first place"].high
    assert places["ties"].value > 10


def at_level(design, alpha):
    return replace(design, study=replace(design.study, analysis=replace(design.study.analysis, alpha=alpha)))


@pytest.mark.parametrize(("alpha", "effect"), [(0.01, 0.3), (0.3, 0.3), (0.01, 0.6), (0.3, 0.1), (0.05, 0.1)])
def test_the_sentence_on_choices_judges_at_the_plans_level_as_its_table_does(make, alpha, effect):
    design = at_level(make("pairwise", tables="[places]\nbatch_size = 12\npeople_per_batch = 2\n"), alpha)
    found = people_result(design, analysis.select_sample(rehearsed(design, 8, effect), ()).kept)
    (contrast,), (row,) = found.contrasts, found.planned[0].rows
    different = contrast.p < alpha
    assert row[-1] == ("yes" if different else "no")
    assert ("they prefer b to a" in found.result.sentence) is different
    assert f"{100 * (1 - alpha):g} % interval {contrast.low:z.2f} to {contrast.high:z.2f}" in found.result.sentence
    assert (contrast.low > 0 or contrast.high < 0) is different  # one test, one interval


def test_choices_are_judged_against_the_planned_reference_among_all_that_was_planned(make):
    design = make("pairwise", arms=("a", "b", "c"), tables="[places]\nbatch_size = 12\npeople_per_batch = 4\n")
    kept = analysis.select_sample(rehearsed(design, 48, 0.3), ()).kept

    scored = scored_of(design.run.id, kept, "rating")

    def without(arm):
        left = tuple(one for one in scored if arm not in one.trial.key["arms"])
        return kinds.find_kind("pairwise").result(design, Analysed(left))

    two = without("c")
    (found,) = two.contrasts
    assert found.p_holm == pytest.approx(min(1.0, 2 * found.p))  # two were planned
    assert f"p = {p_text(found.p_holm)} after Holm" in two.result.sentence
    assert "No analysed rating belongs to 'c'." in two.result.caveats
    none = without("a")
    assert none.contrasts == ()
    assert none.result.headline.value is None
    assert none.result.sentence.startswith("No analysed rating belongs to 'a', with which the plan compares")


def test_without_ties_there_are_two_answers(make):
    design = make("pairwise", tables="[options]\nties = false\n")
    (scale,) = design.batches[0].trials[0].form.scales
    assert scale.anchors == ((1, "First"), (2, "Second"))
    assert "ties" not in power_of(design)
    tutorial = replace(design.study.tutorial, text="If neither is, choose Tie.")
    told = overview(replace(design, study=replace(design.study, tutorial=tutorial))).warnings
    assert any("cannot choose a tie" in warning for warning in told)
    assert not any("cannot choose a tie" in warning for warning in overview(design).warnings)
    kept = analysis.select_sample(rehearsed(design, 8, 0.8), ()).kept
    table = {row[0]: row[1] for row in people_result(design, kept).result.tables[-1].rows}
    assert table["tie"] == 0
    assert table["first"] + table["second"] == sum(len(one.pages) - 2 for one in kept)


def test_an_arm_that_won_everything_has_no_finite_strength_and_that_is_said(make):
    design = make("pairwise")
    kept = analysis.select_sample(rehearsed(design, 4, 60.0), ()).kept
    found = people_result(design, kept)
    assert found.contrasts == ()
    assert any("No strengths" in said for said in found.result.caveats)


def test_check_says_what_pairs_find_and_that_a_tutorial_speaks_of_other_scales(make):
    """24 prompts × 2 orders × 1 person: 48 meetings; e^(2.802·2/√48) = 2.245 : 1, or 69 %."""
    design = make("pairwise", tables="[places]\nbatch_size = 12\npeople_per_batch = 1\n")
    assert power_of(design).startswith(
        "With 48 choices between every two arms, you have at most 80 % power to detect a preference of 69 to 31"
    )
    quiz = '[[tutorial.question]]\ntext = "What?"\noptions = ["This", "That"]\nanswer = 1\n'
    own = make("rating", tables=f'{SCALES}[tutorial]\ntext = "Bad: it misses the person."\n{quiz}')
    assert any("still speaks of Bad, Okay and Good" in said for said in warnings(own, 3.0))
    plain = make("rating", tables=f'{SCALES}[tutorial]\ntext = "Read, then rate."\n{quiz}')
    assert not any("still speaks" in said for said in warnings(plain, 3.0))


def test_ratings_of_a_few_prompts_by_a_few_people_promise_nothing(make):
    """80 % power were said of three raters and four prompts, whose ratings fall apart before a test finds anything."""
    few = make("rating", top="limit = 4\n", tables="[places]\nbatch_size = 4\npeople_per_batch = 3\n")
    assert "no difference in P(Good) can be detected with 80 % power" in power_of(few)


def test_of_scales_of_ones_own_and_of_several_arms_a_person_no_power_is_said(make):
    """It was that of people's means, which prompts and replies limit; or of groups that nobody compares."""
    for design in (make("rating", tables=SCALES), make("rating", tables="[design]\narms_per_person = 2\n")):
        assert "'eqlab study simulate FILE --repeats 200' tells" in power_of(design)
        assert "80 %" not in power_of(design)


def test_power_is_said_of_the_level_that_holm_leaves(make):
    two = make("rating", tables="[places]\nbatch_size = 8\npeople_per_batch = 8\n")
    three = replace(two, batches=(*two.batches, *(replace(one, arm="c") for one in two.batches if one.arm == "a")))
    assert "alpha 0.05, if raters" in power_of(two)
    assert "alpha 0.05 over 2 comparisons by Holm, if raters" in power_of(three)

    def gap(design):
        return int(re.search("detect a ([0-9]+)-point", power_of(design))[1])

    assert gap(three) > gap(two)


def test_pairs_on_too_few_prompts_promise_no_test_and_say_why_there_is_none(make):
    """With four prompts there is no interval however many people choose; power was promised all the same."""
    few = make("pairwise", top="limit = 4\n", tables="[places]\nbatch_size = 4\npeople_per_batch = 10\n")
    why = "The planned contrasts cannot be tested: 4 prompts, and 5 are needed."
    assert power_of(few) == why
    assert why in overview(few).warnings
    found = people_result(few, analysis.select_sample(rehearsed(few, 20, 0.5), ()).kept)
    assert found.contrasts == ()
    assert found.result.sentence == f"20 people made 80 choices. {why}"
    enough = make("pairwise", top="limit = 5\n", tables="[places]\nbatch_size = 5\npeople_per_batch = 10\n")
    assert "80 % power" in power_of(enough)
    assert not any("cannot be tested" in line for line in overview(enough).warnings)
    assert people_result(enough, analysis.select_sample(rehearsed(enough, 20, 0.5), ()).kept).contrasts


def test_a_pair_needs_two_arms(make):
    with pytest.raises(UsageError, match="needs two arms"):
        make("pairwise", arms=("a",))


# -- places --------------------------------------------------------------------------------------------------------

GENDER = """
[[before]]
key = "gender"
ask = "one"
text = "What is your gender?"
options = ["Woman", "Man", "Another"]
prefer_not_to_say = true
"""


def test_permuted_blocks_hold_every_arm_equally_often(make):
    design = make(
        "rating",
        arms=("a", "b", "c"),
        tables='[places]\norder = "blocks"\nblock = 2\npeople_per_batch = 4\nbatch_size = 6\n',
    )
    arms = [place.arm for place in design.places()]
    assert len(arms) == 3 * 4 * 4 == sum(design.sizes.values())
    for start in range(0, len(arms), 6):
        assert Counter(arms[start : start + 6]) == {"a": 2, "b": 2, "c": 2}
    batches = Counter((place.arm, place.batch) for place in design.places())
    assert set(batches.values()) == {4}
    assert [place.number for place in design.places()] == list(range(48))


def test_quotas_are_balanced_over_the_arms_and_end_with_their_number(make):
    design = make("rating", tables=f'{GENDER}\n[quota]\nquestion = "gender"\nplaces = {{ "Woman" = 10, "Man" = 7 }}\n')
    assert sum(design.sizes.values()) == 17
    arms = [place.arm for place in design.places()]
    assert Counter(arms[:10]) == {"a": 5, "b": 5}
    assert abs(Counter(arms[10:])["a"] - 3.5) < 1
    assert design.stratum({"gender": 1}) == "Woman"
    assert design.stratum({"gender": 4}) is None  # prefers not to say: nobody is wanted
    people = rehearsed(design, 80, 0.5).people
    labels = {1: "Woman", 2: "Man", 3: "Another", 4: "-"}
    ended = defaultdict(Counter)
    for person in people:
        gender = next((one.values["gender"] for one in person.given if one.kind == "question"), None)
        if gender is not None:
            ended[labels[gender]][person.state] += 1
    assert ended["Woman"]["finished"] == 10
    assert ended["Man"]["finished"] == 7
    assert set(ended["Another"]) <= {"full"}


def test_strata_share_the_batches_of_an_arm(make):
    """Each had an order of its own: situations were given twice while others had nobody."""
    quota = f'{GENDER}\n[quota]\nquestion = "gender"\nplaces = {{ "Woman" = 30, "Man" = 30 }}\n'
    design = make("evoked", tables=quota, arms=())
    sizes = Counter(batch.arm for batch in design.batches)
    given = defaultdict(Counter)
    for place in design.places():
        given[place.arm][place.batch] += 1
    for arm, batches in given.items():
        assert len(batches) == min(batches.total(), sizes[arm])


@pytest.mark.parametrize(("kind", "arms"), [("pairwise", ("a", "b")), ("evoked", ())])
def test_what_a_study_can_find_follows_its_quotas(make, kind, arms):
    """Twenty places and six hundred had the same sentence, and the same registration."""
    plan = '[analysis]\nreference = "Neutral"\n' if kind == "evoked" else ""

    def said(places):
        quota = f'{GENDER}\n[quota]\nquestion = "gender"\nplaces = {{ "Woman" = {places}, "Man" = {places} }}\n{plan}'
        design = make(kind, tables=quota, arms=arms)
        return kinds.find_kind(kind).power(design)

    few, some, many = said(4), said(60), said(600)
    assert len({few, some, many}) == 3
    assert "80 % power" in many


@pytest.mark.parametrize(
    ("quota", "said"),
    [
        ('question = "age"\nplaces = { "Woman" = 1 }', "is not a question of [[before]] with one answer"),
        ('question = "gender"\nplaces = { "Women" = 1 }', "is not an answer to it (there are: Woman, Man, Another)"),
        ('question = "gender"', "quota.places: are missing"),
    ],
)
def test_a_quota_that_nobody_can_fill_is_named(quota, said):
    with pytest.raises(DataError) as error:
        read_study(study_text("rating", tables=f"{GENDER}\n[quota]\n{quota}"))
    assert said in str(error.value)


# -- gold items and repeated pages ---------------------------------------------------------------------------------

GOLD = '[checks]\nattention = 0\nrepeat = 2\n[[checks.gold]]\ntext = "> Who cares."\naccept = [1]\n'


def test_gold_items_are_for_everybody_never_first_and_repeats_come_last(make):
    design = make("rating", tables=GOLD)
    for seed in range(20):
        steps = design.own_steps("a", 0, seed)
        order = [step.kind for step in steps]
        assert order.count("gold") == 1
        assert order[0] == "trial"
        assert order[-3:] == ["repeat", "repeat", "debrief"]
        again = [design.trials[step.trial].key["repeats"] for step in steps if step.kind == "repeat"]
        assert set(again) < {step.trial for step in steps[: len(steps) // 2 + 1] if step.kind == "trial"}


def test_careless_people_fail_gold_items_and_the_inconsistent_are_found(make):
    design = make("rating", tables=GOLD + "[places]\npeople_per_batch = 6\n")
    mix = {"honest": 20, "random": 8}
    people = rehearsed(design, 28, 0.5, mix=mix).people
    failed = sum(person.gold(False) for person in people)
    assert 1 <= failed <= 8
    apart = [person.apart for person in people]
    assert all(one is not None and 0 <= one <= 1 for one in apart)
    found = analysis.select_sample(rehearsed(design, 28, 0.5, mix=mix), ("failed_gold", "inconsistent"))
    assert {why for own in found.excluded.values() for why in own} <= {"failed_gold", "inconsistent"}
    assert len(found.excluded) >= failed
    # answers to gold items and repeated pages are none of the benchmark's
    assert people_result(design, found.everybody).result.counts["ok"] == sum(
        sum(page.kind == "trial" for page in one.pages) for one in found.everybody
    )


def test_gold_items_need_one_form_and_an_answer_that_exists(make):
    with pytest.raises(UsageError, match="accepts an answer that its form does not have"):
        make("rating", tables=GOLD.replace("[1]", "[4]"))
    with pytest.raises(UsageError, match="different forms"):
        make("eqbench", arms=(), top="limit = 10", tables=GOLD)


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ["blue", "green", "red", "yellow"]), ("de", ["blau", "grün", "rot", "gelb"])],
)
def test_a_check_shows_and_orders_no_answer_to_an_item(make, language, words):
    """Where every item has choices of its own, those of the first would tell people how to answer it."""
    design = make("emobench", language=language, arms=())
    asked = {text for one in design.trials.values() if one.benchmark == "emobench" for text in shown_on(one)}
    assert [dict(page.form.scales[0].anchors)[page.key["right"]["check"]] for page in design.attention] == words
    assert all(word in page.stimulus for word, page in zip(words, design.attention, strict=True))
    assert not asked & {text for page in design.attention for text in shown_on(page)}


def test_a_check_has_the_trials_own_scale_where_all_have_the_same(make):
    """Nobody tells it by its form then."""
    design = make("seceu", arms=())
    first = design.batches[0].trials[0].form.scales[0]
    assert {page.form.scales for page in design.attention} == {(first,)}


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "write the word “apple”"), ("de", "das Wort „Apfel“"), ("es", "la palabra «manzana»")],
)
def test_who_writes_is_told_to_write_where_the_file_has_no_words_for_checks(make, language, words):
    """They were told to choose, above an empty field."""
    page = make("reply", language=language, arms=()).attention[0]
    assert words in page.stimulus
    assert "choose" not in page.stimulus


def shown_on(page):
    return [text for scale in page.form.scales for text in (scale.text, *dict(scale.anchors).values())]


def test_of_peoples_replies_nothing_but_the_headline_is_confirmatory_and_no_judge_is_named(make):
    """A judge is refused replies that nobody has moderated, and the registration plans no table of marks."""
    design = make("reply", arms=(), top="limit = 12")
    found = analysis.analyse_roll(design, rehearsed(design, 2, 30.0), PlanStanding(True, "for a test", None, None))
    assert [table.title for table in found.result.tables if "Care" in table.title] == [
        "Exploratory: Care of the replies"
    ]
    assert not any("eqlab judge" in caveat for caveat in found.result.caveats)
    assert any("eqlab study replies" in caveat for caveat in found.result.caveats)


def test_time_and_pages_count_what_is_added(make):
    plain = overview(make("rating"))
    more = overview(make("rating", tables=GENDER + GOLD.replace("attention = 0", "attention = 2")))
    assert more.pages[0] == plain.pages[0] + 4
    assert more.minutes > plain.minutes


def test_the_registration_names_a_questionnaire_and_keeps_its_words(make, published, monkeypatch):
    """A registry is public, and the statements are their authors'."""
    monkeypatch.setenv("EQLAB_DATA", str(published))
    design = make("evoked", tables='[options]\ninstrument = "BDI"\n', arms=())
    (measures,) = (one.answer for one in questions(design, PlanStanding(True, "", None, None)) if one.key == "measures")
    assert "Beck Depression Inventory" in measures
    labels = {text for scale in design.batches[0].trials[0].form.scales for _, text in scale.anchors}
    assert len(labels) > 20
    assert not any(text in measures for text in labels if len(text) > 12)
