"""Is a difference small enough to call two things equal? Two one-sided tests (Schuirmann 1987)."""

from scipy.special import stdtr


def equivalence_p(difference: float, se: float, df: float, margin: float) -> float:
    """p of "the difference lies outside ±margin": small means equivalent. The larger of the two one-sided p-values."""
    below = 1 - float(stdtr(df, (difference + margin) / se))
    above = float(stdtr(df, (difference - margin) / se))
    return max(below, above)
