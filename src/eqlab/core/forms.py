"""What a subject fills in: scales above all, also several of a list, a number, a text. A form knows its JSON schema, so
every benchmark has a structured answer mode without code of its own. A form without fields is one free text."""

import math
import random
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from eqlab.core.values import dataclass
from eqlab.core.words import count_words

Problem = Literal["", "missing", "off", "short", "long", "both"]


@dataclass(frozen=True, slots=True)
class Scale:
    """One closed question; a choice of one is a scale whose anchors name every value."""

    key: str
    text: str
    low: int
    high: int
    anchors: tuple[tuple[int, str], ...] = ()
    """(value, label) pairs; may name every value or only the ends."""
    reverse: bool = False

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def named(self) -> str:
        """As its ratings are read in every table: more is better."""
        return f"{self.key} (turned round)" if self.reverse else self.key

    def turned(self, value: int) -> int:
        return self.low + self.high - value if self.reverse else value


@dataclass(frozen=True, slots=True)
class Several:
    """Any number of a list. Its value is the list of the chosen options' numbers, from 1, in their order."""

    key: str
    text: str
    options: tuple[str, ...]
    optional: bool = False
    alone: str = ""
    """An option that excludes all others ("prefer not to say"), with the next number; empty: none."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a range. None where it was declined, or left empty where that is allowed."""

    key: str
    text: str
    low: float
    high: float
    optional: bool = False
    declined: str = ""
    """What to tick instead ("prefer not to say"); empty: nothing."""

    @property
    def shown(self) -> tuple[str, str]:
        """The range in digits, as people write numbers."""
        return f"{self.low:.12g}", f"{self.high:.12g}"


@dataclass(frozen=True, slots=True)
class Writing:
    """A text. None where it was declined, or left empty where that is allowed."""

    key: str
    text: str
    least_words: int = 0
    most: int = 2000
    """Characters."""
    long: bool = True
    """Whether it has several lines."""
    optional: bool = False
    declined: str = ""


Field = Scale | Several | Number | Writing


@dataclass(frozen=True, slots=True)
class Form:
    """An ordered tuple of fields. Most have scales only, which can be given as such."""

    scales: tuple[Scale, ...] = ()
    fields: tuple[Field, ...] = ()
    """All fields in order; the scales are among them."""
    total: int | None = None
    """What the scales' values add up to, where points are dealt out over them."""
    keys: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.fields:
            object.__setattr__(self, "scales", tuple(one for one in self.fields if isinstance(one, Scale)))
        else:
            object.__setattr__(self, "fields", self.scales)
        object.__setattr__(self, "keys", tuple(one.key for one in self.fields))


def json_schema(form: Form) -> dict[str, Any]:
    """The fields as a JSON schema. Values are an enum, which every server's constrained decoding knows. A form without
    fields is never asked for as JSON: it would gain nothing."""
    properties = {one.key: _schema(one) for one in form.fields}
    told = {} if form.total is None else {"description": f"The values add up to {form.total}."}
    return {
        "type": "object",
        **told,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _schema(one: Field) -> dict[str, Any]:
    if isinstance(one, Scale):
        return {"type": "integer", "enum": list(range(one.low, one.high + 1))}
    if isinstance(one, Several):
        return {"type": "array", "items": {"type": "integer", "enum": list(_numbers(one))}}
    if isinstance(one, Number):
        return {"type": "number", "minimum": one.low, "maximum": one.high}
    return {"type": "string"}


def check_values(form: Form, values: Mapping[str, Any]) -> str:
    """Why these values do not fill in the form; empty when they do."""
    missing = [one.key for one in form.fields if one.key not in values and not _may_be_empty(one)]
    if missing:
        return f"no value for {', '.join(missing)}"
    unknown = [key for key in values if key not in form.keys]
    if unknown:
        return f"unknown key {', '.join(sorted(unknown))}"
    for one in form.fields:
        if one.key in values and problem(one, values[one.key]):
            return f"{one.key}: {values[one.key]!r} is not {_range(one)}"
    if form.total is not None and points_left(form, values):
        return f"the values add up to {form.total - points_left(form, values):g}, not to {form.total}"
    return ""


def points_left(form: Form, values: Mapping[str, Any]) -> float:
    """How many points are still to be dealt out: below 0 where too many were; 0 where nothing is dealt out."""
    numbers = [value for scale in form.scales if isinstance(value := values.get(scale.key), int | float)]
    left = 0.0 if form.total is None else form.total - math.fsum(numbers)
    return 0.0 if abs(left) < 1e-9 else left


def even_points(form: Form) -> dict[str, int]:
    """A form's total dealt out as evenly as whole points allow."""
    each, more = divmod(form.total or 0, len(form.scales))
    return {scale.key: each + (place < more) for place, scale in enumerate(form.scales)}


def random_points(form: Form, draw: random.Random) -> dict[str, int]:
    """The same by chance: every way of dealing out whole points is as likely as another (stars and bars)."""
    total, count = form.total or 0, len(form.scales)
    bars = sorted(draw.sample(range(total + count - 1), count - 1))
    edges = [-1, *bars, total + count - 1]
    return {scale.key: edges[place + 1] - edges[place] - 1 for place, scale in enumerate(form.scales)}


def problem(one: Field, value: Any) -> Problem:
    """What is wrong with a value that was given; None says that the field was declined or left empty, and None beside
    an answer that both was done."""
    if value is None:
        declined = isinstance(one, Number | Writing) and one.declined
        return "" if declined or _may_be_empty(one) else "missing"
    if isinstance(one, Number | Writing) and one.declined and isinstance(value, list) and None in value:
        return "both"
    if isinstance(one, Scale | Number):
        fine = not isinstance(value, bool) and isinstance(value, int | float) and one.low <= value <= one.high
        return "" if fine else "off"
    if isinstance(one, Several):
        return _several(one, value)
    if not isinstance(value, str):
        return "off"
    if len(value) > one.most:
        return "long"
    return "short" if count_words(value) < one.least_words else ""


def problems(form: Form, values: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with an answer, by field; under "" with the whole. Words are another's affair."""
    wrong: dict[str, str] = {}
    for one in form.fields:
        if one.key in values:
            why: str = problem(one, values[one.key]) or _between(one, values[one.key])
        else:
            why = "" if _may_be_empty(one) else "missing"
        if why:
            wrong[one.key] = why
    if not wrong and any(key not in form.keys for key in values):
        wrong[""] = "unknown"
    if not wrong and points_left(form, values):
        wrong[""] = "total"
    return wrong


def _between(one: Field, value: Any) -> str:
    """A person chooses one of a scale's values; what lies between two of them is none."""
    return "off" if isinstance(one, Scale) and isinstance(value, float) and not value.is_integer() else ""


def settled(form: Form, values: Mapping[str, Any], *, typed: bool = False) -> dict[str, Any]:
    """What a page has posted, text or lists of texts, as values of the form. What cannot be one stays as it is, for
    `problems` to refuse. A blank is no value; where one may be left, it is None. `typed`: a program has sent values
    of their own types, and a text is no number."""
    kinds = {one.key: one for one in form.fields}
    found = {}
    for key, value in values.items():
        one = kinds.get(key)
        text = not typed or isinstance(one, Writing)
        made = _settled(one, value) if one and text else _whole(one, value)
        if made is not None or value is None:
            found[key] = made
    return {one.key: None for one in form.fields if _may_be_empty(one)} | found


def _may_be_empty(one: Field) -> bool:
    return not isinstance(one, Scale) and one.optional


def _whole(one: Field | None, value: Any) -> Any:
    """2.0 is 2 to JSON."""
    return int(value) if isinstance(one, Scale) and isinstance(value, float) and value.is_integer() else value


def _settled(one: Field, value: Any) -> Any:
    if isinstance(one, Several):
        listed = value if isinstance(value, list | tuple) else [value]
        numbers = [int(part) if isinstance(part, str) and _WHOLE.fullmatch(part) else part for part in listed]
        sortable = all(isinstance(part, int) and not isinstance(part, bool) for part in numbers)
        return (sorted(set(numbers)) if sortable else numbers) or None
    if not isinstance(value, str):
        return value
    if isinstance(one, Scale):
        return int(value) if _WHOLE.fullmatch(value) else (value or None)
    if isinstance(one, Number):
        return _number(one, value.strip())
    return value.replace("\r\n", "\n").strip() or None


def _number(one: Number, text: str) -> float | str | None:
    """A comma or a point may be the mark of decimals or of thousands. Where both readings are possible answers, nobody
    guesses: it stays a text, which is refused. Digits may be of any script: keyboards write their own."""
    if len(text) > _LONGEST_NUMBER:  # putting 64 kB of combining marks in order takes seconds
        return text
    text = "".join(str(unicodedata.decimal(sign, sign)) for sign in unicodedata.normalize("NFKC", text))
    text = text.translate(_ARABIC_MARKS)
    plain = text.replace(",", ".")
    read: list[float] = []
    if _DECIMAL.fullmatch(plain):
        read.append(float(plain) if "." in plain else int(plain))
    if _THOUSANDS.fullmatch(text):
        read.append(int(plain.replace(".", "")))
    possible = [value for value in read if one.low <= value <= one.high]
    slip = _SLIP * max(abs(one.low), abs(one.high))
    if possible and max(map(abs, read)) > max(map(abs, possible)) and max(map(abs, read)) <= slip:
        return text  # too large by a slip, rather than three decimals
    possible = possible or read[:1]
    return possible[0] if len(set(possible)) == 1 else (text or None)


def _several(one: Several, value: Any) -> Problem:
    numbers = _numbers(one)
    if not isinstance(value, list) or not value or any(type(part) is not int or part not in numbers for part in value):
        return "off"
    if len(set(value)) < len(value):
        return "off"
    return "both" if one.alone and numbers[-1] in value and len(value) > 1 else ""


def _numbers(one: Several) -> range:
    return range(1, len(one.options) + 1 + bool(one.alone))


def _range(one: Field) -> str:
    if isinstance(one, Scale):
        return f"a value from {one.low} to {one.high}"
    if isinstance(one, Several):
        return f"a list of numbers from 1 to {_numbers(one)[-1]}"
    if isinstance(one, Number):
        return f"a number from {one.shown[0]} to {one.shown[1]}"
    return f"a text of {one.least_words} words or more and {one.most} characters or fewer"


_WHOLE = re.compile(r"-?\d{1,6}", re.ASCII)
_DECIMAL = re.compile(r"-?\d{1,12}(?:\.\d{1,6})?", re.ASCII)
_LONGEST_NUMBER = 60
"""Characters."""
_SLIP = 100
"""How many times larger than anything in its range a number may be that somebody meant."""
_ARABIC_MARKS = str.maketrans("٫٬", ".,")
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(?:(?:,\d{3}){1,3}|(?:\.\d{3}){1,3})", re.ASCII)


def fields_to_json(form: Form) -> list[Any]:
    """A scale as the list it has always been, other fields as objects."""
    return [
        [one.key, one.text, one.low, one.high, one.anchors, one.reverse]
        if isinstance(one, Scale)
        else {"field": type(one).__name__.casefold(), **{name: getattr(one, name) for name in one.__slots__}}
        for one in form.fields
    ]


def field_from_json(body: Mapping[str, Any]) -> Field:
    """What `fields_to_json` wrote of a field that is no scale."""
    kinds: Mapping[str, Any] = {"several": Several, "number": Number, "writing": Writing}
    own = {name: tuple(value) if isinstance(value, list) else value for name, value in body.items() if name != "field"}
    made: Field = kinds[body["field"]](**own)
    return made
