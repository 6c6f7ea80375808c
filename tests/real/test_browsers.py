"""Pages in browsers of three makers, with and without scripts: studies and talks to their end, the report, the view,
the leaderboard and the documentation.

Saves are counted on both sides: what the page sent and was taken, and what the store holds. A script's error, an error
in the console or a reply of 400 and more fails the test (of WebKitGTK: what `webkit_console` hears)."""

import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("websockets")
pytest.importorskip("fastapi")

from browser.served import served, whole_design
from made_studies import made, write_replies
from other_browsers import chromium, firefox, webkit, webkit_console
from other_servers import tried
from talk_case import talking
from web_case import PROLIFIC

from eqlab.publish.leaderboard.build import Sources, build
from eqlab.store.store import Store
from eqlab.view.app import make_site, serving

BROWSERS = {
    f"{make.__name__}{'' if scripts else '-no-script'}": partial(make, scripts=scripts)
    for make in (chromium, firefox, webkit)
    for scripts in (True, False)
}
FILL = """(() => {
  const main = document.querySelector('main').innerText;
  const asked = main.match(/Please choose (\\d)\\./);
  const left = document.querySelector('#left') || /points/i.test(main);
  [...document.querySelectorAll('fieldset')].forEach((group, number) => {
    const options = [...group.querySelectorAll('input[type=radio]')];
    if (!options.length) return;
    const value = left ? (number ? '0' : '10') : null;
    const pick = value !== null && options.find(one => one.value === value)
      || options[main.includes('What do you rate?') ? 0 : asked ? +asked[1] - 1 : (number * 3) % options.length];
    pick.click();
  });
  document.querySelectorAll('textarea').forEach(one => {
    one.value = 'I am sorry that this happened to you, and I am here.';
    one.dispatchEvent(new Event('input', {bubbles: true}));
  });
  return true;
})()"""
PLAIN = "[checks]\nattention = 0\n[places]\nbatch_size = 2\n"
KINDS = {
    "rating": {"tables": PLAIN},
    "pairwise": {"tables": PLAIN},
    "reply": {"arms": (), "top": "limit = 2", "tables": PLAIN},
    "seceu": {"arms": (), "top": "limit = 2", "tables": PLAIN},
    "eqbench": {"arms": (), "top": "limit = 2", "tables": PLAIN},
    "evoked": {
        "arms": (),
        "top": 'limit = 2\ninstruments = ["PANAS"]\narms_by = "emotion"',
        "tables": "[checks]\nattention = 0\n",
    },
    "emobench": {"arms": (), "top": "limit = 2", "tables": PLAIN},
    "culemo": {"arms": (), "top": 'limit = 2\nitems = "published"', "tables": PLAIN},
    "tombench": {"arms": (), "top": 'limit = 2\nitems = "published"', "tables": PLAIN},
}


@pytest.fixture(scope="module", params=BROWSERS)
def browser(request, tmp_path_factory):
    if not os.environ.get("EQLAB_REAL_ALL"):
        pytest.skip("python bench/real.py runs this; Chromium's pages are in tests/browser")
    with BROWSERS[request.param](tmp_path_factory.mktemp(request.param)) as opened:
        opened.mode = "without scripts" if request.param.endswith("no-script") else "with scripts"
        yield opened


def walked(browser, site, study):
    """To the last page; how often an answer was sent and the next page came."""
    browser.problems.clear()
    browser.go(site.link(study=study))
    pages = 0
    while browser.js("!!document.querySelector('#page button')"):
        browser.js(FILL)
        browser.leave("document.querySelector('#page button').click()")
        assert not browser.js("!!document.querySelector('[role=alert]')"), browser.js("document.body.innerText")
        pages += 1
        assert pages < 40
    assert browser.js("document.querySelector('#code').textContent") == "C-COMPLETE"
    assert browser.problems == []
    return pages


def listen(browser, folder, urls):
    """WebKitGTK's console on pages that an address alone opens."""
    if browser.name == "WebKitGTK" and browser.mode == "with scripts":
        assert webkit_console(folder / "console", urls) == []


@pytest.mark.claims
def test_an_error_in_the_console_is_noticed(browser, tmp_path):
    """Else every other test here would pass by its deafness."""
    browser.problems.clear()
    page = tmp_path / "wrong.html"
    page.write_text(
        "<!doctype html><title>x</title><p>x</p><script>console.error('a'); nothing.at.all</script>", "utf-8"
    )
    browser.go(page.as_uri())
    if browser.name == "WebKitGTK":
        (only,) = webkit_console(tmp_path / "console", [page.as_uri()])[1:]
        assert "nothing" in only
        return
    if browser.mode == "with scripts":
        deadline = time.monotonic() + 20
        while len(browser.problems) < 2 and time.monotonic() < deadline:
            assert browser.js("document.title") == "x"
    assert len(browser.problems) == (2 if browser.mode == "with scripts" else 0)
    browser.problems.clear()


@pytest.mark.claims
def test_every_kind_of_study_to_its_end(browser, published, tmp_path, monkeypatch, record_property):
    monkeypatch.setenv("EQLAB_DATA", str(published))
    done = []
    with served(tmp_path, whole_design()) as site:
        pages = walked(browser, site, "small")
        done.append(f"every kind of page: {pages} sent, {site.answered()} answers stored")
        assert site.answered() == pages - 2  # consent and debriefing are no answers
    for kind, more in KINDS.items():
        folder = tmp_path / kind
        folder.mkdir()
        write_replies(folder, prompts=2)
        store = Store(str(folder / "arms.db"))
        design = made(folder, store, kind, **more)
        store.close()
        with served(folder, replace(design, study=replace(design.study, panel=PROLIFIC))) as site:
            pages = walked(browser, site, kind)
            assert site.answered() == pages - 2, kind
            done.append(f"{kind}: {pages} sent, {site.answered()} stored")
            listen(browser, folder, [site.link(study=kind)])
    what = f"studies of {len(done)} kinds to the last page, {browser.mode}"
    tried(record_property, browser.name, browser.version, what, "; ".join(done))


@pytest.mark.claims
def test_report_and_view(browser, skilled_store, eqlab, tmp_path, record_property):
    browser.problems.clear()
    store, run = skilled_store
    assert eqlab("report", run, "--items", "-o", tmp_path / "r.html", "--store", store).code == 0
    browser.go((tmp_path / "r.html").as_uri())
    assert "lab/careful" in browser.js("document.body.innerText")
    assert browser.js("document.querySelectorAll('svg').length") > 0
    browser.leave("document.querySelector('a[href*=\"-items/\"]').click()")
    items = browser.js("document.querySelectorAll('tbody tr').length")
    assert items > 0
    made_site = make_site(str(store))
    with serving(made_site) as address:
        made_site.shelf.settle(60)
        browser.go(address)
        assert "lab/careful is best" in browser.js("document.body.innerText")
        listen(browser, tmp_path, [(tmp_path / "r.html").as_uri(), address])
    assert [one for one in browser.problems if "live" not in one] == []
    what = f"report with its item pages from disk, eqlab view, {browser.mode}"
    tried(record_property, browser.name, browser.version, what, "read, followed, no error")


@pytest.mark.claims
def test_a_talk_to_its_end(browser, server, tmp_path, record_property):
    server.reply = lambda body, number: f"That is answer {number}: I am listening."
    scripts = browser.mode == "with scripts"
    browser.problems.clear()
    with talking(tmp_path, server) as site:
        listen(browser, tmp_path, [f"{site.base}/s/talk?PID=p-0"])
        browser.go(f"{site.base}/s/talk?PID=p-1")
        browser.leave("document.querySelector('#agree').click()")
        for turn, feeling in enumerate((35, 80)):
            browser.until("document.querySelector('#talk').dataset.state === 'say'")
            browser.js(
                f"""(() => {{ const feel = document.querySelector('#feel'); feel.value = {feeling};
                feel.dispatchEvent(new Event('input', {{bubbles: true}}));
                document.querySelector('#message').value = 'My week was <b>hard</b>.'; return true; }})()"""
            )
            send = "document.querySelector('#send').click()"
            browser.js(f"({send}, true)") if scripts else browser.leave(send)
            browser.until(f"document.querySelectorAll('.line').length === {2 * turn + 2}")
            browser.until(f"document.body.innerText.includes('That is answer {turn + 1}: I am listening.')")
        browser.until("document.querySelector('#talk').dataset.state === 'say'")
        browser.js("(document.querySelector('#feel').value = 90, true)")
        browser.js("(document.querySelector('#feel').dispatchEvent(new Event('input', {bubbles: true})), true)")
        browser.leave("document.querySelector('button[value=satisfied]').click()")
        assert "The other one understood me." in browser.js("document.querySelector('main').innerText")
        browser.js(FILL)
        browser.leave("document.querySelector('#page button').click()")
        assert "this is what it was about" in browser.js("document.querySelector('main').innerText")
        turns = site.turns()
    assert [values["emotion"] for seat, _, _, values, _ in turns if seat] == [35, 80, 90]
    assert sum(not seat for seat, *_ in turns) == len(server.requests) == 2
    assert browser.problems == []
    done = (
        f"{len(turns)} turns stored, 3 of the person and 2 of the model; {len(server.requests)} requests to the model"
    )
    tried(record_property, browser.name, browser.version, f"a talk with a model to its last page, {browser.mode}", done)


@pytest.mark.claims
def test_the_leaderboard(browser, published, tmp_path, record_property):
    built = build(tmp_path / "site", Sources(published=True, data=published))
    browser.problems.clear()
    browser.go((built.folder / "index.html").as_uri())
    shown = "[...document.querySelectorAll('table.scores tbody th a')].filter(one => one.checkVisibility())"
    names = browser.js(f"{shown}.map(one => one.innerText)")
    assert len(names) == sum(len(board.entered) for board in built.boards)
    done = [f"{len(names)} models"]
    if browser.mode == "with scripts":
        browser.js(
            """(() => { const search = document.querySelector('input[type=search]'); search.value = 'gpt-4';
            search.dispatchEvent(new Event('input', {bubbles: true})); return true; })()"""
        )
        browser.until(f"{shown}.length === {sum('gpt-4' in name for name in names)}")
        done.append("searched")
    browser.leave(f"{shown}[0].click()")
    assert browser.js("document.querySelectorAll('table tbody tr').length") > 0
    browser.go((built.folder / "compare.html").as_uri())
    if browser.mode == "with scripts":
        browser.until("document.querySelector('#said').innerText.length > 20")
        done.append("two models compared")
    listen(browser, tmp_path, [(built.folder / name).as_uri() for name in ("index.html", "compare.html")])
    assert browser.problems == []
    tried(record_property, browser.name, browser.version, f"leaderboard from disk, {browser.mode}", ", ".join(done))


@pytest.fixture(scope="module")
def documentation(tmp_path_factory):
    """This project's documentation, built and served."""
    pytest.importorskip("zensical")
    root, folder = Path(__file__).parents[2], tmp_path_factory.mktemp("documentation")
    shutil.copytree(root / "docs", folder / "docs")
    shutil.copy(root / "mkdocs.yml", folder)
    (folder / "src").symlink_to(root / "src")
    subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=folder, check=True, capture_output=True)
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(folder / "site"))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", folder / "site"
        server.shutdown()


@pytest.mark.claims
def test_the_documentation(browser, documentation, tmp_path, record_property):
    address, folder = documentation
    pages = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html") if path.name != "404.html")
    assert "index.html" in pages
    browser.problems.clear()
    for page in pages:
        browser.go(f"{address}/{page}")
        assert browser.js("document.querySelector('main').innerText.length") > 200, page
        assert browser.problems == [], page
    done = f"{len(pages)} pages read"
    listen(browser, tmp_path, [f"{address}/{page}" for page in pages[::6]])
    tried(record_property, browser.name, browser.version, f"this documentation, served, {browser.mode}", done)
