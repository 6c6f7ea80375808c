"""Differences of groups' means, adjusted for a measure taken before: analysis of covariance by least squares, with
errors that need no equal variances (HC3; MacKinnon & White 1985; Long & Ervin 2000)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from eqlab.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Adjusted:
    """One group against the reference."""

    group: str
    value: float
    se: float
    df: float
    p: float

    def bounds(self, alpha: float = 0.05) -> tuple[float, float]:
        reach = float(stdtrit(self.df, 1 - alpha / 2)) * self.se
        return self.value - reach, self.value + reach


def adjusted_differences(
    values: Sequence[float], groups: Sequence[str], before: Sequence[float], reference: str
) -> list[Adjusted]:
    """value = mean of the group + slope · (before − its mean), every group against the reference, in the order of
    their names; as statsmodels' `OLS(…).fit(cov_type="HC3", use_t=True)`. Empty where a group has fewer than two
    values, where nothing is left to tell the error by, or where nothing varies."""
    if not len(values) == len(groups) == len(before):
        raise UsageError("Values, groups and measures before differ in number.", "Give one of each for everybody.")
    names = sorted(set(groups) - {reference})
    counts = {name: sum(group == name for group in groups) for name in (reference, *names)}
    if not names or min(counts.values()) < 2:
        return []
    y, x = np.asarray(values, dtype=float), np.asarray(before, dtype=float)
    columns = [np.ones(len(y)), *(np.array([group == name for group in groups], dtype=float) for name in names)]
    if np.ptp(x) > 0:  # a measure that does not vary explains nothing
        columns.append(x - x.mean())
    design = np.column_stack(columns)
    df = len(y) - design.shape[1]
    if df < 1 or np.linalg.matrix_rank(design) < design.shape[1]:
        return []
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    if leverage.max() > 1 - 1e-9:  # somebody alone decides a coefficient: no error can be told
        return []
    weighted = design * ((y - design @ beta) / (1 - leverage))[:, None]
    covariance = inverse @ (weighted.T @ weighted) @ inverse
    found = []
    for place, name in enumerate(names, start=1):
        se = math.sqrt(float(covariance[place, place]))
        if se == 0:
            return []
        value = float(beta[place])
        found.append(Adjusted(name, value, se, float(df), 2 * float(stdtr(df, -abs(value / se)))))
    return found
