"""Simulated people: their ways, their minds, and how they read a page."""

import random
from collections import Counter
from dataclasses import replace
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_study import small_design

from eqlab.benchmarks.emotionbench.study import Moods
from eqlab.benchmarks.eqbench.benchmark import Readers
from eqlab.benchmarks.rating.study import Raters
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form
from eqlab.core.studied import Truth
from eqlab.core.trials import Trial
from eqlab.instruments.catalogue import PANAS, score
from eqlab.instruments.wording import own_wording, scales
from eqlab.study.simulation.personas import MIX, PERSONAS, World, deal, players, read_mix
from eqlab.study.simulation.simulate import rehearse
from eqlab.study.simulation.walk import Questions, WalkError, bare, read_page


@given(st.integers(1, 300), st.integers(0, 5))
def test_people_are_dealt_exactly(people, seed):
    names = deal(people, MIX, seed)
    assert len(names) == people
    for name, count in Counter(names).items():
        assert abs(count - people * MIX[name] / sum(MIX.values())) < 1


FORM = '<form><input name=step value=1><input type=radio name="v.rating" value=1>1 Bad 2 Okay 3 Good</form>'


def test_every_persona_has_a_share_and_words():
    assert set(MIX) == set(PERSONAS)
    assert read_mix({}) == dict(MIX)
    assert read_mix({"honest": "3", "random": "1"}) == {"honest": 3.0, "random": 1.0}


@pytest.mark.parametrize(
    "pairs", [{"saint": "1"}, {"honest": "many"}, {"honest": "-1"}, {"honest": "nan"}, {"honest": "0"}]
)
def test_a_mix_that_makes_no_sense_is_refused(pairs):
    with pytest.raises(UsageError):
        read_mix(pairs)


def test_the_same_seed_is_the_same_people():
    design = small_design()

    def participants(seed):
        return rehearse(design, players(design, World(design, Truth(0.5), seed), 12, MIX, seed))

    assert participants(1) == participants(1) != participants(2)
    assert Raters(design, Truth(0.5), 1).reference == "a"


def test_ratings_get_better_by_the_effect_that_was_put_in():
    design = small_design(batches=1, size=1)
    (bad,), (good,) = (batch.trials for batch in design.batches)
    world = World(design, Truth(1.5), 0)
    minds = [world.mind(str(number)) for number in range(1500)]
    means = [fmean(world.answer(mind, trial)["rating"] for mind in minds) for trial in (bad, good)]
    same = World(design, Truth(0.0), 0)
    none = [fmean(same.answer(mind, trial)["rating"] for mind in minds) for trial in (bad, good)]
    assert means[1] - means[0] > 0.3
    assert abs(none[1] - none[0]) < 0.1


def test_moods_change_on_average_by_what_was_put_in():
    form = Form(scales(PANAS, own_wording(PANAS)))

    def trial(condition, situation="x", **key):
        return Trial("emotionbench", (situation,), condition, "", form, "", key={"instrument": "PANAS", **key})

    design = small_design()
    asked = replace(design, batches=(replace(design.batches[0], trials=(trial("default"),)),))
    people = Moods(asked, Truth(5.0), 0)
    changes = {"Anger": [], "Neutral": [], "Positive": []}
    for number in range(4000):
        draw = random.Random(number)
        person = people.person(draw)
        default = score(PANAS, PANAS.in_order(people.answer(person, trial("default"), draw)))
        for emotion, found in changes.items():
            where = {"emotion": emotion, "factor_index": number % 400, "factor": f"f{number % 400}"}
            asked = trial("evoked", f"s{number % 400}", **where)
            evoked = score(PANAS, PANAS.in_order(people.answer(person, asked, draw)))
            found.append(evoked["Negative Affect"] - default["Negative Affect"])
    means = {emotion: fmean(found) for emotion, found in changes.items()}
    # SE of a mean is about 0.26; an end of the scale takes off more where it is near
    assert means == {
        "Anger": pytest.approx(5, abs=0.7),
        "Neutral": pytest.approx(0, abs=0.7),
        "Positive": pytest.approx(-5, abs=1.2),
    }
    of_situations = [fmean(changes["Anger"][number::400]) for number in range(400)]
    assert stdev(of_situations) == pytest.approx((4.6**2 + 8**2 / 10) ** 0.5, rel=0.15)


def test_readers_err_around_the_reference():
    form = Form(tuple(scale for scale in scales(PANAS, own_wording(PANAS))[:1]))
    trial = Trial("eqbench", ("x",), "plain", "", form, "", key={"reference": {"interested": 3}})
    draw = random.Random(1)
    assert Readers(Truth(0.0)).answer(None, trial, draw) == {"interested": 3}
    assert len({Readers(Truth(1.0)).answer(None, trial, draw)["interested"] for _ in range(50)}) > 2


PAGE = """<html><head><style>.x{content:"How sad"}</style></head><body>
<form action="/s/x/language"><input name="lang" value="de"><button>de</button></form>
<h1>Page 3</h1><blockquote><p>&ldquo;I am&nbsp;so <em>happy</em>&rdquo;</p></blockquote>
<form method="post" action="/s/x/page">
<input type="hidden" name="step" value="3"><input type="hidden" name="attempt" value="2">
<input type="hidden" name="shown" value="12.5">
<label><input type="radio" name="v.a" value="1">Bad</label><label><input type="radio" name="v.a" value="2">Good</label>
<select name="v.b"><option value="0">none</option><option value="1">some</option></select>
<button name="go" value="on">On</button></form>
<form action="/s/x/stop"><button name="what" value="delete">Stop</button></form></body></html>"""


def test_a_page_is_read_as_a_browser_posts_it():
    page = read_page(PAGE)
    assert (page.number, page.attempt, page.scales) == (3, 2, {"a", "b"})
    assert page.fields == {"step": "3", "attempt": "2", "shown": "12.5"}
    assert page.choices == {"v.a": ("1", "2"), "v.b": ("0", "1"), "go": ("on",)}
    assert bare("> “I am so happy”") in page.words
    assert "howsad" not in page.words
    assert read_page("<form><input name=q></form>") is None


def test_a_page_is_found_again_by_its_words_and_the_persons_arm():
    design = small_design(arms=("a", "b"), batches=1, size=2)
    questions = Questions(design)

    def page(stimulus):
        return read_page(f"<p>{stimulus}</p>{FORM}")

    arms = {"a", "b"}
    mine = design.batches[1].trials[0]
    assert questions.find(page(mine.stimulus), arms) == mine
    assert arms == {"b"}
    with pytest.raises(WalkError, match="none of the study's questions"):
        questions.find(page("something else"), arms)


def test_two_arms_with_the_same_words_are_told_apart_by_other_pages():
    design = small_design(arms=("a", "b"), batches=1, size=2)
    same = [
        type(batch)(batch.arm, batch.number, (trial_like(batch.trials[0], "The same words"), batch.trials[1]))
        for batch in design.batches
    ]
    questions = Questions(type(design)(design.study, design.run, tuple(same)))
    html = f"<p>The same words</p>{FORM}"
    arms = {"b"}
    assert questions.find(read_page(html), arms).key["arm"] == "b"


def trial_like(trial, stimulus):
    return Trial(trial.benchmark, trial.items, trial.condition, stimulus, trial.form, "", key=trial.key)
