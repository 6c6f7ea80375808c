"""What a study asks, ready to serve: its batches of trials, the places in them, and each person's own plan.
Pure: a plan follows from the study, the place and the person's seed."""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

from eqlab.core.runs import RunConfig
from eqlab.core.study import Study, told
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass

StepKind = Literal[
    "consent", "question", "instrument", "quiz", "trial", "talk", "attention", "gold", "repeat", "debrief"
]


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
    before: Trial | None = None
    """The researcher's own questions, after the consent."""
    after: Trial | None = None
    """Those before the debriefing."""
    gold: tuple[Trial, ...] = ()
    """Pages like trials, for everybody; the key of each holds the answers that are right: {"accept": {key: [1]}}."""
    talks: tuple[str, ...] = ()
    """Ids of trials with which a talk begins: what follows in it is in no design."""

    @cached_property
    def trials(self) -> Mapping[str, Trial]:
        """Everything that can be asked, by id."""
        asked = [trial for batch in self.batches for trial in batch.trials]
        again = self.again.values()
        others = (*self.own_pages, *self.instruments, *self.quizzes, *self.attention, *self.gold)
        return {trial.id: trial for trial in (*others, *asked, *again)}

    @property
    def own_pages(self) -> tuple[Trial, ...]:
        return tuple(page for page in (self.before, self.after) if page)

    @cached_property
    def again(self) -> Mapping[str, Trial]:
        """By a trial's id the same page once more, as a trial of its own: its answer is none of the benchmark's."""
        if not self.study.checks.repeat:
            return {}
        asked = (trial for batch in self.batches for trial in batch.trials)
        return {one.id: replace(one, benchmark="repeat", key={"repeats": one.id}, prompt="", id="") for one in asked}

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
        common += [trial.id for trial in (*self.own_pages, *self.gold)]
        text = json.dumps([said, asked, common, self.run.id, self.shuffle], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def places(self) -> Iterator[Place]:
        """Every batch has its first place before any has its second, in an order drawn by the study's seed."""
        if self.in_order:
            yield from self._planned_places()
            return
        draw = random.Random(self.study.seed)
        rounds = sorted({batch.round for batch in self.batches})
        number = 0
        for turn in (turn for _ in range(self.study.places.people_per_batch) for turn in rounds):
            order = [batch for batch in self.batches if batch.round == turn]
            draw.shuffle(order)
            for batch in order:
                yield Place(number, batch.arm, batch.number)
                number += 1

    def _planned_places(self) -> Iterator[Place]:
        """Stratum by stratum in permuted blocks: each arm is in a block equally often, until its places are given out
        or the stratum's quota is full. Every batch has its turn before any has it again, whatever the stratum."""
        number, queues = 0, dict[str, Iterator[int]]()
        for stratum, quota in self.quotas:
            draw = random.Random(f"{self.study.seed} {stratum}")
            queues = queues or {arm: self._queue(arm, draw) for arm in self.arms}
            left = dict.fromkeys(self.arms, quota) if quota is not None else self._own_places()
            wanted = sum(left.values()) if quota is None else quota
            while wanted:
                order = [arm for arm in self.arms for _ in range(min(self.study.places.block, left[arm]))]
                draw.shuffle(order)
                for arm in order[:wanted]:
                    yield Place(number, arm, next(queues[arm]))
                    left[arm] -= 1
                    number += 1
                wanted -= len(order[:wanted])

    def _own_places(self) -> dict[str, int]:
        """Places of each arm where no quota says otherwise."""
        batches = Counter(batch.arm for batch in self.batches)
        return {arm: count * self.study.places.people_per_batch for arm, count in batches.items()}

    def _queue(self, arm: str, draw: random.Random) -> Iterator[int]:
        """An arm's batches over and over, each time in another order."""
        batches = [batch for batch in self.batches if batch.arm == arm]
        while True:
            for turn in sorted({batch.round for batch in batches}):
                order = [batch.number for batch in batches if batch.round == turn]
                draw.shuffle(order)
                yield from order

    @property
    def quotas(self) -> tuple[tuple[str, int | None], ...]:
        """(stratum, people) of each; one without a name for everybody where there are no quotas."""
        return self.study.quota.places or (("", None),)

    @property
    def in_order(self) -> bool:
        """Whether places are given out in the order of their numbers, whatever the arm."""
        return bool(self.study.quota.places) or self.study.places.order == "blocks"

    def stratum(self, values: Mapping[str, Any]) -> str | None:
        """Where a person belongs by the answers to the questions before; None where nobody is wanted."""
        name = self.study.quota.question
        if not name or self.before is None:
            return ""
        (scale,) = (one for one in self.before.form.scales if one.key == name)
        label = dict(scale.anchors).get(values.get(name, 0), "")
        return label if label in dict(self.study.quota.places) else None

    def numbers(self, stratum: str) -> range:
        """The numbers of a stratum's places."""
        first = 0
        for name, count in self.quotas:
            size = sum(self._own_places().values()) if count is None else count
            if name == stratum:
                return range(first, first + size)
            first += size
        return range(0)

    def first_steps(self) -> tuple[Step, ...]:
        """What everybody gets before a place is claimed."""
        return (
            Step("consent"),
            *((Step("question", self.before.id),) if self.before else ()),
            *(Step("instrument", trial.id) for trial in self.instruments),
            *(Step("quiz", trial.id) for trial in self.quizzes),
        )

    def own_steps(self, arm: str, batch: int, seed: int) -> tuple[Step, ...]:
        """What one person gets after: the batch in a personal order, with checks spread among it, and the debrief."""
        draw = random.Random(seed)
        trials = list(self.batch(arm, batch).trials)
        if self.shuffle:
            trials = _shuffled(trials, self.batch(arm, batch).blocks, draw)
        steps = [Step("talk" if trial.id in self.talks else "trial", trial.id) for trial in trials]
        steps = self._with_gold(steps, draw)
        for position, trial in _checks(self.attention, self.study.checks.attention, len(steps), draw):
            steps.insert(position, Step("attention", trial.id))
        steps += self._repeated(trials, draw)
        after = (Step("question", self.after.id),) if self.after else ()
        return (*steps, *after, Step("debrief"))

    def _with_gold(self, steps: list[Step], draw: random.Random) -> list[Step]:
        """Among the trials, never first: nobody can tell from the place that a page is one."""
        if not self.gold:
            return steps
        order = list(self.gold)
        draw.shuffle(order)
        for trial in order:
            steps.insert(draw.randrange(1, len(steps) + 1), Step("gold", trial.id))
        return steps

    def _repeated(self, trials: Sequence[Trial], draw: random.Random) -> list[Step]:
        """Trials of the first half, so that others lie between, at the end."""
        early = list(trials[: _first_half(len(trials))])
        count = self.repeats(len(trials))
        return [Step("repeat", self.again[trial.id].id) for trial in (draw.sample(early, count) if count else ())]

    def repeats(self, trials: int) -> int:
        """How many of a batch of so many trials are shown once more."""
        return min(self.study.checks.repeat, _first_half(trials))


def _shuffled(trials: list[Trial], blocks: Sequence[int], draw: random.Random) -> list[Trial]:
    """In one order drawn, or in one for each block."""
    shuffled: list[Trial] = []
    start = 0
    for size in blocks or (len(trials),):
        block = trials[start : start + size]
        draw.shuffle(block)
        shuffled += block
        start += size
    return shuffled


def _checks(choice: Sequence[Trial], count: int, n: int, draw: random.Random) -> list[tuple[int, Trial]]:
    """Where checks stand, last first so that inserting one does not move the others: one in each of `count` equal
    parts, never before the first trial."""
    if not choice or n == 0:
        return []
    order = list(choice)
    draw.shuffle(order)
    checks = []
    for index, trial in enumerate(order[:count]):
        first, after = index * n // count, (index + 1) * n // count
        checks.append((draw.randrange(first, max(after, first + 1)) + 1, trial))
    return sorted(checks, key=lambda one: -one[0])


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


def _first_half(trials: int) -> int:
    return max(1, trials // 2)
