"""Is a difference small enough to call two things equal? Two one-sided tests (Schuirmann 1987)."""


def equivalence_p(difference: float, se: float, df: float, margin: float) -> float:
    """p of "the difference lies outside ±margin": small means equivalent. The larger of the two one-sided p-values."""
    from scipy.special import stdtr

    below = 1 - float(stdtr(df, (difference + margin) / se))
    above = float(stdtr(df, (difference - margin) / se))
    return max(below, above)
