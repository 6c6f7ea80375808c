"""Simulations of sentences that somebody would like to be false: gates, refusals; for claims.py. The worlds are made of
the 54 × 137 published EQ-Bench answers that every model gave: items are as skewed and models as alike as they are."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from claims_tables import Rows, share, show

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


@cache
def published() -> tuple[Floats, Floats]:
    """Models × questions, best model first: points, and the points of the worst answer that each form allows."""
    from eqlab.comparison.entries import entries
    from eqlab.comparison.sources import read_sources

    own, _ = entries(read_sources(["published"], store="", data=None, benchmarks=(), subject=""))
    items = sorted(set.intersection(*(set(entry.means) for entry in own)))
    worst = {item.item: item.worst for item in own[0].result.items}
    table = np.array([[entry.means[item] for item in items] for entry in own])
    return table[np.argsort(-table.mean(axis=1))], np.array([worst[item] for item in items], dtype=float)


def _result(points: Floats, worst: Floats | None = None, title: str = "world", refused: Sequence[int] = ()) -> Any:
    """A result with these points; NaN or `refused`: no answer."""
    from eqlab.analysis.intervals import mean_estimate
    from eqlab.core.results import ItemScore, Result

    lost = set(refused)
    items = tuple(
        ItemScore(
            str(k), str(k), 0, "refused" if k in lost else "ok", None, points=None if k in lost else float(value),
            worst=None if worst is None else float(worst[k]),
        )
        for k, value in enumerate(points)
    )  # fmt: skip
    left = [item.points for item in items if item.points is not None]
    return Result(title, title, "model:m", {}, "", mean_estimate("score", left), (0.0, 100.0), items=items)


def _entries(results: Sequence[Any]) -> list[Any]:
    from eqlab.comparison.entries import EntrySource, entries

    return entries([EntrySource(one, "run", "set") for one in results])[0]


def _gate(candidate: Sequence[Floats], baseline: Sequence[Floats], margin: float | None = None) -> Any:
    from eqlab.comparison.gate import gate as judge

    def own(points: Sequence[Floats]) -> list[Any]:
        return _entries([_result(one, title=f"b{k}") for k, one in enumerate(points)])

    return judge(own(candidate), own(baseline), margin, ("new", "old"))


def _changed(random: Random, n: int, part: float, loss: float = 0.0) -> tuple[Floats, Floats]:
    """(candidate, baseline) on n questions drawn again from the published ones. The candidate is the baseline but for a
    part of its answers, which are another model's; on the whole it loses `loss` points, wherever it changed."""
    table, _ = published()
    one, other = random.choice(30, 2, replace=False)
    shift = (table[other] - table[one]).mean()
    chosen = random.integers(0, table.shape[1], n)
    base = table[one][chosen]
    new = np.where(random.random(n) < part, table[other][chosen] - shift - loss / part, base)
    return np.asarray(new), np.asarray(base)


def _wrecked(random: Random, n: int, part: float, size: float) -> tuple[Floats, Floats]:
    """The candidate loses `size` points on a part of its answers and is the same on all others."""
    table, _ = published()
    base = table[random.integers(30)][random.integers(0, table.shape[1], n)]
    return np.where(random.random(n) < part, base - size, base), base


def gate_alarms(times: int) -> None:
    rows = Rows()
    for count in (1, 3):
        for part in (0.05, 0.1, 0.3, 1.0):
            for n in (20, 60, 171):
                random = np.random.default_rng(n)
                worse = 0
                for _ in range(times):
                    both = [_changed(random, n, part) for _ in range(count)]
                    worse += bool(_gate([new for new, _ in both], [old for _, old in both]).worse)
                rows.append((count, f"{part:.0%}", n, share(worse, times)))
    show(
        f"The gate says 'worse' of a candidate that is no worse, {times} gates a row (should be ≤ .025)",
        ("benchmarks", "answers changed", "questions", "worse"),
        rows,
    )


def gate_losses(times: int) -> None:
    """Losses as large as the margin must not pass as `no worse`."""
    rows = Rows()
    losses: dict[str, Callable[[Random, int], tuple[Floats, Floats]]] = {
        "2 % lose 100 points": lambda r, n: _wrecked(r, n, 0.02, 100.0),
        "5 % lose 40": lambda r, n: _wrecked(r, n, 0.05, 40.0),
        "10 % lose 20": lambda r, n: _wrecked(r, n, 0.1, 20.0),
        "a fifth is another model's": lambda r, n: _changed(r, n, 0.2, 2.0),
        "all are another model's": lambda r, n: _changed(r, n, 1.0, 2.0),
    }
    outcomes = ("no worse", "the same", "cannot say", "worse")
    for name, make in losses.items():
        for n in (60, 171, 600):
            random = np.random.default_rng(n)
            found = [_gate([a], [b]).outcome for a, b in (make(random, n) for _ in range(times))]
            rows.append((name, n, *(share(found.count(word), times) for word in outcomes)))
    show(
        f"A true loss of 2 points, as large as the margin: what the gate says, {times} gates a row ('no worse' ≤ .05)",
        ("the loss", "questions", *outcomes),
        rows,
    )


def gate_misses(times: int) -> None:
    """The miss rate that the gate states of itself; and seven answers of sixty."""
    rows = Rows()
    for name, part in (("a fifth is another model's", 0.2), ("all are another model's", 1.0)):
        for n in (60, 171):
            random = np.random.default_rng(n)
            found = [_gate([a], [b]) for a, b in (_changed(random, n, part, 5.0) for _ in range(times))]
            said = [one.checks[0].missed for one in found if one.checks[0].missed is not None]
            seen = sum(not one.worse for one in found)
            rows.append((name, n, f"{np.mean(said):.3f}", share(seen, times)))
    for n in (60, 171):
        random = np.random.default_rng(n)
        table, _ = published()
        missed = 0
        for _ in range(times):
            base = table[random.integers(30)][random.integers(0, table.shape[1], n)]
            worth = base.mean()
            missed += not _gate([np.where(random.random(n) < 5 / worth, base - worth, base)], [base]).worse
        still = _gate([table[0][:n]], [table[0][:n]]) if n <= table.shape[1] else None
        rows.append(
            ("answers lost altogether", n, f"{still.checks[0].missed:.3f}" if still else "–", share(missed, times))
        )
    show(
        f"A true loss of 5 points: how often the gate says it misses it, and does, {times} gates a row",
        ("the loss", "questions", "said (mean)", "missed"),
        rows,
    )
    random = np.random.default_rng(7)
    caught = right = 0
    for _ in range(times):
        _, base = _wrecked(random, 60, 0.0, 0.0)
        wrong = base.copy()
        wrong[random.choice(60, 7, replace=False)] -= 150
        caught += bool(_gate([wrong], [base]).worse)
        hits = np.where(random.random(60) < 0.9, 100.0, 0.0)
        less = hits.copy()
        less[random.choice(np.flatnonzero(hits), 7, replace=False)] = 0.0
        right += bool(_gate([less], [hits]).worse)
    show(
        f"Seven of sixty answers wrecked: how often the gate fails it, {times} gates a row",
        ("items", "fails"),
        [("EQ-Bench's", share(caught, times)), ("right and wrong", share(right, times))],
    )


def refusals(times: int) -> None:
    """Two of equal skill on 60 questions; one refuses its worst. Who is called better, and what sorts the table?"""
    from eqlab.comparison.contender import contender
    from eqlab.comparison.verdict import pair, rank

    table, floor = published()
    rows = Rows()
    for refused in (0, 1, 3, 5, 10):
        random = np.random.default_rng(refused)
        plain = better = above = first = 0
        gain = []
        for _ in range(times):
            one, other = random.choice(30, 2, replace=False)
            chosen = random.integers(0, table.shape[1], 60)
            mine = table[one][chosen]
            theirs = table[other][chosen] - (table[other] - table[one]).mean()  # of equal skill over all questions
            worst = floor[chosen]
            lost = np.argsort(mine)[:refused].tolist()
            me = contender("m", _result(mine, worst, refused=lost))
            you = contender("n", _result(theirs, worst))
            found = pair(me, you)
            plain += (found.better or found.leads) is me  # on what was answered alone, as 0.2 said it
            better += found.better is me
            honest = contender("h", _result(mine, worst))
            gain.append((me.score.value or 0.0) - (honest.score.value or 0.0))
            above += (me.certain or 0.0) > (honest.certain or 0.0)
            first += rank([me, you]).standings[0].contender is me
        rows.append(
            (refused, f"{np.mean(gain):+.2f}", share(plain, times), share(better, times), share(above, times),
             share(first, times))
        )  # fmt: skip
    show(
        f"Equal skill, 60 questions, one refuses its worst: {times} pairs a row (better: should be ≤ .025)",
        ("refused", "published score", "better, on what was answered", "is better", "the sorting score rises",
         "stands first of the two"),
        rows,
    )  # fmt: skip
    rows = Rows()
    for refused in (0, 3, 10):
        random = np.random.default_rng(refused)
        wrong = alone = 0
        for _ in range(times // 4):
            chosen = random.integers(0, table.shape[1], 60)
            level = table[:30].mean()
            points = [table[k][chosen] - table[k].mean() + level for k in random.choice(30, 12, replace=False)]
            lost = np.argsort(points[0])[:refused].tolist()
            every = [
                contender(f"m{k}", _result(own, floor[chosen], refused=lost if k == 0 else ()))
                for k, own in enumerate(points)
            ]
            ranked = rank(every)
            wrong += (ranked.of("m0").rank or (1, 12))[1] < 12
            alone += ranked.first == (every[0],)
        rows.append((refused, share(wrong, times // 4), share(alone, times // 4)))
    show(
        f"Twelve of equal skill, one refuses its worst: {times // 4} tables a row (should be ≤ .05)",
        ("refused", "its range leaves out the last rank", "it alone may be first"),
        rows,
    )


def after(times: int) -> None:
    """Twelve of equal skill: how often the first sentence says of some that they come after others."""
    from eqlab.comparison.contender import contender
    from eqlab.comparison.verdict import rank

    table, _ = published()
    rows = Rows()
    for n in (20, 60, 171):
        random = np.random.default_rng(n)
        said = before = 0
        for _ in range(times):
            chosen = random.integers(0, table.shape[1], n)
            who = random.choice(30, 12, replace=False)
            every = [contender(f"m{k}", _result(table[k][chosen] - table[k].mean() + 70)) for k in who]
            found = rank(every)
            first = {one.name for one in found.first}
            before += len(first) < 12
            said += any(a in first and b not in first for a, b in found.jointly_apart)
        rows.append((n, share(before, times), share(said, times)))
    show(
        f"Twelve of equal skill: some are said to come after others, {times} tables a row (should be ≤ .05)",
        ("questions", "each range by itself (0.2)", "all at once"),
        rows,
    )


def equivalents(times: int) -> None:
    """Two that differ by the margin itself, as published answers do: how often they are called equivalent."""
    from eqlab.comparison.compare import alike_pair
    from eqlab.comparison.verdict import pair

    rows = Rows()
    for part in (0.2, 1.0):
        for n in (60, 171, 600):
            for loss in (2.0, 0.0):
                random = np.random.default_rng(n)
                said = 0
                for _ in range(times):
                    own = _entries([_result(one) for one in _changed(random, n, part, loss)])
                    found = pair(own[0].contender, own[1].contender)
                    said += alike_pair(found, 2.0).outcome == "equivalent"
                rows.append((f"{100 * part:.0f}%", n, loss, share(said, times)))
    show(
        f"Equivalent within ±2 points, {times} pairs a row",
        ("answers that are another model's", "questions", "true difference", "equivalent"),
        rows,
    )


VERDICTS: dict[str, tuple[Callable[[int], None], int]] = {
    "gate_alarms": (gate_alarms, 2000),
    "gate_losses": (gate_losses, 1000),
    "gate_misses": (gate_misses, 1000),
    "refusals": (refusals, 2000),
    "after": (after, 1000),
    "equivalents": (equivalents, 400),
}
