"""Reading a structured answer: the form as one JSON object. The same for every benchmark."""

import json
import re

from eqlab.benchmarks.refusal import is_refusal
from eqlab.core.answers import Reading
from eqlab.core.forms import Form, check_values

_FENCE = re.compile(r"^\s*```(?:json)?\s*\n(.*?)\n?```\s*$", re.DOTALL)


def read_json(text: str, form: Form) -> Reading:
    """The values of a reply that is a JSON object for this form, a Markdown fence around it allowed."""
    fence = _FENCE.match(text)
    try:
        values = json.loads(fence.group(1) if fence else text)
    except (json.JSONDecodeError, RecursionError):
        return Reading("refused" if is_refusal(text) else "unparseable", note="the reply is not a JSON object")
    if not isinstance(values, dict):
        return Reading("unparseable", note="the reply is JSON, but not an object")
    why = check_values(form, values)
    return Reading("unparseable", note=why) if why else Reading("ok", values)
