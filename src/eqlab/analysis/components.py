"""Where does the spread of scores come from: items, repeats, orders, or chance? Variance components of random factors,
crossed or nested, with gaps allowed; and what more items, repeats, personas, speakers or judges would buy.

Henderson's method I (Henderson 1953; Searle, Casella & McCulloch 1992, ch. 5): sums of squares equal their expected
values. Balanced, this is the analysis of variance; unbalanced it stays unbiased. The decision study divides a term's
variance by how many of its levels a design averages over (generalizability theory: Cronbach, Gleser, Nanda &
Rajaratnam 1972; Brennan 2001)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats, Ints, Labels, codes
from eqlab.analysis.intervals import FEWEST, Z95
from eqlab.analysis.special import fdtrc, fdtri, stdtrit
from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate
from eqlab.core.values import dataclass

RESIDUAL = "residual"


@dataclass(frozen=True, slots=True)
class Components:
    """Variances by factor, the residual last. A negative estimate is kept in `raw` and counts as 0."""

    n: int
    levels: Mapping[str, int]
    raw: Mapping[str, float]

    @property
    def variance(self) -> dict[str, float]:
        return {name: max(0.0, value) for name, value in self.raw.items()}

    @property
    def share(self) -> dict[str, float | None]:
        """Of the total variance of one answer; None if nothing varies."""
        total = sum(self.variance.values())
        return {name: value / total if total > 0 else None for name, value in self.variance.items()}


def components(values: npt.ArrayLike, factors: Mapping[str, Labels]) -> Components | None:
    """Variance components of y = µ + Σ factors + residual. None where the factors cannot be told apart from each other
    or from the residual: no repeats, or each repeat with its own order."""
    y = np.asarray(values, dtype=float)
    n = len(y)
    if n < 3:
        return None
    y = y - y.mean()  # the sums of squares do not change, their rounding does
    names = list(factors)
    numbers = {name: codes(labels) for name, labels in factors.items()}
    sizes = {name: np.bincount(code).astype(float) for name, code in numbers.items()}
    # each row: a sum of squares T, what it expects of each variance, of the residual and of n·µ²
    rows = [[*(float(n) for _ in names), float(n)], [*((sizes[f] ** 2).sum() / n for f in names), 1.0]]
    totals = [float((y**2).sum()), float(y.sum()) ** 2 / n]
    for name in names:
        sums = np.bincount(numbers[name], weights=y)
        totals.append(float((sums**2 / sizes[name]).sum()))
        rows.append(
            [*(_overlap(numbers[name], numbers[other], sizes[name]) for other in names), float(len(sizes[name]))]
        )
    system = np.array(rows)
    reduced = np.delete(system, 1, axis=0) - system[1]
    wanted = np.delete(np.array(totals), 1) - totals[1]
    if np.linalg.matrix_rank(reduced) < len(names) + 1:
        return None
    found = np.linalg.solve(reduced, wanted)
    raw = {name: float(value) for name, value in zip([*names, RESIDUAL], found, strict=True)}
    return Components(n, {name: len(sizes[name]) for name in names}, raw)


def beyond_chance(
    values: npt.ArrayLike, factors: Mapping[str, Labels], doubtful: str, alpha: float = 0.05
) -> tuple[Components | None, float | None]:
    """(components, p of the doubtful factor): the factor is kept only if its F test rejects "no such effect" at α, else
    pooled into the residual. A factor with few levels, such as repeats, is estimated so badly that noise would
    otherwise pass for an effect that no number of items can average out (Searle, Casella & McCulloch 1992, 4.5)."""
    found = components(values, factors)
    if found is None:
        return components(values, {name: labels for name, labels in factors.items() if name != doubtful}), None
    df, rest = found.levels[doubtful] - 1, found.n - 1 - sum(count - 1 for count in found.levels.values())
    error = found.raw[RESIDUAL]
    if rest < 1 or error <= 0:
        return found, None
    p = float(fdtrc(df, rest, max(0.0, 1 + found.n / found.levels[doubtful] * found.raw[doubtful] / error)))
    if p < alpha:
        return found, p
    return components(values, {name: labels for name, labels in factors.items() if name != doubtful}), p


def _overlap(code: Ints, other: Ints, sizes: Floats) -> float:
    """Σ over cells of n_cell² / n_level."""
    both = code.astype(np.int64) * (int(other.max()) + 1) + other
    cells, counts = np.unique(both, return_counts=True)
    return float((counts.astype(float) ** 2 / sizes[cells // (int(other.max()) + 1)]).sum())


def of_matrix(matrix: npt.ArrayLike, rows: str = "item", columns: str = "repeat") -> Components | None:
    """Components of a rows × columns array with NaN where there is no value."""
    table = np.asarray(matrix, dtype=float)
    row, column = np.nonzero(np.isfinite(table))
    if len(set(column.tolist())) < 2:
        return None
    return components(table[row, column], {rows: row, columns: column})


def alpha(matrix: npt.ArrayLike) -> float | None:
    """Reliability of the rows' means over the columns, σ²_row/(σ²_row + σ²_residual/columns): Cronbach's alpha
    (Cronbach 1951; Hoyt 1941) for a full models × items array, its natural extension with gaps."""
    table = np.asarray(matrix, dtype=float)
    found = of_matrix(table, "row", "column") if table.shape[0] > 2 else None
    if found is None:
        return None
    counts = np.isfinite(table).sum(axis=1)
    per_row = float((1 / counts[counts > 0]).mean())  # of rows with gaps the harmonic mean
    total = found.raw["row"] + found.raw[RESIDUAL] * per_row
    return None if total <= 0 else found.raw["row"] / total


@dataclass(frozen=True, slots=True)
class Measurement:
    """How well a table of rows (subjects) × columns (items) tells its rows apart."""

    reliability: Estimate
    """Alpha; `n` counts rows."""
    better_half: Estimate
    """The same among the better half of the rows, where the order is in doubt most."""
    items: int
    errors: tuple[float | None, ...]
    """By row, the standard error of measurement: how far its mean would move against the others with other items."""


def measure(matrix: npt.ArrayLike, splits: int = 20, seed: int = 0) -> Measurement | None:
    """Of the columns that all rows have, rows with fewer than half of the columns left out; None for fewer than five
    rows or columns.

    Reliability is Hoyt's (1941), 1 − MS_residual/MS_rows, which is Cronbach's alpha, with Feldt's (1965) interval:
    (1 − α)/(1 − α̂) follows F. A row's error is Brennan's (1998) conditional one, the spread over items of what is left
    of its points without its own level and the items'. The better half is chosen by one half of the items and judged by
    the other, over random splits: chosen and judged by the same it would look worse than it is. Stepped up to all
    items (Spearman 1910; Brown 1910)."""
    table = np.asarray(matrix, dtype=float)
    if table.ndim != 2 or 0 in table.shape:
        return None
    kept = np.isfinite(table).mean(axis=1) >= 0.5
    columns = np.isfinite(table[kept]).all(axis=0)
    full = table[np.ix_(kept, columns)]
    rows, items = full.shape
    if rows < FEWEST or items < FEWEST:
        return None
    left = full - full.mean(axis=1, keepdims=True) - full.mean(axis=0) + full.mean()
    errors = np.full(len(table), np.nan)
    errors[kept] = np.sqrt((left**2).sum(axis=1) * rows / (rows - 1) / (items - 1) / items)
    random, half = np.random.default_rng(seed), rows // 2
    squares = np.zeros(2)
    for _ in range(splits if half >= FEWEST and items >= 2 * FEWEST else 0):
        order = random.permutation(items)
        for chosen, judged in ((order[::2], order[1::2]), (order[1::2], order[::2])):
            best = np.argsort(-full[:, chosen].mean(axis=1), kind="stable")[:half]
            squares += _mean_squares(full[np.ix_(best, judged)])
    return Measurement(
        _alpha_estimate("reliability", *_mean_squares(full), rows, items),
        _alpha_estimate("reliability, better half", float(squares[0]), float(squares[1]), half, items, True),
        items,
        tuple(float(error) if math.isfinite(error) else None for error in errors),
    )


def _mean_squares(full: Floats) -> tuple[float, float]:
    """Of rows and of the residual."""
    rows, items = full.shape
    left = full - full.mean(axis=1, keepdims=True) - full.mean(axis=0) + full.mean()
    return items * float(full.mean(axis=1).var(ddof=1)), float((left**2).sum()) / (rows - 1) / (items - 1)


def _alpha_estimate(
    name: str, between: float, residual: float, rows: int, items: int, halved: bool = False
) -> Estimate:
    """`halved`: the mean squares are of half of the items and of the upper half of a distribution, whose kurtosis of
    3.87 leaves a variance 2/2.87 of its degrees of freedom."""
    longer = 2.0 if halved else 1.0
    if between <= 0 or residual <= 0:
        return Estimate(name, None, rows)

    def stepped(ratio: float) -> float:
        one = 1 - ratio
        return longer * one / (1 + (longer - 1) * one) if 1 + (longer - 1) * one > 0 else -math.inf

    ratio = residual / between
    inner, outer = (rows - 1) * (2 / 2.87 if halved else 1.0), (rows - 1) * (round(items / longer) - 1)
    ends = ratio * float(fdtri(inner, outer, 0.975)), ratio * float(fdtri(inner, outer, 0.025))
    low, high = (max(-1.0, stepped(end)) for end in ends)
    return Estimate(name, max(-1.0, stepped(ratio)), rows, None, low, high)


@dataclass(frozen=True, slots=True)
class MeasurementDesign:
    """Standard error of a score that a number of items, each asked a number of times, would have."""

    items: int
    repeats: int
    se: float


def designs(
    found: Components, items: int, *, times: Sequence[int] = (1, 2, 4), repeats: Sequence[int] = (1, 2, 5)
) -> list[MeasurementDesign]:
    """√(σ²_item/I + σ²_repeat/R + (σ²_order + σ²_residual)/(I·R)): a generalizability study's decision table
    (Cronbach et al. 1972; Brennan 2001)."""
    variance = found.variance
    within = variance[RESIDUAL] + variance.get("order", 0.0)
    return [
        MeasurementDesign(
            items * factor,
            count,
            math.sqrt(
                variance.get("item", 0.0) / (items * factor)
                + variance.get("repeat", 0.0) / count
                + within / (items * factor * count)
            ),
        )
        for factor in times
        for count in repeats
    ]


def difference_designs(
    spread: float,
    sides: Sequence[tuple[Components, float]],
    items: int,
    *,
    times: Sequence[int] = (1, 2, 4),
    repeats: Sequence[int] = (1, 2, 5),
) -> list[MeasurementDesign]:
    """The same for a difference between two subjects on the same items. `spread`: standard deviation over items of the
    differences of item means; `sides`: each subject's components and how often it was asked. What chance does not
    explain of the spread is that the two find different items hard; only more items help against that."""
    noise = [found.variance[RESIDUAL] + found.variance.get("order", 0.0) for found, _ in sides]
    asked = sum(one / count for one, (_, count) in zip(noise, sides, strict=True))
    real = max(0.0, spread**2 - asked)
    drift = sum(found.variance.get("repeat", 0.0) for found, _ in sides)
    return [
        MeasurementDesign(
            items * factor, count, math.sqrt((real + sum(noise) / count) / (items * factor) + drift / count)
        )
        for factor in times
        for count in repeats
    ]


# error of a score, and of a difference between two subjects, that a planned design would have.
@dataclass(frozen=True, slots=True)
class PlannedPrecision:
    """A design and the error it would have."""

    sizes: Mapping[str, int]
    se: float
    df: float
    half_width: float
    """Of the 95 % interval."""
    dominant: str
    """The term that causes most of the error: what to have more of."""


def planned(
    variance: Mapping[str, float],
    sizes: Mapping[str, int],
    *,
    subject: str,
    difference: bool = False,
    fixed: Sequence[str] = (),
    confidence: float = 0.95,
) -> PlannedPrecision:
    """The error of one subject's score, or with `difference` of two subjects' difference under the same conditions.

    `variance` has terms such as "persona" or "listener:persona" and the residual, which is a fresh draw for every cell.
    `sizes` says how many levels of each facet are averaged over (a facet that is not named counts once; `repeats` of a
    cell divide the residual alone). A `fixed` facet is not generalised over: its own levels are all there is, so its
    main effect and its crossing with the subject are no error. In a difference what both share cancels.

    The half width uses Student's t with Satterthwaite's degrees of freedom of the *planned* levels: two speakers leave
    one degree of freedom for what differs between speakers, and the interval says so."""
    _check(variance, sizes, subject)
    error: dict[str, float] = {}
    levels: dict[str, float] = {}
    for term, value in variance.items():
        if term == RESIDUAL:
            count = math.prod(sizes.values())
            error[term], levels[term] = value / count, count
            continue
        facets = [part for part in term.split(":") if part != subject]
        if not facets or (difference and subject not in term.split(":")) or all(facet in fixed for facet in facets):
            continue
        count = math.prod(sizes.get(facet, 1) for facet in facets)
        error[term], levels[term] = value / count, count
    times = 2.0 if difference else 1.0
    total = times * sum(error.values())
    if total <= 0:
        return PlannedPrecision(
            dict(sizes), 0.0, math.inf, 0.0, max(error, key=lambda term: error[term], default=RESIDUAL)
        )
    spent = sum((times * error[term]) ** 2 / (levels[term] - 1) for term in error if levels[term] > 1)
    single = sum(error[term] for term in error if levels[term] <= 1 and term != RESIDUAL)
    df = total**2 / spent if spent > 0 else math.inf
    if single > 0:  # one level tells nothing of the others: what it hides is in no interval that the design could give
        df = min(df, 1.0)
    se = math.sqrt(total)
    half = float(stdtrit(df, 0.5 + confidence / 2)) * se if math.isfinite(df) else Z95 * se
    return PlannedPrecision(dict(sizes), se, df, half, max(error, key=lambda term: error[term]))


def precision_table(
    variance: Mapping[str, float],
    grid: Mapping[str, Sequence[int]],
    *,
    subject: str,
    difference: bool = False,
    fixed: Sequence[str] = (),
) -> list[PlannedPrecision]:
    """Every design of the grid."""
    return [
        planned(variance, sizes, subject=subject, difference=difference, fixed=fixed) for sizes in _combinations(grid)
    ]


def needed(
    variance: Mapping[str, float],
    half_width: float,
    grid: Mapping[str, Sequence[int]],
    *,
    subject: str,
    difference: bool = False,
    fixed: Sequence[str] = (),
    cost: Mapping[str, float] | None = None,
) -> PlannedPrecision | None:
    """The cheapest design of the grid with an interval of ± `half_width`: fewest answers (the product of the sizes),
    each level of a facet costing `cost` on top. None if no design of the grid reaches it."""
    if half_width <= 0:
        raise UsageError("A half width is above 0.")

    def price(sizes: Mapping[str, int]) -> float:
        extra = sum((cost or {}).get(name, 0.0) * size for name, size in sizes.items())
        return math.prod(sizes.values()) + extra

    largest = {facet: max(sizes, default=1) for facet, sizes in grid.items()}
    if Z95 * planned(variance, largest, subject=subject, difference=difference, fixed=fixed).se > half_width + 1e-9:
        return None  # an error is smallest in the largest design, and no quantile of t is below the normal one
    cheapest: PlannedPrecision | None = None
    for sizes in sorted(_combinations(grid), key=price):
        if cheapest is not None and price(sizes) > price(cheapest.sizes):
            break
        precision = planned(variance, sizes, subject=subject, difference=difference, fixed=fixed)
        if precision.half_width <= half_width and (cheapest is None or precision.half_width < cheapest.half_width):
            cheapest = precision
    return cheapest


def _check(variance: Mapping[str, float], sizes: Mapping[str, int], subject: str) -> None:
    if RESIDUAL not in variance or any(value < 0 for value in variance.values()):
        raise UsageError("A design needs variances that are not negative, the residual among them.")
    if any(size < 1 for size in sizes.values()):
        raise UsageError("A design has at least one level of every facet.")
    if subject in sizes:
        raise UsageError(f"{subject!r} is the object of measurement, not a facet to average over.")


def _combinations(grid: Mapping[str, Sequence[int]]) -> Iterator[dict[str, int]]:
    for sizes in product(*grid.values()):
        yield dict(zip(grid, sizes, strict=True))
