"""Talks between two models over loopback: seats, secrets, every end, durability, and what the scores say."""

import re
import subprocess
import sys
from functools import partial

import pytest
from killing import kill_after
from scripted import PERSONAS, hold, is_speaker, prepared, talk

import eqlab as api
from eqlab.benchmarks.dialogue.talked import talks_of
from eqlab.core.errors import UsageError


@pytest.fixture
def held(server, tmp_path):
    return partial(hold, server, tmp_path)


def test_talks_take_their_course(held, server):
    _, talks, (result, worse) = held("good", "plain")
    for one in talks:
        start = PERSONAS[one.persona].emotion
        assert one.course[0] == start
        assert list(one.course) == [min(100, start + 12 * k) for k in range(len(one.course))]
        assert one.end == ("satisfied" if one.course[-1] == 100 else "turns")
        assert one.said[0].text == PERSONAS[one.persona].opening
        assert one.said[2].text == f"Line after {one.course[1]}."
        assert one.replies == len(one.course) - 1 <= 8
    assert result.headline.value == pytest.approx(sum(one.final for one in talks) / len(talks))
    assert result.headline.value > worse.headline.value
    assert result.counts == {"planned": 3, "ok": 3, "unparseable": 0, "refused": 0, "error": 0, "unanswered": 0}
    assert len(result.transcripts) == 3
    models = {body["model"] for body in server.requests if is_speaker(body)}
    assert models == {"s"}


def test_no_listener_sees_what_is_hidden(held, server):
    held("good", limit=60)
    seen = 0
    for body in server.requests:
        if is_speaker(body):
            continue
        shown = "\n".join(message["content"] for message in body["messages"])
        seen += 1
        for one in PERSONAS.values():
            hidden = (one.need, one.happened, one.talks, one.leaves_satisfied, one.leaves_hurt, *one.helps, *one.hurts)
            assert not any(text in shown for text in hidden), one.id
        assert not re.search(r"Emotion|Feeling|Leaves", shown)
    assert seen > 60


def test_roles_alternate_and_the_speaker_remembers(held, server):
    held("plain", limit=1)
    longest = max((body["messages"] for body in server.requests if is_speaker(body)), key=len)
    roles = [message["role"] for message in longest]
    assert roles == ["system"] + ["user", "assistant"] * ((len(roles) - 2) // 2) + ["user"]
    assert any(longest[2]["content"].endswith(one.opening) for one in PERSONAS.values())
    heard = max((body["messages"] for body in server.requests if not is_speaker(body)), key=len)
    assert [message["role"] for message in heard] == ["system"] + ["user", "assistant"] * 7 + ["user"]


def test_bad_listeners_are_left(held):
    _, talks, (result,) = held("bad")
    assert {one.end for one in talks} == {"hurt"}
    assert all(one.final < 10 for one in talks)
    failure = next(one for one in result.estimates if one.name == "failure")
    assert (failure.value, failure.n) == (100.0, 3)


def test_a_listener_that_falls_silent(held, server):
    """Empty replies: the speaker is told that none comes, says what that does to it, and the talk is over."""

    def reply(body, number):
        return talk(body, number) if is_speaker(body) or len(body["messages"]) < 4 else ""

    _, talks, (result,) = held("good", reply=reply, limit=2)
    assert {one.end for one in talks} == {"silence"}
    assert all(list(one.course) == [one.start, one.start + 12, max(0, one.start - 8)] for one in talks)
    assert any("gave no reply" in caveat for caveat in result.caveats)
    assert next(one for one in result.estimates if one.name == "failure").value == 100.0
    assert any("No reply comes" in body["messages"][-1]["content"] for body in server.requests)


def test_a_filter_in_the_way(held, server):
    """A provider's refusal stands: it is not asked again, and the talk ends as one without a reply."""
    from conftest import completion

    def reply(body, number):
        return talk(body, number) if is_speaker(body) else completion("", finish="content_filter")

    _, talks, _ = held("good", reply=reply, limit=2)
    assert {one.end for one in talks} == {"silence"}
    assert sum(not is_speaker(body) for body in server.requests) == 2


def test_a_speaker_that_cannot_be_read(held):
    """The instrument failed, not the listener: no score, and it is said."""

    def reply(body, number):
        return "Well." if is_speaker(body) else talk(body, number)

    _, talks, (result,) = held("good", reply=reply)
    assert {(one.end, one.final) for one in talks} == {("lost", None)}
    assert result.headline.value is None
    assert result.counts["unparseable"] == 3
    assert any("unreadable" in caveat and "too many" in caveat for caveat in result.caveats)


def test_sages_people_open_the_talk_themselves(held, server, published):
    _, talks, (result,) = held("good", items="published", data=published, limit=3)
    first = server.requests[0]
    assert is_speaker(first)
    assert first["messages"][-1]["content"].startswith("(The talk begins")
    assert "in Chinese" in first["messages"][0]["content"]
    assert all(one.course[:2] == (40, 52) for one in talks)
    assert all(one.said[0].seat == "speaker" and one.said[0].emotion is None for one in talks)
    assert result.headline.value is not None
    made = api.prepare(api.Request(("m",), ("dialogue",), items="published", base_url=server.url, data=published))
    with pytest.raises(UsageError, match="no fixed lines"):
        next(made.plan())


@pytest.mark.claims
def test_killed_in_the_middle_of_two_sided_talks(server, tmp_path):
    """kill -9 again and again: every talk ends as if nothing had happened, and no answered turn is asked again."""
    server.reply = talk
    where = str(tmp_path / "s.db")
    command = [sys.executable, "-c", "from eqlab.cli.main import main; main()", "run", "plain", "-b", "dialogue"]
    command += ["--speaker", "s", "--base-url", server.url, "--profile", "full", "--limit", "6", "--store", where]
    command += ["--max-concurrency", "4", "--report", str(tmp_path / "r.html")]

    def start():
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    for replies in (20, 25):
        kill_after(replies, server, where, start)
    worker = start()
    _, err = worker.communicate(timeout=240)
    assert worker.returncode == 0, err
    store = api.open_store(where)
    scored = list(store.scored(store.find_run("last").id, "model:plain", "dialogue"))
    store.close()
    talks = talks_of(scored)
    assert len(talks) == 6
    for one in talks:
        assert one.end == "turns"
        assert list(one.course) == [one.start + k for k in range(9)]
    assert all(len(one.attempts) == 1 for one in scored)
    assert len(scored) == 6 * 16
    assert 1 <= len(server.requests) - len(scored) <= 2 * 4  # what was under way


def test_a_refusal_on_disk_does_not_hold_up_its_talk(server, tmp_path):
    """Killed after a provider's refusal was stored and before the next turn was: the talk still goes on."""
    from conftest import completion

    from eqlab.core.benchmark import Scored
    from eqlab.models.runner import open_talks

    server.reply = lambda body, number: (
        talk(body, number) if is_speaker(body) else completion("", finish="content_filter")
    )
    store = api.open_store(str(tmp_path / "s.db"))
    made = prepared(server, "good", limit=1)
    api.run(made, store)
    asked = made.asked["dialogue"]
    first: Scored = next(iter(store.scored(made.config.id, "model:good", "dialogue")))
    store.close()
    following = open_talks("dialogue", asked.benchmark, asked.options, [first]).following
    assert [trial.seat for _, trial, _ in following] == ["speaker:s"]


def test_feeling_as_bad_as_can_be_is_no_satisfaction(held):
    """What a speaker ticks and what it feels may differ; the ends of the scale decide."""

    def reply(body, number):
        if not is_speaker(body):
            return talk(body, number)
        return "Feeling: x\nEmotion: 3\nLeaves: satisfied\nSays: Bye."

    _, talks, _ = held("good", reply=reply, limit=2)
    assert {one.end for one in talks} == {"hurt"}
