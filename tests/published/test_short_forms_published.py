"""The shipped short forms are those that the published results give, and are worth what the documentation says."""

import numpy as np
import pytest

from eqlab.analysis.held_out import factors, figures, fixed, leave_families_out
from eqlab.analysis.item_response import fit
from eqlab.analysis.short_form import choose
from eqlab.benchmarks.eqbench.items import parse_published
from eqlab.benchmarks.eqbench.short import facts, fingerprint, full_score, item_model
from eqlab.data import published as files
from eqlab.reproduce.eqbench_families import family
from eqlab.reproduce.short_forms import SIZES, first_pass_scores, tables

FILE = "eqbench/data/eq_bench_v2_questions_171.json"


@pytest.fixture(scope="module")
def learned(published):
    questions = parse_published(files.read(FILE, published), FILE, "v2", "en")
    models, scores = first_pass_scores(published, questions)
    if len(models) != facts()["fitted_to"]["models"]:
        pytest.skip("another set of result files than the shipped parameters were learned from")
    return questions, models, scores


def test_the_shipped_facts_are_what_the_results_give(learned):
    questions, models, scores = learned
    model, shipped = fit(scores), item_model()
    assert fingerprint(questions) == facts()["holds_for"]["questions_sha256"]
    assert [questions[item].id for item in choose(model, 40)] == facts()["forms"]["40"]
    assert np.abs(model.difficulty - shipped.difficulty).max() < 0.002
    assert np.abs(model.slope - shipped.slope).max() < 0.002
    assert np.abs(model.covariance() - shipped.covariance()).max() < 0.05
    assert {int(size): len(form) for size, form in facts()["forms"].items()} == {size: size for size in SIZES}
    assert all(set(form) <= {question.id for question in questions} for form in facts()["forms"].values())
    assert len({family(model) for model in models}) == facts()["fitted_to"]["families"]


def test_relatives_are_one_family():
    solar = ("upstage/SOLAR-10.7B-Instruct-v1.0", "rishiraj/meow", "Yhyu13/LMCocktail-10.7B-v1")
    assert len({family(name) for name in solar}) == 1
    assert family("gpt-3.5-turbo") == family("gpt-3.5-turbo-16k-0613") != family("gpt-4-0613")
    assert family("teknium/OpenHermes-2.5-Mistral-7B") == family("mlabonne/Beagle14-7B")
    assert family("somebody/new") == "somebody/new"


def test_forty_questions_on_models_held_out(learned):
    _, models, scores = learned
    families = [family(model) for model in models]
    held = leave_families_out(scores, families, [fixed(size) for size in SIZES])
    found = figures(held[SIZES.index(40)], families, factors(held, families, 0.90))
    assert found.mae == pytest.approx(facts()["held_out"]["40"]["mae"] / 10, abs=0.01)
    assert found.r >= 0.98
    assert 0.85 <= found.covered <= 0.95
    assert 10 * found.mae < 2.6  # the aim of 2.0 is not reached with 40 questions when whole families are held out
    assert 10 * found.plain_mae < 2.6


def test_the_shipped_figures():
    held = facts()["held_out"]
    assert held["40"]["r"] >= 0.98
    assert 0.85 <= held["40"]["covered"] <= 0.95
    assert held["80"]["mae"] < 2.0
    assert held["100"]["mae"] < held["60"]["mae"] < held["20"]["mae"]
    assert len(tables(dict(facts()))[0].rows) == len(held)


def test_a_full_set_of_answers_gives_the_full_score(learned):
    questions, _, scores = learned
    row = scores[0]
    known = {q.id: float(score) for q, score in zip(questions, row, strict=True) if not np.isnan(score)}
    found = full_score(known, {"short": 40})
    assert found.value == pytest.approx(10 * np.nanmean(row), abs=0.3)
