"""Rate: blind, shuffled, undone, passed over, stored as people's under a pseudonym; and what judges make of it."""

import re

import pytest

pytest.importorskip("starlette")

import judge_case
from judge_case import judge, replies
from view_case import View, words

import eqlab as api
from eqlab.view.rate import drawn


@pytest.fixture
def rated(server, tmp_path):
    """(view, run) of two models' replies, half of which a judge has rated."""
    with api.open_store(str(tmp_path / "s.db")) as store:
        run = replies(server, store)
        judge(server, store, [run])
    return View(tmp_path / "s.db"), run


def begin(view, run, rater, count=6):
    mark = view.site.form_mark
    reply = view.client.post("/rate", data={"mark": mark, "run": run, "count": str(count), "rater": rater})
    assert reply.status_code == 200, words(reply.text)
    return str(reply.url), reply.text


def give(view, url, action, place=None):
    data = {"mark": view.site.form_mark, "action": action}
    if place is not None:
        data["place"] = str(place)
    reply = view.client.post(url, data=data)
    assert reply.status_code == 200
    return reply.text


def stored(view):
    with view.site.store() as store:
        runs = [run for run in store.run_ids() if not store.read_run(run).config.models]
        return [one for run in runs for one in store.scored(run, "people", "rating")]


def test_a_rater_is_blind_and_can_undo(rated):
    view, run = rated
    url, page = begin(view, run, "ann")
    assert "warm" not in words(page)
    assert "cold" not in words(page)
    assert "0 of 6" in words(page)
    give(view, url, "3", 0)
    assert stored(view) == []  # the last one can still be taken back
    give(view, url, "1", 1)
    assert len(stored(view)) == 1
    assert "1 of 6" in words(give(view, url, "undo"))
    give(view, url, "2", 1)
    give(view, url, "2", 1)  # a form that is sent twice counts once
    give(view, url, "skip", 2)
    assert "Undo" in give(view, url, "3", 3)
    for place in (4, 5):
        page = give(view, url, "2", place)
    assert "That was the last one." in words(page)
    done = words(give(view, url, "finish"))
    assert "5 replies are rated, 1 passed over." in done
    assert "judge:gpt-judge" in done
    assert "no sample" in done
    kept = stored(view)
    assert sorted(one.attempts[0].values["rating"] for one in kept) == [2, 2, 2, 3, 3]
    assert all(re.fullmatch(r"person:[0-9a-f]{16}", one.attempts[0].subject) for one in kept)


def test_a_second_rater_gets_the_same_replies_and_their_agreement(rated):
    view, run = rated
    for rater in ("ann", "ben"):
        url, _ = begin(view, run, rater, count=4)
        for place in range(4):
            give(view, url, "3" if place % 2 else "1", place)
        done = words(give(view, url, "finish"))
    assert "person 1" in done
    assert "n = 4" in done
    assert len({one.trial.id for one in stored(view)}) == 4
    again = view.client.post("/rate", data={"mark": view.site.form_mark, "run": run, "count": "4", "rater": "ann"})
    assert "You have rated all of these." in words(again.text)


def test_the_same_words_to_another_prompt_are_another_reply(server, tmp_path, monkeypatch):
    monkeypatch.setattr(judge_case, "world", lambda body, number=0: "Okay" if "Your rating" in str(body) else "I see.")
    with api.open_store(str(tmp_path / "s.db")) as store:
        run = replies(server, store)
        judge(server, store, [run])
    view = View(tmp_path / "s.db")
    url, _ = begin(view, run, "ann")
    for place in range(6):
        give(view, url, "3" if place % 2 else "1", place)
    assert "n = 6" in words(give(view, url, "finish"))


def test_the_judge_is_held_against_these_ratings(rated):
    view, run = rated
    url, _ = begin(view, run, "ann", count=16)
    for place in range(16):
        give(view, url, "3" if place % 2 else "1", place)
    give(view, url, "finish")
    view.read()
    said = words(view.get("/judges"))
    assert "Held against 16 ratings of people" in said
    assert "Not calibrated: nobody's ratings" not in said


def test_without_our_mark_nothing_is_stored(rated):
    view, run = rated
    for mark in ("", "x" * 64):
        reply = view.client.post("/rate", data={"mark": mark, "run": run, "rater": "ann"})
        assert reply.status_code == 403
    assert view.site.rating == {}
    assert view.client.post("/rate/nobody", data={"mark": view.site.form_mark, "action": "3"}).status_code == 400


def test_replies_are_drawn_evenly_and_the_same_for_all():
    from eqlab.core.benchmark import ReplyRow

    rows = [ReplyRow(arm, f"p{number}", f"{arm}{number}") for arm in ("a", "b") for number in range(9)]
    few = drawn(rows, 5)
    assert [row.arm for row in few] == ["a", "b", "a", "b", "a"]
    assert drawn(list(reversed(rows)), 5) == few
    assert len(drawn(rows, 50)) == 18


def test_a_store_without_replies(skilled_view):
    assert "No run of this store has replies to rate" in words(skilled_view.get("/rate"))
