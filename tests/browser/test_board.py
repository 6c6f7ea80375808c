"""The leaderboard in a real browser, from disk: sorting, filtering, a model page, a comparison, and no network."""

import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from later import Later

pytest.importorskip("playwright")

from eqlab.analysis.comparison import paired
from eqlab.analysis.intervals import mean_estimate
from eqlab.comparison.contender import Contender, Lost
from eqlab.comparison.verdict import pair
from eqlab.core.results import Estimate
from eqlab.publish.leaderboard.build import Sources, build
from eqlab.publish.leaderboard.site import compare_data

expect = Later("playwright.sync_api", "expect")


@pytest.fixture(scope="module")
def built(published, tmp_path_factory):
    return build(tmp_path_factory.mktemp("board") / "site", Sources(published=True, data=published))


@pytest.fixture
def page(visit, request):
    """A page that records every request which is not for a file."""
    size = {"width": 360, "height": 740} if request.param == "phone" else {"width": 1200, "height": 900}
    opened = visit(viewport=size, color_scheme="dark" if request.param == "dark" else "light")
    opened.outside, opened.problems = [], []
    opened.on("request", lambda asked: asked.url.startswith("file:") or opened.outside.append(asked.url))
    opened.on("pageerror", lambda error: opened.problems.append(str(error)))
    opened.on("console", lambda said: said.type == "error" and opened.problems.append(said.text))
    yield opened
    assert opened.outside == []
    assert opened.problems == []


def on(first, *others):
    """The screens on which a test looks; each costs seconds, so `make test` takes the first."""
    rest = [pytest.param(screen, marks=pytest.mark.claims) for screen in others]
    return pytest.mark.parametrize("page", [first, *rest], indirect=True)


def check(page):
    """Nothing wider than the screen, and nothing that axe objects to."""
    from browser.accessible import sound

    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    sound(page)


def shown(page):
    return page.locator("table.scores tbody:visible th a")


def names(page):
    return shown(page).all_inner_texts()


@on("desktop", "phone", "dark")
def test_the_front_page(page, built):
    page.goto((built.folder / "index.html").as_uri())
    check(page)
    expect(page.locator(".lead")).to_contain_text("cannot be told apart")
    scores = names(page)
    assert scores[0] == "gpt-4-0314"
    page.get_by_role("searchbox").fill("gpt-4")
    expect(shown(page)).to_have_text(["gpt-4-0314", "gpt-4-0613"])
    expect(page.get_by_role("status")).to_contain_text("of")
    page.get_by_role("searchbox").fill("")
    expect(shown(page)).to_have_text(scores)


@on("desktop")
def test_sorting_by_keyboard(page, built):
    page.goto((built.folder / "index.html").as_uri())
    (board,) = built.boards
    scores = names(page)
    by_score = sorted(board.entered, key=lambda one: -one[0].estimate.value)
    published = [line.name for line, _ in by_score]
    assert scores != published  # refusing is no gain: the page comes in the order of the scores at worst
    for title, order in (("score", published), ("at worst", scores)):
        page.get_by_role("button", name=title, exact=True).focus()
        page.keyboard.press("Enter")
        expect(shown(page)).to_have_text(order)
        page.keyboard.press("Enter")
        expect(shown(page)).to_have_text(order[::-1])
    page.get_by_role("button", name="model", exact=True).click()
    expect(shown(page).first).to_have_text("allenai/tulu-2-dpo-70b")
    assert sorted(names(page)) == sorted(scores)


@on("phone", "dark")
def test_a_model_page_and_its_items(page, built):
    page.goto((built.folder / "index.html").as_uri())
    page.get_by_role("link", name="gpt-4-0613", exact=True).click()
    expect(page).to_have_title(re.compile(re.escape("gpt-4-0613")))
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
        for fact in (f"{found.value:.2f}", f"{found.low:.2f} to {found.high:.2f}", str(found.n), f"{found.se:.2f}"):
            expect(page.locator("#facts")).to_contain_text(fact)
        page.get_by_role("button", name="Swap").click()
    expect(page.locator("#said")).to_have_text(
        re.compile("^" + re.escape(f"{first.name} is better than {last.name} by "))
    )
    page.locator("#b").select_option(label="gpt-4-0613")
    expect(page.locator("#said")).to_contain_text("cannot be told apart")


@on("desktop")
def test_the_browser_tells_every_pair_apart_as_the_verdict_does(page, built):
    (board,) = built.boards
    page.goto((built.folder / "compare.html").as_uri())
    told = page.evaluate(
        """() => { const table = data.tables[0], found = [];
        table.models.forEach((a, i) => table.models.slice(i + 1).forEach((b) => {
          const one = pair(table, a, b);
          found.push([a[NAME], b[NAME], one.apart, one.value, one.leads?.[NAME], one.worst?.value]); }));
        return found; }"""
    )
    assert len(told) == 1431
    for a, b, apart, value, leads, worst in told:
        found = board.verdict.pair(a, b)
        assert apart == found.separated, (a, b)
        assert value == pytest.approx(found.difference.value, abs=1e-9)
        assert leads == (found.leads.name if found.leads else None), (a, b)
        assert worst == (pytest.approx(found.at_worst.value, abs=1e-9) if found.at_worst else None), (a, b)
    assert any(leads for *_, leads, _ in told)


def made(better):
    """Near copies, constant gaps, lost answers that undo a lead or do not, an item asked twice, and people by interval
    alone; as a table of the site."""
    draw = np.random.default_rng(7)
    items = tuple(f"{number:02d}" for number in range(24))
    base = draw.integers(20, 80, len(items)).astype(float)
    found = [Contender("people", Estimate("score", 50.0, 9, low=44.0, high=55.0), people=True, better=better)]
    for place in range(22):
        points = base.copy()
        if place % 3 == 0:  # a near copy
            changed = draw.choice(len(items), {0: 0, 12: 7}.get(place, 3 + place % 7), replace=False)
            signs = draw.choice([1] if place == 12 else [-1, 1, 1, 1], len(changed))  # 12: seven of one sign, p = 1/64
            points[changed] += signs * draw.choice([2.0, 5.0, 9.0], len(changed))
        else:
            points += place - 11 + (place % 3 - 1) * draw.normal(0, 6, len(items))
        whole = dict(zip(items, map(float, points), strict=True))
        missing = items[place : place + place % 4]
        answered = {item: value for item, value in whole.items() if item not in missing}
        end = 0.0 if better == "higher" else 100.0
        lost = None
        if missing:
            worst = whole | dict.fromkeys(missing, end) | {items[0]: (whole[items[0]] + end) / 2}
            statuses = {item: frozenset({"refused"}) for item in (*missing, items[0])}
            lost = Lost({"refused": len(statuses)}, statuses, worst, whole, worst)
        score = mean_estimate("score", list(answered.values()))
        found.append(Contender(f"m{place:02d}", score, answered, better=better, lost=lost))
    lines = [SimpleNamespace(name=one.name, estimate=one.score) for one in found]
    entered = [(line, SimpleNamespace(id=line.name)) for line in lines]
    rows = {one.name: [one.points.get(item, np.nan) for item in items] for one in found}
    told = {one.name: SimpleNamespace(contender=one) for one in found}
    verdict = SimpleNamespace(of=told.__getitem__, standings=list(told.values()))
    board = SimpleNamespace(label=better, lines=lines, items=items, entered=entered, verdict=verdict)
    board.row = lambda entry: rows[entry.id]
    return found, compare_data([board])


@on("desktop")
@pytest.mark.parametrize("better", ["higher", "lower"])
def test_the_browser_has_the_verdict_on_hard_cases(page, built, better):
    contenders, data = made(better)
    page.goto((built.folder / "compare.html").as_uri())
    told = page.evaluate(
        """(own) => { const table = own.tables[0], found = []; data.t = own.t;
        for (const a of table.models) for (const b of table.models) if (a !== b) { const one = pair(table, a, b);
          found.push([a[NAME], b[NAME], one.apart, one.better?.[NAME] ?? null, one.leads?.[NAME] ?? null,
            one.worst?.value ?? null, sentence(a, b, one, 2)]); }
        return found; }""",
        data,
    )
    named = {one.name: one for one in contenders}
    kinds = Counter()
    for a, b, apart, wins, leads, worst, said in told:
        found = pair(named[a], named[b])
        assert apart == found.separated, (a, b)
        assert wins == (found.better.name if found.better else None), (a, b)
        assert leads == (found.leads.name if found.leads else None), (a, b)
        assert worst == (pytest.approx(found.at_worst.value, abs=1e-9) if found.at_worst else None), (a, b)
        assert ("is better than" in said) == bool(wins or leads)
        few = found.difference.differ is not None
        kinds.update({("few", apart): few, "leads": bool(leads), "holds": bool(wins) and worst is not None})
    assert min(kinds[kind] for kind in (("few", True), ("few", False), "leads", "holds")) > 0, kinds


def test_without_scripts_everything_but_the_comparison_is_there(visit, built):
    opened = visit(java_script_enabled=False)
    opened.goto((built.folder / "index.html").as_uri())
    assert names(opened)[0] == "gpt-4-0314"
    opened.goto((built.folder / "compare.html").as_uri())
    expect(opened.locator("body")).to_contain_text("needs scripts", use_inner_text=True)


@on("desktop", "phone", "dark")
def test_the_switch_to_equal_length_by_keyboard(page, built):
    page.goto((built.folder / "index.html").as_uri())
    plain, equal = page.locator("table.scores"), page.locator(".at-length table")
    expect(plain).to_be_visible()
    expect(equal).to_be_hidden()
    page.get_by_role("radio", name="as scored").focus()
    page.keyboard.press("ArrowRight")
    expect(equal).to_be_visible()
    expect(plain).to_be_hidden()
    expect(equal.locator("tbody")).to_have_count(54)
    check(page)
    page.get_by_role("radio", name="as scored").check()
    expect(plain).to_be_visible()


def test_the_switch_needs_no_script(visit, built):
    page = visit(java_script_enabled=False)
    page.goto((built.folder / "index.html").as_uri())
    page.get_by_role("radio", name="at equal length").check()
    expect(page.locator(".at-length table")).to_be_visible()
    expect(page.locator("table.scores")).to_be_hidden()


@on("desktop")
def test_the_table_at_equal_length_can_be_sorted(page, built):
    page.goto((built.folder / "index.html").as_uri())
    page.get_by_role("radio", name="at equal length").check()
    equal = page.locator(".at-length table")
    equal.get_by_role("button", name="Words").click()
    words = [int(text) for text in equal.locator("tbody td:last-child").all_inner_texts()]
    assert words == sorted(words, reverse=True)
    assert words[0] > words[-1]
