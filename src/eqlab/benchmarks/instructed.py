"""Instructed items: pages that say which answer to choose, and so show whether somebody reads."""

from collections.abc import Sequence

from eqlab.core.forms import Form, Scale
from eqlab.core.study import Checks
from eqlab.core.trials import Trial


def instructed(checks: Checks, scale: Scale, answers: Sequence[int]) -> tuple[Trial, ...]:
    """On a scale like the trials' own: one for each of the answers, and at least as many as a person gets. Which of
    them a person gets is drawn."""
    if not checks.attention:
        return ()
    labels = dict(scale.anchors)
    made = []
    for index in range(max(len(answers), checks.attention)):
        value = answers[index % len(answers)]
        told = checks.instruction.replace("{answer}", labels.get(value, str(value)))
        key = {"right": {scale.key: value}}
        made.append(Trial("attention", (f"check{index + 1}",), "attention", told, Form((scale,)), "", key=key))
    return tuple(made)
