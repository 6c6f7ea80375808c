"""The door against people who are not who they say, come twice, come by the hundred, or come with odd browsers."""

import json
import re
import secrets
from collections import Counter
from dataclasses import replace

import pytest
from small_study import small_design, take
from sqlalchemy import select
from web_case import PROLIFIC, SECRET, enter, fill, resume, rows, walk

from eqlab.core.answers import final
from eqlab.core.moves import Arrival, FilledPage
from eqlab.core.study import Checks, Panel
from eqlab.publish.export import write_answers
from eqlab.store.schema import answers, arrivals, events, panel_ids, participants, places, tombstones
from eqlab.store.study.moves import MOST_CHANGES
from eqlab.store.study.participation import TurnedAway
from eqlab.store.study.records import erase_person
from eqlab.store.study.studies import set_status
from eqlab.study.panels import PANELS, one_spelling, panel_hash, resume_code, same_code, signed_link
from eqlab.study.results.participants import read_participants, scored_of
from eqlab.study.web.settings import device_class
from eqlab.study.web.site import Cookies, parse_cookies

REAL = replace(PROLIFIC, id_pattern=PANELS["prolific"].id_pattern)
ONE = "5f3a" * 6


def count(site, table):
    with site.store.engine.connect() as connection:
        return len(connection.execute(select(table)).all())


def at_trials(site, client, panel_id="p-1"):
    return walk(client, enter(client, panel_id=panel_id), until=lambda page: "v.rating" in page.text)[0]


# -- by the hundred --


def test_made_up_ids_do_not_open_the_door(make_site):
    site = make_site(small_design(panel=REAL))
    for no_id in ("x", "bot-17", "5f3a" * 5, "{{%PROLIFIC_PID%}}", "5f3a" * 6 + "'"):
        assert enter(site.browser(), panel_id=no_id).status_code == 403
    assert enter(site.browser(), panel_id=ONE).status_code == 200
    assert count(site, participants) == 1


def test_one_address_cannot_take_every_place(make_site):
    site = make_site(
        small_design(panel=REAL, batches=40, size=1),
        public_url="http://study.test",
        proxy="testclient",
        arrival_burst=10.0,
    )
    site.app.state.site.clock = lambda: 1_000_000.0
    taken = 0
    for _ in range(30):
        bot = site.browser(headers={"X-Forwarded-For": "203.0.113.9"})
        taken += enter(bot, panel_id=secrets.token_hex(12)).status_code == 200
    assert taken == 10
    honest = site.browser(headers={"X-Forwarded-For": "198.51.100.4"})
    assert "Page 1 " in enter(honest, panel_id=ONE).text
    site.app.state.site.clock = lambda: 1_000_000.0 + 61
    assert enter(bot, panel_id=secrets.token_hex(12)).status_code == 200  # one more a minute: a household, a class


def test_who_is_known_comes_back_whatever_the_limit(make_site):
    site = make_site(small_design(panel=REAL), public_url="http://study.test", proxy="testclient", arrival_burst=1.0)
    client = site.browser(headers={"X-Forwarded-For": "203.0.113.9"})
    for _ in range(5):
        assert enter(client, panel_id=ONE).status_code == 200


# -- one person, one id --


@pytest.mark.parametrize("spelling", [ONE.upper(), f" {ONE} ", f"{ONE}\n", ONE.replace("a", "\uff41")])
def test_one_person_is_one_id_whatever_the_spelling(make_site, spelling):
    site = make_site(small_design(panel=REAL))
    client = site.browser()
    enter(client, panel_id=ONE)
    enter(client, panel_id=spelling)
    assert count(site, participants) == count(site, arrivals) == 1
    page = enter(client, panel_id=spelling)
    client.post("/s/small/page", data=fill(page.text))
    assert enter(client, panel_id=ONE).status_code == 200
    assert count(site, participants) == count(site, panel_ids) == 1
    assert count(site, arrivals) == 0
    assert panel_hash(SECRET, spelling) == panel_hash(SECRET, ONE)
    assert one_spelling(spelling) == ONE


# -- whose session --


def test_whoever_knows_an_id_does_not_become_that_person(make_site):
    site = make_site()
    mine = site.browser()
    last, _ = walk(mine, enter(mine))
    assert "C-COMPLETE" in last.text
    thief = site.browser()
    asked = enter(thief)
    assert asked.status_code == 403
    assert "C-COMPLETE" not in asked.text
    assert thief.get("/s/small/done").status_code == 401
    assert thief.post("/s/small/stop", data={"what": "delete"}).status_code == 401
    assert count(site, participants) == 1
    (person,) = [row.person for row in site.store.engine.connect().execute(select(participants))]
    assert person not in asked.text


def test_the_resume_code_leads_on_in_another_browser_and_guessing_ends_soon(make_site):
    site = make_site()
    mine = site.browser()
    here = at_trials(site, mine)
    other = site.browser()
    asked = enter(other)
    for _ in range(4):
        assert resume(other, asked, here, "AAAA-AAAA").status_code == 403
    assert "v.rating" in resume(other, asked, here).text
    assert [resume(other, asked, here, "AAAA-AAAA").status_code for _ in range(3)] == [429, 429, 429]
    assert resume(other, asked, here).status_code == 429  # even the right one waits now


def test_a_strangers_guesses_do_not_keep_the_right_person_out(make_site):
    site = make_site()
    here = at_trials(site, site.browser())
    stranger, mine = site.browser(client=("192.0.2.1", 1)), site.browser(client=("192.0.2.2", 1))
    asked = enter(stranger)
    assert [resume(stranger, asked, here, "AAAA-AAAA").status_code for _ in range(6)] == [403] * 5 + [429]
    assert "v.rating" in resume(mine, enter(mine), here).text


def test_without_a_panel_no_code_is_shown_that_leads_nowhere(make_site):
    site = make_site(small_design())
    client = site.browser()
    page = walk(client, client.post("/s/small/start"), until=lambda page: "v.rating" in page.text)[0]
    assert 'id="resume"' not in page.text


def test_an_answer_that_is_dropped_is_told(make_site):
    """Two tabs on one page: the first answer is kept, and who sent the second reads that it is not."""
    site = make_site()
    client = site.browser()
    page = at_trials(site, client)
    first, second = fill(page.text), fill(page.text, lambda name, values: values[-1])
    assert "another tab" not in client.post("/s/small/page", data=first).text
    assert "another tab" not in client.post("/s/small/page", data=first).text  # sent twice: nothing is lost
    assert 'role="alert">This page had been answered before' in client.post("/s/small/page", data=second).text
    told = client.post("/s/small/page", data=second, headers={"accept": "application/json"}).json()
    assert (told["outcome"], told["next"]) == ("again", "/s/small/page?dropped=1")


def agree(client, page):
    return client.post("/s/small/page", data=fill(page.text))


def test_a_session_that_somebody_else_began_is_not_the_persons(make_site):
    """A stranger opens the link with a victim's id, then the victim comes and takes part."""
    site = make_site()
    stranger, victim = site.browser(), site.browser()
    strangers_page = enter(stranger)
    victims_page = enter(victim)
    assert stranger.cookies["eqlab_small"] != victim.cookies["eqlab_small"]
    assert "Page 2 " in agree(victim, victims_page).text
    assert "Page 1 " in stranger.get("/s/small/page").text  # where they were: nothing of the victim's
    assert "Page 1 " in stranger.get("/s/small/back").text
    refused = agree(stranger, strangers_page)
    assert refused.status_code == 403
    assert 'action="/s/small/resume"' in refused.text
    code = re.search(r'id="resume">([^<]+)<', victim.get("/s/small/page").text).group(1)
    assert code not in refused.text
    stranger.post("/s/small/stop", data={"what": "delete"})
    assert victim.get("/s/small/page").status_code == 200  # only the stranger's own visit is gone
    assert count(site, participants) == count(site, panel_ids) == 1


def test_who_declines_with_anothers_id_declines_for_themselves(make_site):
    site = make_site()
    stranger, victim = site.browser(), site.browser()
    page = enter(stranger)
    stranger.post("/s/small/page", data={**fill(page.text), "agree": "no"})
    assert "Page 2 " in agree(victim, enter(victim)).text


def test_the_pages_script_is_led_to_the_resume_code(make_site):
    site = make_site()
    first, second = site.browser(), site.browser()
    pages = enter(first), enter(second)
    agree(first, pages[0])
    told = second.post("/s/small/page", data=fill(pages[1].text), headers={"accept": "application/json"})
    assert told.json() == {"outcome": "ended", "next": "/s/small/elsewhere"}
    assert second.get("/s/small/elsewhere").status_code == 403
    assert first.get("/s/small/elsewhere").url.path == "/s/small/page"


def test_who_was_erased_does_not_consent_in_a_browser_left_open(make_site):
    site = make_site()
    mine, other = site.browser(), site.browser()
    left_open = enter(other)
    walk(mine, enter(mine))
    mine.post("/s/small/stop", data={"what": "delete"})
    assert agree(other, left_open).status_code == 401  # of that browser nothing is left either
    refused = enter(other)
    assert (refused.status_code, "taken part before" in refused.text) == (403, True)
    assert count(site, panel_ids) == 0


def test_nothing_leads_from_the_mark_of_somebody_who_deleted_to_their_id(make_site):
    """They had opened the link on a phone, too: its row had the id's hash beside the very mark that stays."""
    site = make_site()
    phone, laptop, stranger = site.browser(), site.browser(), site.browser()
    enter(phone, panel_id="p-77")
    enter(stranger, panel_id="p-78")
    agree(laptop, enter(laptop, panel_id="p-77"))
    assert len(rows(site, participants)) == 3
    laptop.post("/s/small/stop", content="what=delete")
    (mark,) = rows(site, tombstones)
    assert [row.tombstone for row in rows(site, arrivals)] != [mark.hash]
    assert len(rows(site, arrivals)) == len(rows(site, participants)) == 1  # the stranger's
    assert {event.person for event in rows(site, events)} == {None, rows(site, participants)[0].person}
    assert phone.get("/s/small/page").status_code == 401
    assert enter(phone, panel_id="p-77").status_code == 403


def test_a_signed_link_is_let_in_from_any_device_and_only_that_where_the_study_says_so(make_site):
    site = make_site(small_design(panel=replace(REAL, signed=True)))
    link = signed_link(SECRET, "", "small", REAL, ONE)
    assert enter(site.browser(), panel_id=ONE).status_code == 403
    assert site.browser().get(link.replace("sig=", "sig=a")).status_code == 403
    assert site.browser().get(link.replace(ONE, "6" * 24)).status_code == 403
    first, second = site.browser(), site.browser()
    page = walk(first, first.get(link), until=lambda page: "v.rating" in page.text)[0]
    assert fill(second.get(link).text)["step"] == fill(page.text)["step"]
    assert count(site, participants) == 1


def test_a_signed_link_ends_and_its_end_cannot_be_moved(make_site):
    site = make_site(small_design(panel=replace(REAL, signed=True)))
    here = site.app.state.site
    until = int(here.clock()) + 3600
    link = signed_link(SECRET, "", "small", REAL, ONE, until)
    assert site.browser().get(link.replace(str(until), str(until + 1))).status_code == 403
    assert site.browser().get(link).status_code == 200
    here.clock = lambda: until + 1.0
    assert site.browser().get(link).status_code == 403
    assert site.browser().get(link.replace(f"{until}-", "")).status_code == 403


def test_whose_signed_link_runs_out_on_the_way_goes_on_in_their_browser(make_site):
    """ "Open it with the link that the panel gives you", they read, which is what they had done."""
    site = make_site(small_design(panel=replace(REAL, signed=True)))
    here = site.app.state.site
    until = int(here.clock()) + 3600
    link = signed_link(SECRET, "", "small", REAL, ONE, until)
    client = site.browser()
    page = walk(client, client.get(link), until=lambda page: "v.rating" in page.text)[0]
    here.clock = lambda: until + 1.0
    assert fill(client.get(link).text)["step"] == fill(page.text)["step"]
    assert site.browser().get(link).status_code == 403
    other = signed_link(SECRET, "", "small", REAL, "6" * 24, until)
    assert client.get(other).status_code == 403


def test_sealed_names_are_unreadable_and_end():
    cookies = Cookies(SECRET, False)
    token = cookies.seal("0123456789abcdef", 1000.0)
    assert "0123456789abcdef" not in token
    assert cookies.seal("0123456789abcdef", 1000.0) != token
    assert cookies.unseal(token, 1500.0) == "0123456789abcdef"
    assert cookies.unseal(token, 1000.0 + 3601) is None
    assert cookies.unseal(token[:-3] + "AAA", 1500.0) is None
    for nonsense in ("", "x", "é", "A" * 400):
        assert cookies.unseal(nonsense, 1500.0) is None


def test_codes_are_read_as_people_type_them():
    code = resume_code(SECRET, "small", "0123456789abcdef")
    assert re.fullmatch(r"[A-Z2-7]{4}-[A-Z2-7]{4}", code)
    for typed in (code.lower(), code.replace("-", " "), f" {code} ", code.replace("O", "0").replace("I", "1")):
        assert same_code(typed, code)
    assert not same_code("", code)
    assert resume_code(SECRET, "other", "0123456789abcdef") != code


# -- coming twice --


def test_deleting_and_coming_again_begins_nothing_anew(make_site):
    site = make_site()
    client = site.browser()
    walk(client, enter(client))
    assert client.post("/s/small/stop", data={"what": "delete"}).status_code == 200
    assert count(site, panel_ids) == 0
    for spelling in ("p-1", " P-1 "):
        again = enter(site.browser(), panel_id=spelling)
        assert again.status_code == 403
        assert "taken part before" in again.text
    assert count(site, participants) == 0
    assert enter(site.browser(), panel_id="p-2").status_code == 200


def test_a_full_study_looks_again_when_somebody_returns(make_participation):
    participation = make_participation(arms=("a",), batches=1)
    holder = participation.arrive("holder", "en")
    take(participation, holder, until="trial")
    waiting = participation.arrive("waiting", "en")
    assert participation.look(waiting).state == "full"
    participation.send_away(holder, "returned", "ada")
    assert participation.admit(Arrival("waiting", "en", session=waiting)) == waiting
    assert take(participation, waiting).state == "finished"


def one_place_for_two(make_participation):
    """The first has the only place; the second consented when it was still there."""
    participation = make_participation(arms=("a",), batches=1)
    first, second = participation.arrive("1", "en"), participation.arrive("2", "en")
    take(participation, second, until="quiz")
    take(participation, first, until="trial")
    view = participation.look(second)
    participation.save(second, view.number, 1, {"quiz1": 1})
    return participation, first, second


def test_who_consented_when_the_last_place_went_gets_one_that_comes_free(make_participation):
    participation, first, second = one_place_for_two(make_participation)
    assert participation.look(second).state == "full"
    participation.send_away(first, "returned", "ada")
    participation.arrive("2", "en")
    assert participation.look(second).step.kind == "trial"
    assert take(participation, second).state == "finished"


@pytest.mark.parametrize("status", ["paused", "closed"])
def test_no_place_that_comes_free_is_given_out_when_nobody_is_let_in(make_participation, status):
    participation, first, second = one_place_for_two(make_participation)
    participation.send_away(first, "returned", "ada")
    set_status(participation, status, "ada")
    participation.arrive("2", "en")
    assert participation.look(second).state == "full"
    if status == "paused":
        set_status(participation, "open", "ada")
        participation.arrive("2", "en")
        assert participation.look(second).step.kind == "trial"


@pytest.mark.parametrize("status", ["paused", "closed"])
@pytest.mark.parametrize("panel", [PROLIFIC, Panel()])
def test_who_had_only_opened_the_link_is_not_inside(make_site, panel, status):
    site = make_site(small_design(panel=panel, quiz=False))
    client = site.browser()
    page = enter(client) if panel.person else client.post("/s/small/start")
    assert 'name="agree"' in page.text
    set_status(site.participation, status, "ada")
    told = client.post("/s/small/page", data=fill(page.text))
    assert told.status_code == 403
    assert ("over" if status == "closed" else "paused") in told.text.lower()
    assert {row.state for row in rows(site, participants)} == {"arrived"}
    if status == "paused":
        set_status(site.participation, "open", "ada")
        again = client.get("/s/small/elsewhere")  # the tab is loaded anew: they have never taken part
        assert (again.status_code, 'name="agree"' in again.text) == (200, True)
        assert client.post("/s/small/page", data=fill(page.text)).status_code == 200
        assert {row.state for row in rows(site, participants)} == {"taking"}


@pytest.mark.parametrize("back", ["link", "start"])
def test_a_full_study_without_a_panel_looks_again_when_somebody_returns(make_site, back):
    """It told them for ever that it was full, and let newcomers in."""
    site = make_site(small_design(arms=("a",), batches=1, quiz=False))
    first, waiting = site.browser(), site.browser()
    first.post("/s/small/start")
    first.post("/s/small/page", data={"step": "0", "agree": "yes"})

    def returns():
        return waiting.get("/s/small") if back == "link" else waiting.post("/s/small/start")

    assert "The study is full" in waiting.post("/s/small/start").text
    assert "The study is full" in returns().text
    first.post("/s/small/stop", data={"what": "keep"})
    assert 'name="agree"' in returns().text
    assert count(site, participants) == 2
    assert 'name="agree"' in returns().text  # they are where they were


def test_somebody_banned_stays_out_and_the_place_is_open(make_participation):
    participation = make_participation(arms=("a",), batches=1)
    bot = participation.arrive("bot", "en")
    take(participation, bot)
    participation.send_away(bot, "banned", "ada")
    with participation.store.engine.connect() as connection:
        assert connection.execute(select(places.c.state)).scalars().all() == ["open"]
    participation.arrive("bot", "en")
    assert participation.look(bot).state == "banned"


def test_a_paused_door_opens_again_and_a_closed_one_does_not(make_participation):
    participation = make_participation()
    inside = participation.arrive("inside", "en")
    take(participation, inside, until="trial")
    set_status(participation, "paused", "ada")
    with pytest.raises(TurnedAway, match="paused"):
        participation.arrive("new", "en")
    assert take(participation, inside).state == "finished"
    set_status(participation, "open", "ada")
    participation.arrive("new", "en")
    set_status(participation, "closed", "ada")
    with pytest.raises(TurnedAway, match="closed"):
        participation.arrive("newer", "en")
    with pytest.raises(Exception, match="closed for good"):
        set_status(participation, "open", "ada")


# -- odd browsers --


def test_cookies_of_others_on_the_same_host_lock_nobody_out(make_site):
    site = make_site()
    client = site.browser()
    enter(client)
    own = client.cookies["eqlab_small"]
    foreign = 'consentPrefs={"a":1}; =; a b=c; x="y; '
    for header in (f"{foreign}eqlab_small={own}", f'eqlab_small={own}; consentPrefs={{"a":1}}'):
        plain = site.browser(headers={"Cookie": header})
        assert plain.get("/s/small/page").status_code == 200
    assert parse_cookies('consentPrefs={"a":1}; eqlab_small=v')["eqlab_small"] == ["v"]


def test_blocked_cookies_are_explained(make_site):
    site = make_site()
    client = site.browser(follow_redirects=False)
    reply = enter(client)
    client.cookies.clear()
    told = client.get(reply.headers["location"])
    assert told.status_code == 400
    assert "keeps no cookies" in told.text


def test_head_brings_nobody_in(make_site):
    site = make_site()
    reply = site.browser().head("/s/small", params={"PROLIFIC_PID": "p-1"})
    assert reply.status_code == 200
    assert "set-cookie" not in reply.headers
    assert count(site, participants) == 0


def test_a_link_does_not_swap_the_person_behind_their_back(make_site):
    site = make_site()
    client = site.browser()
    here = at_trials(site, client)
    asked = enter(client, panel_id="attacker")
    assert asked.status_code == 409
    assert count(site, participants) == 1
    assert fill(client.get("/s/small/page").text)["step"] == fill(here.text)["step"]
    client.post("/s/small/leave")
    assert "Page 1 " in enter(client, panel_id="attacker").text
    assert count(site, participants) == 2


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Dest": dest} for dest in ("image", "script", "empty", "iframe")] + [{"Sec-Purpose": "prefetch"}],
)
def test_an_image_on_another_site_is_nobody_who_arrives(make_site, headers):
    site = make_site()
    reply = enter(site.browser(headers=headers))
    assert (reply.status_code, reply.headers.get("set-cookie")) == (403, None)
    assert count(site, participants) == 0
    assert enter(site.browser(headers={"Sec-Fetch-Dest": "document"})).status_code == 200


def test_a_script_of_another_site_brings_nobody_in_and_changes_nobody(make_site):
    """It went to a link of its own again and again, unseen, until the limit of that address was used up, or until the
    cookie of somebody who was coming in was its own person's."""
    site = make_site(arrival_burst=3, arrival_rate=0.0)
    client = site.browser()
    mine = enter(client)
    kept = client.cookies.get("eqlab_small")
    led = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "cross-site"}
    for number in range(5):
        asked = client.get("/s/small", params={"PROLIFIC_PID": f"made-up-{number}"}, headers=led)
        assert "Start" in asked.text
        assert "set-cookie" not in asked.headers
    assert (count(site, participants), client.cookies.get("eqlab_small")) == (1, kept)
    assert client.post("/s/small/page", data=fill(mine.text)).status_code in (200, 303)
    assert "Page 2 " in client.get("/s/small", params={"PROLIFIC_PID": "p-1", "x": "y"}, headers=led).text, "their own"
    pressed = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]+)"', asked.text))
    assert pressed == {"PROLIFIC_PID": "made-up-4"}
    other = site.browser(headers={"Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "same-origin"})
    assert "Page 1 " in other.get("/s/small", params=pressed).text
    for number, headers in enumerate([{**led, "Sec-Fetch-User": "?1"}, {"Sec-Fetch-Site": "none"}]):
        assert ("Page 1 " in enter(site.browser(headers=headers), panel_id=f"p-{number}").text) == (number == 0)


def test_a_page_is_kept_for_the_person_for_whom_it_was_made_or_for_nobody(make_site):
    """A tab of another site can open a link of its own at any time before the consent, and the cookie then names its
    person."""
    site = make_site()
    client = site.browser()
    page, stopping = enter(client), client.get("/s/small/stop")
    enter(client, panel_id="attacker")
    for path, asked in (("page", page), ("stop", stopping)):
        mark = {"mark": re.search(r'name="mark" value="([^"]+)"', asked.text).group(1)}
        sent = {**fill(page.text), **mark} if path == "page" else {**mark, "what": "delete"}
        reply = client.post(f"/s/small/{path}", data=sent)
        assert (reply.status_code, "Nothing of this page was kept" in reply.text) == (409, True)
        assert "/s/small/page" not in reply.text  # it would be the other person's
        told = client.post(f"/s/small/{path}", data=sent, headers={"accept": "application/json"})
        assert (told.status_code, told.json()["outcome"]) == (409, "refused")
        assert "Nothing of this page was kept" in told.json()["problems"][""]
    assert count(site, participants) == 2
    assert not any(row.consented_at for row in rows(site, participants))
    enter(client)
    assert client.post("/s/small/page", data=fill(client.get("/s/small/page").text)).status_code == 200
    assert sum(row.consented_at is not None for row in rows(site, participants)) == 1


def test_the_link_for_deleting_on_a_last_page_deletes_nobody_else(make_site):
    site = make_site()
    client = site.browser()
    last, _ = walk(client, enter(client))
    link = re.search(r'href="(/s/small/stop[^"]*)"', last.text).group(1)
    assert "Delete" in client.get(link).text
    enter(client, panel_id="next")
    assert client.get(link).status_code == 409
    page = client.get("/s/small/page").text
    assert "/s/small/stop?mark=" in page
    assert link not in page


def test_in_a_laboratory_the_next_person_comes_after_the_last_has_finished(make_site):
    site = make_site()
    client = site.browser()
    walk(client, enter(client))
    assert "Page 1 " in enter(client, panel_id="next").text


def test_requests_for_another_host_are_refused(make_site):
    site = make_site(public_url="https://study.test")
    assert site.browser(headers={"Host": "study.test"}).get("/s/small").status_code == 403  # the panel's id is missing
    for host in ("evil.example", "study.test.evil.example", "study.test:8000", "127.0.0.1", "[study.test"):
        assert site.browser(headers={"Host": host}).get("/s/small").status_code == 421
    assert site.browser(headers={"Host": "127.0.0.1:8000"}).get("/health").status_code == 200


def test_devices_are_told_apart_in_three_classes():
    assert device_class("Mozilla/5.0 (iPhone; CPU iPhone OS 14_0 like Mac OS X) Mobile/15E148") == "phone"
    assert device_class("Mozilla/5.0 (Linux; Android 11; Pixel 5) Chrome/90 Mobile Safari/537.36") == "phone"
    assert device_class("Mozilla/5.0 (Linux; Android 11; SM-T500) Chrome/90 Safari/537.36") == "tablet"
    assert device_class("Mozilla/5.0 (iPad; CPU OS 14_0 like Mac OS X)") == "tablet"
    assert device_class("Mozilla/5.0 (X11; Linux x86_64) Firefox/88.0") == "computer"
    assert device_class("") is None
    assert device_class("Android" * 1500 + "Mobile" + "M" * 12_000) == "phone"  # took 0.7 s of everybody's time


# -- simulated people, attention, corrections --


def test_simulated_people_come_to_a_rehearsal_only(make_site):
    says = {"X-Eqlab-Simulated": "1"}
    real = make_site()
    assert enter(real.browser(headers=says)).status_code == 403
    assert count(real, participants) == 0
    rehearsal = make_site(small_design("two", panel=replace(REAL, signed=True)), rehearsal=True)
    assert enter(rehearsal.browser(), "two", ONE).status_code == 403
    assert enter(rehearsal.browser(headers=says), "two", "simulated-1").status_code == 200  # no link is signed for them
    (row,) = (
        rehearsal.store.engine.connect().execute(select(participants).where(participants.c.study_id == "two")).all()
    )
    assert row.person.startswith("sim")


def test_a_check_looks_like_a_trial_from_outside(make_site):
    site = make_site(small_design(panel=PROLIFIC, size=3, attention=2))
    client = site.browser()
    reply = at_trials(site, client)
    shapes, kinds = [], []
    while "v.rating" in reply.text:
        shape = re.sub(r'(?s)<div class="stimulus">.*?</div>', "", reply.text)
        told = r'<p class="left">.*?</p>\n?|<p><a href="/s/small/back".*?</p>'  # how far one is
        shapes.append(re.sub(rf'\d+|value="[^"]*"|{told}', "", shape))
        kinds.append(client.get("/api/s/small/page").json()["kind"])
        reply = client.post("/s/small/page", data=fill(reply.text))
    assert len(shapes) == 5
    assert set(kinds) == {"trial"}
    assert len(set(shapes[1:])) == 1


def test_an_answer_can_be_changed_until_the_page_after_and_both_are_kept(make_site):
    site = make_site(small_design(panel=PROLIFIC, size=4, attention=0))
    client = site.browser()
    reply = at_trials(site, client)
    assert 'id="back"' not in reply.text  # the quiz is no answer to be changed
    reply = client.post("/s/small/page", data=fill(reply.text, lambda name, values: "1"))
    before = client.get("/s/small/back")
    assert 'value="1" checked' in before.text
    changed = fill(before.text, lambda name, values: "3")
    assert changed["correct"] == "yes"
    reply = client.post("/s/small/page", data=changed)
    assert fill(reply.text)["step"] == str(int(changed["step"]) + 1)  # where they were
    client.post("/s/small/page", data=changed)  # again: nothing new
    participation = site.participation
    (person,) = read_participants(participation).people
    own = [one for one in person.given if one.kind == "trial"]
    assert [(one.attempt, one.values["rating"]) for one in own] == [(1, 1), (2, 3)]
    assert [one.attempts[0].values["rating"] for one in scored_of("run", [person], "rating")] == [3]
    assert sum(event.kind == "corrected" for event in read_participants(participation).events) == 1
    reply = client.post("/s/small/page", data=fill(reply.text))
    late = {**changed, "v.rating": "2"}
    client.post("/s/small/page", data=late)  # the page after has been answered
    (person,) = read_participants(participation).people
    assert next(one.values["rating"] for one in person.counted if one.kind == "trial") == 3


def test_reports_tell_the_answers_that_people_have_not_taken_back(make_participation, tmp_path):
    """`study analyze` told them, and `report`, `compare` and calibrations what had been there before."""
    participation = make_participation(size=3, attention=0)
    for name in "abc":
        person = participation.admit(Arrival(name, "en"))
        view = take(participation, person, until="trial")
        while view.step.kind == "trial":
            participation.save(person, view.number, 1, {"rating": 1})
            participation.make([FilledPage(person, view.number, 1, {"rating": 3}, correct=True)])
            view = participation.look(person)
    store = participation.store
    answered = [one for one in store.scored(participation.design.run.id, "people", "rating") if one.attempts]
    assert [final(one.attempts).values["rating"] for one in answered] == [3] * 9
    for value in (1, 3):  # and back again: the same words as before
        participation.make([FilledPage(person, view.number - 1, 1, {"rating": value}, correct=True)])
    while (view := participation.look(person)).step is not None:
        participation.save(person, view.number, view.attempt, {})
    write_answers(store, store.read_run(participation.design.run.id), tmp_path / "answers.jsonl")
    lines = list(map(json.loads, (tmp_path / "answers.jsonl").read_text().splitlines()))
    scored = Counter((line["subject"], line["trial"]) for line in lines if line.get("score") is not None)
    assert (len(scored), set(scored.values())) == (9, {1})


def test_an_answer_cannot_be_changed_without_end(make_site):
    """Each change read all earlier ones: thousands of them made everybody's saves take seconds."""
    site = make_site(small_design(panel=PROLIFIC, size=4, attention=0))
    client = site.browser()
    client.post("/s/small/page", data=fill(at_trials(site, client).text, lambda name, values: "1"))
    changed = fill(client.get("/s/small/back").text)
    for number in range(MOST_CHANGES + 9):
        reply = client.post("/s/small/page", data={**changed, "v.rating": str(2 - number % 2)})
    assert count(site, answers) == 2 + MOST_CHANGES  # with the quiz
    assert "dropped=1" in str(reply.url)


def test_of_a_repeated_page_that_was_changed_the_last_answer_counts(make_participation):
    """A slip that was put right left somebody out of the result as inconsistent."""
    design = small_design(size=4, attention=0)
    participation = make_participation(replace(design, study=replace(design.study, checks=Checks(0, repeat=1))))
    person = participation.admit(Arrival("h", "en"))
    while (view := participation.look(person)).step.kind != "debrief":
        if view.step.kind == "consent":
            participation.consent(person, agreed=True)
        else:
            given = {"quiz1": 1} if view.step.kind == "quiz" else {"rating": 3 if view.step.kind == "trial" else 1}
            participation.save(person, view.number, view.attempt, given)
    assert read_participants(participation).people[0].apart == 1.0
    participation.make([FilledPage(person, view.number - 1, 1, {"rating": 3}, correct=True)])
    assert read_participants(participation).people[0].apart == 0.0


def test_a_changed_answer_is_checked_like_any_other(make_participation):
    participation = make_participation(size=3, attention=0)
    person = participation.admit(Arrival("h", "en"))
    view = take(participation, person, until="trial")
    participation.save(person, view.number, 1, {"rating": 1})
    (refused,) = participation.make([FilledPage(person, view.number, 1, {"rating": 9}, correct=True)])
    assert (refused.outcome, refused.problems) == ("refused", {"rating": "off"})
    (early,) = participation.make([FilledPage(person, view.number - 1, 1, {"quiz1": 2}, correct=True)])
    assert early.outcome == "again"


def test_without_a_public_address_only_numbers_and_this_machine_are_meant(make_site):
    """A name that somebody made to lead here (DNS rebinding) is not the study's."""
    site = make_site()
    for host in ("localhost:8080", "127.0.0.1:8080", "[::1]:8080", "192.168.1.7"):
        assert site.browser(headers={"Host": host}).get("/health").status_code == 200
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil@127.0.0.1", "[::1", ""):
        assert site.browser(headers={"Host": host}).get("/health").status_code == 421


def test_who_was_erased_by_the_researcher_may_begin_anew_where_no_panel_counts_people(make_site):
    """Their browser was sent in a circle: "open the link again", and the link led back."""
    site = make_site(small_design())
    client = site.browser()
    walk(client, client.post("/s/small/start"), until=lambda reply: "v.rating" in reply.text)
    (row,) = rows(site, participants)
    erase_person(site.participation, row.person)
    assert client.get("/s/small/page").status_code == 401
    again = client.get("/s/small")
    assert (again.status_code, again.url.path) == (200, "/s/small")
    assert 'name="agree"' in client.post("/s/small/start").text
