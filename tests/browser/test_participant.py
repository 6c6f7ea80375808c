"""A participant's whole way in a real browser: served, phone, keyboard, no script, bad network, other devices."""

import re

import pytest
from later import Later

pytest.importorskip("playwright")
pytest.importorskip("fastapi")

from browser.accessible import sound
from browser.devices import DESK, PHONE
from browser.served import served, whole_design, with_language
from eqlab.core.study import Panel
from eqlab.study.texts import Texts, load

expect = Later("playwright.sync_api", "expect")

PAGES = 7  # consent, questionnaire, quiz, two trials, a check, debrief


@pytest.fixture
def study(tmp_path):
    with served(tmp_path) as site:
        yield site


def answer(page, pick=lambda index, count: (index * 3) % count, by_hand=False):
    """Choose something everywhere, what is asked for where something is asked for. A script chooses, in a tenth of the
    time, unless a test is about doing it by hand."""
    text = page.inner_text("main")
    asked = re.search(r"Please choose (\d)\.", text)
    labels = "groups => groups.map(group => group.querySelectorAll('label').length)"
    counts = page.locator("fieldset").evaluate_all(labels)
    quiz = "What do you rate?" in text
    chosen = [
        0 if quiz else int(asked.group(1)) - 1 if asked else pick(index, count) for index, count in enumerate(counts)
    ]
    if by_hand:
        for index, number in enumerate(chosen):
            page.locator("fieldset").nth(index).locator("label").nth(number).click()
    else:
        click = "(groups, chosen) => groups.map((group, i) => group.querySelectorAll('label')[chosen[i]].click())"
        page.locator("fieldset").evaluate_all(click, chosen)


def send(page):
    """Press the page's button and wait for the next page."""
    with page.expect_navigation():
        page.locator("#page button").first.click()


def go(page, until=lambda page: False, look=lambda page: None, by_hand=False):
    """Page after page to the end, or until."""
    while page.locator("#page").count() and not until(page):
        look(page)
        answer(page, by_hand=by_hand)
        send(page)


def at(number):
    return lambda page: f"Page {number} " in page.title()


DARK = pytest.param({**PHONE, "color_scheme": "dark"}, marks=pytest.mark.claims)


@pytest.mark.parametrize("device", [DESK, PHONE, DARK], ids=["served", "phone", "dark"])
def test_whole_way(study, visit, device):
    page = visit(**device)
    requests, said, seen = [], [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: said.append(message.text))

    def look(page):
        seen.append(page.title())
        if device is not PHONE:  # the phone has the same elements
            sound(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
        small = page.evaluate(
            """[...document.querySelectorAll("label:has([type=radio]), button, footer a")].filter(
            one => { const box = one.getBoundingClientRect();
                     const row = one.closest(".numbers"); // eleven in a row: tall, and as wide as WCAG 2.2 wants
                     return box.height < 43.9 || box.width < (row ? 24 : 43.9) }).length"""
        )
        assert small == 0, "a target is too small for a finger"

    page.goto(study.link())
    assert page.url == f"{study.url}/s/small/page"  # no id in the address
    go(page, look=look, by_hand=True)
    expect(page.locator("#code")).to_have_text("C-COMPLETE")
    sound(page)
    assert len(seen) == PAGES
    assert study.answered() == 5
    assert all(url.startswith(study.url) for url in requests)
    assert said == []
    assert page.evaluate("Object.keys(localStorage).filter(key => !key.endsWith(':keys')).length") == 0


def test_the_way_back_to_the_panel_can_be_stopped(study, visit):
    page = visit()
    page.clock.install()
    page.route("https://app.prolific.com/**", lambda route: route.fulfill(body="the panel", content_type="text/html"))
    page.goto(study.link())
    go(page)
    expect(page.locator("#leaving")).to_contain_text("20 seconds")
    page.get_by_role("button", name="Stay here").click()
    page.clock.run_for(30_000)
    assert page.url.endswith("/done")
    page.reload()
    page.clock.run_for(21_000)
    page.wait_for_url("https://app.prolific.com/submissions/complete?cc=C-COMPLETE")


def test_keyboard_only(study, visit):
    page = visit()
    page.goto(study.link())
    while page.locator("#page").count():
        if page.locator("#agree").count():
            page.keyboard.press("Tab")
            while not page.evaluate("document.activeElement.id === 'agree'"):
                page.keyboard.press("Tab")
        groups = page.locator("fieldset").count()
        for _ in range(groups):  # Tab goes from group to group, blank chooses
            while True:
                page.keyboard.press("Tab")
                if page.evaluate("document.activeElement.type === 'radio'"):
                    break
            visible = page.evaluate(
                "getComputedStyle(document.activeElement.nextElementSibling, '::before').outlineStyle !== 'none'"
            )
            assert visible, "the focus cannot be seen"
            page.keyboard.press("Space")
        if not groups:
            while not page.evaluate("document.activeElement.matches('#page button')"):
                page.keyboard.press("Tab")
        with page.expect_navigation():
            page.keyboard.press("Enter")
    expect(page.locator("#code")).to_have_text("C-COMPLETE")


def test_digits_choose_unless_switched_off(study, visit):
    page = visit()
    page.goto(study.link())
    go(page, until=lambda page: page.locator("#keys").count() == 1)
    page.keyboard.press("3")
    assert page.locator("input[name='v.rating']:checked").input_value() == "3"
    page.keyboard.press("Control+1")
    page.keyboard.press("7")
    assert page.locator("input[name='v.rating']:checked").input_value() == "3"
    page.locator("#keys").uncheck()
    page.keyboard.press("1")
    assert page.locator("input[name='v.rating']:checked").input_value() == "3"
    page.reload()
    assert not page.locator("#keys").is_checked()
    page.keyboard.press("2")
    assert page.locator("input[name='v.rating']:checked").input_value() == "3"  # kept over the reload


def test_without_javascript(study, visit):
    page = visit(java_script_enabled=False)
    page.goto(study.link())
    expect(page.locator(".keys")).to_have_count(0)
    page.locator("#agree").click()
    page.locator("fieldset").first.locator("label").nth(4).click()
    page.locator("#page button").click()
    expect(page.locator("#errors")).to_be_visible()
    assert page.title().startswith("Error: ")
    expect(page.locator("#errors a")).to_have_count(15)
    expect(page.locator("input:checked")).to_have_count(1)
    page.locator("#errors a").first.click()
    assert page.url.endswith("#q-2")
    for _ in range(PAGES):
        if page.locator("#page").count():
            answer(page, by_hand=True)
            page.locator("#page button").first.click()
    expect(page.locator("#code")).to_have_text("C-COMPLETE")
    assert study.answered() == 5


def test_missing_answers_are_said_and_linked(study, visit):
    page = visit()
    page.goto(study.link())
    send(page)
    page.locator("fieldset").first.locator("label").nth(2).click()
    page.locator("#page button").click()
    page.wait_for_selector("#errors")
    assert page.evaluate("document.activeElement.id") == "errors"
    sound(page)
    expect(page.locator("input:checked")).to_have_count(1)
    expect(page.locator("#errors a")).to_have_count(15)
    answer(page)
    send(page)
    assert "Page 3 " in page.title()


def test_network_cut_and_back(study, visit):
    page = visit()
    page.goto(study.link())
    go(page, until=at(4))
    before = study.answered()
    page.context.set_offline(True)
    answer(page)
    page.locator("#page button").click()
    expect(page.locator("#sending")).to_contain_text("Not saved yet")
    expect(page.get_by_role("button", name="Try now")).to_be_visible()
    sound(page)
    assert page.evaluate("document.getElementById('page').inert")
    assert study.answered() == before
    page.context.set_offline(False)
    expect(page).to_have_title(re.compile("^Page 5 "), timeout=60_000)
    assert study.answered() == before + 1


def test_a_lost_reply_is_not_a_second_answer(study, visit):
    page = visit()
    page.goto(study.link())
    go(page, until=at(4))
    before = study.answered()
    lost = []

    def lose(route):
        if route.request.method == "POST" and not lost:
            lost.append(route.request.post_data)
            route.fetch()  # the server has it
            route.abort()  # the browser never hears so
        else:
            if route.request.method == "POST":
                lost.append(route.request.post_data)
            route.continue_()

    page.route("**/s/small/page", lose)
    answer(page)
    page.locator("#page button").click()
    expect(page).to_have_title(re.compile("^Page 5 "), timeout=60_000)
    assert study.answered() == before + 1
    assert len(lost) == 2
    assert lost[0] == lost[1]  # exactly the same post


def test_tab_closed_before_it_was_sent(study, visit):
    page = visit()
    page.goto(study.link())
    go(page, until=at(4))
    before = study.answered()
    context = page.context
    context.set_offline(True)
    answer(page)
    page.locator("#page button").click()
    expect(page.locator("#sending")).to_contain_text("Not saved yet")
    page.close()
    context.set_offline(False)
    again = context.new_page()
    again.goto(f"{study.url}/s/small")
    expect(again).to_have_title(re.compile("^Page 5 "), timeout=60_000)
    assert study.answered() == before + 1


CHOSEN = "all => all.map(one => one.name + one.value)"


def test_changing_the_page_before_keeps_what_was_chosen_on_this_one(study, visit):
    page = visit()
    page.goto(study.link())
    go(page, until=at(5))
    before = study.answered()
    answer(page)
    chosen = page.locator("input:checked").evaluate_all(CHOSEN)
    assert chosen
    for way in ("leave", "save"):
        with page.expect_navigation():
            page.click("#back")
        if way == "leave":
            with page.expect_navigation():
                page.click("#leave-it")
        else:
            answer(page, pick=lambda index, count: count - 1)
            send(page)
        expect(page).to_have_title(re.compile("^Page 5 "))
        assert page.locator("input:checked").evaluate_all(CHOSEN) == chosen
    assert study.answered() == before + 1


def test_a_change_that_had_not_arrived_is_sent_with_the_next_page(study, visit):
    page = visit()
    page.goto(study.link())
    go(page, until=at(5))
    before = study.answered()
    with page.expect_navigation():
        page.click("#back")
    context = page.context
    context.set_offline(True)
    answer(page, pick=lambda index, count: count - 1)
    page.locator("#page button").first.click()
    expect(page.locator("#sending")).to_contain_text("Not saved yet")
    page.close()
    context.set_offline(False)
    again = context.new_page()
    with again.expect_response(lambda reply: reply.request.method == "POST") as sent:
        again.goto(f"{study.url}/s/small")
    assert sent.value.json()["outcome"] in ("saved", "again")  # what was sent offline may have left all the same
    assert study.answered() == before + 1
    expect(again).to_have_title(re.compile("^Page 5 "))
    again.wait_for_function("!Object.keys(localStorage).some(key => key.includes(':change:'))")


def chosen_on(page):
    return page.locator("input:checked").evaluate_all(CHOSEN)


@pytest.mark.parametrize("way", ["reload", "closed tab"])
def test_a_change_that_was_not_saved_is_still_there(study, visit, way):
    """The older answer stood there, unmarked."""
    page = visit()
    page.goto(study.link())
    go(page, until=at(5))
    with page.expect_navigation():
        page.click("#back")
    saved = chosen_on(page)
    answer(page, pick=lambda index, count: count - 1)
    changed = chosen_on(page)
    assert changed != saved
    context = page.context
    if way == "reload":
        page.reload()
    else:
        page.close()
        page = context.new_page()
        page.goto(f"{study.url}/s/small/back")
    assert chosen_on(page) == changed
    send(page)
    with page.expect_navigation():
        page.click("#back")
    assert chosen_on(page) == changed
    answer(page, pick=lambda index, count: 0)
    with page.expect_navigation():
        page.click("#leave-it")
    with page.expect_navigation():
        page.click("#back")
    assert chosen_on(page) == changed


def test_a_change_begins_with_what_was_saved_elsewhere_meanwhile(study, visit):
    """A draft is older than an answer that was saved after it: in another browser, say, or without this script."""
    page = visit()
    page.goto(study.link())
    go(page, until=at(5))
    with page.expect_navigation():
        page.click("#back")
    other = page.evaluate("Object.fromEntries(new FormData(document.getElementById('page')))")
    names = [name for name in other if name.startswith("v.")]
    answer(page, pick=lambda index, count: count - 1)
    elsewhere = {**other, **dict.fromkeys(names, "2")}
    answered = study.answered()
    sent = page.context.request.post(f"{study.url}/s/small/page", form=elsewhere, headers={"Origin": study.url})
    assert sent.ok
    assert study.answered() == answered + 1
    page.reload()
    assert page.locator("[type=radio]:checked").evaluate_all(CHOSEN) == [f"{name}2" for name in names]


def test_who_sends_a_page_again_takes_no_draft_from_another_tab(study, visit):
    """What was chosen on the next page, in a second tab, was forgotten, and not kept from then on."""
    page = visit()
    page.goto(study.link())
    go(page, until=at(4))
    answer(page)
    second = page.context.new_page()
    second.goto(page.url)
    send(second)
    answer(second)
    chosen = chosen_on(second)
    answer(page, pick=lambda index, count: count - 1)
    send(page)
    expect(page.locator("main")).to_contain_text("answered before, in another tab")
    assert chosen_on(page) == chosen
    second.reload()
    assert chosen_on(second) == chosen


def test_reload_keeps_what_was_chosen_and_when_the_page_was_first_seen(study, visit):
    page = visit()
    page.goto(study.link())
    send(page)
    shown = page.input_value("input[name=shown]")
    answer(page)
    chosen = page.locator("input:checked").evaluate_all("all => all.map(one => one.name + one.value)")
    assert len(chosen) == 16
    page.reload()
    assert page.locator("input:checked").evaluate_all("all => all.map(one => one.name + one.value)") == chosen
    assert page.input_value("input[name=shown]") == shown


def test_time_out_of_sight_is_counted(study, visit):
    page = visit()
    page.clock.install()
    page.goto(study.link())
    send(page)
    hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
    tell = "document.dispatchEvent(new Event('visibilitychange'))"
    page.evaluate(hide % "true" + tell)
    page.clock.fast_forward(7_000)
    page.evaluate(hide % "false" + tell)
    answer(page)
    with page.expect_request(lambda request: request.method == "POST") as sent:
        send(page)
    away = float(re.search(r"away=([\d.]+)", sent.value.post_data).group(1))
    assert 6.9 <= away <= 9


def test_second_device_goes_on_where_the_first_was(study, visit):
    first = visit()
    first.goto(study.link())
    go(first, until=at(4))
    second = visit(**PHONE)
    second.goto(study.link())
    sound(second)
    second.fill("#code", first.inner_text("#resume").lower())
    second.click("form button")
    second.wait_for_selector("#page")
    assert "Page 4 " in second.title()
    answer(second)
    send(second)
    answer(first)  # the same page is still open on the first device
    send(first)
    assert first.title() == second.title()
    go(first)
    expect(first.locator("#code")).to_have_text("C-COMPLETE")
    assert study.answered() == 5


def test_what_was_deleted_in_one_tab_does_not_come_back_from_another(study, visit):
    """Coming back to the other tab wrote its draft anew."""
    page = visit()
    page.goto(study.link())
    go(page, until=at(4))
    other = page.context.new_page()
    other.goto(page.url)
    answer(other)
    page.goto(f"{study.url}/s/small/stop")
    page.click("button.danger")
    page.wait_for_selector("[data-forget]")
    ours = "!Object.keys(localStorage).some((key) => key.startsWith('eqlab:small:'))"
    page.wait_for_function(ours)
    other.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    assert page.evaluate(ours)


@pytest.mark.parametrize("way", ["page", "link"])
def test_a_browser_that_learns_late_of_a_deletion_keeps_no_draft(study, visit, way):
    """They were deleted from another device, or by the researcher; what had not been sent stayed in this browser."""
    page = visit()
    page.goto(study.link("p-late"))
    go(page, until=at(4))
    answer(page)
    study.erase_all()
    page.goto(study.link("p-late") if way == "link" else f"{study.url}/s/small/page")
    page.wait_for_selector("[data-forget]")
    page.wait_for_function("!Object.keys(localStorage).some((key) => key.startsWith('eqlab:small:'))")


def test_people_who_share_a_device_do_not_see_each_other_s_answers(study, visit):
    page = visit()
    page.goto(study.link("p-1"))
    send(page)
    answer(page)
    page.goto(study.link("p-2"))
    sound(page)
    page.click("form[action$=leave] button")  # nobody is swapped behind their back
    page.wait_for_selector("[data-forget]")
    page.wait_for_function("!Object.keys(localStorage).some((key) => key.startsWith('eqlab:small:'))")
    page.goto(study.link("p-2"))
    send(page)
    expect(page.locator("input:checked")).to_have_count(0)


def test_german(tmp_path, visit):
    with served(tmp_path, with_language(whole_design(), "de")) as study:
        page = visit(locale="de-DE")
        page.goto(study.link())
        assert page.locator("html").get_attribute("lang") == "de"
        go(page)
        expect(page.get_by_role("heading", name="Danke")).to_be_visible()
        sound(page)


def test_right_to_left(tmp_path, visit):
    words = {**load("en").words, "direction": "rtl", "continue": "متابعة"}
    with served(tmp_path, with_language(whole_design(), "ar"), texts={"ar": Texts("ar", words)}) as study:
        page = visit(**PHONE)
        page.goto(study.link())
        assert page.locator("html").get_attribute("dir") == "rtl"
        send(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        boxes = [page.locator("fieldset").first.locator("label").nth(n).bounding_box()["x"] for n in (0, 1, 4)]
        assert boxes == sorted(boxes, reverse=True)
        sound(page)
        go(page)
        expect(page.locator("#code")).to_be_visible()


def test_pages_beside_the_way(tmp_path, visit):
    """Admission, panel, stop, deleted, declined, failed, full, nobody, nowhere: all sound."""
    with served(
        tmp_path, whole_design(arms=("a",), batches=1), whole_design("open", panel=Panel(), batches=1), preview=True
    ) as study:
        page = visit(**PHONE)
        for path, words in (("/s/open", "Welcome"), ("/s/small", "through your panel"), ("/nope", "no such page")):
            page.goto(study.url + path)
            expect(page.locator("h1")).to_contain_text(words)
            sound(page)
        page.goto(f"{study.url}/s/small/page")
        expect(page.locator("h1")).to_contain_text("do not recognise you")
        sound(page)
        page.goto(study.link("declines"))
        page.get_by_role("button", name="I do not want to take part").click()
        expect(page.locator("#code")).to_have_text("C-DECLINED")
        sound(page)
        page.goto(study.link("fails"))
        send(page)
        answer(page)
        send(page)
        for _ in range(2):
            page.locator("fieldset label").nth(1).click()
            sound(page)
            send(page)
        expect(page.locator("#code")).to_have_text("C-FAILED")
        sound(page)
        page.goto(study.link("stops"))
        page.get_by_role("link", name="Stop taking part").click()
        sound(page)
        page.get_by_role("button", name="Stop, and delete my answers").click()
        expect(page.locator("h1")).to_have_text("Deleted")
        sound(page)
        page.goto(study.link("finishes"))
        go(page)
        page.goto(study.link("late"))
        expect(page.locator("#code")).to_have_text("C-FULL")
        sound(page)
