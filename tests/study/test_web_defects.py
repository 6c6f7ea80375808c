"""Every defect of the published study's software, by its number in the list of gaps, and that this server lacks it."""

import asyncio
import io
import logging
import re
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from small_study import small_design
from web_case import CODES, PROLIFIC, Site, choices_of, enter, fields_of, fill, resume, rows, walk

from eqlab.store.schema import answers, arrivals, events, participants, places
from eqlab.study.results.export import export_table, table_names
from eqlab.study.web.log import JsonLines

RAW = "5f8c2a1b3d4e-9x@example.org"


def test_01_nothing_is_listed_without_a_login(make_site):
    """1. No authentication anywhere; CORS *; a listing of every claim with the ids."""
    site = make_site()
    client = site.browser(follow_redirects=False)
    enter(client)
    for path in ("", "small", "small/status.json", "small/export/participants.csv", "nope", "nope/status.json"):
        reply = client.get(f"/researcher/{path}", headers={"Origin": "https://evil.example"})
        assert reply.status_code in (303, 401), path
        assert reply.headers.get("location", "/researcher/login").partition("?")[0] == "/researcher/login"
        assert "access-control-allow-origin" not in reply.headers
        assert reply.text.count("small") == 0
    for path in ("/s", "/s/", "/files", "/users", "/static", "/static/", "/docs", "/redoc", "/emotionrecog/files"):
        assert client.get(path).status_code in (404, 405), path


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e%2fapp.py",
        "/static/..%2f..%2f..%2fstore.db",
        "/static//etc/passwd",
        "/static/%00",
        "/s/..%2f..%2fstore.db",
        "/s/..%2fresearcher",
        "/researcher/..%2f..%2fetc/export/passwd",
        "/researcher/small/export/..%2f..%2fstore.db",
        "/../store.db",
        "/store.db",
    ],
)
def test_02_no_path_leads_out(make_site, path):
    """2. Path escape: a name in a request became a file outside the data folder."""
    site = make_site()
    before = sorted(one.name for one in site.folder.iterdir())
    reply = site.browser(follow_redirects=False).get(path)
    assert reply.status_code in (303, 401, 404)
    assert "SQLite" not in reply.text
    assert "root:" not in reply.text
    client = site.browser()
    client.cookies.set("eqlab_small", "/../../escape/x.AAAA")
    assert client.get("/s/small/page").status_code == 401
    client.get("/s/small", params={"PROLIFIC_PID": "/../../../escape/x"})
    assert sorted(one.name for one in site.folder.iterdir()) == before


def test_03_no_request_ends_the_server(make_site):
    """3. One request killed the server."""
    site = make_site()
    client = site.browser()
    enter(client)
    odd = [
        ("GET", "/emotionrecog/users", b"", {}),
        ("POST", "/s/small/page", b"\xff\xfe%zz&&==&step", {}),
        ("POST", "/s/small/page", b"step=" + b"9" * 5000, {}),
        ("POST", "/s/small/page", b"a=1&" * 900, {}),
        ("POST", "/s/small/page", b"step=1&attempt=x&v.=1&v.quiz1=\x00", {}),
        ("POST", "/s/small/page", b"step=-1&attempt=-9", {}),
        ("POST", "/s/small/page", b"step=1&attempt=1&shown=nan&away=inf&v.quiz1=1e9", {}),
        ("POST", "/api/s/small/page", b"{", {"content-type": "application/json"}),
        ("POST", "/api/s/small/page", b"[" * 20000, {"content-type": "application/json"}),
        ("POST", "/api/s/small/page", b'{"step": 1e400}', {"content-type": "application/json"}),
        ("POST", "/hooks/small/prolific", b"\x00", {"x-prolific-request-timestamp": "²".encode()}),
        ("POST", "/researcher/login", b"\xff", {}),
        ("DELETE", "/s/small/page", b"", {}),
        ("PUT", "/s/small", b"", {}),
        ("GET", "/s/small/page", b"", {"cookie": "eqlab_small=\x7f; =;;;"}),
        ("GET", "/s/small?" + "PROLIFIC_PID=" + "x" * 5000, b"", {}),
        ("GET", "/s/%ff%fe", b"", {}),
    ]
    for method, path, body, headers in odd:
        reply = client.request(method, path, content=body, headers=headers)
        assert reply.status_code < 500, (method, path, body[:40])
    assert client.get("/health").json()["status"] == "ok"


@pytest.mark.parametrize(
    "change",
    [
        {"v.rating": "99"},
        {"v.rating": "0"},
        {"v.rating": "-1"},
        {"v.rating": "2.5"},
        {"v.rating": "good"},
        {"v.rating": ""},
        {"v.rating": "2", "v.more": "1"},
        {"step": "40"},
        {"step": "x"},
        {"attempt": "2"},
    ],
)
def test_04_garbage_is_not_saved(make_site, change):
    """4. Any JSON was answered with {"saved": true}: no schema, no range, no check that a batch was claimed."""
    site = make_site(small_design(attention=0))
    client = site.browser()
    reply, _ = walk(client, client.post("/s/small/start"), until=lambda page: "v.rating" in page.text)
    before = len(rows(site, answers))
    sent = {**fill(reply.text), **change}
    said = client.post("/s/small/page", data=sent, headers={"Accept": "application/json"})
    assert said.json()["outcome"] in ("refused", "ahead")
    assert len(rows(site, answers)) == before
    stranger = site.browser().post("/s/small/page", data=fill(reply.text), headers={"Accept": "application/json"})
    assert stranger.status_code == 401
    assert len(rows(site, answers)) == before


def test_05_codes_appear_only_at_the_end_and_one_for_each_ending(make_site):
    """5. Completion code and address were constants in the client bundle, one for all outcomes."""
    site = make_site(small_design(panel=PROLIFIC, arms=("a",), batches=1))
    client = site.browser()
    last, seen = walk(client, enter(client))
    everything = "".join(page.text for page in seen[:-1]) + str([dict(page.headers) for page in seen[:-1]])
    everything += "".join(file.body.decode() for file in site.app.state.site.render.files.values())
    everything += client.get("/openapi.json").text
    assert not any(code in everything for _, code in CODES)
    assert "app.prolific.com" not in everything
    assert "C-COMPLETE" in last.text
    assert "https://app.prolific.com/submissions/complete?cc=C-COMPLETE" in last.text
    assert last.text.count("C-") == 2
    full = site.browser()
    assert "C-FULL" in enter(full, panel_id="p-2").text


def test_05_declined_and_failed_have_codes_of_their_own(make_site):
    site = make_site()
    declined, failed = site.browser(), site.browser()
    page = enter(declined)
    reply = declined.post("/s/small/page", data={**fields_of(page.text), "agree": "no"})
    assert "C-DECLINED" in reply.text
    assert "C-COMPLETE" not in reply.text
    page = enter(failed, panel_id="p-2")
    reply, _ = walk(failed, page, choose=lambda name, values: values[-1])
    assert "C-FAILED" in reply.text
    assert "reject" in reply.text


def test_06_raw_panel_ids_are_nowhere(make_site):
    """6. Raw panel ids were published. Here: not in the store's files, pages, addresses, logs or exports."""
    site = make_site()
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        client = site.browser()
        _, seen = walk(client, enter(client, panel_id=RAW))
        client.get(f"/nope/{RAW}")
        client.get(f"/s/nope?PROLIFIC_PID={RAW}")
        client.get(f"/researcher/small?id={RAW}")
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    for page in seen:
        assert RAW not in page.text
        assert RAW not in str(page.headers)
        assert RAW not in str(page.url)
    assert RAW not in str(dict(client.cookies))
    ours = "".join(
        line for line in lines.getvalue().splitlines() if '"httpx' not in line and "HTTP Request" not in line
    )
    assert RAW not in ours
    for table in table_names(site.participation.design):
        assert RAW.encode() not in export_table(site.participation, table, "csv")
    site.store.engine.dispose()
    for file in site.folder.glob("store.db*"):
        content = file.read_bytes()
        assert b"5f8c2a1b3d4e" not in content, file
    assert "/s/small/page" in [page.url.path for page in seen]


def test_07_the_store_is_not_in_a_public_folder(make_site):
    """7. Study data were written under the public web root."""
    site = make_site()
    client = site.browser()
    enter(client)
    for name in ("store.db", "store.db-wal", "public/store.db", "static/store.db", "small.toml", ".git/config"):
        assert client.get(f"/{name}").status_code == 404
    ours = {"pico.css", "study.css", "keep.js", "watch.js", "icon.svg", "talk.css", "talk.js"}
    assert set(site.app.state.site.render.files) == ours


def test_08_nothing_comes_from_elsewhere(make_site):
    """8. Scripts and styles from four CDNs, some without integrity."""
    site = make_site()
    client = site.browser()
    last, seen = walk(client, enter(client))
    for page in seen:
        for address in re.findall(r'(?:src|href|action)="([^"]+)"', page.text):
            assert address.startswith(("/", "#", "mailto:")) or page is last
        assert "<style" not in page.text
        assert not re.search(r"<script(?! src=\"/static/)", page.text)
        assert "style=" not in page.text
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert "unsafe-inline" not in page.headers["content-security-policy"]
    for file in site.app.state.site.render.files.values():
        for address in re.findall(rb"url\(['\"]?([^)'\"]{1,40})", file.body):
            assert address.startswith(b"data:")
        assert b"@import" not in file.body
    files = site.app.state.site.render.files
    for others in (("talk.css", "talk.js"), ("keep.js", "watch.js")):  # a talk has a script of its own
        assert sum(len(file.packed) for name, file in files.items() if name not in others) < 20_000


def test_09_a_reload_loses_nothing(make_site):
    """9. Answers lived in memory until the end; a reload lost everything."""
    site = make_site(small_design(panel=PROLIFIC, size=4))
    client = site.browser()
    reply, _ = walk(client, enter(client), until=lambda page: "Page 4 " in page.text)
    stored = len(rows(site, answers))
    assert stored == 2
    again = client.get("/s/small/page")
    assert choices_of(again.text) == choices_of(reply.text)
    assert "Page 4 " in again.text
    other_device = site.browser()
    assert "Page 4 " in resume(other_device, enter(other_device), again).text
    last, _ = walk(other_device, other_device.get("/s/small/page"))
    assert "C-COMPLETE" in last.text
    assert len(rows(site, participants)) == 1


def test_09_the_same_post_again_changes_nothing(make_site):
    site = make_site(small_design(panel=PROLIFIC, attention=0))
    client = site.browser()
    reply, _ = walk(client, enter(client), until=lambda page: "v.rating" in page.text)
    sent = fill(reply.text)
    outcomes = [
        client.post("/s/small/page", data=sent, headers={"Accept": "application/json"}).json()["outcome"]
        for _ in range(3)
    ]
    assert outcomes == ["saved", "again", "again"]
    assert len(rows(site, answers)) == 2


def test_10_the_last_place_has_one_holder(make_site):
    """10. Race: two simultaneous claims of one batch were both accepted."""
    site = make_site(small_design(panel=PROLIFIC, arms=("a",), batches=1, quiz=False))

    async def both():
        transport = httpx.ASGITransport(app=site.app)
        headers = {"Sec-Fetch-Site": "same-origin", "Accept": "application/json"}
        people = [
            httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) for _ in range(8)
        ]
        await asyncio.gather(*(one.get("/s/small", params={"PROLIFIC_PID": f"p{n}"}) for n, one in enumerate(people)))
        agree = {"step": "0", "attempt": "1", "agree": "yes"}
        await asyncio.gather(*(one.post("/s/small/page", data=agree) for one in people))
        found = await asyncio.gather(*(one.get("/api/s/small/page") for one in people))
        for one in people:
            await one.aclose()
        return [reply.json()["state"] for reply in found]

    states = asyncio.run(both())
    assert sorted(states) == ["full"] * 7 + ["taking"]
    assert [row.state for row in rows(site, places)] == ["held"]


def test_11_an_abandoned_place_goes_to_the_next(make_site, clock):
    """11. Abandoned claims were never released."""
    site = make_site(small_design(panel=PROLIFIC, arms=("a",), batches=1, lease=10), clock=clock)
    leaver = site.browser()
    walk(leaver, enter(leaver), until=lambda page: "v.rating" in page.text)
    late = site.browser()
    assert "C-FULL" in enter(late, panel_id="p-2").text
    clock.now += 601
    following = site.browser()
    last, _ = walk(following, enter(following, panel_id="p-3"))
    assert "C-COMPLETE" in last.text


def test_12_two_people_at_once_do_not_mix(make_site):
    """12. Server-wide globals held the ids of whoever came last."""
    site = make_site(small_design(panel=PROLIFIC, size=4, attention=0))
    people = [(site.browser(), "1"), (site.browser(), "3")]
    replies = [enter(client, panel_id=f"p-{value}") for client, value in people]
    for _ in range(10):
        replies = [
            client.post(
                "/s/small/page",
                data=fill(reply.text, lambda name, values, value=value: value if "rating" in name else values[0]),
            )
            if fields_of(reply.text)
            else reply
            for (client, value), reply in zip(people, replies, strict=True)
        ]
    assert all("C-COMPLETE" in reply.text for reply in replies)
    by_person = {}
    for row in rows(site, answers):
        by_person.setdefault(row.subject, set()).add(row.values)
    assert sorted(tuple(sorted(said)) for said in by_person.values()) == [
        ('{"quiz1": 1}', '{"rating": 1}'),
        ('{"quiz1": 1}', '{"rating": 3}'),
    ]


def test_13_ids_come_from_the_address_and_blanks_do_not_matter(make_site):
    """13. Ids were typed by hand, with blanks and cut at hyphens."""
    site = make_site()
    for given in ("abc-def", " abc-def", "abc-def  ", "abc-xyz", "abc"):
        enter(site.browser(), panel_id=given)
    assert len({row.hash for row in rows(site, arrivals)}) == 3
    page = enter(site.browser())
    assert not re.search(r'type="(text|email)"|<textarea', page.text)
    for unfilled in ("{{%PROLIFIC_PID%}}", "", "   "):
        reply = enter(site.browser(), panel_id=unfilled)
        assert (reply.status_code, "through your panel" in reply.text) == (403, True)
    assert len({row.hash for row in rows(site, arrivals)}) == 4


def test_14_saves_in_the_same_second_are_all_kept(make_site, clock):
    """14. File names held the time to the second: same-second saves overwrote each other."""
    site = make_site(small_design(panel=PROLIFIC, batches=4), clock=clock)

    def take(number):
        client = site.browser()
        return walk(client, enter(client, panel_id=f"p-{number}"))[0]

    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(take, range(6)))
    assert all("C-COMPLETE" in reply.text for reply in replies)
    assert len(rows(site, answers)) == 6 * 4
    assert {row.at for row in rows(site, answers)} == {clock.now}


def test_15_every_address_on_a_page_leads_somewhere(make_site):
    """15. The page called an address that does not exist."""
    site = make_site()
    client = site.browser()
    _, seen = walk(client, enter(client))
    found = {address for page in seen for address in re.findall(r'(?:src|href|action)="(/[^"]+)"', page.text)}
    assert len(found) > 5
    for address in found:
        assert client.get(address).status_code == 200, address


def test_16_times_order_arm_and_version_are_kept(make_site, clock):
    """16. No times per item, no display order, no arm, no version."""
    site = make_site(small_design(panel=PROLIFIC, attention=0), clock=clock)
    client = site.browser()
    reply, _ = walk(client, enter(client), until=lambda page: "v.rating" in page.text)
    clock.now += 12
    client.post("/s/small/page", data={**fill(reply.text), "away": "3.5"})
    (answer,) = [row for row in rows(site, answers) if "rating" in row.values]
    assert answer.latency == pytest.approx(12, abs=0.01)
    (saved,) = [row for row in rows(site, events) if row.kind == "saved" and '"away": 3.5' in row.detail]
    person = rows(site, participants)[0]
    assert saved.person == person.person
    assert person.arm in ("a", "b")
    assert person.seed
    assert person.consent_version == "1"
    assert '["trial"' in person.steps


def test_18_two_studies_from_one_server_share_nothing(tmp_path):
    """18. Arm, pay, texts and questionnaire were hard-coded."""
    site = Site(tmp_path, small_design("first"), small_design("second", quiz=False))
    client = site.browser()
    client.post("/s/first/start")
    assert client.get("/s/second/page").status_code == 401
    client.post("/s/second/start")
    assert set(dict(client.cookies)) == {"eqlab_first", "eqlab_second"}
    assert client.get("/", follow_redirects=False).status_code == 404
    site.close()


def test_20_every_question_is_a_labelled_group(make_site):
    """20. Radio tables without labels or fieldsets."""
    site = make_site()
    client = site.browser()
    _, seen = walk(client, enter(client))
    for page in seen:
        radios = len(re.findall(r'type="radio"', page.text))
        assert radios == len(re.findall(r'<label><input type="radio"', page.text))
        assert page.text.count("<fieldset") == page.text.count("<legend") == len(choices_of(page.text))
        assert page.text.count("<h1") == 1
        assert '<html lang="en" dir="ltr">' in page.text
