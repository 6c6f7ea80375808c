"""ToMBench's emotion part (arXiv 2402.15052), looked at without a model: what answers earn that read no story, by
ability and by file, beside what is printed for models and people. No answers were released, so no printed score can be
recomputed."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np

from eqlab.analysis.arrays import codes
from eqlab.analysis.bootstrap import interval, shared_totals
from eqlab.analysis.intervals import clustered_share
from eqlab.benchmarks.tombench import FILES, LANGUAGES, Item, by_length, by_wording, read_items, source
from eqlab.core.results import Estimate, Table
from eqlab.data import published
from eqlab.reproduce.claims import Claim, Compared, Report, Row, Study, compare, printed_rows, summary, table_of

ALL = "all emotion (as the paper counts)"
FIVE = "the five emotion files"
_MIXED = "Strange Story Task"
"""Only some of its questions are about emotion, so as a file it is not counted."""
Groups = dict[tuple[str, str], dict[str, list[Item]]]
"""By ability or file and name: the questions in each language."""


def reproduce(data: Path | None) -> Report:
    folder = published.published_folder(data)
    names = [file for file in FILES if (folder / source(file)).is_file()] or list(FILES)
    files = {source(file): published.read(source(file), folder) for file in names}
    items = {language: read_items(files, language) for language in LANGUAGES}
    compared = compare([*_claims(_groups(items)), *_printed()], None)
    found = {**summary(compared), "missing_files": [source(file) for file in FILES if file not in names]}
    return {"rows": [one.row() for one in compared], "summary": {**found, **_strongest(compared)}}


def _groups(items: dict[str, list[Item]]) -> Groups:
    groups: Groups = {}
    for language, of_language in items.items():
        emotion = sorted((item for item in of_language if item.emotion), key=lambda item: item.ability)
        for item in emotion:
            groups.setdefault(("ability", item.ability), {}).setdefault(language, []).append(item)
        if emotion:
            groups.setdefault(("ability", ALL), {})[language] = emotion
        whole = sorted((item for item in of_language if item.file != _MIXED), key=lambda item: item.file)
        for item in whole:
            groups.setdefault(("file", item.file), {}).setdefault(language, []).append(item)
        if whole:
            groups.setdefault(("file", FIVE), {})[language] = whole
    return dict(sorted(groups.items(), key=lambda pair: (pair[0][0], pair[0][1] in (ALL, FIVE))))


def _claims(groups: Groups) -> Iterator[Claim]:
    for (by, name), languages in groups.items():
        count = len(next(iter(languages.values())))
        yield _claim(by, name, "", "items", count)
        for language, items in languages.items():
            for quantity, value, rule in _quantities(items, language):
                yield _claim(by, name, language, quantity, value, rule)


def _claim(by: str, name: str, language: str, quantity: str, value: float | Estimate, rule: str = "") -> Claim:
    key = {"by": by, "name": name, "language": language, "quantity": quantity}
    return Claim(key, None, lambda _: value, rule=rule)


def _quantities(items: Sequence[Item], language: str) -> Iterator[tuple[str, float | Estimate, str]]:
    stories = [item.story for item in items]
    apart = "items of one story are not independent: intervals by story"
    yield "distinct stories", len(set(stories)), apart
    yield "items with two options only", sum(len(item.options) == 2 for item in items), ""
    yield "chance", fmean(1 / len(item.options) for item in items), "mean of 1 / number of options"
    for place, letter in enumerate("ABCD"):
        yield f"always {letter}", _by_story([item.right == place for item in items], stories), "order of the file"
    longest = [by_length(item, longest=True) for item in items]
    yield "always the longest option", _shares(longest, stories), "ties shared; works whatever the order"
    shortest = [by_length(item, longest=False) for item in items]
    yield "always the shortest option", _shares(shortest, stories), "ties shared"
    rule = (
        "share right where offered in other stories of the group (prior 1 of 4); ties shared: what the wordings alone "
        "give away"
    )
    yield "option right most often elsewhere", _shares(by_wording(items), stories), rule
    twins = sum(len(set(item.options)) < len(item.options) for item in items)
    yield "items with two identical options", twins, "the authors' shuffle maps the second back to the first"
    if language == "zh":
        kept = sum(
            any(_keeps_its_letter(option, place) for place, option in enumerate(item.as_written)) for item in items
        )
        rule = "they remove letter, point and space only; 'A.word' keeps its letter through the shuffle"
        yield "items whose letters survive the authors' stripping", kept, rule


def _keeps_its_letter(option: str, place: int) -> bool:
    letter = "ABCD"[place]
    return option.startswith(letter) and not option.startswith(f"{letter}. ")


def _by_story(hits: Sequence[bool], stories: Sequence[str]) -> Estimate:
    estimate = clustered_share("", hits, stories)
    return Estimate("", fmean(hits), len(hits), None, _part(estimate.low), _part(estimate.high))


def _part(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def _shares(values: Sequence[float], stories: Sequence[str]) -> Estimate:
    """A mean of shares: its interval over stories, by their mean shares."""
    story = codes(stories)
    rows = [np.column_stack([np.bincount(story, values), np.bincount(story).astype(float)])]
    found = interval(rows, lambda totals: totals[0][..., 0] / totals[0][..., 1], totals=shared_totals(rows, 2_000))
    return Estimate("", fmean(values), len(values), None, found.low, found.high)


def _printed() -> Iterator[Claim]:
    rules = {
        "accuracy, emotion": "picture of the authors' table; no answers released",
        "accuracy, Unexpected Outcome Test": "the same; one human figure for both languages",
    }
    for row in printed_rows("tombench_printed.csv"):
        key = {"by": "printed", **{name: row[name] for name in ("name", "language", "quantity")}}
        yield Claim(key, float(row["printed"]), None, rule=rules[row["quantity"]])


def _trivial(quantity: str) -> bool:
    return quantity.startswith(("always ", "option right"))


def _strongest(compared: Sequence[Compared]) -> Row:
    """The best answer that reads no story, and how many printed models do not reach it."""
    blind = [one.row() for one in compared if one.claim.key["name"] == ALL and _trivial(one.claim.key["quantity"])]
    best = {language: max((row for row in blind if row["language"] == language), key=_value) for language in LANGUAGES}
    printed = [one.row() for one in compared if one.claim.key["quantity"] == "accuracy, emotion"]
    return {
        "strongest_without_reading": [
            {
                "language": language,
                "answer": row["quantity"],
                "share": row["recomputed"],
                "low": row["low"],
                "high": row["high"],
                "printed_models": sum(one["language"] == language and one["name"] != "people" for one in printed),
                "printed_models_below": sum(
                    one["language"] == language and one["printed"] < 100 * row["recomputed"] for one in printed
                ),
            }
            for language, row in best.items()
        ]
    }


def _value(row: Row) -> float:
    return float(row["recomputed"])


def findings(report: Report) -> list[str]:
    summary = report["summary"]
    sentences = [
        f"None of the {summary['verdicts'].get('not recomputable', 0)} printed scores can be recomputed: no answers of "
        "models or people were released."
    ]
    sentences += [
        f"Without reading a story, '{row['answer']}' is right in {100 * row['share']:.1f} % of the emotion items in "
        f"{'English' if row['language'] == 'en' else 'Chinese'} ({100 * row['low']:.1f} to {100 * row['high']:.1f}, "
        f"over stories); {row['printed_models_below']} of {row['printed_models']} printed models lie below."
        for row in summary["strongest_without_reading"]
    ]
    parts = [
        row
        for row in report["rows"]
        if row["by"] == "ability" and row["name"] != ALL and _trivial(row["quantity"]) and row["language"] == "en"
    ]
    sentences += [
        f"{row['name']}: '{row['quantity']}' is right in {100 * row['recomputed']:.1f} % (English)."
        for row in sorted(parts, key=_value, reverse=True)[:3]
    ]
    if summary["missing_files"]:
        sentences.append(f"Not here: {', '.join(summary['missing_files'])}.")
    return sentences


def tables(report: Report) -> list[Table]:
    shown: dict[tuple[str, str, str], Row] = {}
    for row in report["rows"]:
        if row["by"] == "printed" or not row["language"]:
            continue
        own = shown.setdefault((row["by"], row["name"], row["language"]), {})
        own |= {"by": row["by"], "name": row["name"], "language": row["language"]}
        own[row["quantity"]] = row["recomputed"] if row["quantity"] in _COUNTS else _percent(row)
    columns = (
        "by | name | language | distinct stories: stories | chance | always A: A | always B: B | always C: C "
        "| always D: D | always the longest option: longest | always the shortest option: shortest "
        "| option right most often elsewhere: favourite words"
    )
    printed: dict[str, Row] = {}
    for row in report["rows"]:
        if row["by"] == "printed":
            name = f"{'emotion' if 'emotion' in row['quantity'] else 'outcome'}_{row['language']}"
            printed.setdefault(row["name"], {"name": row["name"]})[name] = row["printed"]
    heads = (
        "name | emotion_en: emotion, English | emotion_zh: emotion, Chinese "
        "| outcome_en: Unexpected Outcome, English | outcome_zh: Unexpected Outcome, Chinese"
    )
    note = "Intervals over stories. Favourite words: the option that is right most often where other stories offer it."
    return [
        table_of("What answers earn that read no story", columns, shown.values(), note),
        table_of(
            "Printed, per cent right", heads, printed.values(), "Pictures of tables; nothing to recompute them from."
        ),
    ]


_COUNTS = ("items with two options only", "distinct stories", "items with two identical options")


def _percent(row: Row) -> Estimate:
    low, high = (None if row[end] is None else 100 * row[end] for end in ("low", "high"))
    return Estimate("", 100 * row["recomputed"], row["n"] or 0, None, low, high, "%", digits=1)


STUDY = Study("ToMBench's emotion part", reproduce, findings, tables)
