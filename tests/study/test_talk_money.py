"""What the models of a talk study were asked and cost, for the researcher: on the page, as JSON, in the terminal."""

import asyncio
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from aiohttp import web
from conftest import completion
from in_thread import served
from sqlalchemy import insert, select, update
from talk_case import ARMS, price_file, talk_text, talking
from web_case import HASH, PASSWORD, Site

from eqlab.store.schema import talk_calls
from eqlab.store.study.researchers import read_audit
from eqlab.study import conversations as room
from eqlab.study.talks import model_calls

pytest.importorskip("fastapi")
LIMITS = "max_cost = 5.0\nmax_calls = 50\nmax_calls_person = 10"


@pytest.fixture
def asked(tmp_path, server, monkeypatch):
    """A study in which one reply came and another did not."""

    def go(priced, talk=LIMITS):
        price_file(tmp_path, monkeypatch, given=1000.0, made=2000.0, specs=priced)
        server.reply = lambda body, number: "Mhm." if number == 1 else web.Response(status=500)
        with talking(tmp_path, server, talk=talk) as site:
            person = site.person().begin().say("One.", 40).until_answered()
            assert person.say("Two.", 50).until_answered().state == "down"
            return site.participation.design, model_calls(site.participation)

    return go


def page_of(folder, design):
    site = Site(folder, design, password_hash=HASH)
    client = site.browser()
    assert client.post("/researcher/login", data={"password": PASSWORD}).status_code == 200
    text = client.get("/researcher/talk").text
    told = client.get("/researcher/talk/status.json").json()
    site.close()
    found = re.findall(r"<dt>([^<]*)</dt><dd[^>]*>([^<]*)<small>([^<]*)</small>", text)
    return {name: (value, more) for name, value, more in found}, told


def test_calls_tokens_and_money_against_their_limits(asked, tmp_path, eqlab, server):
    design, found = asked(ARMS.values())
    taken = found.totals
    assert (taken.calls, taken.under_way, taken.failed) == (4, 0, 3)  # the second question was sent three times
    assert found.cost == pytest.approx((11 * 1000 + 7 * 2000) / 1e6), "one reply; a server that fails bills nothing"
    assert taken.tokens == 18
    cards, told = page_of(tmp_path, design)
    assert cards["Models asked"] == ("4", "of 50 calls at most; 0 under way, 3 failed")
    assert cards["Tokens of models"][0] == "18"
    assert cards["Cost of models"] == ("0.03 EUR", "of 5.00 EUR at most")
    assert told["models"]["totals"]["calls"] == 4
    (tmp_path / "talk.toml").write_text(talk_text(server.url, talk=LIMITS))
    said = eqlab("study", "status", "talk.toml", "--store", "store.db")
    assert (
        "Models were asked 4 times of 50 at most (0 under way, 3 failed): 18 tokens, cost 0.03 EUR of 5 at" in said.out
    )
    whole = json.loads(eqlab("study", "status", "talk.toml", "--store", "store.db", "--json").out)
    assert whole["models"]["currency"] == "EUR"


def test_the_researchers_page_has_the_talks_and_counts_them_as_a_look(asked, tmp_path):
    """`study export` wrote them, and the page knew nothing of them."""
    design, _ = asked(ARMS.values())
    site = Site(tmp_path, design, password_hash=HASH)
    client = site.browser()
    client.post("/researcher/login", data={"password": PASSWORD})
    assert 'href="/researcher/talk/export/talks.csv"' in client.get("/researcher/talk").text
    reply = client.get("/researcher/talk/export/talks.csv")
    assert (reply.status_code, "One." in reply.text) == (200, True)
    assert [one.action for one in read_audit(site.store, "talk")][-1] == "exported"
    site.close()


def test_a_price_that_is_not_known_is_no_zero(asked, tmp_path):
    design, found = asked(["another"], "")
    assert (found.cost, found.unpriced) == (None, tuple(sorted(ARMS.values())))
    cards, _ = page_of(tmp_path, design)
    assert cards["Cost of models"] == ("unknown", "no limit is set; no price is known of bad-model-x2, good-model-x1")


def test_what_is_left_out_of_the_cost_is_said(asked, tmp_path, eqlab, server):
    _, found = asked(["good-model-x1"], "")
    assert found.cost is not None
    assert found.unpriced == ("bad-model-x2",)
    (tmp_path / "talk.toml").write_text(talk_text(server.url))
    said = " ".join(eqlab("study", "status", "talk.toml", "--store", "store.db").out.split())
    assert "without bad-model-x2, whose price is not known." in said


def test_what_is_given_up_counts_with_the_room_that_it_had(tmp_path, server, monkeypatch):
    """A reply that is cut is asked for again with more room; slower than a person waits, it is billed all the same."""
    price_file(tmp_path, monkeypatch)
    rooms = []

    def cut(body, number):
        usage = {"prompt_tokens": 0, "completion_tokens": rooms[-1]}
        return {**completion("On and on. " * 40, body["model"], "length"), "usage": usage}

    async def slow(body):
        rooms.append(body.get("max_tokens") or body["max_completion_tokens"])
        await asyncio.sleep(30 * (len(rooms) - 1))

    server.reply, server.before = cut, slow
    with talking(tmp_path, server, talk="max_cost = 9.0", patience=1) as site:
        assert site.person().begin().say("Write me something long.", 40).until_answered().state == "down"
        counted = model_calls(site.participation).cost
    assert len(rooms) == 2
    assert rooms[1] > rooms[0]
    assert counted == pytest.approx(sum(rooms) / 1000)


def test_studies_without_talks_have_no_such_thing(make_site):
    site = make_site(password_hash=HASH)
    assert model_calls(site.participation) is None
    client = site.browser()
    client.post("/researcher/login", data={"password": PASSWORD})
    assert "Models asked" not in client.get("/researcher/small").text


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (
            "max_cost = 9.0\nmax_cost_person = 0.5",
            "max_cost_person = 0.5: no model is ever asked, for one reply may cost",
        ),
        ("max_cost = 0.5", "max_cost = 0.5: no model is ever asked"),
        (
            "max_cost = 90.0\nmax_cost_person = 9.0",
            "max_cost_person = 9 may end a person's talks early: 3 replies may cost",
        ),
        ("max_calls_person = 2", "max_calls_person = 2 ends talks early: they have 3 replies"),
        ("max_cost = 90.0\nmax_cost_person = 30.0", ""),
    ],
)
def test_a_limit_that_ends_every_talk_is_said_before_the_study_begins(limits, told, tmp_path, eqlab, monkeypatch):
    price_file(tmp_path, monkeypatch, given=1000.0, made=2000.0)
    (tmp_path / "talk.toml").write_text(talk_text(talk=limits))
    said = " ".join(eqlab("study", "check", "talk.toml", "--store", "store.db").out.split())
    assert told in said
    assert told or ("! talk" not in said and "early" not in said)


def test_room_for_thinking_is_in_what_a_reply_may_cost(tmp_path, eqlab, monkeypatch):
    """The arm of a model that thinks was never asked, and nobody had been warned."""
    price_file(tmp_path, monkeypatch, given=1000.0, made=2000.0)
    prices = tmp_path / "prices.toml"
    prices.write_text(prices.read_text().replace("output", "thinks = true\noutput"))
    (tmp_path / "talk.toml").write_text(talk_text(talk="max_cost = 900.0\nmax_cost_person = 30.0"))
    said = " ".join(eqlab("study", "check", "talk.toml", "--store", "store.db").out.split())
    assert "max_cost_person = 30: no model is ever asked" in said


def test_who_writes_while_others_replies_are_paid_for_waits(tmp_path, server, monkeypatch):
    """Of two who wrote at once, the limit held for the first one's reply at its worst: the other was told that it was
    reached, for good, when nothing had been spent."""
    price_file(tmp_path, monkeypatch, made=1000.0)
    server.reply, server.delay = lambda body, number: "Mhm.", 1.5
    with talking(tmp_path, server, talk="max_cost = 0.5") as site:
        one, other = (site.person(name).begin() for name in ("p-1", "p-2"))
        with ThreadPoolExecutor() as at_once:
            list(at_once.map(lambda person: person.say("One.", 40), (one, other)))
        assert one.until_answered().lines[-1] == other.until_answered().lines[-1] == ("other", "Mhm.")


def test_who_waits_for_others_replies_waits_no_longer_than_patience(tmp_path, server, monkeypatch):
    """Somebody at another server has reserved all that is left, and does not come to an end."""
    price_file(tmp_path, monkeypatch, made=1000.0)
    server.reply = lambda body, number: "Mhm."
    with talking(tmp_path, server, talk="max_cost = 0.5", patience=3) as site:
        participation = site.participation
        now = participation.clock()
        row = {"study_id": participation.study.id, "trial_id": "elsewhere", "at": now, "until": now + 50}
        with participation.store.engine.begin() as connection:
            connection.execute(insert(talk_calls), {**row, "state": "asked", "tokens": 0, "cost": 0.5})
        person = site.person().begin().say("One.", 40).until_answered()
        assert person.state == "down"
        with participation.store.engine.begin() as connection:
            connection.execute(update(talk_calls).values(state="answered", cost=0.0))
        assert person.say(do="retry").until_answered().lines[-1] == ("other", "Mhm.")


@pytest.mark.parametrize("limit", ["max_cost = 2.0", "max_cost = 9.0\nmax_cost_person = 2.0"])
def test_a_limit_holds_for_a_model_that_turns_out_to_think(limit, tmp_path, monkeypatch):
    """Who waited for the first reply was sent with room for thinking that nobody had reserved."""
    price_file(tmp_path, monkeypatch)
    rooms = []

    async def thinks(request):
        rooms.append((await request.json())["max_tokens"])
        await asyncio.sleep(0.05 if len(rooms) == 1 else 0.3)
        whole = completion("Mhm.") | {"usage": {"prompt_tokens": 9, "completion_tokens": rooms[-1]}}
        whole["choices"][0]["message"]["reasoning_content"] = "Hm. " * 300
        return web.json_response(whole)

    with (
        model_server(thinks) as asked,
        talking(tmp_path, asked, talk=limit, patience=2, arms={"one": "good-model-x1"}) as site,
    ):
        people = [site.person(f"p-{n}").begin() for n in range(6)]
        with ThreadPoolExecutor() as at_once:
            list(at_once.map(lambda person: person.say("One.", 40).until_answered(), people))
        assert rooms
        assert max(rooms) <= 300
        assert model_calls(site.participation).cost == pytest.approx(sum(rooms) / 1000)


def test_what_is_sent_once_more_is_reserved_with_the_room_that_this_question_needs(tmp_path, server, monkeypatch):
    """Only this person's question was refused for `max_tokens`; sent again, it was written down as small as others'."""
    price_file(tmp_path, monkeypatch)
    held = []

    def reply(body, number):
        if number == 1:
            return "Mhm."
        if "max_tokens" in body:
            told = {"message": "Unsupported parameter: use 'max_completion_tokens' instead.", "param": "max_tokens"}
            return web.json_response({"error": told}, status=400)
        with participation.store.engine.connect() as connection:
            costs = connection.execute(select(talk_calls.c.cost).where(talk_calls.c.state == "asked")).scalars()
        held.append((max(costs), body["max_completion_tokens"] / 1000))
        return web.Response(status=500) if len(held) == 1 else "Yes."

    server.reply = reply
    with talking(tmp_path, server, talk="max_cost = 40.0", arms={"one": "good-model-x1"}) as site:
        participation = site.participation
        person = site.person().begin().say("One.", 40).until_answered()
        assert person.say("Two.", 50).until_answered().lines[-1] == ("other", "Yes.")
    assert [reserved for reserved, _ in held] == [pytest.approx(room) for _, room in held]
    assert len(held) == 2
    assert held[1][1] > 10.0


# -- requests without a reply ------------------------------------------------------------------------------------------

WORST = 0.3
"""Of a reply in these talks, at 1000 EUR for a million tokens that a model made."""
ERROR = {"error": {"message": "Try later."}}
USAGE = {"prompt_tokens": 50, "completion_tokens": 40}


@contextmanager
def model_server(reply):
    """One that answers everything with this."""
    asked = SimpleNamespace(bodies=[])

    async def chat(request):
        asked.bodies.append(await request.json())
        return await reply(request)

    with served(web.post("/v1/chat/completions", chat)) as asked.port:
        yield asked


async def breaks_off(request):
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "5000"})
    await response.prepare(request)
    await response.write(b'{"choices": [{"message": {"content": "Well, ')
    request.transport.close()
    return response


async def stream_breaks_off(request):
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    delta = {"model": "m", "choices": [{"index": 0, "delta": {"content": "Well, "}, "finish_reason": None}]}
    await response.write(f"data: {json.dumps(delta)}\n\n".encode())
    await response.write_eof()
    return response


def says(status=200, body=None, **headers):
    async def go(request):
        text = body if isinstance(body, str) else json.dumps(ERROR if body is None else body)
        return web.Response(status=status, text=text, content_type="application/json", headers=headers)

    return go


def stream_fails(code, usage=None):
    """After twenty words."""
    delta = {"model": "m", "choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}]}
    pieces = [delta] * 20 + [{"error": {"message": "Upstream.", "code": code}} | ({"usage": usage} if usage else {})]

    async def go(request):
        text = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces)
        return web.Response(text=text, content_type="text/event-stream")

    return go


FAILED = {"choices": [{"index": 0, "finish_reason": "error", "message": {"content": ""}}], **ERROR, "usage": USAGE}
NOTHING, USED = 0.0, 0.04
COSTS = {
    "breaks off": (breaks_off, WORST),
    "a stream that stops": (stream_breaks_off, WORST),
    "half JSON": (says(body='{"choices": [{"message"'), WORST),
    "too large": (says(body=json.dumps(completion("y" * 17 * 2**20))), WORST),
    "failed, counted": (says(body=FAILED), USED),
    "failed, counted in the error": (says(body={**ERROR, "usage": USAGE}), USED),
    "failed, with a count that cannot be": (says(body={**FAILED, "usage": {**USAGE, "prompt_tokens": 0}}), WORST),
    **{f"a stream that ends in {code}": (stream_fails(code), WORST) for code in (429, 400, 403, 404, 500)},
    **{f"a counted stream that ends in {code}": (stream_fails(code, USAGE), USED) for code in (429, 400, 403)},
    "gateway gave up": (says(504), WORST),
    "gateway gave up too": (says(524), WORST),
    "gateway": (says(502), NOTHING),
    "no room": (says(503, **{"Retry-After": "0.1"}), NOTHING),
    "server fault": (says(500), NOTHING),
    "server fault, counted": (says(500, {**ERROR, "usage": USAGE}), USED),
    "page": (says(body="<html><title>Away</title></html>"), NOTHING),
}


@pytest.mark.parametrize(("reply", "each"), COSTS.values(), ids=COSTS)
def test_what_was_sent_and_may_be_billed_counts_and_every_request_does(reply, each, tmp_path, monkeypatch):
    """Nothing of this cost anything, and behind a gateway it was not counted either: no limit was ever reached."""
    price_file(tmp_path, monkeypatch)
    limits = "max_cost = 0.7\nmax_calls = 5\nmax_calls_person = 5"
    with (
        model_server(reply) as asked,
        talking(tmp_path, asked, talk=limits, patience=8, arms={"one": "good-model-x1"}) as site,
    ):
        person = site.person().begin().say("One.", 40).until_answered()
        for _ in range(6):
            if person.state == "down":
                person.page = person.post("retry")
                person.until_answered()
        taken = model_calls(site.participation).totals
        assert taken.calls == len(asked.bodies)
        assert taken.cost == pytest.approx(each * len(asked.bodies))
        assert taken.cost <= 0.7
        assert len(asked.bodies) == (2 if each == WORST else 5)
        assert person.state == "spent"


def test_a_failure_counts_at_the_cost_that_its_provider_says(tmp_path, monkeypatch):
    """.30 where the list price of its tokens is .04: a limit of .70 has room for two."""
    price_file(tmp_path, monkeypatch)
    prices = tmp_path / "prices.toml"
    prices.write_text(prices.read_text().replace("EUR", "USD"))
    failed = says(body={**FAILED, "usage": {**USAGE, "cost": 0.3}})
    with (
        model_server(failed) as asked,
        talking(tmp_path, asked, talk="max_cost = 0.7", patience=8, arms={"one": "good-model-x1"}) as site,
    ):
        person = site.person().begin().say("One.", 40).until_answered()
        assert person.state == "down"
        person.page = person.post("retry")
        assert person.until_answered().state == "spent"
        found = model_calls(site.participation)
        assert (len(asked.bodies), found.currency, found.cost) == (2, "USD", pytest.approx(0.6))


@pytest.mark.parametrize(("status", "seconds"), [(429, "60"), (429, "0.5"), (503, "60"), (502, "0.5")])
def test_who_waits_for_a_provider_that_only_refuses_costs_nothing(status, seconds, tmp_path, monkeypatch):
    """When patience was over, everybody who waited was charged for a reply, though none was being made."""
    price_file(tmp_path, monkeypatch)
    refuses = says(status, **{"Retry-After": seconds})
    with model_server(refuses) as asked, talking(tmp_path, asked, talk="max_cost = 9.0", patience=2) as site:
        people = [site.person(f"p-{n}").begin() for n in range(3)]
        with ThreadPoolExecutor() as at_once:
            list(at_once.map(lambda person: person.say("One.", 40).until_answered(), people))
        assert {person.state for person in people} == {"down"}
        assert model_calls(site.participation).cost == 0.0


def test_a_repeat_that_is_being_written_down_when_patience_ends_leaves_nothing_under_way(tmp_path, server, monkeypatch):
    """Nobody knew its number: it stood there at its worst for ever, as if a crash had left it."""
    price_file(tmp_path, monkeypatch)
    repeat, writing = room.repeat_call, []

    def slow(*args):
        writing.append(time.sleep(1.5))
        return repeat(*args)

    monkeypatch.setattr(room, "repeat_call", slow)
    server.reply = lambda body, number: web.Response(status=500)
    with talking(tmp_path, server, talk="max_cost = 9.0", patience=1) as site:
        assert site.person().begin().say("One.", 40).until_answered().state == "down"
        taken = model_calls(site.participation).totals
    assert writing
    assert (taken.under_way, taken.left, taken.cost) == (0, 0, 0.0)


def test_costs_in_two_currencies_have_no_sum(tmp_path, server, monkeypatch, eqlab):
    """EUR and USD were added, and the sum called EUR."""
    price_file(tmp_path, monkeypatch)
    prices = tmp_path / "prices.toml"
    first, second = prices.read_text().split('[[price]]\nmodels = ["bad-model-x2"]')
    prices.write_text(f'{first}[[price]]\nmodels = ["bad-model-x2"]\ncurrency = "USD"{second}')
    server.reply = lambda body, number: "Mhm."
    with talking(tmp_path, server) as site:
        for name in ("p-1", "p-2"):
            site.person(name).begin().say("One.", 40).until_answered()
        found, design = model_calls(site.participation), site.participation.design
    assert (found.cost, found.totals.cost, found.currencies) == (None, None, ("EUR", "USD"))
    cards, told = page_of(tmp_path, design)
    assert cards["Cost of models"] == ("unknown", "no limit is set; the prices are in EUR and USD")
    assert told["models"]["cost"] is told["models"]["totals"]["cost"] is None
    (tmp_path / "talk.toml").write_text(talk_text(server.url))
    said, checked = (
        " ".join(eqlab("study", do, "talk.toml", "--store", "store.db").out.split()) for do in ("status", "check")
    )
    assert "cost unknown, for the prices are in EUR and USD." in said
    assert "the models' prices are in EUR and USD, so what they cost together is not told" in checked


def test_what_a_crash_left_is_told_apart_from_what_is_under_way(tmp_path, server, eqlab):
    server.reply = lambda body, number: "Mhm."
    with talking(tmp_path, server) as site:
        participation = site.participation
        now = participation.clock()
        row = {"study_id": participation.study.id, "trial_id": "x", "at": now, "until": now - 1}
        with participation.store.engine.begin() as connection:
            connection.execute(insert(talk_calls), {**row, "state": "asked", "tokens": 0, "cost": 0.5})
    cards, _ = page_of(tmp_path, participation.design)
    assert cards["Models asked"] == ("1", "of 10,000 calls at most; 0 under way, 1 left by a crash, 0 failed")
    (tmp_path / "talk.toml").write_text(talk_text(server.url))
    said = " ".join(eqlab("study", "status", "talk.toml", "--store", "store.db").out.split())
    assert "(0 under way, 1 left by a crash, 0 failed)" in said
