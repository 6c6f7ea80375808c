"""SAGE's personas and talks: made-up files of every shape that a user's folder may hold."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.benchmarks.dialogue.published import parse_personas, parse_talks, state_of
from eqlab.core.errors import DataError

TURNS = [
    {"role": "user", "content": "Hello?", "emotion-point": 40},
    {"role": "assistant", "content": "Hello.", "think": "Be brief."},
    {"role": "user", "content": "Well.", "thinking": "He's brief.", "emotion-point": 35, "planning": "Go on."},
]


def record(**changes):
    return {"id": "p1", "emo_point": 35, "emo_state": "Emotion-C", "topic": "work", "history": TURNS} | changes


def jsonl(*records):
    return "\n".join(json.dumps(one, ensure_ascii=False) for one in records).encode()


def test_a_talk_is_read_with_its_turns():
    (talk,) = parse_talks(jsonl(record()), "f")
    assert (talk.persona, talk.final, talk.state, talk.topic, talk.line) == ("p1", 35, "C", "work", 1)
    assert [turn.seat for turn in talk.turns] == ["speaker", "listener", "speaker"]
    assert talk.turns[1].think == "Be brief."
    assert (talk.turns[2].feeling, talk.turns[2].plan) == ("He's brief.", "Go on.")
    assert talk.course == (40, 35)
    assert talk.replies == 1


@pytest.mark.parametrize("packed", [json.dumps(TURNS), repr(TURNS), f"\n{TURNS!r}\n", json.dumps(TURNS, indent=1)])
def test_history_may_be_a_string_that_holds_a_list(packed):
    assert parse_talks(jsonl(record(history=packed)), "f") == parse_talks(jsonl(record()), "f")


@pytest.mark.parametrize("none", [None, "", "  "])
def test_a_talk_without_history_has_a_score_and_no_length(none):
    (talk,) = parse_talks(jsonl(record(history=none)), "f")
    assert talk.replies is None
    assert talk.final == 35


@given(
    texts=st.lists(st.text(), min_size=1, max_size=4),
    way=st.sampled_from([lambda turns: turns, json.dumps, repr]),
    end=st.sampled_from(["\n", "\r\n", "\n\n"]),
    ascii_only=st.booleans(),
)
def test_any_text_comes_back_whatever_separators_it_holds(texts, way, end, ascii_only):
    records = [record(id=str(n), history=way([{"role": "user", "content": text}])) for n, text in enumerate(texts)]
    lines = [json.dumps(one, ensure_ascii=ascii_only) for one in records]
    content = (end.join(lines) + end).encode("utf-8", "surrogatepass")
    if any("\ud800" <= char <= "\udfff" for text in texts for char in text) and not ascii_only:
        return  # no UTF-8 at all
    assert [talk.turns[0].text for talk in parse_talks(content, "f")] == texts


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_only_a_newline_ends_a_line(separator):
    raw = json.dumps(record(topic="a#b"), ensure_ascii=False).replace("a#b", f"a{separator}b").encode()
    talks = parse_talks(b"\xef\xbb\xbf" + raw + b"\n\n" + raw, "f")
    assert [(talk.line, talk.topic) for talk in talks] == [(1, f"a{separator}b"), (3, f"a{separator}b")]


@pytest.mark.parametrize(("given", "read"), [(100, 100), (-12, -12), (35.0, 35), (35.5, 35.5), ("85", 85), ("-3", -3)])
def test_the_final_emotion_is_a_number(given, read):
    assert parse_talks(jsonl(record(emo_point=given)), "f")[0].final == read


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (b'{"id": "p2", "emo_point": 3', "no JSON object"),
        (b"[1, 2]", "no JSON object but a list"),
        (b"null", "no JSON object but null"),
        (b'{"id": "\xff"}', "no UTF-8"),
        (b"[" * 100_000, "no JSON object"),
        (jsonl({"emo_point": 3}), "'id' is missing"),
        (jsonl(record(id="")), "'id' is missing or empty"),
        (jsonl(record(id=["p"])), "'id' is a list"),
        (jsonl({"id": "p2"}), "'emo_point', the final emotion, is missing"),
        (jsonl(record(emo_point=None)), "is null, not a number"),
        (jsonl(record(emo_point=True)), "is true or false, not a number"),
        (jsonl(record(emo_point="calm")), "is text, not a number"),
        (jsonl(record(emo_point=float("nan"))), "not a number"),
        (b'{"id": "p2", "emo_point": 1e999}', "not a number"),
        (b'{"id": "p2", "emo_point": ' + b"9" * 400 + b"}", "not a number"),
        (jsonl(record(history={"role": "user"})), "'history' is an object"),
        (jsonl(record(history=7)), "'history' is a number"),
        (jsonl(record(history="7")), "'history' is a number"),
        (jsonl(record(history="[{'role': 'user'")), "holds no list of turns"),
        (jsonl(record(history="__import__('os').getcwd()")), "holds no list of turns"),
        (jsonl(record(history="(" * 5000)), "'history'"),
        (jsonl(record(history="[" * 100_000)), "'history'"),
        (jsonl(record(history=["hello"])), "turn 1 of 'history'"),
        (jsonl(record(history=[*TURNS, {"content": "x"}])), "turn 4 of 'history'"),
        (jsonl(record(history=[{"role": "judge"}])), "has the role 'judge'"),
        (jsonl(record(history=[{"role": ["user"]}])), "turn 1 of 'history' has the role"),
    ],
)
def test_a_broken_line_is_named_with_its_file(second, words):
    with pytest.raises(DataError) as raised:
        parse_talks(jsonl(record()) + b"\n\n" + second, "sage/x_result.jsonl")
    assert str(raised.value).startswith("sage/x_result.jsonl, line 3: ")
    assert words in str(raised.value)
    assert "eqlab data fetch sage" in raised.value.hint
    assert len(str(raised.value)) < 300


def test_odd_turns_are_read_loosely():
    odd = [
        {"role": "system", "content": "You are…"},
        {"role": "user", "content": None, "emotion-point": "40"},
        {"role": "assistant", "content": ["a"]},
        {"role": "user", "content": "x", "emotion-point": "?"},
    ]
    (talk,) = parse_talks(jsonl(record(history=odd)), "f")
    assert [turn.text for turn in talk.turns] == ["", '["a"]', "x"]
    assert talk.course == (40,)


@pytest.mark.parametrize(
    ("emotion", "state"),
    [(100, "S"), (99, "A"), (70, "A"), (69, "B"), (40, "B"), (39, "C"), (10, "C"), (9, "F"), (-5, "F")],
)
def test_states(emotion, state):
    assert state_of(emotion) == state


PERSONA = {"id": "p1", "player": "who", "scene": "what", "main_cha": "calm", "cha_group": ["a", "b"], "task": "need"}


def test_a_persona_is_read():
    one, other = parse_personas(jsonl(PERSONA, PERSONA | {"id": 7, "cha_group": None, "topic": "work"}), "f")
    assert (one.id, one.who, one.scene, one.need, one.trait, one.traits) == (
        "p1",
        "who",
        "what",
        "need",
        "calm",
        ("a", "b"),
    )
    assert (other.id, other.traits, other.topic) == ("7", (), "work")


@pytest.mark.parametrize("key", ["id", "player", "scene", "main_cha", "task"])
def test_a_persona_that_lacks_something(key):
    broken = {name: value for name, value in PERSONA.items() if name != key}
    with pytest.raises(DataError, match=f"f, line 2: '{key}' is missing"):
        parse_personas(jsonl(PERSONA, broken), "f")


def test_a_persona_twice():
    with pytest.raises(DataError, match=r"f, line 2: persona p1 stands in an earlier line"):
        parse_personas(jsonl(PERSONA, PERSONA), "f")
