"""Talks: found by persona, read one or two beside each other, with feelings shown or hidden."""

import re

import pytest

pytest.importorskip("starlette")

from scripted import prepared, talk
from view_case import View, words

import eqlab as api
from eqlab.core.results import Utterance
from eqlab.view.talks import parting


@pytest.fixture
def talked(server, tmp_path):
    server.reply = talk
    with api.open_store(str(tmp_path / "s.db")) as store:
        api.run(prepared(server, "good", "bad", limit=2), store, concurrency=8)
    return View(tmp_path / "s.db")


def test_the_list_and_the_reader(talked):
    page = talked.get("/talks")
    assert "4 of 4 talks" in words(page)
    assert "1 of 4 talks" in words(talked.get("/talks", q="dog bad")) or "of 4 talks" in words(page)
    assert "2 of 4 talks" in words(talked.get("/talks", outcome="failure"))
    first = re.findall(r'href="(/talk\?[^"]+)"', page)[0].replace("&amp;", "&")
    one = talked.client.get(first).text
    assert "A good reply" in words(one)
    assert "A bad reply" not in words(one)
    assert "talk 1 of 4" in words(one)
    (name,) = re.findall(r'<option value="([^"]+:model:bad)"', one)
    two = talked.client.get(first, params={**dict(_query(first)), "with": name}).text
    assert "A good reply" in words(two)
    assert "A bad reply" in words(two)
    assert 'href="#a-2"' in two  # the opening is the same, the first reply is not
    assert 'id="a-2"' in two
    assert "I heard" in words(two)
    hidden = talked.client.get(first, params={**dict(_query(first)), "felt": "hidden"}).text
    assert "I heard" not in words(hidden)


def test_a_comparison_shows_whole_talks_and_leads_to_both_beside_each_other(talked):
    run = talked.site.shelf.look().runs[0].id
    page = talked.get("/compare", s=run)
    assert words(page).count("A good reply") > 2  # one a turn, not the first turn alone
    both = next(href for href in re.findall(r'href="(/talk\?[^"]+)"', page)).replace("&amp;", "&")
    beside = words(talked.client.get(both).text)
    assert "A good reply" in beside
    assert "A bad reply" in beside
    assert "to the turn where they part" in beside


def test_talks_part_where_words_differ_or_one_goes_on():
    one, other, more = (
        Utterance("speaker", "Hello."),
        Utterance("speaker", "Hello.", 40.0),
        Utterance("listener", "Hi."),
    )
    assert parting([[one, more], [other, more]]) == ""
    assert parting([[one, more]]) == ""
    assert parting([[one, more], [other, Utterance("listener", "Oh.")]]) == "a-2"
    assert (parting([[one, more], [other]]), parting([[one], [other, more]])) == ("a-2", "b-2")


def _query(address):
    from urllib.parse import parse_qsl, urlsplit

    return parse_qsl(urlsplit(address).query)


def test_the_shelf_keeps_no_words_of_talks(talked):
    talks = [talk for one in talked.site.shelf.snapshot.runs for own in one.results for talk in own.transcripts]
    assert len(talks) == 4
    assert not any(talk.lines for talk in talks)
    assert all(len(talk.course) > 1 for talk in talks)


def test_none_and_no_such_talk(skilled_view):
    assert "This store has no talk yet." in words(skilled_view.get("/talks"))
    assert "There is no such talk." in words(skilled_view.get("/talk", code=400, t="x:y:0:model:z"))
