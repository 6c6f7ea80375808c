"""A talk turn by turn: who speaks next, what each seat is shown, and when the talk is over. Everything a talk needs is
in its first trial's key, so that the same turns always lead to the same next one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from eqlab.benchmarks.common.selection import spread
from eqlab.benchmarks.dialogue.characters import Character, from_key, to_key
from eqlab.benchmarks.dialogue.prompt import (
    BEGIN,
    FORM,
    HURT,
    LISTENER,
    SATISFIED,
    SILENCE,
    STAYS,
    speaker_system,
    spoken,
)
from eqlab.benchmarks.dialogue.speakers import Speaker, read_speakers
from eqlab.core.benchmark import Selection, Turn
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form
from eqlab.core.messages import Message
from eqlab.core.trials import Trial

NAME = "dialogue"
End = Literal["satisfied", "hurt", "turns", "silence", "lines", "lost", "left", "down", ""]
"""`satisfied`, `hurt`: the speaker left so. `turns`: the listener had all its replies. `silence`: the listener gave no
reply that could be shown (empty, cut off, or refused by its provider); the speaker told what that did to it. `lines`: a
speaker with fixed lines has said them all. `lost`: a turn of the speaker could not be read. `left`: a person closed the
talk without a word about it. `down`: the model did not answer, and the person went on without it. Empty: it goes on."""
PERSON = "person"
"""A speaker who is a person, in a study."""
QUICK, QUICK_REPLIES, FULL_REPLIES = 4, 4, 8
"""Personas of the quick profile; most replies of the listener in the quick and the full profile."""
BEST, WORST = 100, 10
"""A speaker who feels this good leaves satisfied, one who feels worse than this leaves hurt, as in SAGE."""


def plan(
    characters: Sequence[Character], options: Mapping[str, Any], selection: Selection
) -> Iterator[tuple[Trial, int]]:
    quick = selection.profile == "quick"
    marked = [one for one in characters if one.quick]
    chosen = marked if quick and marked and selection.limit is None else list(characters)
    chosen = spread(chosen, selection.limit or (QUICK if quick else len(chosen)))
    most = options["turns"] or (QUICK_REPLIES if quick else FULL_REPLIES)
    speakers = read_speakers(options["speaker"])
    for repeat in range(selection.repeats or 1):
        for character in chosen:
            for speaker in speakers:
                yield first_trial(character, speaker, most), repeat


def first_trial(character: Character, speaker: Speaker, replies: int) -> Trial:
    """The listener's, with the opening before it; or the speaker's own, where it must find the first words."""
    key = {"character": to_key(character), "speaker": speaker.spec, "json": speaker.structured, "replies": replies}
    if character.task and not speaker.fixed:
        raise UsageError(
            f"Scenario {character.id} has fixed lines, and no character that {speaker.spec} could play.",
            "Drop --speaker, or write --speaker fixed.",
        )
    if character.opening:
        return _listener(character, speaker.spec, character.opening, (), key)
    if speaker.fixed:
        raise UsageError(
            f"Persona {character.id} has no fixed lines.", "Name a model that speaks: --speaker provider/name."
        )
    return _speaker(character, speaker.spec, [], BEGIN, structured=speaker.structured, key=key)


def next_turn(turns: Sequence[Turn]) -> Trial | None:
    if end_of(turns):
        return None
    first = turns[0].trial
    character, speaker = from_key(first.key["character"]), str(first.key["speaker"])
    last = turns[-1]
    if speaker == "fixed":
        line = character.lines[len(turns) - 1]
        return _listener(character, speaker, line, _heard(turns))
    if last.trial.seat:
        return _listener(character, speaker, last.answer.values["says"], _heard(turns))
    heard = last.answer.text if last.answer.status == "ok" else SILENCE
    return _speaker(character, speaker, turns[:-1], heard, structured=bool(first.key["json"]))


def end_of(turns: Sequence[Turn]) -> End:
    """How a talk is over after these turns, if it is."""
    first, last = turns[0].trial, turns[-1]
    replies = sum(not turn.trial.seat for turn in turns)
    most = int(first.key["replies"])
    if last.answer.finish == "left":
        return "left"
    if last.answer.finish == "down":
        return "down"
    if first.key["speaker"] == "fixed":
        if last.answer.status != "ok":
            return "silence"
        return "lines" if replies >= min(most, 1 + len(first.key["character"]["lines"])) else ""
    if not last.trial.seat:
        return ""  # the speaker is always asked what a reply, or none, did to it
    if last.answer.status != "ok":
        return "lost"
    if replies and turns[-2].answer.status != "ok":
        return "silence"
    leaves, emotion = last.answer.values["leaves"], last.answer.values["emotion"]
    person = first.key["speaker"] == PERSON
    if not replies:  # words before any reply: nobody leaves yet, and a simulated person must have some
        return "" if person or last.answer.values["says"] else "lost"
    if person:  # no number sends a person away: they leave when they please
        return "satisfied" if leaves == SATISFIED else "hurt" if leaves == HURT else "turns" if replies >= most else ""
    if emotion < WORST or (leaves == HURT and emotion < BEST):
        return "hurt"  # whatever it ticks: nobody leaves satisfied who feels as bad as can be
    if leaves == SATISFIED or emotion >= BEST:
        return "satisfied"
    return "turns" if replies >= most else ""


def supposed(trial: Trial, characters: int) -> str:
    """A reply of about so many characters after which a talk goes on: for knowing what talks cost before they begin."""
    words = ("I see. " * (characters // 7 + 1))[: max(characters, 7)].strip()
    if not trial.seat:
        return words
    third = max(1, len(words) // 3)
    told = {"feeling": words[:third], "emotion": (WORST + BEST) // 2, "leaves": STAYS, "says": words[third:] or "Yes."}
    return spoken(told, structured=trial.mode == "json")


def _listener(
    character: Character, speaker: str, said: str, before: tuple[Message, ...], key: Mapping[str, Any] | None = None
) -> Trial:
    told = "" if character.task else character.instruction or LISTENER
    return Trial(NAME, (character.id,), speaker, said, Form(), said, system=told, key=dict(key or {}), messages=before)


def person_first(character: Character, shown: str, replies: int, form: Form, more: Mapping[str, Any]) -> Trial:
    """A person speaks: how they feel now, and their first words. `shown` is what they are asked to talk about."""
    key = {"character": to_key(character), "speaker": PERSON, "json": False, "replies": replies, **more}
    return Trial(NAME, (character.id,), PERSON, shown, form, "", key=key, seat=Speaker(PERSON).seat)


def person_next(turns: Sequence[Turn], form: Form, system: str) -> Trial | None:
    """What follows where a person speaks: the model hears their words, they tell what its reply did to them."""
    if end_of(turns):
        return None
    first, last = turns[0].trial, turns[-1]
    if last.trial.seat:
        said = str(last.answer.values["says"])
        made = _listener(from_key(first.key["character"]), PERSON, said, _heard(turns))
        return replace(made, system=system or made.system or LISTENER, id="")
    heard = last.answer.text if last.answer.status == "ok" else SILENCE
    return Trial(NAME, first.items, PERSON, heard, form, "", seat=first.seat)


def _heard(turns: Sequence[Turn]) -> tuple[Message, ...]:
    """What was said so far, as the listener has it; the last line of a speaker's turn is not among it."""
    own = [turn for turn in turns if not turn.trial.seat]
    return tuple(
        message
        for turn in own
        for message in (Message("user", turn.trial.prompt), Message("assistant", turn.answer.text))
    )


def _speaker(
    character: Character,
    speaker: str,
    before: Sequence[Turn],
    heard: str,
    *,
    structured: bool,
    key: Mapping[str, Any] | None = None,
) -> Trial:
    """`before`: the turns before the reply that the speaker has just heard."""
    shown: list[Message] = []
    opened = {"feeling": "I have not told anybody here yet.", "emotion": character.emotion, "leaves": STAYS}
    if character.opening:
        shown += [
            Message("user", BEGIN),
            Message("assistant", spoken({**opened, "says": character.opening}, structured=structured)),
        ]
    for place, turn in enumerate(before):
        if turn.trial.seat:
            # words before any reply tell no change: everybody begins where the persona does
            values = (
                turn.answer.values if place else {**turn.answer.values, "emotion": character.emotion, "leaves": STAYS}
            )
            shown += [
                Message("user", turn.trial.prompt),
                Message("assistant", spoken(values, structured=structured)),
            ]
    return Trial(
        NAME,
        (character.id,),
        speaker,
        heard,
        FORM,
        heard,
        system=speaker_system(character, structured=structured),
        mode="json" if structured else "text",
        key=dict(key or {}),
        messages=tuple(shown),
        seat=Speaker(speaker).seat,
    )
