"""Reading a reply into a form: as a JSON object, as "name: number" lines, or as a refusal. The same for every
benchmark; multiple choice is read in `choices`."""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from eqlab.core.answers import Reading
from eqlab.core.forms import Form, check_values

NEAR = 0.05
"""A sum of points that is so near to the total, as a share of it, is rounding: scaled, and not worth a word."""
SCALED = "scaled to the total"
"""How the note of a reading ends whose points were dealt out in another number than asked for."""
_REFUSAL = (
    r"(?i)\b(?=[abei])(?:"  # how they all begin: looked at first, that is twice as fast
    r"I(?:'m| am) (?:sorry|unable|not able|not comfortable|afraid I)"
    r"|I (?:can(?:no|')t|can not|won't|will not|must decline|do not feel comfortable|don't feel comfortable)"
    r"|I (?:have to|must) (?:decline|refuse)"
    r"|(?:As|Being) an? (?:AI|artificial intelligence|language model|assistant)"
    r"|I (?:do not|don't) (?:have|experience|possess) (?:personal )?(?:feelings|emotions)"
    r"|against my (?:guidelines|policy|programming)"
    r"|(?:Es tut mir leid|Ich kann (?:diese|das|keine|nicht)|Als (?:KI|Sprachmodell))"
    r")"
)


def is_refusal(text: str) -> bool:
    """Whether the opening of a reply declines; a long answer that mentions a limit later on does not. Asked only of
    replies that could not be read, so that an answer with an apology in it is never a refusal."""
    return re.search(_REFUSAL, text[:400].replace("’", "'")) is not None


# -- a JSON object ---------------------------------------------------------------------------------------------------


class _TwiceError(ValueError):
    pass


def read_json(text: str, form: Form) -> Reading:
    """The values of a reply that is a JSON object for this form, a Markdown fence around it allowed."""
    try:
        values = json.loads(unfenced(text), object_pairs_hook=_no_twins)
    except _TwiceError:
        return Reading("unparseable", note="a key of the JSON object comes twice")
    except (ValueError, RecursionError):  # a number of thousands of digits is a ValueError too
        return Reading("refused" if is_refusal(text) else "unparseable", note="the reply is not a JSON object")
    if not isinstance(values, dict):
        return Reading("unparseable", note="the reply is JSON, but not an object")
    return dealt_out(values, form)


def unfenced(text: str) -> str:
    """Without the Markdown fence around it, if it has one."""
    bare = text.strip()
    if not (bare.startswith("```") and bare.endswith("```") and len(bare) >= 6):
        return text
    opening, newline, inside = bare[:-3].partition("\n")
    return inside if newline and opening.rstrip() in ("```", "```json") else text


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that comes twice could mean either value."""
    if len({key for key, _ in pairs}) != len(pairs):
        raise _TwiceError
    return dict(pairs)


# -- "name: number" --------------------------------------------------------------------------------------------------


def read_numbers(text: str, form: Form) -> Reading:
    """One number for each scale, after its key or its text ("joy: 3", "**Joy** = 3/10", `"joy": 3`), in any order. The
    last number of a name counts: what comes before it is thinking aloud."""
    keys = {name.casefold(): scale.key for scale in form.scales for name in (scale.text, scale.key)}
    values: dict[str, float] = {}
    for name, digits in _pairs(tuple(keys)).findall(text):
        number = float(digits.replace(",", "."))
        if key := keys.get(name.casefold()):
            values[key] = int(number) if number.is_integer() else number
    missing = [key for key in form.keys if key not in values]
    if missing:
        refused = not values and is_refusal(text)
        return Reading("refused" if refused else "unparseable", values, f"no number for {', '.join(missing)}")
    return dealt_out(values, form)


@lru_cache(maxsize=512)
def _pairs(names: tuple[str, ...]) -> re.Pattern[str]:
    """A name and its number; the longest name first, for "mild fear: 2" is nothing about "fear"."""
    marks = r"[\"'’”*_`\s]*"
    longest_first = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    number = r"(-?\d{1,6}(?:[.,]\d{1,6})?)(?!\d)"
    return re.compile(
        rf"(?<!\w)({longest_first})(?!\w){marks}(?:[:：=]|(?<=\s)[–—-](?=\s)){marks}{number}", re.IGNORECASE
    )


def dealt_out(values: Mapping[str, Any], form: Form) -> Reading:
    """Values that fill in the form. Where points are dealt out over the scales and none is below 0, another sum is
    scaled to the total, and the note says so, to be counted."""
    if form.total is None:
        why = check_values(form, values)
        return Reading("unparseable", note=why) if why else Reading("ok", values)
    points = {key: value for key, value in values.items() if key in form.keys}
    if len(points) < len(form.keys) or not all(_is_number(value) for value in points.values()):
        return Reading("unparseable", note=check_values(form, values) or "a value is no number of points")
    if min(points.values()) < 0:
        return Reading("unparseable", points, note=check_values(form, values))
    given = sum(points.values())
    if not given:
        return Reading("unparseable", note="no points were dealt out")
    if given == form.total:
        return Reading("ok", points)
    scaled = {key: value * form.total / given for key, value in points.items()}
    near = abs(given - form.total) <= NEAR * form.total
    return Reading("ok", scaled, "" if near else f"{given:g} points, {SCALED}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) < 1e9
