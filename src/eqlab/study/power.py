"""What a study of this size will find, said before it begins. A kind that knows its own measure says it in that
measure; any other in standard deviations between people."""

import math

from eqlab.core.design import Design
from eqlab.core.studied import Powered
from eqlab.study.kinds.registry import kind_of

_POWER = 0.8


def power_of(design: Design) -> str:
    kind = kind_of(design.study)
    said = kind.power(design) if isinstance(kind, Powered) else ""
    return said or _plainly(design)


def _plainly(design: Design) -> str:
    """Two groups: d = (z_α/2 + z_β)·√(2/n). One: the half-width of a mean's interval, z_α/2/√n."""
    from scipy.special import ndtri

    alpha, people = design.study.analysis.alpha, min(design.sizes.values())
    level = f"{100 * (1 - alpha):g} %"
    if len(design.arms) < 2:
        width = float(ndtri(1 - alpha / 2)) / math.sqrt(people)
        return f"{people} people give a mean to within {width:.2f} SD of people ({level} interval)."
    found = float(ndtri(1 - alpha / 2) + ndtri(_POWER)) * math.sqrt(2 / people)
    return (
        f"{people} a group find a difference of {found:.2f} SD between people four times in five (two-sided, alpha "
        f"{alpha:g})."
    )
