"""Looking at the data before the end without fooling oneself: group-sequential bounds.

O'Brien–Fleming-like spending α*(t) = 2 − 2Φ(z_α/2/√t) (Lan & DeMets 1983), bounds and crossing probabilities by
recursive numerical integration (Armitage, McPherson & Rowe 1969)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from eqlab.core.errors import UsageError

Floats = NDArray[np.float64]
_NODES = 801
_REACH = 8.0


@dataclass(frozen=True, slots=True)
class Design:
    """Two-sided symmetric bounds on the z statistic, one per look."""

    looks: tuple[float, ...]
    """Share of the full sample at each look; the last is 1."""
    alpha: float
    bounds: tuple[float, ...]
    spent: tuple[float, ...]
    """α used up to each look."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a design does under one true effect."""

    drift: float
    """Mean of z at the end."""
    stop: tuple[float, ...]
    """Probability to stop for a difference at each look."""
    power: float
    expected_share: float
    """Mean share of the full sample used."""

    def expected_raters(self, full: int) -> float:
        return self.expected_share * full


def obrien_fleming(looks: Sequence[float], alpha: float = 0.05) -> Design:
    """Bounds for looks at the given shares of the full sample."""
    times = tuple(float(look) for look in looks)
    if not times or times[-1] != 1.0 or any(b <= a for a, b in zip((0.0, *times), times, strict=False)):
        raise UsageError("Looks are growing shares of the full sample, the last one 1, such as 0.25 0.5 0.75 1.")
    spent = tuple(2 * float(ndtr(-ndtri(1 - alpha / 2) / math.sqrt(time))) for time in times)
    bounds: list[float] = []
    for index, total in enumerate(spent):
        target = total - (spent[index - 1] if index else 0.0)

        def excess(bound: float, target: float = target) -> float:
            return _stops(times[: len(bounds) + 1], [*bounds, bound], 0.0)[-1] - target

        bounds.append(_REACH if target < 1e-14 else float(brentq(excess, 0.5, _REACH, xtol=1e-8)))
    return Design(times, alpha, tuple(bounds), spent)


def outlook(design: Design, drift: float) -> Outlook:
    """Stopping probabilities when z at the end has mean `drift` (effect over its standard error at full size)."""
    stop = _stops(design.looks, design.bounds, drift)
    power = sum(stop)
    share = sum(p * time for p, time in zip(stop, design.looks, strict=True)) + (1 - power)
    return Outlook(drift, tuple(stop), power, share)


def drift_for_power(design: Design, power: float = 0.8) -> float:
    """The drift at which the design has this power."""
    return float(brentq(lambda drift: outlook(design, drift).power - power, 0.0, 12.0, xtol=1e-6))


def inflation(design: Design, power: float = 0.8) -> float:
    """By how much the largest sample must exceed that of a test with a single look."""
    fixed = float(ndtri(1 - design.alpha / 2) + ndtri(power))
    return (drift_for_power(design, power) / fixed) ** 2


def _stops(times: Sequence[float], bounds: Sequence[float], drift: float) -> list[float]:
    """P(first crossing at each look) of a Brownian motion with drift, seen at `times`. The density of the score
    B(t) among paths that went on is carried from look to look on a Gauss–Legendre grid."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    found: list[float] = []
    grid, density = np.zeros(1), np.ones(1)  # all mass in B(0) = 0
    before = 0.0
    for time, bound in zip(times, bounds, strict=True):
        step, edge = time - before, bound * math.sqrt(time)
        away = drift * step
        up = ndtr((grid + away - edge) / math.sqrt(step))
        down = ndtr((-edge - grid - away) / math.sqrt(step))
        found.append(float((density * (up + down)).sum()))
        ahead, widths = edge * nodes, edge * weights
        gaps = (ahead[:, None] - grid[None, :] - away) / math.sqrt(step)
        kernel = np.exp(-0.5 * gaps**2) / math.sqrt(2 * math.pi * step)
        density = widths * np.einsum("ij,j->i", kernel, density)
        grid, before = ahead, time
    return found


def rerandomised(
    arm: Floats, reference: Floats, design: Design, *, orders: int = 5000, seed: int = 20240607
) -> tuple[list[float], float]:
    """What the design would have saved: raters' means in random orders of arrival, Welch's z at each look.
    (share of orders that stop at each look and, last, never; mean raters per arm used)."""
    random = np.random.default_rng(seed)
    full = min(len(arm), len(reference))
    sizes = [round(share * full) for share in design.looks]
    stops = np.zeros(len(sizes) + 1)
    for _ in range(orders):
        one, other = random.permutation(arm)[:full], random.permutation(reference)[:full]
        stops[_first_crossing(one, other, sizes, design.bounds)] += 1
    shares = stops / orders
    used = float(shares[:-1] @ np.array(sizes)) + float(shares[-1]) * full
    return shares.tolist(), used


def _first_crossing(one: Floats, other: Floats, sizes: Sequence[int], bounds: Sequence[float]) -> int:
    for index, (size, bound) in enumerate(zip(sizes, bounds, strict=True)):
        first, second = one[:size], other[:size]
        se = math.sqrt(float(first.var(ddof=1) + second.var(ddof=1)) / size)
        if se > 0 and abs(float(first.mean() - second.mean())) / se >= bound:
            return index
    return len(sizes)
