"""Talks in the JSON API: a program holds one from the first turn to the last, is told what a person is told and no
more, and nothing it sends breaks the server."""

import json
import time

import httpx
import pytest
from talk_case import PANEL, calls, one, talking
from test_web_api import fuzz, schemathesis
from web_case import enter

from eqlab.study.web.api import TalkBody

pytest.importorskip("fastapi")


@pytest.fixture
def site(tmp_path, server):
    server.reply = lambda body, number: f"Reply to {body['messages'][-1]['content']}"
    with talking(tmp_path, server) as made:
        yield made


class Program:
    def __init__(self, site):
        self.client = httpx.Client(base_url=site.base, headers={"Origin": site.base}, timeout=30, follow_redirects=True)
        site.people.append(self)
        self.client.get("/s/talk", params={PANEL.person: "p-1"})

    def begin(self):
        assert self.client.post("/api/s/talk/page", json={"step": 0, "agree": True}).json()["outcome"] == "saved"
        return self

    def look(self):
        return self.client.get("/api/s/talk/talk")

    def until_answered(self):
        deadline = time.monotonic() + 30
        while (told := self.look().json())["state"] == "wait" and time.monotonic() < deadline:
            time.sleep(0.02)
        return told

    def turn(self, **body):
        now = self.look().json()
        return self.client.post("/api/s/talk/talk", json={"step": now["step"], "turn": now["turn"], **body})


def test_a_program_holds_a_talk(site, server):
    program = Program(site).begin()
    assert program.client.get("/api/s/talk/page").json()["kind"] == "talk"
    now = program.look().json()
    assert set(now) == set(TalkBody.model_fields)
    assert (now["state"], now["turn"], now["lines"], now["feels"], now["ends"]) == ("say", 0, [], True, False)
    sent = {"step": now["step"], "turn": 0, "says": "One.", "feeling": "so", "emotion": 40}
    assert program.client.post("/api/s/talk/talk", json=sent).json() == {"outcome": "kept", "problems": {}}
    assert program.client.post("/api/s/talk/talk", json=sent).json()["outcome"] == "again"
    now = program.until_answered()
    assert now["lines"] == [{"who": "you", "text": "One."}, {"who": "other", "text": "Reply to One."}]
    assert (now["turn"], now["emotion"], now["ends"]) == (2, 40, True)
    assert program.turn(do="satisfied", emotion=80).json()["outcome"] == "kept"
    assert program.look().status_code == 409
    assert program.client.get("/api/s/talk/page").json()["kind"] == "trial"
    assert len(server.requests) == 1
    assert [answer.values.get("emotion") for turn in one(site).turns for answer in turn.attempts] == [40, None, 80]


def test_it_is_told_no_name_and_no_arm(site):
    program = Program(site).begin()
    program.turn(says="One.", emotion=40)
    told = json.dumps(program.until_answered()) + program.client.get("/openapi.json").text
    assert not [word for word in ("good-model", "bad-model", "kestrel", "heron") if word in told]


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({"emotion": 40}, {"says": "missing"}),
        ({"says": " \r\n ", "emotion": 40}, {"says": "missing"}),
        ({"says": "Hello."}, {"emotion": "missing"}),
        ({"says": "x" * 3000, "emotion": 40}, {"says": "long"}),
        ({"do": "without"}, {}),
    ],
)
def test_a_refusal_names_the_field(site, server, body, problems):
    assert Program(site).begin().turn(**body).json() == {"outcome": "refused", "problems": problems}
    assert not server.requests


@pytest.mark.parametrize("body", [{"emotion": 101}, {"emotion": "40"}, {"do": "dance"}, {"leaves": 1}, {"says": None}])
def test_what_is_no_turn_is_not_read(site, body):
    assert Program(site).begin().turn(**body).status_code == 422


def test_limits_hold_for_programs_too(tmp_path, server):
    server.reply = lambda body, number: "Mhm."
    with talking(tmp_path, server, talk="per_minute = 1") as site:
        program = Program(site).begin()
        assert program.turn(says="One.", emotion=40).status_code == 200
        program.until_answered()
        busy = program.turn(says="Two.", emotion=40)
        assert (busy.status_code, busy.json()) == (429, {"outcome": "busy", "problems": {"talk": "busy"}})
        assert len(calls(site)) == 1
        assert (
            program.turn(do="hurt", emotion=10).json()["outcome"] == "kept"
        )  # asks no model: nobody is kept in a talk
        assert program.look().status_code == 409


def test_strangers_and_other_sites_are_turned_away(site, make_site):
    program = Program(site).begin()
    stranger = {"headers": {"Origin": site.base}}
    assert httpx.get(f"{site.base}/api/s/talk/talk").status_code == 401
    assert httpx.post(f"{site.base}/api/s/talk/talk", json={"step": 1, "turn": 0}, **stranger).status_code == 401
    far = program.client.post("/api/s/talk/talk", json={"step": 1, "turn": 0}, headers={"Origin": "http://far.test"})
    assert far.status_code == 403
    client = make_site().browser()
    enter(client)
    assert client.get("/api/s/small/talk").status_code == 404


def test_fuzzed_by_its_own_description(site):
    program = Program(site).begin()
    cookie = f"eqlab_talk={program.client.cookies['eqlab_talk']}"
    schema = schemathesis.openapi.from_url(f"{site.base}/openapi.json")
    seen: list[int] = []
    for found in schema.get_all_operations():
        if found.ok().path.endswith("/talk"):
            fuzz(found.ok(), cookie, seen, "talk")
    assert {200, 404, 422} <= set(seen)
    assert len(seen) >= 60


def test_words_that_cannot_be_kept_whole_are_refused(site):
    """ "kept", it said, of a feeling that was cut and of words that were thrown away."""
    program = Program(site).begin()
    told = program.turn(says="One.", feeling="x" * 501, emotion=40).json()
    assert told == {"outcome": "refused", "problems": {"feeling": "long"}}
    assert program.turn(says="One.", feeling="x" * 500, emotion=40).json()["outcome"] == "kept"
    for says in ("Two.", "Three."):
        program.until_answered()
        program.turn(says=says, emotion=50)
    now = program.until_answered()
    assert (now["state"], now["speaks"]) == ("say", False)
    told = program.turn(says="And one more.", emotion=44, do="satisfied").json()
    assert told == {"outcome": "refused", "problems": {"says": "unasked"}}
    assert program.turn(emotion=44, do="satisfied").json()["outcome"] == "kept"
    assert [len(values["feeling"]) for seat, *_, values, _ in site.turns() if seat] == [500, 0, 0, 0]
