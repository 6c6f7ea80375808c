"""What people are told about money before they begin, and what to do at the panel when it ends: one thing, not two."""

import re
from dataclasses import replace

import pytest
from small_study import small_design

pytest.importorskip("fastapi")

from web_case import CODES, PROLIFIC, enter, fill, walk

from eqlab.core.study import Pay
from eqlab.study.texts import load

SAYS = load("en")


def to_the_end(client, how):
    reply = enter(client)
    if how == "declined":
        return client.post("/s/small/page", data={**fill(reply.text), "agree": "no"})
    if how == "stopped":
        return client.post("/s/small/stop", data={"what": "keep"})
    if how == "deleted":
        return client.post("/s/small/stop", data={"what": "delete"})
    wrong = (lambda name, values: values[-1] if "quiz" in name else values[0]) if how == "failed" else None
    return walk(client, reply, *((wrong,) if wrong else ()))[0]


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_a_full_study_asks_for_one_thing_only(make_site, language):
    """It said that nothing was to be done, and then what was."""
    says = load(language)
    design = small_design(batches=1, size=2, panel=replace(PROLIFIC, codes=()))
    site = make_site(replace(design, study=replace(design.study, language=language)))
    for number in range(3):
        client = site.browser()
        reply = enter(client, panel_id=f"{number:024x}")
        text = reply.text if number == 2 else walk(client, reply)[0].text
    assert says("panel_return") in text
    assert says("done_full_text").count(".") == 1


@pytest.mark.parametrize("how", ["complete", "declined", "failed", "stopped", "deleted"])
@pytest.mark.parametrize("coded", [True, False], ids=["codes", "no codes"])
def test_every_ending_says_one_thing_to_do(make_site, how, coded):
    panel = replace(PROLIFIC, codes=CODES if coded else ())
    text = to_the_end(make_site(small_design(panel=panel)).browser(), how).text
    code = dict(CODES).get(how)
    done = {
        "return": SAYS("panel_return") in text,
        "back": 'id="leave"' in text,
        "close": "You may close this page" in text or "You can close this page" in text,
    }
    if coded and code:
        assert code in text
        assert done == {"return": False, "back": True, "close": False}
    elif how == "complete":
        assert done == {"return": False, "back": False, "close": True}
    else:
        assert done == {"return": True, "back": False, "close": False}


@pytest.mark.parametrize("how", ["complete", "declined", "failed"])
def test_who_deletes_at_the_end_keeps_the_code_that_they_have_earned(make_site, how):
    """ "Please return your submission", they read, after "nobody will reject your work for it"."""
    client = make_site(small_design(panel=replace(PROLIFIC, codes=CODES))).browser()
    assert dict(CODES)[how] in to_the_end(client, how).text
    for told in (client.post("/s/small/stop", data={"what": "delete"}), client.get("/s/small/page")):
        assert "have been deleted" in told.text
        assert dict(CODES)[how] in told.text
        assert SAYS("panel_return") not in told.text


@pytest.mark.parametrize(("pay", "said"), [
    (Pay("GBP", 9.0, 1.4), "You get GBP 1.40"),
    (Pay("EUR", 12.0, 0.0), "There is no payment."),
])  # fmt: skip
def test_pay_and_minutes_stand_at_the_consent(make_site, pay, said):
    design = small_design(panel=PROLIFIC)
    text = enter(make_site(replace(design, study=replace(design.study, pay=pay))).browser()).text
    assert 'name="agree"' in text
    assert said in text
    assert re.search(r"about \d+ min\b", text)


def test_who_took_part_in_the_other_study_is_not_told_that_this_one_is_full(make_site):
    designs = small_design(panel=PROLIFIC), small_design("second", panel=PROLIFIC, not_after=("small",))
    site = make_site(*designs)
    client = site.browser()
    client.post("/s/small/page", data={**fill(enter(client).text), "agree": "yes"})
    text = enter(site.browser(), "second").text
    assert SAYS("done_took_another_title") in text
    assert SAYS("done_full_title") not in text
    assert dict(CODES)["full"] in text
