"""Simulated people without a server: the same personas on the same plans, straight to the analysis. For many
repetitions, where the server has been walked once and only the analysis is in question."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from eqlab.benchmarks.registry import load
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Turn
from eqlab.core.design import Design, Step, choose_arm, personal_seed
from eqlab.core.moves import State
from eqlab.core.runs import PERSON
from eqlab.core.studied import Conversing
from eqlab.core.trials import Trial, outgoing
from eqlab.models.runner import place_in_talk
from eqlab.study.kinds.registry import kind_of
from eqlab.study.results.participants import Given, Participant, Participants, participant
from eqlab.study.simulation.personas import Player

_START = 1_000_000.0


class _Places:
    """Open places by arm, in the order in which a participation gives them out. Nobody here comes back late."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._arms = design.arms
        self._open: dict[str, list[int]] = {arm: [] for arm in design.arms}
        self._queues: dict[str, list[tuple[str, int]]] = {}
        places = list(design.places())
        for place in places:
            self._open[place.arm].append(place.batch)
        if design.in_order:
            for stratum, _ in design.quotas:
                own = design.numbers(stratum)
                self._queues[stratum] = [(place.arm, place.batch) for place in places[own.start : own.stop]]

    @property
    def left(self) -> bool:
        return any(self._queues.values()) if self._queues else any(self._open.values())

    def claim(self, seed: int, values: Mapping[str, Any]) -> tuple[str, int] | None:
        """`values`: what the person answered to the questions before."""
        if self._queues:
            queue = self._queues.get(self._design.stratum(values) or "", [])
            return queue.pop(0) if queue else None
        arm = choose_arm({arm: len(own) for arm, own in self._open.items()}, self._arms, seed)
        return None if arm is None else (arm, self._open[arm].pop(0))


def rehearse(design: Design, players: Sequence[Player]) -> Participants:
    """Everybody one after the other, as if each were quick enough to keep their place."""
    places = _Places(design)
    return Participants(tuple(_walk(design, places, player) for player in players), ())


def _walk(design: Design, places: _Places, player: Player) -> Participant:
    person = f"sim{player.number:06d}"
    seed = personal_seed(design.study.seed, person)
    steps: tuple[Step, ...] = design.first_steps()
    given: list[Given] = []
    number, attempt, now = 0, 1, _START
    state: State = "arrived" if places.left else "full"
    held: tuple[str, int] | None = None
    consented = False
    values_before: Mapping[str, Any] = {}
    turns: list[Scored] = []
    while state in ("arrived", "taking"):
        step = steps[number]
        trial = design.trials.get(step.trial)
        if step.kind == "talk" and trial is not None and held is not None and number != player.leaves_at:
            talked, seconds = _talk(design, player, person, held[0], trial, now)
            turns += talked
            now += seconds
            given.append(Given(number, "talk", trial, 1, talked[0].attempts[0].values, None, 0.0, now))
            number += 1
            continue
        act = player.act(step.kind, trial, number, attempt)
        if act.values is None:
            break
        now += act.seconds
        if step.kind == "consent" and not act.agree:
            state = "declined"
            break
        consented = True
        if step.kind == "question" and held is None:
            values_before = act.values
        if trial is not None:
            given.append(Given(number, step.kind, trial, attempt, act.values, act.seconds, 0.0, now))
            if step.kind == "quiz" and act.values != trial.key["right"]:
                if attempt >= design.study.tutorial.tries:
                    state = "failed"
                attempt += 1
                continue
        if step.kind == "debrief":
            state = "finished"
            break
        number, attempt = number + 1, 1
        if number == len(steps):
            held = places.claim(seed, values_before)
            if held is None:
                state = "full"
                break
            state = "taking"
            steps = (*steps, *design.own_steps(*held, seed))
    return participant(
        design,
        person=person,
        state=state,
        held=held,
        page=number,
        steps=steps,
        times=(_START, _START if consented else None, now if held else None, now),
        given=given,
        turns=turns,
    )


def _talk(
    design: Design, player: Player, person: str, arm: str, first: Trial, now: float
) -> tuple[list[Scored], float]:
    """A talk from the first turn to the end, the person's turns and the scripted model's; and the seconds it took."""
    kind = kind_of(design.study)
    (config,) = design.run.benchmarks
    benchmark = load(config.name)
    turns: list[Turn] = []
    trial: Trial | None = first
    heard, seconds = "", 0.0
    while trial is not None and isinstance(kind, Conversing):
        answer = Answer(design.run.id, trial.id, f"{PERSON}{person}", 0, 1, "", "ok", at=now + seconds)
        if kind.of_person(design.study, trial):
            values, text, took = player.talk(first, heard)
            seconds += took
            answer = structs.replace(answer, text=text, values=values, at=now + seconds)
        else:
            text = kind.scripted(design.study, arm, outgoing(trial))
            read = benchmark.read(trial, text, config.options)
            answer = structs.replace(
                answer, text=text, values=read.values, status=read.status, model="scripted", latency=0.0
            )
            heard = text
        turns.append(Turn(trial, answer))
        following = kind.next_turn(design.study, turns)
        trial = None if following is None else place_in_talk(following, turns)
    return [Scored(turn.trial, 0, (turn.answer,)) for turn in turns], seconds
