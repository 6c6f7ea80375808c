"""Simulated people: minds that answer as people would if a known effect were true, and personas (honest, careless,
leaving and so on). A player says what a persona does on a page, over HTTP or in memory. Seeded."""

import json
import random
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from eqlab.core.design import Design
from eqlab.core.errors import UsageError
from eqlab.core.forms import Field, Form, Number, Scale, Several, even_points, random_points
from eqlab.core.studied import TalkingPeople, Truth
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.core.words import count_words
from eqlab.study.kinds import find_kind

_SAID = ("I", "found", "it", "easy", "to", "follow", "and", "would", "take", "part", "again", "soon")


@dataclass(frozen=True, slots=True)
class Mind:
    """One simulated person: what they are like, and the dice for every answer."""

    draw: random.Random
    person: Any
    """What the kind of study has drawn of them."""
    trait: float
    """Of questionnaires about oneself, in SD."""


class World:
    """A study's questions with the truth about them. The kind of study knows its own trials; what every study asks
    (quiz, instructed items, questionnaires, questions about oneself) is answered here."""

    def __init__(self, design: Design, truth: Truth, seed: int) -> None:
        kind = find_kind(design.study.kind)
        self._benchmark = kind.form().benchmark
        self._people = kind.simulated(design, truth, seed)
        self._asked = {trial.id: trial for batch in design.batches for trial in batch.trials}

    def mind(self, seed: str) -> Mind:
        draw = random.Random(seed)
        return Mind(draw, self._people.person(draw), draw.gauss(0.0, 1.0))

    def turn(self, mind: Mind, trial: Trial, heard: str) -> Mapping[str, Any]:
        """What somebody says in a talk to the words they heard last."""
        if not isinstance(self._people, TalkingPeople):
            raise UsageError("Simulated people of this kind of study do not talk.", "Simulate another kind.")
        return self._people.turn(mind.person, trial, heard, mind.draw)

    def answer(self, mind: Mind, trial: Trial) -> Mapping[str, Any]:
        """What an attentive person answers; the right thing where there is one."""
        if "right" in trial.key:
            return {**_middling(trial), **trial.key["right"]}
        if trial.benchmark == self._benchmark:
            return self._people.answer(mind.person, trial, mind.draw)
        if "accept" in trial.key:
            return {**_middling(trial), **{key: some[0] for key, some in trial.key["accept"].items()}}
        if "repeats" in trial.key:
            return self.answer(mind, self._asked[trial.key["repeats"]])
        if trial.benchmark == "question":
            return {one.key: _any_fact(mind, one) for one in trial.form.fields}
        return {scale.key: _by_trait(mind, scale) for scale in trial.form.scales}


def _middling(trial: Trial) -> dict[str, Any]:
    if trial.form.total is not None:
        return dict(even_points(trial.form))
    return {scale.key: (scale.low + scale.high) // 2 for scale in trial.form.scales}


def _any_fact(mind: Mind, one: Field) -> Any:
    """A fact about somebody: one is as likely as another."""
    if isinstance(one, Scale):
        return mind.draw.randint(one.low, one.high)
    if isinstance(one, Several):
        return sorted(mind.draw.sample(range(1, len(one.options) + 1), mind.draw.randint(1, len(one.options))))
    if isinstance(one, Number):
        return round(mind.draw.uniform(one.low, one.high))
    return " ".join(mind.draw.choices(_SAID, k=max(one.least_words, 5)))


def _by_trait(mind: Mind, scale: Scale) -> int:
    middle, width = (scale.low + scale.high) / 2, (scale.high - scale.low) / 4
    sign = -1.0 if scale.reverse else 1.0
    value = middle + width * (sign * (0.5 + mind.trait) * 0.8 + mind.draw.gauss(0.0, 0.8))
    return min(max(round(value), scale.low), scale.high)


PERSONAS: Mapping[str, str] = {
    "honest": "reads and answers by the truth that was put in",
    "careless": "gives one answer everywhere, fast",
    "random": "answers by lot",
    "leaving": "honest, but closes the page for good somewhere on the way",
    "declining": "does not consent",
    "second-try": "honest, gets the comprehension check wrong once",
    "failing": "gets the comprehension check wrong as often as allowed",
    "returning": "honest, goes on after a break on another device, through the panel's link",
    "impatient": "honest, reloads every page and posts it twice",
}
MIX: Mapping[str, float] = {
    "honest": 70, "careless": 6, "random": 4, "leaving": 8, "declining": 2,
    "second-try": 3, "failing": 1, "returning": 3, "impatient": 3,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Act:
    """What somebody does on a page: answer it, or leave."""

    values: Mapping[str, Any] | None
    """None: leaves. Empty where there is nothing to fill in."""
    seconds: float
    """How long they look at the page before."""
    agree: bool = True


LEAVES = Act(None, 0.0)


@dataclass(frozen=True, slots=True)
class Player:
    """One simulated person on their way."""

    number: int
    persona: str
    world: World
    mind: Mind
    leaves_at: int | None
    """The page at which a leaving persona closes it."""
    breaks_at: int | None
    """The page before which a returning persona changes the device."""
    least_seconds: float
    same: dict[str, int] = field(default_factory=dict)
    """A careless persona's one position, drawn once."""

    def act(self, kind: str, trial: Trial | None, number: int, attempt: int) -> Act:
        if number == self.leaves_at:
            return LEAVES
        if kind == "consent":
            return Act({}, self._seconds(), self.persona != "declining")
        if trial is None:
            return Act({}, self._seconds())
        if kind == "quiz":
            wrong = self.persona == "failing" or (self.persona == "second-try" and attempt == 1)
            return Act(_wrong(trial) if wrong else self.world.answer(self.mind, trial), self._seconds())
        if self.persona == "careless":
            return Act({**about_nothing(trial.form, self.mind.draw), **self._one_way(trial.form)}, self._seconds())
        if self.persona == "random":
            return Act(about_nothing(trial.form, self.mind.draw), self._seconds())
        return Act(self.world.answer(self.mind, trial), self._seconds())

    def talk(self, trial: Trial, heard: str) -> tuple[Mapping[str, Any], str, float]:
        """A turn of a talk: values and text as the store keeps them, and the seconds it takes. Careless people talk as
        others do: what they say is not what is measured by their care."""
        said = self.world.turn(self.mind, trial, heard)
        if "emotion" in said:
            return said, json.dumps(dict(said), ensure_ascii=False, sort_keys=True), self._seconds()
        text = str(said["says"])
        return {"words": count_words(text)}, text, self._seconds()

    def _one_way(self, form: Form) -> dict[str, int]:
        """The same end of every scale; where points are dealt out, all of them to the first or the last."""
        last = bool(self.same.setdefault("position", self.mind.draw.choice((0, 1))))
        if form.total is None:
            return {scale.key: scale.high if last else scale.low for scale in form.scales}
        return {scale.key: form.total * (scale is form.scales[-last]) for scale in form.scales}

    def _seconds(self) -> float:
        if self.persona == "careless":
            return self.mind.draw.uniform(0.1, 0.9) * min(self.least_seconds, 1.0)
        return self.least_seconds * (1.5 + self.mind.draw.expovariate(0.5)) + 1.0


def about_nothing(form: Form, draw: random.Random) -> dict[str, Any]:
    """Values that fill in a form and mean nothing."""
    found: dict[str, Any] = {} if form.total is None else dict(random_points(form, draw))
    for one in form.fields:
        if isinstance(one, Scale):
            found.setdefault(one.key, draw.randint(one.low, one.high))
        elif isinstance(one, Several):
            found[one.key] = [draw.randint(1, len(one.options))]
        elif isinstance(one, Number):
            found[one.key] = round(draw.uniform(one.low, one.high))
        else:
            found[one.key] = " ".join(["asdf"] * max(one.least_words, 1))
    return found


def _wrong(trial: Trial) -> dict[str, Any]:
    right = trial.key["right"]
    return {s.key: s.low if right[s.key] != s.low else s.high for s in trial.form.scales}


def players(design: Design, world: World, people: int, mix: Mapping[str, float], seed: int) -> list[Player]:
    """So many simulated people in the order of their coming; the same for the same seed."""
    names = deal(people, mix, seed)
    first = len(design.first_steps())
    found = []
    for number, name in enumerate(names):
        draw = random.Random(f"{seed} way {number}")
        last = first + min(len(batch.trials) for batch in design.batches)
        leaves = draw.randrange(1, last + 1) if name == "leaving" else None
        breaks = draw.randrange(1, last + 1) if name == "returning" else None
        mind = world.mind(f"{seed} mind {number}")
        found.append(Player(number, name, world, mind, leaves, breaks, design.study.checks.least_seconds))
    return found


def deal(people: int, mix: Mapping[str, float], seed: int) -> list[str]:
    """Personas in the mix's proportions, as exactly as whole people allow (largest remainders), shuffled."""
    total = sum(mix.values())
    exact = {name: people * share / total for name, share in mix.items()}
    counts = {name: int(share) for name, share in exact.items()}
    short = people - sum(counts.values())
    for name in sorted(exact, key=lambda name: (counts[name] - exact[name], name))[:short]:
        counts[name] += 1
    names = [name for name, count in counts.items() for _ in range(count)]
    random.Random(f"{seed} personas").shuffle(names)
    return names


def read_mix(pairs: Mapping[str, str]) -> dict[str, float]:
    """Shares by persona from text; those not named do not come."""
    found = {}
    for name, text in pairs.items():
        if name not in PERSONAS:
            raise UsageError(f"There is no persona '{name}'.", f"There are: {', '.join(PERSONAS)}.")
        try:
            share = float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share < 1e6:
            raise UsageError(f"--mix {name}={text}: this is not a share.", "Write a number, e.g. honest=70.")
        found[name] = share
    if found and not sum(found.values()):
        raise UsageError("--mix leaves nobody.", "Give at least one persona a share above 0.")
    return found or dict(MIX)
