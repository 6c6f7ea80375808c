"""How carefully a person took part: attention checks, straight-lining, pages answered too fast. Pure; what follows from
it is the analysis plan's affair, never the server's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eqlab.core.design import StepKind

_FEWEST_VALUES = 5
"""One value throughout fewer answers is no sign of anything."""
_LONG_FORM = 10
"""Scales on one page from which one value throughout counts by itself."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page that a person has answered, by the attempt that counts."""

    number: int
    kind: StepKind
    trial: str
    values: Mapping[str, Any]
    seconds: float | None
    """From showing to saving; None if the page did not say when it was shown."""
    away: float
    attempts: int
    right: bool | None
    """Of a quiz, an attention check or a gold item: whether it was answered as it should be."""


def straight_lining(pages: Sequence[Page]) -> bool:
    """One value on all trial pages together (five values or more), or throughout one page of ten or more scales. Pages
    with one scale each say nothing: who sees ten good replies calls ten replies good."""
    trials = [page for page in pages if page.kind == "trial"]
    together = [value for page in trials for value in page.values.values() if value is not None]
    several = any(len(page.values) > 1 for page in trials)
    if several and len(together) >= _FEWEST_VALUES and len(set(together)) == 1:
        return True
    return any(
        page.kind in ("trial", "instrument") and len(page.values) >= _LONG_FORM and len(set(page.values.values())) == 1
        for page in pages
    )


def too_fast(pages: Sequence[Page], least_seconds: float) -> int:
    """Trial and instrument pages answered in less than `least_seconds`."""
    return sum(
        page.kind in ("trial", "instrument") and page.seconds is not None and page.seconds < least_seconds
        for page in pages
    )


def timed(pages: Sequence[Page]) -> int:
    """Trial and instrument pages whose time is known."""
    return sum(page.kind in ("trial", "instrument") and page.seconds is not None for page in pages)
