"""The verdict: what each statement claims, that none contradicts another, and what happens at the edges."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from eqlab.analysis.intervals import mean_estimate
from eqlab.comparison.contender import REFERENCE, Contender, contender, lost_of, told_apart, why_no_rank
from eqlab.comparison.sentences import conclusion
from eqlab.comparison.verdict import ALPHA, NamedPairs, pair, paired_on, rank
from eqlab.core.results import Baseline, Estimate, ItemScore, Result


def one(name, points, item_set="s", **more):
    """A contender whose score is the mean of its points."""
    points = {str(k): float(v) for k, v in enumerate(points) if not np.isnan(v)}
    mean = float(np.mean(list(points.values())))
    return Contender(name, Estimate("score", mean, len(points), low=mean - 3, high=mean + 3), points, item_set, **more)


def bare(name, value, low, high, **more):
    return Contender(name, Estimate("score", value, 50, low=low, high=high), **more)


def drawn(seed, gap=0.0, n=40, noise=8.0):
    item = np.random.default_rng(0).normal(60, 15, n)
    return item + gap + np.random.default_rng(seed).normal(0, noise, n)


def ranks(verdict):
    return {standing.contender.name: standing.rank for standing in verdict.standings}


def test_one_model_is_first_and_others_follow():
    found = rank([one("b", drawn(2)), one("a", drawn(1, gap=15)), one("c", drawn(3, gap=-15))])
    assert ranks(found) == {"a": (1, 1), "b": (2, 2), "c": (3, 3)}
    assert [first.name for first in found.first] == ["a"]
    assert conclusion(found).startswith("a is best: it scores ")
    assert ", more than b and c." in conclusion(found)


def test_items_that_are_alike_count_by_cluster():
    """Twelve factors of five situations: a lead that sixty items would show, twelve factors do not."""
    factors = {str(k): f"f{k // 5}" for k in range(60)}
    level = np.repeat(np.resize([8.5, -3.5], 12), 5)
    base = drawn(1, n=60)
    points = [base + level + np.random.default_rng(k).normal(0, 1, 60) for k in (2, 3)] + [base]
    loose = [one(name, own) for name, own in zip("abc", points, strict=True)]
    held = [replace(own, clusters=factors) for own in loose]
    wide, narrow = pair(held[0], held[2]).difference, pair(loose[0], loose[2]).difference
    assert (wide.n, wide.df, wide.value) == (60, 11, pytest.approx(narrow.value))
    assert wide.se > 1.8 * narrow.se
    assert (ranks(rank(loose))["c"], ranks(rank(held))["c"]) == ((3, 3), (1, 3))
    assert rank(held).pairs()[1].p_jointly > rank(loose).pairs()[1].p_jointly


def test_overlapping_intervals_do_not_hide_a_paired_difference():
    """The report used to say the two cannot be separated; item by item a is better on nearly all."""
    base = drawn(5)
    found = rank([one("a", base + 2), one("b", base + np.random.default_rng(6).normal(0, 1, 40))])
    a, b = (standing.contender.score for standing in found.standings)
    assert a.low < b.high
    assert ranks(found) == {"a": (1, 1), "b": (2, 2)}
    assert conclusion(found).startswith("a is better than b by 1.8 points (95 % interval 1.5 to 2.1, 40 shared items).")


@given(st.lists(st.floats(-12, 12), min_size=2, max_size=6), st.integers(0, 10**6), st.sampled_from([5, 6, 12, 40]))
def test_no_statement_contradicts_another(gaps, seed, n):
    found = rank([one(f"m{k}", drawn(seed + k, gap, n)) for k, gap in enumerate(gaps)], joint=True)
    places = [standing.contender for standing in found.ranked]
    values = [place.score.value for place in places]
    assert values == sorted(values, reverse=True)
    assert found.first
    for place, standing in enumerate(found.ranked, 1):
        low, high = standing.rank
        assert 1 <= low <= high <= len(places)
        assert low <= place <= high  # all answered the same items, so the order of scores is allowed
        assert standing.may_be_first == (low == 1)
        wide = standing.jointly
        assert wide[0] <= low or len(places) == 2
        better = sum(found.pair(other.name, standing.contender.name).better is other for other in places)
        worse = sum(
            found.pair(standing.contender.name, other.name).better is standing.contender
            for other in places
            if other is not standing.contender
        )
        assert low <= 1 + better  # nobody loses a rank to one whom it cannot be told apart from
        assert high >= len(places) - worse
    for pair_ in found.pairs():
        gap = pair_.difference
        assert pair_.separated is not None
        if gap.low is not None and not pair_.why:
            assert pair_.separated == (gap.low > 0 or gap.high < 0) == (gap.p < ALPHA)
        assert pair_.p_jointly is None or pair_.p_jointly >= gap.p
        turned = found.pair(pair_.b.name, pair_.a.name)
        assert turned.difference.value == pytest.approx(-gap.value)
        assert (turned.better and turned.better.name) == (pair_.better and pair_.better.name)
        assert pair_.turned().difference.low == pytest.approx(turned.difference.low)


@given(st.integers(0, 10**6), st.integers(3, 6))
def test_a_pair_is_judged_alike_in_any_company(seed, count):
    every = [one(f"m{k}", drawn(seed + k, 3.0 * k)) for k in range(count)]
    whole = rank(every)
    for j, a in enumerate(every):
        for b in every[j + 1 :]:
            alone = rank([a, b])
            assert whole.pair(a.name, b.name) == alone.pair(a.name, b.name)


@given(
    st.lists(st.floats(-12, 12), min_size=2, max_size=6),
    st.integers(0, 10**6),
    st.sampled_from([5, 6, 12, 40]),
    st.sampled_from([0.0, 0.3, 0.8]),
    st.sampled_from([None, 10.0, 60.0]),
    st.booleans(),
)
def test_who_is_told_apart_is_what_the_pairs_say(gaps, seed, n, lost, coarse, elsewhere):
    """Worked out for all at once; whatever is missing, alike or from other files."""
    rng, every = np.random.default_rng(seed), []
    for k, gap in enumerate(gaps):
        points = drawn(seed + k, gap, n)
        points = points if coarse is None else coarse * np.round(points / coarse)
        points[rng.random(n) < lost] = np.nan
        if np.isfinite(points).sum() >= 5:
            every.append(one(f"m{k}", points, "other" if elsewhere and k == 1 else "s"))
    found = rank(every)
    both = [found.pair(a.name, b.name) for j, a in enumerate(every) for b in every[j + 1 :]]
    better = [(pair_, pair_.better) for pair_ in both if pair_.better is not None]
    assert found.apart == {(own.name, (pair_.b if own is pair_.a else pair_.a).name) for pair_, own in better}
    for pair_ in both:
        assert paired_on(pair_.a, pair_.b) == (pair_.difference.n if pair_.difference.method == "paired" else 0)


def test_fewer_than_five_items_are_too_few_for_anything():
    few = one("a", drawn(1, n=4))
    assert why_no_rank(few.score, few.points) == "too few items: 4, at least 5 are needed"
    found = pair(few, one("b", drawn(2, gap=90, n=4)))
    assert (found.separated, found.difference.low, found.difference.p) == (None, None, None)
    assert "at least 5" in found.why


def test_one_item_shared_of_many_is_no_pair():
    a = one("a", drawn(1, n=10))
    b = Contender("b", a.score, {"0": 1.0, **{f"x{k}": 2.0 * k for k in range(9)}}, "s")
    found = pair(a, b)
    assert (found.shared, found.difference.method) == (1, "unpaired")


def test_the_same_answers_share_every_rank():
    found = rank([one("a", drawn(1)), one("b", drawn(1)), one("c", drawn(1))])
    assert set(ranks(found).values()) == {(1, 3)}
    assert "scores highest" not in conclusion(found)
    assert conclusion(found).startswith("a (")
    assert "cannot be told apart" in conclusion(found)


def test_near_copies_are_told_apart_by_the_signs_of_their_few_differences():
    base = drawn(1, n=100)
    other = base.copy()
    other[:7] += 5.0
    found = pair(one("a", other), one("b", base))
    assert (found.separated, found.difference.differ, found.difference.low) == (True, 7, None)
    assert found.difference.p == 2 / 2**7
    assert ranks(rank([one("a", other), one("b", base)])) == {"a": (1, 1), "b": (2, 2)}
    assert "(exact test of the 7 on which they differ, p = 0.0156, 100 shared items)" in conclusion(
        rank([one("a", other), one("b", base)])
    )
    other[0] -= 10.0  # six of seven: p = 16/128
    found = pair(one("a", other), one("b", base))
    assert (found.separated, found.why) == (False, "they differ on 7 of 100")
    assert found.difference.p == 16 / 2**7


def test_the_same_gap_on_every_item_is_told_by_its_signs():
    base = drawn(1, n=12)
    found = pair(one("a", base + 1), one("b", base))
    assert (found.separated, found.difference.low) == (True, None)
    assert "the same on each" in conclusion(rank([one("a", base + 1), one("b", base)]))
    five = pair(one("a", base[:5] + 1), one("b", base[:5]))
    assert five.separated is False  # 2/2⁵ = .06


def test_missing_items_are_left_out_of_a_pair():
    gappy = drawn(2, gap=4)
    gappy[::4] = np.nan
    found = pair(one("a", drawn(1)), one("b", gappy))
    assert (found.difference.n, found.shared, found.difference.method) == (30, 30, "paired")


def test_scores_without_items_are_compared_by_their_intervals():
    found = rank([bare("a", 80, 75, 85), bare("b", 70, 65, 75), bare("c", 60, 40, 80)])
    assert found.pair("a", "b").separated
    assert found.pair("a", "c").separated is False
    assert ranks(found)["a"][0] == 1
    p = found.pair("a", "b").difference
    assert (p.p < ALPHA) == (p.low > 0)


@given(st.floats(-30, 30), st.floats(0.1, 20), st.floats(0.1, 20), st.floats(0.1, 20), st.floats(0.1, 20))
def test_p_from_intervals_agrees_with_the_interval(gap, a, b, c, d):
    gap_found = pair(bare("x", 50 + gap, 50 + gap - a, 50 + gap + b), bare("y", 50, 50 - c, 50 + d)).difference
    if abs(gap_found.p - ALPHA) > 1e-9:
        assert (gap_found.p < ALPHA) == (gap_found.low > 0 or gap_found.high < 0)


def test_other_item_files_are_other_items():
    found = pair(one("a", drawn(1), "x"), one("b", drawn(2), "y"))
    assert (found.difference.method, found.shared) == ("unpaired", 0)


def test_who_has_no_rank_is_named_with_the_reason():
    people = bare("people", 70, 66, 74, why_no_rank=REFERENCE, people=True)
    broken = bare("z", 99, 98, 100, why_no_rank="not valid: too few answers could be read")
    found = rank([one("a", drawn(1)), people, broken])
    assert ranks(found) == {"a": (1, 1), "z": None, "people": None}
    text = conclusion(found)
    assert "People score 70.00" in text
    arms = replace(people, score=structs.replace(people.score, name="warmth: a − b"))
    assert "People: warmth: a − b 70.00" in conclusion(rank([one("a", drawn(1)), arms]))
    assert "z (99.00, n = 50) is not compared: not valid: too few answers could be read." in text
    only = "No score can be compared. Not valid: too few answers could be read."
    assert conclusion(rank([broken, bare("y", 9, 8, 10, why_no_rank=broken.why_no_rank)])) == only


def test_baselines_are_held_against_the_weak_ones():
    floor = (Baseline("random", 10), Baseline("all fives", 62))
    found = rank([bare("a", 80, 75, 85, baselines=floor), bare("c", 60, 55, 65, baselines=floor)])
    assert conclusion(found).endswith("c is not clearly better than 'all fives', a no-skill baseline (62.0).")


def test_a_few_large_losses_are_not_passed_over_beside_a_baseline():
    """Twenty points skewed to the left: Student's interval ends above the baseline, the one that knows the skew not."""
    points = [95.0] * 17 + [60.0, 70.0, 80.0]
    score = mean_estimate("score", points)
    floor = (Baseline("always 3", score.low - 0.5),)
    skewed = Contender("m", score, {str(k): value for k, value in enumerate(points)}, baselines=floor)
    assert "m is not clearly better than 'always 3'" in conclusion(rank([skewed]))
    mirrored = replace(skewed, points={k: 2 * score.value - value for k, value in skewed.points.items()})
    assert "no-skill" not in conclusion(rank([mirrored]))
    down = replace(
        skewed,
        better="lower",
        score=mean_estimate("score", [-value for value in points]),
        points={k: -value for k, value in skewed.points.items()},
        baselines=(Baseline("always 3", 0.5 - score.low),),
    )
    assert "m is not clearly better than 'always 3'" in conclusion(rank([down]))


def test_a_result_becomes_a_contender():
    items = tuple(ItemScore(str(k), str(k), r, "ok", None, points=float(k + r)) for k in range(6) for r in range(2))
    head = Estimate("s", 3.0, 6, low=1, high=5)
    result = Result("eqbench", "E", "model:m", {}, "", head, (0, 100), items=items)
    assert contender("m", result).points == {str(k): k + 0.5 for k in range(6)}
    rated = Result("rating", "R", "judge:j", {}, "", head, (0, 100), items=items, ranked=False)
    assert contender("j", rated).why_no_rank
    assert not contender("m", Result("eqbench", "E", "people", {}, "", head, (0, 100), items=items)).points


def test_equal_names_are_told_apart_by_the_first_thing_that_does():
    assert told_apart(["a", "b"], ["x", "y"], ["r1", "r2"]) == ["a", "b"]
    assert told_apart(["a", "a"], ["", "t 1"], ["r1", "r2"]) == ["a", "a (t 1)"]
    assert told_apart(["a", "a", "b"], ["", "", ""], ["r1", "r2", "r3"]) == ["a (r1)", "a (r2)", "b"]


def test_a_rater_with_too_few_prompts_still_tells_the_shares():
    few = [
        one(name, [value] * 4, why_no_rank="too few items: 4, at least 5 are needed")
        for name, value in (("b", 0), ("a", 100))
    ]
    text = conclusion(rank(few), "prompts", "j")
    assert text.startswith("Judge-only: j gives a 100.00, b 0.00 overall.")
    assert text.endswith("Too few items: 4, at least 5 are needed.")


def answered(name, points, refused=(), status="refused", worst=None, **more):
    """A contender made of a result, with some answers lost."""
    items = tuple(
        ItemScore(
            str(k), str(k), 0, status if k in refused else "ok", None,
            points=None if k in refused else float(value), worst=worst,
        )
        for k, value in enumerate(points)
    )  # fmt: skip
    left = [item.points for item in items if item.points is not None]
    head = Estimate("s", float(np.mean(left)), len(left), low=0, high=100)
    return contender(name, Result("b", "B", f"model:{name}", {}, "", head, (0.0, 100.0), items=items, **more))


def test_lost_answers_are_worth_what_the_ends_of_the_scale_say():
    own = answered("m", [80.0, 60.0, 40.0, 90.0, 30.0, 100.0], refused=(4, 5))
    assert (own.lost.at_worst, own.lost.at_best, own.lost.as_wrong) == (45.0, pytest.approx(470 / 6), 45.0)
    assert (own.lost.words, own.certain) == ("2 refused", 45.0)
    below = answered("m", [80.0, -60.0, 40.0, 90.0, 30.0], refused=(4,))  # no end: nothing worse than it has shown
    assert below.lost.worst["4"] == -60.0
    assert below.lost.wrong["4"] == 0.0
    known = answered("m", [80.0, -60.0, 40.0, 90.0, 30.0], refused=(4,), worst=-140.0)
    assert known.lost.worst["4"] == -140.0
    near = answered("m", [3.0, 1.0, 2.0, 4.0, 5.0], refused=(4,), better="lower")
    assert (near.lost.worst["4"], near.lost.best["4"]) == (100.0, 0.0)
    assert answered("m", drawn(1)).lost is None
    assert lost_of((), Result("b", "B", "model:m", {}, "", Estimate("s", None, 0), (0, 1))) is None


def test_who_leads_by_answers_not_given_is_not_better():
    base = np.clip(drawn(5), 0, 100)
    other = np.clip(base + np.random.default_rng(6).normal(0, 6, 40), 0, 100)
    hard = np.argsort(base - other)[:12]  # where it would lose most
    gamer, rival = answered("gamer", np.minimum(base + 1, 100), refused=set(hard.tolist())), answered("rival", other)
    found = pair(gamer, rival)
    assert found.difference.p < ALPHA
    assert (found.separated, found.better, found.leads) == (False, None, gamer)
    assert ranks(rank([gamer, rival])) == {"rival": (1, 2), "gamer": (1, 2)}
    assert [one.contender.name for one in rank([gamer, rival]).standings] == ["rival", "gamer"]
    assert [one.at_worst for one in rank([gamer, rival]).standings] == [(1, 1), (2, 2)]
    assert conclusion(rank([gamer, rival])).startswith("gamer is better than rival on what it answered, by ")
    assert "; with 12 refused counted as the worst answers rival is better." in conclusion(rank([gamer, rival]))
    third = answered("third", base - 40)
    assert "gamer is better than rival on what it answered only, and not with 12 refused" in conclusion(
        rank([gamer, rival, third])
    )
    clear = answered("clear", np.clip(base + 30, 0, 100), refused={0})
    assert pair(clear, third).better is clear  # a lead that one refusal does not undo stands
    assert pair(clear, third).at_worst.value < pair(clear, third).difference.value


@given(st.integers(0, 10**6), st.integers(0, 12), st.integers(3, 5))
def test_refusing_never_raises_what_tables_are_sorted_by(seed, count, size):
    random = np.random.default_rng(seed)
    points = random.uniform(0, 100, 30)
    lost = set(random.choice(30, count, replace=False).tolist())
    assert answered("m", points, refused=lost).certain <= answered("m", points).certain + 1e-9
    every = [answered("m0", points, refused=lost)]
    every += [answered(f"m{k}", np.clip(points + random.normal(k - 2, 9, 30), 0, 100)) for k in range(1, size)]
    found = rank(every)
    both = [found.pair(a.name, b.name) for j, a in enumerate(every) for b in every[j + 1 :]]
    leads = {(one.leads.name, (one.b if one.leads is one.a else one.a).name) for one in both if one.leads}
    apart = {(one.better.name, (one.b if one.better is one.a else one.a).name) for one in both if one.better}
    assert (found.leads, found.apart) == (leads, apart)  # all at once as one by one


def test_a_perfect_model_is_better_than_what_takes_no_skill():
    floor = (Baseline("always 4", 42.0),)
    full = Contender("full", Estimate("s", 100.0, 60, 0.0), dict.fromkeys(map(str, range(60)), 100.0), "s")
    full = replace(full, baselines=floor, bounds=(0.0, 100.0))
    assert "Not clearly better" not in conclusion(rank([full, one("b", drawn(1, n=60))]))
    weak = replace(full, points=dict.fromkeys(map(str, range(60)), 43.0), score=Estimate("s", 43.0, 60, 0.0))
    assert "is not clearly better than 'always 4'" in conclusion(rank([weak]))  # 60 answers cannot tell 43 from 42


def test_who_comes_after_is_said_of_all_at_once():
    """Twelve alike, of which one range by itself leaves out the first place: no sentence may make a claim of it."""
    seed = next(seed for seed in range(200) if len(rank(equals(seed)).first) < 12)
    found = rank(equals(seed))
    left = {one.contender.name for one in found.ranked} - {one.name for one in found.first}
    assert left
    assert found.jointly_apart < found.apart
    behind = {worse for _, worse in found.jointly_apart}
    text = conclusion(found)
    assert left - behind
    assert "beyond chance when all are compared at once." in text
    assert " come after" not in text
    assert " comes after" not in text


def test_neighbours_and_people_are_told_apart_with_all_compared_at_once():
    """Passages on several pairs: rated arms, neighbours in a long order, people beside each model."""
    signs = np.array([[(-1) ** (k >> bit) for k in range(32)] for bit in range(5)])  # no two go together
    found = rank([one(f"m{k}", 60 - 0.55 * k + signs[k]) for k in range(5)])
    assert all(0.02 < pair.difference.p < ALPHA for pair in found.neighbours())  # each by itself
    assert "No two adjacent models can be told apart" in conclusion(found, rater="judge:j")
    assert "4 of 4 pairs of adjacent models cannot be told apart." in conclusion(found)
    people = bare("people", 60.0, 57.0, 63.0, people=True, why_no_rank=REFERENCE)
    models = [bare(f"m{k}", 55.1, 52.0, 58.2) for k in range(6)]  # p = .03 each, .15 with all six
    assert "more than m0" in conclusion(rank([*models[:1], people]))
    assert "more than" not in conclusion(rank([*models, people]))


@pytest.mark.parametrize(
    ("speakers", "said"),
    [({"a"}, "with this speaker,"), ({"a", "b"}, "with these 2 speakers,"), ({"people"}, ""), ((), "")],
)
def test_a_verdict_on_talks_says_whose_it_is(speakers, said):
    both = [one("x", drawn(1, gap=15), speakers=frozenset(speakers)), one("y", drawn(2), speakers=frozenset(speakers))]
    text = conclusion(rank(both), "personas")
    assert "x is better than y" in text
    assert ("a sample: with another the order may be another." in text) == bool(said)
    assert said in text


def test_short_forms_are_compared_by_the_interval_that_takes_questions_for_a_sample():
    """The displayed interval is of the score on the full form; "better" speaks of such questions."""
    narrow = [bare("a", 60.0, 58.0, 62.0), bare("b", 55.0, 53.0, 57.0)]
    assert pair(*narrow).better is narrow[0]
    wide = [replace(one, compared=structs.replace(one.score, low=one.score.value - 6, high=one.score.value + 6))
            for one in narrow]  # fmt: skip
    found = pair(*wide)
    assert found.better is None
    assert found.difference.high - found.difference.low == pytest.approx(12 * 2**0.5)


def equals(seed):
    return [one(f"m{k}", drawn(1000 * seed + k, n=20)) for k in range(12)]


def test_pairs_by_name_are_a_set_in_a_byte_each():
    flags = np.zeros((4000, 4000), dtype=bool)
    flags[0, 1:] = True
    names = [f"m{number}" for number in range(4000)]
    pairs = NamedPairs(names, flags)
    assert len(pairs) == 3999
    assert ("m0", "m3999") in pairs
    assert not {("m1", "m0"), ("m0", "m0"), ("m0", "x"), "m0", None} & pairs
    assert pairs == {("m0", name) for name in names[1:]}
    fewer = flags.copy()
    fewer[0, 2:] = False
    assert pairs.among(names, fewer) == {("m0", "m1")} < pairs
    assert pairs.among(["m5", "m0"], np.ones((2, 2), dtype=bool)) == {("m0", "m5")}
    assert all(not isinstance(kept, set | frozenset) for kept in vars(pairs).values())


def test_a_verdict_on_many_holds_no_set_of_pairs():
    random = np.random.default_rng(4)
    every = [one(f"m{k}", random.normal(50 + k, 5, 40)) for k in range(60)]
    found = rank(every)
    assert len(found.apart) > 1000
    assert found.apart.flags.nbytes + found.leads.flags.nbytes + found.jointly_apart.flags.nbytes == 3 * 60 * 60
