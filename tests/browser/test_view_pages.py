"""The view in a real browser: by keyboard, at three widths, light and dark, nothing for axe, numbers that arrive."""

import re

import pytest
from later import Later

pytest.importorskip("playwright")
pytest.importorskip("starlette")

from judge_case import replies, world
from view_case import fill, near, prepared

import eqlab as api
from browser.accessible import sound
from eqlab.runs import judge as judging
from eqlab.store.store import Store
from eqlab.view.app import make_site, serving

expect = Later("playwright.sync_api", "expect")


@pytest.fixture
def seen(visit, skilled_store):
    """A page of the served store on a device of this width and scheme; at the end no script may have failed."""
    problems = []
    site = make_site(str(skilled_store[0]))
    with serving(site) as address:
        site.shelf.settle(60)

        def open_at(width, scheme):
            page = visit(viewport={"width": width, "height": 800}, color_scheme=scheme)
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("console", lambda said: said.type == "error" and problems.append(said.text))
            page.goto(address)
            return page

        yield open_at
    assert [one for one in problems if "live" not in one] == []


def check(page):
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    sound(page)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (800, "dark"), (360, "light")])
def test_from_the_first_page_to_the_words(seen, width, scheme):
    """Which is best, is that certain, where does the other fail, what did it say: by keyboard alone."""
    page = seen(width, scheme)
    assert "token" not in page.url
    expect(page.get_by_text("lab/careful is best")).to_be_visible()
    check(page)
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("x")
    assert page.locator("input[name=s]:checked").count() == 2
    page.get_by_role("button", name="Compare the chosen").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/compare"))
    expect(page.locator(".lead").first).to_contain_text("is better than")
    check(page)
    page.locator(".versus-item a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/item"))
    expect(page.get_by_role("heading", name="Answers of all models")).to_be_visible()
    check(page)
    first = page.url
    page.keyboard.press("j")
    page.wait_for_url(lambda url: "/item" in url and url != first)
    page.keyboard.press("k")
    page.wait_for_url(first)


@pytest.mark.parametrize("path", ["/talks", "/judges", "/studies", "/rate", "/start", "/run/last", "/trend?table=1"])
def test_every_other_screen_is_accessible(seen, path):
    page = seen(360, "dark")
    page.goto(page.url.rstrip("/") + path)
    check(page)


def test_on_a_phone_no_table_and_no_form_is_cut(visit, server, tmp_path):
    """Rows become cards: nothing must be moved sideways to be read, however long a model's name is."""
    with api.open_store(str(tmp_path / "s.db")) as store:
        run = replies(server, store, models=("warm", "lab/" + "a-long-name-of-a-model-" * 3))
        for judges in (("strict", "mild"), ("later",)):
            server.reply = world
            request = judging.JudgeRequest(judges=judges, on=(run,), base_url=server.url)
            api.run(judging.prepare(request, store, lambda _: None), store, concurrency=4)
    site = make_site(str(tmp_path / "s.db"))
    with serving(site) as address:
        site.shelf.settle(60)
        page = visit(viewport={"width": 375, "height": 740}, color_scheme="light")
        page.goto(address)
        base = page.url.rstrip("/")
        for path in ("/", "/judges", "/rate", f"/run/{run}", "/studies"):
            page.goto(base + path)
            check(page)
            assert page.evaluate(CUT) == [], path


CUT = """[...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth + 1)
    .map((one) => one.getAttribute("aria-label"))"""


def test_search_keys_and_help(seen):
    page = seen(1280, "light")
    page.keyboard.press("/")
    page.keyboard.type("hasty")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("q=hasty"))
    expect(page.locator("tbody[data-key]")).to_have_count(1)
    page.keyboard.press("?")
    expect(page.get_by_text("tick the row in focus")).to_be_visible()


def test_numbers_arrive_and_rows_keep_their_place(visit, tmp_path):
    plan = prepared(("lab/careful", "lab/terse"))
    fill(tmp_path / "s.db", plan, leave=5)
    with serving(make_site(str(tmp_path / "s.db"))) as address:
        page = visit()
        page.goto(address)
        rows = page.locator("tbody[data-key]")
        expect(rows).to_have_count(2)
        page.locator("input[name=s]").nth(1).check()
        expect(rows.nth(0).locator("td[data-label=usable]")).to_have_text("7 of 12")
        from view_case import _answer

        with Store(str(tmp_path / "s.db")) as store:
            late = [one for subject in plan.config.models for one in _last(plan, subject.subject, 5)]
            store.add_answers([_answer(plan, *one, near, 1_790_000_200.0, {}) for one in late])
        expect(rows.nth(0).locator("td[data-label=usable]")).to_have_text("12 of 12", timeout=60_000)
        assert page.locator("input[name=s]").nth(1).is_checked()


def _last(plan, subject, count):
    return [one for one in plan.plan() if one[0] == subject][-count:]
