"""EQ-Bench 3's scenario file, in made-up words: its data are not here. Read, and held as talks with fixed lines."""

import pytest

import eqlab as api
from eqlab.benchmarks.dialogue.personas import is_scenarios, parse_scenarios
from eqlab.benchmarks.dialogue.talked import talks_of
from eqlab.benchmarks.registry import load
from eqlab.core.errors import DataError, UsageError

TEXT = """Some words before the first scenario.

######## 1 | Work | A quarrel | in the kitchen
####### Prompt1
First line,
  and more of it.

####### Prompt2
Second line.
# a heading inside

######## 7 | Analysis
####### Prompt1
One line.\u2028Still the same.

######## 8 | Empty

######## 409 | Family | Odd
####### 1
Said under a heading of its own kind.
"""


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n"), "\ufeff" + TEXT])
def test_scenarios_and_their_lines(text):
    one, two, odd = parse_scenarios(text.encode(), "f")
    assert (one.id, one.kind, one.title) == ("1", "Work", "A quarrel | in the kitchen")
    assert one.lines == ("First line,\n  and more of it.", "Second line.\n# a heading inside")
    assert (two.id, two.kind, two.title) == ("7", "Analysis", "")
    assert two.lines == ("One line.\u2028Still the same.",)
    assert (odd.id, odd.lines) == ("409", ("Said under a heading of its own kind.",))
    assert [one.as_published, two.as_published, odd.as_published] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no scenarios"),
        ("words only\n", "no scenarios"),
        ("######## 1\n####### Prompt1\na\n######## 1\n####### Prompt1\nb", "line 4: scenario 1 is there twice"),
        ("a\n########\n####### Prompt1\nb", "line 2: a scenario without a number"),
        ("########  | Work\n", "line 1: a scenario without a number"),
    ],
)
def test_a_broken_file_says_where(text, words):
    with pytest.raises(DataError, match=words):
        parse_scenarios(text.encode(), "f.txt")


def test_a_file_that_is_no_text():
    with pytest.raises(DataError, match=r"f\.txt is not UTF-8"):
        parse_scenarios(b"########\xff", "f.txt")


def test_scenarios_are_held_as_talks_with_fixed_lines(server, tmp_path, eqlab):
    path = tmp_path / "scenario_prompts.txt"
    path.write_text(TEXT, encoding="utf-8")
    server.reply = lambda body, number: f"Reply {len(body['messages'])}."
    done = eqlab("run", "m", "-b", "dialogue", "--items", path, "--base-url", server.url, "--store", "s.db")
    assert done.code == 0, done.err
    assert "scenario_prompts" in done.out
    store = api.open_store("s.db")
    stored = store.find_run("last")
    talks = talks_of(store.scored(stored.id, "model:m", "dialogue"))
    assert [(one.persona, one.title, one.replies, one.end) for one in talks] == [
        ("1", "A quarrel | in the kitchen", 2, "lines"),
        ("7", "Analysis", 1, "lines"),
        ("409", "Odd", 1, "lines"),
    ]
    assert [line.text for line in talks[0].said] == [
        "First line,\n  and more of it.",
        "Reply 1.",
        "Second line.\n# a heading inside",
        "Reply 3.",
    ]
    roles = {tuple(message["role"] for message in body["messages"]) for body in server.requests}
    assert roles == {("user",), ("user", "assistant", "user")}, "nothing of ours is added to the scenario's own rules"
    assert {body["max_tokens"] for body in server.requests} == {4000}
    rows = list(load("dialogue").replies("x", store.scored(stored.id, "model:m", "dialogue")))
    assert len(rows) == 3
    store.close()
    again = eqlab("run", "m", "-b", "dialogue", "--items", path, "--base-url", server.url, "--store", "s.db")
    assert "0 requests were sent" in again.out


def test_nobody_can_play_a_scenario(server, tmp_path):
    path = tmp_path / "s.txt"
    path.write_text(TEXT, encoding="utf-8")
    request = api.Request("m", "dialogue", items=str(path), base_url=server.url, options={"speaker": "openai/x"})
    with pytest.raises(UsageError, match="Scenario 1 has fixed lines"):
        next(api.prepare(request).plan())


def test_personas_of_ones_own_are_no_scenarios():
    assert is_scenarios(TEXT.encode())
    assert not is_scenarios(b'title = "x"\n# ######## 1 | in a remark\n[[item]]\n')
