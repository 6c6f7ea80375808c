"""Many models at once: pairs as one by one, and rank ranges that hold the truth."""

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqlab.analysis import ranks
from eqlab.analysis.comparison import paired
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.pairwise import comparable, pairwise
from eqlab.analysis.ranks import adjusted_p, ranges, rank_ranges, rank_sets
from eqlab.analysis.special import stdtr
from eqlab.core.errors import UsageError


def draw(seed, truth, items=60, noise=1.5):
    random = np.random.default_rng(seed)
    return (
        np.asarray(truth)[:, None]
        + random.normal(0, 2, items)
        + noise * random.standard_exponential((len(truth), items))
    )


def test_all_pairs_at_once_are_the_pairs_one_by_one():
    scores = draw(1, [0, 0.2, 0.5, 3])
    scores[1, :7] = np.nan
    scores[2, 5:9] = np.nan
    found = pairwise(scores)
    for i in range(4):
        for k in range(4):
            one = paired(scores[i], scores[k])
            assert found.n[i, k] == one.n
            assert (found.difference[i, k], found.se[i, k], found.p[i, k]) == pytest.approx(
                (one.value, one.se, one.p), abs=1e-9
            )


def test_pairs_without_common_items_have_no_test():
    scores = np.array([[1.0, 2.0, np.nan, np.nan], [np.nan, np.nan, 1.0, 3.0], [1.0, 2.5, 1.0, 2.0]])
    found = pairwise(scores)
    assert np.isnan(found.p[0, 1])
    assert found.n[0, 1] == 0
    assert rank_ranges(scores) == [(1, 3)] * 3


def test_a_constant_gap_is_judged_by_its_signs():
    found = pairwise(np.array([np.arange(6.0) + 1, np.arange(6.0)]))
    assert found.p[0, 1] == 2 / 64
    scores = np.arange(20.0)
    assert rank_ranges([scores, scores + 1]) == [(2, 2), (1, 1)]
    assert found.difference[0, 1] == pytest.approx(1.0)


def test_models_far_apart_have_one_rank_each():
    assert rank_ranges(draw(2, [0, 10, 5])) == [(3, 3), (1, 1), (2, 2)]


def test_a_model_without_answers_may_have_any_rank():
    scores = draw(3, [0, 10, 5])
    scores[2] = np.nan
    assert rank_ranges(scores) == [(2, 3), (1, 2), (1, 3)]


@given(st.integers(0, 10_000), st.permutations(range(5)))
@settings(max_examples=25, deadline=None)
def test_ranges_follow_the_model_and_not_its_place(seed, order):
    scores = draw(seed, [0, 0.3, 0.6, 2, 4], items=30)
    whole = rank_ranges(scores, draws=200)
    assert rank_ranges(scores[list(order)], draws=200) == [whole[index] for index in order]
    assert all(1 <= low <= high <= 5 for low, high in whole)


@pytest.mark.parametrize(("items", "truth"), [(60, [0, 0, 0.4, 0.4, 0.8, 1.2]), (12, [0, 0, 1, 1])])
def test_the_ranges_hold_all_true_ranks_as_often_as_they_say(items, truth):
    """Ties included, where plain bootstrap ranks fail. A tied model has every rank of its tie."""
    truth = np.array(truth)
    best = [1 + int((truth > value).sum()) for value in truth]
    worst = [len(truth) - int((truth < value).sum()) for value in truth]
    times = 300
    held = 0
    for seed in range(times):
        found = rank_ranges(draw(seed, truth, items), draws=300, seed=seed, claim="all")
        held += all(low <= b and high >= w for (low, high), b, w in zip(found, best, worst, strict=True))
    assert held / times >= 0.93


def test_holm_over_all_pairs_keeps_the_family_wise_error():
    first, second = np.triu_indices(5, 1)
    times = 400
    wrong = 0
    for seed in range(times):
        p = pairwise(draw(seed, [0] * 5)).p[first, second]
        wrong += min(holm(p.tolist())) < 0.05
    assert wrong / times <= 0.07


def test_more_items_make_narrower_ranges():
    truth = np.linspace(0, 2, 12)
    width = [
        sum(high - low for low, high in rank_ranges(draw(4, truth, items), draws=500)) for items in (20, 200, 2000)
    ]
    assert width[0] > width[1] > width[2]


def test_ranges_from_who_is_above_whom():
    above = np.array([[False, True, True], [False, False, False], [False, False, False]])
    assert ranges(above) == [(1, 1), (2, 3), (2, 3)]


def test_a_row_is_no_table():
    with pytest.raises(UsageError):
        rank_ranges([1.0, 2.0])


def skewed(seed, models, items):
    """All tied, with exponential errors of unequal size: where bounds from the normal distribution fail."""
    random = np.random.default_rng(seed)
    return np.linspace(1, 4, models)[:, None] * (1 - random.standard_exponential((models, items)))


def test_few_skewed_items_do_not_break_the_claims():
    times, models = 150, 15
    all_held = each_held = best = 0.0
    for seed in range(times):
        scores = skewed(seed, models, 30)
        sets = rank_sets(scores, draws=300, seed=seed)
        each_held += np.mean([found == (1, models) for found in sets.ranges])
        best += np.mean(sets.first)
        all_held += all(found == (1, models) for found in rank_ranges(scores, draws=300, seed=seed, claim="all"))
    assert each_held / times >= 0.92
    assert best / times >= 0.91
    assert all_held / times >= 0.91


def test_each_is_narrower_than_all_and_first_is_named():
    scores = draw(9, np.linspace(0, 3, 20), items=80)
    each, both = rank_sets(scores), rank_sets(scores, claim="all")
    assert sum(b - a for a, b in each.ranges) < sum(b - a for a, b in both.ranges)
    assert each.first[19]
    assert "any one" in each.sentence
    assert "at once" in both.sentence
    assert all(low == 1 for (low, _), first in zip(each.ranges, each.first, strict=True) if first)


def test_adjusted_p_separates_what_the_joint_ranges_separate():
    scores = draw(10, np.linspace(0, 2, 12), items=60)
    p = adjusted_p(scores)
    assert np.isnan(np.diag(p)).all()
    assert np.allclose(p, p.T, equal_nan=True)
    above = (np.nan_to_num(p, nan=1.0) < 0.05) & (pairwise(scores).difference > 0)
    assert ranges(above) == rank_ranges(scores, claim="all")
    raw = pairwise(scores).p
    off = ~np.eye(12, dtype=bool)
    assert (p[off] >= raw[off] - 0.002).all()
    first, second = np.triu_indices(12, 1)
    order = np.argsort(raw[first, second])
    assert (np.diff(p[first, second][order]) >= -1e-12).all()


def test_two_models_alone_are_judged_by_the_t_test():
    for seed in range(5):
        scores = draw(seed, [0, 0.3], items=200)
        assert adjusted_p(scores, draws=8000)[0, 1] == pytest.approx(pairwise(scores).p[0, 1], abs=0.02)


def test_near_copies_are_not_separated_and_spoil_nobody():
    scores = draw(11, [0, 5, 10], items=60)
    copy = scores[1].copy()
    copy[:3] += 4
    found = rank_ranges(np.vstack([scores, copy]))
    assert found == [(4, 4), (2, 3), (1, 1), (2, 3)]


def test_fewer_than_five_items_say_nothing():
    assert rank_ranges(np.array([[1.0, 2.0, 3.0, 1.5], [9.0, 8.0, 9.5, 9.0]])) == [(1, 2), (1, 2)]


def test_who_may_be_first_is_asked_on_one_side():
    """Being beaten is one side of a difference: some who cannot be first have a two-sided range that begins with 1."""
    draw = np.random.default_rng(1)
    table = np.round(draw.normal(0, 1, (3, 30)) + np.array([[0.45], [0.2], [0.0]]), 2)
    found = rank_sets(table)
    assert found.first == (True, True, False)
    assert found.ranges[2] == (1, 3)


@pytest.mark.parametrize(("models", "items", "missing"), [(4, 9, 0.0), (9, 30, 0.0), (9, 30, 0.1), (70, 12, 0.0)])
@pytest.mark.parametrize("claim", ["each", "all"])
@pytest.mark.parametrize("large", [1, 400])
def test_ranges_are_those_of_all_draws_and_all_pairs(monkeypatch, models, items, missing, claim, large):
    """By the definition: every t of every draw, in double precision, stepped down over a model's pairs, or over all.
    Most of them are left out, draw by draw or all draws of a pair together."""
    monkeypatch.setattr(ranks, "_LARGE", large)
    ranks._last_drawn.clear()
    random = np.random.default_rng(models)
    scores = np.round(random.normal(np.linspace(0, 4, models)[:, None], 1.0, (models, items)), 3)
    scores[random.random(scores.shape) < missing] = np.nan
    draws = 200
    found, t = pairwise(scores), np.abs(every_t(scores, draws))
    rows = np.arange(models)[:, None]
    families = [rows == model for model in range(models)] if claim == "each" else [rows < models]
    certain = np.zeros((models, models), dtype=bool)
    for family in families:
        open_pairs = family & comparable(scores, found)
        new = open_pairs
        while new.any() and open_pairs.any():
            bound = np.sort(t[:, open_pairs].max(axis=1))[-10]  # 5 % of the draws
            new = open_pairs & (found.p < 2 * stdtr(items - 1, -bound))
            certain |= new
            open_pairs = open_pairs & ~new
    sets = rank_sets(scores, draws=draws, claim=claim)
    better, worse = certain & (found.difference > 0), certain & (found.difference < 0)
    assert certain.any()
    assert np.array_equal(sets.above, worse.T if claim == "each" else better)
    assert np.array_equal(sets.below, better.T if claim == "each" else worse)


def every_t(scores, draws):
    """draws × models × models: the same draws as the product's, a missing score as its model's mean."""
    n = scores.shape[1]
    filled = np.where(np.isnan(scores), np.nanmean(scores, axis=1, keepdims=True), scores)
    filled -= filled.mean(axis=1, keepdims=True)
    chosen = np.random.default_rng(0).integers(0, n, size=(draws, n))
    found = []
    for drawn in chosen:
        gaps = filled[:, None, drawn] - filled[None, :, drawn]
        spread = gaps.std(axis=2, ddof=1)
        mean = gaps.mean(axis=2)
        found.append(np.divide(mean * np.sqrt(n), spread, out=np.zeros_like(mean), where=spread > 0))
    return np.array(found)


def test_threads_change_no_range(monkeypatch):
    scores = draw(5, np.linspace(0, 3, 140), 40)
    scores[::9, 3] = np.nan
    found = []
    for threads in (1, 3):
        monkeypatch.setattr("os.cpu_count", lambda threads=threads: threads)
        monkeypatch.setattr("eqlab.analysis.ranks._BLOCK", 16)
        ranks._last_drawn.clear()
        sets = [rank_sets(scores, draws=200, claim=claim) for claim in ("each", "all")]
        found.append([(one.ranges, one.first, one.above.tolist(), one.below.tolist()) for one in sets])
    assert found[0] == found[1]


@pytest.mark.parametrize("items", [8, 40, 700])
def test_shares_that_are_left_out_change_no_range(monkeypatch, items):
    """Draw by draw, or all draws of a pair together; floors from few pairs; a model by itself, near copies, lost
    answers; and more items than are drawn one by one."""
    random = np.random.default_rng(3)
    scores = random.normal(np.linspace(0, 3, 90)[:, None], 1.0, (90, items)) + 0.1 * random.standard_t(2, (90, items))
    scores = np.round(scores, 2)[random.permutation(90)]
    scores[5] += 6
    scores[7], scores[7, :6] = scores[8], scores[9, :6]
    scores[::9, 3] = np.nan
    found = []
    monkeypatch.setattr(ranks, "_BLOCK", 16)
    monkeypatch.setattr(ranks, "_TOGETHER", 50)
    for large, sample, stages in ((1000, 512, 1), (1, 512, 4), (1, 3, 2)):
        monkeypatch.setattr(ranks, "_LARGE", large)
        monkeypatch.setattr(ranks, "_SAMPLE", sample)
        monkeypatch.setattr(ranks, "_STAGES", stages)
        ranks._last_drawn.clear()
        for claim in ("each", "all"):
            sets = rank_sets(scores, draws=300, first=False, claim=claim)
            found.append((sets.ranges, sets.above.tolist(), sets.below.tolist()))
    assert all(one == found[place % 2] for place, one in enumerate(found))
    assert len({low for low, _ in found[0][0]}) > 3


def drawn_numbers(monkeypatch):
    """How many numbers each block has that is drawn from now on."""
    counted = []
    blocks = ranks.BootstrapT._blocks

    def counting(*given):
        for block in blocks(*given):
            counted.append(block[2].size)
            yield block

    monkeypatch.setattr(ranks.BootstrapT, "_blocks", counting)
    return counted


def test_rows_of_two_tables_are_drawn_once_and_change_no_range(monkeypatch):
    """Of two tables with most rows the same, as scored and with lost answers as the worst, what is drawn of these rows
    is drawn once; the ranges are those of each table by itself."""
    monkeypatch.setattr(ranks, "_BLOCK", 8)
    one = draw(7, np.linspace(0, 3, 60), 40)
    other = one.copy()
    other[::6, 5:9] -= 2
    one[::6, 5:9] = np.nan
    same = np.ones(60, dtype=bool)
    same[::6] = False
    counted = drawn_numbers(monkeypatch)
    alone = []
    for table in (one, other):
        ranks._last_drawn.clear()
        alone.append(rank_sets(table, draws=200, first=False))
    by_themselves = sum(counted)
    counted.clear()
    ranks._last_drawn.clear()
    ranks._shared.cache_clear()
    together = [rank_sets(table, draws=200, first=False, elsewhere=same) for table in (one, other)]
    assert [found.ranges for found in together] == [found.ranges for found in alone]
    assert all(np.array_equal(a.above, b.above) for a, b in zip(together, alone, strict=True))
    assert sum(counted) < 0.8 * by_themselves


def test_of_drawn_tables_the_last_two_are_kept_and_not_what_they_were_drawn_from():
    """A table of thousands took as much memory again for every pair's p, three times over."""
    ranks._last_drawn.clear()
    ranks._shared.cache_clear()
    ranks._upward.cache_clear()
    for seed in range(3):
        rank_sets(draw(seed, np.linspace(0, 2, 6), 30), draws=200, first=False)
    assert len(ranks._last_drawn) == 2
    gc.collect()
    assert not [one for one in gc.get_objects() if type(one) is ranks._Given]


def test_an_item_that_only_other_rows_have_is_drawn_for_all():
    one = draw(8, np.linspace(0, 3, 12), 30)
    one[:9, 4] = np.nan
    same = np.arange(12) < 9
    shared = rank_sets(one, draws=200, first=False, elsewhere=same)
    ranks._last_drawn.clear()
    assert shared.ranges == rank_sets(one, draws=200, first=False).ranges


def test_who_may_be_first_is_found_only_when_asked():
    scores = draw(9, [0, 1, 2], 30)
    assert rank_sets(scores, first=False).first == ()
    assert rank_sets(scores, first=False).ranges == rank_sets(scores).ranges


class Memory:
    """Keeps in memory, as a board does in a file."""

    def __init__(self):
        self.kept = None

    def get(self):
        return self.kept

    def put(self, kept):
        self.kept = kept


@pytest.mark.parametrize("change", ["none", "one more", "shuffled", "one less", "another score", "another item"])
def test_pairs_that_were_drawn_before_are_not_drawn_again_and_ranges_are_the_same(monkeypatch, change):
    monkeypatch.setattr(ranks, "_BLOCK", 8)
    random = np.random.default_rng(11)
    table = draw(11, np.linspace(0, 3, 61), 40)
    table[3] = table[4]  # copies, which have the same row
    memory, keeper = table[:60], Memory()
    now = {
        "none": memory,
        "one more": table,
        "shuffled": table[random.permutation(61)],
        "one less": table[1:],
        "another score": np.where(np.arange(61)[:, None] == 7, table + 0.5, table),
        "another item": np.hstack([table, random.normal(0, 1, (61, 1))]),
    }[change]
    counted = drawn_numbers(monkeypatch)
    ranks._last_drawn.clear()
    rank_sets(memory, draws=200, first=False, keeper=keeper)
    whole = sum(counted)
    ranks._last_drawn.clear()
    counted.clear()
    found = rank_sets(now, draws=200, first=False, keeper=keeper)
    again = sum(counted)
    ranks._last_drawn.clear()
    alone = rank_sets(now, draws=200, first=False)
    assert found.ranges == alone.ranges
    assert np.array_equal(found.above, alone.above)
    assert len(keeper.kept.rows) == len(now)
    if change in ("none", "one more", "shuffled"):
        assert again < 0.1 * whole
    else:
        assert again >= 0.9 * whole
