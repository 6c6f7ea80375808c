"""Rubrics end to end over loopback: empathy in three facets, whole talks, people's own scales, a judge that answers
rubbish on one scale, a panel, a judge replaced in silence."""

import json
import re
from dataclasses import replace
from itertools import count

import pytest
from scripted import talk

import eqlab as api
from eqlab.benchmarks.rating.trials import by_key, single
from eqlab.core.answers import Answer
from eqlab.core.errors import UsageError
from eqlab.core.forms import Scale
from eqlab.core.runs import RunConfig
from eqlab.data.items import shipped
from eqlab.runs import judge as judging
from eqlab.runs.panel import panel_of

KEYS = ("cognitive", "affective", "motivational")


def number_of(prompt):
    return sum(map(ord, prompt)) % 3


def world(body, number=0):
    """Models that reply, and judges that find the warm one warmer, and nothing else."""
    prompt = body["messages"][-1]["content"]
    if "Your reply:" in prompt:
        return f"I feel with you ({len(prompt)})." if body["model"] == "warm" else f"Noted ({len(prompt)})."
    shown = prompt.split("\n\n")[-2]
    values = {
        "cognitive": 3 + number_of(shown) % 2,
        "affective": (4 if "I feel with you" in shown else 2) + number_of(shown) % 2,
        "motivational": 2 + number_of(shown),
    }
    return "\n".join(f"{key}: {values[key]}" for key in KEYS)


def replied(server, store, limit=12):
    server.reply = world
    request = api.Request(models=("warm", "cold"), benchmarks=("empathy",), base_url=server.url, limit=limit)
    run = api.run(api.prepare(request), store, concurrency=4, timeout=60).run
    server.requests.clear()
    return run


def judge(server, store, on, judges=("gpt-judge",), **request):
    wanted = judging.JudgeRequest(judges=judges, on=tuple(on), base_url=server.url, **request)
    outcome = api.run(judging.prepare(wanted, store), store, concurrency=4, timeout=60)
    return outcome.run, api.results(store, store.find_run(outcome.run))


def means(result):
    return {(row[0], row[2]): row[3] for table in result.tables if "by scale" in table.title for row in table.rows}


def test_three_facets(server, store):
    run = replied(server, store)
    made, (result,) = judge(server, store, [run], rubric="empathy")
    assert len(server.requests) == 24
    found = means(result)
    assert found["affective", "warm"].value - found["affective", "cold"].value > 1.5
    assert found["affective", "warm"].n == 12
    assert result.valid
    (asked,) = store.find_run(made).config.benchmarks
    assert asked.options["rubric_sha256"] == shipped("empathy").sha256
    assert "never calibrated" in result.caveats[0]
    assert "--rubric empathy" in result.caveats[0]
    again, _ = judge(server, store, [run], rubric="empathy")
    assert again == made
    assert len(server.requests) == 24
    other, _ = judge(server, store, [run])
    assert other != made


def test_a_copy_of_a_rubric_is_the_same_run_and_a_changed_one_is_not(server, store, tmp_path):
    from importlib.resources import files

    run = replied(server, store, 6)
    text = files("eqlab.data").joinpath("rubrics/empathy.toml").read_text()
    path = tmp_path / "mine.toml"
    path.write_text("# copied\n" + text)

    def made(name):
        return judging.prepare(judging.JudgeRequest(("j",), (run,), base_url=server.url, rubric=name), store).config.id

    assert made(str(path)) == made("empathy")
    path.write_text(text.replace("Use the whole scale.", "Use all of the scale."))
    assert made(str(path)) != made("empathy")
    assert made("published") == made("")


def test_rubbish_on_one_scale_is_asked_again_and_then_costs_that_scale(server, store):
    run = replied(server, store, 8)
    tries = {}

    def answer(body, number):
        prompt = body["messages"][-1]["content"]
        tries[prompt] = tries.get(prompt, 0) + 1
        said = world(body)
        if "I feel with you" in prompt:
            return re.sub(r"affective: \d", "affective: 11", said)
        return said if tries[prompt] > 1 else said.split("\n")[0]

    server.reply = answer
    _, (result,) = judge(server, store, [run], rubric="empathy")
    found = means(result)
    assert found["cognitive", "warm"].n == 8
    assert found["affective", "warm"].n == 0
    assert found["affective", "warm"].value is None
    assert found["affective", "cold"].n == 8
    assert len(server.requests) == 8 * 3 + 8 * 2
    assert not result.valid
    assert any("8 of 16 ratings lack a scale (affective)" in caveat for caveat in result.caveats)
    assert dict(result.others.shares) == {"cold": result.others.shares[0][1]}


def test_structured_answers(server, store):
    run = replied(server, store, 6)

    def answer(body, number):
        assert body["response_format"]["json_schema"]["schema"]["required"] == list(KEYS)
        return json.dumps(dict.fromkeys(KEYS, 3 + number % 2))

    server.reply = answer
    _, (result,) = judge(server, store, [run], rubric="empathy", structured=True)
    assert result.counts["ok"] == 12


def test_a_panel_by_rubric_and_a_judge_replaced_in_silence(server, store):
    run = replied(server, store, 10)
    thirds = count()

    def answer(body, number):
        said = world(body)
        if body["model"] == "strict":
            said = re.sub(r"\d", lambda found: str(max(1, int(found[0]) - 1)), said)
        model = "cheaper" if body["model"] == "third" and next(thirds) % 2 else body["model"]
        message = {"role": "assistant", "content": said}
        return {"model": model, "choices": [{"message": message, "finish_reason": "stop"}]}

    server.reply = answer
    made, _ = judge(server, store, [run], ("strict", "mild", "third"), rubric="empathy")
    panel = panel_of(store, store.find_run(made))
    tables = {table.title: table for table in panel.tables}
    severity = {(row[0], row[1]): row[2] for row in tables["How mild each judge is, scale by scale"].rows}
    assert severity["affective", "strict"].value == pytest.approx(-2 / 3, abs=0.15)
    assert {row[0] for row in tables["What the panel is worth, scale by scale"].rows} == set(KEYS)
    pooled = {row[0]: row[1] for row in tables["Pooled ratings"].rows}
    assert pooled["warm"].value > pooled["cold"].value
    assert pooled["warm"].n == 10
    assert "warm is rated better than cold" in panel.sentence
    assert any("third was replaced during the run" in caveat for caveat in panel.caveats)


def six(body):
    shown = body["messages"][-1]["content"].split("The talk:")[1]
    level = 5 if "A good reply" in shown else 2
    names = [scale.key for scale in shipped("dialogue").scales]
    return "\n".join(f"{name}: {max(1, level - number_of(shown + name) % 2)}" for name in names)


def talking(body, number):
    return six(body) if "Your rating:" in body["messages"][-1]["content"] else talk(body, number)


def test_talks_are_rated_whole_by_their_own_rubric(server, store):
    server.reply = talking
    request = api.Request(
        models=("good", "plain"),
        benchmarks=("dialogue",),
        base_url=server.url,
        options={"speaker": f"s@{server.url}"},
        limit=6,
        profile="full",
    )
    api.run(api.prepare(request), store, concurrency=8)
    server.requests.clear()
    made, (result,) = judge(server, store, ["last"])
    assert len(server.requests) == 12
    assert result.title == "Listening in a talk, rated by a judge"
    assert len({row[0] for table in result.tables if "by scale" in table.title for row in table.rows}) == 6
    shares = dict(result.others.shares)
    assert shares["good"].value > shares["plain"].value
    assert shares["good"].n == 6
    prompt = server.requests[0]["messages"][-1]["content"]
    assert "\n> A: " in prompt
    assert "\n> B: " in prompt
    assert "Emotion:" not in prompt
    assert "plain" not in prompt.replace("A plain reply", "")
    pairs, (compared,) = judge_pairs(server, store)
    assert compared.headline.name == "preference for plain over good"
    assert pairs != made


def judge_pairs(server, store):
    server.reply = lambda body, n: (
        "First" if "A good reply" in body["messages"][-1]["content"].split("Second talk:")[0] else "Second"
    )
    return judge(server, store, ["last"], pairwise=True)


# -- people on the same scales -------------------------------------------------------------------------------------


def people_rate(store, rows, scales, people=12, stored=lambda trial: trial):
    """A finished study with scales of its own: everybody rates some replies, a point milder than the world's judge."""
    base = {**judging.Ratings().options("replies", {"purpose": "people"}), "study": f"{scales}{stored}"}
    config = RunConfig((), (judging.configured(judging.Ratings(), base, {"x": b"y"}),), "full", None, None, 1)
    given = []
    for person in range(people):
        for place, row in enumerate(rows):
            if (place + person) % 3:
                continue
            trial = stored(single(row, scales=scales))
            values = {scale.key: min(5, 2 + (number_of(row.reply) + (person + place) % 2) % 4) for scale in scales}
            given.append((f"person:{person}", trial, values))
    store.begin_run(config, [(who, "rating", trial, 0) for who, trial, _ in given], {})
    store.add_answers(
        [Answer(config.id, trial.id, who, 0, 1, json.dumps(values), "ok", values) for who, trial, values in given]
    )
    return config.id


def rows_of(store, run):
    return judging.run_replies(store, store.find_run(run))


def test_a_calibration_against_a_study_of_ones_own(server, store):
    run = replied(server, store, 12)
    scales = shipped("empathy").scales
    study = people_rate(store, rows_of(store, run), scales[:2])
    server.reply = world
    made, (calibration,) = judge(server, store, [study], rubric="empathy", calibration=True)
    found = {one.name: one for one in calibration.estimates}
    assert found["cognitive: bias, judge − people"].n == 96
    assert found["cognitive: bias, judge − people"].low is not None
    assert found["cognitive: slope of people on judge"].value is not None
    assert any("nothing on motivational" in caveat for caveat in calibration.caveats)
    shown = server.requests[0]["messages"][-1]["content"]
    assert "What happened:" in shown  # the judge sees what people saw
    _, (result,) = judge(server, store, [run], rubric="empathy")
    assert made in result.caveats[0]
    assert result.rules["calibration"] == made
    _, (other,) = judge(server, store, [run])
    assert "never calibrated" in other.caveats[0]
    _, (warm,) = judge(server, store, [run], rubric="empathy", settings={"temperature": 1.0})
    assert "never calibrated" in warm.caveats[0]


def test_people_who_rated_other_scales_calibrate_nothing(server, store):
    run = replied(server, store, 6)
    (first, *_) = shipped("empathy").scales
    study = people_rate(store, rows_of(store, run), (replace(first, key="depth"),))
    with pytest.raises(UsageError, match="on the rubric 'empathy'") as caught:
        judge(server, store, [study], rubric="empathy", calibration=True)
    assert "depth (1–5)" in caught.value.hint
    wider = people_rate(store, rows_of(store, run), (replace(first, high=7, anchors=((1, "no"), (7, "yes"))),))
    with pytest.raises(UsageError, match="on the rubric 'empathy'"):
        judge(server, store, [wider], rubric="empathy", calibration=True)


def test_three_labels_of_ones_own_calibrate_nobody_for_empathy(server, store):
    """Under the key `rating` too, and stored as they were: they were taken for Bad, Okay and Good."""
    run = replied(server, store, 6)
    own = Scale("rating", "How long is the reply?", 1, 3, ((1, "short"), (2, "middling"), (3, "long")))
    for stored in (lambda trial: trial, by_key):
        study = people_rate(store, rows_of(store, run), (own,), stored=stored)
        with pytest.raises(UsageError, match="on the rubric 'published'") as caught:
            judge(server, store, [study], calibration=True)
        assert "People rated on rating (1–3)" in caught.value.hint
    server.reply = lambda body, n: "Good"
    _, (result,) = judge(server, store, [run], rubric="published")
    assert result.rules["calibration_pairs"] == 0


def test_a_scale_called_overall_is_none_of_the_means_called_so(server, store, tmp_path):
    run = replied(server, store, 6)
    path = tmp_path / "one.toml"
    scales = "".join(f'[[scale]]\nkey="{key}"\ntext="?"\nends=["no","yes"]\n' for key in ("overall", "warmth"))
    path.write_text(f'name="o"\ntitle="O"\ninstruction="Rate."\n{scales}')
    server.reply = lambda body, n: f"overall: {1 + n % 5}\nwarmth: 3"
    _, (result,) = judge(server, store, [run], rubric=str(path))
    names = [estimate.name for estimate in result.estimates]
    assert len(names) == len(set(names))


def test_people_and_judge_together_on_each_scale(server, store):
    run = replied(server, store, 12)
    rows = rows_of(store, run)
    some = [row for row in rows if row.prompt in sorted({row.prompt for row in rows})[:7]]
    people_rate(store, some, shipped("empathy").scales)
    server.reply = world
    _, (result,) = judge(server, store, [run], rubric="empathy")
    (gaps,) = (table for table in result.tables if table.title == "People and judge together: differences")
    assert {row[0] for row in gaps.rows} == set(KEYS)
    assert all(row[3].low < row[3].value < row[3].high for row in gaps.rows)


def test_a_rubric_without_words_for_pairs_refuses_them(server, store, tmp_path):
    run = replied(server, store, 6)
    path = tmp_path / "one.toml"
    path.write_text('name="o"\ntitle="O"\ninstruction="Rate."\n[[scale]]\nkey="k"\ntext="K?"\nends=["no","yes"]\n')
    with pytest.raises(UsageError, match="does not say how to choose between two"):
        judge(server, store, [run], rubric=str(path), pairwise=True)
    server.reply = lambda body, n: f"k: {1 + n % 5}"
    _, (result,) = judge(server, store, [run], rubric=str(path))
    assert result.counts["ok"] == 12
