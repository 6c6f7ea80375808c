"""The shipped figures are what the published files give, and give what the files give: every score, every table."""

import csv
import shutil
import sys
from dataclasses import replace

import pytest
from conftest import ROOT
from msgspec import structs

from eqlab.benchmarks.eqbench.score import PRESETS
from eqlab.benchmarks.eqbench.trials import figure_answer, read_figures, read_scores
from eqlab.core.errors import DataError
from eqlab.data.figures import FILE, parse, published_figures
from eqlab.reproduce import eqbench, short_forms
from eqlab.runs.published_results import PublishedReader

sys.path.insert(0, str(ROOT / "bench"))
import published_figures as script

SHIPPED = ROOT / "src" / "eqlab" / "data" / FILE


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    """No published data anywhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("EQLAB_DATA", raising=False)
        patch.setenv("EQLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def test_the_shipped_file_is_what_the_script_makes(published):
    made, shipped = script.make(published), published_figures()
    known = {one.file for one in shipped.models}
    here = replace(made, models=tuple(one for one in made.models if one.file in known))
    if len(here.models) < len(known):
        pytest.skip("fewer result files here than the figures were made from")
    assert script.dump(here) == SHIPPED.read_bytes()
    assert script.dump(parse(script.dump(made))) == script.dump(made)


@pytest.mark.parametrize("rules", PRESETS.values(), ids=PRESETS)
def test_every_reply_reads_as_its_figures_do(published, rules):
    for run in PublishedReader(published).runs():
        for one in run.scored:
            (answer,) = one.attempts
            names = one.trial.form.keys
            told = figure_answer(script.figures_of(answer.text, names), one.trial, answer.subject, 0, 0.0)
            read, figures = read_scores(answer.text, names, rules), read_figures(told, rules)
            assert (figures.first, figures.revised) == (read.first, read.revised), (run.file, one.trial.items)
            assert told.status == answer.status


def test_scores_from_figures_alone_are_the_golden_scores(offline, golden):
    report = eqbench.reproduce(None)
    assert report["summary"]["from_figures"]
    assert (report["summary"]["agree"], report["summary"]["files"]) == (54, 54)
    rows = {row["file"]: row for row in report["rows"]}
    with (golden / "eqbench.csv").open() as file:
        expected = list(csv.DictReader(file))
    assert {want["file"] for want in expected} == set(rows)
    for want in expected:
        got = rows[want["file"]]
        for name, column in (
            ("score", "score_names_lt5"),
            ("score_strict", "score_strict_le5"),
            ("first_pass", "first_pass"),
            ("missing_as_zero", "score_missing_as_zero"),
            ("se", "se"),
        ):
            assert round(got[name], 4) == float(want[column]), (want["file"], name)
        if int(want["revised_n"]):
            assert round(got["revised"], 4) == float(want["revised"]), want["file"]
        for name, column in (
            ("n_parseable", "n_names"),
            ("n_strict", "n_strict"),
            ("n_first_pass", "first_pass_n"),
            ("n_revised", "revised_n"),
        ):
            assert got[name] == int(want[column]), (want["file"], name)
        assert (got["model"], got["used"]) == (want["model"], want["used"])
        assert round(got["score"], 2) == float(want["score_recorded"])


def wordless(result):
    def bare(item):
        return structs.replace(item, text="", trial="", title="", words_absent=item.words)

    return replace(result, items=tuple(map(bare, result.items)))


@pytest.mark.parametrize("revision", [None, True])
def test_results_are_the_same_but_for_the_words(published, offline, revision):
    from_files = {one.model: one for one in PublishedReader(published, revision=revision).results()}
    from_figures = {one.model: one for one in PublishedReader(revision=revision).results()}
    assert set(from_figures) <= set(from_files)
    for model, one in from_figures.items():
        other = from_files[model]
        assert wordless(one.result) == wordless(other.result), model
        assert (one.run.texts, other.run.texts) == (False, True)
        for name in ("file", "sha256", "items_sha256", "completed", "revised", "options"):
            assert getattr(one.run, name) == getattr(other.run, name), (model, name)
        assert one.run.facts.items() <= other.run.facts.items()
        assert not any(item.text for item in one.result.items)


def test_reproduced_tables_are_the_same(published, offline):
    one, other = eqbench.reproduce(None), eqbench.reproduce(published)
    known = {row["file"] for row in one["rows"]}
    assert one["rows"] == [row for row in other["rows"] if row["file"] in known]
    assert "figures" in eqbench.tables(one)[0].title
    assert "raw model text" in eqbench.tables(other)[0].title


def test_short_forms_learn_the_same(published, offline):
    (one, models, scores), (other, others, theirs) = (short_forms.first_pass_scores(at) for at in (None, published))
    if len(others) != len(models):
        pytest.skip("other result files here than the figures were made from")
    assert (one, models) == (other, others)
    assert scores.tobytes() == theirs.tobytes()


def test_a_folder_that_is_named_must_hold_results(tmp_path):
    with pytest.raises(DataError, match="no EQ-Bench result files"):
        list(PublishedReader(tmp_path).runs())


def test_a_result_file_needs_no_question_file(published, offline):
    path = next((published / "eqbench" / "results").rglob("gpt-4-0314*.json"))
    alone, beside = PublishedReader().file_result(path), PublishedReader(published).file_result(path)
    assert wordless(alone.result) == wordless(beside.result)
    assert alone.run.items_sha256 == beside.run.items_sha256


@pytest.fixture
def some(published, tmp_path, monkeypatch):
    """A cache in which a fetch was stopped: the questions and one result file."""
    folder = tmp_path / "cache" / "published"
    source = next((published / "eqbench" / "results").rglob("gpt-4-0613*.json"))
    for path in (published / script.QUESTIONS, source):
        target = folder / path.relative_to(published)
        target.parent.mkdir(parents=True)
        shutil.copyfile(path, target)
    monkeypatch.setenv("EQLAB_CACHE", str(tmp_path / "cache"))
    return folder


def test_a_fetch_that_was_stopped_takes_nothing_away(some):
    one, other = PublishedReader().results(["gpt-4-0613", "gpt-4-0314"])
    assert (one.run.texts, other.run.texts) == (True, False)
    assert round(other.result.headline.value, 2) == 85.73
    assert [run.model for run in PublishedReader().runs()] == ["gpt-4-0613"]
    with pytest.raises(DataError, match="'gpt-4-0314'"):
        list(PublishedReader(some).runs(["gpt-4-0314"]))


def test_figures_are_never_scored_with_other_questions(some):
    """The user's question file may have been changed: figures keep their own references and identity."""
    path = some / script.QUESTIONS
    path.write_bytes(path.read_bytes().replace(b'"emotion1_score": "0"', b'"emotion1_score": "9"'))
    (found,) = PublishedReader().results(["gpt-4-0314"])
    assert round(found.result.headline.value, 2) == 85.73
    assert found.run.items_sha256 == published_figures().items_sha256
    (changed,) = PublishedReader().runs(["gpt-4-0613"])
    assert changed.items_sha256 != published_figures().items_sha256


def test_the_script_refuses_a_changed_file(published, tmp_path):
    for name in ("eqbench/LICENSE", script.QUESTIONS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(published / name, tmp_path / name)
    assert script.make(tmp_path).models == ()
    path = tmp_path / script.QUESTIONS
    path.chmod(0o644)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(SystemExit, match="not the pinned file"):
        script.make(tmp_path)
