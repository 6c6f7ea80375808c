"""Talks as a store has them: which are not over, what was said in them, and what follows from it. The same answers lead
to the same next turn, so a run that was killed goes on in the middle of every talk."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from eqlab.core.answers import Answer, final, outcomes, stands
from eqlab.core.benchmark import Benchmark, Scored, Talks, Turn
from eqlab.core.trials import Trial
from eqlab.models.talks import TalkKey, next_trial, talk_key


@dataclass(slots=True)
class OpenTalks:
    turns: dict[TalkKey, list[Turn]] = field(default_factory=dict)
    """Of talks that have begun and are not over: the turns that are answered."""
    passed: set[tuple[str, int]] = field(default_factory=set)
    """(trial, repeat) without a good answer that the talk went on from."""
    following: list[tuple[str, Trial, int]] = field(default_factory=list)
    """(benchmark, trial, repeat) that come next and are not planned yet."""


def open_talks(name: str, benchmark: Benchmark, options: Mapping[str, Any], scored: Iterable[Scored]) -> OpenTalks:
    """What is open among the trials of one subject. Nothing where a benchmark has no talks."""
    found = OpenTalks()
    if not isinstance(benchmark, Talks):
        return found
    planned: dict[TalkKey, list[Scored]] = {}
    for one in scored:
        planned.setdefault(talk_key(name, one.trial, one.repeat), []).append(one)
    for key, talk in planned.items():
        talk.sort(key=lambda one: one.trial.turn)
        turns = _answered(talk, benchmark, options)
        for turn in turns[: len(talk) - 1]:
            if turn.answer.status != "ok":
                found.passed.add((turn.trial.id, key[2]))
        if len(turns) == len(talk):
            trial = next_trial(benchmark, turns, options)
            if trial is None:
                continue
            found.following.append((name, trial, key[2]))
        if turns:
            found.turns[key] = turns
    return found


def _answered(talk: list[Scored], benchmark: Any, options: Mapping[str, Any]) -> list[Turn]:
    """The turns up to the first that still waits for an answer; one that was gone on from waits no more."""
    turns = []
    for number, one in enumerate(talk, start=1):
        answer = final(one.attempts)
        if answer is None or not (number < len(talk) or _is_final(one, answer, benchmark, options)):
            break
        turns.append(Turn(one.trial, answer))
    return turns


def _is_final(one: Scored, answer: Answer, benchmark: Benchmark, options: Mapping[str, Any]) -> bool:
    if stands(outcomes(one.attempts)):
        return True  # what a provider refused stands: it is not asked again, and the talk goes on from it
    failed = sum(attempt.status in ("unparseable", "refused") for attempt in one.attempts)
    return failed >= benchmark.asking(one.trial, options).tries
