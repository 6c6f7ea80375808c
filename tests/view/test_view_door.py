"""Nobody looks who was not let in: token, cookie, host, origin, paths; and nothing of a page runs what a reply says."""

import http.client
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit

import pytest

pytest.importorskip("starlette")

from view_case import BASE, PORT, View, fill, prepared, words

from eqlab.cli.view import tell
from eqlab.view import door
from eqlab.view.app import make_site, serving
from eqlab.view.door import COOKIE, derived, new_token, same

PAGES = ("/", "/run/last", "/compare", "/compare?s=last", "/item?run=last&b=eqbench&item=open-001", "/live")


@pytest.mark.parametrize("path", [*PAGES, "/nothing", "/token", f"/?token={'x' * 43}", "/?token=", "/?token=%00"])
def test_without_token_or_cookie_there_is_nothing_to_see(skilled_view, path):
    reply = skilled_view.browser().get(path)
    assert reply.status_code == 401
    assert "Open the address that 'eqlab view' printed" in words(reply.text)
    assert "lab/careful" not in reply.text
    assert "set-cookie" not in reply.headers


def test_the_token_becomes_a_cookie_and_leaves_the_address(skilled_view):
    token, root = skilled_view.site.token, skilled_view.root
    for path in ("/compare", f"{root}/compare"):
        reply = skilled_view.browser().get(f"{path}?s=last&token={token}", follow_redirects=False)
        assert reply.status_code == 303
        assert reply.headers["location"] == f"{root}/compare?s=last"
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert f"; Path={root}/;" in cookie
    assert re.fullmatch(r"/[0-9a-f]{32}", root)
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert token not in cookie
    assert reply.headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("path", [*PAGES, "/nothing", "/static"])
def test_a_cookie_that_another_port_of_this_host_was_sent_opens_nothing(skilled_view, path):
    """A browser sends cookies to every server of a host; the secret path it does not."""
    cookie = f"{COOKIE}={derived(skilled_view.site.token, 'cookie')}"
    root = skilled_view.root
    browser = skilled_view.browser(Cookie=cookie)
    if path in PAGES[:-1]:
        assert browser.get(f"{root}{path}", follow_redirects=False).status_code in (200, 303)
    for address in (path, f"/{root[2:]}{path}", f"{root}0{path}", f"/{'0' * 32}{path}"):
        reply = browser.get(address)
        assert reply.status_code == 401
        assert reply.text == skilled_view.browser().get("/").text  # as every stranger is told
    assert browser.get(root).status_code == 401


def test_who_is_turned_away_is_not_told_the_secret_path(skilled_view):
    """Not even with the cookie: a page that knows the path could have a browser send the cookie there."""
    own = {"Cookie": f"{COOKIE}={derived(skilled_view.site.token, 'cookie')}"}
    mark = {"mark": skilled_view.site.form_mark}
    browser = skilled_view.browser()
    replies = [
        browser.get("/", headers=own),
        browser.get("/static/none", headers=own),
        browser.get("/", headers={**own, "Host": "evil.example"}),
        browser.post("/start", headers={**own, "Sec-Fetch-Site": "same-site"}, data=mark),
        browser.post("/start", headers=own, data=mark),
        browser.get("/", headers={"Cookie": "x" * 30_000}),
    ]
    assert [reply.status_code for reply in replies] == [401, 404, 421, 403, 401, 431]
    for reply in replies:
        assert skilled_view.root not in reply.text
        assert skilled_view.root not in str(reply.headers)
    for path in ("/?file=1", "/compare?s=last&file=1"):  # a file is passed on
        assert skilled_view.root not in skilled_view.client.get(path).text


def test_every_link_of_every_page_lies_under_the_secret_path_and_leads_somewhere(skilled_view):
    root = skilled_view.root
    assert len(root) > 32
    wanted, shapes, visited, forms = [f"{root}/"], set(), set(), set()
    for address in wanted:  # grows as links are found, one of a kind each
        reply = skilled_view.client.get(f"{BASE}{address}")
        assert reply.status_code == 200, address
        visited.add(reply.url.path.removeprefix(root))
        if "/static/" in address or "content-disposition" in reply.headers:
            continue
        found = Tags(reply.text).found
        assert [attrs["href"] for _, attrs in found if attrs.get("aria-current") == "page"] in ([], [reply.url.path])
        for link in [attrs[name] for _, attrs in found for name in ("href", "src", "action") if name in attrs]:
            assert link.startswith((f"{root}/", "#", "data:,")), (address, link)
        forms |= {attrs["action"] for tag, attrs in found if tag == "form"}
        for link in [attrs.get("href") or attrs.get("src") or "#" for _, attrs in found]:
            target = urlsplit(link)
            shape = target.path, tuple(name for name, _ in parse_qsl(target.query))
            if target.path.startswith("/") and shape not in shapes:
                shapes.add(shape)
                wanted.append(link.partition("#")[0])
    run = f"/run/{skilled_view.site.shelf.snapshot.runs[0].id}"
    screens = {"/", "/compare", "/talks", "/judges", "/studies", "/rate", "/start", "/result", "/item", "/trend", run}
    assert visited == screens | {"/static/view.css", "/static/view.js"}
    assert {urlsplit(link).path.removeprefix(root) for link in forms} <= screens


def test_a_token_leads_to_no_other_site(skilled_view):
    reply = skilled_view.browser().get(f"//evil.example/?token={skilled_view.site.token}", follow_redirects=False)
    assert reply.headers.get("location", "/").startswith("/")
    assert not reply.headers.get("location", "/").startswith(("//", "/\\"))
    assert reply.headers.get("location", "").startswith(f"{skilled_view.root}/")


def test_tokens_cannot_be_guessed():
    made = {new_token() for _ in range(20)}
    assert len(made) == 20
    assert all(len(one) >= 43 for one in made)  # 256 bits
    assert not same("a", "b")
    assert not same("a", "ä")
    assert derived("t", "cookie") != derived("t", "form")


@pytest.fixture
def started(skilled_store, monkeypatch, capsys):
    """A connection to a server, and the path that a browser was started with."""
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    with serving(make_site(str(skilled_store[0]))) as where:
        tell(where, browser=True)
        assert capsys.readouterr().out.strip() == where
        here, there = urlsplit(where), urlsplit(opened[0])
        assert here._replace(query="") == there._replace(query="")
        connection = http.client.HTTPConnection(here.netloc, timeout=60)
        connection.connect()
        yield connection, here.query.removeprefix("token="), there.query.removeprefix("token=")
        connection.close()


def test_what_a_browser_is_started_with_tells_nothing_else(started):
    """Others read it in process lists; cookie, path and form mark are made of the token."""
    connection, token, code = started
    assert token not in code
    assert derived(code, "cookie") != derived(token, "cookie")
    connection.request("GET", f"/?token={code}")
    assert connection.getresponse().status == 303  # this user's own


@pytest.mark.parametrize(("uid", "status"), [("own", 303), ("0", 303), ("4242", 401), ("", 401), ("no table", 303)])
@pytest.mark.parametrize("before", ["", "0000000000000000FFFF0000"])
def test_what_a_browser_is_started_with_opens_to_no_other_user(started, tmp_path, monkeypatch, uid, status, before):
    """As Linux lists connections; of a connection that is not listed nobody knows whose it is."""
    connection, token, code = started
    ours, port = connection.sock.getsockname()[1], connection.port
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    rows = [
        (ours, port + 1, "1000"),
        (ours + 1, port, "1000"),
        *([(ours, port, uid.replace("own", "1000"))] if uid else []),
    ]
    lines = [f"0: {before}0100007F:{a:04X} {before}0100007F:{b:04X} 01 0:0 00:0 0 {who} 0 1" for a, b, who in rows]
    if uid != "no table":
        (tmp_path / "tcp").write_text("\n".join(["  sl  local_address rem_address   st", *lines]))
    monkeypatch.setattr(door, "_CONNECTIONS", (tmp_path / "tcp",))
    connection.request("GET", f"/?token={code}")
    reply = connection.getresponse()
    assert reply.status == status
    reply.read()
    connection.request("GET", f"/?token={token}")
    assert connection.getresponse().status == 303  # whoever has the printed address


@pytest.mark.parametrize("cookie", ["", "x", "0" * 64])
def test_another_cookie_does_not_open(skilled_view, cookie):
    reply = skilled_view.browser(Cookie=f"{COOKIE}={cookie}").get(f"{skilled_view.root}/")
    assert reply.status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", f"localhost:{PORT}", "127.0.0.1", "127.0.0.1:1", ""]
)
def test_a_name_that_was_made_to_lead_here_is_turned_away(skilled_view, host):
    """DNS rebinding: the browser sends the other site's name, with or without our cookie."""
    reply = skilled_view.client.get("/", headers={"Host": host})
    assert reply.status_code == 421
    assert "lab/careful" not in reply.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "", "Origin": "http://evil.example"},
    ],
)
def test_another_site_can_post_nothing(skilled_view, headers):
    for path in ("/", "/stop", "/start", "/rate"):
        reply = skilled_view.client.post(path, headers=headers, data={"mark": skilled_view.site.form_mark})
        assert reply.status_code == 403


def test_every_reply_carries_the_policy(skilled_view):
    for path in PAGES[:-1]:
        headers = skilled_view.client.get(path).headers
        assert "default-src 'none'; script-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../shelf.py", "/static/..%2fshelf.py", "/static/%2e%2e/%2e%2e/pyproject.toml", "/static//etc/passwd",
        "/run/..%2f..%2fetc%2fpasswd", "/run/%00", "/static/view.css%00.js",
    ],
)  # fmt: skip
def test_no_path_leads_out(skilled_view, path):
    reply = skilled_view.client.get(path)
    assert reply.status_code in (400, 404)
    assert "root:" not in reply.text
    assert "import" not in reply.text


def test_styles_and_scripts_are_files_of_their_own(skilled_view):
    page = skilled_view.get("/")
    linked = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
    assert len(linked) == 2
    for one in linked:
        reply = skilled_view.browser().get(one)  # they tell nothing, and need no cookie
        assert reply.status_code == 200
        assert "immutable" in reply.headers["cache-control"]
    assert "<style" not in page
    assert not re.search(r"<script(?! src=)", page)
    assert not re.search(r"\s(on\w+|style)=", page)


HOSTILE = [
    "<script>alert(1)</script>", "</pre></style></title><img src=x onerror=alert(1)>", "\"' onfocus=alert(1) x=",
    "javascript:alert(1)", "{{ 7*7 }} {% raw %} ${7*7}", "\u202etxt.exe\x1b[31m\u200b", "<svg/onload=alert(1)>",
    "</textarea><script>alert(1)</script>", "<!--", "]]>", "&lt;script&gt;", "<mark>", "| a | b |\n[x](javascript:y)",
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile_view(tmp_path_factory):
    """Models whose name, replies, reasons and thinking are payloads."""
    path = tmp_path_factory.mktemp("hostile") / "s.db"
    texts = iter(HOSTILE * 1000)

    def reply(trial, subject, repeat):
        said = next(texts)
        return f"{said}\n" + "\n".join(f"{s.key}: {len(said) % 9 + 1}" for s in trial.form.scales)

    plan = prepared(("lab/<img src=x onerror=alert(2)>", "lab/\"'><script>alert(3)</script>"), limit=len(HOSTILE))
    fill(path, plan, reply, reasoning="</details><script>alert(4)</script>", model="<b>m</b>", note="<i>n</i>\u202e")
    return View(path)


@pytest.mark.parametrize(
    "path",
    [
        "/", "/?q=<script>alert(5)</script>", "/run/last", "/compare?s=last", "/compare?s=last&file=1",
        "/trend?table=1", "/trend?table=1&q=<script>alert(5)</script>&file=1",
        "/compare?s=last&q=%22%3E%3Cscript%3Ealert(5)", "/compare?s=<script>alert(5)</script>",
    ],
)  # fmt: skip
def test_payloads_stay_text(hostile_view, path):
    _harmless(hostile_view.client.get(path).text, styles=int("file=1" in path))  # a file brings its own


def test_the_view_starts_without_what_only_a_study_or_a_model_of_ratings_needs():
    heavy = {"fastapi", "pydantic", "scipy.sparse", "eqlab.study.web.researcher", "eqlab.runs.judge"}
    code = f"import sys, eqlab.view.app\nprint(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_payloads_stay_text_on_results_and_items(hostile_view):
    one = hostile_view.site.shelf.snapshot.runs[0]
    for result in one.results:
        _harmless(hostile_view.get("/result", run=one.id, subject=result.subject, b="eqbench"))
    for item in dict.fromkeys(line.item for line in one.results[0].items):
        _harmless(hostile_view.get("/item", run=one.id, b="eqbench", item=item))


def test_payloads_that_cannot_be_read_stay_text_in_the_list(tmp_path):
    texts = iter(HOSTILE * 10)
    run = fill(tmp_path / "s.db", prepared(("lab/m",), limit=len(HOSTILE)), lambda *_: next(texts))
    page = View(tmp_path / "s.db").get("/result", run=run, subject="model:lab/m", b="eqbench")
    assert page.count("<q>") > len(HOSTILE) // 2
    _harmless(page)


class Tags(HTMLParser):
    """Every tag of a page as a browser reads it."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def _harmless(page, styles=0):
    found = Tags(page).found
    assert {tag for tag, _ in found}.isdisjoint({"img", "b m", "i n", "iframe", "object", "base"})
    assert sum(tag == "style" for tag, _ in found) == styles
    assert [attrs for tag, attrs in found if tag == "script" and "src" not in attrs] == []
    names = {name for _, attrs in found for name in attrs}
    assert not {name for name in names if name.startswith("on") or name == "style"}
    for tag, attrs in found:
        for name in ("href", "src", "action"):
            assert attrs.get(name, "/").startswith(("/", "#", "data:,")), (tag, attrs)
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "\u200b" not in page


def test_the_address_is_loopback_only():
    assert BASE.startswith("http://127.0.0.1")
    from eqlab.view import app

    assert app.HOST == "127.0.0.1"
