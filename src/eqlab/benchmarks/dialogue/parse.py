"""Reading a turn: any words are a listener's reply; a speaker's turn is four named parts, as lines or as JSON."""

import re
from typing import Any

from eqlab.benchmarks.common.reading import is_refusal, read_json
from eqlab.benchmarks.dialogue.prompt import FORM, STAYS
from eqlab.core.answers import Reading
from eqlab.core.forms import check_values

_PART = re.compile(r"^[ \t>*_#\-]*(feeling|emotion|leaves|says)[ \t*_]*[:：][ \t*_]*", re.IGNORECASE | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\d.,\-−–])(\d{1,3})(?![\d])(?!\s*[.,]\d)(?:\s*(?:/|out of|of)\s*100\b)?")
_SIGNED = re.compile(r"[+\-−–]\s*\d")
_OTHER = re.compile(
    r"^[ \t>*_]*(?:listener|assistant|(?:the )?other one|chatbot|ai)[ \t*_]*[:：]", re.IGNORECASE | re.MULTILINE
)
"""How a line begins that somebody else says: a model that writes both sides of a talk."""
_WORDS = {"no": 0, "not": 0, "stay": 0, "stays": 0, "0": 0, "satisfied": 1, "1": 1, "hurt": 2, "2": 2}


def read_listener(text: str) -> Reading:
    """Every reply with words in it is one, a refusal in words too: the speaker hears it. Only an empty one is asked
    for again."""
    if not text.strip():
        return Reading("unparseable", note="the reply is empty")
    return Reading("ok", {"words": len(text.split())})


def read_speaker(text: str) -> Reading:
    """A speaker who leaves may do so without a word; one who stays must say something. One that also writes what the
    other one says has held the talk with itself: that is no turn, and nothing of it may reach the listener."""
    reading = read_json(text, FORM) if text.lstrip().startswith(("{", "```")) else _read_lines(text)
    if reading.status != "ok":
        return reading
    values = {**reading.values, "says": (reading.values.get("says") or "").strip()}
    values["feeling"] = " ".join(str(values["feeling"]).split())
    if _OTHER.search(values["says"]):
        return Reading("unparseable", note="the speaker spoke for the other one, too")
    if values["leaves"] == STAYS and not values["says"]:
        return Reading("unparseable", note="the speaker stays and says nothing")
    return Reading("ok", values)


def _read_lines(text: str) -> Reading:
    marks = list(_PART.finditer(text))
    names = [mark[1].casefold() for mark in marks]
    if "says" in names:  # what follows is said, though it may look like a part; but not what looks like a whole turn
        place = names.index("says") + 1
        if {"feeling", "emotion"} <= set(names[place:]):
            return Reading("unparseable", note="more than one turn: the speaker went on by itself")
        marks, names = marks[:place], names[:place]
    if not names:
        return Reading("refused" if is_refusal(text) else "unparseable", note="no Feeling, Emotion, Leaves or Says")
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        return Reading("unparseable", note=f"'{twice}' is there twice")
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    found = {name: text[mark.end() : end].strip() for name, mark, end in zip(names, marks, ends, strict=True)}
    values: dict[str, Any] = {"feeling": found.get("feeling", ""), "says": _unquoted(found.get("says", ""))}
    for name, number in (("emotion", _emotion(found.get("emotion", ""))), ("leaves", _leaves(found.get("leaves", "")))):
        if number is None:
            why = f"{found[name]!r:.40} is no {name}" if name in found else f"no {name}"
            return Reading("unparseable", note=why)
        values[name] = number
    why = check_values(FORM, values)
    return Reading("unparseable", note=why) if why else Reading("ok", values)


def _emotion(text: str) -> int | None:
    """One number from 0 to 100, a scale or a remark behind it allowed; a change such as +5 is none."""
    line = text.splitlines()[0] if text else ""
    if _SIGNED.match(line.strip()):
        return None
    found = _NUMBER.search(line)
    return int(found[1]) if found and int(found[1]) <= 100 else None


def _leaves(text: str) -> int | None:
    """The first word decides; without any of ours, nothing is guessed."""
    words = re.findall(r"[a-z]+|\d+", text.casefold())
    return _WORDS.get(words[0]) if words else None


def _unquoted(text: str) -> str:
    pairs = (('"', '"'), ("“", "”"))
    if any(len(text) > 1 and text.startswith(a) and text.endswith(b) and a not in text[1:-1] for a, b in pairs):
        return text[1:-1].strip()
    return text
