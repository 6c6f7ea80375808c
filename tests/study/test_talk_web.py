"""A talk on the web, over HTTP against a scripted model: both seats, every way it can end, and how to break it."""

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
from sqlalchemy import select
from talk_case import ARMS, HELP, MACHINE, talk_design, talking

from eqlab.store.schema import answers, talk_calls, trials
from eqlab.store.study.erase import erase_person
from eqlab.study.results.export import export_all
from eqlab.study.results.participants import read_participants

pytest.importorskip("fastapi")


def calls(site):
    with site.participation.store.engine.connect() as connection:
        return connection.execute(select(talk_calls)).all()


def one(site):
    (person,) = read_participants(site.participation).people
    return person


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
                if line.startswith(": the other"):
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

    slow = replace(design, study=replace(design.study, talk=replace(design.study.talk, least_wait=1.5)))
    with talking(tmp_path, server, slow) as site:
        person = site.person().begin()
        begun = time.monotonic()
        person.post(v_says="Hello.", v_emotion=50, headers={"Accept": "application/json"})
        time.sleep(0.4)
        assert person.look().state == "wait"
        assert "Quick." not in person.text
        person.until_answered()
        assert person.lines[-1] == ("other", "Quick.")
        assert time.monotonic() - begun > 1.4


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


# -- when the model fails --------------------------------------------------------------------------------------------


def down(body, number):
    return web.json_response({"error": {"message": "overloaded"}}, status=500)


def test_a_model_that_is_down_keeps_the_place_and_can_be_tried_again(tmp_path, server):
    server.reply = down
    with talking(tmp_path, server) as site:
        person = site.person().begin().say("Hello.", 50).until_answered()
        assert person.state == "down"
        assert "does not answer" in person.text
        asked = len(server.requests)
        for _ in range(3):
            assert person.look().state == "down"
        assert len(server.requests) == asked, "looking asks nobody"
        server.reply = lambda body, number: "I am back."
        person.page = person.post("retry")
        person.until_answered()
        assert person.lines == [("you", "Hello."), ("other", "I am back.")]
        assert [call.state for call in calls(site)] == ["lost", "done"]
        events = [event.kind for event in read_participants(site.participation).events]
        assert events.count("down") == 1


def test_without_the_model_people_go_on_to_the_code(tmp_path, server):
    server.reply = down
    with talking(tmp_path, server) as site:
        person = site.person().begin().say("Hello.", 50).until_answered()
        person.page = person.post("without")
        person.rate().finish()
        assert "C-COMPLETE" in person.text
        assert site.turns()[-1][4] == "down"


def test_where_the_file_says_so_people_can_only_wait(tmp_path, server):
    server.reply = down
    with talking(tmp_path, server, talk='if_down = "wait"') as site:
        person = site.person().begin().say("Hello.", 50).until_answered()
        assert "your place is kept" in person.text
        assert 'value="without"' not in person.page.text
        assert person.post("without", headers={"Accept": "application/json"}).json()["outcome"] == "refused"


def test_a_model_that_hangs_counts_as_down(tmp_path, server):
    hang = threading.Event()

    async def hold(body):
        await asyncio.get_running_loop().run_in_executor(None, hang.wait, 30)

    server.before = hold
    with talking(tmp_path, server, patience=1) as site:
        begun = time.monotonic()
        person = site.person().begin().say("Hello.", 50).until_answered()
        assert person.state == "down"
        assert time.monotonic() - begun < 20
        hang.set()


def refused(body, number):
    choice = {"index": 0, "finish_reason": "content_filter", "message": {"role": "assistant", "content": ""}}
    return {"choices": [choice], "usage": {}}


def empty(body, number):
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": " "}}]}


@pytest.mark.parametrize(("reply", "status"), [(refused, "refused"), (empty, "unparseable")])
def test_a_filter_or_nothing_but_silence_ends_the_talk_with_a_last_feeling(tmp_path, server, reply, status):
    server.reply = reply
    with talking(tmp_path, server) as site:
        person = site.person().begin().say("Hello.", 50).until_answered()
        assert person.state == "say"
        assert "No reply has come" in person.text
        assert 'name="v.says"' not in person.page.text
        person.say("", 20)
        assert "The other one understood me." in person.text
        assert status in [one[1] for one in site.turns()]
        from eqlab.benchmarks.dialogue.talked import talks_of

        (talk,) = talks_of(one(site).turns)
        assert (talk.end, talk.final, talk.outcome) == ("silence", 20, "failure")


def test_thinking_is_kept_from_the_person(tmp_path, server):
    server.reply = lambda body, number: "<think>The user seems sad, secret plan.</think>How are you?"
    with talking(tmp_path, server) as site:
        person = site.person().begin().say("Hello.", 50).until_answered()
        assert person.lines[-1] == ("other", "How are you?")
        assert "secret plan" not in person.page.text


# -- limits --------------------------------------------------------------------------------------------------------


def test_a_person_who_has_used_up_their_calls_goes_on(tmp_path, server):
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server, talk="max_calls_person = 1") as site:
        person = site.person().begin().say("Hello.", 50).until_answered()
        person.say("More.", 50).until_answered()
        assert person.state == "spent"
        assert "cannot go on" in person.text
        person.page = person.post("without")
        person.rate().finish()
        assert "C-COMPLETE" in person.text
        other = site.person("p-2").begin().say("Hello.", 50).until_answered()
        assert other.lines[-1] == ("other", "Reply.")
    assert len(server.requests) == 2


def test_the_whole_studys_calls_are_limited_too(tmp_path, server):
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server, talk="max_calls = 1\nmax_calls_person = 1") as site:
        site.person().begin().say("Hello.", 50).until_answered()
        other = site.person("p-2").begin().say("Hello.", 50).until_answered()
        assert other.state == "spent"
    assert len(server.requests) == 1


def test_money_is_reserved_at_its_worst_and_settled_at_what_it_took(tmp_path, server, monkeypatch):
    prices = tmp_path / "prices.toml"
    prices.write_text(
        'date = "2026-01-01"\ncurrency = "USD"\nsource = "test"\n'
        + "".join(f'[[price]]\nmodels = ["{spec}"]\ninput = 1000.0\noutput = 1000.0\n' for spec in ARMS.values())
    )
    monkeypatch.setenv("EQLAB_PRICES", str(prices))
    server.reply = lambda body, number: {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Reply."}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }
    with talking(tmp_path, server, talk="max_cost = 2.0") as site:
        person = site.person().begin().say("Hello.", 50).until_answered()
        (call,) = calls(site)
        assert call.cost == pytest.approx(0.11)
        for _ in range(2):
            person.say("More.", 50).until_answered()
        spent = sum(call.cost for call in calls(site))
        assert spent <= 2.0


def test_messages_in_a_minute_are_limited_and_the_text_is_kept(tmp_path, server):
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server, talk="per_minute = 1") as site:
        person = site.person().begin().say("Hello.", 50).until_answered()
        person.page = person.post(v_says="Too soon.", v_emotion=50)
        assert person.page.status_code == 429
        assert "Too soon." in person.text
        assert "wait a moment" in person.text
    assert len(server.requests) == 1


# -- stopping, leaving, erasing --------------------------------------------------------------------------------------


def test_somebody_who_stops_is_told_and_gets_what_was_promised(tmp_path, server):
    server.reply = lambda body, number: "Reply."
    design = talk_design(tmp_path, f"http://127.0.0.1:{server.port}/v1")
    from dataclasses import replace

    withheld = replace(design, study=replace(design.study, talk=replace(design.study.talk, told="debrief")))
    with talking(tmp_path, server, withheld) as site:
        person = site.person()
        assert MACHINE not in person.text
        person.begin().say("Hello.", 50).until_answered()
        assert MACHINE not in person.text
        gone = person.client.post("/s/talk/stop", content="what=keep")
        assert MACHINE in gone.text
        assert "this is what it was about" in gone.text
        assert "C-COMPLETE" in gone.text
        assert HELP in gone.text
        other = site.person("p-2").begin().say("Secret words.", 50).until_answered()
        deleted = other.client.post("/s/talk/stop", content="what=delete")
        assert MACHINE in deleted.text
        assert "C-COMPLETE" in deleted.text


def test_consent_says_that_it_is_a_machine(tmp_path, server):
    with talking(tmp_path, server) as site:
        assert MACHINE in site.person().text


def test_nobody_gets_a_code_before_a_talk_or_where_none_is_promised(tmp_path, server):
    with talking(tmp_path, server, talk='stopped = "nothing"') as site:
        person = site.person().begin()
        assert "C-COMPLETE" not in person.client.post("/s/talk/stop", content="what=keep").text


def test_closing_a_talk_without_a_word_counts_as_left(tmp_path, server):
    server.reply = lambda body, number: "Feeling: ok\nEmotion: 44\nLeaves: no\nSays: Go on."
    with talking(tmp_path, server, top="limit = 2", talk='person = "listener"') as site:
        person = site.person().begin().say("I hear you.").until_answered()
        person.page = person.post("close")
        assert "The other one understood me." in person.text
        from eqlab.benchmarks.dialogue.talked import talks_of

        (talk,) = talks_of(one(site).turns)
        assert (talk.end, talk.final, talk.outcome) == ("left", 44, "open")


def test_leaving_while_the_model_writes_keeps_nothing_that_comes_later(tmp_path, server):
    release = threading.Event()

    async def hold(body):
        await asyncio.get_running_loop().run_in_executor(None, release.wait, 20)

    server.before, server.reply = hold, lambda body, number: "Too late."
    with talking(tmp_path, server) as site:
        person = site.person().begin()
        person.post(v_says="Hello.", v_emotion=50, headers={"Accept": "application/json"})
        person.look()
        person.page = person.post("close")
        assert "The other one understood me." in person.text
        release.set()
        deadline = time.monotonic() + 10
        while calls(site)[0].state == "asked" and time.monotonic() < deadline:
            time.sleep(0.05)
        assert calls(site)[0].state == "done"
        assert "Too late." not in str(site.turns())


def test_erasing_takes_the_words_everywhere(tmp_path, server):
    server.reply = lambda body, number: f"You said {body['messages'][-1]['content']}"
    secret = "my-cat-is-called-Xanthippe"
    with talking(tmp_path, server) as site:
        kept = site.person("p-0").begin().say("Nothing special.", 50).until_answered()
        person = site.person().begin().say(secret, 50).until_answered()
        person.say(f"{secret} again", 50, v_feeling=secret).until_answered()
        store = site.participation.store
        who = read_participants(site.participation).people[-1].person
        with store.engine.connect() as connection:
            assert secret in str(connection.execute(select(trials.c.body)).all())
        erase_person(site.participation, who)
        with store.engine.connect() as connection:
            for table in (trials, answers):
                assert secret not in str(connection.execute(select(table)).all())
            assert [row.person for row in connection.execute(select(talk_calls))].count(None) == 2
        kept.say("Still here.", 50).until_answered()
        assert kept.lines[-1] == ("other", "You said Still here.")
        store.engine.dispose()
        assert all(secret.encode() not in path.read_bytes() for path in tmp_path.glob("store.db*"))
