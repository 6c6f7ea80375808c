"""Published models beside the user's own, on the same questions."""

from dataclasses import replace

import pytest

pytest.importorskip("starlette")

from view_case import View, words

from eqlab.benchmarks.eqbench.benchmark import EqBench
from eqlab.benchmarks.eqbench.published import asked_of_figures, run_of_figures, score
from eqlab.core.runs import ModelConfig, RunConfig
from eqlab.data.figures import published_figures
from eqlab.publish.groups import RunRecord, group
from eqlab.publish.ladder import LANDSCAPE, ladder, ladder_sentence
from eqlab.publish.leaderboard.entries import BoardEntry
from eqlab.publish.leaderboard.site import among_published
from eqlab.publish.leaderboard.tables import boards
from eqlab.publish.report.opening import openings
from eqlab.runs.identity import named
from eqlab.runs.score import titled


def record(model, *, questions=10, name="mine", items_sha256=None, **options):
    """A run that gave a published model's answers to the first published questions."""
    figures = published_figures()
    one = next(one for one in figures.models if one.model == model)
    run = run_of_figures(one, asked_of_figures(figures, revision=True))
    scored = tuple({each.trial.items[0]: each for each in run.scored}.values())[:questions]
    asked = named(EqBench(), {**run.options, **options}, items_sha256 or figures.items_sha256, item_set="published")
    result = replace(score(replace(run, scored=scored)), subject=f"model:{name}")
    return RunRecord(RunConfig((ModelConfig(name),), (asked,), "quick", None, None, 0), 0.0, {}, (result,))


def test_the_same_answers_have_the_same_score_as_the_published_model_they_came_from():
    (own,) = group([record("gpt-3.5-turbo-0613", questions=25)])
    found = ladder(own)
    scores = {row.name: row.result.headline for row in found.rows}
    assert set(LANDSCAPE) < set(scores)
    assert scores["mine"].value == pytest.approx(scores["gpt-3.5-turbo-0613"].value)
    assert {one.n for one in scores.values()} == {25}  # each on the questions asked here, and no others
    (mine,) = (row for row in found.rows if row.name == "mine")
    assert 1 < mine.rank[0] <= mine.rank[1] < len(found.rows)


def test_the_sentence_says_on_what_and_what_differs():
    (own,) = group([record("lmsys/vicuna-7b-v1.1", questions=171)])
    said = ladder_sentence(own, ladder(own))
    assert said.startswith("Among 12 published models on the same 171 questions (13 in all): mine ranks ")
    assert "revised" not in said
    (plain,) = group([record("lmsys/vicuna-7b-v1.1", revision=False)])
    assert ladder_sentence(plain, ladder(plain)).endswith(
        "Those were asked for a second, revised answer; yours were not."
    )


def test_other_questions_have_no_ladder():
    (other,) = group([record("gpt-4-0314", items_sha256="0" * 64)])
    assert ladder(other) is None
    (adaptive,) = group([record("gpt-4-0314", width=10)])
    assert ladder(adaptive) is None


def test_only_the_users_own_rows_lead_to_a_section_of_the_report():
    groups = group([record("gpt-4-0314"), record("lmsys/vicuna-7b-v1.1", name="other")])
    (opening,) = openings(groups)
    (forest,) = opening.forests
    assert {line.name: line.anchor for line in forest.lines if not line.beside} == {
        row.name: row.anchor for row in groups[0].rows
    }
    assert all(line.anchor == "" for line in forest.lines if line.beside)
    assert sum(line.beside for line in forest.lines) == len(LANDSCAPE)


def test_results_on_open_items_are_not_called_by_the_studys_name():
    figures = published_figures()
    asked = named(EqBench(), EqBench().options("open", {}), "1" * 64, item_set="open")
    run = run_of_figures(figures.models[0], asked_of_figures(figures, revision=True))
    own = titled(score(run), asked)
    assert (own.title, own.headline.name) == ("EQ Lab open dialogues", "EQ Lab open dialogues")
    assert "EQ-Bench" not in own.sentence
    assert titled(score(run), replace(asked, item_set="published")).title == "EQ-Bench v2"


def test_a_board_without_published_results_has_its_place_among_them():
    own = record("lmsys/vicuna-7b-v1.1", questions=40)
    (board,) = boards([BoardEntry(own, own.results[0], "run", "r")])
    found = among_published(board)
    assert found.among.startswith("Among 12 published models on the same 40 questions (13 in all): mine ranks ")
    assert [line.beside for forest in found.forests for line in forest.lines].count(False) == 1
    (listed,) = boards([BoardEntry(own, own.results[0], "published", "r")])
    assert among_published(listed) is None


def test_the_first_page_of_a_view_has_it_too(skilled_store):
    view = View(skilled_store[0])
    groups = group([record("lmsys/vicuna-7b-v1.1", questions=40)])
    view.site.shelf.snapshot = replace(view.site.shelf.snapshot, groups=groups, ladders=(ladder(groups[0]),))
    page = view.get("/")
    assert "Among 12 published models on the same 40 questions (13 in all): mine ranks " in words(page)
    assert "The picture among published models" in words(page)
    assert 'href="#subject' not in page
