"""A talk in a real browser: reply streamed and read out, keyboard alone, a phone, no script, a reload in the middle."""

import asyncio
import os
import threading
from pathlib import Path

import pytest
from later import Later

pytest.importorskip("playwright")
pytest.importorskip("fastapi")

from talk_case import HELP, talking

from browser.accessible import sound
from browser.devices import DESK, PHONE
from browser.test_comfort import OF_2021
from eqlab.study.results.people import signals

expect = Later("playwright.sync_api", "expect")

DEVICES = {"desk": DESK, "phone": PHONE, "dark": {**PHONE, "color_scheme": "dark"}, "large": DESK}
SHOTS = os.environ.get("EQLAB_SHOTS", "")
"""A folder for pictures of the pages, for whoever wants to look at them."""


def shot(page, name):
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


def to_talk(page, site, person="p-1"):
    page.goto(f"{site.base}/s/talk?PID={person}")
    with page.expect_navigation():
        page.locator("#agree").click()
    expect(page.locator("#talk")).to_have_attribute("data-state", "say")


def feel(page, value):
    """As somebody with a finger or a mouse does it."""
    page.locator("#feel").fill(str(value))


def fits(page):
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
    small = page.evaluate(
        """[...document.querySelectorAll("main button, main input[type=range], footer a")].filter(
        one => one.getBoundingClientRect().height < 43.9).length"""
    )
    assert small == 0, "a target is too small for a finger"


@pytest.mark.parametrize(
    "device", ["desk", "phone", *(pytest.param(name, marks=pytest.mark.claims) for name in ("dark", "large"))]
)
def test_a_talk_from_beginning_to_end(tmp_path, server, visit, device):
    server.delay = 0.5
    server.reply = lambda body, number: f"That is answer {number}, and it is a rather long one, so that it can be seen."
    with talking(tmp_path, server, talk="") as site:
        site.served.talks.terms = __import__("dataclasses").replace(site.served.talks.terms, pace=300)
        page = visit(**DEVICES[device])
        requests, said = [], []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        to_talk(page, site)
        if device == "large":
            page.evaluate("document.documentElement.style.fontSize = '200%'")
        expect(page.locator("aside.help")).to_contain_text(HELP)
        sound(page)
        fits(page)
        shot(page, f"{device}-1-begin")
        page.locator("#message").fill("My week was <b>hard</b>.")
        page.locator("#send").click()
        expect(page.locator("#sending")).to_have_text("Please move the slider to where you are.")
        feel(page, 35)
        expect(page.locator("#felt")).to_have_text("35")
        page.locator("#send").click()
        expect(page.locator(".typing")).to_be_visible()
        expect(page.locator("#announce")).to_contain_text("is writing")
        shot(page, f"{device}-2-writing")
        expect(page.locator("#announce")).to_contain_text("The other one: That is answer 1")
        expect(page.locator("#talk")).to_have_attribute("data-state", "say")
        expect(page.locator(".line")).to_have_count(2)
        expect(page.locator(".line.you p")).to_have_text("My week was <b>hard</b>.")
        assert page.evaluate("document.activeElement.id") == "feel"
        if device == "large":
            page.evaluate("document.documentElement.style.fontSize = '200%'")
        sound(page)
        fits(page)
        shot(page, f"{device}-3-reply")
        page.reload()
        expect(page.locator(".line")).to_have_count(2)
        feel(page, 50)
        page.locator("#feeling").fill("It listened.")
        page.locator("#message").fill("Thank you.")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#announce")).to_contain_text("That is answer 2")
        expect(page.locator("#talk")).to_have_attribute("data-turn", "4")
        feel(page, 80)
        with page.expect_navigation():
            page.locator("button[value=satisfied]").click()
        expect(page.locator("main")).to_contain_text("The other one understood me.")
        expect(page.locator("footer")).to_contain_text(HELP)
        shot(page, f"{device}-4-rate")
        assert all(url.startswith(site.base) for url in requests)
        assert said == []
        assert page.evaluate("Object.keys(localStorage).length") <= 1
        spoken = [values for seat, _, _, values, _ in site.turns() if seat]
    assert [one["emotion"] for one in spoken] == [35, 50, 80]
    assert spoken[1]["feeling"] == "It listened."
    assert len(server.requests) == 2


@pytest.mark.parametrize("old", [OF_2021, None], ids=["without submitter", "without script"])
def test_who_leaves_hurt_has_left(tmp_path, server, visit, old):
    """Browsers of 2021 do not say which button was pressed: the click must not become a message."""
    server.reply = lambda body, number: "That is no trouble at all."
    with talking(tmp_path, server, top="limit = 1") as site:
        page = visit(java_script_enabled=old is not None)
        if old is not None:
            page.add_init_script(old)
        to_talk(page, site)
        page.locator("#message").fill("My week was hard.")
        feel(page, 35)
        page.locator("#send").click()
        expect(page.locator(".line.other")).to_have_count(1)
        expect(page.locator("#talk")).to_have_attribute("data-state", "say")
        feel(page, 5)
        with page.expect_navigation():
            page.locator("button[value=hurt]").click()
        expect(page.locator("main")).to_contain_text("The other one understood me.")
        assert len(server.requests) == 1
        spoken = [values for seat, _, _, values, _ in site.turns() if seat]
    assert [(one["emotion"], one.get("leaves")) for one in spoken] == [(35, 0), (5, 2)]  # 2: hurt


def paste(page, text):
    page.locator("#message").focus()
    page.evaluate(
        """text => { const data = new DataTransfer(); data.setData("text", text);
        const one = document.getElementById("message"); one.value = text;
        one.dispatchEvent(new InputEvent("input", { bubbles: true }));
        one.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true })); }""",
        text,
    )


def test_what_is_pasted_stays_pasted_where_another_tab_was_quicker(tmp_path, server, visit):
    server.reply = lambda body, number: "I see."
    with talking(tmp_path, server, talk="") as site:
        page = visit()
        to_talk(page, site)
        second = page.context.new_page()
        second.goto(page.url)
        paste(page, "Written elsewhere.")
        second.locator("#message").fill("In words of my own.")
        for tab, turn in ((second, "2"), (page, "2"), (page, "4")):
            feel(tab, 35)
            tab.locator("#send").click()
            expect(tab.locator("#talk")).to_have_attribute("data-turn", turn)
        (told,) = signals(site.served.participation)
    pasted, own = len("Written elsewhere."), len("In words of my own.")
    assert told.pasted == pytest.approx(100 * pasted / (pasted + own))


@pytest.mark.parametrize("reloads", [False, True])
def test_what_another_tab_was_quicker_than_comes_back_whole(tmp_path, server, visit, reloads):
    """The message came back without the line beside the slider; after a reload nothing did."""
    server.reply = lambda body, number: "I see."
    with talking(tmp_path, server, talk="why = true", patience=20) as site:
        page = visit()
        to_talk(page, site)
        feel(page, 35)
        page.locator("#message").fill("First.")
        page.locator("#send").click()
        expect(page.locator("#talk")).to_have_attribute("data-turn", "2")
        second = page.context.new_page()
        second.goto(page.url)
        page.locator("#feeling").fill("A long line.")
        page.locator("#message").fill("And a message.")
        feel(page, 36)
        server.delay = 4.0
        feel(second, 37)
        second.locator("#message").fill("Quicker.")
        second.locator("#send").click()
        expect(second.locator("#talk")).to_have_attribute("data-state", "wait")
        page.locator("#send").click()
        expect(page.locator("#talk")).to_have_attribute("data-state", "wait")
        if reloads:
            page.reload()
        expect(page.locator("#talk")).to_have_attribute("data-turn", "4")
        expect(page.locator("#message")).to_have_value("And a message.")
        expect(page.locator("#feeling")).to_have_value("A long line.")
        assert not any("unsent" in key for key in page.evaluate("Object.keys(localStorage)"))


def test_an_end_that_did_not_arrive_is_sent_again_after_a_reload(tmp_path, server, visit):
    """While the other one writes the first form of the page is another: it went there, and the talk went on."""
    server.reply, server.delay = lambda body, number: "I see.", 5.0
    with talking(tmp_path, server, top="limit = 1", patience=20) as site:
        page = visit()
        to_talk(page, site)
        feel(page, 35)
        page.locator("#message").fill("First.")
        page.locator("#send").click()
        expect(page.locator("#talk")).to_have_attribute("data-state", "wait")
        page.context.set_offline(True)
        page.locator("form.leave button").click()
        expect(page.locator("#sending")).to_contain_text("Trying again")
        page.context.set_offline(False)
        page.goto(f"{site.base}/s/talk/page")
        expect(page.locator("main")).to_contain_text("The other one understood me.")


@pytest.mark.parametrize("same", [False, True], ids=["another message", "the same message"])
def test_a_draft_whose_turn_another_tab_has_sent_comes_back_with_a_word(tmp_path, server, visit, same):
    """A reload showed an empty box. What was sent as it stood is no draft any more."""
    server.reply = lambda body, number: "I see."
    with talking(tmp_path, server) as site:
        page = visit()
        to_talk(page, site)
        page.locator("#message").fill("A long text.")
        second = page.context.new_page()
        second.goto(page.url)
        expect(second.locator("#message")).to_have_value("A long text.")
        if not same:
            second.locator("#message").fill("Quicker.")
        feel(second, 37)
        second.locator("#send").click()
        expect(second.locator("#talk")).to_have_attribute("data-turn", "2")
        page.reload()
        told = "" if same else "This was not sent: the talk had gone on in another tab or window."
        expect(page.locator("#talk")).to_have_attribute("data-turn", "2")
        expect(page.locator("#message")).to_have_value("" if same else "A long text.")
        expect(page.locator("#sending")).to_have_text(told)
        expect(second.locator("#message")).to_have_value("")


def test_what_came_too_late_stands_before_what_is_written_there_already(tmp_path, server, visit):
    """The box was another tab's by then, and the words were nowhere."""
    server.reply = lambda body, number: "I see."
    with talking(tmp_path, server) as site:
        page = visit()
        to_talk(page, site)
        page.locator("#message").fill("A long text.")
        feel(page, 40)
        second = page.context.new_page()
        second.goto(page.url)
        second.locator("#message").fill("Quicker.")
        feel(second, 37)
        second.locator("#send").click()
        expect(second.locator("#talk")).to_have_attribute("data-turn", "2")
        second.locator("#message").fill("And then")
        page.locator("#send").click()
        expect(page.locator("#sending")).to_contain_text("had gone on in another tab")
        expect(page.locator("#message")).to_have_value("A long text.\n\nAnd then")


def until_replied(page, site, lines):
    """Waits for the reply after so many lines, beside the page."""
    page.context.request.get(f"{site.base}/s/talk/talk/reply?lines={lines}")


@pytest.mark.parametrize("fault", ["gateway", "gateway's JSON", "slow request", "network"])
def test_an_end_that_was_not_taken_at_once_ends_the_talk(tmp_path, server, visit, fault):
    """The reply came before the next try: the end was forgotten, and every press after it swallowed."""
    server.reply, server.delay = lambda body, number: "I see.", 1.0
    ends = []

    def away(route):
        if "do=close" not in route.request.post_data or ends:
            route.continue_()
            return
        ends.append(route.request.post_data)
        until_replied(page, site, 1)
        if fault == "network":
            route.abort()
        elif fault == "slow request":
            route.fulfill(status=408, body="Request Timeout")
        else:
            body, kind = ("{}", "application/json") if "JSON" in fault else ("Bad Gateway", "text/plain")
            route.fulfill(status=502, body=body, content_type=kind)

    with talking(tmp_path, server, top="limit = 1", patience=20) as site:
        page = visit()
        to_talk(page, site)
        page.route("**/s/talk/talk", away)
        feel(page, 35)
        page.locator("#message").fill("First.")
        page.locator("#send").click()
        page.locator("form.leave button").click()
        expect(page.locator("#sending")).to_contain_text("Trying again")
        assert page.evaluate("[...document.querySelectorAll('#talk form')].every((form) => form.inert)")
        expect(page.locator("main")).to_contain_text("The other one understood me.")
        assert len(ends) == 1


@pytest.mark.parametrize("way", ["reload", "closed tab"])
def test_an_end_of_an_earlier_turn_is_sent_when_the_page_comes_back(tmp_path, server, visit, way):
    """The reply had come meanwhile, and with it another turn: the end was forgotten, and the talk went on."""
    server.reply, server.delay = lambda body, number: "I see.", 1.0
    with talking(tmp_path, server, top="limit = 1", patience=20) as site:
        page = visit()
        to_talk(page, site)
        feel(page, 35)
        page.locator("#message").fill("First.")
        page.locator("#send").click()
        expect(page.locator("#talk")).to_have_attribute("data-state", "wait")
        page.route("**/s/talk/talk", lambda route: route.abort())
        page.locator("form.leave button").click()
        expect(page.locator("#sending")).to_contain_text("Trying again")
        until_replied(page, site, 1)
        if way == "reload":
            page.unroute("**/s/talk/talk")
            page.reload()
        else:
            context = page.context
            page.close()
            page = context.new_page()
            page.goto(f"{site.base}/s/talk/page")
        expect(page.locator("main")).to_contain_text("The other one understood me.")


@pytest.mark.parametrize("arrived", [True, False], ids=["only the reply lost", "another was sent"])
def test_a_message_of_an_earlier_turn_is_asked_after_when_the_page_comes_back(tmp_path, server, visit, arrived):
    """Where it had not arrived, and another had, from another device say, it was gone without a word."""
    server.reply = lambda body, number: "I see."
    with talking(tmp_path, server, patience=20) as site:
        page = visit()
        to_talk(page, site)
        context, fields = page.context, page.locator("#turn input[type=hidden]")
        hidden = fields.evaluate_all("all => Object.fromEntries(all.map((one) => [one.name, one.value]))")
        page.route("**/s/talk/talk", lambda route: route.abort())
        feel(page, 35)
        page.locator("#message").fill("A long message.")
        with page.expect_request("**/s/talk/talk") as sent:
            page.locator("#send").click()
        expect(page.locator("#sending")).to_contain_text("Trying again")
        other = {**hidden, "do": "send", "v.emotion": "20", "v.says": "Quicker."}
        body = {"data": sent.value.post_data} if arrived else {"form": other}
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Origin": site.base}
        assert context.request.post(f"{site.base}/s/talk/talk", headers=kind, **body).ok
        until_replied(page, site, 1)
        page.close()
        page = context.new_page()
        page.goto(f"{site.base}/s/talk/page")
        expect(page.locator("#talk")).to_have_attribute("data-turn", "2")
        page.wait_for_function("!Object.keys(localStorage).some((key) => /:(post|unsent|0)$/.test(key))")
        expect(page.locator("#message")).to_have_value("" if arrived else "A long message.")
        told = "" if arrived else "This was not sent: the talk had gone on in another tab or window."
        expect(page.locator("#sending")).to_have_text(told)
        expect(page.locator(".line.you p")).to_have_text("A long message." if arrived else "Quicker.")


@pytest.mark.parametrize("where", ["talk", "stop"])
def test_what_was_deleted_in_one_tab_is_not_written_on_in_another(tmp_path, server, visit, where):
    """The draft of a message stayed, and what was typed on was kept."""
    server.reply = lambda body, number: "I see."
    with talking(tmp_path, server, talk="") as site:
        page = visit()
        to_talk(page, site)
        page.locator("#message").fill("Nobody's business.")
        if where == "stop":
            page.goto(f"{site.base}/s/talk/stop")
            assert page.evaluate("Object.keys(localStorage).length") == 1
        other = page.context.new_page()
        other.goto(f"{site.base}/s/talk/stop")
        other.locator("button.danger").click()
        other.wait_for_selector("[data-forget]")
        if where == "talk":
            page.wait_for_selector("[data-forget]")
        page.wait_for_function("Object.keys(localStorage).length + Object.keys(sessionStorage).length === 0")


def test_what_is_pasted_into_a_talk_is_counted_also_after_a_reload(tmp_path, server, visit):
    """The table of signals said that nobody had pasted: nobody had looked."""
    server.reply = lambda body, number: "I see."
    with talking(tmp_path, server, talk="") as site:
        page = visit()
        to_talk(page, site)
        for turn in range(2):
            paste(page, f"Written elsewhere, number {turn}.")
            if turn == 0:
                page.reload()
                expect(page.locator("#message")).to_have_value("Written elsewhere, number 0.")
            feel(page, 35)
            page.locator("#send").click()
            expect(page.locator("#talk")).to_have_attribute("data-turn", str(2 * turn + 2))
        page.locator("#message").fill("In words of my own.")
        feel(page, 36)
        page.locator("#send").click()
        expect(page.locator("#talk")).to_have_attribute("data-turn", "6")
        (told,) = signals(site.served.participation)
    pasted, own = 2 * len("Written elsewhere, number 0."), len("In words of my own.")
    assert told.texts == 3
    assert told.pasted == pytest.approx(100 * pasted / (pasted + own))
    assert "pasted" in told.flags


def test_by_keyboard_alone(tmp_path, server, visit):
    server.reply = lambda body, number: "Yes."
    with talking(tmp_path, server) as site:
        page = visit()
        to_talk(page, site)
        page.locator("#feel").focus()
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        expect(page.locator("#felt")).to_have_text("55")
        page.keyboard.press("Tab")
        page.keyboard.type("By keys.")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#talk")).to_have_attribute("data-turn", "2")
        page.keyboard.press(" ")  # the slider has the focus: it stays where it was
        expect(page.locator("#felt")).to_have_text("55")
        assert [values["emotion"] for seat, _, _, values, _ in site.turns() if seat] == [55]


def test_without_a_script(tmp_path, server, visit):
    server.reply = lambda body, number: "Feeling: fine\nEmotion: 70\nLeaves: satisfied\nSays: Thank you, that is all."
    with talking(tmp_path, server, top="limit = 1", talk='person = "listener"') as site:
        page = visit(java_script_enabled=False)
        to_talk(page, site)
        page.locator("#message").fill("I am here.")
        page.locator("#send").click()
        expect(page.locator(".line.other").last).to_contain_text("Thank you, that is all.")
        expect(page.locator(".over")).to_contain_text("has ended the talk")
        shot(page, "no-script")
        page.locator("#next").click()
        expect(page.locator("main")).to_contain_text("The other one understood me.")


def test_a_model_that_is_down_is_told_and_tried_again(tmp_path, server, visit):
    from aiohttp import web

    works = threading.Event()
    server.reply = lambda body, number: (
        "Here I am." if works.is_set() else web.json_response({"error": "x"}, status=500)
    )
    with talking(tmp_path, server) as site:
        page = visit(**PHONE)
        to_talk(page, site)
        feel(page, 40)
        page.locator("#message").fill("Hello?")
        page.locator("#send").click()
        expect(page.locator(".fault")).to_contain_text("does not answer")
        sound(page)
        shot(page, "down")
        works.set()
        page.locator("#turn button").click()
        expect(page.locator(".line.other")).to_contain_text("Here I am.")


def test_a_proxys_page_instead_of_the_reply_ends_no_wait(tmp_path, server, visit):
    """A stream that was answered with another status does not come again by itself: "writing …" stood for ever."""
    server.reply = lambda body, number: "Here I am."
    asked, waited_for = [], threading.Event()

    async def hold(body):
        await asyncio.get_running_loop().run_in_executor(None, waited_for.wait, 60)

    def away(route):
        asked.append(route.request.url)
        if len(asked) <= 2:  # the stream, then the page
            route.fulfill(status=502, body="Bad Gateway")
        else:
            route.continue_()

    with talking(tmp_path, server) as site:
        page = visit()
        to_talk(page, site)
        feel(page, 40)
        page.locator("#message").fill("Hello?")
        page.route("**/talk/reply*", away)
        server.before = hold
        with page.expect_request("**/talk/reply*"):
            page.locator("#send").click()
        page.route("**/s/talk/page", away)
        waited_for.set()
        expect(page.locator(".line.other")).to_contain_text("Here I am.")
        assert ["reply" in url for url in asked[:2]] == [True, False]


@pytest.mark.parametrize("arrived", [False, True], ids=["lost on the way", "only the reply lost"])
def test_a_message_that_was_not_saved_is_sent_again_as_it_was(tmp_path, server, visit, arrived):
    """It said "Trying again …" and did not: the slider and the line beside it were empty after that."""
    server.reply = lambda body, number: "Here I am."
    posts = []

    def away(route):
        posts.append(route.request.post_data)
        if len(posts) > 1:
            route.continue_()
        else:
            if arrived:
                route.fetch()
            route.fulfill(status=502, body="Bad Gateway")

    with talking(tmp_path, server) as site:
        page = visit()
        to_talk(page, site)
        page.route("**/s/talk/talk", away)
        feel(page, 35)
        page.locator("#message").fill("Hello?")
        page.locator("#send").click()
        expect(page.locator("#sending")).to_contain_text("Trying again")
        expect(page.locator(".line.other")).to_contain_text("Here I am.")
        expect(page.locator("#message")).to_have_value("")
        assert posts[0] == posts[1]
        assert [(values["says"], values["emotion"]) for seat, _, _, values, _ in site.turns() if seat] == [
            ("Hello?", 35)
        ]


def test_what_was_saved_is_not_called_unsaved_where_the_page_does_not_come(tmp_path, server, visit):
    """It said "Not saved yet", with the box open: what was then changed and sent was refused for another tab's sake."""
    server.reply = lambda body, number: "Here I am."
    works = threading.Event()

    def away(route):
        if works.is_set():
            route.continue_()
        else:
            route.fulfill(status=502, body="Bad Gateway")

    with talking(tmp_path, server) as site:
        page = visit()
        to_talk(page, site)
        page.route("**/s/talk/page", away)
        feel(page, 35)
        page.locator("#message").fill("Hello?")
        page.locator("#send").click()
        expect(page.locator("#sending")).to_have_text("Saved. No connection at the moment. Trying again …")
        assert page.evaluate("document.getElementById('turn').inert")
        works.set()
        expect(page.locator(".line.other")).to_contain_text("Here I am.")
        expect(page.locator("#message")).to_have_value("")
        assert [values["says"] for seat, _, _, values, _ in site.turns() if seat] == ["Hello?"]


@pytest.mark.parametrize("sent", [False, True], ids=["not sent yet", "sent without a network"])
@pytest.mark.parametrize("way", ["reload", "stop page", "closed tab"])
def test_nothing_of_a_turn_is_lost_with_the_page(tmp_path, server, visit, way, sent):
    """The line beside the slider, the slider and what was on its way were; a closed tab took the message, too."""
    server.reply = lambda body, number: "Here I am."
    with talking(tmp_path, server, talk="why = true") as site:
        page = visit()
        to_talk(page, site)
        feel(page, 35)
        page.locator("#message").fill("Hello?")
        page.locator("#send").click()
        expect(page.locator("#talk")).to_have_attribute("data-turn", "2")
        feel(page, 70)
        page.locator("#feeling").fill("Somebody is there.")
        page.locator("#message").fill("Good to know.")
        if sent:
            page.context.set_offline(True)
            page.locator("#send").click()
            expect(page.locator("#sending")).to_contain_text("Trying again")
        device = page.context
        if way == "closed tab":
            page.close()
            page = device.new_page()
        device.set_offline(False)
        if way == "reload":
            page.reload()
        elif way == "stop page":
            page.goto(f"{site.base}/s/talk/stop")
            page.locator("main a").first.click()
        else:
            page.goto(f"{site.base}/s/talk?PID=p-1")
        if not sent:
            expect(page.locator("#feel")).to_have_value("70")
            expect(page.locator("#felt")).to_have_text("70")
            expect(page.locator("#feeling")).to_have_value("Somebody is there.")
            expect(page.locator("#message")).to_have_value("Good to know.")
            page.locator("#send").click()
        expect(page.locator("#talk")).to_have_attribute("data-turn", "4")
        expect(page.locator("#message")).to_have_value("")
        expect(page.locator("#felt")).to_have_text("–")
        spoken = [values for seat, _, _, values, _ in site.turns() if seat]
    assert [(one["says"], one["emotion"], one["feeling"]) for one in spoken] == [
        ("Hello?", 35, ""),
        ("Good to know.", 70, "Somebody is there."),
    ]


@pytest.mark.parametrize("dead", ["post", "stream"])
def test_a_connection_that_dies_in_silence_is_told_and_left(tmp_path, server, visit, dead):
    """Networks forget connections and say nothing: a message hung without a word, and "writing …" stood."""
    server.reply, server.delay = lambda body, number: "Here I am.", 1.0
    asked = []

    def hang(route):
        asked.append(route.request.url)
        if len(asked) > 1:
            route.continue_()

    with talking(tmp_path, server) as site:
        page = visit()
        page.clock.install()
        to_talk(page, site)
        page.route("**/s/talk/talk" if dead == "post" else "**/talk/reply*", hang)
        feel(page, 35)
        page.locator("#message").fill("Hello?")
        page.locator("#send").click()
        if dead == "post":
            expect(page.locator("#sending")).to_have_text("Saving …")
            page.clock.fast_forward(20_100)
            expect(page.locator("#sending")).to_contain_text("Trying again")
            page.clock.fast_forward(3_100)
        else:
            expect(page.locator(".typing")).to_be_visible()
            page.clock.fast_forward(30_100)
        expect(page.locator(".line.other")).to_contain_text("Here I am.")
        assert asked
        assert [values["says"] for seat, _, _, values, _ in site.turns() if seat] == ["Hello?"]


def test_who_deletes_leaves_no_draft_in_the_browser(tmp_path, server, visit):
    with talking(tmp_path, server) as site:
        page = visit()
        to_talk(page, site)
        page.locator("#message").fill("Nobody should ever read this.")
        for tab in ("localStorage", "sessionStorage"):
            assert "Nobody should ever read this." in page.evaluate(f"Object.values({{...{tab}}}).join()")
        page.locator("footer a").click()
        with page.expect_navigation():
            page.locator("button[value=delete]").click()
        expect(page.locator("[data-forget]")).to_be_visible()
        assert page.evaluate("[...Object.keys(localStorage), ...Object.keys(sessionStorage)]") == []


def test_send_pressed_again_on_a_slow_network_leaves_one_stream(tmp_path, server, visit):
    """Each press made the page anew, and each page listened: one of the streams came again every two seconds."""
    server.reply, server.delay = lambda body, number: "Here I am.", 1.8
    errors, streams, posts = [], [], []
    with talking(tmp_path, server) as site:
        page = visit()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: streams.append(request.url) if "talk/reply" in request.url else None)
        page.add_init_script(
            """const sent = window.fetch; window.fetch = async (address, options) => {
            if (String(address).endsWith("/page")) await new Promise((done) => setTimeout(done, 1000));
            return sent(address, options); };"""
        )
        to_talk(page, site)
        page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
        feel(page, 35)
        page.locator("#message").fill("Hello?")
        with page.expect_response("**/s/talk/talk"):
            page.locator("#send").click()
        page.evaluate("document.getElementById('send').click()")
        expect(page.locator(".line.other")).to_contain_text("Here I am.")
        expect(page.locator("#talk")).to_have_attribute("data-state", "say")
        expect(page.locator(".line")).to_have_count(2)
        assert (errors, len(streams), len(posts)) == ([], 1, 1)
