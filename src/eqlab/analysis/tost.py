"""Is a difference small enough not to matter? Two one-sided tests (TOST; Schuirmann 1987).

"Not significant" never shows that two arms are alike; this can."""

from dataclasses import dataclass

from scipy.special import ndtr, ndtri, stdtr, stdtrit

from eqlab.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Equivalence:
    difference: float
    p_above_low: float
    """Against "not above the lower margin"."""
    p_below_high: float
    p: float
    """The larger of the two."""
    equivalent: bool
    low: float
    high: float
    """The (1 − 2α) interval; equivalence is the same as its lying between the margins."""
    margin: tuple[float, float]


def tost(
    difference: float, se: float, margin: tuple[float, float], *, df: float | None = None, alpha: float = 0.05
) -> Equivalence:
    """Normal, or Student's t with `df`."""
    if se <= 0 or margin[0] >= margin[1]:
        raise UsageError("An equivalence test needs a standard error above 0 and a margin (low, high) with low < high.")
    above, below = (difference - margin[0]) / se, (difference - margin[1]) / se
    p_low = float(ndtr(-above)) if df is None else float(stdtr(df, -above))
    p_high = float(ndtr(below)) if df is None else float(stdtr(df, below))
    reach = se * float(ndtri(1 - alpha) if df is None else stdtrit(df, 1 - alpha))
    p = max(p_low, p_high)
    return Equivalence(difference, p_low, p_high, p, p < alpha, difference - reach, difference + reach, margin)
