"""Reading one answer: "4", "4.", "4/5", "4 (strongly)", "strongly (4)", "strongly". What could mean two things is
unclear, and unclear is never guessed."""

import re
from functools import lru_cache

from eqlab.core.forms import Scale

_SEPARATOR = re.compile(r"(?:\s*(?:[:=→]|\.{2,}|…|[-–—](?=\s)|->|=>)\s*|\s+)")
NUMBER = re.compile(
    r"[(\[]?\s*(?P<value>\d{1,2})(?!\d)(?:\.0+(?!\d))?(?:\s*(?:/|out\s+of)\s*(?P<top>\d{1,2})(?!\d))?(?:\s*[)\]])?",
    re.IGNORECASE,
)
_SCORE_WORDS = re.compile(r"^(?:my\s+)?(?:score|rating|answer|value)\s*(?:is|:|=)\s*", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_LONGEST_LABEL = 200
_WORDS = {"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
"""Numbers in words."""


class UnclearError(Exception):
    """A reply that cannot be read for certain; says why."""


def value_after(scale: Scale, rest: str) -> int:
    """The value in what follows an item's words: after a colon, a dash, an arrow or a space, or in brackets."""
    bare = rest.lstrip(".,;!?\"'”’)")
    separator = _SEPARATOR.match(bare)
    if separator is None:
        if not bare.startswith(("(", "[")):
            raise UnclearError(f"{scale.key}: no value after the item")
        return read_value(scale, bare)
    return read_value(scale, bare[separator.end() :])


def read_value(scale: Scale, text: str) -> int:
    """The one value a text gives: a number, perhaps with its label or a remark without numbers, or a label alone."""
    said = text.strip().strip("\"'").strip()
    if len(said) == 1 and said in "0123456789":
        return within(scale, int(said))
    said = _SCORE_WORDS.sub("", said, count=1)
    label = _label(scale, said)
    if label is not None:
        return label
    match = NUMBER.match(said)
    if match is None:
        return _labelled(scale, said)
    if match["top"] and int(match["top"]) != scale.high:
        raise UnclearError(f"{scale.key}: {match['top']} is not the top of the scale")
    value = within(scale, int(match["value"]))
    remark = said[match.end() :]
    if not remark:
        return value
    if remark[0] not in " .,;:()-–—\t=!\"'":
        raise UnclearError(f"{scale.key}: {said!r} is no value")
    if re.search(r"\d", remark):
        raise UnclearError(f"{scale.key}: more than one number in {said!r}")
    other = _label(scale, remark)
    named = {_WORDS[word] for word in plain(remark).split() if word in _WORDS} - {1}
    if other not in (None, value) or not named <= {value} or re.match(r"\s*(?:or|to|and|[-–—]\s*$)", remark):
        raise UnclearError(f"{scale.key}: {said!r} contradicts itself")
    return value


def _labelled(scale: Scale, said: str) -> int:
    """A label with its number after it: "quite a bit (4)"."""
    match = len(said) <= _LONGEST_LABEL and re.fullmatch(
        r"(?P<label>\D+?)\s*[(\[:=]\s*(?P<value>\d)(?:/\d)?\s*[)\]]?\.?", said
    )
    label = _label(scale, match["label"]) if match else None
    if not match or label is None or label != int(match["value"]):
        raise UnclearError(f"{scale.key}: {said[:60]!r} is no value")
    return label


def _label(scale: Scale, text: str) -> int | None:
    """The value whose label, or number word, is exactly this text."""
    words = plain(text)
    if not words:
        return None
    if words in _WORDS:
        return within(scale, _WORDS[words])
    values = {value for value, label in scale.anchors if plain(label) == words}
    return values.pop() if len(values) == 1 else None


def within(scale: Scale, value: int) -> int:
    if not scale.holds(value):
        raise UnclearError(f"{scale.key}: {value} is not from {scale.low} to {scale.high}")
    return value


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """Lower-case words with single spaces."""
    return " ".join(_WORD.findall(text.casefold()))
