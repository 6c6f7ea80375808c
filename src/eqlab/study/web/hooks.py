"""A panel's signed messages: whose submission was returned or has timed out gives the place back at once.

Prolific signs with base64(HMAC-SHA256(secret, timestamp + body)) in X-Prolific-Request-Signature, the timestamp in
X-Prolific-Request-Timestamp; it delivers at least once, with the same X-Event-ID each time
(docs.prolific.com/api-reference/webhooks)."""

import base64
import hashlib
import hmac
import json
import logging

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from eqlab.study.panels import derive, panel_hash
from eqlab.study.web.log import say
from eqlab.study.web.site import client_of, network_of, site_of

router = APIRouter(include_in_schema=False)
FRESH_SECONDS = 15 * 60
"""Older messages are not believed; Prolific stamps each delivery anew."""
RELEASES = frozenset({"RETURNED", "TIMED-OUT", "TIMED_OUT"})
SIGNING = frozenset({"prolific"})


@router.post("/hooks/{study}/{panel}")
async def hook(request: Request, study: str, panel: str) -> Response:
    site = site_of(request)
    served = site.studies.get(study)
    if served is None or panel not in SIGNING or served.study.panel.name.casefold() != panel:
        return JSONResponse({"detail": "There is no such study."}, 404)
    if not site.hooks.allows(network_of(client_of(request))):
        return JSONResponse({"detail": "Too many."}, 429, {"retry-after": "60"})
    body = await request.body()
    stamp = request.headers.get("x-prolific-request-timestamp", "")
    signature = request.headers.get("x-prolific-request-signature", "")
    if not genuine(site.settings.hook_secret, stamp, body, signature, site.clock()):
        say(logging.WARNING, "a panel's message was not believed", study=study)
        return JSONResponse({"detail": "The signature is not right."}, 401)
    told = _read(body)
    if told is None:
        return JSONResponse({"outcome": "ignored"})
    person, status, resource = told
    # Event ids are kept hashed: with some panels they name a submission.
    event = request.headers.get("x-event-id") or f"{resource} {status}"
    key = hmac.new(derive(site.settings.secret, "event"), event.encode(), hashlib.sha256).hexdigest()
    released = await served.write(
        served.participation.release, panel_hash(site.settings.secret, person), key, status.lower().replace("_", "-")
    )
    return JSONResponse({"outcome": "released" if released else "ignored"})


def genuine(secret: bytes, stamp: str, body: bytes, signature: str, now: float) -> bool:
    """Whether the panel has signed this, lately."""
    if not secret or not stamp.isascii() or not stamp.isdecimal() or len(stamp) > 13:
        return False
    seconds = int(stamp) / (1000 if len(stamp) == 13 else 1)
    if abs(now - seconds) > FRESH_SECONDS:
        return False
    good = base64.b64encode(hmac.new(secret, stamp.encode() + body, hashlib.sha256).digest())
    return hmac.compare_digest(good, signature.encode("utf-8", "replace"))


def _read(body: bytes) -> tuple[str, str, str] | None:
    """(person, status, submission) of a message that gives a place back; None for any other."""
    try:
        told = json.loads(body)
    except ValueError:
        return None
    if not isinstance(told, dict) or told.get("event_type") != "submission.status.change":
        return None
    person, status, resource = (told.get(key) for key in ("participant_id", "status", "resource_id"))
    if not isinstance(person, str) or not isinstance(status, str):
        return None
    status = status.upper().replace(" ", "-")
    return (person, status, str(resource)) if status in RELEASES and person.strip() else None
