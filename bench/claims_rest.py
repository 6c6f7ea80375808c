"""Simulations of the sentences that stand beside a verdict, for claims.py: reliability, situations in factors, no-skill
baselines, where among people, items needed, what a third score leaves, equal length, another judge."""

import math
from collections.abc import Callable, Mapping

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
}
