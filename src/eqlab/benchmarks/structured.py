"""Reading a structured answer: the form as one JSON object. The same for every benchmark."""

import json
from typing import Any

from eqlab.benchmarks.refusal import is_refusal
from eqlab.core.answers import Reading
from eqlab.core.forms import Form, check_values


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
    why = check_values(form, values)
    return Reading("unparseable", note=why) if why else Reading("ok", values)


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
