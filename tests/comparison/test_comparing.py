"""From results to a comparison: who is paired with whom, what is said, what is undefined and why."""

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from eqlab.comparison.compare import (
    alike,
    alike_pair,
    alike_sentence,
    alike_table,
    caveats,
    compare,
    worth_words,
    yardsticks,
)
from eqlab.comparison.contender import Lost
from eqlab.comparison.entries import EntrySource, entries
from eqlab.comparison.scores import ScoreLine, measured_lines, reliability_words, score_records, score_table
from eqlab.comparison.sentences import listed, round_up
from eqlab.comparison.tables import as_data, sentence, tables
from eqlab.comparison.verdict import pair as pair_of
from eqlab.core.results import AGAINST_PLAIN, Estimate, ItemScore, Result, Table
from eqlab.tables.cells import p_text


def result(subject, table, *, benchmark="eqbench", items=None, group="", status="ok", trials=None, **more):
    """A result from an items × repeats table of points; NaN is an answer that could not be used."""
    table = np.asarray(table, dtype=float)
    table = table[:, None] if table.ndim == 1 else table
    scored = tuple(
        ItemScore(
            item=str(items[i] if items else i),
            trial=str(trials[i][k] if trials else i),
            repeat=k,
            status="unparseable" if np.isnan(table[i, k]) else status,
            score=None,
            points=None if np.isnan(table[i, k]) else float(table[i, k]),
            group=group,
        )
        for k in range(table.shape[1])
        for i in range(table.shape[0])
    )
    means = [float(np.mean(row[np.isfinite(row)])) for row in table if np.isfinite(row).any()]
    value = float(np.mean(means))
    headline = Estimate("EQ-Bench v2", value, len(means), 1.0, value - 2, value + 2)
    lost = int(np.isnan(table).sum())
    basis = {
        "title": "EQ-Bench v2",
        "noun": "prompts" if benchmark == "rating" else "questions",
        "rules": {"name": "leaderboard", "mode": "text"},
        "counts": {"planned": table.size, "ok": table.size - lost, "unparseable": lost},
    }
    return Result(
        benchmark, subject=subject, sentence="", headline=headline,
        score_range=(0.0, 100.0), items=scored, **(basis | more),
    )  # fmt: skip


def draw(seed, gap=0.0, n=40, repeats=1, noise=5.0):
    random = np.random.default_rng(seed)
    item = np.random.default_rng(0).normal(60, 20, (n, 1))
    return item + gap + random.normal(0, noise, (n, repeats))


def compared(*results, item_sets=None, missing="drop"):
    sets = item_sets or ["set"] * len(results)
    sources = [EntrySource(one, f"run {k}", sets[k]) for k, one in enumerate(results)]
    return compare(*entries(sources, missing))


def test_scores_in_two_measures_stand_in_two_tables():
    """People's plain accuracy "more than" a model's balanced one, of the same answers."""
    model, people = result("model:a", draw(1)), result("people", draw(1))
    people = replace(people, headline=structs.replace(people.headline, name="accuracy"))
    found = compared(model, people)
    assert [(one.title, [entry.name for entry in one.entries]) for one in found] == [
        ("EQ-Bench v2, EQ-Bench v2", ["a"]),
        ("EQ-Bench v2, accuracy", ["people"]),
    ]
    (together,) = compared(model, result("people", draw(1)))
    assert len(together.entries) == 2


def ranks(found):
    return [(one.contender.name, one.rank) for one in found.verdict.standings]


def test_a_clear_difference_is_said():
    (found,) = compared(result("model:low", draw(1)), result("model:high", draw(2, gap=10)))
    pair = found.pairs[0]
    assert (pair.a.name, pair.b.name, pair.difference.method) == ("low", "high", "paired")  # in the order given
    assert pair.separated
    assert pair.better.name == "high"
    assert ranks(found) == [("high", (1, 1)), ("low", (2, 2))]
    assert sentence(found).startswith("high is better than low by 1")
    assert "40 shared questions" in sentence(found)


def test_no_difference_says_how_many_questions_would_do():
    gap = compared(result("model:a", draw(3)), result("model:b", draw(4)))[0].pairs[0].difference
    away = {errors: draw(3, gap=errors * gap.se - gap.value) for errors in (0.5, 1.5)}  # standard errors apart
    (found,) = compared(result("model:a", away[1.5]), result("model:b", draw(4)))
    assert found.pairs[0].separated is False
    assert [rank for _, rank in ranks(found)] == [(1, 2), (1, 2)]
    assert "cannot be told apart" in sentence(found)
    low, high = found.pairs[0].needed_range
    assert low < found.pairs[0].needed < high
    assert f"it would take some {round_up(low):,} to {round_up(high):,} questions to tell" in sentence(found)
    assert f"{round_up(low):,} to {round_up(high):,}" in tables(found)[1].rows[0]  # the table and the sentence agree
    (close,) = compared(result("model:a", away[0.5]), result("model:b", draw(4)))
    assert close.pairs[0].needed_range is None  # within its error: nothing can be said
    assert "it would take" not in sentence(close)
    assert "questions needed" in tables(found)[1].titles
    assert "questions needed" not in tables(close)[1].titles  # nor is there an empty column


def test_the_same_answers_can_never_be_separated():
    (found,) = compared(result("model:a", draw(5)), result("model:b", draw(5)))
    assert found.pairs[0].needed is None
    assert found.pairs[0].separated is False
    assert "they are the same" in sentence(found)


def test_pairing_is_by_item_and_not_by_place():
    a, b = draw(6), draw(7, gap=3)
    order = np.random.default_rng(8).permutation(40)
    (straight,) = compared(result("model:a", a), result("model:b", b))
    (mixed,) = compared(result("model:a", a), result("model:b", b[order], items=order.tolist()))
    assert straight.pairs[0].difference.se == pytest.approx(mixed.pairs[0].difference.se)
    assert straight.pairs[0].difference.value == pytest.approx(mixed.pairs[0].difference.value)


def test_the_same_id_in_another_set_is_another_item():
    """Scores on other items stand in another table, which says so: one ladder would rank the items."""
    tables = compared(result("model:a", draw(9)), result("model:b", draw(10)), item_sets=["one", "other"])
    assert [[one.name for one in table.entries] for table in tables] == [["a"], ["b"]]
    assert [table.elsewhere for table in tables] == [("b",), ("a",)]
    assert len({table.title for table in tables}) == 2
    assert all(any("Asked other questions" in said for said in caveats(table, "drop")) for table in tables)


def test_people_stand_beside_whoever_answered_the_same_questions():
    people = result("people", draw(9))
    tables = compared(
        result("model:a", draw(9)), result("model:b", draw(10)), people, item_sets=["one", "other", "other"]
    )
    assert [[one.name for one in table.entries] for table in tables] == [["a"], ["b", "people"]]
    assert all("people" not in table.elsewhere for table in tables)


def test_few_shared_items_are_not_enough_to_pair():
    names = [*range(5), *range(100, 135)]
    (found,) = compared(result("model:a", draw(11)), result("model:b", draw(12), items=names))
    assert (found.pairs[0].difference.method, found.pairs[0].shared) == ("unpaired", 5)


def test_answers_that_cannot_be_used_are_counted_and_said():
    gappy = draw(13)
    gappy[:4] = np.nan
    (found,) = compared(result("model:a", draw(14)), result("model:b", gappy))
    assert found.pairs[0].difference.n == 36
    assert any("left out" in said and "b 4" in said for said in caveats(found, "drop"))
    (zero,) = compared(result("model:a", draw(14)), result("model:b", gappy), missing="zero")
    assert zero.pairs[0].difference.n == 40
    assert zero.pairs[0].difference.value > found.pairs[0].difference.value
    assert zero.entries[1].score.value == pytest.approx(np.nansum(gappy) / 40)
    assert any("count as 0" in said for said in caveats(zero, "zero"))


def test_every_pair_by_itself_and_over_all_pairs():
    results = [result(f"model:m{k}", draw(20 + k, gap=gap)) for k, gap in enumerate((0, 0, 10, 20))]
    found = compared(*results)[0]
    assert len(found.pairs) == 6
    assert [rank for _, rank in ranks(found)] == [(1, 1), (2, 2), (3, 4), (3, 4)]
    for pair in found.pairs:
        assert pair.p_jointly >= pair.difference.p
        (alone,) = compared(*(one for one in results if one.subject[6:] in (pair.a.name, pair.b.name)))
        assert alone.pairs[0].separated == pair.separated  # whoever else is compared
    assert sentence(found).startswith("m3 is best: it scores ")
    assert "more than m2, m1 and m0." in sentence(found) or "more than m2, m0 and m1." in sentence(found)


def test_repeats_split_the_spread():
    (found,) = compared(
        result("model:a", draw(30, n=150, repeats=4)), result("model:b", draw(31, n=150, repeats=4, gap=1))
    )
    for standing in found.spreads.values():
        variance = standing.components.variance
        assert variance["residual"] == pytest.approx(25, rel=0.2)
        assert variance["item"] == pytest.approx(400, rel=0.4)
        assert standing.variation.n == 4
        assert standing.agreement.value > 0.9
        assert [(d.items, d.repeats) for d in standing.designs][:4] == [(150, 1), (150, 2), (150, 5), (300, 1)]
    own = {(d.items, d.repeats): d.se for d in found.pairs[0].designs}
    assert own[150, 5] < own[150, 1] / 1.8  # items cancel, so repeats buy nearly their full worth
    titles = [table.title for table in tables(found)]
    spread = ["Where the spread comes from", "Standard errors of other designs", "Where they disagree most"]
    assert titles == ["EQ-Bench v2", "All pairs", *spread]


def test_orders_are_told_apart_where_they_were_asked_twice():
    random = np.random.default_rng(32)
    order = random.normal(0, 10, (60, 2))
    points = 60 + random.normal(0, 5, (60, 1)) + np.repeat(order, 2, axis=1) + random.normal(0, 2, (60, 4))
    trials = [[f"{i}a", f"{i}a", f"{i}b", f"{i}b"] for i in range(60)]
    (found,) = compared(result("model:a", points, trials=trials))
    standing = found.spreads["a"]
    assert standing.order_apart
    assert standing.components.variance["order"] == pytest.approx(100, rel=0.4)
    assert "order" in next(t for t in tables(found) if t.title == "Where the spread comes from").titles
    fresh = [[f"{i}-{k}" for k in range(4)] for i in range(60)]
    (mixed,) = compared(result("model:a", points, trials=fresh))
    assert not mixed.spreads["a"].order_apart


def test_benchmarks_are_compared_apart():
    one = result("model:a", draw(33))
    found = compared(one, result("model:b", draw(34)), result("model:a", draw(35), title="EQ-Bench v1"))
    assert [(c.title, len(c.entries)) for c in found] == [("EQ-Bench v2", 2), ("EQ-Bench v1", 1)]
    assert sentence(found[1]).startswith("a scores ")


def test_what_has_no_item_scores_is_undefined_with_the_reason():
    bare = Result(
        "empathy", "Empathy", "model:c", {}, "", Estimate("P(Good)", None, 0, note="nobody has rated these replies"),
        (0.0, 100.0), items=(ItemScore("1", "t", 0, "ok", None),),
    )  # fmt: skip
    people = result("people", draw(36), benchmark="rating")
    people = Result(
        "rating", "Rated", "people", {}, "", people.headline, (0.0, 100.0), ranked=False,
        items=(ItemScore("1", "t", 0, "ok", 3.0),), why_no_points="replies in pairs",
    )  # fmt: skip
    sources = [EntrySource(bare, "run 1", "s"), EntrySource(people, "run 2", "s")]
    found, undefined = entries(sources)
    assert not found
    assert dict(undefined)["c"] == "Empathy: nobody has rated these replies"
    assert "in pairs" in dict(undefined)["people"]
    assert entries(sources[:1])[1] == [("c", "nobody has rated these replies")]  # nothing to be told apart from


def test_arms_of_a_judge_are_compared_by_prompt():
    items = result("judge:j", 100.0 * (draw(37) > 60), benchmark="rating", group="warm").items
    others = result("judge:j", 100.0 * (draw(38) > 75), benchmark="rating", group="cold").items
    both = result("judge:j", draw(39), benchmark="rating")
    whole = Result(
        "rating", "Rated", "judge:j", {}, "", both.headline, (0.0, 100.0), items=(*items, *others), noun="prompts"
    )
    (found,) = compare(*entries([EntrySource(whole, "run 1", "s")]))
    assert ({entry.name for entry in found.entries}, found.rater) == ({"warm", "cold"}, "j")
    assert found.pairs[0].difference.n == 40
    assert sentence(found).startswith(
        "Judge-only: j calls Good 47.5 % of the replies by warm, 17.5 % of the replies by cold."
    )
    assert "shared prompts" in sentence(found)


def test_what_two_judges_say_is_not_compared():
    def rated(judge):
        items = result(judge, 100.0 * (draw(37) > 60), benchmark="rating", group="warm").items
        return Result("rating", "Rated", judge, {}, "", Estimate("x", 1.0, 1), (0.0, 100.0), items=items, ranked=False)

    found = compare(*entries([EntrySource(rated(judge), "run 1", "s") for judge in ("judge:j", "judge:k")]))
    assert [(one.rater, [entry.name for entry in one.entries]) for one in found] == [("j", ["warm"]), ("k", ["warm"])]


def test_one_name_in_two_runs_gets_its_run_and_rules_that_differ_are_said():
    other = result("model:a", draw(40), rules={"name": "leaderboard", "mode": "json"})
    (found,) = compared(result("model:a", draw(41)), other)
    assert {entry.name for entry in found.entries} == {"a (run 0)", "a (run 1)"}
    assert any("(mode)" in said for said in caveats(found, "drop"))


def test_a_situation_whose_repeats_are_scored_together_is_one_column():
    scored = tuple(
        ItemScore(str(i), f"t{i}", i % 2, "ok", None, points=float(i)) for i in range(10)
    )  # shown by whichever repeat was readable
    whole = Result(
        "emotionbench", "EmotionBench", "model:a", {"repeats": 3}, "", Estimate("Alignment", 4.5, 10), (0.0, 9.0),
        items=scored,
    )  # fmt: skip
    ((entry,), _) = entries([EntrySource(whole, "run 1", "s")])
    assert (entry.repeats, entry.asked) == (1, 3)


def test_many_subjects_list_neighbours_only_but_data_has_all():
    found = compared(*(result(f"model:m{k}", draw(50 + k, gap=k)) for k in range(12)))[0]
    assert len(next(t for t in tables(found) if t.title == "Adjacent models").rows) == 11
    data = as_data(found, "drop")
    assert len(data["pairs"]) == 66
    assert {"p_jointly", "probability", "effect", "items_needed", "sentence"} <= set(data["pairs"][0])
    assert data["subjects"][0]["rank"][0] == 1


def test_reliability_stands_beside_every_score_of_five_or_more():
    """In compare, in the score table of every surface and in files; with fewer nothing is said."""
    many = [result(f"model:m{k}", draw(k, gap=k)) for k in range(10)]
    (found,) = compared(*many)
    data, (standings, *_) = as_data(found, "drop"), tables(found)
    assert data["reliability"]["n"] == 10
    assert data["reliability_better_half"]["value"] < data["reliability"]["value"]
    assert all(one["sem"] == pytest.approx(5 / 40**0.5, rel=0.4) for one in data["subjects"])
    assert "SEM" in standings.titles
    assert "Reliability of 10 scores over 40 items: 0.9" in standings.note
    assert "among the better half, chosen by other items: " in standings.note
    lines = [ScoreLine.of(one) for one in many]
    for surface in ("terminal", "page", "board", "view"):
        table = score_table(lines, surface)
        assert table.column("SEM") == tuple(line.sem for line in measured_lines(lines))
        assert reliability_words(found.measured[0]) in table.note
    record = score_records(lines)[0]
    assert (record["sem"], record["reliability"]) == pytest.approx(
        (found.measured[1]["m0"], found.measured[0].reliability.value)
    )
    worst_first = measured_lines([ScoreLine.of(replace(one, better="lower")) for one in many])
    assert worst_first[0].measured.better_half.value != found.measured[0].better_half.value
    few = score_table(lines[:4], "terminal")
    assert "SEM" not in few.titles
    assert not few.note
    assert as_data(compared(*many[:4])[0], "drop")["reliability"] is None


def test_what_points_are_worth():
    """Against repeats, other wordings and those compared; nothing is said where nothing is known."""
    reworded = Table("Score by perturbation", ("asked", AGAINST_PLAIN), [("o", Estimate("", 3.0, 40)), ("i", None)])
    many = [result(f"model:m{k}", draw(k, gap=4 * k, repeats=3), tables=(reworded,)) for k in range(6)]
    (found,) = compared(*many)
    sizes = yardsticks(found)
    assert sizes["shifts by another wording"] == 3.0
    assert sizes["SD of the scores compared here"] == pytest.approx(7.5, rel=0.1)
    assert sizes["SD of one model's repeats"] == pytest.approx(5 / 40**0.5, rel=0.5)
    errors = list(found.measured[1].values())
    assert sizes["standard errors of measurement of a difference"] == pytest.approx(
        np.sqrt(2 * np.mean(np.square(errors)))
    )
    (said,) = worth_words(found)
    assert said.startswith("2 points are 0.2")
    assert "0.67 shifts by another wording" in said
    assert worth_words(compared(result("model:a", draw(1)), result("model:b", draw(2)))[0]) == []


def test_words():
    assert [round_up(n) for n in (7, 690, 694, 1309, 23461)] == [7, 690, 700, 1400, 24000]
    assert p_text(0.0) == "< 0.0001"
    assert p_text(None) == "undefined"
    assert listed(list("abcdefgh")) == "a, b, c, d, e and 3 others"


def test_equivalence_is_two_one_sided_tests_and_refusing_is_no_way_to_it():
    """Alike within ±3, by statsmodels' own test where differences have no skew, which counts besides; not with answers
    lost, and not among many at once what one shows."""
    from statsmodels.stats.weightstats import ttost_paired

    one, other = draw(1, n=60), draw(2, n=60)
    (found,) = compared(result("model:a", one), result("model:b", other))
    (both,) = alike(found, 3.0)
    p, _, _ = ttost_paired(one[:, 0], other[:, 0], -3.0, 3.0)
    assert p < both.p < 2 * p
    steps = np.resize([-2.0, 3.0], (60, 1))
    (even,) = compared(result("model:a", one), result("model:b", one + steps))
    assert alike(even, 3.0)[0].p == pytest.approx(ttost_paired(steps[:, 0], np.zeros(60), -3.0, 3.0)[0])
    assert both.outcome == "equivalent"
    assert -3 < both.low < found.pairs[0].difference.value < both.high < 3
    assert alike_sentence([both]).startswith(
        "a and b are equivalent within ±3 points (90 % interval of the difference "
    )
    assert alike_table([both], found).rows[0][-1] == "equivalent"
    assert alike(found, 0.1)[0].outcome == "cannot say"
    lost = found.pairs[0].a
    worst = {item: points - 10 * (item in list(lost.points)[:20]) for item, points in lost.points.items()}
    refusing = replace(lost, lost=Lost({"refused": 20}, {}, worst, worst, worst))
    assert alike_pair(pair_of(refusing, found.pairs[0].b), 3.0).outcome == "cannot say"
    (apart,) = compared(result("model:a", one), result("model:b", one - 20 + draw(3, n=60, noise=1.0) / 50))
    assert alike(apart, 3.0)[0].outcome == "different"
    (same,) = compared(result("model:a", one), result("model:b", one))
    assert "cannot be tested" in alike_sentence(alike(same, 3.0))
    (three,) = compared(*(result(f"model:{k}", draw(k, n=60)) for k in range(3)))
    assert alike_sentence(alike(three, 3.0)).endswith(
        "of 3 pairs are equivalent within ±3 points, with all tested at once."
    )
