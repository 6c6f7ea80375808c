"""Looking at the data before the end without fooling oneself: group-sequential bounds.

O'Brien–Fleming-like spending, 2 − 2Φ(z_α/4/√t) on each side (Lan & DeMets 1983); bounds and crossing probabilities by
recursive numerical integration (Armitage, McPherson & Rowe 1969)."""

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from eqlab.analysis.arrays import Flags, Floats
from eqlab.analysis.special import ndtr, ndtri
from eqlab.core.errors import UsageError
from eqlab.core.values import dataclass

_NODES = 161
_REACH = 8.0


@dataclass(frozen=True, slots=True)
class SequentialDesign:
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


def obrien_fleming(looks: Sequence[float], alpha: float = 0.05) -> SequentialDesign:
    """Bounds for looks at the given shares of the full sample."""
    times = tuple(float(look) for look in looks)
    if not times or times[-1] != 1.0 or any(b <= a for a, b in zip((0.0, *times), times, strict=False)):
        raise UsageError("Looks are growing shares of the full sample, the last one 1, such as 0.25 0.5 0.75 1.")
    spent = tuple(4 * float(ndtr(-ndtri(1 - alpha / 4) / math.sqrt(time))) for time in times)
    bounds: list[float] = []
    state = _START
    for index, total in enumerate(spent):
        target = total - (spent[index - 1] if index else 0.0)
        bounds.append(_bound(state, times[index], target))
        state = _carry(state, times[index], bounds[-1], 0.0)
    return SequentialDesign(times, alpha, tuple(bounds), spent)


def outlook(design: SequentialDesign, drift: float) -> Outlook:
    """Stopping probabilities when z at the end has mean `drift` (effect over its standard error at full size)."""
    stop = _stops(design.looks, design.bounds, drift)
    power = sum(stop)
    share = sum(p * time for p, time in zip(stop, design.looks, strict=True)) + (1 - power)
    return Outlook(drift, tuple(stop), power, share)


def drift_for_power(design: SequentialDesign, power: float = 0.8) -> float:
    """The drift at which the design has this power."""
    return root(lambda drift: outlook(design, drift).power - power, 0.0, 12.0, xtol=1e-6)


def inflation(design: SequentialDesign, power: float = 0.8) -> float:
    """By how much the largest sample must exceed that of a test with a single look."""
    fixed = float(ndtri(1 - design.alpha / 2) + ndtri(power))
    return (drift_for_power(design, power) / fixed) ** 2


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """Paths of a Brownian motion that have not crossed a bound: their mass on a grid of its values at `time`."""

    time: float
    grid: Floats
    mass: Floats


_START = _State(0.0, np.zeros(1), np.ones(1))


def _stops(times: Sequence[float], bounds: Sequence[float], drift: float) -> list[float]:
    """P(first crossing at each look) of a Brownian motion with drift."""
    found: list[float] = []
    state = _START
    for time, bound in zip(times, bounds, strict=True):
        found.append(_crossing(state, time, bound, drift))
        state = _carry(state, time, bound, drift)
    return found


def _crossing(state: _State, time: float, bound: float, drift: float) -> float:
    step, edge = time - state.time, bound * math.sqrt(time)
    middle = state.grid + drift * step
    out = ndtr((middle - edge) / math.sqrt(step)) + ndtr((-edge - middle) / math.sqrt(step))
    return float((state.mass * out).sum())


def _carry(state: _State, time: float, bound: float, drift: float) -> _State:
    """To the next look, on a Gauss–Legendre grid between the bounds."""
    nodes, weights = _legendre()
    step, edge = time - state.time, bound * math.sqrt(time)
    grid = edge * nodes
    gaps = (grid[:, None] - state.grid[None, :] - drift * step) / math.sqrt(step)
    kernel = np.exp(-0.5 * gaps**2) / math.sqrt(2 * math.pi * step)
    return _State(time, grid, edge * weights * np.einsum("ij,j->i", kernel, state.mass))


def _bound(state: _State, time: float, target: float) -> float:
    """The bound that is crossed first at this look with probability `target`."""
    if target < 1e-14:
        return _REACH
    return root(lambda bound: _crossing(state, time, bound, 0.0) - target, 0.5, _REACH, xtol=1e-10)


@cache
def _legendre() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def rerandomised(
    arm: Floats, reference: Floats, design: SequentialDesign, *, orders: int = 5000, seed: int = 20240607
) -> tuple[list[float], float]:
    """What the design would have saved: raters' means in random orders of arrival, Welch's z at each look.
    (share of orders that stop at each look and, last, never; mean raters per group used)."""
    random = np.random.default_rng(seed)
    full = min(len(arm), len(reference))
    sizes = [round(share * full) for share in design.looks]
    drawn = np.empty((2, orders, full))
    for order in range(orders):
        drawn[0, order], drawn[1, order] = random.permutation(arm)[:full], random.permutation(reference)[:full]
    stopped = np.full(orders, len(sizes))
    for look in reversed(range(len(sizes))):
        stopped[_crossed(drawn[:, :, : sizes[look]], design.bounds[look])] = look
    shares = np.bincount(stopped, minlength=len(sizes) + 1) / orders
    used = float(shares[:-1] @ np.array(sizes)) + float(shares[-1]) * full
    return shares.tolist(), used


def _crossed(drawn: Floats, bound: float) -> Flags:
    """Which orders are at or beyond the bound: groups × orders × raters."""
    se = np.sqrt(drawn.var(axis=2, ddof=1).sum(axis=0) / drawn.shape[2])
    first, second = drawn.mean(axis=2)
    crossed: Flags = (se > 0) & (np.abs(first - second) >= bound * se)
    return crossed


def root(function: Callable[[float], float], low: float, high: float, xtol: float = 2e-12) -> float:
    """Where a function changes its sign, by Brent's method."""
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=xtol))
