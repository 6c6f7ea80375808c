"""A store that 0.1 wrote: its runs keep their ids, are found again by the same request, and score as they did.

`store_0_1.sql.gz` holds a run of three benchmarks with two models, one with a perturbation, two judges (single,
in pairs), imported ratings and a study of each kind with simulated people, all on open items."""

import gzip
import sqlite3
from pathlib import Path

import pytest
from counts import counts_hold

from eqlab.core.errors import StoreError
from eqlab.core.runs import BenchmarkConfig, ModelConfig, RunConfig, config_to_json
from eqlab.runs import judge
from eqlab.runs.request import Request, prepare
from eqlab.runs.score import results
from eqlab.store.access import open_store
from eqlab.store.engine import open_engine
from eqlab.study.build_design import design_of
from eqlab.study.file import read_study

URL = "http://127.0.0.1:8907/v1"
RUN, PERTURBED, SINGLE, PAIRS = "af68d61962", "c39c5138ce", "7599924d8d", "ddc68aa4e5"
STUDIES = {"rating": "4b2d2f889d", "eqbench": "b9ecaa61e6", "evoked": "9cd2cb1dda"}
IMPORTED = "359903a954"
HEADLINES = {
    RUN: [43.88992114110289, None, None, 43.88992114110289, None, None],
    PERTURBED: [27.372138177714646],
    SINGLE: [0.0],
    PAIRS: [None],
    IMPORTED: [50.0],
    STUDIES["rating"]: [-50.0],
    STUDIES["eqbench"]: [92.7208805447837],
    STUDIES["evoked"]: [12.0],
}


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.db"
    text = gzip.decompress((Path(__file__).parent / "store_0_1.sql.gz").read_bytes()).decode()
    with sqlite3.connect(path) as connection:
        connection.executescript(text)
    connection.close()
    open_engine(str(path), upgrade=True).dispose()  # its studies are locked
    store = open_store(str(path))
    yield store
    store.close()


def test_every_run_keeps_its_id(old):
    assert set(old.run_ids()) == set(HEADLINES)
    for run in old.run_ids():
        assert old.read_run(run).id == run
    assert counts_hold(old)


def test_every_run_scores_as_it_did(old):
    for run, expected in HEADLINES.items():
        if old.shut(run):  # a locked study under way: what people answered is looked at in one place
            with pytest.raises(StoreError, match="locked"):
                results(old, old.read_run(run))
            continue
        found = [result.headline.value for result in results(old, old.read_run(run))]
        assert found == [pytest.approx(value) for value in expected], run


def test_the_same_request_is_the_same_run(old):
    models = ("openai/m-one", "openai/m-two")
    asked = ("eqbench", "emotionbench", "empathy")
    whole = Request(models, asked, profile="quick", limit=2, base_url=URL, options={"defaults": "2"})
    assert prepare(whole).config.id == RUN
    again = Request(models[:1], asked[:1], profile="quick", limit=1, base_url=URL, options={"perturb": "order"})
    assert prepare(again).config.id == PERTURBED
    single = judge.JudgeRequest(("openai/j",), ("last",), base_url=URL)
    assert judge.prepare(single, old).config.id == SINGLE
    pairs = judge.JudgeRequest(("openai/j",), ("last", "author"), limit=1, pairwise=True, base_url=URL)
    assert judge.prepare(pairs, old).config.id == PAIRS


def test_studies_are_the_ones_they_were(old):
    rows = {row[0]: row for row in old.rows("SELECT id, run_id, design_sha256, file FROM studies", {})}
    assert set(rows) == set(STUDIES)
    for kind, run in STUDIES.items():
        _, stored_run, sha256, file = rows[kind]
        design = design_of(read_study(file), old)
        assert (stored_run, design.run.id, design.sha256) == (run, run, sha256)


def test_a_field_that_came_later_counts_only_where_it_is_used(monkeypatch):
    """Identity is a list of fields, not whatever the classes hold today."""
    from eqlab.core import runs

    config = RunConfig((ModelConfig("a/b"),), (BenchmarkConfig("x", 1, "open", "0"),), "full", None, None, 0)
    before = runs.identity(config)
    assert set(before) == {"models", "benchmarks", "profile", "limit", "repeats", "seed"}
    known = {**runs._FIELDS, ModelConfig: runs._FIELDS[ModelConfig] - {"role", "settings"}}
    monkeypatch.setattr(runs, "_FIELDS", known)  # as if these two had come later
    assert set(runs.identity(config)["models"][0]) == {"spec", "base_url", "structured"}
    judge_too = RunConfig((ModelConfig("a/b", role="judge"),), config.benchmarks, "full", None, None, 0)
    assert runs.identity(judge_too)["models"][0]["role"] == "judge"
    assert config_to_json(config) != config_to_json(judge_too)
