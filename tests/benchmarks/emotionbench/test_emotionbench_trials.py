"""Situations, orders, prompts and numbers of trials."""

import json
from collections import Counter
from importlib.resources import files

import pytest

from eqlab.benchmarks.emotionbench.benchmark import EmotionBench
from eqlab.benchmarks.emotionbench.items import OPEN, EmotionBenchOptions, chosen, parse_open, parse_published
from eqlab.benchmarks.emotionbench.measures import EMOTIONS, FACTORS
from eqlab.benchmarks.emotionbench.trials import Material, build_trial, order_seed, plan, select
from eqlab.core.benchmark import Selection
from eqlab.core.errors import DataError, UsageError
from eqlab.core.trials import from_json, to_json
from eqlab.instruments.catalogue import MJS, PANAS
from eqlab.instruments.wording import QUESTIONNAIRES, own_wording, read_questionnaires

EB = EmotionBench()
CONTENT = files("eqlab.data").joinpath("open", OPEN).read_bytes()
SITUATIONS = tuple(parse_open(CONTENT))


def trials(selection, **given):
    options = EB.options("open", given)
    return list(EB.plan({OPEN: CONTENT}, options, selection))


def test_the_open_set_covers_every_factor_three_times():
    counts = Counter((s.emotion, s.factor) for s in SITUATIONS)
    assert len(SITUATIONS) == 36 * 3 + 48
    assert all(counts[emotion, factor] == 3 for emotion in EMOTIONS for factor in FACTORS[emotion])
    assert counts["Neutral", "Neutral control"] == counts["Positive", "Positive control"] == 24


def test_full_and_quick_profile():
    full = trials(Selection())
    assert len(full) == 50 + 156 * 10
    assert len({trial.id for trial, _ in full}) == len(full)
    quick = trials(Selection("quick"))
    kinds = Counter(trial.key.get("emotion", "default") for trial, _ in quick)
    assert (kinds["default"], kinds["Neutral"], kinds["Positive"], len(quick)) == (3, 2, 2, 3 + 4 + 2 + 2)
    medium = Counter(trial.key.get("emotion", "default") for trial, _ in trials(Selection(limit=32, repeats=1)))
    assert all(medium[emotion] >= 1 for emotion in (*EMOTIONS, "Neutral", "Positive", "default"))


def test_numbers_can_be_given():
    assert len(trials(Selection(repeats=2), defaults="4")) == 4 + 156 * 2
    assert len(trials(Selection(repeats=2), repeats="1", defaults="4", controls="no")) == 4 + 108
    assert len(trials(Selection("quick", repeats=3))) == 3 + 3 * 8
    limited = trials(Selection(limit=20))
    assert Counter(t.key.get("emotion") in (None, "Neutral", "Positive") for t, _ in limited[50:]) == {
        True: 100,
        False: 100,
    }
    assert len(trials(Selection(limit=3), controls="no")) == 50 + 3 * 10
    for name, value in (("defaults", "1"), ("repeats", "0"), ("repeats", "many")):
        with pytest.raises(UsageError, match=name):
            EB.options("open", {name: value})


def test_every_administration_has_an_order_of_its_own_that_comes_back():
    found = trials(Selection("quick", repeats=2))
    orders = {trial.form.keys for trial, _ in found}
    assert len(orders) == len(found)
    assert all(
        trial.order_seed is not None and sorted(trial.form.keys) == sorted(PANAS.item_keys) for trial, _ in found
    )
    assert [t.id for t, _ in trials(Selection("quick", repeats=2))] == [t.id for t, _ in found]
    other = trials(Selection("quick", repeats=2, seed=1))
    assert {trial.form.keys for trial, _ in other}.isdisjoint(orders)
    assert from_json(to_json(found[0][0])) == found[0][0]
    assert order_seed(0, "PANAS", "a", 1) != order_seed(0, "PANAS", "a", 2)


def test_default_has_no_situation_and_evoked_has_it():
    default, evoked = trials(Selection("quick"))[0][0], trials(Selection("quick"))[-1][0]
    text = next(s.text for s in SITUATIONS if s.id == evoked.items[0])
    assert (default.condition, default.stimulus) == ("default", "")
    assert "situation" not in default.prompt
    assert evoked.condition == "evoked"
    assert text in evoked.prompt
    assert text in evoked.stimulus
    for number, scale in enumerate(evoked.form.scales, start=1):
        assert f"\n{number}. {scale.text}\n" in evoked.prompt


def test_structured_asks_for_keys():
    trial = trials(Selection("quick", structured=True))[0][0]
    assert trial.mode == "json"
    assert all(f"\n{key}: " in trial.prompt for key in trial.form.keys)
    reply = json.dumps(dict.fromkeys(trial.form.keys, 2))
    options = EB.options("open", {})
    assert EB.read(trial, reply, options).status == "ok"
    assert EB.read(trial, reply.replace("2", "2.5", 1), options).status == "unparseable"


def mjs_wording():
    prompt = (
        'SCENARIO 1 denotes "seldom" and 7 denotes "daily" for question 1 to 8, and question 17 to 24. '
        'While 1 denotes "glad" while 7 denotes "sore" for question 9 to question 16.'
    )
    questions = {str(number): f"Statement {number}x." for number in MJS.numbers}
    body = [{"name": "MJS", "questions": questions, "prompt": prompt, "inner_setting": "s"}]
    return read_questionnaires(json.dumps(body).encode(), MJS, QUESTIONNAIRES)


def test_mjs_labels_stay_true_when_shuffled():
    material = Material(MJS, mjs_wording(), SITUATIONS, lead="Lead:")
    trial = build_trial(material, SITUATIONS[0], 0, Selection())
    assert trial.system == ""  # the published instruction names positions and would be false
    for number, scale in enumerate(trial.form.scales, start=1):
        labels = "1 = glad; 7 = sore" if 9 <= int(scale.key[1:]) <= 16 else "1 = seldom; 7 = daily"
        assert f"\n{number}. {scale.text} ({labels})\n" in trial.prompt
    assert "Lead:" not in trial.prompt


def test_the_published_prompt_has_a_blank_or_the_situation_in_its_slot():
    wording = own_wording(PANAS)
    theirs = type(wording)(wording.items, wording.anchors, "Say. SCENARIO Rate:", "only numbers")
    material = Material(PANAS, theirs, SITUATIONS, lead="Lead:")
    default = build_trial(material, None, 0, Selection())
    assert default.prompt.startswith("Prompt: Say.   Rate:\n1. ")
    assert default.system == "only numbers"
    evoked = build_trial(material, SITUATIONS[0], 0, Selection())
    assert f'Say. Lead: "{SITUATIONS[0].text}" Rate:\n1. ' in evoked.prompt


def test_emotion_and_factor():
    assert {s.emotion for s in chosen(SITUATIONS, "guilt", "all")} == {"Guilt"}
    assert {s.factor for s in chosen(SITUATIONS, "all", "anger-2")} == {"Blaming, Slandering, and Tattling"}
    assert len(chosen(SITUATIONS, "fear", "Harmless animals")) == 3
    with pytest.raises(UsageError, match="Anger-2"):
        chosen(SITUATIONS, "anger", "winter")
    with pytest.raises(UsageError, match="joy"):
        EB.options("open", {"emotion": "joy"})
    found = trials(Selection(), emotion="guilt", controls="no", defaults="2", repeats="1")
    assert len(found) == 2 + 12


def test_options_that_make_no_sense_are_refused():
    for given, word in (({"people": "yes", "instrument": "AGQ"}, "PANAS"), ({"situations": "all"}, "published items")):
        with pytest.raises(UsageError, match=word):
            EB.options("open", given)
    assert EB.options("open", {"instrument": "AGQ"})["controls"] is False
    assert EB.options("published", {})["people"] is True


def test_sources_follow_the_options():
    def names(item_set, **given):
        return [source.path for source in EB.sources(item_set, EB.options(item_set, given))]

    assert names("open") == [OPEN]
    assert "emotionbench/results/PANAS Test/crowd.xlsx" in names("open", people="yes")
    assert QUESTIONNAIRES in names("open", instrument="FSS")
    assert "instruments/teq.toml" in names("open", instrument="TEQ")
    assert "emotionbench/situations.json" in names("published", situations="all")
    assert OPEN not in names("published", controls="no")


def test_broken_files_are_named():
    with pytest.raises(DataError, match=r"emotionbench\.toml"):
        parse_open(b"[[item]]\nid = 'x'\n")
    with pytest.raises(DataError, match="not a factor"):
        parse_open(b"[[item]]\nid='x'\nemotion='Anger'\nfactor='y'\ntext='z'\n")
    with pytest.raises(DataError, match=r"situations\.json"):
        parse_published(b"{}")
    with pytest.raises(UsageError, match="not shipped"):
        list(EB.plan({OPEN: CONTENT}, EB.options("open", {"instrument": "AGQ"}), Selection()))


def test_a_limit_is_shared_between_kinds():
    counts = Counter(s.kind for s in select(SITUATIONS, Selection(limit=8)))
    assert counts == {"negative": 4, "neutral": 2, "positive": 2}
    assert len(select(SITUATIONS, Selection(limit=1000))) == 156
    assert [s.kind for s in select(SITUATIONS, Selection(limit=1))] == ["negative"]


def test_plan_goes_through_all_situations_before_it_repeats():
    material = Material(PANAS, own_wording(PANAS), SITUATIONS[:3])
    options = EmotionBenchOptions(defaults=2, repeats=2)
    found = [(trial.items[0], repeat) for trial, repeat in plan(material, options, Selection())]
    ids = [s.id for s in SITUATIONS[:3]]
    assert found == [("default", 0), ("default", 1), *((i, 0) for i in ids), *((i, 1) for i in ids)]
