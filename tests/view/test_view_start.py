"""Start a run from a form: the cost first, the command shown, the command line's process, a stop that is Ctrl-C's."""

import re
import shlex
import time

import pytest

pytest.importorskip("starlette")

from view_case import View, prepared, words

import eqlab as api
from eqlab.core.errors import UsageError
from eqlab.store.store import Store
from eqlab.view.start import arguments, wanted


@pytest.fixture
def empty(tmp_path):
    Store(str(tmp_path / "s.db")).close()
    return View(tmp_path / "s.db")


def form(view, **more):
    return {"mark": view.site.form_mark, "model": "m", "b": "eqbench", "limit": "3", "profile": "full", **more}


def test_what_it_will_ask_comes_before_the_button(empty):
    bare = words(empty.get("/start"))
    assert "Start it" not in bare
    page = empty.get("/start", model="openai/gpt-4o-mini", b="eqbench", limit="3")
    said = words(page)
    assert "openai/gpt-4o-mini 3 0" in said
    assert "USD" in said
    (command,) = re.findall(r"<code>(eqlab run [^<]+)</code>", page)
    assert shlex.split(command)[:4] == ["eqlab", "run", "-b", "eqbench"]
    assert "OPENAI_API_KEY is not set" in said
    with empty.site.store() as store:
        assert store.run_ids() == []


def test_the_command_shown_is_the_run(empty, tmp_path):
    """Its arguments name the same run as the form does."""
    made = wanted({"model": ["a/b c/d"], "b": ["eqbench"], "limit": ["4"], "seed": ["7"]})
    parts = arguments(empty.site, made, "1.50")
    assert parts[-3:] == ["--", "a/b", "c/d"]
    assert parts[parts.index("--max-cost") + 1] == "1.5"
    assert parts[parts.index("--store") + 1] == str(tmp_path / "s.db")
    assert made.seed == 7
    assert made.items == wanted({"model": ["a/b"], "items": ["auto"]}).items == "auto"  # as the command line does
    assert "<option>auto</option>" in empty.get("/start")


@pytest.mark.parametrize(
    "given",
    [
        {"model": ""}, {"model": "--store"}, {"model": "m", "items": "/etc/passwd"}, {"model": "m", "limit": "-1"},
        {"model": "m", "limit": "9" * 20}, {"model": "m", "max_cost": "much"}, {"model": "m", "profile": "other"},
        {"model": "m", "base_url": "http://user:sk-secret@host/v1"},
    ],
)  # fmt: skip
def test_what_makes_no_sense_starts_nothing(empty, given):
    if set(given) == {"model"} or "items" in given:
        with pytest.raises(UsageError):
            wanted({name: [value] for name, value in given.items()})
    reply = empty.client.post("/start", data=form(empty, **given))
    assert reply.status_code == 200
    assert 'role="alert"' in reply.text
    assert empty.site.started == {}


def test_only_our_own_form_starts_or_stops(empty):
    for path in ("/start", "/stop"):
        assert empty.client.post(path, data=form(empty, mark="no")).status_code == 403
        assert empty.client.post(path, data=form(empty), headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert empty.client.get("/stop").status_code == 404 or empty.client.get("/stop").status_code == 405
    assert empty.client.post("/stop", data=form(empty, run="nobody")).status_code == 404
    assert empty.site.started == {}


@pytest.mark.claims  # a process to its end; the next test starts one too
def test_a_run_from_the_form_is_the_command_lines(empty, server):
    server.reply = lambda body, number: "Calm: 5"
    reply = empty.client.post("/start", data=form(empty, base_url=server.url))
    run = str(reply.url).rpartition("/")[2]
    started = empty.site.started[run]
    assert started.process.wait(120) in (0, 1, 4)
    assert len(server.requests) >= 3
    empty.read()
    assert empty.site.shelf.snapshot.runs[0].id == run
    said = words(empty.get(f"/run/{run}"))
    assert "It has ended." in said
    assert started.command in said
    assert "Run" in started.said


def test_stop_is_ctrl_c(empty, server):
    """What is under way is stored, and the run can go on."""
    import threading

    asked, release = threading.Event(), threading.Event()

    async def wait(body):
        import asyncio

        asked.set()
        while not release.is_set():
            await asyncio.sleep(0.01)

    server.before = wait
    reply = empty.client.post("/start", data=form(empty, base_url=server.url, limit="12"))
    run = str(reply.url).rpartition("/")[2]
    assert asked.wait(60)
    empty.read()
    page = empty.get(f"/run/{run}")
    assert "Stop this run" in page
    empty.client.post("/stop", data={"mark": empty.site.form_mark, "run": run})
    release.set()
    assert empty.site.started[run].process.wait(60) == 130
    assert "Stop this run" not in empty.get(f"/run/{run}")


def test_a_run_of_this_process_is_stopped_by_its_own_way(tmp_path):
    plan = prepared(("lab/careful",))
    with api.open_store(str(tmp_path / "s.db")) as store:
        store.begin_run(plan.config, plan.plan(), {})
    stopped = []
    view = View(tmp_path / "s.db", stop=(plan.config.id, lambda: stopped.append(time.time())))
    assert "Stop this run" in view.get(f"/run/{plan.config.id}")
    view.client.post("/stop", data={"mark": view.site.form_mark, "run": plan.config.id})
    assert len(stopped) == 1


def test_run_with_view_shows_the_run_while_it_goes(eqlab, server, tmp_path, monkeypatch):
    """One line with the address, a page of the run that answers, and no server left behind."""
    import urllib.error
    import urllib.request

    seen = []

    def look(body, number):
        if not seen:
            from eqlab.cli import view

            seen.append(view)
        return "Calm: 5"

    addresses = []
    monkeypatch.setattr("eqlab.cli.view.tell", lambda where, browser: addresses.append((where, browser)))
    server.reply = look
    done = eqlab(
        "run", "m", "--base-url", server.url, "-b", "eqbench", "--limit", 2, "--view", "--store", tmp_path / "s.db"
    )
    assert "Run" in done.out
    ((where, browser),) = addresses
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/run/\w{10}\?token=[\w-]{43}", where)
    assert browser is False  # nobody sits before it
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(where, timeout=30)


def test_the_address_is_one_line_and_the_page_is_there(skilled_store, monkeypatch, capsys):
    """A real server on a real port, opened by its address."""
    import http.cookiejar
    import urllib.request

    from eqlab.view.app import make_site, serving

    with serving(make_site(str(skilled_store[0]))) as where:
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        opener = urllib.request.build_opener(jar)
        with opener.open(where, timeout=60) as reply:
            assert "token" not in reply.url
            first = reply.url
            page = reply.read().decode()
        assert "All runs" in page
        with opener.open(f"{first}live", timeout=60) as news:
            assert news.readline() == b"retry: 3000\n"
            assert re.fullmatch(rb"data: [\d.]+\n", news.readline())
