"""From a status and an error to a verdict: the same rules for every provider."""

from collections.abc import Mapping
from typing import Any

from eqlab.models.chat import FILTERED, ChatReply
from eqlab.models.fit import Adaptation
from eqlab.models.wire.contract import Adapt, Hopeless, Incoming, Outgoing, TryAgain, Verdict
from eqlab.models.wire.said import Said, filter_code, is_spent, limit_named, named_field, page_title, read_error
from eqlab.models.wire.waits import wait_asked

NO_LOGIN = "the proxy wants a name and a password (HTTP 407)"
LOGIN_HINT = "Give them in HTTPS_PROXY or HTTP_PROXY: http://name:password@host:port."
_SHOWN = 300
_NOT_THERE = (405, 406, 410, 415)
"""Statuses of an address at which no model will ever answer; another strange one may be one request's alone."""
_AGAIN = (408, 409, 420, 424, 425, 429, 460, 498, 499)
"""424 is TGI's for a generation that failed, 498 Groq's for too little room, 460 and 499 a gateway's whose own request
was given up."""
_OVERLOAD = (503, 529)
_GATEWAY = (502, 503, 504, *range(520, 528), 529, 530)
"""Cloudflare's 52x and 530 among them: nobody behind the gateway."""


def unreadable(error: Exception, incoming: Incoming) -> TryAgain:
    """A reply that is none: broken on the way, or a page of some gateway, which is told by its title."""
    page = page_title(incoming.raw)
    if page is not None:
        return TryAgain(f"a web page instead of a reply ({page or 'without a title'})")
    if not incoming.raw.strip():
        return TryAgain(f"an empty body (HTTP {incoming.status})")
    if isinstance(error, KeyError | IndexError | TypeError | AttributeError):  # JSON, but no reply: its own words tell
        return TryAgain(f"JSON that is no reply: {read_error(incoming.raw).text}"[:_SHOWN])
    return TryAgain(f"a reply that cannot be read ({type(error).__name__}: {error})"[:_SHOWN])


def judged(
    outgoing: Outgoing, incoming: Incoming, said: Said, fields: Mapping[str, str], ends_in: str = "/v1"
) -> Verdict:
    """What an error means. `fields` are the names that were sent, with their meanings; a 200 may hold an error too."""
    status = incoming.status if not incoming.well else said.status or 500
    words = f"HTTP {status}: {said.text[:_SHOWN]}" if said.text else f"HTTP {status}"
    code = filter_code(said) if status not in (401, 402, 404) else ""
    if code:
        return refused(outgoing, incoming, code, said.text)
    if status == 402 or ((status in (429, 403) or status == 400) and is_spent(said)):
        return Hopeless(f"the account has no credit left ({words})", "Top it up and run the same command again.")
    if status in _AGAIN or status >= 500:
        wait = wait_asked(incoming.headers, said.body)
        return TryAgain(
            words,
            overload=status in _OVERLOAD,
            rate=status == 429,
            wait=wait,
            gone=status in _GATEWAY,
            status=status,
        )
    if status == 401:
        return Hopeless(f"it refuses the key ({words})", "Check the key's environment variable.")
    if status == 407:
        return Hopeless(NO_LOGIN, LOGIN_HINT)
    if status == 403:
        hint = "Check what the key and the account may use."
        return Hopeless(f"the key may not do this ({words})", hint, gateway=said.body is None)
    if status == 404:
        return Hopeless(
            f"it knows no such model, or nothing is at this address ({words})",
            f"Check the name, and that the address ends in {ends_in}.",
            gateway=said.body is None,
        )
    if status in (400, 422):
        return _not_taken(outgoing, said, fields, words)
    if status == 413:
        return Hopeless(words, model=False)
    return Hopeless(
        f"it answers {words}", f"Check the address; it should end in {ends_in}.", model=status in _NOT_THERE
    )


def refused(outgoing: Outgoing, incoming: Incoming, code: str, text: str = "", **more: Any) -> ChatReply:
    """A filter's word: an answer like any other, whose status is `refused`."""
    return ChatReply(text=text, finish=FILTERED, refusal=code, latency=incoming.latency, sent=outgoing.sent, **more)


def _not_taken(outgoing: Outgoing, said: Said, fields: Mapping[str, str], words: str) -> Verdict:
    """A field that the server does not take, or the request as a whole."""
    name = named_field(said, fields)
    meaning = fields.get(name, "")
    if meaning == "room":
        limit = limit_named(said, int(outgoing.sent["room"]))
        if limit is not None:
            return Adapt(Adaptation("limit", "room", str(limit)), words)
        return Hopeless(words, model=False)
    if not meaning:
        unknown = said.code in ("model_not_found", "DeploymentNotFound") or said.param == "model"
        return (
            Hopeless(f"it knows no such model ({words})", "Check the name.")
            if unknown
            else Hopeless(words, model=False)
        )
    if meaning == "schema":
        return Hopeless(f"it does not take a JSON schema ({words})", "Run without --structured.")
    if meaning == "extra":
        return Hopeless(f"it does not take the setting {name} ({words})", f"Leave out --set {name}.")
    if meaning in outgoing.request.own:
        flag = "--effort" if meaning == "effort" else f"--set {meaning}"
        return Hopeless(f"it does not take the {meaning} you chose ({words})", f"Leave out {flag}, or choose another.")
    return Adapt(Adaptation("drop", meaning), words)
