"""A talk of a simulated person without a server: their turns and the scripted model's, as the room would have them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from eqlab.benchmarks.registry import load
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Turn
from eqlab.core.design import Design
from eqlab.core.messages import Message
from eqlab.core.runs import PERSON
from eqlab.core.studied import Conversing
from eqlab.core.trials import Trial, outgoing
from eqlab.models.talks import place_in_talk
from eqlab.study.kinds.registry import kind_of
from eqlab.study.simulation.personas import Player


@dataclass(frozen=True, slots=True)
class RehearsedTalk:
    turns: tuple[Scored, ...]
    seconds: float


def rehearse_talk(design: Design, player: Player, person: str, arm: str, first: Trial, now: float) -> RehearsedTalk:
    """From the first turn to the end."""
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
            answer = replace(answer, text=text, values=values, at=now + seconds)
        else:
            text = kind.scripted(design.study, arm, _messages(trial))
            read = benchmark.read(trial, text, config.options)
            answer = replace(answer, text=text, values=read.values, status=read.status, model="scripted", latency=0.0)
            heard = text
        turns.append(Turn(trial, answer))
        following = kind.next_turn(design.study, turns)
        trial = None if following is None else place_in_talk(following, turns)
    return RehearsedTalk(tuple(Scored(turn.trial, 0, (turn.answer,)) for turn in turns), seconds)


def _messages(trial: Trial) -> Sequence[Message]:
    return outgoing(trial)
