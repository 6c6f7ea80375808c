"""Talks: trials whose answers may lead to another question.

Talks advance independently: each turn is asked as soon as the one before it is answered, and a talk that is slow holds
up no other. The same answers lead to the same next turn, so a run that was killed goes on within every talk."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from eqlab.core.answers import FAILED_READINGS, Answer, final, outcomes, stands
from eqlab.core.benchmark import Benchmark, Scored, Talks, Turn
from eqlab.core.trials import Trial
from eqlab.store.store import NextTurn, Planned

_OPEN = 4
"""Talks under way for each request at once: enough that none of them must wait for the others at the end of a run, and
few enough that memory does not grow with the run."""
TalkKey = tuple[str, str, int]
"""Benchmark, id of the first trial, repeat."""


@dataclass(slots=True)
class Talking:
    """The talks of one session. Trials of other benchmarks pass through."""

    run: str
    subject: str
    asked: Mapping[str, tuple[Benchmark, Mapping[str, Any]]]
    put_turn: Callable[[NextTurn], None]
    turns: dict[TalkKey, list[Turn]] = field(default_factory=dict)
    """What was said so far in talks that are not over."""
    passed: set[tuple[str, int]] = field(default_factory=set)
    """(trial, repeat) that the talk has gone on from, although no answer to it could be read."""
    planned: int = 0
    """Trials that the run had planned for the subject when the session began: those after are its own next turns, which
    it asks without reading them back."""
    _ready: deque[Planned] = field(default_factory=deque, init=False)
    _under_way: set[TalkKey] = field(default_factory=set, init=False)
    _last: dict[tuple[str, int], Answer] = field(default_factory=dict, init=False)
    _changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def talks(self, planned: Planned) -> bool:
        return isinstance(self.asked[planned.benchmark][0], Talks)

    def heard(self, answer: Answer) -> None:
        """Told of every answer of the session, before it is stored."""
        self._last[answer.trial, answer.repeat] = answer

    async def take(self, waiting: Iterator[Planned], at_once: int) -> Planned | None:
        """The next trial: new talks first until enough are open, then whichever turn has waited longest. None when
        nothing is left and nothing under way can lead to more."""
        while True:
            if len(self._under_way) < _OPEN * at_once:
                planned = next((one for one in waiting if not self._is_old(one)), None)
                if planned is not None:
                    if self.talks(planned):
                        self._under_way.add(talk_key(planned.benchmark, planned.trial, planned.repeat))
                    return planned
            if self._ready:
                return self._ready.popleft()
            if not self._under_way:
                return None
            self._changed.clear()
            await self._changed.wait()

    def _is_old(self, planned: Planned) -> bool:
        return planned.position >= self.planned or (planned.trial.id, planned.repeat) in self.passed

    def over(self, planned: Planned, ending: bool) -> None:
        """A trial has been asked for as long as it could be: go on with its talk, if it is one and goes on."""
        answer = self._last.pop((planned.trial.id, planned.repeat), None)
        if not self.talks(planned):
            return
        key = talk_key(planned.benchmark, planned.trial, planned.repeat)
        self._under_way.discard(key)
        if answer is not None and (answer.status == "ok" or (answer.answered and not ending)):
            following = self._next(key, planned, answer)
            if following is None:
                self.turns.pop(key, None)
            else:
                self._under_way.add(key)
                self._ready.append(following)
        self._changed.set()

    def give_up(self) -> None:
        """Nobody waits any longer for what was under way."""
        self._under_way.clear()
        self._ready.clear()
        self._changed.set()

    def _next(self, key: TalkKey, planned: Planned, answer: Answer) -> Planned | None:
        benchmark, options = self.asked[planned.benchmark]
        turns = self.turns.setdefault(key, [])
        turns.append(Turn(planned.trial, answer))
        if not isinstance(benchmark, Talks) or (trial := next_trial(benchmark, turns, options)) is None:
            return None
        self.put_turn(NextTurn(self.run, self.subject, planned.benchmark, trial, planned.repeat))
        return Planned(-1, planned.benchmark, trial, planned.repeat, 0, 0, False)


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
    failed = sum(attempt.status in FAILED_READINGS for attempt in one.attempts)
    return failed >= benchmark.asking(one.trial, options).tries


def talk_key(benchmark: str, trial: Trial, repeat: int) -> TalkKey:
    return benchmark, trial.talk or trial.id, repeat


def next_trial(benchmark: Talks, turns: Sequence[Turn], options: Mapping[str, Any]) -> Trial | None:
    """What follows in a talk, with its place in it filled in."""
    found = benchmark.next_turn(turns, options)
    return None if found is None else place_in_talk(found, turns)


def place_in_talk(trial: Trial, turns: Sequence[Turn]) -> Trial:
    return replace(trial, talk=turns[0].trial.id, turn=len(turns), id="")
