"""From a status and an error to what it means: the same rules for every provider.

A server's error is taken apart, whoever the provider is: its code, the field it means, its words, and how long it asks
to be left alone, which is read with suspicion."""

import json
import math
import re
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from eqlab.core.values import dataclass
from eqlab.models.chat import FILTERED, ChatReply
from eqlab.models.wire.contract import (
    Adapt,
    Adaptation,
    Hopeless,
    Incoming,
    Outgoing,
    ReplyOrFailure,
    TryAgain,
    is_stream,
)

NO_LOGIN = "the proxy wants a name and a password (HTTP 407)"
LOGIN_HINT = "Give them in HTTPS_PROXY or HTTP_PROXY: http://name:password@host:port."
_ANNOUNCED = (b'"response.created"', b'"response.in_progress"', b'"response.queued"')
"""Events of a stream that begins before a model is at work."""
_SHOWN = 300
_NOT_THERE = (405, 406, 410, 415)
"""Statuses of an address at which no model will ever answer; another strange one may be one request's alone."""
_AGAIN = (408, 409, 420, 424, 425, 429, 460, 498, 499)
"""424 is TGI's for a generation that failed, 498 Groq's for too little room, 460 and 499 a gateway's whose own request
was given up."""
_OVERLOAD = (503, 529)
_GATEWAY = (502, 503, 504, *range(520, 528), 529, 530)
"""Cloudflare's 52x and 530 among them: nobody behind the gateway."""
_GIVEN_UP = (408, 460, 499, 504, 524)
"""Somebody on the way has given up waiting for a model that may be at work."""
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
_FILTERED = (
    r"(?i)content management policy|violates? (?:our |the )?usage guidelines|requires moderation|flagged (?:as|by|for)"
    r"|blocked by content filtering policy|content policy violation|content safety check|SAFETY_CHECK_TYPE\w*"
)
_CONTEXT = (
    r"maximum context length is (\d+) tokens.*?"
    r"(\d+) (?:input tokens|tokens from the input|in the messages|of text input)"
)
_SPENT = (
    r"(?i)insufficient[_ ]quota|credit balance is too low|insufficient (?:credits|balance)"
    r"|used all (?:of )?\w* ?credits"
    r"|(?:spending|billing|monthly|per[- ]month)[\w ]{0,20} (?:limit|quota|cap|budget)"
    r"|(?:limit|quota|cap|budget)[\w ]{0,20} (?:per|for (?:this|the)) month"
)
_FAULTS = (ValueError, RecursionError)
LONGEST_WAIT = 600.0
"""Seconds. A server that asks for more is waited for this long."""
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "": 1.0}
_PIECE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([mµun]?s|[dhm]|)")
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:[mµun]?s|[dhm])\s*)+|[0-9]+(?:\.[0-9]+)?")
LIMITS = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ("X-RateLimit-Remaining", "X-RateLimit-Reset"),
)


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What an error body says. Texts are as the server wrote them: keys are taken out where they are shown."""

    text: str = ""
    code: str = ""
    param: str = ""
    kind: str = ""
    body: Any = None
    """The error object itself."""
    status: int = 0
    """A status that the body names (OpenRouter and Google do); 0 where it names none."""
    usage: Any = None
    """What the request took all the same, as the body has it beside its error."""


def classify(
    outgoing: Outgoing,
    incoming: Incoming,
    problem: ErrorBody,
    meanings: Mapping[str, str],
    names: Iterable[str] | None = None,
    ends_in: str = "/v1",
) -> ReplyOrFailure:
    """What an error means; a 200 may hold one too. `meanings` has the dialect's names of fields, `names` those that
    were sent: the body's, if not said otherwise."""
    extra = dict.fromkeys(outgoing.request.extra, "extra")
    known = {**meanings, **extra}
    fields = {name: known[name] for name in (outgoing.body if names is None else names) if name in known}
    status = incoming.status if not incoming.well else problem.status or 500
    words = f"HTTP {status}: {problem.text[:_SHOWN]}" if problem.text else f"HTTP {status}"
    code = filter_code(problem) if status not in (401, 402, 404) else ""
    if code:
        return refused(outgoing, incoming, code, problem.text)
    if status == 402 or ((status in (429, 403) or status == 400) and is_spent(problem)):
        return Hopeless(f"the account has no credit left ({words})", "Top it up and run the same command again.")
    if status in _AGAIN or status >= 500:
        wait = wait_asked(incoming.headers, problem.body)
        return TryAgain(
            words,
            overload=status in _OVERLOAD,
            rate=status == 429,
            wait=wait,
            gone=status in _GATEWAY,
            status=status,
            billed=status in _GIVEN_UP or (incoming.well and not problem.status),
        )
    if status == 401:
        return Hopeless(
            f"it refuses the key ({words})",
            "Check the environment variable of the key (EQLAB_API_KEY with --base-url).",
        )
    if status == 407:
        return Hopeless(NO_LOGIN, LOGIN_HINT)
    if status == 403:
        hint = "Check what the key and the account may use."
        return Hopeless(f"the key may not do this ({words})", hint, gateway=problem.body is None)
    if status == 404:
        return Hopeless(
            f"it knows no such model, or nothing is at this address ({words})",
            f"Check the name, and that the address ends in {ends_in}.",
            gateway=problem.body is None,
        )
    if status in (400, 422):
        return _not_taken(outgoing, problem, fields, words)
    if status == 413:
        return Hopeless(words, model=False)
    return Hopeless(
        f"it answers {words}", f"Check the address; it should end in {ends_in}.", model=status in _NOT_THERE
    )


def _not_taken(outgoing: Outgoing, problem: ErrorBody, fields: Mapping[str, str], words: str) -> ReplyOrFailure:
    """A field that the server does not take, or the request as a whole."""
    name = named_field(problem, fields)
    meaning = fields.get(name, "")
    if meaning == "room":
        return _too_much_room(problem, int(outgoing.sent["room"]), words)
    if not meaning:
        unknown = problem.code in ("model_not_found", "DeploymentNotFound") or problem.param == "model"
        return (
            Hopeless(f"it knows no such model ({words})", "Check the name.")
            if unknown
            else Hopeless(words, model=False)
        )
    if meaning == "schema":
        return Hopeless(f"it does not take a JSON schema ({words})", "Run without --structured.")
    if meaning == "extra":
        return Hopeless(f"it does not take the setting {name} ({words})", f"Leave out --set {name}.")
    if meaning in outgoing.request.user_set:
        flag = "--effort" if meaning == "effort" else f"--set {meaning}"
        return Hopeless(f"it does not take the {meaning} you chose ({words})", f"Leave out {flag}, or choose another.")
    return Adapt(Adaptation("drop", meaning), words)


def _too_much_room(problem: ErrorBody, sent: int, words: str) -> Adapt | Hopeless:
    """What a context leaves beside one prompt is no other request's limit. More than the whole context is refused
    beside any prompt: of that the model is given a share that no prompt decides."""
    context = re.search(_CONTEXT, problem.text)
    whole, prompt = (int(context[1]), int(context[2])) if context else (0, 0)
    of_model = sent > whole
    limit = named_limit(problem, sent) if not context else whole * 3 // 4 if of_model else whole - prompt
    if limit is None or limit < 1:
        return Hopeless(words, model=False)
    return Adapt(Adaptation("limit", "room", str(limit)), words, of_model)


def refused(outgoing: Outgoing, incoming: Incoming, code: str, text: str = "", **more: Any) -> ChatReply:
    """A filter's word: an answer like any other, whose status is `refused`."""
    return ChatReply(text=text, finish=FILTERED, refusal=code, latency=incoming.latency, sent=outgoing.sent, **more)


def unreadable(error: Exception, incoming: Incoming) -> TryAgain:
    """A reply that is none: broken on the way, or a page of some gateway, which is told by its title."""
    page = page_title(incoming.raw)
    if page is not None:
        return TryAgain(f"a web page instead of a reply ({page or 'without a title'})")
    if not incoming.raw.strip():
        return TryAgain(f"an empty body (HTTP {incoming.status})", billed=True)
    if isinstance(error, KeyError | IndexError | TypeError | AttributeError):  # JSON, but no reply: its own words tell
        return TryAgain(f"JSON that is no reply: {read_error(incoming.raw).text}"[:_SHOWN], billed=True)
    return TryAgain(f"a reply that cannot be read ({type(error).__name__}: {error})"[:_SHOWN], billed=True)


def had_begun(incoming: Incoming) -> bool:
    """Whether an error ends a stream that held something before it."""
    if not is_stream(incoming.headers, incoming.raw):
        return False
    announced = sum(incoming.raw.count(word) for word in _ANNOUNCED)
    return incoming.raw.count(b"data:") > announced + 1


def read_error(raw: bytes) -> ErrorBody:
    text = raw[:20000].decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except _FAULTS:
        page = page_title(raw)
        return ErrorBody(" ".join(text.split()) if page is None else f"a web page ({page or 'without a title'})")
    if isinstance(body, list) and body:  # Google's streams
        body = body[0]
    return error_in(body)


def page_title(raw: bytes) -> str | None:
    """What a web page is called, or begins with; None for what is no page."""
    start = raw[:4000].decode("utf-8", "replace")
    if not re.match(r"\s*<(?:!doctype|html|\?xml)", start, re.IGNORECASE):
        return None
    title = re.search(r"<title[^>]*>([^<]*)", start, re.IGNORECASE)
    return " ".join((title[1] if title else re.sub(r"<[^>]*>", " ", start)).split())[:80]


def error_in(body: Any) -> ErrorBody:
    """`{"error": {…}}`, `{"error": "…", "code": "…"}` (xAI), `{"detail": …}` (FastAPI) or anything else."""
    if not isinstance(body, Mapping):
        return ErrorBody(_line(body))
    error = body.get("error", body)
    if not isinstance(error, Mapping):
        return ErrorBody(
            _line(error),
            code=_word(body.get("code")),
            kind=_word(body.get("type")),
            body=body,
            usage=body.get("usage"),
        )
    inner = error.get("innererror")
    code = error.get("code")
    text = error.get("message") or error.get("detail") or error.get("error") or error
    param = _word(error.get("param"))
    if isinstance(text, list):  # FastAPI and Mistral: [{"loc": ["body", "seed"], "msg": "Extra inputs …"}]
        places = [one["loc"] for one in text if isinstance(one, Mapping) and isinstance(one.get("loc"), list)]
        param = param or next((_word(place[-1]) for place in places if place), "")
        text = "; ".join(_line(one.get("msg", one) if isinstance(one, Mapping) else one) for one in text)
    return ErrorBody(
        _line(text),
        code=_word(inner.get("code")) if isinstance(inner, Mapping) and not code else _word(code),
        param=param,
        kind=_word(error.get("type") or error.get("status")),
        body=error,
        status=code if isinstance(code, int) and 400 <= code < 600 else 0,
        usage=body.get("usage"),
    )


def filter_code(problem: ErrorBody) -> str:
    """The provider's code where a filter refused; empty where something else did."""
    if problem.code.lower() in FILTER_CODES:
        return problem.code
    reasons = _moderation(problem.body)
    if reasons is not None:
        return f"moderation: {reasons}" if reasons else "moderation"
    found = re.search(_FILTERED, problem.text)
    if found is None:
        return ""
    check = re.search(r"SAFETY_CHECK_TYPE\w*", problem.text)
    return check.group() if check else problem.kind.lower() if "polic" in problem.kind.lower() else "content_filter"


def _moderation(body: Any) -> str | None:
    """OpenRouter: {"metadata": {"reasons": ["violence"], "flagged_input": "…"}}."""
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    if not isinstance(metadata, Mapping) or not ("reasons" in metadata or "flagged_input" in metadata):
        return None
    reasons = metadata.get("reasons")
    return ", ".join(str(reason) for reason in reasons) if isinstance(reasons, list) else ""


def is_spent(problem: ErrorBody) -> bool:
    """Whether an account has nothing left, so that no waiting helps."""
    if problem.code == "insufficient_quota" or problem.kind == "insufficient_quota" or re.search(_SPENT, problem.text):
        return True
    return "PerDay" in json.dumps(problem.body, default=str) if isinstance(problem.body, Mapping) else False


def named_field(problem: ErrorBody, fields: Mapping[str, str]) -> str:
    """Which of the fields that were sent is meant: by the error's own `param`, else by its words. `fields` maps the
    names on the wire to their meaning; the answer is a name on the wire."""
    param = problem.param.lower()
    for name in sorted(fields, key=len, reverse=True):
        if param and (
            param == name.lower() or param.startswith(f"{name.lower()}.") or param.endswith(f".{name.lower()}")
        ):
            return name
    at = {name: found.start() for name in fields if (found := _as_word(name).search(problem.text))}
    return min(at, key=lambda name: (at[name], -len(name))) if at else ""


def _as_word(name: str) -> re.Pattern[str]:
    """`max_output_tokens` is said as maxOutputTokens, "max output tokens" or by its own name."""
    parts = re.sub(r"([A-Z])", r"_\1", name).lower().split("_")
    return re.compile(r"(?<![A-Za-z])" + "[_ .-]?".join(map(re.escape, parts)) + r"(?![A-Za-z]|_[a-z])", re.IGNORECASE)


def named_limit(problem: ErrorBody, sent: int) -> int | None:
    """The most tokens that a reply may have, where an error about `sent` of them names it."""
    numbers = [int(number) for number in re.findall(r"(?<![\w.-])\d+(?![\w-])", problem.text.replace(",", ""))]
    below = [number for number in numbers if 16 <= number < sent]
    if not below:
        return None
    return max(below) - ("exclusive" in problem.text)


def quoted(text: str) -> list[str]:
    return re.findall(r"['\"`]([\w-]+)['\"`]", text)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _line(value: Any) -> str:
    return " ".join((value if isinstance(value, str) else json.dumps(value, default=str)).split())


def wait_asked(headers: Mapping[str, str], error: Any = None) -> float | None:
    """Seconds, uncapped, that a refusal asks for; None when it does not say."""
    found = retry_after(headers)
    if found is None:
        found = _retry_delay(error)
    if found is None:
        found = window_wait(headers) or None
    return found


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Retry-After in seconds, milliseconds or as a date; None when the server did not say."""
    for name, unit in (("retry-after-ms", 0.001), ("Retry-After", 1.0)):
        text = headers.get(name) or ""
        try:
            seconds = float(text) * unit
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    until = _date(headers.get("Retry-After") or "")
    if until is None:
        return None
    now = _date(headers.get("Date") or "")  # the server's own clock: ours may be wrong
    return max(0.0, until - (time.time() if now is None else now))


def window_wait(headers: Mapping[str, str]) -> float:
    """Seconds until the allowance is renewed, when the headers say that none is left."""
    longest = 0.0
    if "0" not in headers.values():
        return longest
    for remaining, reset in LIMITS:
        if headers.get(remaining) == "0":
            longest = max(longest, _until(headers.get(reset) or "", headers))
    return longest


def _until(text: str, headers: Mapping[str, str]) -> float:
    """A duration, a moment (RFC 3339, Unix seconds or milliseconds) or nothing."""
    if "T" in text:
        try:
            moment = datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
        except (ValueError, OverflowError, OSError):
            return 0.0
        now = _date(headers.get("Date") or "")
        return max(0.0, moment - (time.time() if now is None else now))
    seconds = duration(text)
    for finer in (1e14, 1e11):  # microseconds, milliseconds
        if seconds > finer:
            seconds /= 1000
    return max(0.0, seconds - time.time()) if seconds > 1e9 else seconds


def _retry_delay(error: Any) -> float | None:
    """Google's RetryInfo: {"retryDelay": "17s"}."""
    details = error.get("details") if isinstance(error, Mapping) else None
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping) and isinstance(delay := detail.get("retryDelay"), str):
            return duration(delay)
    return None


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None


def duration(text: str) -> float:
    """'6m0s', '1.5s', '20ms' or plain seconds; 0 for what is none: 'soon', '-5', '1e400'."""
    if not _DURATION.fullmatch(text.strip()):
        return 0.0
    total = sum(float(number) * _UNITS[unit] for number, unit in _PIECE.findall(text))
    return total if math.isfinite(total) else 0.0
