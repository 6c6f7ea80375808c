"""Talks as they were held: stored turns put together, with what was said, felt and decided. An end is worked out by the
same rule that let the talk go on."""

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Literal

import msgspec

from eqlab.benchmarks.dialogue.trials import PERSON, End, end_of
from eqlab.core.answers import final
from eqlab.core.benchmark import ReplyRow, Scored, Turn
from eqlab.core.runs import PERSON as PEOPLES
from eqlab.core.values import dataclass

Outcome = Literal["success", "failure", "open", ""]
_OUTCOMES: dict[End, Outcome] = {
    "satisfied": "success", "hurt": "failure", "silence": "failure", "turns": "open", "left": "open",
}  # fmt: skip


class Said(msgspec.Struct, frozen=True, gc=False):
    seat: Literal["speaker", "listener"]
    text: str
    emotion: int | None = None
    """The speaker's, after the reply before."""
    feeling: str = ""


@dataclass(frozen=True, slots=True)
class Talked:
    persona: str
    title: str
    kind: str
    topic: str
    speaker: str
    repeat: int
    trial: str
    """Id of the first trial."""
    start: int
    said: tuple[Said, ...]
    end: End
    """Empty: it is not over."""
    attempts: int = 0
    listener: str = ""
    """Who listened, where a run's talks have several listeners: people, or models that people talked with."""
    arm: str = ""
    person: str = ""
    """The subject of the person who took part, where one did."""
    opened: bool = True
    """False where a person ended the talk before they told how they felt: `start` is nobody's feeling then."""
    course: tuple[int, ...] = field(init=False)
    """The emotion as the talk begins and after each reply."""

    def __post_init__(self) -> None:
        course = (self.start, *[one.emotion for one in self.said if one.emotion is not None])
        object.__setattr__(self, "course", course)

    @property
    def final(self) -> int | None:
        """Its score. None where the speaker tells no feeling, where its last turn could not be read, and where the
        talk is not over."""
        return self.course[-1] if self.end in _OUTCOMES and len(self.course) > 1 else None

    @property
    def outcome(self) -> Outcome:
        return _OUTCOMES.get(self.end, "")

    @property
    def replies(self) -> int:
        return sum(one.seat == "listener" for one in self.said)


def talks_of(scored: Iterable[Scored]) -> list[Talked]:
    """In the order in which the talks were planned."""
    turns_of: dict[tuple[str, str, int], list[Scored]] = {}
    for one in scored:  # one persona's talks with several people begin with the same trial
        who = one.attempts[0].subject if one.attempts else ""
        turns_of.setdefault(
            (who if who.startswith(PEOPLES) else "", one.trial.talk or one.trial.id, one.repeat), []
        ).append(one)
    return [_talk(sorted(turns, key=lambda one: one.trial.turn)) for turns in turns_of.values()]


def _talk(turns: list[Scored]) -> Talked:
    first = turns[0].trial
    character = first.key["character"]
    answers = [(scored.trial, final(scored.attempts)) for scored in turns]
    answered = [Turn(trial, answer) for trial, answer in answers if answer is not None and answer.answered]
    over = end_of(answered) if answered and len(answered) == len(turns) else ""
    who = answered[0].answer.subject if answered else ""
    person = who if who.startswith(PEOPLES) else ""
    speaks = first.key["speaker"] == PERSON
    return Talked(
        first.items[0],
        character["title"],
        character["kind"],
        character["topic"],
        person if speaks and person else first.key["speaker"],
        turns[0].repeat,
        first.id,
        _start(answered, speaks, character["emotion"]),
        tuple(_lines(answered, character["opening"])),
        over,
        sum(len(scored.attempts) for scored in turns),
        f"model:{first.key['listener']}" if speaks else person,
        str(first.key.get("arm", "")),
        person,
        not speaks or (bool(answered) and "emotion" in answered[0].answer.values),
    )


def _start(turns: list[Turn], speaks: bool, emotion: int) -> int:
    """A person says at the beginning how they feel; a persona's feeling is given."""
    return int(turns[0].answer.values.get("emotion", emotion)) if speaks and turns else emotion


def _lines(turns: list[Turn], opening: str) -> Iterator[Said]:
    if opening:
        yield Said("speaker", opening)
    for place, turn in enumerate(turns):
        answer = turn.answer
        if turn.trial.seat:
            if answer.status == "ok":
                told = answer.values["emotion"] if place else None  # words before any reply answer none
                yield Said("speaker", answer.values["says"], told, answer.values["feeling"])
            continue
        if place and not turns[place - 1].trial.seat:  # a speaker with fixed lines
            yield Said("speaker", turn.trial.prompt)
        if answer.status == "ok":
            yield Said("listener", answer.text)


def rated_talks(arm: str, scored: Iterable[Scored]) -> Iterator[ReplyRow]:
    """Talks that are over and in which the listener said something. Raters see the words and nothing else."""
    for talk in talks_of(scored):
        if talk.end and talk.end != "lost" and talk.replies:
            lines = [f"{'A' if one.seat == 'speaker' else 'B'}: {one.text}" for one in talk.said if one.text]
            prompt, opening = f"{talk.persona} {talk.speaker}", talk.said[0].text
            yield ReplyRow(arm, prompt, "\n".join(lines), talk.topic, talk.kind, "", opening, None, talk.repeat)
