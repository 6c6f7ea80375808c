"""A name that stands twice in JSON, with two values: in a provider's reply, and in what the model itself wrote."""

import json

import pytest

from eqlab.benchmarks.choices import choice, read_choices
from eqlab.benchmarks.common.reading import read_json
from eqlab.benchmarks.emotionbench.trials import read_form
from eqlab.benchmarks.eqbench.score import PRESETS
from eqlab.benchmarks.eqbench.trials import read_scores
from eqlab.benchmarks.rating.benchmark import read_scales
from eqlab.core.forms import Form, Scale
from eqlab.core.trials import Trial
from eqlab.models.chat import ChatReply, prompted
from eqlab.models.wire.contract import Endpoint, Incoming, RequestProfile, TryAgain, unambiguous, wire

FORM = Form((Scale("Joy", "Joy", 0, 10), Scale("Fear", "Fear", 0, 10)))
SCHEMA = {"type": "object", "properties": {"Joy": {"enum": [3, 7]}, "Fear": {"enum": [1]}}}
OWN = '{"Joy": 3, "Fear": 1, "Joy": 7}'
STREAM = {"Content-Type": "text/event-stream"}


def read(name, raw, headers=None, schema=None):
    outgoing = wire(name).build(Endpoint("http://h/v1", "m", "k"), prompted("x", schema=schema), RequestProfile(name))
    return wire(name).read(outgoing, Incoming(200, headers or {}, raw.encode()))


def chat(message):
    return f'{{"choices": [{{"message": {{{message}}}, "finish_reason": "stop"}}]}}'


def gemini(text):
    return json.dumps({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]})


TWO_ANSWERS = {
    "openai_chat": chat('"content": "Joy: 3", "content": "Joy: 7"'),
    "azure": chat('"content": "Joy: 3", "content": "Joy: 7"'),
    "openai_responses": '{"status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", '
    '"text": "Joy: 3", "text": "Joy: 7"}]}]}',
    "anthropic": '{"content": [{"type": "text", "text": "Joy: 3"}], "content": [{"type": "text", "text": "Joy: 7"}], '
    '"stop_reason": "end_turn"}',
    "gemini": gemini("Joy: 3").replace('"text": "Joy: 3"', '"text": "Joy: 3", "text": "Joy: 7"'),
}


@pytest.mark.parametrize("name", TWO_ANSWERS)
def test_a_reply_with_two_answers_is_none(name):
    found = read(name, TWO_ANSWERS[name])
    assert isinstance(found, TryAgain)
    assert "is there twice, with two values" in found.reason
    same = read(name, TWO_ANSWERS[name].replace("7", "3"))
    assert isinstance(same, ChatReply)
    assert same.text == "Joy: 3"


def test_so_is_a_piece_of_a_stream():
    pieces = ['{"choices": [{"delta": {"content": "3", "content": "7"}}]}', '{"choices": [{"finish_reason": "stop"}]}']
    found = read("openai_chat", "".join(f"data: {one}\n\n" for one in pieces), STREAM)
    assert isinstance(found, TryAgain)


@pytest.mark.parametrize(
    "message",
    [
        '"reasoning_content": "a", "reasoning_content": "b", "content": "Joy: 3"',
        '"content": null, "content": "Joy: 3"',
        '"content": "Joy: 3", "content": null',
        '"content": "Joy: 3", "content": ""',
        '"content": "Joy: 3", "note": 1, "note": 2',
    ],
)
def test_what_stands_twice_and_decides_nothing_does_no_harm(message):
    found = read("openai_chat", chat(message))
    assert isinstance(found, ChatReply)
    assert found.text == "Joy: 3"


def test_what_stands_once_is_read_as_ever():
    whole = {"a": [{"b": None, "content": ""}, {"content": 0}], "content": {"content": [1, 2.5, "é"]}}
    assert unambiguous(json.dumps(whole)) == whole


# -- what the model itself wrote -----------------------------------------------------------------------------------


def through_chat():
    return read("openai_chat", chat(f'"content": {json.dumps(OWN)}'), schema=SCHEMA)


def through_gemini():
    """Its numbers come as strings and are made numbers: that must not hide what the model wrote."""
    return read("gemini", gemini(OWN.replace("3", '"3"').replace("7", '"7"')), schema=SCHEMA)


def through_a_streamed_tool():
    events = [
        {"type": "message_start", "message": {"content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "name": "form"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": OWN}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    return read("anthropic", "".join(f"data: {json.dumps(one)}\n\n" for one in events), STREAM, SCHEMA)


@pytest.mark.parametrize("way", [through_chat, through_gemini, through_a_streamed_tool], ids=lambda way: way.__name__)
def test_a_form_that_is_filled_in_twice_reaches_its_reader_as_it_was_written(way):
    reply = way()
    assert isinstance(reply, ChatReply)
    assert reply.text.count("Joy") == 2
    reading = read_json(reply.text, FORM)
    assert (reading.status, reading.note) == ("unparseable", "a key of the JSON object comes twice")


def test_no_reader_of_json_chooses_between_two_values():
    assert read_form(OWN, FORM).values is None
    assert read_form(OWN.replace('"Joy": 7', '"joy": 7'), FORM).values is None
    rating = read_scales(Trial("x", ("1",), "plain", "", FORM, ""), OWN)
    assert (rating.status, rating.values) == ("unparseable", {"Fear": 1})
    options = Form((choice("Joy", "?", ("Much", "Little")), choice("Fear", "?", ("Much", "Little"))))
    trial = Trial("x", ("1",), "plain", "", options, "")
    for twice in ('"Joy": "B"', '"joy": "B"', '"Joy": null'):
        two = read_choices(f'{{"Joy": "A", "Fear": "B", {twice}}}', trial)
        assert (two.status, two.values) == ("unparseable", {"Fear": 2})
    again = read_choices('{"Joy": "A", "Fear": "B", "Joy": "A) Much"}', trial)
    assert (again.status, again.values) == ("ok", {"Joy": 1, "Fear": 2})


def test_eq_bench_takes_the_last_of_two_scores_as_the_published_code_does():
    text = "Angry: 3\nSad: 4\nGlad: 0\nCalm: 1\nAngry: 7"
    names = ("Angry", "Sad", "Glad", "Calm")
    for rules in PRESETS.values():
        scores = read_scores(text, names, rules, revision=False)
        assert scores.first == {"Angry": 7, "Sad": 4, "Glad": 0, "Calm": 1}
        assert not scores.plain
