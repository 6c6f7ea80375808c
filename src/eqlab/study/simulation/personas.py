"""Simulated people by their ways: honest, careless, random, leaving and so on. A player says what a persona does on a
page; who carries it out, over HTTP or in memory, is another's affair."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eqlab.core.design import Design
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form, Number, Scale, Several, random_points
from eqlab.core.trials import Trial
from eqlab.study.simulation.minds import Mind, World

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
        """A turn of a talk: values and text as the room keeps them, and the seconds it takes. Careless people talk as
        others do: what they say is not what is measured by their care."""
        said = self.world.turn(self.mind, trial, heard)
        if "emotion" in said:
            return said, json.dumps(dict(said), ensure_ascii=False, sort_keys=True), self._seconds()
        text = str(said["says"])
        return {"words": len(text.split())}, text, self._seconds()

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
