"""The pages of every kind of study in a real browser: own questions, own scales, two replies side by side, a reply."""

import pytest
from later import Later

pytest.importorskip("playwright")
pytest.importorskip("fastapi")

import re
from dataclasses import replace

from made_studies import made, write_replies

from browser.accessible import sound
from browser.devices import DESK, PHONE
from browser.served import PROLIFIC, served
from browser.test_participant import send
from eqlab.store.store import Store
from eqlab.study.results.analysis import people_result
from eqlab.study.results.participants import read_participants
from eqlab.study.results.people import signals

expect = Later("playwright.sync_api", "expect")

OWN = """
[[before]]
key = "gender"
ask = "one"
text = "What is your gender?"
options = ["Woman", "Man", "Another"]
prefer_not_to_say = true
[[before]]
key = "tongues"
ask = "several"
text = "Which languages do you speak?"
options = ["English", "German", "Spanish"]
[[before]]
key = "age"
ask = "number"
text = "How old are you, in years?"
low = 18
high = 110
prefer_not_to_say = true
[[after]]
key = "remark"
ask = "text"
text = "What else do you want to tell us?"
optional = true
[checks]
attention = 0
[places]
batch_size = 1
"""
SCALES = "".join(
    f'[[scale]]\nkey = "{key}"\ntext = "{text}"\nlow = 1\nhigh = 7\nends = ["not at all", "completely"]\n'
    for key, text in (
        ("cognitive", "The reply grasps what the person thinks and feels."),
        ("affective", "The reply feels with the person."),
        ("motivational", "The reply wants to help the person."),
    )
)


@pytest.fixture
def site(tmp_path):
    opened = []

    def make(kind, debrief="", **more):
        write_replies(tmp_path, prompts=2)
        store = Store(str(tmp_path / "arms.db"))
        design = made(tmp_path, store, kind, **more)
        store.close()
        panel = replace(design.study, panel=PROLIFIC, debrief=debrief or design.study.debrief)
        context = served(tmp_path, replace(design, study=panel))
        opened.append(context)
        return context.__enter__()

    yield make
    for one in opened:
        one.__exit__(None, None, None)


def fits(page):
    sound(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"


@pytest.mark.parametrize("device", [pytest.param(DESK, marks=pytest.mark.claims), PHONE], ids=["desk", "phone"])
def test_own_questions_and_own_scales(site, visit, device):
    study = site("rating", tables=OWN + SCALES)
    page = visit(**device)
    page.goto(study.link(study="rating"))
    send(page)
    fits(page)
    page.get_by_label("Woman", exact=True).check()
    page.get_by_label("English").check()
    page.get_by_label("Spanish").check()
    page.get_by_label("How old are you, in years?").fill("12")
    page.reload()  # what was filled in is still there
    expect(page.get_by_label("Spanish")).to_be_checked()
    expect(page.get_by_label("How old are you, in years?")).to_have_value("12")
    send(page)
    expect(page.get_by_role("alert")).to_contain_text("Please write a number from 18 to 110")
    fits(page)
    page.get_by_label("How old are you, in years?").fill("44")
    send(page)
    fits(page)
    groups = page.get_by_role("radiogroup")
    expect(groups).to_have_count(3)
    for index in range(3):
        groups.nth(index).locator("label").nth(4).click()
    send(page)
    fits(page)
    page.get_by_label("What else do you want to tell us?").fill("<i>Nothing</i>\n")
    send(page)
    send(page)
    expect(page.locator("#code")).to_have_text("C-COMPLETE")
    (person,) = read_participants(study.participation).people
    given = {key: value for one in person.given for key, value in one.values.items()}
    assert given == {
        "gender": 1, "tongues": [1, 3], "age": 44, "cognitive": 5, "affective": 5, "motivational": 5,
        "remark": "<i>Nothing</i>",
    }  # fmt: skip


def to_questions(study, page):
    page.goto(study.link(study="rating"))
    send(page)


@pytest.mark.parametrize("way", ["reload", "closed tab"])
def test_what_was_changed_after_an_error_is_still_there(site, visit, way):
    """What had been sent stood there again, box by box beside what had not: a mixture could be sent."""
    study = site("rating", tables=OWN + SCALES)
    page = visit()
    to_questions(study, page)
    page.get_by_label("English").check()
    page.get_by_label("How old are you, in years?").fill("12")
    page.get_by_label("Prefer not to say").last.check()
    send(page)
    expect(page.locator("#errors")).to_be_visible()
    page.get_by_label("Woman", exact=True).check()
    page.get_by_label("English").uncheck()
    page.get_by_label("German").check()
    page.get_by_label("Prefer not to say").last.uncheck()
    page.get_by_label("How old are you, in years?").fill("44")
    context = page.context
    if way == "reload":
        page.reload()
        expect(page.locator("#errors")).to_be_visible()
    else:
        page.close()
        page = context.new_page()
        page.goto(f"{study.url}/s/rating/page")
    send(page)
    expect(page.locator("#errors")).to_have_count(0)
    (person,) = read_participants(study.participation).people
    assert person.given[0].values == {"gender": 1, "tongues": [2], "age": 44}


def test_answers_that_were_sent_without_the_script_are_newer_than_a_draft(site, visit):
    study = site("rating", tables=OWN + SCALES)
    page = visit()
    to_questions(study, page)
    page.get_by_label("Woman", exact=True).check()
    page.get_by_label("English").check()
    page.route("**/keep.js*", lambda route: route.abort())
    page.reload()
    expect(page.locator("input:checked")).to_have_count(0)
    page.get_by_label("Man", exact=True).check()
    page.unroute("**/keep.js*")
    send(page)
    expect(page.locator("#errors")).to_be_visible()
    page.wait_for_function("document.activeElement.id === 'errors'")
    expect(page.get_by_label("Man", exact=True)).to_be_checked()
    expect(page.locator("input:checked")).to_have_count(1)


@pytest.mark.parametrize("device", [DESK, PHONE], ids=["desk", "phone"])
def test_two_replies_stand_side_by_side_where_there_is_room(site, visit, device):
    study = site("pairwise", tables="[checks]\nattention = 0\n[places]\nbatch_size = 1\n")
    page = visit(**device)
    page.goto(study.link(study="pairwise"))
    send(page)
    fits(page)
    first, second = (page.locator(".beside section").nth(index).bounding_box() for index in range(2))
    quotes = [one.get_attribute("class") for one in page.locator("blockquote").all()]
    assert quotes == ["story", "said", "rated", "rated"]  # what happened, what is said, and the two to rate
    tops = {round(one.bounding_box()["y"]) for one in page.locator("fieldset label").all()}
    assert len(tops) == 1  # three brief answers stand in one row on a phone too
    assert (first["y"] == second["y"]) is (device is DESK)
    assert first["x"] + first["width"] <= second["x"] or device is PHONE
    page.get_by_text("Tie").click()
    send(page)
    send(page)
    expect(page.locator("#code")).to_have_text("C-COMPLETE")


def test_a_reply_is_kept_over_a_reload_refused_when_short_and_pasting_is_noted(site, visit):
    tables = "[options]\nleast_words = 4\n[checks]\nattention = 0\n[places]\nbatch_size = 1\n"
    study = site("reply", arms=(), top="limit = 2", tables=tables)
    page = visit()
    page.goto(study.link(study="reply"))
    send(page)
    fits(page)
    field = page.get_by_label("Your reply to them")
    field.fill("Too short")
    page.reload()
    expect(field).to_have_value("Too short")
    send(page)
    expect(page.get_by_role("alert")).to_contain_text("Please write at least 4 words")
    fits(page)
    field.fill("")
    field.focus()
    page.evaluate(
        """() => { const data = new DataTransfer(); data.setData("text", "I am sorry to hear this");
        const one = document.querySelector("textarea"); one.value = "I am sorry to hear this";
        one.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true })); }"""
    )
    send(page)
    send(page)
    expect(page.locator("#code")).to_have_text("C-COMPLETE")
    happened = read_participants(study.participation).events
    assert [event.detail["pasted"] for event in happened if "pasted" in event.detail] == [23]


def test_what_is_pasted_into_two_texts_of_a_page_is_counted(site, visit):
    two = "".join(f'[[before]]\nkey = "{key}"\nask = "text"\ntext = "Tell us {key}."\n' for key in ("this", "that"))
    study = site("rating", tables=two + "[checks]\nattention = 0\n[places]\nbatch_size = 1\n")
    page = visit()
    page.goto(study.link(study="rating"))
    send(page)
    page.evaluate(
        """() => document.querySelectorAll("textarea").forEach((one, number) => {
        const text = "pasted words ".repeat(number + 1).trim();
        const data = new DataTransfer(); data.setData("text", text); one.value = text;
        one.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true })); })"""
    )
    send(page)
    happened = read_participants(study.participation).events
    assert [event.detail["pasted"] for event in happened if "pasted" in event.detail] == [12 + 25]
    (told,) = signals(study.participation)
    assert (told.texts, told.pasted, "pasted" in told.flags) == (2, 100.0, True)


def test_a_person_deals_out_points_by_keyboard_to_the_end_and_has_a_percentile(site, visit, published, monkeypatch):
    monkeypatch.setenv("EQLAB_DATA", str(published))
    tables = "[checks]\nattention = 0\n[places]\nbatch_size = 3\n"
    told = "You stand above {above} of {people} people."
    study = site("seceu", arms=(), debrief=told, top='items = "published"\nlimit = 6', tables=tables)
    page = visit()
    page.goto(study.link(study="seceu"))
    page.keyboard.press("Tab")
    send(page)
    stories = 0
    while page.locator("#left").count():
        fits(page)
        groups = page.get_by_role("radiogroup")
        expect(groups).to_have_count(4)
        for place, points in enumerate((4, 3, 2, 0)):
            groups.nth(place).get_by_role("radio").first.focus()
            page.keyboard.press("Space")
            for _ in range(points):
                page.keyboard.press("ArrowRight")
        expect(page.locator("#left")).to_have_text("1")
        page.keyboard.press("Enter")  # nine of ten points: not taken
        expect(page.get_by_role("alert")).to_contain_text("10")
        groups.nth(3).get_by_role("radio").first.focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#left")).to_have_text("0")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        stories += 1
    assert stories == 3
    expect(page.locator("main")).to_contain_text(
        re.compile(r"You stand above ([≥≤] \d+ %|\d+ % \(0–100\)) of 541 people\.")
    )
    send(page)
    expect(page.locator("#code")).to_have_text("C-COMPLETE")
    found = people_result(study.participation.design, read_participants(study.participation).people).result
    (table,) = [one for one in found.tables if one.title == "Where each person stands"]
    (person,) = table.rows
    assert person[-1].n == 541
    assert 0 < person[-1].value <= 100
