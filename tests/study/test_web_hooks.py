"""A panel's signed messages: whose they are, how old they may be, and what they do once."""

import base64
import hashlib
import hmac
import json
import time

from small_study import small_design
from web_case import PROLIFIC, enter, rows, walk

from eqlab.store.schema import places
from eqlab.study.web.app import genuine

HOOK = b"hook-secret"


def signed(body, stamp, secret=HOOK):
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    signature = base64.b64encode(hmac.new(secret, str(stamp).encode() + text, hashlib.sha256).digest()).decode()
    return text, {"X-Prolific-Request-Timestamp": str(stamp), "X-Prolific-Request-Signature": signature}


def message(person="p-1", status="RETURNED"):
    return {
        "event_type": "submission.status.change",
        "participant_id": person,
        "resource_id": "submission-1",
        "status": status,
    }


def test_returned_submission_gives_the_place_back_once(make_site):
    site = make_site(small_design(panel=PROLIFIC, arms=("a",), batches=1), hook_secret=HOOK)
    client = site.browser()
    now = int(time.time())
    site.app.state.site.clock = lambda: time.time() + 7200  # begun while the clock was fast, set right since
    walk(client, enter(client), until=lambda page: "v.rating" in page.text)
    assert [row.state for row in rows(site, places)] == ["held"]

    def tell(body, event="event-1", stamp=now, secret=HOOK, panel="prolific"):
        text, headers = signed(body, stamp, secret)
        return site.browser().post(f"/hooks/small/{panel}", content=text, headers={**headers, "X-Event-ID": event})

    assert tell(message(), secret=b"another").status_code == 401
    assert tell(message(), stamp=now - 3600).status_code == 401
    assert tell(message(), panel="sona").status_code == 404
    assert tell(message(status="APPROVED")).json() == {"outcome": "ignored"}
    assert tell(["no", "message"]).json() == {"outcome": "ignored"}
    assert tell({**message("nobody"), "resource_id": "\ud800"}, "").json() == {"outcome": "ignored"}
    assert tell(b"[" * 30_000).json() == {"outcome": "ignored"}
    assert [row.state for row in rows(site, places)] == ["held"]
    assert tell(message(person=" p-1 ")).json() == {"outcome": "released"}
    assert [row.state for row in rows(site, places)] == ["open"]
    other = site.browser()
    walk(other, enter(other, panel_id="p-2"), until=lambda page: "v.rating" in page.text)
    assert tell(message()).json() == {"outcome": "ignored"}  # the same event again
    assert [row.state for row in rows(site, places)] == ["held"]
    assert tell(message("p-2", "TIMED-OUT"), "event-2").json() == {"outcome": "released"}
    site.store.engine.dispose()
    for file in site.folder.glob("store.db*"):
        assert b"submission-1" not in file.read_bytes()


def test_signature_must_fit_and_be_fresh():
    body, headers = signed(message(), 1000)
    stamp, signature = headers.values()
    assert genuine(HOOK, stamp, body, signature, 1010.0)
    assert not genuine(b"", stamp, body, signature, 1010.0)
    assert not genuine(HOOK, stamp, body + b" ", signature, 1010.0)
    assert not genuine(HOOK, "1001", body, signature, 1010.0)
    assert not genuine(HOOK, stamp, body, signature, 1000.0 + 16 * 60)
    assert not genuine(HOOK, "", body, "", 1010.0)
    assert not genuine(HOOK, stamp, body, "é", 1010.0)
