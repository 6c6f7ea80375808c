"""What a study asks, ready to serve: its batches of trials, the places in them, and each person's own plan.
Pure: a plan follows from the study, the place and the person's seed."""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from eqlab.core.runs import RunConfig
from eqlab.core.study import Study, told
from eqlab.core.trials import Trial

StepKind = Literal["consent", "instrument", "quiz", "trial", "attention", "debrief"]


@dataclass(frozen=True, slots=True)
class Step:
    """One page of a person's way. Consent and debrief have no trial."""

    kind: StepKind
    trial: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Trials that one person gets together."""

    arm: str
    number: int
    """Unique within the arm."""
    trials: tuple[Trial, ...]
    round: int = 0
    """Batches of a later round are given out after all of an earlier one."""
    blocks: tuple[int, ...] = ()
    """How many trials each block has, where trials are put in a personal order within blocks only."""


@dataclass(frozen=True, slots=True)
class Place:
    """Room for one person in one batch."""

    number: int
    arm: str
    batch: int


@dataclass(frozen=True)
class Design:
    study: Study
    run: RunConfig
    """The run that people's answers belong to."""
    batches: tuple[Batch, ...]
    instruments: tuple[Trial, ...] = ()
    quiz: Trial | None = None
    """The tutorial's comprehension check; its key holds the right answers: {"right": {scale key: value}}."""
    attention: tuple[Trial, ...] = ()
    """Instructed checks to draw from, at least as many as a person gets; the key of each holds what was asked for,
    like the quiz's."""
    shuffle: bool = True
    """Whether a batch is put in a personal order; not where trials follow from each other."""

    @cached_property
    def trials(self) -> Mapping[str, Trial]:
        """Everything that can be asked, by id."""
        asked = [trial for batch in self.batches for trial in batch.trials]
        return {trial.id: trial for trial in (*self.instruments, *self.quizzes, *self.attention, *asked)}

    @property
    def quizzes(self) -> tuple[Trial, ...]:
        return (self.quiz,) if self.quiz else ()

    @cached_property
    def arms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(batch.arm for batch in self.batches))

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Places of each arm."""
        return Counter(place.arm for place in self.places())

    @cached_property
    def _by_place(self) -> Mapping[tuple[str, int], Batch]:
        return {(batch.arm, batch.number): batch for batch in self.batches}

    def batch(self, arm: str, number: int) -> Batch:
        return self._by_place[arm, number]

    @cached_property
    def sha256(self) -> str:
        """Of everything that people are asked and told: a study that has begun may not change it. The analysis plan is
        not part of it; `lock` freezes that."""
        said = told(self.study)
        for free in ("analysis", "pay", "panel"):
            del said[free]
        asked = [[batch.arm, batch.number, [trial.id for trial in batch.trials]] for batch in self.batches]
        common = [trial.id for trial in (*self.instruments, *self.quizzes, *self.attention)]
        text = json.dumps([said, asked, common, self.run.id, self.shuffle], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def places(self) -> Iterator[Place]:
        """Every batch has its first place before any has its second, in an order drawn by the study's seed."""
        draw = random.Random(self.study.seed)
        rounds = sorted({batch.round for batch in self.batches})
        number = 0
        for turn in (turn for _ in range(self.study.places.people_per_batch) for turn in rounds):
            order = [batch for batch in self.batches if batch.round == turn]
            draw.shuffle(order)
            for batch in order:
                yield Place(number, batch.arm, batch.number)
                number += 1

    def first_steps(self) -> tuple[Step, ...]:
        """What everybody gets before a place is claimed."""
        return (
            Step("consent"),
            *(Step("instrument", trial.id) for trial in self.instruments),
            *(Step("quiz", trial.id) for trial in self.quizzes),
        )

    def own_steps(self, arm: str, batch: int, seed: int) -> tuple[Step, ...]:
        """What one person gets after: the batch in a personal order, with checks spread among it, and the debrief."""
        draw = random.Random(seed)
        trials = list(self.batch(arm, batch).trials)
        if self.shuffle:
            trials = _shuffled(trials, self.batch(arm, batch).blocks, draw)
        steps = [Step("trial", trial.id) for trial in trials]
        for position, trial in _checks(self.attention, self.study.checks.attention, len(steps), draw):
            steps.insert(position, Step("attention", trial.id))
        return (*steps, Step("debrief"))


def _shuffled(trials: list[Trial], blocks: Sequence[int], draw: random.Random) -> list[Trial]:
    """In one order drawn, or in one for each block."""
    found: list[Trial] = []
    start = 0
    for size in blocks or (len(trials),):
        own = trials[start : start + size]
        draw.shuffle(own)
        found += own
        start += size
    return found


def _checks(choice: Sequence[Trial], count: int, n: int, draw: random.Random) -> list[tuple[int, Trial]]:
    """Where checks stand, last first so that inserting one does not move the others: one in each of `count` equal
    parts, never before the first trial."""
    if not choice or n == 0:
        return []
    order = list(choice)
    draw.shuffle(order)
    found = []
    for index, trial in enumerate(order[:count]):
        first, after = index * n // count, (index + 1) * n // count
        found.append((draw.randrange(first, max(after, first + 1)) + 1, trial))
    return sorted(found, key=lambda one: -one[0])


def steps_to_json(steps: Sequence[Step]) -> str:
    return json.dumps([[step.kind, step.trial] for step in steps])


def steps_from_json(text: str) -> tuple[Step, ...]:
    return tuple(Step(kind, trial) for kind, trial in json.loads(text))


def choose_arm(
    open_places: Mapping[str, int], arms: Sequence[str], seed: int, sizes: Mapping[str, int] | None = None
) -> str | None:
    """The arm with most open places; ties by a draw with the person's seed. None when nothing is open. Where arms have
    different `sizes` it is the largest open share, so that no arm is filled before the others."""
    open_share = {arm: open_places.get(arm, 0) / (sizes or {}).get(arm, 1) for arm in arms}
    most = max(open_share.values(), default=0)
    if most == 0:
        return None
    return random.Random(f"{seed} arm").choice([arm for arm in arms if open_share[arm] == most])


def personal_seed(study_seed: int, person: str) -> int:
    digest = hashlib.sha256(f"{study_seed}\0{person}".encode()).digest()
    return int.from_bytes(digest[:6], "big")
