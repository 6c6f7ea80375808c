"""A user's own item files: what is wrong is named with its line and key, in every format, all at once."""

import json

import pytest

from eqlab.benchmarks.emotionbench.items import parse_own as situations
from eqlab.benchmarks.empathy.items import parse_own as prompts
from eqlab.benchmarks.eqbench.items import parse_own as dialogues
from eqlab.core.errors import DataError
from eqlab.core.own_items import own_title

WORDS = ("Calm", "Sad", "Proud", "Angry")
TOML = """title = "Ward talks"
[[item]]
id = "w1"
character = "Ann"
dialogue = "Ann: Fine."
emotions = [
  { name = "Calm", reference = 2 }, { name = "Sad", reference = 7.5 },
  { name = "Proud", reference = 0 }, { name = "Angry", reference = 3, reason = "She says fine." },
]
"""


def test_the_three_formats_make_the_same_question():
    (toml,) = dialogues(TOML.encode(), "own/w.toml")
    head = "id,character,dialogue," + ",".join(f"emotion{k},reference{k}" for k in range(1, 5)) + ",reason4"
    csv = f"{head}\nw1,Ann,Ann: Fine.,Calm,2,Sad,7.5,Proud,0,Angry,3,She says fine.\n"
    row = {"id": "w1", "character": "Ann", "dialogue": "Ann: Fine.", "reason4": "She says fine."}
    for k, (word, level) in enumerate(zip(WORDS, (2, 7.5, 0, 3), strict=True), start=1):
        row |= {f"emotion{k}": word, f"reference{k}": level}
    assert dialogues(csv.encode(), "own/w.csv") == [toml]
    assert dialogues(json.dumps(row).encode(), "own/w.jsonl") == [toml]
    assert toml.reference == {"Calm": 2.0, "Sad": 7.5, "Proud": 0.0, "Angry": 3.0}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("w.toml", TOML.replace("reference = 7.5", "reference = 11"), "w.toml:7: item[1].emotions[2].reference: 11"),
        ("w.toml", TOML.replace('character = "Ann"', 'charakter = "Ann"'), "did you mean character?"),
        ("w.toml", TOML.replace('character = "Ann"', ""), "character: is missing"),
        ("w.toml", TOML + TOML.partition("\n")[2], "'w1' is there twice"),
        ("w.toml", TOML.replace('{ name = "Calm", reference = 2 }, ', ""), "there are 3 different words"),
        ("w.toml", "title = ", "w.toml:1: this is not TOML"),
        ("w.toml", 'title = "x"', "no item"),
        ("w.csv", "id,dialogue\na,x\nb,y,z\n", "w.csv:3: more cells than columns"),
        ("w.csv", 'id,dialogue\na,"x\n', "w.csv"),
        ("w.csv", "id,character,dialogue,emotion1,reference1\na,A,x,Calm,high\n", "w.csv:2: item[1].emotions[1].ref"),
        ("w.jsonl", '{"id": "a"}\n[1]\n', "w.jsonl:2: not an object"),
        ("w.jsonl", '{"id": "a"\n', "w.jsonl:1: this is not JSON"),
    ],
)
def test_what_is_wrong_is_named(name, text, said):
    with pytest.raises(DataError) as error:
        dialogues(text.encode(), f"own/{name}")
    assert said in str(error.value), str(error.value)


def test_all_problems_at_once():
    with pytest.raises(DataError) as error:
        situations(b"id,text,emotion\na,,Anger\nb,x,Angre\na,y,Anger\n", "own/s.csv")
    for said in ("s.csv:2: item[1].text: is missing", "s.csv:3: item[2].emotion: 'Angre'", "s.csv:4: item[3].id"):
        assert said in str(error.value)


def test_prompts_need_an_id_and_what_is_said():
    (one,) = prompts(b"id,utterance\na,I lost my keys.\n", "own/p.csv")
    assert (one.utterance, one.emotion, one.reply) == ("I lost my keys.", "not said", "")
    with pytest.raises(DataError, match="did you mean afraid"):
        prompts(b"id,utterance,emotion\na,Hm.,afrad\n", "own/p.csv")


def test_the_file_says_what_it_is_called():
    assert own_title(TOML.encode(), "dir/w.toml") == "Ward talks"
    assert own_title(b"id\n", "dir/my words.csv") == "my words"
    assert own_title(b"not = ", "x.toml") == "x"
