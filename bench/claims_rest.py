"""Simulations of the sentences that stand beside a verdict, for claims.py: reliability, situations in factors, no-skill
baselines, where among people, items needed, what a third score leaves, equal length, another judge."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from claims_tables import Rows, share, show
from claims_verdicts import _result, published

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


def reliability(times: int) -> None:
    """Skills from a normal distribution, what is left of published points beside them: the truth is known."""
    from eqlab.analysis.components import measure

    table, _ = published()
    rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    rows, skill = Rows(), 6.0
    for models, items in ((6, 20), (10, 60), (30, 60), (54, 137)):
        random = np.random.default_rng(models + items)
        noise = float(rest.var()) / items
        truth, upper = (part / (part + noise) for part in (skill**2, skill**2 * (1 - 2 / math.pi)))
        whole = half = known = 0
        for _ in range(times):
            left = rest[
                random.integers(0, len(rest), (models, items)), random.integers(0, rest.shape[1], (models, items))
            ]
            found = measure(random.normal(0, skill, models)[:, None] + random.normal(0, 10, items) + left)
            if found is None:
                continue
            whole += (found.reliability.low or 0.0) <= truth <= (found.reliability.high or 0.0)
            if found.better_half.value is not None:
                known += 1
                half += (found.better_half.low or 0.0) <= upper <= (found.better_half.high or 0.0)
        rows.append(
            (models, items, f"{truth:.2f}", share(whole, times), f"{upper:.2f}", share(half, known) if known else "–")
        )
    show(
        f"Reliability: how often the interval holds, {times} tables a row",
        ("models", "items", "true", "held", "true, better half", "held, better half"),
        rows,
    )


def situations(times: int) -> None:
    """Two who are moved alike on the whole, by factors that move each in its own way: 36 factors of three situations
    and 48 controls, as EmotionBench has them."""
    from eqlab.analysis.comparison import paired

    rows = Rows()
    factor = np.repeat(np.arange(36), 3)
    labels = [*(f"f{k}" for k in factor), *(f"c{k}" for k in range(48))]
    for alike in (0.0, 0.12, 0.35):
        random = np.random.default_rng(int(100 * alike))
        alone = together = 0
        for _ in range(times):
            one, other = (
                np.concatenate([
                    random.normal(0, math.sqrt(alike), 36)[factor] + random.normal(0, math.sqrt(1 - alike), 108),
                    random.normal(0, 1, 48),
                ])
                for _ in range(2)
            )  # fmt: skip
            alone += (paired(one, other).p or 1.0) < 0.05
            together += (paired(one, other, clusters=labels).p or 1.0) < 0.05
        rows.append((alike, share(alone, times), share(together, times)))
    show(
        f"EmotionBench, two who do not differ: 'is better' or 'is worse', {times} pairs a row (should be .05)",
        ("likeness within a factor (ICC)", "situations as units (0.2)", "factors as units"),
        rows,
    )


def floors(times: int) -> None:
    """A model whose true score is that of the best no-skill baseline: how often it is called below it, or passes."""
    from dataclasses import replace

    from eqlab.comparison.contender import contender
    from eqlab.comparison.sentences import conclusion
    from eqlab.comparison.verdict import rank
    from eqlab.core.results import Baseline

    table, _ = published()
    rows = Rows()
    for n in (20, 60, 171):
        random = np.random.default_rng(n)
        below = above = 0
        for _ in range(times):
            own = table[random.integers(30)]
            made = _result(own[random.integers(0, len(own), n)])
            one = contender("m", replace(made, baselines=(Baseline("always 3", float(own.mean())),)))
            said = conclusion(rank([one]))
            below += "is below" in said
            above += "no-skill" not in said
        rows.append((n, share(below, times), share(above, times)))
    show(
        f"As good as the best no-skill baseline: what is said, {times} models a row (should be .025 each)",
        ("questions", "is below", "no word of it: clearly better"),
        rows,
    )


def percentiles(times: int) -> None:
    """Where among people: people and questions are samples."""
    from eqlab.analysis.intervals import mean_estimate
    from eqlab.analysis.norms import percentile
    from eqlab.analysis.special import ndtr
    from eqlab.core.results import Norms

    rows = Rows()
    for people in (20, 60, 500):
        for at in (-1.0, 0.0, 1.5):
            random = np.random.default_rng(people)
            truth, held = 100 * float(ndtr(at)), 0
            for _ in range(times):
                norms = Norms(values=tuple(random.normal(60, 8, people).tolist()), source="people")
                found = percentile(
                    mean_estimate("", (60 + 8 * at + random.normal(0, 20, 60)).tolist()), norms, "higher"
                )
                held += (found.low or 0.0) <= truth <= (100.0 if found.high is None else found.high)
            rows.append((people, f"{truth:.0f} %", share(held, times)))
    show(
        f"The share of people who do worse: how often the interval holds, {times} norms a row",
        ("people", "true share", "held"),
        rows,
    )


def needed(times: int) -> None:
    """ "It would take some N to M": how often it is said, and how often the number that the truth needs lies in it."""
    from eqlab.analysis.comparison import Difference, items_needed
    from eqlab.comparison.contender import contender
    from eqlab.comparison.verdict import pair

    table, _ = published()
    rows = Rows()
    for gap in (2.0, 4.0):
        for n in (60, 171):
            random = np.random.default_rng(n)
            said = held = 0
            for _ in range(times):
                a, b = random.choice(30, 2, replace=False)
                gaps = table[a] - table[b]
                gaps = gaps - gaps.mean() + gap
                chosen = random.integers(0, len(gaps), n)
                one, other = (contender(name, _result(own)) for name, own in
                              (("a", table[b][chosen] + gaps[chosen]), ("b", table[b][chosen])))  # fmt: skip
                found = pair(one, other)
                if found.needed_range is None:
                    continue
                said += 1
                true = Difference(gap, n, "paired", float(gaps.std()) / math.sqrt(n), n - 1, p=0.5)
                held += found.needed_range[0] <= (items_needed(true) or 0) <= found.needed_range[1]
            rows.append((gap, n, share(said, times), share(held, max(said, 1))))
    show(
        f"'It would take some N to M questions': {times} pairs a row (a standard error to both sides: .68 is meant)",
        ("true difference", "questions", "said", "holds what the truth needs, where said"),
        rows,
    )


def partials(times: int) -> None:
    """Two scores that go together only because both follow a third: models in families."""
    from eqlab.analysis.correlation import grouped_r

    rows = Rows()
    for count, size in ((6, 2), (5, 5), (10, 4)):
        for alike in (0.3, 0.9):
            random = np.random.default_rng(count)
            group, left = np.repeat(np.arange(count), size), 0
            for _ in range(times):
                third, first, second = (
                    random.normal(0, math.sqrt(alike), count)[group]
                    + random.normal(0, math.sqrt(1 - alike), len(group))
                    for _ in range(3)
                )
                found = grouped_r("r", third + first, third + second, group, third)
                left += found.low is not None and found.high is not None and not found.low <= 0 <= found.high
            rows.append((count * size, count, alike, share(left, times)))
    show(
        f"'They still go together' of two that do not, a third taken out: {times} worlds a row (should be ≤ .05)",
        ("models", "families", "likeness within a family (ICC)", "said"),
        rows,
    )


def lengths(times: int) -> None:
    """Scores at equal length: two of equal skill, one of whom writes twice as much, which is rewarded."""
    from eqlab.analysis.comparison import paired
    from eqlab.analysis.length import EqualLength, LengthReply, at_equal_length

    rows = Rows()
    for items in (20, 60, 171):
        random = np.random.default_rng(items)
        held = slope = alike = 0
        for _ in range(times):
            hard = random.normal(0, 10, items)
            replies = []
            for who, more in (("a", 0.0), ("b", 1.0), ("c", 0.3)):
                words = 6 + more + random.normal(0, 0.5, items)
                points = 60 + 4 * (words - 6) + hard + 10 * (1 - random.standard_exponential(items))
                replies += [
                    LengthReply(who, str(k), float(y), float(x))
                    for k, (y, x) in enumerate(zip(points, words, strict=True))
                ]
            found = at_equal_length(replies)
            if not isinstance(found, EqualLength):
                continue
            slope += (found.slope.low or 0.0) <= 4.0 <= (found.slope.high or 0.0)
            gaps = found.pseudo_values[0] - found.pseudo_values[1]
            alike += (paired(gaps, np.zeros(len(gaps))).p or 1.0) >= 0.05
            held += (
                (found.scores[0].low or 0.0) <= 60 + 4 * (math.log2(found.words) - 6) <= (found.scores[0].high or 0.0)
            )
        rows.append((items, share(slope, times), share(held, times), share(alike, times)))
    show(
        f"Scores at equal length: how often the claim holds, {times} tables a row",
        ("items", "points for twice the length", "a score", "two of equal skill: difference holds 0"),
        rows,
    )


def drifts(times: int) -> None:
    """A second judge who sees the same: how often some arm is said to move."""
    from eqlab.benchmarks.rating.drift import _shift

    rows = Rows()
    for prompts in (10, 40):
        for arms in (2, 5):
            random = np.random.default_rng(prompts + arms)
            moved = 0
            for _ in range(times):
                good = random.normal(0, 0.6, (arms, prompts))
                before, now = (100.0 * (good + random.normal(0, 0.8, good.shape) > -0.2) for _ in range(2))
                shifts = [_shift(str(k), row, arms) for k, row in enumerate(now - before)]
                moved += any(
                    one.low is not None and one.high is not None and not one.low <= 0 <= one.high for one in shifts
                )
            rows.append((prompts, arms, share(moved, times)))
    show(
        f"Another judge who sees the same: some arm is said to move, {times} panels a row (should be ≤ .05)",
        ("prompts", "arms", "said"),
        rows,
    )


def scales(times: int) -> None:
    """One scale, one ability: how often it is said that items shift, or that there is a second factor, where not."""
    from claims_items import _subjects

    from eqlab.analysis.item_quality import against, one_factor, one_scale, otherwise

    rows = Rows()
    for people, each, models in ((40, 10, 25), (200, 3, 25), (60, 40, 60)):
        random = np.random.default_rng(people)
        shifts = found = second = 0
        for _ in range(times):
            table, labels = _subjects(random, people, each, models, 40, 0.0)
            whole = one_scale(against(table, labels, "people", "models"))
            shifts += whole is not None and whole.p < 0.05
            moved = table + np.where(np.array(labels) == "people", 1.0, 0.0)[:, None] * random.normal(0, 5, 40)
            whole = one_scale(against(moved, labels, "people", "models"))
            found += whole is not None and whole.p < 0.05
            factors = one_factor(table[people:], draws=60)
            second += factors is not None and factors.second > factors.chance
        rows.append(
            (f"{people} people with {each} items, {models} models", *(share(x, times) for x in (shifts, found, second)))
        )
    for models in (8, 25):
        random = np.random.default_rng(models)
        shifts = found = second = 0
        for _ in range(times):
            text, _ = _subjects(random, 0, 0, models, 40, 0.0)
            json = text + 3 + random.normal(0, 8, text.shape)
            whole = one_scale(otherwise(text, json))
            shifts += whole is not None and whole.p < 0.05
            whole = one_scale(otherwise(text, json + random.normal(0, 5, 40)))
            found += whole is not None and whole.p < 0.05
            factors = one_factor(json, draws=60)
            second += factors is not None and factors.second > factors.chance
        rows.append((f"{models} models asked in two ways", *(share(x, times) for x in (shifts, found, second))))
    show(
        f"One scale: 40 items, {times} tables a row (should be ≤ .05)",
        ("who", "items shift, where none does", "… where they do by 5 points (SD)", "a second factor, where none is"),
        rows,
    )


def emotions(times: int) -> None:
    """An emotion's mean change: factors that move a subject each in its own way, as many as emotions have."""
    from eqlab.analysis.intervals import t_bounds
    from eqlab.benchmarks.emotionbench.measures import MeasurePlace
    from eqlab.benchmarks.emotionbench.views import by_factor

    rows = Rows()
    for alike in (0.0, 0.12, 0.35):
        for factors, each in ((4, 3), (6, 3), (4, 12), (6, 12)):
            random = np.random.default_rng(factors * each)
            places = [MeasurePlace("Anger", f, f"f{f}", f"{f}-{k}") for f in range(factors) for k in range(each)]
            factor, where = np.repeat(np.arange(factors), each), np.arange(factors * each)
            alone = together = 0
            for _ in range(times):
                means = random.normal(0, math.sqrt(alike), factors)[factor]
                means = means + random.normal(0, math.sqrt(1 - alike), len(factor))
                low, high = t_bounds(means.mean(), means.std(ddof=1) / math.sqrt(len(means)), len(means) - 1)
                alone += low <= 0 <= high
                units = by_factor(places, where, means)
                low, high = t_bounds(units.mean or 0.0, (units.sd or 0.0) / math.sqrt(units.n), units.n - 1)
                together += low <= 0 <= high
            rows.append((alike, factors, each, share(alone, times), share(together, times)))
    show(
        f"EmotionBench, an emotion's mean change: how often the interval holds, {times} subjects a row",
        ("likeness within a factor (ICC)", "factors", "situations a factor", "situations as units", "factors as units"),
        rows,
    )


def evoked(times: int) -> None:
    """People with one situation each, who differ as those of the published study: changes of all, of an emotion with
    its six factors and of a factor with its three situations. A factor stays, the others are drawn anew each time."""
    from itertools import product

    from eqlab.analysis.intervals import mean_estimate
    from eqlab.benchmarks.emotionbench.measures import MeasurePlace, People
    from eqlab.benchmarks.emotionbench.people import Paired, paired_changes
    from eqlab.benchmarks.emotionbench.study import SD_FACTORS, SD_PEOPLE, SD_SITUATIONS

    between = math.hypot(SD_FACTORS, SD_SITUATIONS)
    cells = (("overall", "Overall", ""), ("emotion", "Anger", ""), ("factor", "Anger", "f0"))
    places = tuple(
        MeasurePlace(emotion, factor, f"f{factor}", f"{emotion}-{factor}-{number}")
        for emotion, factor, number in product(("Anger", "Fear", "Guilt", "Jealousy"), range(6), range(3))
    )
    rows = Rows()
    for alike in (0.0, 0.3):
        for each in (1, 3, 9):
            random = np.random.default_rng(each)
            where = np.repeat(np.arange(len(places)), each)
            who, zero = np.arange(len(where)), np.zeros(len(where))
            plain, held = 0, [0, 0, 0]
            for _ in range(times):
                factor = random.normal(0, between * math.sqrt(alike), len(places) // 3)
                place = np.repeat(factor, 3) + random.normal(0, between * math.sqrt(1 - alike), len(places))
                change = 5 + place[where] + random.normal(0, SD_PEOPLE, len(where))
                people = People(places, where, {"m": zero}, {"m": change})
                found = {one.key: one.change for one in paired_changes(Paired(people, who, len(who), len(who), 0, 0))}
                alone = mean_estimate("m", change.tolist())
                plain += _holds(alone, 5)
                for at, (cell, truth) in enumerate(zip(cells, (5, 5, 5 + factor[0]), strict=True)):
                    held[at] += _holds(found["m", *cell], truth)
            rows.append((alike, each, share(plain, times), *(share(own, times) for own in held)))
    show(
        f"Evoked studies, mean changes: how often the interval holds, {times} studies a row",
        ("likeness within a factor (ICC)", "people a situation", "all, people alone (before)", "all", "an emotion",
         "a factor"),
        rows,
    )  # fmt: skip


def _holds(found: Any, truth: float) -> bool:
    return found.low is not None and bool(found.low <= truth <= found.high)


def steps(times: int) -> None:
    """Versions of equal skill one after the other (`view`, trend): how often some step is called clear."""
    from types import SimpleNamespace
    from typing import Any, cast

    from eqlab.comparison.contender import contender
    from eqlab.comparison.verdict import rank
    from eqlab.view.trend import _changes

    table, _ = published()
    rows = Rows()
    for versions in (2, 4, 8):
        for n in (20, 60, 171):
            random = np.random.default_rng(n)
            said = 0
            for _ in range(times):
                chosen = random.integers(0, table.shape[1], n)
                results = [
                    _result(table[k][chosen] - table[k].mean() + 70) for k in random.choice(30, versions, replace=False)
                ]
                verdict = rank([contender(f"v{k}", result) for k, result in enumerate(results)])
                own = [
                    SimpleNamespace(name=f"v{k}", result=result, record=SimpleNamespace(config=SimpleNamespace(id=k)))
                    for k, result in enumerate(results)
                ]
                group = SimpleNamespace(verdicts=(("", verdict),))
                said += any(words in ("better", "worse") for *_, words in _changes(cast(Any, group), cast(Any, own)))
            rows.append((versions, n, share(said, times)))
    show(
        f"Versions of equal skill: some step is called clear, {times} rows of versions each (should be ≤ .05)",
        ("versions", "questions", "said"),
        rows,
    )


def memories(times: int) -> None:
    """A model that remembers nothing and goes on with the topic: replies share words, or names of three words, with
    the second half because both are about what the first half said. How often that is called more than chance."""
    from eqlab.analysis.memorisation import probed

    rows = Rows()
    common = [f"w{k}" for k in range(400)]
    weights = 1 / np.arange(1, 401)
    weights /= weights.sum()
    for length in (1, 3):
        for texts in (20, 60):
            for topical in (0.0, 0.2, 0.4):
                random = np.random.default_rng(texts)

                def written(
                    names: Sequence[str], random: Random = random, topical: float = topical, length: int = length
                ) -> list[str]:
                    plain = random.choice(common, 40, p=weights)
                    is_topic = random.random(40) < (topical / length if names else 0)
                    return [
                        str(random.choice(names) if own else word) for own, word in zip(is_topic, plain, strict=True)
                    ]

                said = 0
                for _ in range(times):
                    replies, parts = {}, {}
                    for k in range(texts):
                        about = [" ".join(f"t{k}x{n}y{part}" for part in range(length)) for n in range(12 // length)]
                        first = written(about)
                        told = sorted(set(first) & set(about))
                        replies[str(k)] = " ".join(written(told))
                        parts[str(k)] = (" ".join(first), " ".join(written(told)))
                    found = probed(replies, parts)
                    said += found.p is not None and found.p < 0.01
                rows.append((texts, length, f"{topical:.0%}", share(said, times)))
    show(
        f"Texts nobody remembers, {times} probes a row: 'more than chance explains' (should be ≤ .01)",
        ("texts", "words a name", "words about the text's topic", "said"),
        rows,
    )


def universes(times: int) -> None:
    """Two arms alike, rated by raters with levels of their own; rules leave out raters: how often a gap is found."""
    from eqlab.analysis.multiverse import multiverse

    rows = Rows()
    for raters in (20, 60, 200):
        random = np.random.default_rng(raters)
        held = some = total = 0
        for _ in range(times):
            rater = np.repeat(np.arange(2 * raters), 10)
            good = random.normal(0, 0.8, 2 * raters)[rater] + random.logistic(0, 1, len(rater)) > 0
            slow = random.random(2 * raters) < 0.1
            rules = {"hasty": slow[rater], "careless": (random.random(2 * raters) < 0.15)[rater]}
            every = multiverse(good.astype(float), rater < raters, rater, rules)
            found = [one.low is not None and one.high is not None and not one.low <= 0 <= one.high for one in every]
            held += len(found) - sum(found)
            total += len(found)
            some += any(found)
        rows.append((raters, share(held, total), share(some, times)))
    show(
        f"Two arms alike under every set of two rules: how often intervals hold 0, {times} studies a row",
        ("raters an arm", "an interval holds 0", "some set of rules finds a gap (not claimed)"),
        rows,
    )


REST: Mapping[str, tuple[Callable[[int], None], int]] = {
    "reliability": (reliability, 400),
    "situations": (situations, 1000),
    "floors": (floors, 400),
    "percentiles": (percentiles, 1000),
    "needed": (needed, 400),
    "partials": (partials, 600),
    "lengths": (lengths, 400),
    "drifts": (drifts, 400),
    "scales": (scales, 200),
    "emotions": (emotions, 2000),
    "evoked": (evoked, 1000),
    "steps": (steps, 400),
    "memories": (memories, 200),
    "universes": (universes, 1000),
}
