"""Pages in browsers of three makers, with and without scripts: studies to their end, the report and the view.

Saves are counted on both sides: what the page sent and was taken, and what the store holds. A script's error, an error
in the console or a reply of 400 and more fails the test (WebKitGTK's driver shows none of these)."""

import os
from dataclasses import replace
from functools import partial

import pytest

pytest.importorskip("websockets")
pytest.importorskip("fastapi")

from browser.served import served, whole_design
from made_studies import made, write_replies
from other_browsers import chromium, firefox, webkit
from other_servers import tried
from web_case import PROLIFIC

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


@pytest.mark.claims
def test_every_kind_of_study_to_its_end(browser, tmp_path, record_property):
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
    assert [one for one in browser.problems if "live" not in one] == []
    what = f"report with its item pages from disk, eqlab view, {browser.mode}"
    tried(record_property, browser.name, browser.version, what, "read, followed, no error")
