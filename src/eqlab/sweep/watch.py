"""How a sweep goes, for whoever shows it, and how it ended."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from eqlab.core.errors import EqlabError
from eqlab.sweep.cells import Cell


@dataclass(frozen=True, slots=True)
class Watch:
    """Who wants to hear. Calls come from several threads."""

    say: Callable[[str], None] = lambda _: None
    moved: Callable[[Cell, int, int], None] = lambda _, __, ___: None
    """(cell, trials answered, trials planned), first when a cell begins."""
    ended: Callable[[Cell, EqlabError | None], None] = lambda _, __: None
    """With what stopped the cell early, or None."""


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    failures: Mapping[str, EqlabError]
    """Why cells stopped early or never began, by run id."""
    interrupted: bool
