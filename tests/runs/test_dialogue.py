"""Talks between two models over loopback: seats, secrets, every end, durability, and what the scores say."""

import os
import re
import signal
import subprocess
import sys
import time
from importlib.resources import files

import pytest
from scripted import is_speaker, speak, talk

import eqlab as api
from eqlab.benchmarks.dialogue.personas import parse_open
from eqlab.benchmarks.dialogue.talked import talks_of
from eqlab.benchmarks.registry import load
from eqlab.core.errors import UsageError
from eqlab.data.rubric_files import shipped

PERSONAS = {one.id: one for one in parse_open(files("eqlab.data").joinpath("open/dialogue.toml").read_bytes())}


def prepared(server, *models, speaker="s", **more):
    named = [one.partition(" ") for one in speaker.split(",")]
    there = ",".join(f"{name}@{server.url}{blank}{settings}" for name, blank, settings in named)
    options = {"speaker": there, **more.pop("options", {})}
    return api.prepare(
        api.Request(
            models or ("good",),
            ("dialogue",),
            base_url=server.url,
            options=options,
            **{"limit": 3, "profile": "full"} | more,
        )
    )


@pytest.fixture
def held(server, tmp_path):
    """Runs talks and returns (run, talks of the first listener, results)."""

    def hold(*models, reply=talk, **more):
        server.reply = reply
        store = api.open_store(str(tmp_path / "s.db"))
        made = prepared(server, *models, **more)
        api.run(made, store, concurrency=8)
        subject = made.config.models[0].subject
        talks = talks_of(store.scored(made.config.id, subject, "dialogue"))
        results = api.results(store, store.find_run(made.config.id))
        store.close()
        return made, talks, results

    return hold


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


def test_fixed_lines_ask_nobody_else_and_have_no_score(server, tmp_path):
    server.reply = talk
    made = api.prepare(api.Request(("good",), ("dialogue",), base_url=server.url, profile="full", limit=2))
    store = api.open_store(str(tmp_path / "s.db"))
    api.run(made, store)
    assert len(server.requests) == 2 * 4
    talks = talks_of(store.scored(made.config.id, "model:good", "dialogue"))
    for one in talks:
        assert tuple(line.text for line in one.said if line.seat == "speaker") == PERSONAS[one.persona].fixed
    (result,) = api.results(store, store.find_run("last"))
    assert result.headline.value is None
    assert "--speaker" in result.headline.note
    rows = list(load("dialogue").replies("x", store.scored(made.config.id, "model:good", "dialogue")))
    assert len(rows) == 2
    assert rows[0].reply.count("\nB: ") == 4


def test_quick_is_four_personas_and_four_replies(server):
    made = api.prepare(api.Request(("m",), ("dialogue",), base_url=server.url, profile="quick"))
    trials = [trial for _, _, trial, _ in made.plan()]
    assert {trial.items[0] for trial in trials} == {one.id for one in PERSONAS.values() if one.quick}
    assert {trial.key["replies"] for trial in trials} == {4}


def test_speakers_belong_to_a_runs_identity(server):
    one = prepared(server, speaker="a,b").config
    assert prepared(server, speaker="b,a").config.id == one.id, "their order means nothing"
    assert prepared(server, speaker="a").config.id != one.id
    wrongs = ("a,a", "", "fixed@http://127.0.0.1/v1", "m@http://user:secret@127.0.0.1/v1", "fixed temperature=0")
    wrongs += ("temperature=0", "m warm", "m api_key=x", "m model=x", "m structured=2", "m temperature=[1,2]")
    for wrong in wrongs:
        with pytest.raises(UsageError, match="--speaker"):
            api.prepare(api.Request(("m",), ("dialogue",), base_url=server.url, options={"speaker": wrong}))


def test_a_speaker_has_settings_of_its_own(server, tmp_path, eqlab):
    """The listeners' settings do not reach the speaker, nor its own them; they are part of the run's identity."""
    server.reply = talk
    command = ["run", "good", "--set", "temperature=0.1", "--base-url", server.url, "--limit", "1", "--store", "s.db"]
    settings = "temperature=1.2 max_tokens=600 top_p=0.9 reasoning_effort=low"
    done = eqlab(*command, "--speaker", f"hot {settings}", "--speaker", "usual")
    assert done.code == 0, done.err
    by = {
        who: {
            (body.get("temperature"), body.get("max_tokens"), body.get("top_p"))
            for body in server.requests
            if body["model"] == who
        }
        for who in ("good", "hot", "usual")
    }
    assert {ask[0] for ask in by["good"]} == {0.1}
    assert {ask[0] for ask in by["usual"]} == {0.7}
    assert {(ask[0], ask[2]) for ask in by["hot"]} == {(1.2, 0.9)}
    one = prepared(server, speaker="hot temperature=1.2 top_p=0.9")
    assert prepared(server, speaker="hot top_p=0.90 temperature=1.2").config.id == one.config.id
    assert prepared(server, speaker="hot temperature=1.3 top_p=0.9").config.id != one.config.id
    assert "temperature=1.2" in one.config.benchmarks[0].options["speaker"]


def test_a_speaker_asked_for_json(held, server):
    def reply(body, number):
        if not is_speaker(body):
            return talk(body, number)
        assert body["response_format"]["type"] == "json_schema"
        return '{"feeling": "f", "emotion": 55, "leaves": 0, "says": "And then?"}'

    _, talks, _ = held("good", speaker="s structured=true", reply=reply, limit=2)
    assert {(one.end, one.final) for one in talks} == {("turns", 55)}


def test_a_setting_of_a_speaker_that_makes_no_sense(server, tmp_path, eqlab):
    done = eqlab("run", "good", "--speaker", "s temperature=warm", "--base-url", server.url, "--store", "s.db")
    assert done.code == 2
    assert "temperature is 'warm'" in done.err
    assert not server.requests


def test_several_speakers_and_how_much_is_theirs(held):
    """One speaker feels 4 points more with every reply: the report says so beside the one number."""

    def reply(body, number):
        return speak(body, lean=4 * (body["model"] == "warm")) if is_speaker(body) else talk(body, number)

    _, talks, (result, _) = held("plain", "bad", speaker="cold,warm", reply=reply, limit=12)
    assert len(talks) == 24
    assert "with cold" in result.sentence
    assert "with warm" in result.sentence
    assert "% is the speaker's" in result.sentence
    assert result.sentence.split(". ", 1)[1] in result.caveats
    assert result.headline.n == 12
    by = next(table for table in result.tables if table.title == "By speaker")
    cold, warm = (row[1].value for row in by.rows)
    assert warm - cold == pytest.approx(4 * 8, abs=12)  # some end at 100
    # two speakers say little of all speakers: the interval is wider than over personas alone
    alone = by.rows[0][1]
    assert result.headline.high - result.headline.low > 2 * (alone.high - alone.low)
    titles = [table.title for table in result.tables]
    assert "Where the end of a talk comes from" in titles
    assert "How many personas and speakers for ±5" in titles
    assert {item.repeat for item in result.items} == {0, 1}


def test_one_speaker_is_named_too(held):
    _, _, (result,) = held("good", limit=2)
    assert "s's word" in result.sentence
    assert result.headline.note == "by one speaker, s"


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


def test_killed_in_the_middle_of_two_sided_talks(server, tmp_path):
    """kill -9 again and again: every talk ends as if nothing had happened, and no answered turn is asked again."""
    server.reply = talk
    server.delay = 0.05
    where = str(tmp_path / "s.db")
    command = [sys.executable, "-c", "from eqlab.cli.main import main; main()", "run", "plain", "-b", "dialogue"]
    command += ["--speaker", "s", "--base-url", server.url, "--profile", "full", "--limit", "6", "--store", where]
    command += ["--max-concurrency", "4", "--report", str(tmp_path / "r.html")]
    kills = 0
    for _ in range(4):
        before = len(server.requests)
        worker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ))
        deadline = time.monotonic() + 120
        while (
            worker.poll() is None and time.monotonic() < deadline and (kills == 2 or len(server.requests) < before + 20)
        ):
            time.sleep(0.01)
        if worker.poll() is not None:
            break
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        kills += 1
    assert worker.wait(120) == 0
    assert kills == 2
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
    assert len(server.requests) - len(scored) <= 8 * kills


def test_a_refusal_on_disk_does_not_hold_up_its_talk(server, tmp_path):
    """Killed after a provider's refusal was stored and before the next turn was: the talk still goes on."""
    from conftest import completion

    from eqlab.core.benchmark import Scored
    from eqlab.runs.talks import open_talks

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


def test_a_sweep_says_that_it_has_no_seats(tmp_path, server):
    from eqlab.sweep.cells import make_cells
    from eqlab.sweep.file import read_sweep

    text = """
[[models]]
spec = "m"
base_url = "URL"

[benchmarks.dialogue]
options = {speaker = "SPEAKER"}
""".replace("URL", server.url)
    path = tmp_path / "sweep.toml"
    path.write_text(text.replace("SPEAKER", "fixed"))
    assert make_cells(read_sweep(path))
    path.write_text(text.replace("SPEAKER", "openai/x"))
    with pytest.raises(UsageError, match=r"speaker:openai/x.*cannot open"):
        make_cells(read_sweep(path))


def test_feeling_as_bad_as_can_be_is_no_satisfaction(held):
    """What a speaker ticks and what it feels may differ; the ends of the scale decide."""

    def reply(body, number):
        if not is_speaker(body):
            return talk(body, number)
        return "Feeling: x\nEmotion: 3\nLeaves: satisfied\nSays: Bye."

    _, talks, _ = held("good", reply=reply, limit=2)
    assert {one.end for one in talks} == {"hurt"}


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
