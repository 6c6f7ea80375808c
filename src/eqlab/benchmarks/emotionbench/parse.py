"""Reading a filled-in questionnaire in a reply: numbered lines, "Excited: 4", "4/5", labels, JSON, bare lists.

The rule above all rules: never a wrong answer. Every item must be answered exactly once with a whole number of its
scale; a line that can be read in two ways, a number that contradicts its label, an item that comes twice, or one
answer too few make the whole reply unreadable. Then it is asked again; nothing is guessed.

Positions are those shown to the subject; the form holds its scales in that order, so answers come back by item key."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any, Literal

from eqlab.core.forms import Form, Scale

_FENCE = re.compile(r"```[a-zA-Z]*+[^\S\n]*+\n(.*?)```", re.DOTALL)
_DECORATION = re.compile(r"[*_`]|^[\s>#•·]+|^\s*[-–—+]\s+(?=\S)")
_POSITION = re.compile(
    r"(?:item|question|statement|no\.?|nr\.?|q|#)?\s*[(\[]?(\d{1,2})(?:\s*[.):\]=]+\s*|\s+[-–—]\s+|\s+)(?=\S)",
    re.IGNORECASE,
)
_FIRST_WORD = re.compile(r"[\W_]*([^\W_]+)")
_LAST = itemgetter(-1)
_GLUED = re.compile(r"(\d{1,2})[.:)=](\d)")
_SEPARATOR = re.compile(r"(?:\s*(?:[:=→]|\.{2,}|…|[-–—](?=\s)|->|=>)\s*|\s+)")
_NUMBER = re.compile(
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


@dataclass(frozen=True, slots=True)
class Filled:
    """What was read: values by item key, or why nothing was."""

    values: dict[str, int] | None
    why: str = ""


def read_form(text: str, form: Form) -> Filled:
    try:
        return Filled(_read(text, form))
    except UnclearError as unclear:
        return Filled(None, str(unclear))


def last_characters(text: str) -> str:
    """The published rule: the last character of every line that is not empty, each a digit; empty where one is none.
    The published code does not check how many there are."""
    last = "".join(map(_LAST, filter(None, text.split("\n"))))
    return last if last.isascii() and last.isdigit() else ""


def _read(text: str, form: Form) -> dict[str, int]:
    fences = _FENCE.findall(text)
    body = (fences[0] if len(fences) == 1 else text).strip()
    if body[:1] in "{[" and (data := _json(body)) is not None:
        return _from_json(data, form)
    lines = [cleaned for line in body.splitlines() if (cleaned := _clean(line))]
    if len(lines) >= len(form.scales):
        return _from_lines(lines, form)
    inline = [segments for line in lines if len(segments := _inline(line)) >= len(form.scales)]
    if len(inline) == 1:
        return _from_lines(inline[0], form)
    raise UnclearError(f"{len(lines)} lines for {len(form.scales)} items")


def _clean(line: str) -> str:
    """Without Markdown: emphasis, bullets, quotes and the bars of a table."""
    bare = line.strip()
    if bare.startswith("|") or bare.endswith("|"):
        cells = [cell.strip() for cell in bare.strip("|").split("|")]
        if all(set(cell) <= set("-: ") for cell in cells):
            return ""
        bare = _table_row(cells)
    return _DECORATION.sub("", bare).strip().rstrip(",;").strip()


def _table_row(cells: Sequence[str]) -> str:
    """Cells as a line: position, text, value."""
    if len(cells) == 3 and cells[0].isdigit():
        return f"{cells[0]}. {cells[1]}: {cells[2]}"
    return ": ".join(cells)


def _inline(line: str) -> list[str]:
    """A line that may hold all answers, cut at commas, semicolons or, for "1. 4 2. 3", before each position."""
    line = line.strip("[]()").strip()
    if re.fullmatch(r"\d+(?:\s+\d+)+", line):
        return line.split()
    if re.fullmatch(r"(?:\d+\s*[.:)=]\s*\d+\s+)+\d+\s*[.:)=]\s*\d+\.?", line):
        return re.findall(r"\d+\s*[.:)=]\s*\d+", line)
    parts = [part.strip() for part in re.split(r"[,;]", line.rstrip("."))]
    return [part for part in parts if part]


def _json(body: str) -> Any:
    try:
        return json.loads(body, object_pairs_hook=_no_twins)
    except (ValueError, RecursionError):  # a number of thousands of digits is a ValueError too
        return None


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise UnclearError("a JSON key comes twice")
    return dict(pairs)


def _from_json(data: Any, form: Form) -> dict[str, int]:
    """A list in the order shown, or an object by position, item key or item text."""
    if isinstance(data, dict) and len(data) == 1 and isinstance(inner := next(iter(data.values())), dict | list):
        data = inner
    if isinstance(data, list):
        if len(data) != len(form.scales):
            raise UnclearError(f"{len(data)} values for {len(form.scales)} items")
        pairs = list(zip(form.scales, data, strict=True))
    elif isinstance(data, dict):
        names = _names(form)
        pairs = [(_named(str(key), names, form), value) for key, value in data.items()]
    else:
        raise UnclearError("JSON, but neither a list nor an object")
    return _complete([(scale, _json_value(scale, value)) for scale, value in pairs], form)


def _named(key: str, names: dict[str, Scale], form: Form) -> Scale:
    """The item a JSON key means: "excited", "3", or "3. Excited" if both are the same item."""
    name = _plain(key)
    number, _, words = name.partition(" ")
    if name in names:
        return names[name]
    if not re.fullmatch(r"[0-9]{1,2}", number) or (words and words not in names):
        raise UnclearError(f"no item is called {key!r}")
    shown = _at(int(number), form)
    if words and names[words] is not shown:
        raise UnclearError(f"{key!r} is the number of one item and the name of another")
    return shown


def _json_value(scale: Scale, value: Any) -> int:
    if isinstance(value, str):
        return _read_value(scale, value)
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole:
        raise UnclearError(f"{scale.key}: {value!r} is not a whole number")
    return _within(scale, int(value))


def _from_lines(lines: Sequence[str], form: Form) -> dict[str, int]:
    """Bare values, one per item in the order shown; or lines that name their item by position, by text or by both."""
    names = _names(form)
    bare = [line for line in lines if _is_bare(line)]
    if len(bare) == len(form.scales) and not any(_starts_item(line, names) for line in lines if line not in bare):
        return _complete([(s, _read_value(s, line)) for s, line in zip(form.scales, bare, strict=True)], form)
    if bare:
        raise UnclearError(f"{len(bare)} bare values for {len(form.scales)} items")
    if _repeats_legend(lines, form.scales[0]):
        raise UnclearError("lines that may be answers or the labels of the scale")
    found = [answer for line in lines if (answer := _item_line(line, form, names)) is not None]
    if len({style for _, _, style in found}) > 1:
        raise UnclearError("some lines name their item and some only number it")
    return _complete([(scale, value) for scale, value, _ in found], form)


def _repeats_legend(lines: Sequence[str], scale: Scale) -> bool:
    """Whether the reply repeats what the numbers mean ("1 = not at all …"), which looks like answers in words."""
    legend = {f"{value} {_plain(label)}" for value, label in scale.anchors}
    return len(legend) > 1 and legend <= {_plain(line) for line in lines}


def _is_bare(line: str) -> bool:
    """Nothing but a value: "4", "4.", "(4)", "4/5"."""
    match = _NUMBER.match(line)
    return match is not None and line[match.end() :].strip() in ("", ".") and len(match["value"]) == 1


def _starts_item(line: str, names: dict[str, Scale]) -> bool:
    return _POSITION.match(line) is not None or _by_name(line, names) is not None


def _by_name(text: str, names: dict[str, Scale]) -> tuple[Scale, str] | None:
    """The item whose words a text begins with, and what follows them; the longest name counts."""
    first = _FIRST_WORD.match(text)
    if first is None:
        return None
    for name, scale in names.items():
        if name.startswith(first[1].casefold()) and (match := _pattern(name).match(text)):
            return scale, text[match.end() :]
    return None


_Style = Literal["number", "name", "both"]


def _item_line(line: str, form: Form, names: dict[str, Scale]) -> tuple[Scale, int, _Style] | None:
    """(scale, value, how the item is named) of a line that answers an item; None for a line about something else."""
    glued = _GLUED.fullmatch(line.rstrip("."))
    if glued:
        return _at(int(glued[1]), form), _within(_at(int(glued[1]), form), int(glued[2])), "number"
    position = _POSITION.match(line)
    rest = line[position.end() :] if position else line
    named = _by_name(rest, names)
    if position is None:
        return (named[0], _value_after(*named), "name") if named else None
    shown = _at(int(position[1]), form)
    if named is None:
        return shown, _read_value(shown, rest), "number"
    if named[0] is not shown:
        raise UnclearError(f"line {shown.key}: the number is that of {shown.text!r}, the words are another item's")
    return shown, _value_after(shown, named[1]), "both"


def _at(position: int, form: Form) -> Scale:
    if not 1 <= position <= len(form.scales):
        raise UnclearError(f"there is no item {position}")
    return form.scales[position - 1]


def _complete(found: Sequence[tuple[Scale, int]], form: Form) -> dict[str, int]:
    values = {scale.key: value for scale, value in found}
    if len(values) != len(found):
        raise UnclearError("an item is answered twice")
    missing = [key for key in form.keys if key not in values]
    if missing:
        raise UnclearError(f"no answer for {len(missing)} of {len(form.scales)} items")
    return {key: values[key] for key in form.keys}


def _names(form: Form) -> dict[str, Scale]:
    """Items by their key and, where no other item has the same, by their text; the longest first."""
    texts = [_plain(scale.text) for scale in form.scales]
    names = {_plain(scale.key): scale for scale in form.scales}
    names |= {text: scale for text, scale in zip(texts, form.scales, strict=True) if text and texts.count(text) == 1}
    return dict(sorted(names.items(), key=lambda pair: -len(pair[0])))


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """The words of a name, whatever stands between them, and no further letter."""
    return re.compile(r"[\W_]*" + r"[\W_]+".join(re.escape(word) for word in name.split()) + r"(?!\w)", re.IGNORECASE)


# One answer: "4", "4.", "4/5", "4 (strongly)", "strongly (4)", "strongly"


def _value_after(scale: Scale, rest: str) -> int:
    """The value in what follows an item's words: after a colon, a dash, an arrow or a space, or in brackets."""
    bare = rest.lstrip(".,;!?\"'”’)")
    separator = _SEPARATOR.match(bare)
    if separator is None:
        if not bare.startswith(("(", "[")):
            raise UnclearError(f"{scale.key}: no value after the item")
        return _read_value(scale, bare)
    return _read_value(scale, bare[separator.end() :])


def _read_value(scale: Scale, text: str) -> int:
    """The one value a text gives: a number, perhaps with its label or a remark without numbers, or a label alone."""
    said = text.strip().strip("\"'").strip()
    if len(said) == 1 and said in "0123456789":
        return _within(scale, int(said))
    said = _SCORE_WORDS.sub("", said, count=1)
    label = _label(scale, said)
    if label is not None:
        return label
    match = _NUMBER.match(said)
    if match is None:
        return _labelled(scale, said)
    if match["top"] and int(match["top"]) != scale.high:
        raise UnclearError(f"{scale.key}: {match['top']} is not the top of the scale")
    value = _within(scale, int(match["value"]))
    remark = said[match.end() :]
    if not remark:
        return value
    if remark[0] not in " .,;:()-–—\t=!\"'":
        raise UnclearError(f"{scale.key}: {said!r} is no value")
    if re.search(r"\d", remark):
        raise UnclearError(f"{scale.key}: more than one number in {said!r}")
    other = _label(scale, remark)
    named = {_WORDS[word] for word in _plain(remark).split() if word in _WORDS} - {1}
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
    words = _plain(text)
    if not words:
        return None
    if words in _WORDS:
        return _within(scale, _WORDS[words])
    values = {value for value, label in scale.anchors if _plain(label) == words}
    return values.pop() if len(values) == 1 else None


def _within(scale: Scale, value: int) -> int:
    if not scale.holds(value):
        raise UnclearError(f"{scale.key}: {value} is not from {scale.low} to {scale.high}")
    return value


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    """Lower-case words with single spaces."""
    return " ".join(_WORD.findall(text.casefold()))
