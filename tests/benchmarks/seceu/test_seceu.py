"""SECEU as a benchmark, on open items: what known answerers get, in which order, under which rules."""

import json
import tomllib
from collections import Counter
from statistics import fmean

import pytest

from eqlab.analysis import pattern
from eqlab.benchmarks.common.people import own_score
from eqlab.benchmarks.seceu import Seceu
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Selection
from eqlab.core.errors import DataError
from eqlab.core.study import Consent, Places, Study
from eqlab.data.items import read_sources

SECEU = Seceu()


def planned(given=None, **selection):
    options = SECEU.options("open", given or {})
    files = read_sources(SECEU.sources("open", options), None)
    return options, list(SECEU.plan(files, options, Selection(**selection)))


def lines(values):
    return "\n".join(f"{word}: {points:g}" for word, points in values.items())


def result(answer, given=None, **selection):
    options, scored = answered(answer, given, **selection)
    return SECEU.score("model:m", scored, options)


def answered(answer, given=None, **selection):
    options, asked = planned(given, **selection)
    scored = []
    for trial, repeat in asked:
        text = answer(trial)
        reading = SECEU.read(trial, text, options)
        kept = Answer("", trial.id, "model:m", repeat, 1, text, reading.status, reading.values, reading.note)
        scored.append(Scored(trial, repeat, (kept,)))
    return options, scored


def by_place(*points):
    return lambda trial: lines(dict(zip(trial.form.keys, points, strict=True)))


def knowing(trial):
    return lines(trial.key["reference"])


def named(found):
    return {one.name: one for one in found.estimates}


@pytest.mark.parametrize("file", ["seceu.toml", "seceu_zh.toml"])
def test_open_items_give_nothing_away_by_place(file):
    from importlib.resources import files

    body = tomllib.loads(files("eqlab.data").joinpath("open", file).read_text(encoding="utf-8"))
    points = [list(item["words"].values()) for item in body["item"]]
    assert len(points) == 40
    assert all(sum(own) == 10 and sorted(own)[-1] > sorted(own)[-2] for own in points)
    assert Counter(own.index(max(own)) for own in points) == dict.fromkeys(range(4), 10)
    assert [fmean(place) for place in zip(*points, strict=True)] == [2.5] * 4
    assert (body["licence"], body["provenance"]) == ("MIT", "author reference, not a human norm")


def test_both_languages_have_the_same_items():
    english, chinese = (planned({"language": language, "order": "published"})[1] for language in ("en", "zh"))
    for (one, _), (other, _) in zip(english, chinese, strict=True):
        assert one.items == other.items
        assert list(one.key["reference"].values()) == list(other.key["reference"].values())
        assert "请把10分" in other.prompt
        assert not other.prompt.isascii()


def test_who_knows_the_references_has_shape_one_and_distance_none():
    found = result(knowing)
    assert found.headline.value == pytest.approx(1)
    assert found.headline.n == 40
    assert len(found.items) == 80
    assert named(found)["distance"].value == pytest.approx(0)
    assert named(found)["strongest word found"].value == 100
    assert "EQ" not in named(found)  # an author's references are no norm
    assert found.norms is None


@pytest.mark.parametrize("order", ["shuffled", "published"])
def test_answers_that_read_nothing_have_no_shape(order):
    falling, flat = (result(by_place(*points), {"order": order}) for points in ((4, 3, 2, 1), (2.5,) * 4))
    assert flat.headline.value == 0
    assert abs(falling.headline.value) < 0.12
    assert "cannot be told apart" in falling.sentence
    assert "Flat answers: 80 of 80" in " ".join(falling.caveats)
    floors = {one.name: one.value for one in falling.baselines}
    assert floors["2.5 to each"] == 0
    assert floors["4, 3, 2, 1 by place"] == pytest.approx(falling.headline.value)
    note = named(falling)["distance"].note
    assert f"4, 3, 2, 1 by place: {named(falling)['distance'].value:.2f}" in note
    assert f"2.5 to each: {named(flat)['distance'].value:.2f}" in note


def test_points_have_the_mean_that_is_the_headline():
    found = result(by_place(1, 2, 3, 4))
    assert fmean(item.points for item in found.items) == pytest.approx(found.headline.value)


@pytest.mark.parametrize("points", [(1, 2, 3, 4), (7, 1, 1, 1), (2.5,) * 4])
@pytest.mark.parametrize("order", ["shuffled", "both"])
def test_one_persons_score_is_the_headline_without_its_draws(monkeypatch, points, order):
    """A simulation has hundreds of people: ten thousand draws for each took a minute, and nobody saw them."""
    options, scored = answered(by_place(*points), {"order": order})
    items = [SECEU.item(one, options) for one in scored]
    headline = SECEU.together(items).value
    monkeypatch.setattr(pattern, "interval", None)
    assert own_score(SECEU, items) == pytest.approx(headline)
    assert own_score(SECEU, []) is None


def test_both_orders_give_the_position_effect():
    def fond_of_the_first(trial):
        words = list(trial.key["reference"])
        return knowing(trial) if list(trial.form.keys) == words else by_place(7, 1, 1, 1)(trial)

    found = result(fond_of_the_first, {"order": "both"})
    effect = named(found)["position effect"]
    assert effect.low > 20
    assert effect.n == 40
    assert named(found)["distance, published order"].value == pytest.approx(0)
    assert sum(item.points is not None for item in found.items) == 80  # the headline is of the drawn order
    assert len({(item.item, item.repeat) for item in found.items}) == len(found.items) == 160
    assert named(found)["points too many for the first word"].low > 2


def test_orders_are_drawn_by_seed_item_and_repeat():
    orders = [[trial.form.keys for trial, _ in planned(repeats=2, seed=seed)[1]] for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert orders[0][:40] != orders[0][40:]
    assert len(planned(profile="quick")[1]) == 10


def test_json_answers_in_any_order_of_keys():
    def reply(trial):
        return json.dumps(dict(reversed(list(zip(trial.form.keys, (4, 3, 2, 1), strict=True)))))

    found = result(reply, structured=True, profile="quick")
    assert found.counts["ok"] == 10
    assert [list(item.values.values()) for item in found.items] == [[4, 3, 2, 1]] * 10


@pytest.mark.parametrize(
    ("points", "status", "counted"),
    [((4, 3, 2, 1.4), "ok", 0), ((8, 6, 4, 2), "ok", 10), ((6, 4, 2, -2), "unparseable", 0)],
)
def test_sums_and_negative_points(points, status, counted):
    found = result(by_place(*points), profile="quick")
    assert found.counts[status] == 10
    assert sum("scaled to the total" in caveat for caveat in found.caveats) == bool(counted)
    paper = named(found)["distance, by the paper's rules for replies"]
    assert paper.n == 10
    shifted = [8 * 10 / 18, 6 * 10 / 18, 4 * 10 / 18, 0] if status == "unparseable" else None
    if shifted:
        assert paper.value == pytest.approx(
            named(result(by_place(*shifted), profile="quick"))["distance"].value, abs=1e-4
        )


def test_no_answer_is_left_out_and_zeros_in_the_paper():
    found = result(lambda trial: "I cannot say.", profile="quick")
    assert found.headline.value is None
    assert not found.valid
    paper = named(found)["distance, by the paper's rules for replies"].value
    assert paper == pytest.approx(fmean(sum(p**2 for p in item.reference.values()) ** 0.5 for item in found.items))


def test_each_person_of_a_study_has_a_place():
    options, asked = planned(limit=8, repeats=1)
    people = []
    for number, points in enumerate(((4, 3, 2, 1), (1, 2, 3, 4), (10, 0, 0, 0), (0, 0, 0, 10), None)):
        for trial, _ in asked:
            values = dict(zip(trial.form.keys, points, strict=True)) if points else dict(trial.key["reference"])
            answer = Answer("", trial.id, f"person:{number}", 0, 1, "", "ok", values)
            people.append(Scored(trial, 0, (answer,)))
    found = SECEU.score("people", people, options)
    assert found.headline.n == 5
    (pull,) = found.estimates
    assert (pull.name, pull.n, pull.of) == ("points too many for the first word", 5, "people")
    wide = max(item.reference[next(iter(item.values))] for item in found.items if item.values)
    assert pull.high - pull.low > wide  # one put 10 on the first word and one 0: five people tell little
    assert len(found.norms.values) == 5
    (table,) = [one for one in found.tables if one.title == "Where each person stands"]
    assert table.titles == ("person", "shape", "above people")
    first, last = table.rows[0], table.rows[-1]
    assert (first[0], first[1].value, first[2].value) == ("1", pytest.approx(1), 90)
    assert last[2].value == 10
    assert not any("person:" in str(row) for row in table.rows)


def test_each_person_of_a_study_has_an_order_of_words_of_their_own():
    study = Study("s", "seceu", "T", "en", 1, Consent("1", "x", "y", "z"), "bye", limit=6, places=Places(6, 5))
    options = SECEU.options("open", {})
    files = read_sources(SECEU.sources("open", options), None)
    pages = SECEU.study().pages(study, files, options)
    assert (len(pages.batches), pages.people_per_batch) == (5, 1)
    orders = {}
    for batch in pages.batches:
        assert {trial.items for trial in batch.trials} == {trial.items for trial in pages.batches[0].trials}
        for trial in batch.trials:
            orders.setdefault(trial.items, set()).add(trial.form.keys)
    assert sum(map(len, orders.values())) > 3 * len(orders)
    fixed = SECEU.options("open", {"order": "published"})
    same = SECEU.study().pages(study, files, fixed)
    assert (len(same.batches), same.people_per_batch) == (1, 5)


def test_an_own_file_as_csv():
    body = b"id,text,words\na,One.,Sad 6 | Angry 3 | Calm 1 | Proud 0\n"
    (asked,) = SECEU.questions({"own/mine.csv": body}, SECEU.option_class(item_set="own"))
    assert asked.key["reference"] == {"Sad": 6, "Angry": 3, "Calm": 1, "Proud": 0}


def test_an_own_file_with_other_sums_is_refused():
    body = b'[[item]]\nid = "a"\nstory = "One."\nwords = { Sad = 6, Angry = 6, Calm = 1, Proud = 0 }\n'
    with pytest.raises(DataError, match="add up to 10"):
        SECEU.questions({"own/mine.toml": body}, SECEU.option_class(item_set="own"))
