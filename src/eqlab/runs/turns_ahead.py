"""What a talk may still ask: it is played through with made-up replies of a given length, so that every turn is counted
with all that was said before it. The rule that lets the real talk go on lets this one go on too."""

from collections.abc import Callable, Iterator, Sequence

from eqlab.core.answers import Answer
from eqlab.core.benchmark import Foreseen, Talks, Turn
from eqlab.core.trials import Trial
from eqlab.models.runner import Asked
from eqlab.models.talks import next_trial

_MOST = 1000
"""Turns after which nobody counts on: a benchmark that never ends a talk is a fault of its own."""
_WORD = "words "


def turns_ahead(
    asked: Asked, before: Sequence[Turn], trial: Trial, characters: Callable[[Trial], int]
) -> Iterator[Trial]:
    """The trial, and those that follow if the talk goes on as long as it can, each reply of so many characters."""
    yield trial
    benchmark = asked.benchmark
    if not isinstance(benchmark, Talks):
        return
    turns = list(before)
    following: Trial | None = trial
    while following is not None and len(turns) < _MOST:
        turns.append(Turn(following, _supposed(asked, following, characters(following))))
        following = next_trial(benchmark, turns, asked.options)
        if following is not None:
            yield following


def _supposed(asked: Asked, trial: Trial, characters: int) -> Answer:
    benchmark, options = asked.benchmark, asked.options
    text = benchmark.supposed(trial, options, characters) if isinstance(benchmark, Foreseen) else _filler(characters)
    reading = benchmark.read(trial, text, options)
    return Answer("", trial.id, "", 0, 1, text, reading.status, reading.values)


def _filler(characters: int) -> str:
    return (_WORD * (characters // len(_WORD) + 1))[: max(characters, 1)].strip() or "w"
