"""Situations become trials: a default measure (the instrument alone) and evoked measures (the same after imagining a
situation), each administration with a fresh item order drawn from a seed that the trial keeps."""

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eqlab.benchmarks.emotionbench.against_people import Norms
from eqlab.benchmarks.emotionbench.factors import KINDS
from eqlab.benchmarks.emotionbench.items import Situation
from eqlab.benchmarks.emotionbench.prompt import build, build_published, build_told, stimulus
from eqlab.benchmarks.spread import spread
from eqlab.core.benchmark import Selection
from eqlab.core.forms import Form, Scale
from eqlab.core.trials import Trial
from eqlab.instruments.catalogue import Instrument
from eqlab.instruments.wording import Wording, scales

BY_PROFILE = {"full": (50, 10), "quick": (3, 1)}
"""(default runs, repeats per situation): as in the study, and small enough for minutes on two slow cores."""
QUICK = {"negative": 4, "neutral": 2, "positive": 2}
"""Situations of each kind in the quick profile."""
_SHARES = {"negative": 2, "neutral": 1, "positive": 1}
"""How a limit is shared out between the kinds."""


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


def numbers(options: Mapping[str, Any], selection: Selection) -> tuple[int, int]:
    """(default runs, repeats per situation): the benchmark's own option, else `--repeats`, else the profile."""
    defaults, repeats = BY_PROFILE.get(selection.profile, BY_PROFILE["full"])
    if selection.repeats is not None:
        repeats = selection.repeats
    asked_defaults, asked_repeats = options["defaults"], options["repeats"]
    return (
        defaults if asked_defaults == "profile" else int(asked_defaults),
        repeats if asked_repeats == "profile" else int(asked_repeats),
    )


def plan(material: Material, options: Mapping[str, Any], selection: Selection) -> Iterator[tuple[Trial, int]]:
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
