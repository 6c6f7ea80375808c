"""A talk on the web, over HTTP against a scripted model: both seats, streams, turns, and what a person may not see."""

import asyncio
import csv
import io
import json
import re
import threading
import time
from contextlib import ExitStack

import httpx
import pytest
from aiohttp import web
from talk_case import ARMS, HELP, calls, talk_design, talking

from eqlab.study.results.export import export_all

pytest.importorskip("fastapi")


# -- the two seats -------------------------------------------------------------------------------------------------


def test_a_person_speaks_feels_and_rates(tmp_path, server):
    server.reply = lambda body, number: f"Reply {number} to: {body['messages'][-1]['content']}"
    with talking(tmp_path, server) as site:
        person = site.person().begin()
        assert (person.state, person.lines) == ("say", [])
        assert HELP in person.text
        person.say("My day was long.", 40).until_answered()
        assert person.lines == [("you", "My day was long."), ("other", "Reply 1 to: My day was long.")]
        person.say("Still long.", 55, v_feeling="it listened").until_answered()
        person.say("Bye.", 70, do="satisfied")
        assert "The other one understood me." in person.text
        person.rate(6).finish()
        assert "C-COMPLETE" in person.text
        spoken = [values for seat, _, _, values, _ in site.turns() if seat]
        assert [(one["emotion"], one["leaves"], one["says"]) for one in spoken] == [
            (40, 0, "My day was long."), (55, 0, "Still long."), (70, 1, "Bye."),
        ]  # fmt: skip
        assert spoken[1]["feeling"] == "it listened"
    asked = server.requests[1]["messages"]
    assert [m["role"] for m in asked] == ["system", "user", "assistant", "user"]
    assert "it listened" not in json.dumps(server.requests), "why somebody feels so is not for the other one"
    assert "40" not in asked[0]["content"]


def test_the_last_reply_leaves_only_the_feeling_to_tell(tmp_path, server):
    server.reply = lambda body, number: "Mhm."
    with talking(tmp_path, server, talk="why = false") as site:
        person = site.person().begin()
        for _ in range(3):
            person.say("And so on.", 50).until_answered()
        assert 'name="v.says"' not in person.page.text
        assert "last reply" in person.text
        assert 'name="v.feeling"' not in person.page.text
        person.say("", 60)
        assert "The other one understood me." in person.text
    assert len(server.requests) == 3


def test_a_person_listens_to_a_simulated_speaker(tmp_path, server):
    emotion = iter((50, 60, 70))
    server.reply = lambda body, number: f"Feeling: hm\nEmotion: {next(emotion)}\nLeaves: no\nSays: Line {number}."
    with talking(tmp_path, server, top="limit = 2", talk='person = "listener"') as site:
        person = site.person().begin()
        opening = person.lines[0]
        assert opening[0] == "other"
        assert "Emotion" not in person.text.split("<main")[1]
        for number in range(3):
            person.say(f"I hear you, {number}.").until_answered()
        assert person.state == "over"
        assert [who for who, _ in person.lines] == ["other", "you"] * 3 + ["other"]
        assert "hm" not in [said for _, said in person.lines]
        person.page = person.post("next")
        assert "The other one understood me." in person.text
        turns = site.turns()
        assert [values.get("emotion") for seat, _, _, values, _ in turns if seat] == [50, 60, 70]
        assert [text for seat, _, text, _, _ in turns if not seat] == [f"I hear you, {n}." for n in range(3)]
    assert "You play a person" in server.requests[0]["messages"][0]["content"]


def test_a_speaker_who_leaves_ends_the_talk(tmp_path, server):
    server.reply = lambda body, number: "Feeling: enough\nEmotion: 20\nLeaves: hurt\nSays: I am off."
    with talking(tmp_path, server, top="limit = 2", talk='person = "listener"') as site:
        person = site.person().begin().say("Whatever.").until_answered()
        assert person.state == "over"
        assert "has ended the talk" in person.text
        assert "hurt" not in person.text.split("<main")[1]


# -- streams -------------------------------------------------------------------------------------------------------


def test_the_reply_is_streamed_only_when_it_is_on_disk(tmp_path, server):
    release = threading.Event()

    async def hold(body):
        await asyncio.get_running_loop().run_in_executor(None, release.wait, 20)

    server.before, server.reply = hold, lambda body, number: "One two three."
    with talking(tmp_path, server, talk="") as site:
        person = site.person().begin()
        said = person.post(v_says="Hello.", v_emotion=50, headers={"Accept": "application/json"})
        assert said.json() == {"outcome": "kept", "problems": {}, "next": "/s/talk/page"}
        person.look()
        assert person.state == "wait"
        heard = []
        with person.client.stream("GET", "/s/talk/talk/reply?lines=1") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            for line in stream.iter_lines():
                heard.append(line)
                if line.startswith("event: wait"):
                    assert len(site.turns()) == 1
                    release.set()
                if line.startswith("event: part"):
                    assert [text for seat, _, text, _, _ in site.turns() if not seat] == ["One two three."]
        parts = [json.loads(line[6:])["text"] for line in heard if line.startswith('data: {"text"')]
        assert "".join(parts) == "One two three."
        assert heard[-3:][0].startswith("event: done") or "event: done" in heard


def test_the_pace_is_one_for_all(tmp_path, server):
    server.reply = lambda body, number: "word " * 20
    with talking(tmp_path, server, talk="") as site:
        site.served.talks.terms = __import__("dataclasses").replace(site.served.talks.terms, pace=200)
        person = site.person().begin().say("Hello.", 50).until_answered()
        begun = time.monotonic()
        with person.client.stream("GET", "/s/talk/talk/reply?lines=1") as stream:
            parts = [line for line in stream.iter_lines() if line.startswith("event: part")]
        assert len(parts) == 20
        assert time.monotonic() - begun > 0.4


def test_a_fast_reply_is_held_back(tmp_path, server):
    server.reply = lambda body, number: "Quick."
    design = talk_design(tmp_path, f"http://127.0.0.1:{server.port}/v1")
    from dataclasses import replace

    slow = replace(design, study=replace(design.study, talk=replace(design.study.talk, least_wait=900.0)))
    with talking(tmp_path, server, slow) as site:
        later = 0.0
        site.participation.clock = lambda: time.time() + later
        person = site.person().begin()
        person.post(v_says="Hello.", v_emotion=50, headers={"Accept": "application/json"})
        while not [call for call in calls(site) if call.state == "done"]:
            time.sleep(0.01)
        assert person.look().state == "wait"
        assert "Quick." not in person.text
        later = 901.0
        assert person.look().lines[-1] == ("other", "Quick.")


# -- once, and in turn ---------------------------------------------------------------------------------------------


def test_a_turn_sent_twice_is_kept_and_asked_once(tmp_path, server):
    server.delay, server.reply = 0.3, lambda body, number: f"Reply {number}."
    with talking(tmp_path, server) as site:
        person = site.person().begin()
        step, turn = person.place
        data = {"step": step, "turn": turn, "do": "send", "v.says": "Hello.", "v.emotion": 50}
        outcomes, cookies = [], dict(person.client.cookies)

        def send():
            with httpx.Client(base_url=site.base, cookies=cookies, headers={"Origin": site.base}) as client:
                reply = client.post("/s/talk/talk", data=data, headers={"Accept": "application/json"})
                outcomes.append(reply.json()["outcome"])
                for _ in range(3):
                    client.get("/s/talk/page")

        threads = [threading.Thread(target=send) for _ in range(6)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert sorted(outcomes) == ["again"] * 5 + ["kept"]
        person.until_answered()
        assert person.lines == [("you", "Hello."), ("other", "Reply 1.")]
        assert len(site.turns()) == 2
        assert [call.state for call in calls(site)] == ["done"]
    assert len(server.requests) == 1


def test_out_of_turn_posts_change_nothing(tmp_path, server):
    release = threading.Event()

    async def hold(body):
        await asyncio.get_running_loop().run_in_executor(None, release.wait, 20)

    server.before, server.reply = hold, lambda body, number: "Reply."
    with talking(tmp_path, server) as site:
        person = site.person().begin()
        step, _ = person.place

        def outcome(**fields):
            return person.client.post("/s/talk/talk", data=fields, headers={"Accept": "application/json"}).json()[
                "outcome"
            ]

        assert outcome(step=step, turn=4, **{"v.says": "x", "v.emotion": 1}) == "ahead"
        assert outcome(step=step + 1, turn=0, **{"v.says": "x", "v.emotion": 1}) == "again"
        assert outcome(step=step, turn="-1") == "refused"
        assert outcome(step=step, turn=0, do="explode") == "refused"
        assert outcome(step=step, turn=0, do="next") == "ahead"
        assert outcome(step=step, turn=0, do="without") == "refused"
        plain = {"step": step, "attempt": 1, "v.emotion": 5, "v.leaves": 0, "v.says": "x"}
        assert (
            person.client.post("/s/talk/page", data=plain, headers={"Accept": "application/json"}).json()["outcome"]
            == "refused"
        )
        assert site.turns() == []
        assert outcome(step=step, turn=0, **{"v.says": "Hello.", "v.emotion": 50}) == "kept"
        assert outcome(step=step, turn=1, **{"v.says": "while it writes", "v.emotion": 50}) == "ahead"
        release.set()
        person.until_answered()
        assert outcome(step=step, turn=0, **{"v.says": "another", "v.emotion": 1}) == "again"
        assert [text for who, text in person.look().lines if who == "you"] == ["Hello."]


def test_a_stranger_and_a_forged_person_get_nothing(tmp_path, server):
    with talking(tmp_path, server) as site:
        person = site.person().begin()
        ((name, value),) = person.client.cookies.items()
        stranger = httpx.Client(base_url=site.base, headers={"Origin": site.base})
        forged = httpx.Client(base_url=site.base, headers={"Origin": site.base}, cookies={name: "ab12" + value[4:]})
        for client in (stranger, forged):
            for reply in (client.post("/s/talk/talk", data={"step": 1, "turn": 0}), client.get("/s/talk/talk/reply")):
                assert reply.status_code == 401
            client.close()
        elsewhere = person.client.post(
            "/s/talk/talk", data={"step": 1, "turn": 0}, headers={"Origin": "https://evil.test"}
        )
        assert elsewhere.status_code == 403
        assert person.client.post("/s/other/talk", data={}).status_code == 404
        assert site.turns() == []


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"v_says": "x" * 2001, "v_emotion": 50}, "2000 characters at most"),
        ({"v_says": "", "v_emotion": 50}, "write something"),
        ({"v_says": " \r\n ", "v_emotion": 50}, "write something"),
        ({"v_says": "x"}, "how you feel"),
        ({"v_says": "x", "v_emotion": 101}, "how you feel"),
        ({"v_says": "x", "v_emotion": "-1"}, "how you feel"),
        ({"v_says": "x", "v_emotion": "1e9"}, "how you feel"),
        ({"v_says": "x", "v_emotion": "٣"}, "how you feel"),
        ({"v_says": "x", "v_emotion": 50, "script": 1}, "move the slider"),
    ],
)
def test_what_cannot_be_a_turn_is_refused_in_words(tmp_path, server, fields, told):
    with talking(tmp_path, server) as site:
        person = site.person().begin()
        person.page = person.post(**fields)
        assert person.page.status_code == 422
        assert told in person.text
        assert site.turns() == []
    assert server.requests == []


def test_scripts_and_sheets_of_paper_are_only_text(tmp_path, server):
    evil = '<script>alert(1)</script> {{ 7*7 }} =HYPERLINK("x") <img src=x onerror=alert(1)>'
    server.reply = lambda body, number: evil
    with talking(tmp_path, server) as site:
        person = site.person().begin().say(evil, 50, v_feeling=evil).until_answered()
        assert "<script>alert" not in person.page.text
        assert "onerror=alert(1)>" not in person.page.text
        assert person.lines == [("you", evil), ("other", evil)]
        with person.client.stream("GET", "/s/talk/talk/reply?lines=1") as stream:
            assert "\n" not in evil
            assert any(
                json.loads(line[6:]).get("text") == evil for line in stream.iter_lines() if line.startswith("data: ")
            )
        refused = person.post(v_says=evil + "x" * 2000, v_emotion=50)
        assert "<script>alert" not in refused.text
        person.say('=HYPERLINK("http://evil.test")', 50).until_answered()
        export_all(site.participation, tmp_path / "out")
        table = (tmp_path / "out" / "talks.csv").read_text()
        assert "HYPERLINK" in table
        rows = list(csv.DictReader(io.StringIO(table)))
        assert not [cell for row in rows for cell in row.values() if cell.startswith("=")]


def test_nobody_holds_streams_without_end(tmp_path, server):
    release = threading.Event()

    async def hold(body):
        await asyncio.get_running_loop().run_in_executor(None, release.wait, 20)

    server.before = hold
    with talking(tmp_path, server, patience=20) as site:
        person = site.person().begin()
        person.post(v_says="Hello.", v_emotion=50, headers={"Accept": "application/json"})
        with ExitStack() as opened:
            held = []  # a stream whose lines nobody holds is closed
            for _ in range(4):
                stream = opened.enter_context(person.client.stream("GET", "/s/talk/talk/reply?lines=1"))
                held.append(stream.iter_lines())
                next(held[-1])
            assert person.client.get("/s/talk/talk/reply?lines=1").status_code == 429
            release.set()
        person.until_answered()
        assert person.client.get("/s/talk/talk/reply?lines=1").status_code == 200


def test_five_hundred_who_wait_for_a_model_do_not_wait_for_each_other(tmp_path, server):
    with talking(tmp_path, server) as site:
        assert all(chat.concurrency >= 500 for chat in site.served.talks._chats.values())


# -- blinding ------------------------------------------------------------------------------------------------------


def test_nothing_that_a_person_gets_names_arm_or_model(tmp_path, server, monkeypatch):
    monkeypatch.setenv("EQLAB_API_KEY", "sk-very-secret-key-1234567890")
    server.reply = lambda body, number: "Reply."
    names = [*ARMS, *ARMS.values(), "sk-very", f"127.0.0.1:{server.port}"]
    with talking(tmp_path, server) as site:
        person = site.person().begin()
        replies = [person.page]
        person.say("Hello.", 50).until_answered()
        replies += [person.page, person.client.get("/s/talk/talk/reply?lines=1"), person.client.get("/api/s/talk/page")]
        replies += [person.post(v_says="", headers={"Accept": "application/json"})]

        def fail(body, number):
            return web.json_response({"error": {"message": f"model {body['model']} is gone, key sk-very"}}, status=500)

        server.reply = fail
        person.say("And?", 50)
        person.until_answered()
        assert person.state == "down"
        replies += [person.page, person.client.get("/s/talk/talk/reply?lines=2")]
        for reply in replies:
            told = reply.text + str(reply.headers)
            assert not [name for name in names if re.search(rf"\b{re.escape(name)}\b", told)], reply.url
    assert "Bearer sk-very-secret-key-1234567890" in str(server.headers[0])
