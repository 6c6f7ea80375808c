"""A user's own item files: what is wrong is named with its line and key, in every format, all at once."""

import json

import pytest

from eqlab.benchmarks.dialogue.personas import parse_open as personas
from eqlab.benchmarks.emobench.items import parse_open as scenarios
from eqlab.benchmarks.emotionbench.items import parse_own as situations
from eqlab.benchmarks.empathy.items import parse_own as prompts
from eqlab.benchmarks.eqbench.items import parse_own as dialogues
from eqlab.core.errors import DataError, UsageError
from eqlab.core.item_file import own_title

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


def test_the_text_of_an_item_may_be_called_text():
    (toml,) = dialogues(TOML.replace("dialogue =", "text =").encode(), "own/w.toml")
    assert toml == dialogues(TOML.encode(), "own/w.toml")[0]
    (csv,) = prompts(b"id,text\np1,I lost my keys.\n", "p.csv")
    assert csv.utterance == "I lost my keys."
    with pytest.raises(DataError, match=r"text .*stands beside dialogue"):
        dialogues((TOML + 'text = "Ann: Fine."\n').encode(), "own/w.toml")


@pytest.mark.parametrize("cell", ["Calm=2|Sad=7.5|Proud=0|Angry=3", "Calm 2 | Sad 7.5 | Proud: 0 | Angry 3"])
def test_four_emotions_in_one_cell(cell):
    (one,) = dialogues(f"id,dialogue,emotions\nw1,Ann: Fine.,{cell}\n".encode(), "own/w.csv")
    assert one.reference == {"Calm": 2.0, "Sad": 7.5, "Proud": 0.0, "Angry": 3.0}
    assert one.character == "Ann"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "w.toml",
            TOML.replace("reference = 7.5", "reference = 11"),
            "w.toml:7: item[1].emotions[2].reference (w1)",
        ),
        ("w.toml", TOML.replace('character = "Ann"', 'charakter = "Ann"'), "did you mean character?"),
        ("w.toml", TOML + TOML.partition("\n")[2], "'w1' is there twice"),
        ("w.toml", TOML.replace('{ name = "Calm", reference = 2 }, ', ""), "there are 3 different words"),
        ("w.toml", "title = ", "w.toml:1: this is not TOML"),
        ("w.toml", 'title = "x"', "there is no item"),
        ("w.csv", "id,dialogue\na,x\nb,y,z\n", "w.csv:3: more cells than columns"),
        ("w.csv", 'id,dialogue\na,"x\n', "w.csv"),
        (
            "w.csv",
            "id,character,dialogue,emotion1,reference1\na,A,x,Calm,high\n",
            "w.csv:2: item[1].emotions[1].reference (a)",
        ),
        (
            "w.csv",
            "id,dialogue,emotions\na,A: x,Calm 2 | Sad much | Proud 0 | Angry 3\n",
            "'Sad' is not a number from 0 to 10",
        ),
        ("w.csv", "id,dialogue,emotions\na,A: x,Calm 2 | Sad | Proud 0 | Angry 3\n", "there are 3 different words"),
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
    for said in (
        "s.csv:2: item[1].text (a): is missing",
        "s.csv:3: item[2].emotion (b): 'Angre'",
        "s.csv:4: item[3].id",
    ):
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


SCENARIO = {
    "id": "s1",
    "task": "application",
    "scenario": "Tom lost his keys.",
    "choices": ["Help him look.", "Laugh, loudly.", "Leave."],
    "label": "Help him look.",
}
PERSONA = {
    "id": "ann-1", "kind": "trouble", "name": "Ann", "age": 41, "who": "A nurse.", "happened": "Nobody came.",
    "need": "To be asked.", "talks": "Briefly.", "helps": ["A question.", "Time."], "hurts": ["Advice."],
    "leaves_satisfied": "When asked.", "leaves_hurt": "When told what to do.", "emotion": 30,
    "opening": "It was my birthday.", "lines": ["Well.", "It's fine.", "I should go."],
}  # fmt: skip


def as_csv(one):
    cells = [" | ".join(value) if isinstance(value, list) else str(value) for value in one.values()]
    quoted = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
    return f"{','.join(one)}\n{quoted}\n".encode()


def as_toml(one):
    return ("[[item]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in one.items())).encode()


@pytest.mark.parametrize(("read", "one"), [(scenarios, SCENARIO), (personas, PERSONA)])
def test_emobench_and_dialogue_read_the_three_formats_too(read, one):
    (toml,) = read(as_toml(one), "own/x.toml")
    assert read(as_csv(one), "own/x.csv") == [toml]
    assert read(json.dumps(one).encode(), "own/x.jsonl") == [toml]


def test_a_list_in_a_cell_is_checked_like_any():
    with pytest.raises(DataError, match=r"x\.csv:2: item\[1\]\.label \(s1\): is not one of its choices"):
        scenarios(as_csv({**SCENARIO, "label": "Help."}), "own/x.csv")
    with pytest.raises(DataError, match=r"item\[1\]\.age \(ann-1\)"):
        personas(as_csv({**PERSONA, "age": "forty"}), "own/x.csv")


GERMAN = 'instruction = "Lies:\\n{dialogue}\\nWie stark fühlt {character}?\\n{emotions}"\n'


def test_an_instruction_in_ones_own_language_is_all_that_is_said():
    from eqlab.benchmarks.eqbench.trials import build

    (one,) = dialogues((GERMAN + TOML).encode(), "own/w.toml")
    prompt = build(one, revision=False, structured=False)
    assert prompt == "Lies:\nAnn: Fine.\nWie stark fühlt Ann?\nCalm\nSad\nProud\nAngry"
    with pytest.raises(UsageError, match="asks once"):
        build(one, revision=True, structured=False)


def test_what_an_item_says_is_no_place_of_the_instruction():
    from eqlab.benchmarks.eqbench.trials import build

    (one,) = dialogues((GERMAN + TOML.replace("Ann: Fine.", "Ann: {character} {x}")).encode(), "own/w.toml")
    assert "Ann: {character} {x}" in build(one, revision=False, structured=False)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("Lies {dialogue}", "instruction: lacks {emotions}"),
        ("{dialogue} {emotions} {name}", "instruction: {name} is not known (there are: {dialogue}, {emotions}, {char"),
    ],
)
def test_an_instruction_with_wrong_places_is_refused(told, said):
    with pytest.raises(DataError) as error:
        dialogues(f'instruction = "{told}"\n{TOML}'.encode(), "own/w.toml")
    assert said in str(error.value)
    assert str(error.value).count("instruction:") == 1, "said once, not for every item"


def test_a_questionnaire_needs_both_instructions():
    text = '[[item]]\nid = "a"\ntext = "It rains."\nemotion = "Anger"\n'
    with pytest.raises(DataError, match="instruction_before"):
        situations(f'instruction = "{{situation}} {{items}}"\n{text}'.encode(), "own/s.toml")
    both = f'instruction = "{{situation}}: {{items}}"\ninstruction_before = "Jetzt: {{items}}"\n{text}'
    (one,) = situations(both.encode(), "own/s.toml")
    assert (one.instruction, one.before) == ("{situation}: {items}", "Jetzt: {items}")


def test_the_shortest_dialogue_is_enough():
    """Everything but id, text and references may be left out."""
    text = b"""[[item]]
id = "t1"
dialogue = "Ana: The train is late.\\nBo: I had one hour with my father. Now it is half of one."
emotions = { Sad = 7, Relieved = 0, Angry = 5.5, Proud = 0 }
"""
    (one,) = dialogues(text, "mine.toml")
    assert (one.character, one.emotions) == ("Bo", ("Sad", "Relieved", "Angry", "Proud"))
    assert one.reference == {"Sad": 7.0, "Relieved": 0.0, "Angry": 5.5, "Proud": 0.0}
    with pytest.raises(DataError, match=r"emotions \(t1\): 'Sad' is not a number from 0 to 10"):
        dialogues(text.replace(b"Sad = 7", b"Sad = 11"), "mine.toml")
    with pytest.raises(DataError, match=r"there are 3 different words"):
        dialogues(text.replace(b", Proud = 0", b""), "mine.toml")
    with pytest.raises(DataError, match=r"character \(t1\): is missing"):
        dialogues(text.replace(b"Ana: ", b"").replace(b"Bo: ", b""), "mine.toml")
    with pytest.raises(DataError, match=r"\[\[item\.emotions\]\]"):
        dialogues(text.replace(b"{ Sad = 7, Relieved = 0, Angry = 5.5, Proud = 0 }", b'"Sad"'), "mine.toml")
