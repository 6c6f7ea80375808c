"""The shipped short forms are those that the published results give, and are worth what the documentation says."""

import numpy as np
import pytest
from presentation import presented

from eqlab.analysis.item_response import choose, copies, factors, figures, fit, fixed, leave_out
from eqlab.benchmarks.eqbench.score import EqBenchOptions
from eqlab.benchmarks.eqbench.short import facts, fingerprint, full_score, item_model
from eqlab.reproduce.eqbench import family
from eqlab.reproduce.short_forms import SIZES, WAYS, WIDTHS, first_pass_scores, tables


@pytest.fixture(scope="module")
def learned(published):
    references, models, scores = first_pass_scores(published)
    if len(models) != facts()["fitted_to"]["models"]:
        pytest.skip("another set of result files than the shipped parameters were learned from")
    return references, models, scores


def test_the_shipped_facts_are_what_the_results_give(learned):
    references, models, scores = learned
    numbers = list(references)
    model, shipped = fit(scores), item_model()
    assert fingerprint(references) == facts()["holds_for"]["questions_sha256"]
    assert [numbers[item] for item in choose(model, 40)] == facts()["forms"]["40"]
    assert np.abs(model.difficulty - shipped.difficulty).max() < 0.002
    assert np.abs(model.slope - shipped.slope).max() < 0.002
    assert np.abs(model.covariance() - shipped.covariance()).max() < 0.05
    assert {int(size): len(form) for size, form in facts()["forms"].items()} == {size: size for size in SIZES}
    assert all(set(form) <= set(numbers) for form in facts()["forms"].values())
    assert len({family(model) for model in models}) == facts()["fitted_to"]["families"]


def test_relatives_are_one_family():
    solar = ("upstage/SOLAR-10.7B-Instruct-v1.0", "rishiraj/meow", "Yhyu13/LMCocktail-10.7B-v1")
    assert len({family(name) for name in solar}) == 1
    assert family("gpt-3.5-turbo") == family("gpt-3.5-turbo-16k-0613") != family("gpt-4-0613")
    assert family("teknium/OpenHermes-2.5-Mistral-7B") == family("mlabonne/Beagle14-7B")
    assert family("somebody/new") == "somebody/new"


@pytest.fixture(scope="module")
def forty(learned):
    """What forty questions are worth with each way of holding out, computed anew."""
    _, models, scores = learned
    families = [family(model) for model in models]
    fits = {}
    held = leave_out(scores, families, [fixed(size) for size in SIZES], fits)
    reach = factors(held, families, 0.90)
    ways = zip(WAYS, (models, copies(scores, models), families), strict=True)
    return {way: figures(leave_out(scores, groups, [fixed(40)], fits)[0], families, reach) for way, groups in ways}


@pytest.mark.parametrize("way", WAYS)
def test_the_shipped_figures_are_what_the_results_give(forty, way):
    shipped = facts()["held_out"][way]["40"]
    assert 10 * forty[way].mae == pytest.approx(shipped["mae"], abs=0.05)
    assert forty[way].r == pytest.approx(shipped["r"], abs=0.002)
    assert forty[way].covered == pytest.approx(shipped["covered"], abs=0.02)


def test_forty_questions_on_models_held_out(forty):
    """One by one: relatives, and the same model under another name, may be among those learned from."""
    assert forty["models"].r >= 0.98
    assert 10 * forty["models"].mae <= 2.0
    assert 0.85 <= forty["models"].covered <= 0.95


@pytest.mark.parametrize(("way", "mae"), [("copies", 2.3), ("families", 2.5)])
def test_forty_questions_with_copies_and_whole_families_held_out(forty, way, mae):
    """The aim of two points is not reached here: documented, and not to get worse."""
    assert 10 * forty[way].mae < mae
    assert forty[way].r >= 0.98
    assert 0.85 <= forty[way].covered <= 0.95


def test_one_model_under_several_names_is_held_out_as_one(learned):
    _, models, scores = learned
    groups = dict(zip(models, copies(scores, models), strict=True))
    assert groups["gpt-3.5-turbo"] == groups["gpt-3.5-turbo-0613"] == groups["gpt-3.5-turbo-16k-0613"]
    assert groups["gpt-3.5-turbo-0301"] != groups["gpt-3.5-turbo"]
    assert len(set(groups.values())) == 49


def test_the_shipped_figures():
    for found in facts()["held_out"].values():
        assert list(found) == [*map(str, SIZES), *(f"width {width}" for width in WIDTHS)]
        assert found["100"]["mae"] < found["60"]["mae"] < found["20"]["mae"]
        assert all(one["mae_low"] < one["mae"] < one["mae_high"] for one in found.values())
    assert len(tables(dict(facts()))[0].rows) == 3 * (len(SIZES) + len(WIDTHS))


def test_a_full_set_of_answers_gives_the_full_score(learned):
    references, _, scores = learned
    row = scores[0]
    known = {number: float(score) for number, score in zip(references, row, strict=True) if not np.isnan(score)}
    found = full_score(known, EqBenchOptions(short=40))
    assert found.value == pytest.approx(10 * np.nanmean(row), abs=0.3)


def test_the_summary_comes_first_and_json_holds_no_python(capsys):
    assert "20 questions" in presented("short-forms", dict(facts()), capsys)[0]
