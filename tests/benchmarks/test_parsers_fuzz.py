"""Every reader against hostile text: it never crashes, takes no time, and what it accepts is what was written.

The same properties run under a coverage-guided fuzzer with `python bench/fuzz.py`."""

import json
import re
import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))
import fuzz
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqlab.benchmarks.common.reading import read_json
from eqlab.benchmarks.emotionbench.trials import read_form
from eqlab.benchmarks.eqbench.score import PRESETS
from eqlab.benchmarks.eqbench.trials import read_scores
from eqlab.benchmarks.rating.benchmark import read_choice
from eqlab.benchmarks.rating.imported import read_table
from eqlab.core.errors import DataError
from eqlab.core.forms import Form, Scale
from eqlab.models.chat import split_reasoning

NAMES = ("Calm", "Angry", "Proud", "Sad")
SCALES = Form(tuple(Scale(name.lower(), name, 0, 10) for name in NAMES))
AGREE = ((1, "not at all"), (2, "a little"), (3, "quite"), (4, "very"))
QUESTIONS = Form(tuple(Scale(f"q{n}", f"Thing {word}", 1, 4, AGREE) for n, word in enumerate("abcdef", start=1)))
RATING = Scale("rating", "rating", 1, 3, ((1, "Bad"), (2, "Okay"), (3, "Good")))
NOISE = st.text(alphabet="abcXYZ .,!?\n-*#_:0123456789é\u202e\x1b{}[]\"'`|<>/()", max_size=60)
WORDS = st.text(alphabet="abc xyz.,\n", max_size=40)  # noise that holds no number and no colon
STRANGE = [
    "9" * 5000, "Calm: " + "9" * 5000, '{"calm": ' + "9" * 5000 + "}", "[" * 5000, '{"a":' * 3000, "```" + "\n" * 5000,
    "1" * 100_000, "a" * 100_000, "\n" * 100_000, "!\n" * 9_000, "a1" * 50_000, "rating" + " " * 100_000,
    "a: " * 30_000, "1. a" + " " * 50_000 + "b\n" * 6, "<think>" * 14_000, "</think>" * 14_000, "|" * 50_000,
    "- " * 50_000, "```\n" * 25_000, "\ud800\udfff\0", "NaN", "Infinity", "-0", "1e999", "٣", "²",
    "\N{ZERO WIDTH SPACE}" * 1000,
]  # fmt: skip


@pytest.mark.parametrize("target", fuzz.TARGETS, ids=lambda target: target.__name__)
@pytest.mark.parametrize("text", STRANGE, ids=lambda text: repr(text[:12]))
def test_no_reader_stumbles_over_strange_text(target, text):
    target(text)


@pytest.mark.parametrize("target", fuzz.TARGETS, ids=lambda target: target.__name__)
@settings(deadline=None)
@given(text=st.one_of(NOISE, st.text(alphabet=st.characters(codec=None), max_size=200)))
def test_no_reader_stumbles_over_any_text(target, text):
    target(text)


@settings(deadline=None)
@given(
    values=st.lists(st.integers(0, 10), min_size=4, max_size=4),
    before=WORDS,
    after=WORDS,
    preset=st.sampled_from(sorted(PRESETS)),
)
def test_eqbench_reads_exactly_what_was_written_or_nothing(values, before, after, preset):
    said = "\n".join(f"{name}: {value}" for name, value in zip(NAMES, values, strict=True))
    read = read_scores(f"{before}\n{said}\n{after}", NAMES, PRESETS[preset], revision=False).first
    assert read in (None, dict(zip(NAMES, values, strict=True)))
    if sum(values) and "c" not in before:
        assert read is not None


@settings(deadline=None)
@given(values=st.lists(st.integers(0, 10), min_size=3, max_size=3), extra=st.sampled_from(["", "Calmer: 3", "Sad 4"]))
def test_eqbench_never_reads_three_scores_as_four(values, extra):
    said = "\n".join(f"{name}: {value}" for name, value in zip(NAMES, values, strict=False))
    assert read_scores(f"{said}\n{extra}", NAMES, PRESETS["leaderboard"], revision=False).first is None


@settings(deadline=None)
@given(values=st.lists(st.integers(1, 4), min_size=6, max_size=6), style=st.sampled_from(range(5)), before=WORDS)
def test_emotionbench_reads_exactly_what_was_written_or_nothing(values, style, before):
    lines = {
        0: [f"{n}. {value}" for n, value in enumerate(values, start=1)],
        1: [f"{scale.text}: {value}" for scale, value in zip(QUESTIONS.scales, values, strict=True)],
        2: [f"{n}. {s.text}: {v}" for n, (s, v) in enumerate(zip(QUESTIONS.scales, values, strict=True), start=1)],
        3: [json.dumps(dict(zip(QUESTIONS.keys, values, strict=True)))],
        4: [str(value) for value in values],
    }[style]
    meant = dict(zip(QUESTIONS.keys, values, strict=True))
    assert read_form("\n".join(lines), QUESTIONS).values == meant
    assert read_form(before + "\n" + "\n".join(lines), QUESTIONS).values in (None, meant)
    if len(lines) > 1:  # one answer too few is never enough
        assert read_form("\n".join(lines[:-1]), QUESTIONS).values is None


@given(
    value=st.sampled_from([1, 2, 3]),
    style=st.sampled_from(["{}", "**{}**", "Rating: {}", "{}.", "I see.\n{}"]),
    noise=WORDS,
)
def test_a_rating_is_read_exactly_or_not_at_all(value, style, noise):
    label = dict(RATING.anchors)[value]
    assert read_choice(style.format(label), RATING) == value
    assert read_choice(style.format(label) + "\n" + noise, RATING) in (None, value)
    other = dict(RATING.anchors)[value % 3 + 1]
    assert read_choice(f"Rating: {label}\nRating: {other}", RATING) is None


@given(st.text(alphabet="good bad.:!?\n-x1", max_size=40))
def test_the_last_word_is_found_where_the_pattern_with_backtracking_found_it(text):
    """The rule before it was made linear, as its own oracle."""
    plain = re.sub(r"[*_`#\"'“”‘’]+", "", text).strip().lower()
    label = "good|okay|bad|ok|1|2|3"
    slow = (
        rf"^\W*({label})(?=\W*$|\s*[.,;:!\n(–—-])",
        rf"(?:rating|answer|verdict|choice|better)(?: is)?\s*[:=]?\s*({label})\b",
        rf"(?:^|\n|[.:;!?]\s)\W*({label})\W*$",
    )
    by_name = {"good": 3, "okay": 2, "ok": 2, "bad": 1, "1": 1, "2": 2, "3": 3}
    found = {by_name[match.group(1)] for place in slow for match in re.finditer(place, plain)}
    assert read_choice(text, RATING) == (found.pop() if len(found) == 1 else None)


@given(
    values=st.lists(st.integers(0, 10), min_size=4, max_size=4),
    fence=st.sampled_from(["{}", "```json\n{}\n```", " ```\n{}```\n"]),
)
def test_structured_answers_round_trip_and_twins_are_refused(values, fence):
    meant = dict(zip(SCALES.keys, values, strict=True))
    assert read_json(fence.format(json.dumps(meant)), SCALES).values == meant
    twins = json.dumps(meant)[:-1] + ', "calm": 1}'
    assert read_json(twins, SCALES).status == "unparseable"


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.text(alphabet='a,"\n é=', min_size=1, max_size=12), st.integers(1, 3)), min_size=1, max_size=5
    )
)
def test_tables_come_back_as_they_were_written(rows):
    import csv
    import io

    rows = [(text, value) for text, value in rows if text.strip()]
    if not rows:
        return
    sheet = io.StringIO()
    csv.writer(sheet).writerows([("reply", "rating"), *rows])
    lines = "\n".join(json.dumps({"reply": text, "rating": value}) for text, value in rows)
    for content, name in ((sheet.getvalue(), "t.csv"), (lines, "t.jsonl")):
        found, bad = read_table(content.encode(), name, ["reply"])
        assert not bad
        assert [(row.cells["reply"], row.cells["rating"]) for row in found] == [(t.strip(), str(v)) for t, v in rows]


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b'reply\n"open', b"reply,reply\n1,2\n"])
def test_what_is_no_table(content):
    with pytest.raises(DataError):
        read_table(content, "t.csv", ["reply"])


@given(
    answer=st.text(alphabet="ab1: \n", max_size=20),
    thought=st.text(alphabet="xyz9: \n", max_size=20),
    tag=st.sampled_from(["think", "reasoning"]),
)
def test_reasoning_is_never_parsed(answer, thought, tag):
    rest, reasoning = split_reasoning(f"<{tag}>{thought}</{tag}>{answer}")
    assert rest == answer.strip()
    assert reasoning == thought.strip()
