"""Simulations of what judges' sentences claim, for claims.py: panels, favour for one's own, preferences in pairs."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from claims_tables import Rows, share, show

Random = np.random.Generator


def _panel(random: Random, arms: int, prompts: int, judges: int, taste: float, *, good: float = 0.0) -> Any:
    """Ratings from 1 to 3 by judges who differ in severity (SD .4) and in taste for an arm; replies differ by .6 and
    judges see that with an error of .5. The arms do not differ, but for the first one, by `good`."""
    from eqlab.analysis.panel import PanelRatings

    level = 2 + random.normal(0, 0.6, (prompts, arms, 1)) + random.normal(0, 0.4, (prompts, 1, 1))
    level[:, 0] += good
    own = random.normal(0, 0.4, judges) + random.normal(0, taste, (arms, judges))
    rated = np.clip(np.round(level + own + random.normal(0, 0.5, (prompts, arms, judges))), 1, 3)
    prompt, arm = (one.ravel().tolist() for one in np.indices((prompts, arms)))
    return PanelRatings(
        rated.reshape(-1, judges), [f"p{one}" for one in prompt], [f"a{one}" for one in arm],
        [f"j{one}" for one in range(judges)],
    )  # fmt: skip


def _by_prompts_alone(pooled: Any) -> list[bool]:
    """0.2: each pair's t interval over prompts, the judges taken as given."""
    from eqlab.analysis.intervals import mean_bounds

    found = []
    for one, other in combinations(range(len(pooled.table)), 2):
        low, high = mean_bounds((pooled.table[one] - pooled.table[other]).tolist()) or (-1.0, 1.0)
        found.append(low > 0 or high < 0)
    return found


def panels(times: int) -> None:
    from eqlab.analysis.panel import differences, pool

    rows = Rows()
    for arms, judges in ((4, 2), (4, 3), (4, 5), (2, 2), (2, 3)):
        for taste in (0.0, 0.1, 0.25, 0.5):
            random = np.random.default_rng(judges)
            before = after = seen = held = 0
            for _ in range(times):
                world = _panel(random, arms, 60, judges, taste)
                pooled = pool(world)
                before += any(_by_prompts_alone(pooled))
                gaps = differences(world, pooled)
                after += bool(gaps.apart.any())
                gap = gaps.estimate(1, 0)
                held += gap.low is not None and gap.high is not None and gap.low <= 0 <= gap.high
                better = _panel(random, arms, 60, judges, taste, good=0.6)
                seen += bool(differences(better, pool(better)).apart[0].any())
            rows.append((arms, judges, taste, share(before, times), share(after, times), share(held, times),
                         share(seen, times)))  # fmt: skip
    show(
        f"Arms that do not differ, 60 prompts: a panel's 'is rated better' of some (should be ≤ .05), {times} a row",
        ("arms", "judges", "SD of tastes", "prompts alone (0.2)", "said", "one pair's interval holds 0",
         "one arm better by .6: said of some pair"),
        rows,
    )  # fmt: skip


def selves(times: int) -> None:
    """Judges with tastes and without any favour for their own, each of whom wrote one of the arms."""
    from eqlab.analysis.intervals import mean_estimate
    from eqlab.analysis.panel import PanelRatings, pool, preferences

    def before(world: Any, judge: int) -> bool:
        """0.2: over prompts alone, (rating − mean of the others) on own replies minus the same on the rest."""
        severity = np.array([one.value for one in pool(world).severity])
        rated = (world.values - severity).reshape(60, -1, len(world.judges))
        gap = rated[:, :, judge] - np.delete(rated, judge, axis=2).mean(axis=2)
        one = mean_estimate("", (gap[:, judge] - np.delete(gap, judge, axis=1).mean(axis=1)).tolist())
        return one.low is not None and one.high is not None and (one.low > 0 or one.high < 0)

    rows = Rows()
    for arms, judges in ((3, 3), (5, 3), (5, 5)):
        for taste in (0.0, 0.1, 0.25):
            random = np.random.default_rng(judges)
            single = some = found = 0
            for _ in range(times):
                world = _panel(random, arms, 60, judges, taste)
                own = {f"j{k}": f"a{k}" for k in range(judges)}
                own_families = ({f"j{k}": f"f{k}" for k in range(judges)}, {f"a{k}": f"f{k}" for k in range(judges)})
                single += any(before(world, judge) for judge in range(judges))
                some += any(_flagged(one.estimate) for one in preferences(world, *own_families, own))
                values = world.values.copy()
                mine = np.array([name == "a0" for name in world.subjects])
                values[mine, 0] += 1.0
                more = PanelRatings(values, world.prompts, world.subjects, world.judges)
                found += _flagged(preferences(more, *own_families, own)[0].estimate)
            rows.append((arms, judges, taste, share(single, times), share(some, times), share(found, times)))
    show(
        f"No judge favours its own: some preference is flagged (should be ≤ .05), {times} panels a row",
        ("arms", "judges, each with an arm", "SD of tastes", "prompts alone (0.2)", "flagged", "favour of 1 is found"),
        rows,
    )


def _flagged(one: Any) -> bool:
    return one.low is not None and one.high is not None and (one.low > 0 or one.high < 0)


def worths(times: int) -> None:
    """Three judges, 96 prompts, two arms, and people who differ in severity (SD .4) and err by .6, as the judges do:
    the effective number of judges by errors against people."""
    from eqlab.analysis.panel import PanelRatings, effective_judges

    prompt, arm = (one.ravel() for one in np.indices((96, 2)))
    names = [f"p{one}" for one in prompt], [f"a{one}" for one in arm], ["x", "y", "z"]
    rows = Rows()
    for shared in (0.0, 0.5):
        expected = 3 / (1 + 2 * shared)
        for crowd, raters in ((60, 1), (60, 2), (60, 3), (60, 10), (1000, 1000), (3, 3)):
            random = np.random.default_rng(raters)
            before, after, told, held = [], [], 0, 0
            for _ in range(times):
                level = random.normal(0, 0.5, 96)[prompt] + 0.3 * arm + random.normal(0, 0.4, len(prompt))
                errors = np.sqrt(shared) * random.normal(0, 0.6, (len(prompt), 1))
                errors = errors + np.sqrt(1 - shared) * random.normal(0, 0.6, (len(prompt), 3))
                world = PanelRatings(level[:, None] + errors, *names)
                people = level[:, None] + random.normal(0, 0.4, crowd) + random.normal(0, 0.6, (len(prompt), crowd))
                people[random.random(people.shape).argsort(axis=1) >= raters] = np.nan
                mean = np.nanmean(people, axis=1)
                before.append(effective_judges(world, np.column_stack([mean, mean]), draws=1).value or 0.0)
                one = effective_judges(world, people, draws=1000)
                if one.value is not None and one.low is not None and one.high is not None:
                    after.append(one.value)
                    told += 1
                    held += one.low <= expected <= one.high
            rows.append((expected, raters, crowd, f"{np.mean(before):.2f}", f"{np.mean(after):.2f}" if told else "–",
                         share(held, told) if told else "– (told without people)"))  # fmt: skip
    show(
        f"The effective number of three judges, by errors against people, {times} panels a row",
        ("true", "people a reply", "of", "their noise as shared error (before)", "told", "held"),
        rows,
    )


def duels(times: int) -> None:
    """One judge, two arms that are equally good, both orders; how often it 'prefers' one."""
    from eqlab.analysis.bootstrap import interval
    from eqlab.benchmarks.rating.pairs import Duel, _even_p

    rows = Rows()
    for prompts in (5, 8, 12, 40):
        for ties in (0.2, 0.6):
            random = np.random.default_rng(prompts)
            before = after = 0
            for _ in range(times):
                own = random.normal(0, 1, prompts)
                seen = [(_points(random, level + 0.3, ties), _points(random, level - 0.3, ties)) for level in own]
                met = [Duel(str(k), one) for k, one in enumerate(seen)]
                drawn = interval(
                    [np.array([[one.mean, 1.0] for one in met])], lambda t: 100 * t[0][..., 0] / t[0][..., 1]
                )
                before += drawn.low is not None and drawn.high is not None and (drawn.low > 50 or drawn.high < 50)
                p = _even_p(met)
                after += p is not None and p < 0.05
            rows.append((prompts, f"{ties:.0%}", share(before, times), share(after, times)))
    show(
        f"One judge, two equal arms in both orders: 'prefers' (should be ≤ .05), {times} runs a row",
        ("prompts", "ties, about", "percentile bootstrap (0.2)", "the verdict's test"),
        rows,
    )


def _points(random: Random, level: float, ties: float) -> float:
    return 0.5 if random.random() < ties else float(random.random() < 1 / (1 + np.exp(-level)))


JUDGES: dict[str, tuple[Callable[[int], None], int]] = {
    "panels": (panels, 1000),
    "selves": (selves, 1000),
    "worths": (worths, 400),
    "duels": (duels, 2000),
}
