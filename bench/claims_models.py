"""Simulations of what models of ratings, calibrations and plans say, for claims.py: tests of several terms at once,
arms that are alike, a judge among experts, what a judge distorts, and the power that a study is told before it
begins."""

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
from claims_tables import Rows, share, show

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


def _ratings(
    random: Random, prompts: int, per_reply: int, each: int, *, arms: int = 3, reply: float = 0.4, gap: float = 0.0
) -> list[Any]:
    """Bad, Okay, Good by raters who see one arm, as in the published study; the last arm is better by `gap`."""
    from eqlab.benchmarks.rating.rated import GivenRating

    made: list[Any] = []
    count, level = 0, random.normal(0, 0.325, prompts)
    for arm in range(arms):
        own = random.normal(0, reply, prompts) + (gap if arm == arms - 1 else 0.0)
        seen = np.concatenate([random.permutation(prompts) for _ in range(per_reply)]).tolist()
        for start in range(0, len(seen), each):
            mild = random.normal(0, 0.642)
            for prompt in seen[start : start + each]:
                latent = level[prompt] + own[prompt] + mild + random.logistic()
                value = 1 + (latent > -1.2) + (latent > 0.3)
                made.append(GivenRating(f"a{arm}", f"p{prompt}", f"r{count}", int(value), "", "", 30))
            count += 1
    return made


DESIGNS = {"24 raters an arm × 5, 20 prompts": (20, 6, 5, 1), "60 raters an arm × 10, 60 prompts": (60, 10, 10, 2)}
"""(prompts, raters a reply, ratings a rater, by how much fewer studies are simulated)."""


def _p(words: str) -> float:
    found = re.search(r"p = ([\d.e+-]*\d)", words)
    return float(found[1]) if found else math.nan


def ratios(times: int) -> None:
    """Three arms that do not differ and raters whose score says nothing: tests of several terms at once, by what is
    printed of them."""
    from eqlab.benchmarks.rating.people import _fit_moderated, _omnibus, fit_crossed, proportional

    rows = Rows()
    arms = ("a0", "a1", "a2")
    for name, (prompts, per_reply, each, fewer) in DESIGNS.items():
        for reply in (0.0, 0.8):
            random = np.random.default_rng([prompts, int(10 * reply)])
            found: list[list[float]] = []
            for _ in range(times // fewer):
                ratings = _ratings(random, prompts, per_reply, each, reply=reply)
                decision, _ = fit_crossed(ratings, arms)
                if decision is None:
                    continue
                scores = {rating.rater: float(random.normal()) for rating in ratings}
                said = (_omnibus(decision), proportional(decision.fit, ratings, arms),
                        _fit_moderated(ratings, arms[1:], scores)[1])  # fmt: skip
                found.append([_p(said[0]), 0.0 if "does not hold" in said[1] else 1.0, _p(said[2])])
            table = np.array(found)
            shares = (share(int((own < 0.05).sum()), int(np.isfinite(own).sum())) for own in table.T)
            rows.append((name, reply, *shares))
    show(
        f"Three arms that do not differ: how often they are said to (should be ≤ .05), {times} studies a row",
        ("study", "SD of replies (log-odds)", "all alike", "one odds ratio does not hold", "no relation at all"),
        rows,
    )


def arms_alike(times: int) -> None:
    """Two arms as far apart as the margin itself: how often they are called alike; and two that are alike."""
    from eqlab.benchmarks.rating.people import MARGIN, equivalence, fit_crossed

    rows = Rows()
    for name, (prompts, per_reply, each, fewer) in DESIGNS.items():
        for reply in (0.0, 0.8):
            shares = []
            for gap in (math.log(MARGIN), 0.0):
                random = np.random.default_rng([prompts, int(10 * reply)])
                said = done = 0
                for _ in range(times // fewer):
                    ratings = _ratings(random, prompts, per_reply, each, arms=2, reply=reply, gap=gap)
                    decision, _ = fit_crossed(ratings, ("a0", "a1"))
                    if decision is not None:
                        done += 1
                        said += equivalence(decision).rows[0][-1] == "yes"
                shares.append(share(said, done))
            rows.append((name, reply, *shares))
    show(
        f"'Are they alike?', {times} studies a row, a fifth of the large ones (at the margin should be ≤ .05)",
        ("study", "SD of replies (log-odds)", "yes, of arms that differ by the margin", "yes, of arms that are alike"),
        rows,
    )


def _judged(random: Random, arms: int, prompts: int, per_reply: int, each: int, *, likes: float = 0.0) -> list[Any]:
    """A judge that errs as much as a person does, once a reply; people have levels of their own, and each sees one
    arm. All like length alike."""
    from eqlab.benchmarks.rating.calibration import RatingPair

    made = []
    count = 0
    for arm in range(arms):
        words = np.round(np.exp(random.normal(4, 0.5, prompts))).astype(int)
        good = random.normal(0.5, 0.6, prompts) + likes * (np.log2(words) - 4 / math.log(2))
        judge = _in_three(good + random.normal(0, math.hypot(0.642, 1.2), prompts))
        seen = np.concatenate([random.permutation(prompts) for _ in range(per_reply)])
        for start in range(0, len(seen), each):
            mild = random.normal(0, 0.642)
            own = seen[start : start + each]
            rated = _in_three(good[own] + mild + random.normal(0, 1.2, len(own)))
            made += [
                RatingPair(f"a{arm}", f"r{count}", int(judge[k]), int(value), int(words[k]), f"p{k}")
                for k, value in zip(own.tolist(), rated.tolist(), strict=True)
            ]
            count += 1
    return made


def ceilings(times: int) -> None:
    """What two people reach: how often its interval holds, for people with levels of their own and replies that
    differ."""
    from types import SimpleNamespace
    from typing import cast

    from eqlab.benchmarks.rating.calibration import two_people
    from eqlab.benchmarks.rating.trials import RATING

    def replies(random: Random, prompts: int, people: int) -> list[Any]:
        """Two arms, each reply seen by `people` of a pool in which everybody rates ten."""
        mild = random.normal(0, 0.5, max(people, prompts * 2 * people // 10))
        made = []
        for prompt in range(prompts):
            for _ in range(2):
                who = random.choice(len(mild), people, replace=False)
                rated = _in_three(random.normal(0.3, 0.8) + mild[who] + random.normal(0, 1, people))
                given = [(str(k), int(value)) for k, value in zip(who, rated, strict=True)]
                made.append(
                    SimpleNamespace(arm="a", prompt=str(prompt), repeat=0, people_on=lambda _, given=given: given)
                )
        return made

    rows = Rows()
    for prompts, people in ((20, 2), (20, 5), (60, 3)):
        random = np.random.default_rng([prompts, people])
        truth = two_people(cast(Any, replies(random, 20_000, 2)), RATING)
        held = 0
        for _ in range(times):
            found = two_people(cast(Any, replies(random, prompts, people)), RATING)
            held += bool(found and truth and (found.low or 0) <= (truth.value or 0) <= (found.high or 0))
        rows.append((prompts, people, f"{truth.value if truth else 0:.2f}", share(held, times)))
    show(
        f"What two people reach (quadratic kappa): how often the interval holds it, {times} studies a row",
        ("prompts, two replies each", "people a reply", "true", "held"),
        rows,
    )


def _in_three(latent: Floats) -> npt.NDArray[np.int64]:
    return np.asarray(1 + (latent > -0.7).astype(int) + (latent > 0.5), dtype=np.int64)


def calibrated(times: int) -> None:
    """A judge without any bias: how often its sentence says that it distorts a difference, or likes length otherwise
    than people do."""
    from eqlab.benchmarks.rating.calibration import calibrate, verdict

    rows = Rows()
    for arms, prompts, per_reply, each in ((2, 20, 6, 5), (5, 20, 6, 5), (5, 60, 1, 10), (5, 60, 10, 10)):
        for likes in (0.0, 0.6):
            random = np.random.default_rng(prompts + arms)
            distorts = longer = 0
            for _ in range(times):
                found = calibrate(_judged(random, arms, prompts, per_reply, each, likes=likes), "some judge")
                said = verdict(found) if found else ""
                distorts += "distorts" in said
                longer += "longer replies" in said
            rows.append((f"{arms} arms, {prompts} prompts, {per_reply} people a reply", likes, share(distorts, times),
                         share(longer, times)))  # fmt: skip
    show(
        f"A judge without bias, {times} calibrations a row (should be ≤ .05 each)",
        ("study", "both like twice the length by", "'distorts a difference'", "'likes longer replies'"),
        rows,
    )


def pooled(times: int) -> None:
    """Effects per emotion that borrow from each other: how often their intervals hold the emotion's own effect."""
    from eqlab.benchmarks.rating.people import _pooled_tables
    from eqlab.benchmarks.rating.rated import GivenRating

    rows = Rows()
    for emotions, raters in ((8, 24), (32, 48)):
        random = np.random.default_rng(emotions)
        held = known = 0
        for _ in range(times):
            effect, level = random.normal(0.4, 0.3, emotions), random.normal(0, 0.325, emotions)
            given = []
            for rater in range(2 * raters):
                arm, mild = rater % 2, random.normal(0, 0.642)
                for place in random.choice(emotions, 8, replace=False).tolist():
                    latent = effect[place] * arm + level[place] + mild + random.logistic()
                    value = int(1 + (latent > -1.2) + (latent > 0.3))
                    name = f"e{place}"
                    given.append(GivenRating(f"a{arm}", name, f"r{rater}", value, name, "", 30))
            for table in _pooled_tables(given, "a0", ["a1"]):
                for emotion, estimate in table.rows:
                    own = effect[int(str(emotion)[1:])]
                    known += 1
                    held += estimate.low <= own <= estimate.high  # type: ignore[union-attr]
        rows.append((emotions, raters, share(held, known)))
    show(
        f"Effects per emotion, partially pooled: how often an interval holds the emotion's own, {times} studies a row",
        ("emotions", "raters an arm", "held"),
        rows,
    )


def experts(times: int) -> None:
    """A judge beside three experts who are equally good: as good as they are, and clearly worse."""
    from types import SimpleNamespace
    from typing import cast

    from eqlab.runs.kumar import EXPERTS, JUDGE, Ratings, _among_experts

    rows = Rows()
    scales = ("warmth", "advice", "questions")
    for talks in (25, 50, 100):
        for error in (0.9, 1.3):
            random = np.random.default_rng(talks)
            said = {"Yes": 0, "No": 0, "Cannot say": 0}
            for _ in range(times):
                true = 2.5 + random.normal(0, 1, (3, talks))
                who = {
                    name: np.clip(np.round(true + random.normal(0, own, true.shape)), 0, 5)
                    for name, own in ((JUDGE, error), *((expert, 0.9) for expert in EXPERTS))
                }
                note = _among_experts(cast(Ratings, SimpleNamespace(scales=scales)), who).note
                said[note.partition(":")[0]] += 1
            rows.append((talks, "as experts" if error == 0.9 else "larger", *(share(n, times) for n in said.values())))
    show(
        f"A judge among three equal experts, {times} tables a row ('No' of one as good, 'Yes' of a worse one: ≤ .025)",
        ("talks", "the judge's error", "Yes", "No", "cannot say"),
        rows,
    )


def planned(times: int) -> None:
    """The power that a plan is told, and how often the planned test finds what it says would be found."""
    from types import SimpleNamespace
    from typing import cast

    from scipy.stats import ttest_ind

    from eqlab.analysis.multiplicity import holm
    from eqlab.analysis.two_samples import adjusted_differences
    from eqlab.benchmarks.common.people import first_step
    from eqlab.benchmarks.dialogue.study import SD_PEOPLE as SD_PEOPLE_TALKING
    from eqlab.benchmarks.dialogue.study import found_in_talks
    from eqlab.benchmarks.emotionbench.study import SD_FACTORS, SD_PEOPLE, SD_SITUATIONS, found_by_welch
    from eqlab.study.overview import _power_in_sd

    rows = Rows()
    study = SimpleNamespace(analysis=SimpleNamespace(alpha=0.05))
    for people in (5, 12, 60):
        random = np.random.default_rng(people)
        two = SimpleNamespace(study=study, arms=("a", "b"), sizes={"a": people, "b": people})
        gap = _number(_power_in_sd(cast(Any, two)), "difference of ([0-9.]+)")
        groups = random.normal(0, 1, (2, times, people))
        found = ttest_ind(groups[0] + gap, groups[1], axis=1).pvalue < 0.05
        rows.append((f"{people} people an arm: {gap:.2f} SD", ".80", share(int(found.sum()), times)))
        one = SimpleNamespace(study=study, arms=("a",), sizes={"a": people})
        width = _number(_power_in_sd(cast(Any, one)), "±([0-9.]+)")
        held = np.abs(random.normal(0, 1, (times, people)).mean(axis=1)) <= width
        rows.append((f"{people} people: the mean to within ±{width:.2f} SD", "≥ .95", share(int(held.sum()), times)))
    for ours, theirs, people in ((36, 16, 4), (12, 6, 10), (108, 48, 12)):
        random = np.random.default_rng(ours)
        gap = found_by_welch([[people]] * ours, [[people]] * theirs, 0.05)
        spread = math.hypot(SD_FACTORS, SD_SITUATIONS, SD_PEOPLE / math.sqrt(people))
        first, second = random.normal(gap, spread, (times, ours)), random.normal(0, spread, (times, theirs))
        found = ttest_ind(first, second, axis=1, equal_var=False).pvalue < 0.05
        name = f"{ours} and {theirs} situations of {people} people: {gap:.1f} points"
        rows.append((name, ".80", share(int(found.sum()), times)))
    for people, taste in ((20, 0.0), (20, 0.8), (60, 0.8)):
        random = np.random.default_rng(people)
        odds = (1.959964 + 0.841621) * 2 / math.sqrt(10 * people)
        chance = 1 / (1 + np.exp(-odds - random.normal(0, taste, (times, people))))
        won = random.binomial(10, chance) / 10 - 0.5
        se = won.std(axis=1, ddof=1) / math.sqrt(people)
        found = np.abs(won.mean(axis=1) / se) > 2.0
        name = f"{people} people with 10 choices of a pair, tastes differ by {taste} (log-odds)"
        rows.append((name, "≤ .80", share(int(found.sum()), times)))
    for arms, people in ((2, 4), (2, 12), (2, 30), (3, 30), (4, 30)):
        random = np.random.default_rng(people)
        gap = found_in_talks(people, first_step(0.05, arms)[0])
        names = [f"arm {number}" for number in range(arms) for _ in range(people)]
        moved = gap * np.array([name == "arm 1" for name in names])
        hits, few = 0, times // 4
        for _ in range(few):
            start = random.normal(50, SD_PEOPLE_TALKING, len(names))
            end = 0.5 * start + random.normal(0, SD_PEOPLE_TALKING, len(names)) + moved
            tests = adjusted_differences(end.tolist(), names, start.tolist(), "arm 0")
            hits += (holm([one.p for one in tests])[0] or 0.0) < 0.05
        name = f"talks, {arms} arms of {people} people, one differs: {gap:.0f} points"
        rows.append((name, "about .80", share(hits, few)))
    for raters, prompts in ((8, 8), (10, 10), (24, 20)):
        found, few, gap = _ratings_found(raters, prompts, times // 40)
        name = f"ratings, {raters} raters an arm, {prompts} prompts: {100 * gap:.0f} points"
        rows.append((name, "about .80", share(found, few)))
    show(
        f"The power that a plan is told: said and found, {times} studies a row",
        ("study and effect", "said", "found"),
        rows,
    )


def _ratings_found(raters: int, prompts: int, times: int) -> tuple[int, int, float]:
    """In how many of so many studies the deciding model finds the gap that it is said to find, and the gap."""
    from claims_ratings import PUBLISHED, World, decided, made_study

    from eqlab.analysis.ordinal_likelihood import FitError
    from eqlab.analysis.power import OKAY, SD_REPLY, StudySize, deciding_model

    random, each, baseline = np.random.default_rng(prompts), min(10, prompts), StudySize().baseline
    model = deciding_model(baseline, prompts, each)
    gap = model.minimum_gap(baseline, raters, 0.8)
    if gap is None:
        raise ValueError(f"{raters} raters, {prompts} prompts: nothing is promised")
    world = World(*PUBLISHED, SD_REPLY, (model.threshold - OKAY, model.threshold))
    per_reply, log_odds = max(1, round(each * raters / prompts)), model.log_odds(baseline + gap)
    found = 0
    for _ in range(times):
        with suppress(FitError):  # ratings that fall apart by arm tell nothing
            found += decided(made_study(random, world, prompts, per_reply, each, gap=log_odds)).contrasts[0].p < 0.05
    return found, times, gap


def _number(words: str, pattern: str) -> float:
    found = re.search(pattern, words)
    if found is None:
        raise ValueError(f"{words}: no number")
    return float(found[1])


MODELS: Mapping[str, tuple[Callable[[int], None], int]] = {
    "ratios": (ratios, 200),
    "arms_alike": (arms_alike, 200),
    "calibrated": (calibrated, 1000),
    "ceilings": (ceilings, 400),
    "pooled": (pooled, 60),
    "experts": (experts, 200),
    "planned": (planned, 4000),
}
