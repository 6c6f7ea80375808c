"""Who may do what: cookies, origins, limits, the login, a panel's signed messages, and what nobody is shown."""

import base64
import hashlib
import hmac
import json
import logging
import re
import time

import pytest
from argon2 import PasswordHasher
from small_study import small_design
from sqlalchemy import select
from starlette.datastructures import Headers
from web_case import PROLIFIC, SECRET, enter, fill, walk

from eqlab.core.errors import UsageError
from eqlab.store.schema import answers, places
from eqlab.store.study.participation import Participation
from eqlab.study.web.addresses import is_local
from eqlab.study.web.cookies import Cookies, parse_cookies
from eqlab.study.web.credentials import credentials, keep_password
from eqlab.study.web.guard import same_origin
from eqlab.study.web.hooks import genuine
from eqlab.study.web.limiter import Limiter, network_of
from eqlab.study.web.log import where
from eqlab.study.web.passwords import make_hash
from eqlab.study.web.settings import check_secret

PASSWORD = "correct horse battery"
HASH = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)  # cheap: tests check often
HOOK = b"hook-secret"


# -- cookies -------------------------------------------------------------------------------------------------------


def test_cookie_is_closed_to_scripts_and_names_only_the_pseudonym(make_site):
    site = make_site(public_url="https://study.test")
    reply = enter(site.browser(follow_redirects=False, headers={"Host": "study.test"}), panel_id="raw-id")
    cookie = reply.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=lax", "Secure", "Path=/"))
    value = re.match(r"eqlab_small=([^;]+);", cookie).group(1)
    assert re.fullmatch(r"[0-9a-f]{16}\.[\w-]{43}", value)
    assert "strict-transport-security" in reply.headers
    plain = enter(make_site(small_design("two", panel=PROLIFIC)).browser(follow_redirects=False), "two")
    assert "Secure" not in plain.headers["set-cookie"]


def test_forged_and_foreign_cookies_are_nobody(make_site):
    site = make_site(small_design("small"), small_design("other"))
    mine, forger = site.browser(), site.browser()
    mine.post("/s/small/start")
    value = mine.cookies["eqlab_small"]
    person, _, signature = value.partition(".")
    assert mine.get("/s/small/page").status_code == 200
    for name, forged in (
        ("eqlab_small", f"{person}."),
        ("eqlab_small", f"{person}.{signature[:-2]}xx"),
        ("eqlab_small", f"{person[::-1]}.{signature}"),
        ("eqlab_small", "."),
        ("eqlab_small", "é.é"),
        ("eqlab_other", value),
    ):
        forger.cookies.clear()
        header = {"cookie": f"{name}={forged}".encode("latin-1")}
        assert forger.get(f"/s/{name[6:]}/page", headers=header).status_code == 401, forged
        assert forger.get(f"/api/s/{name[6:]}/page", headers=header).status_code == 401
        assert forger.post(f"/s/{name[6:]}/stop", content=b"what=delete", headers=header).status_code == 401


def test_another_secret_knows_nobody():
    assert Cookies(b"a" * 32, False).mark("s", "p") != Cookies(b"b" * 32, False).mark("s", "p")
    assert parse_cookies("a=1; b=2") == {"a": "1", "b": "2"}
    assert parse_cookies("nonsense") == {}


def test_nobody_reads_or_writes_for_another(make_site):
    site = make_site(small_design(panel=PROLIFIC, attention=0))
    mine, other = site.browser(), site.browser()
    page, _ = walk(mine, enter(mine, panel_id="m"), until=lambda one: "v.rating" in one.text)
    enter(other, panel_id="o")
    reply = other.post("/s/small/page", data=fill(page.text), headers={"Accept": "application/json"})
    assert reply.json()["outcome"] == "ahead"
    with site.store.engine.connect() as connection:
        assert len(connection.execute(select(answers)).all()) == 1


# -- same origin, sizes, limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "cross-site", "origin": "https://study.test"}, False),
        ({"origin": "https://study.test"}, True),
        ({"origin": "HTTPS://STUDY.TEST"}, True),
        ({"origin": "https://study.test.evil.example"}, False),
        ({"origin": "http://study.test"}, False),
        ({"origin": "null"}, False),
        ({"referer": "https://study.test/"}, False),
        ({}, False),
    ],
)
def test_posts_come_from_our_own_pages(headers, allowed):
    assert same_origin(Headers(headers), "https://study.test") is allowed


def test_a_foreign_post_changes_nothing(make_site):
    site = make_site(small_design())
    client = site.browser(follow_redirects=False)
    client.headers.pop("sec-fetch-site")
    assert client.post("/s/small/start").status_code == 403
    reply = client.post("/s/small/start", headers={"Origin": "https://evil.example"})
    assert (reply.status_code, "did not come from our page" in reply.text) == (403, True)
    assert client.post("/s/small/start", headers={"Origin": "http://study.test"}).status_code == 303
    assert client.post("/api/s/small/page", json={"step": 0}).json() == {"detail": "This did not come from our page"}


def test_large_bodies_are_turned_away(make_site):
    site = make_site(small_design())
    client = site.browser()
    client.post("/s/small/start")
    assert client.post("/s/small/page", content=b"x" * 70_000).status_code == 413

    def pieces():
        for _ in range(20):
            yield b"y" * 5_000

    assert client.post("/s/small/page", content=pieces()).status_code == 413
    assert client.get("/s/small/page").status_code == 200


def test_the_door_has_a_limit_for_each_address_behind_a_proxy(make_site):
    site = make_site(door_burst=3, door_rate=0.0, proxy="testclient")
    come = {
        name: [
            enter(
                site.browser(follow_redirects=False, headers={"X-Forwarded-For": name}), panel_id=f"{name}{n}"
            ).status_code
            for n in range(4)
        ]
        for name in ("203.0.113.7", "203.0.113.8", "127.0.0.1")
    }
    assert come["203.0.113.7"] == come["203.0.113.8"] == [303, 303, 303, 429]
    assert come["127.0.0.1"] == [303] * 4


def test_forwarded_addresses_are_believed_only_if_told(make_site):
    site = make_site(door_burst=3, door_rate=0.0)
    codes = [
        enter(site.browser(follow_redirects=False, headers={"X-Forwarded-For": f"203.0.113.{n}"}), panel_id=f"p{n}")
        for n in range(4)
    ]
    assert [one.status_code for one in codes] == [303, 303, 303, 429]
    assert codes[3].headers["retry-after"] == "60"


def test_bucket_refills_and_forgets_the_oldest():
    now = [0.0]
    bucket = Limiter(2, 0.5, lambda: now[0])
    assert [bucket.allows("a") for _ in range(3)] == [True, True, False]
    assert bucket.allows("b")
    now[0] = 2.0
    assert [bucket.allows("a") for _ in range(2)] == [True, False]
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff") == "2001:db8::/64"
    assert network_of("203.0.113.9") == "203.0.113.9"
    assert network_of("testclient") == "unknown"


def test_headers_of_every_reply(make_site):
    client = make_site().browser()
    for path in ("/s/small", "/nope", "/health", "/researcher/login", "/api/s/small/page"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers
    style = client.get("/static/study.css")
    assert "immutable" in style.headers["cache-control"]


# -- errors --------------------------------------------------------------------------------------------------------


def test_an_error_shows_no_trace_and_logs_no_values(make_site, monkeypatch, caplog):
    site = make_site()
    client = site.browser()
    enter(client)

    def broken(self, who):
        raise RuntimeError(f"row of {who.person} and secret-value")

    monkeypatch.setattr(Participation, "_view", broken)
    with caplog.at_level(logging.ERROR, "eqlab.study"):
        reply = client.get("/s/small/page")
        as_json = client.get("/api/s/small/page")
    assert (reply.status_code, as_json.status_code) == (500, 500)
    assert "went wrong on our side" in reply.text
    for text in (reply.text, as_json.text, caplog.text, str([vars(record) for record in caplog.records])):
        assert "secret-value" not in text
        assert "Traceback" not in text
    logged = [str(getattr(record, "facts", "")) for record in caplog.records]
    assert any("RuntimeError at" in facts and "/s/{study}/page" in facts for facts in logged)
    assert where(ValueError("x")) == "ValueError"


def test_health_reads_the_store(make_site):
    site = make_site()
    client = site.browser()
    assert set(client.get("/health").json()) == {"status", "version"}
    assert client.head("/health").status_code == 200


# -- the researcher ------------------------------------------------------------------------------------------------


def login(client, password=PASSWORD):
    return client.post("/researcher/login", data={"password": password})


def test_login_opens_the_page_and_its_exports(make_site):
    site = make_site(password_hash=HASH)
    person, researcher = site.browser(), site.browser()
    walk(person, enter(person, panel_id="raw-panel-id"))
    assert login(researcher).url.path == "/researcher/"
    page = researcher.get("/researcher/small")
    assert "1 of 4" in page.text
    assert "raw-panel-id" not in page.text
    (name,) = [row.person for row in _held(site) if row.person]
    assert name not in page.text
    status = researcher.get("/researcher/small/status.json")
    assert status.json()["people"] == {"finished": 1}
    assert name not in status.text
    for what in ("answers.csv", "participants.parquet", "events.csv", "codebook.csv", "codebook.md"):
        reply = researcher.get(f"/researcher/small/export/{what}")
        assert reply.status_code == 200
        assert f'filename="small-{what}"' in reply.headers["content-disposition"]
    for what in ("answers.exe", "secrets.csv", "answers", "answers.md"):
        assert researcher.get(f"/researcher/small/export/{what}").status_code == 404
    assert researcher.get("/researcher/nope").status_code == 404
    researcher.post("/researcher/logout")
    assert researcher.get("/researcher/small").url.path == "/researcher/login"


def _held(site):
    with site.store.engine.connect() as connection:
        return connection.execute(select(places)).all()


def test_wrong_passwords_wait(make_site):
    site = make_site(password_hash=HASH, login_burst=3, login_rate=0.0)
    client = site.browser()
    assert [login(client, f"wrong {n}").status_code for n in range(4)] == [401, 401, 401, 429]
    assert login(client).status_code == 429
    fresh = {"secret": b"f" * 16 + SECRET, "password_hash": HASH, "login_burst": 3, "login_rate": 0.0}
    other = make_site(small_design("two"), **fresh).browser()
    for _ in range(4):
        assert login(other).status_code == 200  # a right one is forgiven what came before


def test_without_a_password_nobody_logs_in(make_site):
    client = make_site().browser()
    assert login(client, "").status_code == 401
    assert login(client, "nobody has this password").status_code == 401


def test_sessions_end_with_time_and_with_the_password(make_site):
    site = make_site(password_hash=HASH)
    client = site.browser()
    login(client)
    here = site.app.state.site
    assert client.get("/researcher/small").status_code == 200
    here.clock = lambda: time.time() + 13 * 3600
    assert client.get("/researcher/small", follow_redirects=False).status_code == 303
    here.clock = time.time
    changed = make_site(small_design(panel=PROLIFIC), password_hash=make_hash("another good password")).browser()
    changed.cookies = client.cookies
    assert client.get("/researcher/small").url.path == "/researcher/small"
    assert changed.get("/researcher/small").url.path == "/researcher/login"


def test_logging_out_ends_the_session_wherever_its_cookie_was_copied(make_site):
    site = make_site(password_hash=HASH)
    client, thief = site.browser(), site.browser()
    login(client)
    thief.cookies.set("eqlab_researcher", client.cookies["eqlab_researcher"])
    assert thief.get("/researcher/small/status.json").status_code == 200
    client.post("/researcher/logout")
    assert thief.get("/researcher/small/status.json").status_code == 401


# -- a panel's messages --------------------------------------------------------------------------------------------


def signed(body, stamp, secret=HOOK):
    text = json.dumps(body).encode()
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
    now = int(site.app.state.site.clock())
    walk(client, enter(client), until=lambda page: "v.rating" in page.text)
    assert [row.state for row in _held(site)] == ["held"]

    def tell(body, event="event-1", stamp=now, secret=HOOK, panel="prolific"):
        text, headers = signed(body, stamp, secret)
        return site.browser().post(f"/hooks/small/{panel}", content=text, headers={**headers, "X-Event-ID": event})

    assert tell(message(), secret=b"another").status_code == 401
    assert tell(message(), stamp=now - 3600).status_code == 401
    assert tell(message(), panel="sona").status_code == 404
    assert tell(message(status="APPROVED")).json() == {"outcome": "ignored"}
    assert tell(["no", "message"]).json() == {"outcome": "ignored"}
    assert [row.state for row in _held(site)] == ["held"]
    assert tell(message(person=" p-1 ")).json() == {"outcome": "released"}
    assert [row.state for row in _held(site)] == ["open"]
    other = site.browser()
    walk(other, enter(other, panel_id="p-2"), until=lambda page: "v.rating" in page.text)
    assert tell(message()).json() == {"outcome": "ignored"}  # the same event again
    assert [row.state for row in _held(site)] == ["held"]
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


# -- secret and password -------------------------------------------------------------------------------------------

GOOD = "5e1f0c9a7b3d2846f0e1d2c3b4a59687"


def test_outside_localhost_nothing_is_made_up(tmp_path):
    for host, url in (("0.0.0.0", ""), ("127.0.0.1", "https://study.example.org"), ("192.168.1.4", "")):
        with pytest.raises(UsageError, match="needs a secret"):
            credentials(tmp_path, host, url, "", {})
        with pytest.raises(UsageError, match="needs a password"):
            credentials(tmp_path, host, url, "", {"EQLAB_STUDY_SECRET": GOOD})
        full = {"EQLAB_STUDY_SECRET": GOOD, "EQLAB_STUDY_PASSWORD": PASSWORD, "EQLAB_STUDY_HOOK": "h"}
        found = credentials(tmp_path, host, url, "", full)
        assert (found.settings.secret, found.made_up, found.settings.hook_secret) == (GOOD.encode(), "", b"h")
    assert list(tmp_path.iterdir()) == []


def test_on_localhost_a_secret_is_made_once_and_a_password_for_each_start(tmp_path):
    first = credentials(tmp_path, "127.0.0.1", "", "", {})
    second = credentials(tmp_path, "localhost", "http://localhost:8000", "", {})
    assert first.settings.secret == second.settings.secret
    assert first.made_up != second.made_up
    assert (tmp_path / "study-secret").stat().st_mode & 0o777 == 0o600


def test_a_kept_password_counts_everywhere(tmp_path):
    path = keep_password(tmp_path, PASSWORD)
    assert PASSWORD not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    found = credentials(tmp_path, "0.0.0.0", "", "", {})
    assert found.made_up == ""
    assert found.settings.password_hash.startswith("$argon2id$")
    with pytest.raises(UsageError, match="fewer than"):
        keep_password(tmp_path, "short")


@pytest.mark.parametrize("weak", ["short", "a" * 40, "changeme-changeme-changeme-changeme", "x" * 31])
def test_weak_secrets_are_refused(weak):
    with pytest.raises(UsageError, match="random"):
        check_secret(weak)


def test_what_is_local():
    assert is_local("127.0.0.1", "")
    assert is_local("::1", "http://localhost:8000")
    assert not is_local("0.0.0.0", "")
    assert not is_local("example.org", "")
    assert not is_local("127.0.0.1", "https://study.example.org")
