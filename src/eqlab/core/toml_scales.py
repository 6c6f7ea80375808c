"""The tables [[scale]] of a user's file, the same in study files and in rubrics: what people and judges are asked can
be copied from one to the other."""

import re

from eqlab.core.forms import Scale
from eqlab.core.toml_section import Section

SCALE = ("key", "text", "low", "high", "labels", "ends", "reverse")
_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")
_MOST_POINTS = 11


def read_scales(top: Section) -> tuple[Scale, ...]:
    found = []
    for one in top.tables("scale", SCALE):
        low = one.whole("low", 1, 0, 1)
        high = one.whole("high", 5, low + 1, low + _MOST_POINTS - 1)
        scale = Scale(read_key(one), one.text("text"), low, high, _anchors(one, low, high), bool(one.flag("reverse")))
        found.append(scale)
    check_different(top, "scale", [scale.key for scale in found])
    return tuple(found)


def _anchors(one: Section, low: int, high: int) -> tuple[tuple[int, str], ...]:
    labels, ends = one.texts("labels"), one.texts("ends")
    if one.has("labels") and one.has("ends"):
        one.wrong("ends", "stands beside labels (write one of the two)")
    if one.has("labels"):
        if len(labels) != high - low + 1:
            one.wrong("labels", f"are {len(labels)} for the values {low} to {high} (write one for each, or ends)")
        return tuple(enumerate(labels, start=low))
    if one.has("ends") and len(ends) != 2:
        one.wrong("ends", 'are the words at both ends (write ends = ["not at all", "completely"])')
    if not one.has("ends"):
        one.wrong("ends", 'are missing (write ends = ["not at all", "completely"], or labels for every value)')
    return ((low, ends[0]), (high, ends[1])) if len(ends) == 2 else ()


def read_key(one: Section) -> str:
    key = one.text("key")
    if key and not _KEY.fullmatch(key):
        one.wrong("key", "names a column of the data (write lower-case letters, digits and _, a letter first)")
    return key


def check_different(top: Section, name: str, keys: list[str]) -> None:
    for index, key in enumerate(keys):
        if key in keys[:index]:
            top.notes.add((*top.path, name, index, "key"), f"'{key}' is there twice (give it another name)")
