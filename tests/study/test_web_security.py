"""Who may do what on the web: cookies, origins, sizes, limits, headers, and what an error tells nobody."""

import json
import logging
import re
import threading
from dataclasses import replace

import pytest
from small_study import small_design
from sqlalchemy import select
from starlette.datastructures import Headers
from starlette.responses import Response
from web_case import PROLIFIC, SECRET, enter, fill, walk

from eqlab.core.errors import StoreError
from eqlab.core.study import Panel
from eqlab.store.schema import answers
from eqlab.store.study.participation import Participation
from eqlab.study.web.app import create_app
from eqlab.study.web.guard import parse_cookies, same_origin
from eqlab.study.web.log import where
from eqlab.study.web.settings import network_of
from eqlab.study.web.site import Cookies, VisitLimiter, small_form

# -- cookies -------------------------------------------------------------------------------------------------------


def test_cookie_is_closed_to_scripts_and_names_only_the_pseudonym(make_site):
    site = make_site(public_url="https://study.test")
    reply = enter(site.browser(follow_redirects=False, headers={"Host": "study.test"}), panel_id="raw-id")
    cookie = reply.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=lax", "Secure", "Path=/"))
    value = re.match(r"__Host-eqlab_small=([^;]+);", cookie).group(1)
    assert re.fullmatch(r"[0-9a-f]{16}\.[\w-]{43}", value)
    assert "strict-transport-security" in reply.headers
    plain = enter(make_site(small_design("two", panel=PROLIFIC)).browser(follow_redirects=False), "two")
    assert plain.headers["set-cookie"].startswith("eqlab_two=")
    assert "Secure" not in plain.headers["set-cookie"]


class Browser:
    """Over https, with the cookies that we say it sends, in that order: a page of a sibling host has set some."""

    def __init__(self, site):
        self._client = site.browser(follow_redirects=False, headers={"Host": "study.test"})
        self.cookies = []

    def ask(self, method, path, **more):
        self._client.cookies.clear()
        reply = self._client.request(method, path, headers={"cookie": "; ".join(self.cookies)}, **more)
        for made in reply.headers.get_list("set-cookie"):
            self.cookies.append(made.partition(";")[0])
        return self.ask("GET", reply.headers["location"]) if reply.status_code == 303 else reply


@pytest.mark.parametrize("panel", [PROLIFIC, Panel()])
def test_a_page_of_a_sibling_host_cannot_make_somebody_take_part_in_its_own_session(make_site, panel):
    site = make_site(small_design(panel=panel), public_url="https://study.test")
    come = ("GET", "/s/small?PROLIFIC_PID={}") if panel.person else ("POST", "/s/small/start")
    attacker, victim = Browser(site), Browser(site)
    attacker.ask(come[0], come[1].format("attacker"))
    (own,) = attacker.cookies
    planted = own.removeprefix("__Host-")  # no other host can set one whose name begins so
    victim.cookies = [planted, planted.replace("=", "=x")]
    page = victim.ask(come[0], come[1].format("victim"))
    assert page.status_code == 200
    victim.ask("POST", "/s/small/page", data=fill(page.text))
    assert "Page 1 " in attacker.ask("GET", "/s/small/page").text
    assert "Page 2 " in victim.ask("GET", "/s/small/page").text


def test_who_came_before_cookies_were_ours_alone_goes_on_after_the_consent_only(make_site):
    site = make_site(small_design(panel=Panel()), public_url="https://study.test")
    earlier = Cookies(SECRET, secure=False)
    for consented in (False, True):
        person = site.participation.arrive(None, "en")
        if consented:
            site.participation.consent(person, True)
        before = Response()
        earlier.set_person(before, "small", person, https=True)
        browser = Browser(site)
        browser.cookies = [before.headers["set-cookie"].partition(";")[0]]
        assert browser.ask("GET", "/s/small/page").status_code == 401
        page = browser.ask("GET", "/s/small")
        assert ("Page 2 " in page.text) is consented
        assert any(cookie.startswith("__Host-") for cookie in browser.cookies) is consented


def test_two_cookies_that_we_signed_are_nobody_and_one_that_we_did_not_hides_none(make_site):
    site = make_site(small_design(panel=Panel()))
    mine, other = site.browser(), site.browser()
    for client in (mine, other):
        client.post("/s/small/start")
    own, planted = (f"eqlab_small={client.cookies['eqlab_small']}" for client in (mine, other))
    bare = site.browser()
    for sent, status in (((planted, own), 401), (("eqlab_small=x.y", own), 200), ((own, own), 200)):
        assert bare.get("/s/small/page", headers={"cookie": "; ".join(sent)}).status_code == status


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
    assert parse_cookies("a=1; b=2; a=3") == {"a": ["1", "3"], "b": ["2"]}
    assert parse_cookies("nonsense") == {}


@pytest.mark.parametrize("blank", ["\xa0", "\x85"])
def test_a_blank_that_browsers_keep_makes_no_cookie_ours(make_site, blank):
    """Browsers take `\\xa0__Host-…` from any host, for it is another name to them; Python strips it away."""
    site = make_site(small_design(panel=Panel()), public_url="https://study.test")
    browser = Browser(site)
    browser.ask("POST", "/s/small/start")
    (own,) = browser.cookies
    header = f"{blank}{own}".encode("latin-1")
    bare = site.browser(headers={"Host": "study.test"})
    assert bare.get("/s/small/page", headers={"cookie": header}).status_code == 401
    assert bare.get("/s/small/page", headers={"cookie": own}).status_code == 200


def test_nobody_reads_or_writes_for_another(make_site):
    site = make_site(small_design(panel=PROLIFIC, attention=0))
    mine, other = site.browser(), site.browser()
    page, _ = walk(mine, enter(mine, panel_id="m"), until=lambda one: "v.rating" in one.text)
    enter(other, panel_id="o")
    sent = fill(page.text)
    for outcome in ("refused", "ahead"):
        reply = other.post("/s/small/page", data=sent, headers={"Accept": "application/json"})
        assert reply.json()["outcome"] == outcome
        sent.pop("mark", None)  # as a program sends it
    with site.store.engine.connect() as connection:
        assert len(connection.execute(select(answers)).all()) == 1


# -- same origin, sizes, limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "none", "origin": "https://study.test"}, True),
        ({"sec-fetch-site": "none", "origin": "https://evil.example"}, False),
        ({"sec-fetch-site": "none", "origin": "null"}, False),
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
    assert client.post("/s/small/start", headers={"Origin": "http://localhost"}).status_code == 303
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
    site = make_site(arrival_burst=3, arrival_rate=0.0, proxy="testclient")
    come = {
        name: [
            enter(
                site.browser(follow_redirects=False, headers={"X-Forwarded-For": name}), panel_id=f"{name}{n}"
            ).status_code
            for n in range(4)
        ]
        for name in ("203.0.113.7", "203.0.113.8", "::ffff:203.0.113.9", "127.0.0.1", "::ffff:127.0.0.1", "::1")
    }
    assert come["203.0.113.7"] == come["203.0.113.8"] == come["::ffff:203.0.113.9"] == [303, 303, 303, 429]
    assert come["127.0.0.1"] == come["::ffff:127.0.0.1"] == come["::1"] == [303] * 4


def test_a_raised_limit_lets_people_in_at_once(make_site):
    """A class behind one router: the old, empty bucket went on to count."""
    site = make_site(arrival_burst=1, arrival_rate=0.0, public_url="http://study.test")
    assert [enter(site.browser(follow_redirects=False), panel_id=f"a{n}").status_code for n in range(2)] == [303, 429]
    site.settings = replace(site.settings, arrival_burst=3)
    site.app = create_app(site.studies, site.settings)
    codes = [enter(site.browser(follow_redirects=False), panel_id=f"b{n}").status_code for n in range(4)]
    assert codes == [303, 303, 303, 429]


def test_forwarded_addresses_are_believed_only_if_told(make_site):
    site = make_site(arrival_burst=3, arrival_rate=0.0)
    codes = [
        enter(site.browser(follow_redirects=False, headers={"X-Forwarded-For": f"203.0.113.{n}"}), panel_id=f"p{n}")
        for n in range(4)
    ]
    assert [one.status_code for one in codes] == [303, 303, 303, 429]
    assert codes[3].headers["retry-after"] == "60"


def test_bucket_refills_and_forgets_the_oldest():
    now = [0.0]
    bucket = VisitLimiter(2, 0.5, lambda: now[0])
    assert [bucket.allows("a") for _ in range(3)] == [True, True, False]
    assert bucket.allows("b")
    now[0] = 2.0
    assert [bucket.allows("a") for _ in range(2)] == [True, False]
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff") == "2001:db8::/64"
    assert network_of("203.0.113.9") == "203.0.113.9"
    assert network_of("::ffff:203.0.113.9") == network_of("::FFFF:cb00:7109") == "203.0.113.9"
    assert network_of("fe80::1%eth0") == "fe80::/64"
    assert network_of("testclient") == "unknown"


def test_who_asks_without_end_is_refused_before_the_store_and_alone(make_site, monkeypatch):
    """Repeated posts of a talk passed no limit, and two hundred of them a second slowed everybody's pages."""
    site = make_site(pace_burst=12, pace_rate=0.0)
    flood, calm = site.browser(), site.browser()
    for browser, panel_id in ((flood, "f"), (calm, "c")):
        enter(browser, panel_id=panel_id)
    codes = [flood.get("/s/small/page").status_code for _ in range(20)]
    assert codes == sorted(codes)
    assert set(codes) == {200, 429}
    posted = flood.post("/s/small/page", data={}, headers={"Accept": "application/json"})
    assert posted.status_code == 429
    assert "application/json" not in posted.headers["content-type"]  # the script keeps what was written, and asks again
    monkeypatch.setattr(site.studies[0], "look", None)  # nothing is looked up for it
    refused = flood.get("/s/small/page")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
    monkeypatch.undo()
    assert calm.get("/s/small/page").status_code == 200


def test_newcomers_of_one_address_are_paced_together_and_nobody_inside_waits_for_them(make_site):
    """The link itself stood outside the limit, and each of its requests goes to the store."""
    site = make_site(pace_burst=12, pace_rate=0.0, public_url="http://study.test", proxy="testclient")
    inside = site.browser(headers={"X-Forwarded-For": "203.0.113.7"})
    enter(inside, panel_id="in")
    nobody = {"X-Forwarded-For": "203.0.113.7"}
    codes = [
        site.browser(headers=nobody).get("/s/small/deleted", follow_redirects=False).status_code for _ in range(14)
    ]
    assert codes[-1] == 429
    assert enter(site.browser(headers=nobody, follow_redirects=False), panel_id="new").status_code == 429
    elsewhere = site.browser(headers={"X-Forwarded-For": "203.0.113.8"}, follow_redirects=False)
    assert enter(elsewhere, panel_id="other").status_code == 303
    assert inside.get("/s/small/page").status_code == 200


VALUES = json.dumps({"step": 1, "values": {str(n): {} for n in range(399)}})
LISTS = json.dumps({"step": 1, "values": {"a": [""] * 15_000}})
NAMES = json.dumps({"step": 1, **{f"k{n}": 1 for n in range(5_000)}})


@pytest.mark.parametrize("body", [VALUES, LISTS, NAMES, "[" * 60_000])
def test_a_body_that_is_wrong_in_thousands_of_ways_costs_no_more_than_one(make_site, body):
    """Two hundred milliseconds and two megabytes for one request of nobody: twenty a second stopped a study."""
    site = make_site()
    sent = {"content": body, "headers": {"Content-Type": "application/json"}}
    assert site.browser().post("/api/s/small/page", **sent).status_code == 401  # before it is read
    known = site.browser()
    enter(known)
    reply = known.post("/api/s/small/page", **sent)
    assert (reply.status_code in (400, 422), len(reply.content) < 1000) == (True, True)


@pytest.mark.parametrize("where", ["/s/small", "/s/small/page", "/static/keep.js", "/researcher", "/"])
def test_thousands_of_fields_are_not_taken_apart(make_site, where):
    browser = make_site().browser(follow_redirects=False)
    assert browser.get(f"{where}?{'a=b&' * 3_000}").status_code == 431
    assert browser.get(f"{where}?{'a&' * 600}").status_code == 431
    assert browser.get(where, headers={"Cookie": "a=b;" * 3_000}).status_code == 431
    assert browser.get(where, headers=[(f"x-{n}", "1") for n in range(120)]).status_code == 431


def test_small_forms_have_few_fields():
    assert small_form(b"who=x&code=a+b%20c&who=y") == {"who": "y", "code": "a b c"}
    assert small_form(b"a=b&" * 16_000) == {}
    assert small_form(b"what=delete") == {"what": "delete"}


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


def test_health_says_whether_answers_can_be_saved(make_site):
    site = make_site()
    client = site.browser()
    assert set(client.get("/health").json()) == {"status", "version"}
    assert client.head("/health").status_code == 200


def test_health_says_no_on_a_store_that_can_only_be_read(make_site):
    site = make_site()
    client = site.browser()
    with site.store.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE buckets")
        connection.exec_driver_sql("CREATE VIEW buckets AS SELECT 1 AS key")  # can be read, and not written to
    found = client.get("/health")
    assert (found.status_code, found.json()["status"]) == (503, "nothing can be saved")


def test_health_says_no_where_an_answer_was_not_taken_though_a_small_row_would_be(make_site, monkeypatch):
    """As on PostgreSQL with a full disk."""
    site = make_site()
    client = site.browser()
    assert client.get("/health").status_code == 200

    def full(moves):
        raise StoreError("could not extend file", "") from OSError()

    (served,) = site.studies
    monkeypatch.setattr(served._moves, "_work", full)
    assert client.get(f"/s/{served.study.id}/?PROLIFIC_PID=5f1e0000000000000000000a").status_code == 500
    assert client.get("/health").status_code == 503
    monkeypatch.setattr("eqlab.study.web.app._FAILED", 0.0)
    assert client.get("/health").status_code == 200


def test_health_says_no_while_the_database_hangs(make_site, monkeypatch):
    site = make_site()
    client = site.browser()
    monkeypatch.setattr("eqlab.study.web.app._PING", 0.05)
    hangs = threading.Event()
    monkeypatch.setattr(type(site.store), "ping", lambda store: hangs.wait(10))
    found = client.get("/health")
    hangs.set()
    assert (found.status_code, found.json()["status"]) == (503, "nothing can be saved")
