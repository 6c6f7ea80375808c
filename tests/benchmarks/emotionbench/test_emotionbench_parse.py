"""The reader of filled-in questionnaires: every format comes back, nothing wrong is ever accepted."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.benchmarks.emotionbench.trials import last_characters, read_form
from eqlab.core.forms import Form, Scale
from eqlab.instruments.catalogue import DASS_21, MJS, PANAS
from eqlab.instruments.wording import own_wording, scales

LABELS = dict(own_wording(PANAS).anchors[0])
GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi"
STATEMENTS = tuple(
    Scale(key, f"I noticed that thing, number-wise odd, called {word}.", 0, 3, ((0, "never"), (3, "almost always")))
    for key, word in zip(DASS_21.item_keys, GREEK.split(), strict=True)
)


def panas(seed=0):
    items = list(scales(PANAS, own_wording(PANAS)))
    random.Random(seed).shuffle(items)
    return Form(tuple(items))


def lines(pattern, form, values):
    return "\n".join(
        pattern.format(i=i, item=scale.text, key=scale.key, v=v, label=LABELS.get(v, ""), top=scale.high)
        for i, (scale, v) in enumerate(zip(form.scales, values, strict=True), start=1)
    )


FORMATS = [
    "{i}. {v}",
    "{i}) {v}",
    "{i}: {v}",
    "{i} - {v}",
    "({i}) {v}",
    "{i}. {item}: {v}",
    "{i}. {item} - {v}",
    "{item}: {v}",
    "{item} {v}",
    "{item}: {v}/{top}",
    "{item}: {v} out of {top}",
    "{i}. {item}: {v}.",
    "{item} = {v}",
    "{v}",
    "{v}.",
    "{v}/{top}",
    "- {item}: {v}",
    "* **{item}**: {v}",
    "**{i}. {item}:** {v}",
    "| {i} | {item} | {v} |",
    "| {item} | {v} |",
    "{i}. {item} ({v})",
    "{item}: {label}",
    "{i}. {label}",
    "{item}: {v} ({label})",
    "{item}: {v} - {label}",
    "{item}: {label} ({v})",
    "{i}. {item}: {v} because it is so",
    "{i}.{v}",
    "Q{i}: {v}",
    "{item} -> {v}",
    '{item}: "{v}"',
    '{i}. "{item}": {v}',
    "{item}... {v}",
    "{item}: my score is {v}",
    "{key}: {v}",
    "{item}: {v}.0",
    "{v},",
    "[{v}]",
]


@pytest.mark.parametrize("pattern", FORMATS)
def test_every_line_format_comes_back(pattern):
    draw = random.Random(pattern)
    for seed in range(20):
        form = panas(seed)
        values = [draw.randint(1, 5) for _ in form.scales]
        for text in (
            lines(pattern, form, values),
            f"Here are my ratings:\n\n{lines(pattern, form, values)}\n\nTake care!",
        ):
            found = read_form(text, form)
            assert found.values == dict(zip(form.keys, values, strict=True)), (found.why, text)


@given(st.lists(st.integers(1, 5), min_size=20, max_size=20), st.integers(0, 99))
def test_json_and_lists_come_back(values, seed):
    form = panas(seed)
    wanted = dict(zip(form.keys, values, strict=True))
    by_text = {scale.text: value for scale, value in zip(form.scales, values, strict=True)}
    for text in (
        json.dumps(values),
        json.dumps(wanted),
        json.dumps(by_text),
        json.dumps({str(i): v for i, v in enumerate(values, start=1)}),
        json.dumps({f"{i}. {t}": v for i, (t, v) in enumerate(by_text.items(), start=1)}),
        json.dumps({"ratings": by_text}),
        json.dumps({name: str(value) for name, value in by_text.items()}),
        f"```json\n{json.dumps(by_text, indent=1)}\n```",
        f"Sure!\n```\n{json.dumps(values)}\n```\nDone.",
        ", ".join(map(str, values)),
        f"My answers are below.\n{', '.join(map(str, values))}",
        " ".join(map(str, values)),
        ", ".join(f"{name}: {value}" for name, value in by_text.items()),
        " ".join(f"{i}. {v}" for i, v in enumerate(values, start=1)),
        "; ".join(f"{i}={v}" for i, v in enumerate(values, start=1)),
    ):
        assert read_form(text, form).values == wanted, text


@given(
    st.lists(st.integers(0, 3), min_size=21, max_size=21),
    st.sampled_from(["{i}. {item} {v}", "{i}. {v}", "{item}: {v}"]),
)
def test_statements_come_back(values, pattern):
    form = Form(STATEMENTS)
    assert read_form(lines(pattern, form, values), form).values == dict(zip(form.keys, values, strict=True))


@given(st.sampled_from(FORMATS), st.data())
def test_a_wrong_count_is_never_accepted(pattern, data):
    form = panas(1)
    values = data.draw(st.lists(st.integers(1, 5), min_size=20, max_size=20))
    rows = lines(pattern, form, values).split("\n")
    at = data.draw(st.integers(0, 19))
    assert read_form("\n".join(rows[:at] + rows[at + 1 :]), form).values is None
    assert read_form("\n".join([*rows, rows[at]]), form).values is None


@given(
    st.sampled_from([f for f in FORMATS if "label" not in f]),
    st.integers(0, 19),
    st.sampled_from([0, 6, 7, 10, 44, -3, 3.5]),
)
def test_a_value_off_the_scale_is_never_accepted(pattern, at, wrong):
    form = panas(2)
    values = [3] * 20
    values[at] = wrong
    assert read_form(lines(pattern, form, values), form).values is None
    assert read_form(json.dumps(values), form).values is None


@given(st.text(max_size=400))
def test_any_text_is_read_or_refused_without_an_error(text):
    found = read_form(text, panas())
    assert found.values is None or all(1 <= value <= 5 for value in found.values.values())


@given(
    st.lists(
        st.sampled_from(["1", "2", "5", "6", ".", ":", " ", "\n", "Excited", "Afraid", "-", "/", "|", "{", "[", ","])
    )
)
def test_no_pile_of_fragments_is_taken_for_less_than_a_full_form(parts):
    found = read_form("".join(parts), panas())
    if found.values is not None:
        assert len(found.values) == 20
        assert set(found.values.values()) <= {1, 2, 5}


AMBIGUOUS = [
    "{item}: 3-4",
    "{item}: 3 or 4",
    "{item}: 3, maybe 4",
    "{item}: 4.5",
    "{item}: 4/10",
    "{item}: -4",
    "{item} -4",
    "{item}: 40",
    "{item}: 4%",
    "{item}:",
    "{item}",
    "{i}. Happy: 4",
    "{item}: four to five",
    "{item}: not sure",
    "{item}: 2 (as strongly as can be)",
    "{item}: strongly (2)",
    "{item}: 4 (that is, two)",
    "{i}. {item}",
    "I feel {item}",
]


@pytest.mark.parametrize("pattern", AMBIGUOUS)
def test_what_is_not_clear_is_not_read(pattern):
    form = panas(3)
    found = read_form(lines(pattern, form, [4] * 20), form)
    assert found.values is None
    assert found.why
    one = lines("{item}: {v}", form, [4] * 20).split("\n")
    one[7] = pattern.format(i=8, item=form.scales[7].text)
    assert read_form("\n".join(one), form).values is None


def test_number_and_name_must_be_the_same_item():
    form = panas(4)
    rows = lines("{i}. {item}: {v}", form, [4] * 20).split("\n")
    rows[0], rows[1] = rows[0].replace("1.", "2."), rows[1].replace("2.", "1.")
    assert "another item" in read_form("\n".join(rows), form).why
    swapped = {f"{i % 20 + 1}. {scale.text}": 3 for i, scale in enumerate(form.scales, start=1)}
    assert read_form(json.dumps(swapped), form).values is None


def test_lines_must_name_their_items_all_in_one_way():
    form = panas(4)
    rows = lines("{item}: {v}", form, [4] * 20).split("\n")
    rows[2] = "3. 4"
    assert "only number" in read_form("\n".join(rows), form).why


def test_the_legend_is_not_an_answer():
    form = panas(5)
    legend = "\n".join(f"{value} = {label}" for value, label in LABELS.items())
    answers = lines("{i}. {v}", form, [2] * 20).split("\n")
    assert read_form(f"{legend}\n" + "\n".join(answers), form).values is None
    assert read_form(f"{legend}\n" + "\n".join(answers[5:]), form).values is None


def test_json_that_hides_something_is_not_read():
    form = panas(6)
    good = json.dumps(dict.fromkeys(form.keys, 3))
    assert read_form(good, form).values
    for bad in (
        good.replace("}", ', "excited": 4}'),
        good.replace('"excited": 3', '"excited": true'),
        good.replace('"excited": 3', '"excited": null'),
        good.replace('"excited": 3', '"excited": NaN'),
        good.replace('"excited": 3', '"excited": Infinity'),
        good.replace('"excited": 3', '"thrilled": 3'),
        '"text"',
        "[[1, 2]]",
    ):
        assert read_form(bad, form).values is None, bad


def test_labels_belong_to_their_own_item():
    """MJS: the same word means another number, or nothing, for another item."""
    items = tuple(
        Scale(key, f"s{i}", 1, 7, ((1, "never"), (7, "always")) if i < 9 or i > 16 else ((1, "pleased"), (7, "upset")))
        for i, key in enumerate(MJS.item_keys, start=1)
    )
    form = Form(items)
    right = "\n".join(f"{i}. {'upset' if 9 <= i <= 16 else 'always'}" for i in range(1, 25))
    assert set(read_form(right, form).values.values()) == {7}
    assert read_form("\n".join(f"{i}. always" for i in range(1, 25)), form).values is None


def test_the_published_rule_is_kept_for_comparison():
    form = panas(7)
    assert last_characters("1. Excited: 4\n\n2. Sad: 3") == "43"
    assert last_characters("Here you are:\n4") == last_characters("") == ""
    assert last_characters(lines("{i}. {item}: {v}", form, [4] * 20)) == "4" * 20
    assert last_characters(lines("{item}: {v}/{top}", form, [4] * 20)) == "5" * 20
    assert last_characters("Angry: ٤") == ""  # a digit, but not one of the study's
