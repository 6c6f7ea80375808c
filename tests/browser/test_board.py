"""The leaderboard in a real browser, from disk: sorting, filtering, a model page, a comparison, and no network."""

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import expect

from eqlab.analysis.comparison import paired
from eqlab.publish.leaderboard.build import Sources, build


@pytest.fixture(scope="module")
def built(published, tmp_path_factory):
    return build(tmp_path_factory.mktemp("board") / "site", Sources(published=True, data=published))


@pytest.fixture
def page(browser, request):
    """A page that records every request which is not for a file."""
    size = {"width": 360, "height": 740} if request.param == "phone" else {"width": 1200, "height": 900}
    context = browser.new_context(viewport=size, color_scheme="dark" if request.param == "dark" else "light")
    opened = context.new_page()
    opened.outside, opened.problems = [], []
    opened.on("request", lambda asked: asked.url.startswith("file:") or opened.outside.append(asked.url))
    opened.on("pageerror", lambda error: opened.problems.append(str(error)))
    opened.on("console", lambda said: said.type == "error" and opened.problems.append(said.text))
    yield opened
    context.close()
    assert opened.outside == []
    assert opened.problems == []


def on(*screens):
    """The screens on which a test looks; each costs seconds."""
    return pytest.mark.parametrize("page", screens, indirect=True)


def check(page):
    """Nothing wider than the screen, and nothing that axe objects to."""
    from axe_playwright_python.sync_playwright import Axe

    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def names(page):
    return page.locator("table.scores tbody:visible th a").all_inner_texts()


@on("desktop", "phone", "dark")
def test_the_front_page(page, built):
    page.goto((built.folder / "index.html").as_uri())
    check(page)
    assert "cannot be told apart" in page.locator(".lead").inner_text()
    scores = names(page)
    assert scores[0] == "gpt-4-0314"
    page.get_by_role("searchbox").fill("gpt-4")
    assert names(page) == ["gpt-4-0314", "gpt-4-0613"]
    assert "of" in page.get_by_role("status").inner_text()
    page.get_by_role("searchbox").fill("")
    assert names(page) == scores


@on("desktop")
def test_sorting_by_keyboard(page, built):
    page.goto((built.folder / "index.html").as_uri())
    scores = names(page)
    button = page.get_by_role("button", name="Score")
    button.focus()
    page.keyboard.press("Enter")
    assert names(page) == scores
    page.keyboard.press("Enter")
    assert names(page) == scores[::-1]
    page.get_by_role("button", name="Who").click()
    assert names(page)[0] == "allenai/tulu-2-dpo-70b"
    assert sorted(names(page)) == sorted(scores)


@on("phone", "dark")
def test_a_model_page_and_its_items(page, built):
    page.goto((built.folder / "index.html").as_uri())
    page.get_by_role("link", name="gpt-4-0613", exact=True).click()
    assert "gpt-4-0613" in page.title()
    check(page)
    page.get_by_role("link", name="101–171").click()
    expect(page.locator("tbody tr")).to_have_count(71)
    check(page)
    page.get_by_role("link", name="1–100").click()
    expect(page.locator("tbody tr")).to_have_count(100)


@on("desktop", "phone")
def test_a_comparison_has_the_numbers_of_our_own_statistics(page, built):
    (board,) = built.boards
    (first, one), (last, other) = board.entered[0], board.entered[-1]
    page.goto((built.folder / "compare.html").as_uri() + f"#a={one.id}&b={other.id}")
    check(page)
    for a, b in ((one, other), (other, one)):
        found = paired(board.row(a), board.row(b))
        facts = page.locator("#facts").inner_text()
        assert f"{found.value:.2f}" in facts
        assert f"{found.low:.2f} to {found.high:.2f}" in facts
        assert str(found.n) in facts
        assert f"{found.se:.2f}" in facts
        page.get_by_role("button", name="Swap").click()
    said = page.locator("#said").inner_text()
    assert said.startswith(f"{first.name} is better than {last.name} by ")
    page.locator("#b").select_option(label="gpt-4-0613")
    assert "cannot be told apart" in page.locator("#said").inner_text()


@on("desktop")
def test_the_browser_tells_every_pair_apart_as_the_verdict_does(page, built):
    (board,) = built.boards
    page.goto((built.folder / "compare.html").as_uri())
    told = page.evaluate(
        """() => { const table = data.tables[0], found = [];
        table.models.forEach((a, i) => table.models.slice(i + 1).forEach((b) => {
          const one = paired(table, a, b); found.push([a[NAME], b[NAME], one.apart, one.value]); }));
        return found; }"""
    )
    assert len(told) == 1431
    for a, b, apart, value in told:
        pair = board.verdict.pair(a, b)
        assert apart == pair.separated, (a, b)
        assert value == pytest.approx(pair.difference.value, abs=1e-9)


def test_without_scripts_everything_but_the_comparison_is_there(browser, built):
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto((built.folder / "index.html").as_uri())
    assert names(opened)[0] == "gpt-4-0314"
    opened.goto((built.folder / "compare.html").as_uri())
    assert "needs scripts" in opened.locator("body").inner_text()
    context.close()


@on("desktop", "phone", "dark")
def test_the_switch_to_equal_length_by_keyboard(page, built):
    page.goto((built.folder / "index.html").as_uri())
    plain, equal = page.locator("table.scores"), page.locator(".at-length table")
    assert plain.is_visible()
    assert not equal.is_visible()
    page.get_by_role("radio", name="as scored").focus()
    page.keyboard.press("ArrowRight")
    assert equal.is_visible()
    assert not plain.is_visible()
    expect(equal.locator("tbody")).to_have_count(54)
    check(page)
    page.get_by_role("radio", name="as scored").check()
    assert plain.is_visible()


def test_the_switch_needs_no_script(browser, built):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((built.folder / "index.html").as_uri())
    page.get_by_role("radio", name="at equal length").check()
    assert page.locator(".at-length table").is_visible()
    assert not page.locator("table.scores").is_visible()
    context.close()


@on("desktop")
def test_the_table_at_equal_length_can_be_sorted(page, built):
    page.goto((built.folder / "index.html").as_uri())
    page.get_by_role("radio", name="at equal length").check()
    equal = page.locator(".at-length table")
    equal.get_by_role("button", name="Words").click()
    words = [int(text) for text in equal.locator("tbody td:last-child").all_inner_texts()]
    assert words == sorted(words, reverse=True)
    assert words[0] > words[-1]
