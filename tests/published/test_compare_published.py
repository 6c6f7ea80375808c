"""Comparison on the published EQ-Bench results: the known scores, the known replicate, the known ties."""

import csv
import itertools

import numpy as np
import pytest

from eqlab.analysis.clusters import item_agreement, score_variation
from eqlab.analysis.components import alpha
from eqlab.analysis.pairwise import pairwise
from eqlab.analysis.ranks import rank_ranges
from eqlab.comparison.compare import compare
from eqlab.comparison.entries import EntrySource, entries
from eqlab.comparison.tables import sentence
from eqlab.runs.published_results import PublishedReader


@pytest.fixture(scope="module")
def results(published):
    return sorted(PublishedReader(published).results(), key=lambda one: -one.result.headline.value)


@pytest.fixture(scope="module")
def matrix(results):
    return np.array([[np.nan if i.points is None else i.points for i in one.result.items] for one in results])


def test_results_of_published_files_are_the_golden_scores(results, golden):
    with (golden / "eqbench.csv").open() as file:
        known = {row["model"]: row for row in csv.DictReader(file)}
    assert len(results) == len(known) == 54
    for one in results:
        points = [item.points for item in one.result.items if item.points is not None]
        want = known[one.model]
        assert one.result.headline.value == pytest.approx(float(want["score_names_lt5"]), abs=6e-5)
        assert one.result.headline.se == pytest.approx(float(want["se"]), abs=6e-5)
        assert np.mean(points) == pytest.approx(one.result.headline.value)
        assert len(points) == int(want["n_names"])


def test_three_names_of_one_snapshot_are_a_replicate(results):
    """The only replicate in the published files: CV 0.2 %, nine of ten items identical."""
    names = ("gpt-3.5-turbo", "gpt-3.5-turbo-0613", "gpt-3.5-turbo-16k-0613")
    own = [[item.points for item in one.result.items] for one in results if one.model in names]
    table = np.array(own, dtype=float).T
    assert score_variation(np.nanmean(table, axis=0)).value == pytest.approx(0.21, abs=0.01)
    assert item_agreement(table).value > 0.97
    assert 0.85 < (np.ptp(table, axis=1) < 1e-9).mean() < 0.93


def test_neighbours_can_hardly_be_told_apart(results, matrix):
    heads = [one.result.headline for one in results]
    close = [abs(a.value - b.value) < np.hypot(a.se, b.se) for a, b in itertools.pairwise(heads)]
    assert sum(close) == 47  # of 53; 81 of 85 on the full list of 86 models
    found = pairwise(matrix)
    assert sum(found.p[k, k + 1] < 0.05 for k in range(53)) == 2  # before any correction


def test_rank_ranges_of_the_list(results, matrix):
    each, jointly = rank_ranges(matrix), rank_ranges(matrix, claim="all")
    for found in (each, jointly):
        assert found[0][0] == 1
        assert all(low <= place + 1 <= high for place, (low, high) in enumerate(found))
    first = [one.model for one, (low, _) in zip(results, each, strict=True) if low == 1]
    assert first == ["gpt-4-0314", "gpt-4-0613"]
    assert np.mean([high - low for low, high in each]) < np.mean([high - low for low, high in jointly]) < 26
    assert np.median([high - low for low, high in each]) > 10


def test_reliability_of_the_list(matrix):
    assert alpha(matrix) == pytest.approx(0.98, abs=0.01)  # 0.981 over the 63 complete runs of the full list


def test_the_sentence(results):
    sources = [EntrySource(one.result, "published", one.run.items_sha256) for one in results[:3]]
    (found,) = compare(*entries(sources))
    assert sentence(found).startswith("gpt-4-0314 (85.73) and gpt-4-0613 (84.79) cannot be told apart with these 171")
    assert all(pair.difference.method == "paired" for pair in found.pairs)


def test_a_refusal_in_a_published_file_is_counted_as_one(published, tmp_path):
    import json
    import shutil

    from eqlab.publish.leaderboard.build import published_entries, published_reader

    questions = "eqbench/data/eq_bench_v2_questions_171.json"
    (tmp_path / "eqbench" / "data").mkdir(parents=True)
    (tmp_path / "eqbench" / "results").mkdir()
    shutil.copy(published / questions, tmp_path / questions)
    body = json.loads(PublishedReader(published).files()[0].read_bytes())
    replies = next(iter(body["raw_results"].values()))["raw_inference"]
    replies["1"], replies["2"] = "I'm sorry, I cannot answer that.", "No."
    (tmp_path / "eqbench" / "results" / "one.json").write_text(json.dumps(body))
    reader = PublishedReader(published)
    before = reader.file_result(reader.files()[0]).result
    (own,) = [one.result for one in PublishedReader(tmp_path).results()]
    (entry,) = published_entries(published_reader(tmp_path))
    assert own.counts["refused"] == before.counts["refused"] + 1
    assert own.counts["unparseable"] == before.counts["unparseable"] + 1
    assert entry.result.counts == own.counts
