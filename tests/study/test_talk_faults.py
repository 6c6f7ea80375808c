"""A talk that goes wrong or ends early: a model that is down, limits, stopping, leaving, erasing."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from unittest.mock import AsyncMock, Mock

import pytest
from aiohttp import web
from conftest import completion
from sqlalchemy import select
from talk_case import HELP, MACHINE, calls, one, price_file, talk_design, talking
from web_case import SECRET

from eqlab.benchmarks.dialogue.study import WORDS
from eqlab.core.errors import StoreError
from eqlab.core.studied import Truth
from eqlab.core.study import Pay
from eqlab.store.schema import answers, talk_calls, trials
from eqlab.store.study.places import read_places
from eqlab.store.study.records import erase, erase_person
from eqlab.store.study.talks import calls_in
from eqlab.study import conversations as room
from eqlab.study.results.participants import read_participants
from eqlab.study.results.people import approvals
from eqlab.study.results.status import study_status, summarise
from eqlab.study.simulation.simulate import Simulation, walk
from eqlab.study.simulation.walk import Address
from eqlab.study.web.log import alerts

pytest.importorskip("fastapi")


# -- from two tabs --


def test_words_that_were_said_before_are_said_in_this_turn_or_dropped(tmp_path, server):
    """Another tab was quicker; whoever had said the same in any turn before, or with another line beside it, was told
    that it was there."""
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server, talk="why = true") as site:
        person = site.person().begin()
        person.say("I see.", 40).until_answered()
        step, turn = person.place
        person.say("Now something else.", 41, v_feeling="better").until_answered()
        program = {"step": step, "turn": turn, "says": "I see.", "emotion": 40}
        for more in ({}, {"says": "Now something else.", "emotion": 41}):
            told = person.client.post("/api/s/talk/talk", json=program | more).json()
            assert told == {"outcome": "again", "problems": {"talk": "dropped"}}
        same = {"says": "Now something else.", "emotion": 41, "feeling": "better"}
        assert person.client.post("/api/s/talk/talk", json=program | same).json()["problems"] == {}


def test_a_message_that_another_tab_was_quicker_than_is_told_and_kept_for_the_next_turn(tmp_path, server):
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server) as site:
        person = site.person().begin()
        step, turn = person.place
        body = {"step": step, "turn": turn, "do": "send", "v.emotion": "40"}

        def send(says, **more):
            return person.client.post("/s/talk/talk", data={**body, "v.says": says}, **more)

        as_json = {"headers": {"accept": "application/json"}}
        assert send("Here.", **as_json).json()["outcome"] == "kept"
        person.until_answered()
        assert send("Here.", **as_json).json()["problems"] == {}  # sent twice: nothing is lost
        told = send("There, at length.", **as_json).json()
        assert (told["outcome"], told["problems"]) == ("again", {"": WORDS["dropped"]})
        page = send("There, at length.")
        assert page.status_code == 409
        assert WORDS["dropped"] in page.text
        assert ">There, at length.</textarea>" in page.text
        program = {"step": step, "turn": turn, "says": "There, at length.", "emotion": 40}
        found = person.client.post("/api/s/talk/talk", json=program).json()
        assert found == {"outcome": "again", "problems": {"talk": "dropped"}}
        assert [said for seat, _, said, *_ in site.turns() if seat and "There" in said] == []


@pytest.mark.parametrize("least_wait", [0.0, 60.0])
def test_a_talk_can_be_ended_while_its_reply_is_held_back_or_shown(tmp_path, server, least_wait):
    """The reply was a turn already in the store, and none on the page: the button did nothing."""
    server.reply = lambda body, number: "Reply."
    design = talk_design(tmp_path, f"http://127.0.0.1:{server.port}/v1")
    terms = replace(design.study.talk, least_wait=least_wait)
    design = replace(design, study=replace(design.study, talk=terms))
    with talking(tmp_path, server, design) as site:
        person = site.person().begin()
        step, turn = person.place
        body = {"step": step, "turn": turn + 1, "do": "close"}
        assert person.post(v_says="Hello.", v_emotion=40, headers={"accept": "application/json"}).json()
        deadline = time.monotonic() + 30
        while len(site.turns()) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        told = person.client.post("/s/talk/talk", data=body, headers={"accept": "application/json"}).json()
        assert told["outcome"] == "kept"
        assert person.look().state is None  # on to the page after
        assert [finish for *_, finish in site.turns()][-1] == "left"


def test_who_stops_for_pay_is_not_asked_to_return_and_is_approved(tmp_path, server):
    server.reply = lambda body, number: "Reply."
    (tmp_path / "ids.csv").write_text("PID\nearly\nstops\nnobody\n")
    with talking(tmp_path, server) as site:
        early, stops = site.person("early"), site.person("stops")
        early.client.post("/s/talk/page", data={"step": "0", "agree": "no"})
        stops.begin().say("Hello.", 40).until_answered()
        assert "return your submission" not in stops.client.get("/s/talk/stop").text
        assert "C-COMPLETE" in stops.client.post("/s/talk/stop", data={"what": "keep"}).text
        found = approvals(site.participation, SECRET, tmp_path / "ids.csv")
        design = site.participation.design
        paid = replace(design, study=replace(design.study, pay=Pay(reward=2.0, fee=0.5)))
        rooms = read_places(site.participation.store, design.study.id)
        cost = summarise(paid, read_participants(site.participation), rooms, 0.0).budget
        stops.client.post("/s/talk/stop", data={"what": "delete"})
        later = approvals(site.participation, SECRET, tmp_path / "ids.csv")
    assert [one.state for one in later] == ["declined", "erased", "unknown"]
    assert cost.spent == 3.0  # the one who stopped is paid like those who complete
    assert cost.expected == 3.0 * (1 + len(rooms))
    assert [(one.state, one.advice, one.code) for one in found] == [
        ("declined", "return", "C-DECLINED"), ("stopped", "approve", "C-COMPLETE"), ("unknown", "look at it", ""),
    ]  # fmt: skip


def test_a_failed_renewal_of_a_question_is_not_the_last_one(tmp_path, server, monkeypatch):
    """A database that was restarted ended all renewals, and another server asked, and paid for, the same question."""
    monkeypatch.setattr(room, "_BEAT", 0.05)
    renewed = []

    def renew(*_):
        renewed.append(1)
        if len(renewed) == 1:
            raise StoreError("The database is away.", "Wait.")

    monkeypatch.setattr(room, "renew_call", renew)
    server.delay = 1.0
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server) as site:
        site.person().begin().say("Hello.", 40).until_answered()
    assert len(renewed) > 2


def away(step, times):
    """A step that finds the database away so often."""

    def tried(*args, **kwargs):
        tried.times += 1
        if tried.times <= times:
            raise StoreError("The database is away.", "Wait.")
        return step(*args, **kwargs)

    tried.times = 0
    return tried


def test_a_reply_that_came_while_the_database_was_away_is_kept_and_its_money_true(tmp_path, server, monkeypatch):
    """It was thrown away, counted at its worst for ever, and the person read that no reply comes."""
    price_file(tmp_path, monkeypatch)
    ending = away(room.end_call, 3)
    monkeypatch.setattr(room, "end_call", ending)
    monkeypatch.setattr(room, "_POLL", 0.05)
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server, talk="max_cost = 50.0") as site:
        person = site.person().begin().say("Hello.", 40).until_answered()
        assert person.lines[-1] == ("other", "Reply.")
        (call,) = calls(site)
    assert (call.state, call.cost) == ("done", pytest.approx(0.007))
    assert (ending.times, len(server.requests)) == (4, 1)


def test_a_database_that_stays_away_for_a_minute_ends_the_waiting(tmp_path, server, monkeypatch, caplog):
    monkeypatch.setattr(room, "end_call", away(room.end_call, 10**6))
    monkeypatch.setattr(room, "PATIENCE", 1.2)
    monkeypatch.setattr(room, "_POLL", 0.05)
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server, patience=1) as site:
        assert site.person().begin().say("Hello.", 40).until_answered().state == "down"
    assert "talk failed" in caplog.text


def test_a_stop_waits_no_longer_for_a_database_that_is_away(tmp_path, server, monkeypatch):
    monkeypatch.setattr(room, "_LAST_REPLIES", 0.2)
    monkeypatch.setattr(room, "_LAST_WRITES", 0.2)
    ending = away(room.end_call, 10**6)
    monkeypatch.setattr(room, "end_call", ending)
    monkeypatch.setattr(room, "_POLL", 0.05)
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server) as site:
        site.person().begin().post(v_says="Hello.", v_emotion=40, headers={"Accept": "application/json"})
        deadline = time.monotonic() + 30
        while ending.times < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert ending.times >= 2
        stopping = time.monotonic()
    assert time.monotonic() - stopping < 20, "and not until the minute is over"


def test_a_question_that_no_database_could_write_down_is_asked_when_it_is_back(tmp_path, server, monkeypatch):
    beginning = away(room.begin_call, 2)
    monkeypatch.setattr(room, "begin_call", beginning)
    monkeypatch.setattr(room, "_BEAT", 0.05)
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server) as site:
        person = site.person().begin().say("Hello.", 40).until_answered()
        assert person.lines[-1] == ("other", "Reply.")
    assert (beginning.times, len(server.requests)) == (3, 1)


def test_a_stream_of_somebody_who_deletes_elsewhere_comes_to_its_end(tmp_path, server, caplog):
    server.delay = 2.0
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server) as site:
        person = site.person().begin()
        person.post(v_says="Hello.", v_emotion=40, headers={"accept": "application/json"})
        with person.client.stream("GET", "/s/talk/talk/reply?lines=1") as stream:
            lines = stream.iter_lines()
            assert next(lines)
            erase(site.participation, one(site).person, "person")
            assert "event: done" in list(lines)
    assert "without completing response" not in caplog.text


@pytest.mark.parametrize("state", ["banned", "returned", "stopped"])
def test_who_was_sent_away_gets_no_code_by_deleting(tmp_path, server, state):
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server) as site:
        person = site.person().begin().say("Hello.", 40).until_answered()
        if state == "stopped":
            person.client.post("/s/talk/stop", data={"what": "keep"})
        else:
            site.participation.send_away(one(site).person, state, "ada")
        gone = person.client.post("/s/talk/stop", data={"what": "delete"})
        assert gone.status_code == 200
        assert ("C-COMPLETE" in gone.text) == (state == "stopped")


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
        assert [call.state for call in calls(site)] == ["retried"] * 3 + ["done"]
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


def test_half_a_letter_in_a_reply_ends_no_talk(tmp_path, server):
    """It could not be encoded: the turn was never settled, and the model asked anew whenever a lease was over."""
    server.reply = lambda body, number: {"choices": [{"message": {"content": "So sorry \ud83d"}}]}  # nobody counts
    with talking(tmp_path, server) as site:
        person = site.person().begin().say("Hello.", 50).until_answered()
        assert person.lines[-1] == ("other", "So sorry ?")
        assert [call.state for call in calls(site)] == ["done"]


@pytest.mark.parametrize("step", ["eqlab.study.conversations.ask_one", "eqlab.study.conversations.request_of"])
def test_a_fault_of_our_own_is_told_and_the_model_not_asked_again_and_again(tmp_path, server, monkeypatch, step):
    fault = AsyncMock if step.endswith("ask_one") else Mock
    monkeypatch.setattr(step, fault(side_effect=ZeroDivisionError))
    with talking(tmp_path, server) as site:
        person = site.person().begin().say("Hello.", 50).until_answered()
        assert person.state == "down"
        assert {call.state for call in calls(site)} <= {"lost"}
        monkeypatch.undo()
        server.reply = lambda body, number: "I am back."
        person.page = person.post("retry")
        assert person.until_answered().lines[-1] == ("other", "I am back.")


# -- a model is many people's: nobody's question is another's ---------------------------------------------------------


def answered(status, text, **headers):
    return lambda: web.Response(status=status, text=text, content_type="application/json", headers=headers)


REFUSALS = {
    "no credit": answered(402, '{"error": {"message": "Insufficient credits"}}'),
    "no key": answered(401, '{"error": {"message": "Invalid key"}}'),
    "no right": answered(403, '{"statusCode": 403, "message": "Forbidden by policy 7."}'),
    "not there": answered(404, '{"error": {"message": "The model does not exist."}}'),
    "rate": answered(429, '{"error": {"message": "Slow down."}}', **{"Retry-After": "0.1"}),
    "gateway": answered(503, "<html><title>Away</title></html>", **{"Retry-After": "0.1"}),
}
ONE_ARM = {"only": "good-model-x1"}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_a_model_that_is_back_answers_the_next_question_whatever_it_said_before(tmp_path, server, refusal, caplog):
    """An outage longer than `patience`, or one refusal, ended an arm until the study's server was restarted."""
    server.reply = lambda body, number: refusal()
    with talking(tmp_path, server, arms=ONE_ARM, patience=1) as site:
        people = [site.person(f"p-{n}").begin().say("Hello.", 50).until_answered() for n in range(2)]
        assert [person.state for person in people] == ["down", "down"]
        told = [alert for alert in alerts(study_status(site.participation)) if alert.about == "model only 0"]
        assert len(told) == 1
        assert "2 people asked in vain" in told[0].text
        server.reply = lambda body, number: "I am back."
        for _ in range(10):  # after a rate was refused, the next question waits for a while
            if people[0].state == "down":
                people[0].page = people[0].post("retry")
                people[0].until_answered()
        assert people[0].lines[-1] == ("other", "I am back.")
        newcomer = site.person("p-9").begin().say("Hello.", 50).until_answered()
        assert newcomer.lines[-1] == ("other", "I am back.")
        assert not study_status(site.participation).silences
    logged = [record.getMessage() for record in caplog.records if "a model" in record.getMessage()]
    assert logged == ["a model does not answer"]  # once an outage; that it is over is less than a warning


def test_a_server_that_comes_up_after_the_studys_is_found(tmp_path, server):
    """Two people who came between ended the arm for all."""
    design = talk_design(tmp_path, f"http://127.0.0.1:{server.port}/v1", arms=ONE_ARM, patience=10)
    with talking(tmp_path, server, design) as site:
        (chat,) = site.served.talks._chats.values()
        there, chat._endpoint = chat._endpoint, replace(chat._endpoint, base_url="http://127.0.0.1:9/v1")
        assert site.person().begin().say("Hello.", 50).until_answered().state == "down"
        chat._endpoint = there
        server.reply = lambda body, number: "Here."
        assert site.person("p-2").begin().say("Hello.", 50).until_answered().lines[-1] == ("other", "Here.")


@pytest.mark.parametrize("words", ["Request failed content safety check.", "Your words are not allowed here."])
def test_a_filter_of_one_persons_words_ends_no_talk_of_others(tmp_path, server, words):
    """Azure's API Management answers 403, which was taken for the key's: one message ended an arm."""
    blocked = answered(403, f'{{"statusCode": 403, "message": "{words}"}}')
    server.reply = lambda body, number: blocked() if "harm" in body["messages"][-1]["content"] else "Reply."
    with talking(tmp_path, server, arms=ONE_ARM) as site:
        before = site.person("p-1").begin().say("Hello.", 50).until_answered()
        filtered = site.person("p-2").begin().say("I want to harm myself.", 5).until_answered()
        assert filtered.state == ("say" if "content safety" in words else "down")
        assert ("No reply has come" in filtered.text) == ("content safety" in words)
        assert before.say("Still here.", 50).until_answered().lines[-1] == ("other", "Reply.")
        assert site.person("p-3").begin().say("Hello.", 50).until_answered().lines[-1] == ("other", "Reply.")


def test_one_persons_long_messages_leave_others_their_room(tmp_path, server):
    """vLLM's words about one prompt were learnt as a limit of the model: everybody's replies were cut at it."""
    context = 400

    def reply(body, number):
        prompt, room = sum(len(message["content"]) for message in body["messages"]) // 4, body["max_tokens"]
        if room <= context - prompt:
            return completion("word " * min(room, 60), finish="length" if room < 60 else "stop")
        words = (
            f"'max_tokens' or 'max_completion_tokens' is too large: {room}. This model's maximum context length is "
            f"{context} tokens and your request has {prompt} input tokens ({room} > {context} - {prompt})."
        )
        error = {"message": words, "type": "BadRequestError", "param": "max_tokens", "code": 400}
        return web.json_response({"error": error}, status=400)

    server.reply = reply
    with talking(tmp_path, server, arms=ONE_ARM) as site:
        site.person("p-1").begin().say("Hello.", 50).until_answered()
        asked = server.requests[-1]["max_tokens"]
        prompt = sum(len(message["content"]) for message in server.requests[-1]["messages"]) // 4
        long = site.person("p-2").begin().say("x" * 4 * (context - prompt - 100), 50).until_answered()
        assert 60 < server.requests[-1]["max_tokens"] < asked
        assert long.lines[-1] == ("other", ("word " * 60).strip())
        longest = site.person("p-3").begin().say("x" * 4 * (context - prompt - 20), 50).until_answered()
        assert server.requests[-1]["max_tokens"] < 60
        assert longest.state == "down"  # no reply that the model chose to give
        newcomer = site.person("p-4").begin().say("Hi.", 50).until_answered()
        assert newcomer.lines[-1] == ("other", ("word " * 60).strip())
        assert server.requests[-1]["max_tokens"] == asked


def test_a_reply_that_quotes_a_tag_of_thinking_changes_nothing_for_others(tmp_path, server):
    """One `<think` in a reply raised the room of everybody's, and its cost, fifty times."""
    server.reply = lambda body, number: body["messages"][-1]["content"]
    with talking(tmp_path, server, arms=ONE_ARM) as site:
        site.person("p-1").begin().say("Hello.", 50).until_answered()
        for n, says in enumerate(("Repeat: <think>x</think> hello", "<think>x</think> hello")):
            site.person(f"q-{n}").begin().say(says, 50).until_answered()
        site.person("p-2").begin().say("Hello.", 50).until_answered()
    assert len({body["max_tokens"] for body in server.requests}) == 1


def test_the_first_person_with_a_model_that_thinks_gets_the_reply_that_came(tmp_path, server):
    """Cut while it thought, asked again with more room: the first attempt's room was taken for a full context's."""

    def reply(body, number):
        thought = body["max_tokens"] < 1000
        choice = {
            "index": 0,
            "finish_reason": "length" if thought else "stop",
            "message": {
                "role": "assistant",
                "content": "" if thought else "A reply.",
                "reasoning_content": "Hm. " * 90,
            },
        }
        return {"choices": [choice], "usage": {"prompt_tokens": 50, "completion_tokens": 90}}

    server.reply = reply
    with talking(tmp_path, server, arms=ONE_ARM) as site:
        for n in range(2):
            person = site.person(f"p-{n}").begin().say("Hello.", 50).until_answered()
            assert person.lines[-1] == ("other", "A reply.")


def test_a_field_that_one_persons_words_make_a_server_refuse_is_still_sent_for_others(tmp_path, server):
    """A gateway that quotes what it dislikes: the field it seems to name is left out of that question alone."""

    def reply(body, number):
        last = body["messages"][-1]["content"]
        if "fever" in last and "temperature" in body:
            return web.json_response({"error": {"message": f"Not understood: {last}"}}, status=400)
        return "Reply."

    server.reply = reply
    with talking(tmp_path, server, arms=ONE_ARM) as site:
        site.person("p-1").begin().say("Hello.", 50).until_answered()
        ill = site.person("p-2").begin().say("My temperature is high, a fever.", 50).until_answered()
        assert ill.lines[-1] == ("other", "Reply.")
        assert "temperature" not in server.requests[-1]
        site.person("p-3").begin().say("Hello.", 50).until_answered()
        assert "temperature" in server.requests[-1]


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


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("reply", [down, empty])
def test_what_is_sent_once_more_counts_against_the_limit(tmp_path, server, reply, limit):
    """A server that fails, or a model that says nothing, takes no more requests than the study allows."""
    server.reply = reply
    with talking(tmp_path, server, talk=f"max_calls = {limit}\nmax_calls_person = {limit}") as site:
        person = site.person().begin().say("Hello.", 50).until_answered()
        for _ in range(2):
            if person.state == "down":
                person.page = person.post("retry")
                person.until_answered()
        assert calls_in(site.participation).calls == limit
        assert calls_in(site.participation).under_way == 0
    assert len(server.requests) == limit


def test_a_refusal_for_the_rate_uses_up_nothing(tmp_path, server):
    """A minute of 429 took somebody's whole allowance of questions, and money that nobody was asked for."""
    server.reply = lambda body, number: (
        "Reply." if number > 3 else web.json_response({"error": {"message": "rate limit"}}, status=429)
    )
    with talking(tmp_path, server, talk="max_calls = 1\nmax_calls_person = 1") as site:
        person = site.person().begin().say("Hello.", 50).until_answered()
        assert person.lines[-1] == ("other", "Reply.")
        assert calls_in(site.participation).calls == 1
    assert len(server.requests) == 4


def test_each_request_is_on_disk_before_it_is_sent(tmp_path, server):
    recorded = []

    def reply(body, number):
        recorded.append(len(calls(site)))
        return down(body, number)

    server.reply = reply
    with talking(tmp_path, server) as site:
        assert site.person().begin().say("Hello.", 50).until_answered().state == "down"
        assert recorded == [1, 2, 3]
        assert [call.state for call in calls(site)] == ["lost", "retried", "retried"]


def test_a_reply_that_was_empty_counts_against_the_limit_of_money(tmp_path, server, monkeypatch):
    """Room for one request at its worst is not room for two."""
    price_file(tmp_path, monkeypatch)
    silence = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ""}}
    server.reply = lambda body, number: {
        "choices": [silence],
        "usage": {"prompt_tokens": 10, "completion_tokens": body["max_tokens"]},
    }
    with talking(tmp_path, server) as site:
        site.person().begin().say("Hello.", 50).until_answered()
        first = calls(site)[0].cost / len(server.requests)
    asked = len(server.requests)
    assert asked == 2
    (tmp_path / "again").mkdir()
    with talking(tmp_path / "again", server, talk=f"max_cost = {1.5 * first}") as site:
        site.person().begin().say("Hello.", 50).until_answered()
        assert sum(call.cost for call in calls(site)) <= 1.5 * first
    assert len(server.requests) == asked + 1


def test_money_is_reserved_at_its_worst_and_settled_at_what_it_took(tmp_path, server, monkeypatch):
    price_file(tmp_path, monkeypatch, given=1000.0)
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


def untold(folder, server):
    """Whom they talk with is told at the end only."""
    design = talk_design(folder, f"http://127.0.0.1:{server.port}/v1")
    return replace(design, study=replace(design.study, talk=replace(design.study.talk, told="debrief")))


def test_somebody_who_stops_is_told_and_gets_what_was_promised(tmp_path, server):
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server, untold(tmp_path, server)) as site:
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


@pytest.mark.parametrize("broken", ["pressed twice", "reloaded", "the reply was lost"])
def test_who_deletes_is_told_of_the_machine_and_the_code_however_often_they_ask(broken, tmp_path, server):
    """ "We do not recognise you", said the second click, and the panel's link: please return your submission."""
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server, untold(tmp_path, server)) as site:
        person = site.person("p-7").begin().say("Hello.", 40).until_answered()
        client = person.client
        client.get("/s/talk/stop")
        lost = {} if broken == "reloaded" else dict(client.cookies.items())
        gone = client.post("/s/talk/stop", data={"what": "delete"})
        client.cookies.update(lost)  # the browser never saw the reply
        if broken == "pressed twice":
            gone = client.post("/s/talk/stop", data={"what": "delete"})
        for told in (gone, client.get("/s/talk/page"), client.get("/s/talk?PID=p-7"), client.get("/s/talk/deleted")):
            assert told.status_code == 200
            assert "C-COMPLETE" in told.text
            assert MACHINE in told.text
            assert "return your submission" not in told.text


@pytest.mark.parametrize("state", ["banned", "returned", "erased"])
def test_whose_talk_is_ended_by_others_still_has_the_help_line_and_is_told(state, tmp_path, server):
    server.reply = lambda body, number: "Reply."
    with talking(tmp_path, server, untold(tmp_path, server)) as site:
        person = site.person().begin().say("Hello.", 40).until_answered()
        if state == "erased":
            erase_person(site.participation, one(site).person)
        else:
            site.participation.send_away(one(site).person, state, "ada")
        for told in (person.client.get("/s/talk/page"), person.client.get("/s/talk?PID=p-1")):
            assert HELP in told.text
            assert (MACHINE in told.text and "this is what it was about" in told.text) == (state != "erased")
        assert HELP in person.client.get("/s/talk/nothing").text


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
            left = [row for row in connection.execute(select(talk_calls)) if row.person is None]
        # neither the hash of a message, which somebody could guess, nor when it was said
        assert [(row.trial_id, row.at, row.cost >= 0) for row in left] == [("", 0.0, True)] * 2
        kept.say("Still here.", 50).until_answered()
        assert kept.lines[-1] == ("other", "You said Still here.")
        store.engine.dispose()
        assert all(secret.encode() not in path.read_bytes() for path in tmp_path.glob("store.db*"))


# -- a rehearsal of it -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("talk", "reply", "ends"),
    [
        ("max_calls = 1", lambda body, number: "Mhm.", {"done"}),
        ('if_down = "go_on"', down, {"done"}),
        ('if_down = "wait"', down, {"left"}),
    ],
    ids=["no calls left", "down: go on", "down: wait"],
)
def test_simulated_people_take_what_the_page_offers_and_do_not_knock_for_ever(talk, reply, ends, tmp_path, server):
    server.reply = reply
    with talking(tmp_path, server, talk=talk, patience=2) as site:
        design = site.participation.design
        wanted = Simulation(3, Truth(10.0), {"honest": 1.0})
        walked = walk(design, Address(site.base, "talk", "PID", "sim-"), wanted, lambda _: None)
        assert {one.end for one in walked} == ends
        assert max(one.requests for one in walked) < 150, "looking for a reply included"


def test_nothing_of_who_has_left_goes_to_a_provider_whose_turn_they_waited_for(tmp_path, server):
    """They wrote while the model's rate was used up, deleted everything, read that it is gone, and were sent."""
    sent = []

    def reply(body, number):
        sent.append(body["messages"][-1]["content"])
        return web.Response(status=429, headers={"Retry-After": "4"}) if number == 1 else "Mhm."

    server.reply = reply
    with talking(tmp_path, server, patience=20, arms={"heron": "good-model-x1"}) as site:
        first, other = (site.person(name).begin() for name in ("p-1", "p-3"))
        (*_, leaver) = sorted(read_participants(site.participation).people, key=lambda one: one.arrived_at)
        with ThreadPoolExecutor() as at_once:  # a page waits for the reply
            at_once.submit(first.say, "The one who stays.", 40)
            time.sleep(0.7)
            at_once.submit(other.say, "The one who leaves.", 40)
            time.sleep(0.7)
            erase_person(site.participation, leaver.person)
        first.until_answered()
        time.sleep(1.5)
    assert any("The one who stays" in text for text in sent)
    assert not any("The one who leaves" in text for text in sent)


@pytest.mark.parametrize("status", [502, 503, 529])
def test_an_outage_reserves_nothing_twice(tmp_path, server, monkeypatch, status):
    """Each resend was reserved at its worst beside those before: the limit was reached with nothing spent."""
    price_file(tmp_path, monkeypatch, made=1000.0)
    server.reply = lambda body, number: web.Response(status=status) if number <= 4 else "Mhm."
    with talking(tmp_path, server, talk="max_cost = 0.6", patience=30) as site:
        assert site.person().begin().say("One.", 40).until_answered().lines[-1] == ("other", "Mhm.")
