"""The researcher's way in a real browser: log in, watch a study live, take the tables home."""

from pathlib import Path

import pytest
from later import Later

pytest.importorskip("playwright")
pytest.importorskip("fastapi")

from argon2 import PasswordHasher

from browser.accessible import sound
from browser.served import served, take, whole_design
from eqlab.core.study import Pay

expect = Later("playwright.sync_api", "expect")

PASSWORD = "a long password"
HASH = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)


@pytest.fixture
def study(tmp_path):
    with served(tmp_path, whole_design(pay=Pay("GBP", 9.0, 1.5, 0.25)), password_hash=HASH) as site:
        yield site


@pytest.fixture(params=[1280, pytest.param(360, marks=pytest.mark.claims)])
def page(visit, request):
    return visit(viewport={"width": request.param, "height": 900})


def well_made(page):
    sound(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"


def test_log_in_watch_and_export(study, page, monkeypatch):
    monkeypatch.setattr("eqlab.study.web.researcher._STALE", 0.0)  # the page's clock runs faster than ours
    participation = study.participation
    take(participation, participation.arrive("h1", "en"))
    participation.arrive("h2", "en")
    page.clock.install()
    page.goto(f"{study.url}/researcher/")
    expect(page.locator("h1")).to_have_text("Log in")
    well_made(page)
    page.keyboard.press("Tab")
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#wrong")).to_be_visible()
    well_made(page)
    page.fill("#password", PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("h1")).to_have_text("Studies")
    well_made(page)
    page.get_by_role("link", name="A small study").click()
    expect(page.locator("#live")).to_contain_text("1 of 4")
    well_made(page)
    take(participation, participation.arrive("h3", "en"))
    page.clock.run_for(11_000)
    expect(page.locator("#live")).to_contain_text("2 of 4")
    page.locator("#watching").uncheck()
    with page.expect_download() as download:
        page.get_by_role("link", name="csv").first.click()
    assert download.value.suggested_filename == "small-answers.csv"
    assert Path(download.value.path()).read_bytes().startswith(b"person,arm")
    page.get_by_role("button", name="Log out").click()
    expect(page.locator("h1")).to_have_text("Log in")
    page.goto(f"{study.url}/researcher/small/status.json")
    expect(page.locator("h1")).to_have_text("Please log in")
