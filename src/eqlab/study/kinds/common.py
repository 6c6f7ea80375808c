"""Pages that every kind of study may have besides its own trials: questionnaires, the comprehension check, questions of
the researcher's own, gold items."""

from collections.abc import Sequence

from eqlab.core.design import Batch
from eqlab.core.errors import UsageError
from eqlab.core.forms import Field, Form, Number, Scale, Several, Writing
from eqlab.core.study import OwnQuestion, Study, Tutorial
from eqlab.core.trials import Trial
from eqlab.instruments.catalogue import Instrument
from eqlab.instruments.wording import PARTNER, Wording, scales
from eqlab.study.texts import Texts


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


def own_page(name: str, questions: Sequence[OwnQuestion], told: str, texts: Texts) -> Trial | None:
    """Questions of the researcher's own on one page; None where there are none."""
    if not questions:
        return None
    fields = tuple(_field(one, texts("prefer_not") if one.prefer_not else "") for one in questions)
    return Trial("question", (name,), name, told, Form(fields=fields), "")


def _field(one: OwnQuestion, declined: str) -> Field:
    if one.ask == "one":
        options = (*one.options, *((declined,) if declined else ()))
        return Scale(one.key, one.text, 1, len(options), tuple(enumerate(options, start=1)))
    if one.ask == "several":
        return Several(one.key, one.text, one.options, one.optional, declined)
    if one.ask == "number":
        return Number(one.key, one.text, one.low, one.high, one.optional, declined)
    return Writing(one.key, one.text, optional=one.optional, declined=declined)


def gold_pages(study: Study, batches: Sequence[Batch]) -> tuple[Trial, ...]:
    """Pages with the trials' own form, whose right answer is beyond doubt."""
    if not study.checks.gold:
        return ()
    forms = {trial.form for batch in batches for trial in batch.trials}
    if len(forms) > 1:
        raise UsageError(
            f"Study '{study.id}': its trials have different forms, so that a gold item would stand out.",
            "Delete checks.gold.",
        )
    (form,) = forms
    known = {scale.key: scale for scale in form.scales}
    made = []
    for number, one in enumerate(study.checks.gold, start=1):
        scale = known.get(one.scale or next(iter(known), ""))
        if scale is None or not all(scale.holds(value) for value in one.accept):
            right = f"values from {scale.low} to {scale.high}" if scale else f"a scale of: {', '.join(known) or 'none'}"
            raise UsageError(
                f"Study '{study.id}': checks.gold[{number}] accepts what nobody can answer.", f"Write {right}."
            )
        key = {"accept": {scale.key: list(one.accept)}}
        made.append(Trial("gold", (f"gold{number}",), "gold", one.text, form, "", key=key))
    return tuple(made)
