"""SAGE's reproduction on made-up files: what the numbers must be, and folders of every kind."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from later import Later
from sage_files import put, talk

from eqlab.core.errors import DataError
from eqlab.reproduce.sage import findings, reproduce, tables

stats = Later("scipy.stats")

PRINTED = "deepseek-v3-2024-1227"


def everything(folder):
    """The report, after all that is made of it was made."""
    report = reproduce(folder)
    json.dumps(report, allow_nan=False)
    assert all(sentence.endswith(".") for sentence in findings(report))
    assert all(len(row) == len(table.columns) for table in tables(report) for row in table.rows)
    return report


def normal(seed, n=30, mean=50.0, sd=20.0):
    draws = np.random.default_rng(seed).normal(mean, sd, n).round()
    return {f"p{number}": int(min(final, 100)) for number, final in enumerate(draws)}


def test_a_row_says_what_the_file_holds(tmp_path):
    finals = {"a": 100, "b": 105, "c": 9, "d": 10, "e": -20, "f": 60.5}
    put(tmp_path, "s", "m", finals)
    (row,) = everything(tmp_path)["rows"]
    values = np.array(list(finals.values()))
    low, high = stats.t.interval(0.95, 5, values.mean(), stats.sem(values))
    assert (row["simulator"], row["model"], row["n"], row["success"], row["failure"]) == ("s", "m", 6, 2, 2)
    assert row["score"] == pytest.approx(values.mean())
    assert row["sd"] == pytest.approx(values.std(ddof=1))
    assert (row["low"], row["high"]) == (pytest.approx(low), pytest.approx(min(high, 100)))
    assert row["success_percent"] == pytest.approx(100 / 3)
    assert row["success_percent_low"] < 100 / 3 < row["success_percent_high"]
    assert "an emotion above 100" in row["note"]


def test_an_interval_does_not_pass_the_highest_emotion(tmp_path):
    put(tmp_path, "s", "m", {str(number): final for number, final in enumerate([100] * 9 + [0])})
    assert reproduce(tmp_path)["rows"][0]["high"] == 100


@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_too_few_talks_have_no_interval(tmp_path, n):
    put(tmp_path, "s", "m", {str(number): 10 * number for number in range(n)})
    (row,) = everything(tmp_path)["rows"]
    assert row["n"] == n
    assert (row["low"], row["high"]) == (None, None)
    assert (row["score"] is None) == (n == 0)
    assert (row["sd"] is None) == (n < 2)
    assert "too few" in row["note"]


def test_a_persona_that_comes_twice_counts_once_in_the_interval(tmp_path):
    finals = normal(1)
    put(tmp_path, "s", "once", finals)
    put(tmp_path, "s", "twice", [*finals.items(), *finals.items()])
    once, twice = everything(tmp_path)["rows"]
    assert (twice["n"], twice["personas"]) == (60, 30)
    assert twice["score"] == pytest.approx(once["score"])
    assert (twice["low"], twice["high"]) == (pytest.approx(once["low"]), pytest.approx(once["high"]))
    assert "60 talks of 30 personas" in twice["note"]


def test_differences_are_paired_by_persona_whatever_the_order_of_lines(tmp_path):
    a, b = normal(1), normal(2, n=40)
    put(tmp_path, "s", "a", a)
    put(tmp_path, "s", "b", dict(reversed(b.items())))
    (pair,) = everything(tmp_path)["summary"]["differences"]
    shared = sorted(set(a) & set(b))
    sign = 1 if pair["a"] == "a" else -1
    oracle = stats.ttest_rel([a[p] for p in shared], [b[p] for p in shared])
    bounds = sorted(sign * bound for bound in oracle.confidence_interval(0.95))
    assert pair["n"] == 30
    assert pair["p"] == pytest.approx(oracle.pvalue)
    assert [pair["low"], pair["high"]] == pytest.approx(bounds)


def test_the_simulator_effect_is_paired_by_model_and_persona(tmp_path):
    for seed, model in enumerate(("x", "y")):
        finals = normal(seed, mean=40)
        put(tmp_path, "one", model, finals)
        put(tmp_path, "two", model, {persona: final + 10 + (int(persona[1:]) % 3) for persona, final in finals.items()})
    put(tmp_path, "one", "only here", normal(9))
    put(tmp_path, "two", "only there", normal(9))
    (effect,) = everything(tmp_path)["summary"]["simulator_effects"]
    assert (effect["first"], effect["second"]) == ("one", "two")
    assert [model["model"] for model in effect["models"]] == ["x", "y"]
    assert effect["difference"] == pytest.approx(11)
    assert all(model["difference"] == pytest.approx(11) for model in effect["models"])
    assert effect["low"] <= 11 <= effect["high"]


def test_gpt_4o_is_one_model_under_two_names(tmp_path):
    put(tmp_path, "one", "gpt-4o-0808", normal(1))
    put(tmp_path, "two", "gpt-4o-0806", normal(2))
    (effect,) = everything(tmp_path)["summary"]["simulator_effects"]
    assert effect["models"][0]["files"] == ["gpt-4o-0806", "gpt-4o-0808"]


def simulated(folder, *, models, personas, simulators, seed=0, sd=(8.0, 12.0, 10.0, 15.0)):
    """y = 40 + model + persona + simulator + rest, with one cell missing."""
    draw = np.random.default_rng(seed)
    m, p, s = (draw.normal(0, sd[i], n) for i, n in enumerate((models, personas, simulators)))
    for j in range(models):
        for k in range(simulators):
            if (j, k) != (0, simulators - 1):
                rest = draw.normal(0, sd[3], personas)
                put(folder, f"s{k}", f"m{j}", {f"p{i}": 40 + m[j] + p[i] + s[k] + rest[i] for i in range(personas)})


@pytest.mark.claims
def test_variance_shares_come_back(tmp_path):
    simulated(tmp_path, models=10, personas=25, simulators=8)
    variance = everything(tmp_path)["summary"]["variance"]
    truth = np.square([8.0, 12.0, 10.0, 15.0])
    expected = 100 * truth / truth.sum()
    found = [variance["shares"][name] for name in ("model", "persona", "simulator", "rest")]
    assert found == pytest.approx(list(expected), abs=12)
    assert sum(found) == pytest.approx(100)
    assert variance["note"] == ""


def test_more_simulators_and_more_personas_narrow_a_design(tmp_path):
    simulated(tmp_path, models=5, personas=20, simulators=3)
    alone, *rows = everything(tmp_path)["summary"]["variance"]["designs"]
    assert (alone["simulators"], alone["holds_for"]) == (1, "this simulator")
    assert alone["personas_for_score"] is not None
    widths = [row["half_width_of_score"] for row in rows if row["half_width_of_score"] is not None]
    assert widths == sorted(widths, reverse=True)
    assert rows[0]["personas_for_score"] is None, "one simulator tells nothing of others"
    assert all(width < 50 for width in widths)


def test_one_simulator_says_nothing_of_others(tmp_path):
    put(tmp_path, "s", "a", normal(1))
    put(tmp_path, "s", "b", normal(2))
    summary = everything(tmp_path)["summary"]
    assert summary["simulator_effects"] == []
    assert summary["variance"]["shares"]["simulator"] is None
    assert "one simulator" in summary["variance"]["note"]
    assert [row["holds_for"] for row in summary["variance"]["designs"]] == ["this simulator"]


def test_simulators_that_share_no_model(tmp_path):
    put(tmp_path, "one", "a", normal(1))
    put(tmp_path, "two", "b", normal(2))
    summary = everything(tmp_path)["summary"]
    assert summary["simulator_effects"] == []
    assert summary["variance"]["shares"] is None or summary["variance"]["shares"]["simulator"] is None
    assert summary["variance"]["note"]


@pytest.mark.parametrize(
    "finals", [{"a": 40}, dict.fromkeys("abcdef", 40), {}], ids=["one talk", "all the same", "empty"]
)
def test_files_that_tell_nothing(tmp_path, finals):
    for simulator in ("one", "two"):
        for model in ("x", "y"):
            put(tmp_path, simulator, model, finals)
    summary = everything(tmp_path)["summary"]
    assert summary["variance"]["shares"] is None
    assert "too few" in summary["variance"]["note"]


def test_personas_that_are_not_shared_are_not_paired(tmp_path):
    put(tmp_path, "s", "a", {f"a{number}": 40 + number for number in range(10)})
    put(tmp_path, "s", "b", {f"b{number}": 40 + number for number in range(10)})
    (pair,) = everything(tmp_path)["summary"]["differences"]
    assert (pair["n"], pair["difference"], pair["separated"]) == (0, None, None)


def test_print_is_compared_to_its_digits(tmp_path):
    """33.25 is printed as 33.3, with 7 successes and 47 failures."""
    finals = [100] * 7 + [9] * 47 + [47] * 45
    finals.append(3325 - sum(finals))
    assert finals[-1] > 9
    put(tmp_path, PRINTED, "llama3.3-70b", {str(number): final for number, final in enumerate(finals)})
    report = everything(tmp_path)
    row = report["rows"][0]
    assert (row["score"], row["printed_score"], row["agrees"], row["explanation"]) == (33.25, 33.3, True, "")
    assert report["summary"]["agree"] == report["summary"]["printed_values"] == 3


def test_a_file_that_lacks_talks_differs_from_print_and_says_why(tmp_path):
    put(tmp_path, PRINTED, "gpt-4.1", normal(1))
    report = everything(tmp_path)
    row = report["rows"][0]
    assert row["agrees"] is False
    assert "30 talks" in row["explanation"]
    assert report["summary"]["agree"] < 3


def test_what_is_not_as_the_protocol_says_is_noted(tmp_path):
    file = put(tmp_path, "s", "m", normal(1))
    odd = talk("odd", 60, 11) | {"emo_state": "Emotion-F"}
    odd["history"].append({"role": "user", "content": "c", "emotion-point": 70})
    file.write_text(file.read_text() + json.dumps(odd))
    note = everything(tmp_path)["rows"][0]["note"]
    for words in ("the last emotion", "the recorded state", "more than 10 at once", "more than 10 replies"):
        assert f"1 of 31 talks: {words}" in note or words in note


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cells=st.dictionaries(
        st.tuples(st.sampled_from("xyz"), st.sampled_from("abcd")),
        st.lists(st.tuples(st.sampled_from("123456"), st.integers(-40, 100)), max_size=8),
        min_size=1,
    )
)
def test_whatever_is_there_gets_a_report(tmp_path_factory, cells):
    folder = tmp_path_factory.mktemp("some")
    for (simulator, model), finals in cells.items():
        put(folder, simulator, model, finals)
    report = everything(folder)
    assert [row["n"] for row in report["rows"]] == [len(cells[key]) for key in sorted(cells)]
    shares = report["summary"]["variance"]["shares"]
    if shares is not None:
        assert all(share is None or -1e-9 <= share <= 100 + 1e-9 for share in shares.values())


def test_files_of_other_names_are_named_and_not_read(tmp_path):
    put(tmp_path, "s", "m", normal(1))
    other = tmp_path / "sage/SAGE/dataset/notes.jsonl"
    other.write_text("nothing")
    summary = everything(tmp_path)["summary"]
    assert summary["unread_files"] == ["sage/SAGE/dataset/notes.jsonl"]
    assert len(summary["missing_files"]) == 19


def test_a_folder_without_results(tmp_path):
    with pytest.raises(DataError, match="eqlab data fetch sage"):
        reproduce(tmp_path)


def test_a_broken_line_is_named(tmp_path):
    file = put(tmp_path, "s", "m", normal(1))
    file.write_text(file.read_text() + '{"id": "x", "emo_')
    with pytest.raises(DataError, match=r"sage/SAGE/dataset/s_based_simulator/m_result\.jsonl, line 31: "):
        reproduce(tmp_path)
