"""CuLEmo (arXiv 2503.10688), recomputed from the released answers: three settings, six languages, every model whose
files are there, beside what answers earn that read nothing and what the Americans' answers earn elsewhere. The paper's
tables were not to be had, so nothing here is compared with print."""

import json
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from eqlab.analysis.arrays import Floats
from eqlab.analysis.bootstrap import interval, shared_totals
from eqlab.analysis.intervals import mean_estimate, proportion_bounds
from eqlab.benchmarks.culemo import ENGLISH, LABELS, LANGUAGES, OWN, WITHOUT, Language, read_language, source
from eqlab.core.errors import DataError
from eqlab.core.results import Estimate, Table
from eqlab.core.values import dataclass
from eqlab.data import published
from eqlab.reproduce.claims import Report, Row, Study, table_of

SETTINGS = (OWN, ENGLISH, WITHOUT)
_COUNTRIES = {"eth": "amh", "uae": "ara", "deu": "deu", "ind": "hin", "mex": "spn"}
AMERICAN = "answer of the people in the United States"
_BASE = "baseline"
_RULE = "exact: trimmed, case ignored; unreadable is wrong"
_ORDER = ("neutral", "joy", "sadness", "anger", "fear", "guilt")
_DRAWS = 2_000
_ARTICLES = re.compile(r"\b(a|an|the)\b")


@dataclass(frozen=True, slots=True)
class Answers:
    """One released file: what a model said to the 400 questions."""

    file: str
    setting: str
    language: str
    model: str
    gold: tuple[str, ...]
    texts: tuple[str, ...]
    words: Mapping[str, str]
    """The labels in the language that they were asked for in."""

    def read(self, how: Callable[[str, Mapping[str, str]], str | None]) -> list[str | None]:
        return [how(text, self.words) for text in self.texts]


def exact(text: str, words: Mapping[str, str]) -> str | None:
    """The label whose word the answer is, but for case and spaces around it."""
    said = text.strip().casefold()
    return next((label for label, word in words.items() if word.casefold() == said), None)


def normalised(text: str, words: Mapping[str, str]) -> str | None:
    """The same after ASCII punctuation and English articles are gone."""
    bare = _ARTICLES.sub(" ", text.casefold().translate(str.maketrans("", "", string.punctuation)))
    return exact(" ".join(bare.split()), words)


def lenient(text: str, words: Mapping[str, str]) -> str | None:
    """The one label that occurs as a word."""
    said = {"".join(run) for run in _words(text.casefold())}
    labels = [label for label, word in words.items() if word.casefold() in said]
    return labels[0] if len(labels) == 1 else None


def _words(text: str) -> Iterator[list[str]]:
    """Runs of letters with their marks: in Hindi and Amharic no other border of words is safe."""
    run: list[str] = []
    for sign in f"{text} ":
        if unicodedata.category(sign)[0] in "LMN":
            run.append(sign)
        elif run:
            yield run
            run = []


def reproduce(data: Path | None) -> Report:
    folder = published.published_folder(data)
    files = {source(language): published.read(source(language), folder) for language in LANGUAGES}
    languages = {language: read_language(files, language) for language in LANGUAGES}
    answers, unread = _answer_files(folder, languages)
    rows = [_model_row(answer) for language in LANGUAGES for answer in answers if answer.language == language]
    rows += [row for language in languages.values() for row in _baselines(language)]
    return {"rows": rows, "summary": _summary(rows, answers, languages, unread)}


def _answer_files(folder: Path, languages: Mapping[str, Language]) -> tuple[list[Answers], list[str]]:
    """Every list of answers in the folder, known to the manifest or not, and what is none."""
    files, unread = [], []
    for path in published.find("culemo/**/*.json", folder):
        name = path.relative_to(folder).as_posix()
        setting = ENGLISH if "/countries/" in name else WITHOUT if "wo-country" in path.name else OWN
        start = re.split(r"[-_]", path.name)[0]
        language = _COUNTRIES.get(start) if setting == ENGLISH else start if start in LANGUAGES else None
        read = None if language is None else _read(name, published.read(name, folder), setting, languages[language])
        if read is None:
            unread.append(name)
        else:
            files.append(read)
    return sorted(files, key=lambda one: (SETTINGS.index(one.setting), one.model)), unread


def _read(name: str, content: bytes, setting: str, language: Language) -> Answers | None:
    words = {label: label for label in LABELS} if setting == ENGLISH else dict(language.words)
    try:
        entries = json.loads(content)
        model = str(entries[0]["model"])
        gold, texts = ([str(entry[key]) for entry in entries] for key in ("emotion", "pred_emotion"))
    except (ValueError, KeyError, TypeError, IndexError):
        return None
    read = [exact(one, words) for one in gold]
    if any(one is None for one in read):
        raise DataError(f"{name}: a gold label is none of the six.", "Get it again with 'eqlab data fetch culemo'.")
    return Answers(name, setting, language.name, model, tuple(one or "" for one in read), tuple(texts), words)


# -- measures --------------------------------------------------------------------------------------------------------


def _model_row(answers: Answers) -> Row:
    read = answers.read(exact)
    also = {name: answers.read(how) for name, how in (("normalised", normalised), ("lenient", lenient))}
    return _row(answers.setting, answers.language, answers.model, answers.gold, read, also, _RULE)


def _row(
    setting: str,
    language: str,
    who: str,
    gold: Sequence[str],
    given: Sequence[str | None],
    also: Mapping[str, Sequence[str | None]],
    rule: str,
) -> Row:
    n = len(gold)
    right = [a == b for a, b in zip(gold, given, strict=True)]
    share = sum(right) / n
    shares = {name: sum(a == b for a, b in zip(gold, other, strict=True)) / n for name, other in also.items()}
    low, high = proportion_bounds(share, n)
    balanced = balanced_accuracy(gold, given)
    return {
        "setting": setting,
        "language": language,
        "who": who,
        "n": n,
        "accuracy_exact": share,
        "accuracy_normalised": shares.get("normalised", share),
        "accuracy_lenient": shares.get("lenient", share),
        "balanced_accuracy_exact": balanced.value,
        "kappa_exact": cohen_kappa(gold, given),
        "unreadable_exact": sum(one is None for one in given),
        "printed": None,
        "rule": rule,
        "low": balanced.low,
        "high": balanced.high,
        "accuracy_low": low,
        "accuracy_high": high,
    }


def balanced_accuracy(gold: Sequence[str], given: Sequence[str | None]) -> Estimate:
    """The mean over the labels of the share right where each is gold; its interval from questions drawn again."""
    rows = [_by_label(gold, given)]
    found = interval(rows, lambda totals: _mean_recall(totals[0]), totals=shared_totals(rows, _DRAWS))
    return Estimate("", found.value, len(gold), None, found.low, found.high)


def _by_label(gold: Sequence[str], given: Sequence[str | None]) -> Floats:
    """One row a question: for each label whether it is gold, and whether it was found."""
    there = np.array([[one == label for label in LABELS] for one in gold], dtype=float)
    right = np.array([a == b for a, b in zip(gold, given, strict=True)], dtype=float)
    return np.hstack([there, there * right[:, None]])


def _mean_recall(totals: Floats) -> Floats:
    """Over the labels that occur."""
    counts, right = np.split(np.asarray(totals), 2, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nanmean(right / counts, axis=-1))


def cohen_kappa(gold: Sequence[str], given: Sequence[str | None]) -> float | None:
    """Cohen's (1960); an answer that is no label is a category of its own. None where chance leaves no room."""
    n = len(gold)
    first, second = Counter(gold), Counter(given)
    by_chance = sum(first[label] * second[label] for label in LABELS) / n**2
    observed = sum(a == b for a, b in zip(gold, given, strict=True)) / n
    return None if by_chance == 1 else (observed - by_chance) / (1 - by_chance)


def _baselines(language: Language) -> Iterator[Row]:
    gold = [item.gold for item in language.items]
    n, counts = len(gold), Counter(gold)
    rule = "share of the label; the same in every setting, the labels being translations of each other"
    for label in _ORDER:
        yield _row(_BASE, language.name, f"always {label}", gold, [label] * n, {}, rule)
    yield _expected(language.name, "one of six at random", n, 1 / len(LABELS))
    proportion = sum((counts[label] / n) ** 2 for label in LABELS)
    yield _expected(language.name, "in proportion to the labels", n, proportion)
    paired = [item for item in language.items if item.american is not None]
    rule = "gold of the English file for the same English wording (first of the doubled one)"
    american = [item.gold if language.name == "eng" else item.american for item in paired]
    yield _row(_BASE, language.name, AMERICAN, [item.gold for item in paired], american, {}, rule)


def _expected(language: str, who: str, n: int, share: float) -> Row:
    measures = dict.fromkeys(("accuracy_exact", "accuracy_normalised", "accuracy_lenient"), share)
    kappa: Row = {"balanced_accuracy_exact": 1 / len(LABELS), "kappa_exact": 0.0, "unreadable_exact": 0}
    bounds = dict.fromkeys(("low", "high", "accuracy_low", "accuracy_high"))
    head: Row = {"setting": _BASE, "language": language, "who": who, "n": n}
    return {**head, **measures, **kappa, "printed": None, "rule": "expectation", **bounds}


# -- what it comes to ------------------------------------------------------------------------------------------------


def _summary(
    rows: Sequence[Row], answers: Sequence[Answers], languages: Mapping[str, Language], unread: Sequence[str]
) -> Row:
    here = {answer.file for answer in answers}
    pinned = [file.name for file in published.manifest() if file.source == "culemo" and file.path.endswith(".json")]
    return {
        "rows": len(rows),
        "files": len(answers),
        "models": sorted({answer.model for answer in answers}),
        "missing_files": [name for name in pinned if name not in here],
        "unread_files": list(unread),
        "languages": [_language_row(language, rows) for language in LANGUAGES],
        "effects": list(_effects(answers, languages)),
    }


def _language_row(language: str, rows: Sequence[Row]) -> Row:
    of_language = [row for row in rows if row["language"] == language]
    models = [row for row in of_language if row["setting"] != _BASE]
    base = {row["who"]: row["accuracy_exact"] for row in of_language if row["setting"] == _BASE}
    there = [row for row in models if row["setting"] != WITHOUT]

    def best(name: str) -> float | None:
        return max((row[name] for row in models), default=None)

    return {
        "language": language,
        "files": len(models),
        "always_neutral": base["always neutral"],
        "american_answer": None if language == "eng" else base[AMERICAN],
        "best_accuracy": best("accuracy_exact"),
        "below_always_neutral": sum(row["accuracy_exact"] < base["always neutral"] for row in models),
        "files_with_country": 0 if language == "eng" else len(there),
        "not_above_american_answer": 0
        if language == "eng"
        else sum(row["accuracy_exact"] <= base[AMERICAN] for row in there),
        "best_balanced_accuracy": best("balanced_accuracy_exact"),
        "best_kappa": best("kappa_exact"),
        "least_kappa": min((row["kappa_exact"] for row in models), default=None),
    }


def _effects(answers: Sequence[Answers], languages: Mapping[str, Language]) -> Iterator[Row]:
    """What naming the country does, and what asking in the language of the country does, on the same questions."""
    by = {(answer.model, answer.language, answer.setting): answer for answer in answers}
    names = (("country named − not named", OWN, WITHOUT), ("own language − English", OWN, ENGLISH))
    for effect, first, second in names:
        for model in sorted({answer.model for answer in answers}):
            for language in LANGUAGES:
                one, other = by.get((model, language, first)), by.get((model, language, second))
                if one is None or other is None or len(one.gold) != len(other.gold):
                    continue
                given, without = one.read(exact), other.read(exact)
                gaps = [float((a == gold) - (b == gold)) for gold, a, b in zip(one.gold, given, without, strict=True)]
                accuracy = mean_estimate("", gaps, bounds=(-1.0, 1.0))
                rows = np.hstack([_by_label(one.gold, given), _by_label(one.gold, without)])
                balanced = interval([rows], _recall_difference, totals=shared_totals([rows], _DRAWS))
                yield {
                    "effect": effect,
                    "model": model,
                    "language": language,
                    "n": len(gaps),
                    "accuracy": accuracy.value,
                    "accuracy_low": accuracy.low,
                    "accuracy_high": accuracy.high,
                    "balanced_accuracy": balanced.value,
                    "low": balanced.low,
                    "high": balanced.high,
                }


def _recall_difference(totals: Sequence[Floats]) -> Floats:
    first, second = np.split(np.asarray(totals[0]), 2, axis=-1)
    return np.asarray(_mean_recall(first) - _mean_recall(second))


def findings(report: Report) -> list[str]:
    summary = report["summary"]
    sentences = [
        f"{summary['files']} answer files of {len(summary['models'])} models; the paper's tables were not to be had, "
        "so nothing is compared with print."
    ]
    beaten = [row for row in summary["languages"] if row["files"] and row["below_always_neutral"] == row["files"]]
    sentences += [
        f"{row['language']}: 'always neutral' gets {100 * row['always_neutral']:.1f} %, more than every one of the "
        f"{row['files']} files (best {100 * row['best_accuracy']:.1f} %); their balanced accuracy is "
        f"{100 * row['best_balanced_accuracy']:.1f} % at best, that of any constant answer 16.7 %."
        for row in beaten
    ]
    named = sum(row["files_with_country"] for row in summary["languages"])
    sentences.append(
        f"Giving the American answer everywhere scores at least as much as "
        f"{sum(row['not_above_american_answer'] for row in summary['languages'])} of the {named} files in which a "
        "model is told to live in another country."
    )
    for effect in dict.fromkeys(row["effect"] for row in summary["effects"]):
        rows = [row for row in summary["effects"] if row["effect"] == effect]
        apart = [row for row in rows if row["low"] is not None and (row["low"] > 0 or row["high"] < 0)]
        up = sum(row["balanced_accuracy"] > 0 for row in apart)
        sentences.append(
            f"{effect}, paired over questions: balanced accuracy differs in {len(apart)} of {len(rows)} cases "
            f"({up} up, {len(apart) - up} down)."
        )
    if missing := summary["missing_files"]:
        sentences.append(f"Not here, of the study's files: {len(missing)} ('eqlab data list' names them).")
    return sentences


def tables(report: Report) -> list[Table]:
    def percent(row: Row, name: str, low: str, high: str) -> Estimate:
        value, least, most = (None if row[key] is None else 100 * row[key] for key in (name, low, high))
        return Estimate("", value, row["n"], None, least, most, "%", digits=1)

    shown = [
        {
            **row,
            "accuracy": percent(row, "accuracy_exact", "accuracy_low", "accuracy_high"),
            "balanced": percent(row, "balanced_accuracy_exact", "low", "high"),
        }
        for row in report["rows"]
    ]
    effects = [
        {
            **row,
            "plain": percent(row, "accuracy", "accuracy_low", "accuracy_high"),
            "balanced": percent(row, "balanced_accuracy", "low", "high"),
        }
        for row in report["summary"]["effects"]
    ]
    columns = (
        "setting | language | who | balanced: balanced accuracy | accuracy | kappa_exact: kappa | "
        "unreadable_exact: unreadable"
    )
    note = (
        "Exact rule: trimmed, case ignored; what is no label is wrong. A difference between languages is one between "
        "groups of annotators."
    )
    return [
        table_of("CuLEmo, recomputed from the released answers", columns, shown, note),
        table_of(
            "Country and language, on the same questions",
            "effect | model | language | balanced: balanced accuracy | plain: accuracy",
            effects,
        ),
    ]


STUDY = Study("CuLEmo, recomputed", reproduce, findings, tables)
