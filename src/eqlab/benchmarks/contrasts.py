"""The contrasts that a study plans, as every kind corrects and shows them."""

from collections.abc import Sequence
from dataclasses import replace

from eqlab.analysis.multiplicity import holm
from eqlab.core.results import Table
from eqlab.core.studied import Contrast


def p_text(p: float | None) -> str | None:
    """A p-value that never prints as 0."""
    return None if p is None else "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def corrected(found: Sequence[Contrast]) -> tuple[Contrast, ...]:
    """Holm's correction over all of them."""
    adjusted = holm([one.p for one in found])
    return tuple(
        replace(one, p_holm=one.p if p_holm is None else p_holm) for one, p_holm in zip(found, adjusted, strict=True)
    )


def contrast_table(found: Sequence[Contrast], who: str, measure: str, alpha: float, note: str) -> Table:
    """Each with its interval at the plan's own level. A single one needs no correction, and none is shown."""
    several = len(found) > 1
    rows = tuple(
        (
            one.arm,
            one.reference,
            replace(one.estimate, low=one.low, high=one.high),
            p_text(one.p),
            *((p_text(one.p_holm),) if several else ()),
            "yes" if one.p_holm < alpha else "no",
        )
        for one in found
    )
    columns = (
        who,
        "against",
        f"{measure} ({100 * (1 - alpha):g} % interval)",
        "p",
        *(("p after Holm",) if several else ()),
        f"different at {alpha:g}",
    )
    return Table("Planned contrasts", columns, rows, note)
