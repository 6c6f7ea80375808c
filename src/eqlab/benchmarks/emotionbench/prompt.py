"""A questionnaire in words, for a model. Our own words, unless the study's own instruction is asked for: that is
loaded from the published questionnaire file when the run is planned, and never stored here."""

from collections.abc import Mapping, Sequence

from eqlab.core.forms import Scale
from eqlab.core.item_file import filled
from eqlab.instruments.catalogue import Instrument
from eqlab.instruments.wording import Anchors, Wording

SLOT = "SCENARIO"
"""Where a published instruction takes the situation in; for a default measure the slot is a blank."""

PARTNER = "X stands for the person you love and live with."
WORDS: Mapping[str, str] = {
    "imagine": "Put yourself into this situation, as if it were happening to you now, and answer from within it:",
    "feelings_now": "How strongly do you feel each of the {n} feelings below at this moment?",
    "feelings_then": "How strongly do you feel each of the {n} feelings below in this situation?",
    "statements_now": "Read each of the {n} statements below and say what is true for you at this moment.",
    "statements_then": "Read each of the {n} statements below and say what is true for you in this situation.",
    "groups_now": "For each of the {n} groups of answers below, choose the one that is true for you at this moment.",
    "groups_then": (
        "For each of the {n} groups of answers below, choose the one that is true for you in this situation."
    ),
    "partner": PARTNER,
}
"""What stands above the questionnaire, for models and people."""

_AS_WORDS = (
    "Answer with {n} lines and nothing else: on each line the feeling, a colon, a space and a number "
    "from {low} to {high}."
)
_AS_NUMBERS = (
    "Answer with {n} lines and nothing else: on each line the number of the item, a full stop, a space and "
    "your answer, a number from {low} to {high}."
)
_AS_JSON = (
    "Answer with a JSON object and nothing else: the names before the colons as keys, whole numbers "
    "from {low} to {high} as values."
)


def stimulus(situation: str | None, words: Mapping[str, str] = WORDS) -> str:
    """What a person reads above the form."""
    return "" if situation is None else f"{words['imagine']}\n\n{situation}"


def build(
    instrument: Instrument, scales: Sequence[Scale], wording: Wording, situation: str | None, *, structured: bool
) -> str:
    """Our own prompt. `scales` are in the order shown; labels that differ between items stand beside each item, so
    they stay true in any order."""
    shared = wording.shared_anchors
    words = instrument.key == "PANAS"
    asked = asks(instrument, len(scales), evoked=situation is not None)
    how = (_AS_JSON if structured else _AS_WORDS if words else _AS_NUMBERS).format(
        n=len(scales), low=instrument.low, high=instrument.high
    )
    parts = [
        f"{WORDS['imagine']}\n{situation}\n" if situation is not None else "",
        asked,
        f"The numbers mean: {_labels(shared)}." if shared else "",
        how,
        "",
        *(_line(number, scale, shared, structured) for number, scale in enumerate(scales, start=1)),
        "",
        "Your answer:",
    ]
    return "\n".join(part for index, part in enumerate(parts) if part or index > 3)


def build_told(
    told: str,
    instrument: Instrument,
    scales: Sequence[Scale],
    wording: Wording,
    situation: str | None,
    *,
    structured: bool,
) -> str:
    """A user's own words, in whatever language; the items keep their wording."""
    shared = wording.shared_anchors
    items = "\n".join(_line(number, scale, shared, structured) for number, scale in enumerate(scales, start=1))
    low, high = instrument.low, instrument.high
    made = filled(told, situation=situation or "", items=items, low=str(low), high=str(high))
    return f"{made}\n\n{_AS_JSON.format(low=low, high=high)}" if structured else made


def build_published(wording: Wording, scales: Sequence[Scale], slot: str | None) -> str:
    """The study's own prompt, its literal first word included; `slot` is None for the default measure."""
    instruction = wording.instruction.replace(SLOT, " " if slot is None else slot)
    items = "\n".join(f"{number}. {scale.text}" for number, scale in enumerate(scales, start=1))
    return f"Prompt: {instruction}\n{items}"


def asks(instrument: Instrument, n: int, *, evoked: bool, words: Mapping[str, str] = WORDS) -> str:
    """The question over all `n` items."""
    about = {"PANAS": "feelings", "BDI": "groups"}.get(instrument.key, "statements")
    told = words[f"{about}_{'then' if evoked else 'now'}"].format(n=n)
    return f"{told} {words['partner']}" if instrument.key == "MJS" else told


def _line(number: int, scale: Scale, shared: Anchors | None, structured: bool) -> str:
    name = f"{scale.key}: " if structured else f"{number}. "
    labels = "" if shared is not None else f" ({_labels(scale.anchors)})"
    return f"{name}{scale.text}{labels}".rstrip()


def _labels(anchors: Anchors) -> str:
    return "; ".join(f"{value} = {label.rstrip('.')}" for value, label in anchors)
