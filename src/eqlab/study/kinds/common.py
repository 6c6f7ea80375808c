"""Pages that every kind of study has besides its own trials: questionnaires, the comprehension check, and instructed
items that show whether somebody reads."""

from collections.abc import Sequence

from eqlab.benchmarks.emotionbench.prompt import PARTNER
from eqlab.core.forms import Form, Scale
from eqlab.core.study import Checks, Study, Tutorial
from eqlab.core.trials import Trial
from eqlab.instruments.definition import Instrument
from eqlab.instruments.wording import Wording, scales


def instrument_page(study: Study, instrument: Instrument, wording: Wording) -> Trial:
    """A questionnaire in its own order."""
    told = f"{study.instruments_text} {PARTNER}" if instrument.key == "MJS" else study.instruments_text
    return Trial(
        "instrument",
        (instrument.key,),
        "instrument",
        told,
        Form(scales(instrument, wording)),
        "",
        key={"instrument": instrument.key},
    )


def quiz(tutorial: Tutorial) -> Trial | None:
    """The tutorial and its questions on one page; None where there are no questions."""
    if not tutorial.questions:
        return None
    asked = tuple(
        Scale(f"quiz{number}", one.text, 1, len(one.options), tuple(enumerate(one.options, start=1)))
        for number, one in enumerate(tutorial.questions, start=1)
    )
    right = {scale.key: one.answer for scale, one in zip(asked, tutorial.questions, strict=True)}
    return Trial("quiz", ("quiz",), "quiz", tutorial.text, Form(asked), "", key={"right": right})


def attention(checks: Checks, scale: Scale, answers: Sequence[int]) -> tuple[Trial, ...]:
    """Instructed items on a scale like the trials' own: one for each of the answers, and at least as many as a person
    gets. Which of them a person gets is drawn."""
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
