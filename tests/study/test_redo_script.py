"""A study of every kind from its template: exported, done again by eqlab and by the script that knows nothing of eqlab,
and released to everybody."""

import csv
import json
import math
import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from filled_studies import filled, opened, template_text
from made_studies import study_text as made_text
from made_studies import write_replies
from redo_case import without_eqlab

import eqlab as api
from eqlab.benchmarks.eqbench.score import item_score_v1
from eqlab.benchmarks.rating.pairs import _people_fitted, pair_contrasts
from eqlab.store.study.participation import Participation
from eqlab.study.results import redo_script
from eqlab.study.results.analysis import analyse
from eqlab.study.results.bundle import redo
from eqlab.study.results.export import export_all
from eqlab.study.results.public import publish

QUICK = ("reply", "eqbench", "seceu")
SLOW = ("rating", "pairwise", "evoked", "emobench", "own")
"""Kinds whose analysis takes seconds, once in eqlab and once in the script."""
SMALL = {"rating": "limit = 8", "pairwise": "limit = 6", "evoked": "limit = 24", "own": "limit = 6"}
OWN = """
[[scale]]
key = "warm"
text = "The reply is warm."
low = 1
high = 5
ends = ["not at all", "very"]
[[scale]]
key = "cold"
text = "The reply is cold."
low = 1
high = 4
labels = ["no", "a little", "rather", "very"]
reverse = true
[design]
arms_per_person = "all"
[[after]]
key = "remarks"
ask = "text"
text = "What else?"
[[before]]
key = "age"
ask = "number"
text = "How old are you?"
low = 18
high = 110
"""


OWN_ITEMS = {
    "eqbench": (
        "id,character,text,emotions",
        '"q{n}","Ben","Ana: I got job number {n}!\nBen: So you will move.","Proud {n} | Sad 3 | Hurt 4 | Glad 1"',
    ),
    "evoked": ("id,text,emotion", 's{n},"Somebody took your seat number {n}.",{mood}'),
    "emobench": (
        "id,task,scenario,choices,label,question_type",
        'e{n},application,"Ben lost his key number {n}.","Help him look. | Laugh. | Leave. | Sing.",Laugh.,Action',
    ),
}
"""The first line of a file, and the others."""


@pytest.mark.parametrize("kind", OWN_ITEMS)
def test_questions_of_ones_own_are_found_again_too(tmp_path, kind):
    """Their number is called as their file is; and four zeros are no answer in EQ-Bench."""
    head, line = OWN_ITEMS[kind]
    moods = ("Anger", "Neutral", "Positive")
    rows = [line.format(n=n, mood=moods[n % 3]) for n in range(1, 10)]
    (tmp_path / "mine.csv").write_text("\n".join([head, *rows, ""]))
    store = api.open_store(str(tmp_path / "s.db"))
    text = re.sub(r"(?m)^items = .*", 'items = "mine.csv"', template_text(kind, store))
    zeros = {"Proud": 0, "Sad": 0, "Hurt": 0, "Glad": 0}
    design = opened(tmp_path / "study.toml", text, store)
    participation = filled(design, store, 30, source=text, instead={(2, 1): zeros} if kind == "eqbench" else {})
    export_all(participation, tmp_path / "out")
    again = without_eqlab(tmp_path / "out")
    store.close()
    assert again.wrong == []
    assert kind != "eqbench" or "mine" in again.same


def _by_person(folder):
    """Of everybody each trial's condition, item, values by scale and key."""
    keys = {row["trial"]: json.loads(row["key"]) for row in redo_script.table(folder, "questions")}
    people = {}
    for row in redo_script.table(folder, "answers"):
        if row["kind"] == "trial":
            trial = people.setdefault(row["person"], {}).setdefault(
                row["trial"], (row["condition"], row["item"], {}, keys[row["trial"]])
            )
            trial[2][row["scale"]] = int(row["value"])
    return list(people.values())


def _accuracy(trials):
    return 100 * np.mean([given == key["correct"] for _, _, given, key in trials.values()])


def _shape(trials):
    """Of stories in drawn order; None without any."""
    told = [(given, key["reference"]) for condition, _, given, key in trials.values() if condition == "shuffled"]
    dealt = [points - 2.5 for given, _ in told for points in given.values()]
    norm = [reference[word] - sum(reference.values()) / 4 for given, reference in told for word in given]
    return np.corrcoef(dealt, norm)[0, 1] if told else None


@pytest.mark.parametrize(
    ("kind", "items", "option", "size", "score"),
    [
        ("culemo", "published", 'language = "deu"\nsetting = "all"', 8, _accuracy),
        ("seceu", "open", 'order = "both"', 2, _shape),
    ],
)
def test_items_asked_under_several_conditions_give_the_documented_number(
    request, monkeypatch, tmp_path, kind, items, option, size, score
):
    """Some get one question under two conditions and another under one, or no story in drawn order."""
    if items == "published":
        monkeypatch.setenv("EQLAB_DATA", str(request.getfixturevalue("published")))
    tables = f"[options]\n{option}\n[places]\nbatch_size = {size}\npeople_per_batch = 6\n"
    text = made_text(kind, arms=(), top=f'items = "{items}"\nlimit = 8', tables=tables)
    store = api.open_store(str(tmp_path / "s.db"))
    participation = filled(opened(tmp_path / "study.toml", text, store), store, 24, source=text)
    export_all(participation, tmp_path / "out")
    result = analyse(participation).result
    store.close()
    people = _by_person(tmp_path / "out")
    scores = [own for own in map(score, people) if own is not None]
    without = len(people) - len(scores)
    if kind == "culemo":
        times = [set(Counter(item for _, item, *_ in trials.values()).values()) for trials in people]
        assert any(len(each) > 1 for each in times)
    assert (without > 1) == (kind == "seceu")
    assert (result.headline.n, result.headline.value) == (len(scores), pytest.approx(np.mean(scores)))
    assert sorted(result.norms.values) == pytest.approx(sorted(scores))
    (table,) = [one for one in result.tables if "where each person stands" in one.title.lower()]
    assert [row[1].value for row in table.rows] == pytest.approx(sorted(scores, reverse=True))
    said = f"{without} people answered no story in the condition 'shuffled', which the score is made of, and are left"
    assert any(caveat.startswith(said) for caveat in result.caveats) == (kind == "seceu")
    assert without_eqlab(tmp_path / "out").wrong == []
    assert redo(tmp_path / "out")[1] == []


def test_the_export_has_the_plan_that_was_applied(tmp_path):
    """A study may begin, if only to be looked at, before its plan is written."""
    write_replies(tmp_path)
    began = made_text("rating", arms=("a", "b"), tables="[places]\nbatch_size = 8\npeople_per_batch = 6\n")
    text = began + '[analysis]\nreference = "b"\nexclude = []\n'
    store = api.open_store(str(tmp_path / "s.db"))
    filled(opened(tmp_path / "study.toml", began, store), store, 12, careless=3, source=began)
    changed = opened(tmp_path / "study.toml", text, store)
    export_all(Participation(store, changed), tmp_path / "out", file=text)
    store.close()
    again = without_eqlab(tmp_path / "out")
    assert (again.wrong, "people analysed" in again.same) == ([], True)
    assert json.loads((tmp_path / "out" / "result.json").read_text())["analysed"] == 12
    assert (tmp_path / "out" / "study.toml").read_text() == text


def test_names_of_arms_that_a_spreadsheet_takes_for_formulas_are_found_again(tmp_path):
    """The tables have them with a leading apostrophe, the result as they are."""
    store = api.open_store(str(tmp_path / "s.db"))
    text = template_text("rating", store, arms={"=1+1": "author", "-again": "author"})
    text = text.replace('kind = "rating"', 'kind = "rating"\nlimit = 8', 1)
    participation = filled(opened(tmp_path / "study.toml", text, store), store, 12, source=text)
    export_all(participation, tmp_path / "out")
    again = without_eqlab(tmp_path / "out")
    store.close()
    assert "'=1+1" in (tmp_path / "out" / "answers.csv").read_text()
    assert again.wrong == []
    assert {"P(Good), =1+1", "P(Good), -again"} <= again.same


@pytest.mark.parametrize(
    ("kind", "people", "effect", "top"),
    [
        ("pairwise", 0, 0.5, ""),
        ("pairwise", 1, 0.5, ""),
        ("pairwise", 6, 60.0, ""),  # one arm wins throughout
        ("pairwise", 4, 0.5, "limit = 4"),  # too few prompts for an interval
        ("reply", 0, 0.5, ""),
        ("rating", 0, 0.5, ""),
    ],
)
def test_where_eqlab_tells_no_difference_the_script_finds_none_either(tmp_path, kind, people, effect, top):
    write_replies(tmp_path)
    arms = () if kind == "reply" else ("a", "b", "c") if people == 1 else ("a", "b")
    text = made_text(kind, arms=arms, top=top, tables="[places]\nbatch_size = 4\npeople_per_batch = 2\n")
    store = api.open_store(str(tmp_path / "s.db"))
    participation = filled(opened(tmp_path / "study.toml", text, store), store, people, effect, source=text)
    export_all(participation, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "result.json").read_text())["contrasts"] == []
    again = without_eqlab(tmp_path / "out")
    assert (again.wrong, "people analysed" in again.same) == ([], True)
    store.close()


def test_nothing_but_ties_is_undefined_here_and_there(tmp_path):
    write_replies(tmp_path)
    text = made_text("pairwise", arms=("a", "b"), tables="[places]\nbatch_size = 4\npeople_per_batch = 2\n")
    store = api.open_store(str(tmp_path / "s.db"))
    design = opened(tmp_path / "study.toml", text, store)
    ties = {(person, page): {"better": 2} for person in range(40) for page in range(40)}
    participation = filled(design, store, 12, source=text, instead=ties)
    export_all(participation, tmp_path / "out")
    store.close()
    again = without_eqlab(tmp_path / "out")
    assert (again.wrong, "first place" in again.same) == ([], True)


def test_what_nobody_could_be_scored_in_ends_without_a_number_and_without_a_trace():
    zeros = [{"person": "p", "trial": "t", "scale": scale, "value": "0"} for scale in "abcd"]
    asked = {"t": {"reference": dict.fromkeys("abcd", 5)}}
    assert redo_script._eqbench(zeros, asked, {"options": []}) == {}
    alone = redo_script.mixed_logit(np.array([1, 2, 3]), np.array([[0.0], [1.0], [1.0]]), [["a", "b", "c"]])
    assert alone.shape == (1,)


WAYS = {
    "won by nobody in particular": lambda chance, first, second: chance < 0.5,
    "won by a": lambda chance, first, second: first == "a" or (second != "a" and chance < 0.5),
    "won by the first": lambda chance, first, second: True,
    "won by a where it is first": lambda chance, first, second: first == "a" or chance < 0.5,
    "won by a where it is first, else lost": lambda chance, first, second: first == "a" or second == "a",
    "won by a but for one": lambda chance, first, second: (first == "a") != (chance < 0.03),
    "won by a, mostly": lambda chance, first, second: (first == "a") == (chance < 0.95),
}


@pytest.mark.parametrize("choices", [24, 48, 96, 400])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("arms", "ties", "orders"), [("ab", 0.0, 2), ("ab", 0.3, 2), ("abc", 0.2, 2), ("ab", 0.0, 1)])
def test_strengths_without_an_end_are_told_neither_here_nor_there(choices, way, arms, ties, orders):
    """By a linear programme here, by Newton's steps there; whichever has a number, the other has it too."""
    draw = np.random.default_rng(choices)
    chosen = []
    for number in range(choices):
        first, second = draw.permutation(list(arms))[:2] if orders == 2 else "ab"
        value = 2 if draw.random() < ties else 1 if WAYS[way](draw.random(), first, second) else 3
        chosen.append((str(first), str(second), value, f"p{number % 8}", f"r{number % 5}"))
    assert _told(chosen, arms) == pytest.approx(_found_again(chosen, arms, ties), abs=0.02)


def _told(chosen, arms):
    replies = [
        SimpleNamespace(
            key={"arms": [first, second]}, value=value, first_points=(3 - value) / 2, prompt=prompt, rater=who
        )
        for first, second, value, prompt, who in chosen
    ]
    fit = _people_fitted(replies)[0]
    estimates = [one.estimate for one in pair_contrasts(replies, "a", len(arms) - 1, 0.05)[0]]
    return {one.name: one.value for one in (*estimates, *((fit.position,) if fit else ()))}


def _found_again(chosen, arms, ties):
    questions = {str(at): {"arms": one[:2], "prompt": one[3]} for at, one in enumerate(chosen)}
    rows = [{"trial": str(at), "value": str(one[2] if ties else (one[2] + 1) // 2)} for at, one in enumerate(chosen)]
    study = {"arms": [[arm, ""] for arm in arms], "analysis": {"reference": "a"}}
    study["options"] = [["ties", "yes" if ties else "no"]]
    return {name: value for name, (value, _) in redo_script._pairwise(rows, questions, study).items() if value == value}


def test_the_first_version_of_eqbench_is_found_again():
    """Its scores share ten points; only published questions have it."""
    answers = {"a": (5, 5, 0, 0), "b": (1, 0, 2, 7), "c": (0, 0, 0, 0)}
    words, reference = ("W", "X", "Y", "Z"), {"W": 4, "X": 3, "Y": 3, "Z": 0}
    rows = [
        {"person": person, "trial": "t", "scale": word, "value": str(value)}
        for person, own in answers.items()
        for word, value in zip(words, own, strict=True)
    ]
    ((_, (found, _)),) = redo_script._eqbench(
        rows, {"t": {"reference": reference}}, {"options": [["version", "v1"]]}
    ).items()
    scores = [item_score_v1(dict(zip(words, own, strict=True)), reference) for own in answers.values()]
    assert scores[2] is None
    assert found == pytest.approx(10 * (scores[0] + scores[1]) / 2)


@pytest.mark.parametrize(("instrument", "rise"), [("DASS-21", 6.0), ("BDI", 3.0)])
def test_other_questionnaires_are_found_again_by_their_change_in_negative_situations(instrument, rise):
    """Of q02, which is reversed, less is more; the DASS-21 counts double; a neutral situation counts for nothing."""
    given = {("p", "Anger"): ((1, 3), (3, 2)), ("q", "Neutral"): ((1, 1), (9, 9))}
    rows = [
        {"person": person, "condition": condition, "trial": f"{condition} {emotion}", "item": emotion, "arm": emotion}
        | {"scale": f"q{at + 1:02d}", "value": str(value), "reverse": "true" if at else "false"}
        for (person, emotion), both in given.items()
        for condition, values in zip(("default", "evoked"), both, strict=True)
        for at, value in enumerate(values)
    ]
    questions = {row["trial"]: {"instrument": instrument, "emotion": row["item"]} for row in rows}
    found = redo_script._evoked(rows, questions, {"analysis": {"reference": ""}})
    assert found == {redo_script.HEADLINE: (rise, redo_script.EXACT)}


@pytest.mark.parametrize(("reference", "controls"), [("", "no"), ("Positive", "yes")])
def test_moods_are_found_again_without_controls_and_against_another_reference(tmp_path, reference, controls):
    """Without controls there is no concordance, and the headline was not looked at; nor was this contrast."""
    store = api.open_store(str(tmp_path / "s.db"))
    text = template_text("evoked", store).replace('kind = "evoked"', 'kind = "evoked"\nlimit = 36', 1)
    text = re.sub(r"(?m)^reference = .*", f'reference = "{reference}"' if reference else "", text)
    text = text.replace('controls = "yes"', f'controls = "{controls}"')
    participation = filled(opened(tmp_path / "study.toml", text, store), store, 108, source=text)
    export_all(participation, tmp_path / "out")
    store.close()
    again = without_eqlab(tmp_path / "out")
    assert again.wrong == []
    assert f"change in Negative Affect{', negative − Positive' if reference else ''}" in again.same


@pytest.fixture(scope="module", params=[*QUICK, *(pytest.param(kind, marks=pytest.mark.claims) for kind in SLOW)])
def exported(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    store = api.open_store(str(folder / "s.db"))
    kind = "rating" if request.param == "own" else request.param
    text = template_text(kind, store).replace(f'kind = "{kind}"', f'kind = "{kind}"\n{SMALL.get(request.param, "")}', 1)
    text += OWN if request.param == "own" else ""
    # people are dealt anew each time: so many that no dealing leaves the models without a summit to find
    text = re.sub(r"(?m)^people_per_batch = .*", "people_per_batch = 6", text) if kind == "rating" else text
    design = opened(folder / "study.toml", text, store)
    participation = filled(design, store, 30, careless=2, source=text)
    export_all(participation, folder / "out")
    yield participation, folder
    store.close()


def test_the_script_in_the_export_finds_the_numbers_again_without_eqlab(exported):
    participation, folder = exported
    again = without_eqlab(folder / "out", apart=True)
    assert again.wrong == []
    assert len(again.same) >= 2
    if participation.study.scales:  # the headline too
        assert json.loads((folder / "out" / "result.json").read_text())["headline"]["name"] in again.same


def test_eqlab_finds_them_again_too(exported):
    participation, folder = exported
    if participation.study.kind == "rating" and not participation.study.scales:
        pytest.skip("takes long, and is tested with the export's other promises")
    assert redo(folder / "out")[1] == []


def test_the_script_says_where_a_result_was_changed(exported, tmp_path, capsys):
    _, folder = exported
    told = json.loads((folder / "out" / "result.json").read_text())
    told["analysed"] += 1
    for name in ("participants.csv", "answers.csv", "questions.csv", "study.toml", "study.json"):
        (tmp_path / name).write_bytes((folder / "out" / name).read_bytes())
    (tmp_path / "result.json").write_text(json.dumps(told))
    assert redo_script.main(tmp_path) == 1
    assert "DIFFERENT  people analysed" in capsys.readouterr().out


def test_the_release_has_no_word_number_or_moment_of_anybody(exported):
    participation, folder = exported
    written = publish(participation, folder / "public", 3)
    whole = "".join(path.read_text() for path in written)
    with (folder / "out" / "answers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    texts = {row["text"] for row in rows if len(row["text"]) > 3 and row["kind"] != "attention"}
    if participation.study.kind == "reply":
        assert texts
    assert not any(text in whole for text in texts)
    for row in rows:
        assert row["person"] not in whole
    assert not re.search(r"20\d\d-\d\d-\d\d|\d\d:\d\d:\d\d", whole.replace(participation.study.consent.keep_until, ""))
    with (folder / "public" / "answers.csv").open(newline="") as file:
        kept = list(csv.DictReader(file))
    assert kept or participation.study.kind == "reply"
    assert not any("seconds" in row for row in kept)
    assert not any(row["scale"] in ("age", "remarks", "reply") for row in kept)


@pytest.mark.parametrize(
    ("name", "told", "here", "wrong"),
    [
        ("Concordance", None, math.nan, 0),
        ("Concordance", 1.0, math.nan, 1),
        ("Concordance", None, 1.0, 1),
        ("Concordance", 1.0, 1.0, 0),
        ("another headline, of few people", 1.0, math.nan, 0),
        ("another headline, of few people", 1.0, 1.0, 1),
    ],
)
def test_what_is_undefined_here_and_there_is_the_same(tmp_path, monkeypatch, name, told, here, wrong):
    result = {"analysed": 8, "estimates": [], "headline": {"name": name, "value": told}, "contrasts": []}
    (tmp_path / "result.json").write_text(json.dumps(result))
    monkeypatch.setattr(redo_script, "analysed", lambda folder: range(8))
    monkeypatch.setattr(redo_script, "redone", lambda folder: {"Concordance": (here, redo_script.EXACT)})
    assert redo_script.main(tmp_path) == wrong


@pytest.mark.parametrize(("told", "here", "wrong"), [(None, 9.0, 2), (None, 14.0, 0), (14.0, 14.0, 0), (9.0, 14.0, 1)])
def test_a_number_that_is_not_told_is_missed_unless_no_model_has_it(tmp_path, monkeypatch, told, here, wrong, capsys):
    result = {"analysed": 8, "estimates": [], "headline": {"name": "log-odds", "value": told}, "contrasts": []}
    (tmp_path / "result.json").write_text(json.dumps(result))
    monkeypatch.setattr(redo_script, "analysed", lambda folder: range(8))
    found = {"log-odds": (here, redo_script.FITTED), "Concordance": (1.0, redo_script.FITTED)}
    monkeypatch.setattr(redo_script, "redone", lambda folder: found)
    redo_script.main(tmp_path)
    assert capsys.readouterr().out.count("DIFFERENT") == wrong
