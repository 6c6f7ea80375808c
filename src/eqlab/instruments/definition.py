"""What an instrument is: how many items, which answers, how they are scored. Facts only; no sentence of an item."""

from collections.abc import Mapping
from dataclasses import dataclass

OVERALL = "Overall"
"""Name of the sum over all items, where an instrument defines one."""


@dataclass(frozen=True, slots=True)
class Subscale:
    name: str
    items: tuple[int, ...]
    """Item numbers, from 1."""


@dataclass(frozen=True, slots=True)
class Instrument:
    key: str
    name: str
    emotion: str
    """The emotion EmotionBench uses it for; "" for any (PANAS), or for none (TEQ)."""
    n_items: int
    low: int
    high: int
    subscales: tuple[Subscale, ...]
    reverse: tuple[int, ...] = ()
    """Numbers of the items that are keyed the other way round."""
    factor: int = 1
    """What the sum is multiplied by (DASS-21: 2, so that it can be read on the scale of the 42-item form)."""
    overall: bool = True
    """Whether the instrument has a score over all items."""
    source: str = ""
    licence: str = ""
    ships: bool = False
    """Whether the package may carry the wording."""
    item_keys: tuple[str, ...] = ()
    """How a form names the items: q01, q02 … unless the items have names of their own."""

    def __post_init__(self) -> None:
        if not self.item_keys:
            object.__setattr__(self, "item_keys", tuple(f"q{number:02d}" for number in self.numbers))

    @property
    def numbers(self) -> range:
        return range(1, self.n_items + 1)

    @property
    def flip(self) -> int:
        """A reversed answer counts flip − answer."""
        return self.low + self.high

    @property
    def scores(self) -> tuple[Subscale, ...]:
        """Every score the instrument defines: its subscales and, where it has one, the overall score."""
        whole = (Subscale(OVERALL, tuple(self.numbers)),) if self.overall else ()
        return (*whole, *self.subscales)

    def in_order(self, values: Mapping[str, float]) -> tuple[float | None, ...]:
        """A form's answers in the order of the instrument's items; None where there is no answer."""
        return tuple(map(values.get, self.item_keys))
