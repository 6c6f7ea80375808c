"""What a study file may add of its researcher's own: scales, questions before and after, gold items, how arms are given
to people, quotas. Each table read and checked by itself."""

from typing import Literal, cast

from eqlab.core.forms import Scale
from eqlab.core.study import ASKS, Arrangement, Ask, Gold, OwnQuestion, Quota
from eqlab.core.toml_file import Section, check_different, read_key, read_scales

QUESTION = ("key", "ask", "text", "options", "low", "high", "optional", "prefer_not_to_say")
GOLD = ("text", "accept", "scale")
DESIGN = ("arms_per_person", "blocked")
QUOTA = ("question", "places")


def scales(top: Section, allowed: bool) -> tuple[Scale, ...]:
    if top.has("scale") and not allowed:
        top.wrong("scale", "is not for this kind of study (delete it; the kind has its own form)")
        return ()
    return read_scales(top)


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
                read_key(one),
                ask,
                one.text("text"),
                options,
                low if ask == "number" else 0.0,
                high if ask == "number" else 0.0,
                bool(one.flag("optional")),
                bool(one.flag("prefer_not_to_say")),
            )
        )
    check_different(top, name, [one.key for one in found])
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
        table.wrong("question", f"'{name[:40]}' is not a question of [[before]] with one answer (there are: {known})")
    places = table.table("places", None)
    found = []
    for option in places.values:
        if asked is not None and option not in asked.options:
            places.wrong(option, f"is not an answer to it (there are: {', '.join(asked.options)[:200]})")
        found.append((option, places.whole(option, 1, 1, 100_000)))
    if not found:
        table.wrong("places", 'are missing (write places = { "Woman" = 30, "Man" = 30 })')
    return Quota(name, tuple(found))
