"""Corrections for many tests: Bonferroni, Holm (family-wise error), Benjamini–Hochberg (false discoveries)."""

from collections.abc import Sequence


def bonferroni(p_values: Sequence[float | None]) -> list[float | None]:
    """p·m, at most 1; tests that could not be made do not count and stay None."""
    m = sum(p is not None for p in p_values)
    return [None if p is None else min(1.0, m * p) for p in p_values]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values in the order given (Holm 1979); tests that could not be made do not count and stay None."""
    defined = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, index) in enumerate(defined):
        running = max(running, min(1.0, (len(defined) - rank) * p))
        adjusted[index] = running
    return adjusted


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values min over j ≥ rank of m·p(j)/j (Benjamini & Hochberg 1995)."""
    defined = sorted(((p, index) for index, p in enumerate(p_values) if p is not None), reverse=True)
    m = len(defined)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 1.0
    for down, (p, index) in enumerate(defined):
        running = min(running, m * p / (m - down))
        adjusted[index] = running
    return adjusted
