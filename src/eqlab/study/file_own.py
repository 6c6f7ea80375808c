"""What a study file may add of its researcher's own: scales, questions before and after, gold items, how arms are given
to people, quotas. Each table read and checked by itself."""

import re
from typing import Literal, cast

from eqlab.core.forms import Scale
from eqlab.core.study import ASKS, Arrangement, Ask, Gold, OwnQuestion, Quota
from eqlab.core.toml_section import Section

SCALE = ("key", "text", "low", "high", "labels", "ends", "reverse")
QUESTION = ("key", "ask", "text", "options", "low", "high", "optional", "prefer_not_to_say")
GOLD = ("text", "accept", "scale")
DESIGN = ("arms_per_person", "blocked")
QUOTA = ("question", "places")
_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")
_MOST_POINTS = 11


def scales(top: Section, allowed: bool) -> tuple[Scale, ...]:
    found = []
    if top.has("scale") and not allowed:
        top.wrong("scale", "is not for this kind of study (delete it; the kind has its own form)")
        return ()
    for one in top.tables("scale", SCALE):
        low = one.whole("low", 1, 0, 1)
        high = one.whole("high", 5, low + 1, low + _MOST_POINTS - 1)
        found.append(Scale(_key(one), one.text("text"), low, high, _anchors(one, low, high), bool(one.flag("reverse"))))
    _different(top, "scale", [scale.key for scale in found])
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


def questions(top: Section, name: Literal["before", "after"]) -> tuple[OwnQuestion, ...]:
    found = []
    for one in top.tables(name, QUESTION):
        ask = cast(Ask, one.choice("ask", ASKS))
        options = one.texts("options")
        closed = ask in ("one", "several")
        if closed and len(options) < 2:
            one.wrong("options", 'are too few (write options = ["…", "…"], two or more)')
        if not closed and one.has("options"):
            one.wrong("options", f"are not for ask = {ask!r} (delete the line)".replace("'", '"'))
        if ask != "number" and (one.has("low") or one.has("high")):
            one.wrong("low" if one.has("low") else "high", "is for numbers (delete the line)")
        if ask == "number" and not (one.has("low") and one.has("high")):
            one.wrong("high", "and low are missing (write the range, such as low = 18 and high = 110)")
        if ask == "one" and one.has("optional"):
            one.wrong("optional", "is not for one answer of several (write prefer_not_to_say = true)")
        elif one.flag("optional") and one.flag("prefer_not_to_say"):
            one.wrong(
                "optional", "stands beside prefer_not_to_say (write one of the two: the data could not tell them)"
            )
        low = one.number("low", 0, -1e9, 1e9)
        high = one.number("high", max(low, 0.0), low, 1e9)
        found.append(
            OwnQuestion(
                _key(one),
                ask,
                one.text("text"),
                options,
                low if ask == "number" else 0.0,
                high if ask == "number" else 0.0,
                bool(one.flag("optional")),
                bool(one.flag("prefer_not_to_say")),
            )
        )
    _different(top, name, [one.key for one in found])
    return tuple(found)


def gold(table: Section) -> tuple[Gold, ...]:
    found = []
    for one in table.tables("gold", GOLD):
        if not one.has("accept"):
            one.wrong("accept", "is missing (write the values that are right, such as accept = [1])")
        found.append(Gold(one.text("text"), one.wholes("accept", (1,), -100, 100), one.text("scale", "")))
    return tuple(found)


def arrangement(top: Section, allowed: bool, arms: int) -> Arrangement:
    if top.has("design") and not allowed:
        top.wrong("design", "is not for this kind of study (delete it; a person gets one arm)")
        return Arrangement()
    table = top.table("design", DESIGN)
    each = arms if table.values.get("arms_per_person") == "all" else table.whole("arms_per_person", 1, 1, max(arms, 1))
    blocked = bool(table.flag("blocked"))
    if blocked and each < 2:
        table.wrong("blocked", "makes sense with several arms a person only (set arms_per_person)")
    return Arrangement(max(each, 1), blocked)


def quota(top: Section, before: tuple[OwnQuestion, ...]) -> Quota:
    if not top.has("quota"):
        return Quota()
    table = top.table("quota", QUOTA)
    single = {one.key: one for one in before if one.ask == "one"}
    name = table.text("question")
    asked = single.get(name)
    if name and asked is None:
        known = ", ".join(single) or "none"
        table.wrong("question", f"'{name[:40]}' is no question of [[before]] with one answer (there are: {known})")
    places = table.table("places", None)
    found = []
    for option in places.values:
        if asked is not None and option not in asked.options:
            places.wrong(option, f"is no answer to it (there are: {', '.join(asked.options)[:200]})")
        found.append((option, places.whole(option, 1, 1, 100_000)))
    if not found:
        table.wrong("places", 'are missing (write places = { "Woman" = 30, "Man" = 30 })')
    return Quota(name, tuple(found))


def _key(one: Section) -> str:
    key = one.text("key")
    if key and not _KEY.fullmatch(key):
        one.wrong("key", "names a column of the data (write lower-case letters, digits and _, a letter first)")
    return key


def _different(top: Section, name: str, keys: list[str]) -> None:
    for index, key in enumerate(keys):
        if key in keys[:index]:
            top.notes.add((*top.path, name, index, "key"), f"'{key}' is there twice (give it another name)")
