"""Talks that are read: by judges, as pairs, and turn by turn in the terminal."""

import re

from scripted import PERSONAS, prepared, talk

import eqlab as api
from eqlab.data.items import shipped


def test_judges_read_whole_talks(server, tmp_path, eqlab):
    """A rater sees what was said, and nothing of feelings, sheets or names."""
    server.reply = talk
    where = str(tmp_path / "s.db")
    store = api.open_store(where)
    api.run(prepared(server, "good", limit=2), store)
    store.close()
    asked = len(server.requests)
    server.reply = lambda body, number: "\n".join(f"{scale.key}: 3" for scale in shipped("dialogue").scales)
    done = eqlab("judge", "j", "--on", "last", "--base-url", server.url, "--store", where)
    assert done.code == 0, done.err
    shown = ["\n".join(m["content"] for m in body["messages"]) for body in server.requests[asked:]]
    assert len(shown) >= 2
    for text in shown:
        assert "A: Line after" in text
        assert "B: A good reply" in text
        assert "Emotion" not in text
        assert "I heard" not in text


def test_two_listeners_talks_with_one_persona_are_a_pair(server, tmp_path, eqlab):
    """`judge --pairwise`: the same persona and speaker, both orders, and nothing but what was said."""
    server.reply = talk
    where = str(tmp_path / "s.db")
    store = api.open_store(where)
    api.run(prepared(server, "good", "plain", speaker="s,t", limit=2), store)
    store.close()
    asked = len(server.requests)
    server.reply = lambda body, number: "First" if "A good reply" in body["messages"][-1]["content"] else "Tie"
    done = eqlab("judge", "j", "--on", "last", "--pairwise", "--base-url", server.url, "--store", where)
    assert done.code == 0, done.err
    shown = ["\n".join(m["content"] for m in body["messages"]) for body in server.requests[asked:]]
    assert len(shown) == 2 * 2 * 2, "personas × speakers, each in both orders"
    for text in shown:
        assert "B: A good reply" in text
        assert "B: A plain reply" in text
        assert text.count("A: " + next(p.opening for p in PERSONAS.values() if p.opening in text)) == 2
        assert "Emotion" not in text


def test_a_talk_is_shown_turn_by_turn(server, tmp_path, eqlab):
    server.reply = talk
    where = str(tmp_path / "s.db")
    store = api.open_store(where)
    api.run(prepared(server, "plain", speaker="s,t", limit=2, options={"turns": "2"}), store)
    store.close()
    item = next(iter(PERSONAS))
    done = eqlab("show", "--item", item, "--store", where)
    heads = re.findall(r"item (\S+ ·? ?[^─]*)", done.out)
    said = [head.partition(" · ")[2].strip() for head in heads]
    one = ["", "turn 2 · speaker:{}", "turn 3", "turn 4 · speaker:{}"]
    assert said == [line.format(name) for name in "st" for line in one], done.out
