"""Situations become trials: a default measure (the instrument alone) and evoked measures (the same after imagining a
situation), each administration with a fresh item order drawn from a seed that the trial keeps. The words are our own,
unless the study's instruction is asked for: that is loaded when the run is planned, and never stored here."""

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eqlab.benchmarks.common.selection import spread
from eqlab.benchmarks.emotionbench.items import EmotionBenchOptions, Situation
from eqlab.benchmarks.emotionbench.measures import KINDS
from eqlab.benchmarks.emotionbench.views import Norms
from eqlab.core.benchmark import Selection
from eqlab.core.forms import Form, Scale
from eqlab.core.item_file import filled
from eqlab.core.trials import Trial
from eqlab.instruments.catalogue import Instrument
from eqlab.instruments.wording import PARTNER, Anchors, Wording, scales

BY_PROFILE = {"full": (50, 10), "quick": (3, 1)}
"""(default runs, repeats per situation): as in the study, and small enough for minutes on two slow cores."""
QUICK = {"negative": 4, "neutral": 2, "positive": 2}
"""Situations of each kind in the quick profile."""
_SHARES = {"negative": 2, "neutral": 1, "positive": 1}
"""How a limit is shared out between the kinds."""

SLOT = "SCENARIO"
"""Where a published instruction takes the situation in; for a default measure the slot is a blank."""

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


@dataclass(frozen=True, slots=True)
class Material:
    """What the trials of one run are made of."""

    instrument: Instrument
    wording: Wording
    situations: tuple[Situation, ...]
    lead: str = ""
    """The published sentence before a situation; set if the published prompt is used."""
    norms: Norms | None = None
    instruction: str = ""
    """A user's own words over a situation's questionnaire; empty: ours."""
    before: str = ""
    """The same before any situation."""


def numbers(options: EmotionBenchOptions, selection: Selection) -> tuple[int, int]:
    """(default runs, repeats per situation): the benchmark's own option, else `--repeats`, else the profile."""
    defaults, repeats = BY_PROFILE.get(selection.profile, BY_PROFILE["full"])
    if selection.repeats is not None:
        repeats = selection.repeats
    asked_defaults, asked_repeats = options.defaults, options.repeats
    return (
        defaults if asked_defaults == "profile" else int(asked_defaults),
        repeats if asked_repeats == "profile" else int(asked_repeats),
    )


def plan(material: Material, options: EmotionBenchOptions, selection: Selection) -> Iterator[tuple[Trial, int]]:
    """Default runs first, then every situation once, then again: a run that stops early has seen all situations."""
    defaults, repeats = numbers(options, selection)
    for repeat in range(defaults):
        yield build_trial(material, None, repeat, selection), repeat
    situations = select(material.situations, selection)
    for repeat in range(repeats):
        for situation in situations:
            yield build_trial(material, situation, repeat, selection), repeat


def select(situations: Sequence[Situation], selection: Selection) -> list[Situation]:
    """All situations; in the quick profile, or under a limit, some of each kind, spread over factors and emotions."""
    by_kind = {kind: [s for s in situations if s.kind == kind] for kind in KINDS}
    if selection.limit is not None:
        counts = _share(selection.limit, {kind: len(own) for kind, own in by_kind.items()})
    elif selection.profile == "quick":
        counts = QUICK
    else:
        counts = {kind: len(own) for kind, own in by_kind.items()}
    return [situation for kind in KINDS for situation in spread(by_kind[kind], counts[kind])]


def _share(limit: int, available: Mapping[str, int]) -> dict[str, int]:
    """A limit shared out 2 : 1 : 1, what a kind lacks going to the others."""
    counts = dict.fromkeys(available, 0)
    while sum(counts.values()) < min(limit, sum(available.values())):
        open_kinds = [kind for kind in counts if counts[kind] < available[kind]]
        counts[min(open_kinds, key=lambda kind: (counts[kind] / _SHARES[kind], -_SHARES[kind]))] += 1
    return counts


def build_trial(material: Material, situation: Situation | None, repeat: int, selection: Selection) -> Trial:
    item = situation.id if situation else "default"
    condition = "evoked" if situation else "default"
    seed = order_seed(selection.seed, material.instrument.key, item, repeat)
    shown = shuffled(scales(material.instrument, material.wording), seed)
    text = situation.text if situation else None
    published = bool(material.lead) and not selection.structured and material.wording.shared_anchors is not None
    if published:
        slot = f'{material.lead} "{text}"' if situation else None
        prompt = build_published(material.wording, shown, slot)
    elif material.instruction:
        told = material.instruction if situation else material.before
        prompt = build_told(told, material.instrument, shown, material.wording, text, structured=selection.structured)
    else:
        prompt = build(material.instrument, shown, material.wording, text, structured=selection.structured)
    return Trial(
        benchmark="emotionbench",
        items=(item,),
        condition=condition,
        stimulus=stimulus(text),
        form=Form(shown),
        prompt=prompt,
        system=material.wording.system if published else "",
        mode="json" if selection.structured else "text",
        order_seed=seed,
        key={"instrument": material.instrument.key, **_key(situation), **_people(material.norms, situation)},
    )


def order_seed(seed: int, instrument: str, item: str, repeat: int) -> int:
    """A number of its own for every administration, the same in every run with the same seed."""
    digest = hashlib.sha256(f"{seed}\0{instrument}\0{item}\0{repeat}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


def shuffled(items: Sequence[Scale], seed: int) -> tuple[Scale, ...]:
    order = list(items)
    random.Random(seed).shuffle(order)
    return tuple(order)


def _key(situation: Situation | None) -> dict[str, Any]:
    if situation is None:
        return {}
    return {"emotion": situation.emotion, "factor_index": situation.factor_index, "factor": situation.factor}


def _people(norms: Norms | None, situation: Situation | None) -> dict[str, Any]:
    """What is known of people: their default mood with the default, their change with a situation of its factor."""
    if norms is None:
        return {}
    if situation is None:
        default = {name: [sample.n, sample.mean, sample.sd] for name, sample in norms.default.items()}
        return {"people": {"default": default, "reliability": dict(norms.reliability)}}
    place = (situation.emotion, situation.factor_index)
    own = [norm for norm in norms.factors if (norm.emotion, norm.factor_index) == place]
    return {"people": [[n.subscale, n.n, n.default, n.change, n.sd] for n in own]} if own else {}


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
