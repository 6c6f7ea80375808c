"""Pages that every kind of study has besides its own trials: questionnaires and the comprehension check."""

from eqlab.benchmarks.emotionbench.prompt import PARTNER
from eqlab.core.forms import Form, Scale
from eqlab.core.study import Study, Tutorial
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
