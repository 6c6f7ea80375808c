"""Instructed items: pages that say which answer to choose, and so show whether somebody reads."""

from collections.abc import Sequence

from eqlab.core.forms import Form, Scale
from eqlab.core.study import Checks
from eqlab.core.trials import Trial


def instructed(checks: Checks, scale: Scale, answers: Sequence[int], others: Sequence[Scale] = ()) -> tuple[Trial, ...]:
    """On a scale like the trials' own: one for each of the answers, and at least as many as a person gets. Which of
    them a person gets is drawn. `others`: the trials' further scales, so that nobody tells the page by its form; the
    same answer is asked for wherever it reads the same, and anything will do elsewhere."""
    if not checks.attention:
        return ()
    made = []
    for index in range(max(len(answers), checks.attention)):
        value = answers[index % len(answers)]
        told = checks.instruction.replace("{answer}", _reads(scale, value))
        alike = [one for one in (scale, *others) if one.holds(value) and _reads(one, value) == _reads(scale, value)]
        key = {"right": {one.key: value for one in alike}}
        made.append(Trial("attention", (f"check{index + 1}",), "attention", told, Form((scale, *others)), "", key=key))
    return tuple(made)


def _reads(scale: Scale, value: int) -> str:
    return dict(scale.anchors).get(value, str(value))
