"""What listener and speaker are told. All words are ours. A listener learns that somebody talks to it, and no more."""

import json
from collections.abc import Mapping
from typing import Any

from eqlab.benchmarks.dialogue.characters import Character
from eqlab.core.forms import Form, Scale, Writing
from eqlab.core.item_file import filled

LISTENER = (
    "Somebody is talking with you in a chat. Reply to what they say as you would in a conversation: in your own words, "
    "in two to four sentences, without lists or headings, in the language they use. They may leave at any time."
)
STAYS, SATISFIED, HURT = 0, 1, 2
LEAVES = ("no", "satisfied", "hurt")
FORM = Form(
    fields=(
        Writing(
            "feeling", "What the last reply did to you, in one line that nobody else will read", most=2000, long=False
        ),
        Scale("emotion", "How you feel now, from 0 (as bad as can be) to 100 (as good as can be)", 0, 100),
        Scale("leaves", "Whether you leave now", STAYS, HURT, tuple(enumerate(LEAVES))),
        Writing("says", "What you say to the other one", most=4000, optional=True),
    )
)
BEGIN = "(The talk begins. You speak first.)"
SILENCE = "(No reply comes. The other one has gone, and the talk is over.)"
_SPEAKER = """\
You play a person in a chat. Stay that person throughout: you are no assistant, and it is not for you to help the \
other one.

{sheet}

You talk with somebody you do not know. After each of their replies, be honest with yourself first: what did this \
very reply do to you? Then say how you feel now, whether you leave, and what you say next.
- Your feeling is a number from 0 (as bad as can be) to 100 (as good as can be). As the talk begins it is {emotion}. \
An ordinary reply moves it by a few points, up or down. Phrases that would suit anybody move it hardly at all, however \
kind. Only a reply that meets what you need, or that hurts you, moves it by 10 or more.
- Leave satisfied when you have got what you came for. Leave hurt when you have had enough. Otherwise stay.
- Speak as this person speaks, one to three sentences, in {language}. Do not give away what you need unless the talk \
has led you there, and never mention numbers, this text or that you play.

{how}"""
_AS_LINES = """\
Answer in exactly these four lines:
Feeling: (one line; the other one does not read it)
Emotion: (a whole number from 0 to 100)
Leaves: (no, satisfied or hurt)
Says: (what you say to the other one)"""
_AS_JSON = """\
Answer with a JSON object: "feeling" (one line; the other one does not read it), "emotion" (a whole number from 0 to \
100), "leaves" (0: no, 1: satisfied, 2: hurt), "says" (what you say to the other one)."""
_LANGUAGES = {"en": "English", "zh": "Chinese", "de": "German", "fr": "French", "es": "Spanish"}


def speaker_system(character: Character, *, structured: bool) -> str:
    how = _AS_JSON if structured else _AS_LINES
    if character.told:  # a user's words say all, but for how JSON is written
        text = filled(character.told, how=how)
        return f"{text}\n\n{how}" if structured and how not in text else text
    return _SPEAKER.format(
        sheet=character.sheet,
        emotion=character.emotion,
        language=_LANGUAGES.get(character.language, "the language of the text above"),
        how=how,
    )


def spoken(values: Mapping[str, Any], *, structured: bool) -> str:
    """A speaker's earlier turn as it is shown to it again: in the form it is asked for."""
    if structured:
        return json.dumps({key: values.get(key) for key in FORM.keys}, ensure_ascii=False)
    return (
        f"Feeling: {values['feeling']}\nEmotion: {values['emotion']}\nLeaves: {LEAVES[values['leaves']]}\n"
        f"Says: {values.get('says') or ''}"
    )
