"""Heat maps: emotions by subjects, every cell a number with its n; the tint only repeats what the number says.

One hue, from pale to full, tells more from less; where values lie on both sides of zero a second hue, orange, is for
those below it. Both hues and every step differ in lightness, so the map reads without colour vision and in print."""

from collections.abc import Sequence
from dataclasses import dataclass

from eqlab.core.results import Estimate
from eqlab.core.text import is_number

STEPS = 6
"""Tints of one hue."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    estimate: Estimate | None
    tint: str
    """A class of the style sheet; empty: no tint."""
    anchor: str = ""
    """Whose items are behind it; empty for people of a published study."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    measure: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]
    note: str
    two_sided: bool
    """Whether values lie on both sides of zero."""


@dataclass(frozen=True, slots=True)
class HeatColumn:
    name: str
    estimates: tuple[Estimate, ...]
    anchor: str = ""


def heat_map(measure: str, columns: Sequence[HeatColumn], note: str) -> HeatMap | None:
    """None with fewer than two emotions: there is nothing to compare."""
    names = list(dict.fromkeys(estimate.name for column in columns for estimate in column.estimates))
    if len(names) < 2:
        return None
    known = [{estimate.name: estimate for estimate in column.estimates} for column in columns]
    tint = tints([estimate for own in known for estimate in own.values()])
    rows = tuple(
        (
            name,
            tuple(
                HeatCell(found := own.get(name), tint(found), column.anchor)
                for own, column in zip(known, columns, strict=True)
            ),
        )
        for name in names
    )
    return HeatMap(measure, tuple(column.name for column in columns), rows, note, tint.two_sided)


class tints:
    """From an estimate to its tint, on one scale for all of a map."""

    def __init__(self, estimates: Sequence[Estimate]) -> None:
        values = [one.value for one in estimates if one.value is not None and is_number(one.value)]
        self._low, self._high = min(values, default=0.0), max(values, default=0.0)

    @property
    def two_sided(self) -> bool:
        return self._low < 0 < self._high

    def __call__(self, estimate: Estimate | None) -> str:
        if estimate is None or estimate.value is None or not is_number(estimate.value):
            return ""
        value, low, high = estimate.value, self._low, self._high
        if self.two_sided:
            share = abs(value) / max(-low, high)
            return f"{'below' if value < 0 else 'heat'}-{_step(share)}"
        share = (value - low) / (high - low) if high > low else 0.0
        return f"heat-{_step(share)}"


def _step(share: float) -> int:
    return min(STEPS, 1 + int(share * STEPS))
