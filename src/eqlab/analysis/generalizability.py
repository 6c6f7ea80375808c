"""What would more personas, speakers, judges, items or repeats buy? The decision study of generalizability theory: the
error of a score, and of a difference between two subjects, that a planned design would have.

A term's variance is divided by how many of its levels the design averages over (Cronbach, Gleser, Nanda & Rajaratnam
1972; Brennan 2001). The half width uses Student's t with Satterthwaite's degrees of freedom of the *planned* levels:
two speakers leave one degree of freedom for what differs between speakers, and the interval says so."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from scipy.special import stdtrit

from eqlab.core.errors import UsageError

RESIDUAL = "residual"


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
    main effect and its crossing with the subject are no error. In a difference what both share cancels."""
    _check(variance, sizes, subject)
    error: dict[str, float] = {}
    levels: dict[str, float] = {}
    for term, value in variance.items():
        if term == RESIDUAL:
            count = math.prod(sizes.values())
            error[term], levels[term] = value / count, count
            continue
        facets = [part for part in term.split(":") if part != subject]
        if not facets or (difference and subject not in term.split(":")) or all(one in fixed for one in facets):
            continue
        count = math.prod(sizes.get(one, 1) for one in facets)
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
    half = float(stdtrit(df, 0.5 + confidence / 2)) * se if math.isfinite(df) else 1.959963984540054 * se
    return PlannedPrecision(dict(sizes), se, df, half, max(error, key=lambda term: error[term]))


def table(
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
    found = [
        one
        for one in table(variance, grid, subject=subject, difference=difference, fixed=fixed)
        if one.half_width <= half_width
    ]

    def price(one: PlannedPrecision) -> float:
        extra = sum((cost or {}).get(name, 0.0) * size for name, size in one.sizes.items())
        return math.prod(one.sizes.values()) + extra

    return min(found, key=lambda one: (price(one), one.half_width), default=None)


def coefficient(variance: Mapping[str, float], sizes: Mapping[str, int], *, subject: str) -> float | None:
    """Eρ²: the share of the variance of observed scores that is between subjects (relative error)."""
    _check(variance, sizes, subject)
    between = variance.get(subject, 0.0)
    error = planned(variance, sizes, subject=subject, difference=True).se ** 2 / 2
    return between / (between + error) if between + error > 0 else None


def _check(variance: Mapping[str, float], sizes: Mapping[str, int], subject: str) -> None:
    if RESIDUAL not in variance or any(value < 0 for value in variance.values()):
        raise UsageError("A design needs variances that are not negative, the residual among them.")
    if any(size < 1 for size in sizes.values()):
        raise UsageError("A design has at least one level of every facet.")
    if subject in sizes:
        raise UsageError(f"{subject!r} is who is measured, not a facet to average over.")


def _combinations(grid: Mapping[str, Sequence[int]]) -> Iterator[dict[str, int]]:
    for sizes in product(*grid.values()):
        yield dict(zip(grid, sizes, strict=True))
