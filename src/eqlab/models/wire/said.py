"""A server's refusal, taken apart: its code, the field it means, its words, whoever the provider is."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FILTER_CODES = (
    "content_filter",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "invalid_prompt",
    "moderation_blocked",
    "content_moderation",
    "prohibited_content",
    "data_inspection_failed",
    "sensitive",
)
"""The codes by which providers say that a filter, not a fault, stopped a request."""
_FILTERED = re.compile(
    r"content management policy|violates? (?:our |the )?usage guidelines|requires moderation|flagged (?:as|by|for)"
    r"|blocked by content filtering policy|content policy violation|SAFETY_CHECK_TYPE\w*",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"maximum context length is (\d+) tokens.*?"
    r"(\d+) (?:input tokens|tokens from the input|in the messages|of text input)"
)
_SPENT = re.compile(
    r"insufficient[_ ]quota|credit balance is too low|insufficient (?:credits|balance)|used all (?:of )?\w* ?credits"
    r"|(?:spending|billing|monthly|per[- ]month)[\w ]{0,20} (?:limit|quota|cap|budget)"
    r"|(?:limit|quota|cap|budget)[\w ]{0,20} (?:per|for (?:this|the)) month",
    re.IGNORECASE,
)
_FAULTS = (ValueError, RecursionError)


@dataclass(frozen=True, slots=True)
class Said:
    """What an error body says. Texts are as the server wrote them: keys are taken out where they are shown."""

    text: str = ""
    code: str = ""
    param: str = ""
    kind: str = ""
    body: Any = None
    """The error object itself."""
    status: int = 0
    """A status that the body names (OpenRouter and Google do); 0 where it names none."""


def read_error(raw: bytes) -> Said:
    text = raw[:20000].decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except _FAULTS:
        page = page_title(raw)
        return Said(" ".join(text.split()) if page is None else f"a web page ({page or 'without a title'})")
    if isinstance(body, list) and body:  # Google's streams
        body = body[0]
    return said_in(body)


def page_title(raw: bytes) -> str | None:
    """What a web page is called, or begins with; None for what is no page."""
    start = raw[:4000].decode("utf-8", "replace")
    if not re.match(r"\s*<(?:!doctype|html|\?xml)", start, re.IGNORECASE):
        return None
    title = re.search(r"<title[^>]*>([^<]*)", start, re.IGNORECASE)
    return " ".join((title[1] if title else re.sub(r"<[^>]*>", " ", start)).split())[:80]


def said_in(body: Any) -> Said:
    """`{"error": {…}}`, `{"error": "…", "code": "…"}` (xAI), `{"detail": …}` (FastAPI) or anything else."""
    if not isinstance(body, Mapping):
        return Said(_line(body))
    error = body.get("error", body)
    if not isinstance(error, Mapping):
        return Said(_line(error), code=_word(body.get("code")), kind=_word(body.get("type")), body=body)
    inner = error.get("innererror")
    code = error.get("code")
    text = error.get("message") or error.get("detail") or error.get("error") or error
    param = _word(error.get("param"))
    if isinstance(text, list):  # FastAPI and Mistral: [{"loc": ["body", "seed"], "msg": "Extra inputs …"}]
        places = [one["loc"] for one in text if isinstance(one, Mapping) and isinstance(one.get("loc"), list)]
        param = param or next((_word(place[-1]) for place in places if place), "")
        text = "; ".join(_line(one.get("msg", one) if isinstance(one, Mapping) else one) for one in text)
    return Said(
        _line(text),
        code=_word(inner.get("code")) if isinstance(inner, Mapping) and not code else _word(code),
        param=param,
        kind=_word(error.get("type") or error.get("status")),
        body=error,
        status=code if isinstance(code, int) and 400 <= code < 600 else 0,
    )


def filter_code(said: Said) -> str:
    """The provider's code where a filter refused; empty where something else did."""
    if said.code.lower() in FILTER_CODES:
        return said.code
    reasons = _moderation(said.body)
    if reasons is not None:
        return f"moderation: {reasons}" if reasons else "moderation"
    found = _FILTERED.search(said.text)
    if found is None:
        return ""
    check = re.search(r"SAFETY_CHECK_TYPE\w*", said.text)
    return check.group() if check else said.kind.lower() if "polic" in said.kind.lower() else "content_filter"


def _moderation(body: Any) -> str | None:
    """OpenRouter: {"metadata": {"reasons": ["violence"], "flagged_input": "…"}}."""
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    if not isinstance(metadata, Mapping) or not ("reasons" in metadata or "flagged_input" in metadata):
        return None
    reasons = metadata.get("reasons")
    return ", ".join(str(one) for one in reasons) if isinstance(reasons, list) else ""


def is_spent(said: Said) -> bool:
    """Whether an account has nothing left, so that no waiting helps."""
    if said.code == "insufficient_quota" or said.kind == "insufficient_quota" or _SPENT.search(said.text):
        return True
    return "PerDay" in json.dumps(said.body, default=str) if isinstance(said.body, Mapping) else False


def named_field(said: Said, fields: Mapping[str, str]) -> str:
    """Which of the fields that were sent is meant: by the error's own `param`, else by its words. `fields` maps the
    names on the wire to their meaning; the answer is a name on the wire."""
    param = said.param.lower()
    for name in sorted(fields, key=len, reverse=True):
        if param and (
            param == name.lower() or param.startswith(f"{name.lower()}.") or param.endswith(f".{name.lower()}")
        ):
            return name
    at = {name: found.start() for name in fields if (found := _as_word(name).search(said.text))}
    return min(at, key=lambda name: (at[name], -len(name))) if at else ""


def _as_word(name: str) -> re.Pattern[str]:
    """`max_output_tokens` is said as maxOutputTokens, "max output tokens" or by its own name."""
    parts = re.sub(r"([A-Z])", r"_\1", name).lower().split("_")
    return re.compile(r"(?<![A-Za-z])" + "[_ .-]?".join(map(re.escape, parts)) + r"(?![A-Za-z]|_[a-z])", re.IGNORECASE)


def limit_named(said: Said, sent: int) -> int | None:
    """The most tokens that a reply may have, where an error about `sent` of them names it."""
    context = _CONTEXT.search(said.text)
    if context:
        left = int(context[1]) - int(context[2])
        return max(1, left * 9 // 10) if left > 0 else None  # other prompts may be longer
    numbers = [int(number) for number in re.findall(r"(?<![\w.-])\d+(?![\w-])", said.text.replace(",", ""))]
    below = [number for number in numbers if 16 <= number < sent]
    if not below:
        return None
    return max(below) - ("exclusive" in said.text)


def quoted(text: str) -> list[str]:
    return re.findall(r"['\"`]([\w-]+)['\"`]", text)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _line(value: Any) -> str:
    return " ".join((value if isinstance(value, str) else json.dumps(value, default=str)).split())
