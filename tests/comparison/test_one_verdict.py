"""Terminal, report and leaderboard say the same of every pair, on the published board and on runs of our own: repeats,
seeds, unreadable answers, missing items, one item, ties."""

import json
import re
from collections import Counter
from itertools import combinations
from zlib import crc32

import pytest

import eqlab as api
from eqlab.comparison.compare import compare
from eqlab.comparison.entries import entries
from eqlab.comparison.sources import read_sources
from eqlab.comparison.tables import as_data
from eqlab.publish.groups import RunRecord, group
from eqlab.publish.ladder import conclusions
from eqlab.publish.leaderboard.build import Sources, build, published_entries, published_reader
from eqlab.publish.leaderboard.tables import boards
from eqlab.runs.parallel import results_of
from eqlab.runs.pool import pooled
from eqlab.runs.published_results import published_runs


def ranks_of_board(board):
    return {line.name: line.rank for line, _ in board.entered if "word for word" not in line.why_no_rank}


def same_pairs(names, *verdicts):
    """Every two have one difference, one interval and one better one, whichever surface is asked."""
    count = 0
    for a, b in combinations(names, 2):
        found = [verdict.pair(a, b) for verdict in verdicts]
        first = found[0]
        for other in found[1:]:
            assert other.difference == first.difference, (a, b)
            assert other.separated == first.separated, (a, b)
            assert (other.better and other.better.name) == (first.better and first.better.name)
        count += 1
    return count


@pytest.fixture(scope="module")
def published_surfaces(published):
    (compared,) = compare(*entries(read_sources(["published"], data=published)))
    records = [
        RunRecord(run.config, run.created_at, {}, tuple(own)) for run, own in published_runs(["published"], published)
    ]
    (board,) = boards(published_entries(published_reader(published)))
    return compared, group(records), board


def test_every_pair_of_the_published_board(published_surfaces):
    compared, groups, board = published_surfaces
    data = {frozenset((one["a"], one["b"])): one for one in as_data(compared, "drop")["pairs"]}
    pairs = 0
    for table in groups:  # a report keeps those who were asked for a revision apart from those who were not
        (_, verdict), names = table.verdicts[0], [row.name for row in table.rows]
        pairs += same_pairs(names, compared.verdict, verdict, board.verdict)
    assert pairs > 300
    names = [line.name for line, _ in board.entered]
    assert len(names) == 54
    for a, b in combinations(names, 2):
        found, own = board.verdict.pair(a, b), data.get(frozenset((a, b)))
        if own is not None:  # copies have no rank on the board, and pairs with them no line
            assert own["separated"] == found.separated
            assert own["better"] == (found.better and found.better.name)


def test_ranks_and_first_place_of_the_published_board(published_surfaces):
    compared, _, board = published_surfaces
    copies = {line.name for line, _ in board.entered if not line.rank}
    assert [one.name for one in board.verdict.first] == [one.name for one in compared.verdict.first]
    assert [one.name for one in board.verdict.first] == ["gpt-4-0314", "gpt-4-0613"]
    for name, rank in ranks_of_board(board).items():
        other = compared.verdict.of(name).rank
        assert rank[0] <= other[0] <= rank[0] + len(copies)  # copies count as models of their own in `compare`
    first = board.sentence.partition(";")[0]
    assert first == "gpt-4-0314 (85.73) and gpt-4-0613 (84.79) cannot be told apart with these 171 questions"


def replies():
    """Models that read well or badly by name, some of them differently each time they are asked the same, some
    unreadable; what they say hangs on nothing but the question and how often it was asked, not on who came first."""
    asked = Counter()

    def reply(body, number):
        text, model = body["messages"][-1]["content"], body["model"]
        asked[model, text] += 1
        time = asked[model, text]
        words = re.search(r"at the end\?\n((?:\w+\n){4})", text).group(1).split()
        if model == "mute" or (model == "patchy" and len(text) % 3 == 0 and time % 2):
            return "I would rather not say."
        shift = {"steady": 0, "twin": 0, "patchy": 2, "wild": crc32(text.encode()) % 11 + time}.get(model, 0)
        return "\n".join(f"{word}: {(len(text) * (k + 2) + shift * (k + 1)) % 11}" for k, word in enumerate(words))

    return reply


CASES = {
    "repeats": ({"models": ("steady", "wild", "patchy"), "limit": 14, "repeats": 3}, (0,)),
    "seeds": ({"models": ("steady", "wild"), "limit": 12}, (0, 1, 2)),
    "unreadable": ({"models": ("steady", "patchy", "mute"), "limit": 20}, (0,)),
    "one item": ({"models": ("steady", "wild"), "limit": 1}, (0,)),
    "five items": ({"models": ("steady", "wild", "patchy"), "limit": 5}, (0,)),
    "ties": ({"models": ("steady", "twin", "wild"), "limit": 16}, (0,)),
}


@pytest.mark.parametrize("case", CASES)
def test_own_runs(case, server, tmp_path):
    request, seeds = CASES[case]
    server.reply = replies()
    where = str(tmp_path / "s.db")
    store = api.open_store(where)
    runs = []
    for seed in seeds:
        prepared = api.prepare(api.Request(base_url=server.url, benchmarks=("eqbench",), seed=seed, **request))
        runs.append(api.run(prepared, store, concurrency=2, timeout=60).run)
    scored = pooled(store, results_of(store, [store.find_run(run) for run in runs]))
    records = [RunRecord(one.config, one.created_at, one.provenance, tuple(own)) for one, own in scored]
    (table,) = group(records)
    ((_, reported),) = table.verdicts
    own, undefined = entries(read_sources(runs, where))
    compared = compare(own, undefined)
    (board,) = build(tmp_path / "site", Sources(store=store)).boards
    (said,) = conclusions(scored)
    assert said.sentence == table.sentence
    names = set(request["models"]) - {"mute"}
    assert {entry.name for one in compared for entry in one.entries} == names  # no run ids: seeds are repeats
    if case == "ties":  # the board tells copies from rivals; the two others only that they are the same
        assert {line.name for line, _ in board.entered if not line.rank} in ({"twin"}, {"steady"})
        assert reported.pair("steady", "twin").separated is False
        assert "cannot be told apart" in table.sentence
        assert "scores highest" not in table.sentence
    same_pairs(sorted(names), compared[0].verdict, reported, board.verdict)
    for name in names:
        assert compared[0].verdict.of(name).rank == reported.of(name).rank
        if case != "ties":
            assert board.verdict.of(name).rank == reported.of(name).rank
    if case == "one item":
        assert reported.ranked == ()
        assert "too few" in table.sentence.lower()
    if case == "seeds":
        assert all(entry.repeats == len(seeds) for entry in own)
    state = json.loads((tmp_path / "site" / "board.json").read_text())
    for row in state["rows"]:
        if row["kind"] == "model":
            rank = board.verdict.of(row["name"]).rank
            assert (row["rank_best"], row["rank_worst"]) == (rank or (None, None))
            assert row["may_be_first"] == (rank[0] == 1 if rank else None)
    store.close()
