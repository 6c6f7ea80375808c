"""Do two sources rate alike? Quadratic weighted kappa, ordinal alpha, Spearman's rho, bias, from tables of pairs.

All of them are functions of one table of counts, and tables of clusters add up: so each has a cluster-bootstrap
interval from the same draws. Ratings are whole numbers from 1 to `categories`."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from eqlab.analysis.arrays import Floats
from eqlab.analysis.bootstrap import DRAWS, SEED, Interval, draw_totals, interval
from eqlab.analysis.intervals import fisher
from eqlab.core.errors import UsageError
from eqlab.core.values import dataclass

Table = Floats
"""Shape … × categories × categories: rows the first source, columns the second."""


def confusion(first: Sequence[int], second: Sequence[int], categories: int = 3) -> Floats:
    table = np.zeros((categories, categories))
    np.add.at(table, (np.asarray(first, dtype=int) - 1, np.asarray(second, dtype=int) - 1), 1.0)
    return table


def quadratic_kappa(table: Table) -> Floats:
    """1 − Σ(i−j)²·observed / Σ(i−j)²·expected (Cohen 1968). NaN where nothing varies."""
    distance = _squared(table.shape[-1])
    n = table.sum(axis=(-2, -1))
    expected = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - n * (distance * table).sum(axis=(-2, -1)) / (distance * expected).sum(axis=(-2, -1)))


def printed_kappa(kappa: float, pairs: int) -> tuple[float, float]:
    """The 95 % interval of a quadratic kappa of which only the value and the number of pairs are known. It is an
    intraclass correlation (Fleiss & Cohen 1973), so Fisher's z serves; pairs are taken for independent."""
    low, high = fisher(kappa, pairs)
    if low is None or high is None:
        raise UsageError("A kappa's interval needs four pairs and a value between −1 and 1.")
    return low, high


def ordinal_alpha(coincidences: Table) -> Floats:
    """Krippendorff's alpha with the ordinal metric δ(c,k) = (Σ n_g from c to k − (n_c + n_k)/2)² (Krippendorff 2011),
    from a symmetric table of coincidences. NaN where nothing varies."""
    margin = coincidences.sum(axis=-1)
    n = margin.sum(axis=-1)
    upto = np.cumsum(margin, axis=-1) - margin / 2
    distance = (upto[..., :, None] - upto[..., None, :]) ** 2
    expected = (distance * margin[..., :, None] * margin[..., None, :]).sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - (n - 1) * (distance * coincidences).sum(axis=(-2, -1)) / expected)


def coincidences(units: Sequence[Sequence[int]], categories: int = 3) -> Floats:
    """One table per unit (a reply with several ratings): ordered pairs of its ratings over their number minus one.
    A unit with a single rating has none."""
    tables = np.zeros((len(units), categories, categories))
    for index, values in enumerate(units):
        if len(values) < 2:
            continue
        counts = np.bincount(np.asarray(values, dtype=int) - 1, minlength=categories).astype(float)
        tables[index] = (np.outer(counts, counts) - np.diag(counts)) / (len(values) - 1)
    return tables


def spearman(table: Table) -> Floats:
    """Pearson's correlation of mid-ranks. NaN where one source does not vary."""
    n = table.sum(axis=(-2, -1))
    ranks = []
    for axis in (-1, -2):
        margin = table.sum(axis=axis)
        middle = np.cumsum(margin, axis=-1) - margin / 2
        ranks.append((margin, middle - n[..., None] / 2))
    (rows, row_rank), (columns, column_rank) = ranks
    joint = (table * row_rank[..., :, None] * column_rank[..., None, :]).sum(axis=(-2, -1))
    spread = (rows * row_rank**2).sum(axis=-1) * (columns * column_rank**2).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(joint / np.sqrt(spread))


def mean_difference(table: Table) -> Floats:
    """First minus second, in scale points."""
    values = np.arange(1.0, table.shape[-1] + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = (table * (values[:, None] - values[None, :])).sum(axis=(-2, -1))
        return np.asarray(total / table.sum(axis=(-2, -1)))


def exact_agreement(table: Table) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.trace(table, axis1=-2, axis2=-1) / table.sum(axis=(-2, -1)))


def pair_alpha(table: Table) -> Floats:
    """Ordinal alpha of two sources."""
    return ordinal_alpha(table + np.swapaxes(table, -1, -2))


MEASURES: dict[str, Callable[[Table], Floats]] = {
    "quadratic kappa": quadratic_kappa,
    "ordinal alpha": pair_alpha,
    "Spearman's rho": spearman,
    "exact agreement": exact_agreement,
    "mean difference": mean_difference,
}


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    n: int
    clusters: int
    confusion: Floats
    measures: dict[str, Interval]


def agreement(
    first: Sequence[int],
    second: Sequence[int],
    clusters: Sequence[object] | None = None,
    *,
    categories: int = 3,
    draws: int = DRAWS,
    seed: int = SEED,
    method: Literal["percentile", "bca"] = "percentile",
) -> Agreement:
    """Every measure with its interval; pairs of one cluster (rater) are drawn together, without `clusters` singly."""
    alone = np.arange(len(first))
    names = alone if clusters is None else np.unique([str(cluster) for cluster in clusters], return_inverse=True)[1]
    m = int(names.max()) + 1 if len(names) else 0
    tables = np.zeros((m, categories, categories))
    np.add.at(tables, (names, np.asarray(first, dtype=int) - 1, np.asarray(second, dtype=int) - 1), 1.0)
    intervals = tables_agreement(tables, MEASURES, draws=draws, seed=seed, method=method)
    return Agreement(len(first), m, tables.sum(axis=0), intervals)


def tables_agreement(
    tables: NDArray[np.float64],
    measures: dict[str, Callable[[Table], Floats]],
    *,
    draws: int = DRAWS,
    seed: int = SEED,
    method: Literal["percentile", "bca"] = "percentile",
) -> dict[str, Interval]:
    """Measures of the sum of the clusters' tables."""
    if not len(tables):
        return {name: Interval(None, None, None, 0, 0, method) for name in measures}
    size = tables.shape[-1]
    rows = tables.reshape(len(tables), -1)
    totals = draw_totals([rows], draws, seed)
    return {
        name: interval([rows], _of_rows(measure, size), totals=totals, method=method)
        for name, measure in measures.items()
    }


def _of_rows(measure: Callable[[Table], Floats], size: int) -> Callable[[Sequence[Floats]], Floats]:
    return lambda totals: measure(totals[0].reshape(*totals[0].shape[:-1], size, size))


def _squared(size: int) -> Floats:
    values = np.arange(float(size))
    return np.asarray((values[:, None] - values[None, :]) ** 2)


# -- ratings that are any numbers -------------------------------------------------------------------------------------
# Averages of several raters fall between the categories: agreement then comes from sums over the rated things, which
# a bootstrap can draw again.


def pair_rows(first: Sequence[float], second: Sequence[float]) -> Floats:
    """One row a rated thing, whose totals are all that `distance_kappa` needs."""
    x, y = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y])


def distance_kappa(totals: Floats) -> Floats:
    """Kappa weighted by squared distances on the scale, 1 − Σ(x−y)²/n over (s²x + s²y + (mean x − mean y)²): the
    quadratic kappa of Cohen (1968) where ratings are whole numbers. NaN where nothing varies.

    >>> round(float(distance_kappa(pair_rows([1, 2, 3, 3], [1, 2, 2, 3]).sum(axis=0))), 4)
    0.8
    """
    n, x, y, xx, yy, xy = np.moveaxis(np.asarray(totals), -1, 0)
    expected = n * xx + n * yy - 2 * x * y
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(expected > 1e-9, 1 - n * (xx + yy - 2 * xy) / expected, np.nan))


def places(first: Sequence[float], second: Sequence[float]) -> tuple[list[int], list[int]]:
    """Both columns as places among the distinct values that occur in either, to hundredths."""
    order = {value: place for place, value in enumerate(sorted({round(100 * one) for one in (*first, *second)}))}
    return [order[round(100 * one)] for one in first], [order[round(100 * one)] for one in second]


def kappa_error(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The large-sample standard error of a kappa with squared distances as weights (Fleiss, Cohen & Everitt 1969)."""
    x, y = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    values, codes = np.unique(np.concatenate([x, y]), return_inverse=True)
    if len(values) < 2:
        return None
    n, size = len(x), len(values)
    shares = np.zeros((size, size))
    np.add.at(shares, (codes[:n], codes[n:]), 1 / n)
    weights = 1 - (values[:, None] - values[None, :]) ** 2 / (values[-1] - values[0]) ** 2
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = float((weights * shares).sum()), float(rows @ weights @ columns)
    if expected >= 1:
        return None
    around = (weights @ columns)[:, None] + (rows @ weights)[None, :]
    inner = float((shares * (weights * (1 - expected) - around * (1 - observed)) ** 2).sum())
    variance = (inner - (observed * expected - 2 * expected + observed) ** 2) / n / (1 - expected) ** 4
    return float(np.sqrt(max(variance, 0.0)))


def unit_rows(ratings: Sequence[Sequence[float]]) -> Floats:
    """One row a rated thing, whose totals are all that `interval_alpha` needs; `ratings` holds one column a rater."""
    values = np.asarray(ratings, dtype=float)
    raters = len(values)
    total, squares = values.sum(axis=0), (values**2).sum(axis=0)
    apart = (raters * squares - total**2) / (raters - 1)
    return np.column_stack([np.full(values.shape[1], float(raters)), total, squares, apart])


def interval_alpha(totals: Floats) -> Floats:
    """Krippendorff's alpha with squared differences (Krippendorff 2011) where nobody's rating is missing. NaN where
    nothing varies.

    >>> round(float(interval_alpha(unit_rows([[1, 2, 3, 3], [1, 2, 2, 3]]).sum(axis=0))), 4)
    0.8205
    """
    n, total, squares, apart = np.moveaxis(np.asarray(totals), -1, 0)
    expected = n * squares - total**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(expected > 1e-9, 1 - (n - 1) * apart / expected, np.nan))
