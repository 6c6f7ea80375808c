"""Who speaks in talks: fixed lines, models with settings of their own, several of them."""

from functools import partial

import pytest
from scripted import PERSONAS, hold, is_speaker, prepared, speak, talk

import eqlab as api
from eqlab.benchmarks.dialogue.talked import talks_of
from eqlab.benchmarks.registry import load
from eqlab.core.errors import UsageError


@pytest.fixture
def held(server, tmp_path):
    return partial(hold, server, tmp_path)


def test_fixed_lines_ask_nobody_else_and_have_no_score(server, store):
    server.reply = talk
    made = api.prepare(api.Request(("good",), ("dialogue",), base_url=server.url, profile="full", limit=2))
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


def test_a_sweep_says_that_it_has_no_seats(tmp_path, server):
    from eqlab.sweep.file import read_sweep
    from eqlab.sweep.grid import make_runs

    text = """
[[models]]
spec = "m"
base_url = "URL"

[benchmarks.dialogue]
options = {speaker = "SPEAKER"}
""".replace("URL", server.url)
    path = tmp_path / "sweep.toml"
    path.write_text(text.replace("SPEAKER", "fixed"))
    assert make_runs(read_sweep(path))
    path.write_text(text.replace("SPEAKER", "openai/x"))
    with pytest.raises(UsageError, match=r"speaker:openai/x.*cannot open"):
        make_runs(read_sweep(path))
