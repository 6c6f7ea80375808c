"""Old browsers, large text, small screens: what a participant of 2021, or with weak eyes, or on a phone meets."""

import re
from importlib.resources import files

import pytest
from later import Later

pytest.importorskip("playwright")
pytest.importorskip("fastapi")

from browser.accessible import sound
from browser.devices import PHONE
from browser.served import served
from browser.test_participant import answer

expect = Later("playwright.sync_api", "expect")

OF_2021 = """
delete AbortSignal.timeout;
Object.defineProperty(SubmitEvent.prototype, "submitter", { get() { return undefined; } });
Object.defineProperty(HTMLElement.prototype, "inert", { set() {}, get() { return undefined; } });
"""


@pytest.fixture
def study(tmp_path):
    with served(tmp_path) as site:
        yield site


def go_on(page):
    with page.expect_navigation():
        page.locator(".send button").first.click()


def to_trials(study, page, person="p-1"):
    page.goto(study.link(person))
    with page.expect_navigation():
        page.click("#agree")
    for _ in range(2):  # questionnaire, quiz
        answer(page)
        go_on(page)


def test_no_style_or_script_needs_a_browser_younger_than_2021():
    static = files("eqlab.study.web") / "static"
    style = (static / "study.css").read_text()
    script = (static / "keep.js").read_text() + (static / "watch.js").read_text()
    assert ":has(" not in style.replace("know no :has()", "")
    for selectors in re.findall(r"([^{}]*:has\([^{}]*)\{", (static / "pico.css").read_text()):
        # One selector that is not known makes a whole rule unknown: none may be shared with others.
        assert all(":has(" in one for one in re.split(r",(?![^(]*\))", selectors) if "@supports" not in selectors)
    for young in ("AbortSignal.timeout", "structuredClone", ".at(-", "replaceAll", "Object.hasOwn"):
        assert young not in script


def test_a_browser_of_2021_comes_to_the_end(study, visit):
    page = visit()
    page.add_init_script(OF_2021)
    to_trials(study, page)
    for _ in range(3):
        answer(page)
        go_on(page)
    with page.expect_navigation():
        page.locator(".send button").first.click()
    assert "C-COMPLETE" in page.inner_text("main")


def test_who_declines_in_a_browser_of_2021_has_declined(study, visit):
    page = visit()
    page.add_init_script(OF_2021)
    page.goto(study.link())
    with page.expect_navigation():
        page.click("button[value=no]")
    assert "You are not taking part" in page.inner_text("main")


def test_a_chosen_answer_is_seen(study, visit):
    page = visit()
    to_trials(study, page)
    first = page.locator("fieldset label").first
    shown = "el => getComputedStyle(el.querySelector('input + span'), '::before').backgroundColor"
    before = first.evaluate(shown)
    first.click()
    assert first.evaluate(shown) != before


def test_on_a_phone_eleven_points_stand_in_one_row_and_nothing_is_said_of_keys(study, visit):
    page = visit(**PHONE)
    to_trials(study, page)
    seen = set()
    for _ in range(3):
        scale = page.locator("fieldset.numbers").first
        if scale.count():
            boxes = [one.bounding_box() for one in scale.locator("label").all()]
            assert len(boxes) == 11
            assert len({round(box["y"]) for box in boxes}) == 1
            assert all(box["width"] >= 24 and box["height"] >= 44 for box in boxes)
            low, high = (one.bounding_box() for one in scale.locator(".ends span").all())
            assert low["x"] <= boxes[0]["x"] + 1
            assert high["x"] + high["width"] >= boxes[-1]["x"] + boxes[-1]["width"] - 1
            seen.add("numbers")
        if page.locator("#keys").count():
            expect(page.locator("label.keys")).to_be_hidden()
            seen.add("keys")
        answer(page)
        go_on(page)
    assert seen == {"numbers", "keys"}


def test_twice_the_text_on_a_phone_needs_no_scrolling_sideways(study, visit):
    page = visit(**PHONE)
    page.goto(study.link())
    for number in range(7):
        page.evaluate("document.documentElement.style.setProperty('font-size', '200%')")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 361, f"page {number + 1} is {wide} px wide"
        if number == 0:
            with page.expect_navigation():
                page.click("#agree")
        elif number < 6:
            answer(page)
            go_on(page)


@pytest.mark.parametrize("device", [PHONE, {"viewport": {"width": 1280, "height": 500}}], ids=["phone", "low desk"])
def test_what_has_the_focus_is_not_under_the_key(study, visit, device):
    page = visit(**device)
    page.goto(study.link())
    with page.expect_navigation():
        page.click("#agree")
    groups = page.locator("fieldset")
    for index in [*range(groups.count()), *reversed(range(groups.count()))]:
        groups.nth(index).locator("input").first.focus()
        hidden = page.evaluate(
            """() => {
              const key = document.querySelector(".key").getBoundingClientRect();
              const one = document.activeElement.getBoundingClientRect();
              return one.top < key.bottom - 1 && one.bottom > key.top + 1;
            }"""
        )
        assert not hidden


def test_speakers_the_thing_to_rate_time_and_contact(study, visit):
    page = visit()
    page.goto(study.link())
    assert page.locator('a[href="mailto:lab@example.org"]').count() >= 1
    assert re.search(r"about \d+ min\b", page.inner_text("main"))
    with page.expect_navigation():
        page.click("#agree")
    for _ in range(2):
        answer(page)
        go_on(page)
    seen = set()
    for _ in range(3):
        if page.locator(".speaker").count():
            assert page.locator(".speaker").all_inner_texts() == ["Urs:", "Meret:"]
            expect(page.locator(".asked")).to_have_text("How does Meret feel at the end?")
            seen.add("dialogue")
        if page.locator("blockquote").count():
            quotes = page.locator("blockquote")
            assert [one.get_attribute("class") for one in quotes.all()] == ["said", "rated"]
            looks = "el => { const s = getComputedStyle(el); return [s.borderTopWidth, s.backgroundColor].join() }"
            assert quotes.nth(0).evaluate(looks) != quotes.nth(1).evaluate(looks)
            seen.add("reply")
        answer(page)
        go_on(page)
    assert seen == {"dialogue", "reply"}


def test_an_answer_is_changed_on_the_page_after(study, visit):
    page = visit()
    to_trials(study, page)
    answer(page)
    go_on(page)
    stored = study.answered()
    with page.expect_navigation():
        page.click("#back")
    sound(page)
    answer(page, lambda index, count: count - 1)
    go_on(page)
    assert study.answered() == stored + 1
    expect(page.locator("#back")).to_have_count(1)
