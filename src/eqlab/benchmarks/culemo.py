"""CuLEmo (Belay et al. 2025, arXiv 2503.10688): 400 questions about how one would feel, in six languages, each with
the one of six labels that people of one country gave. The items are fetched, never shipped."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
from msgspec import structs

from eqlab.analysis.arrays import Floats
from eqlab.analysis.bootstrap import interval, shared_totals
from eqlab.analysis.intervals import clustered_share, mean_bounds, mean_estimate
from eqlab.benchmarks.common.choices import Mark, bias_estimates, bias_table, choice, read_marks
from eqlab.benchmarks.common.outcome import Asked, sentence
from eqlab.benchmarks.common.questions import Question, Questions
from eqlab.benchmarks.options import Options, option
from eqlab.core.benchmark import Scored, Source
from eqlab.core.errors import DataError
from eqlab.core.grouping import group_means, grouped
from eqlab.core.results import Baseline, Estimate, Result, Table, whiskers
from eqlab.core.runs import PERSON
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass

LABELS = ("anger", "fear", "sadness", "joy", "guilt", "neutral")
LANGUAGES = ("eng", "amh", "ara", "deu", "hin", "spn")
_FETCH = "Get it again with 'eqlab data fetch culemo'."


@dataclass(frozen=True, slots=True)
class Item:
    """One question in one language, with the label of that country's people."""

    id: str
    """The place of its English wording in the English file; the same in every language."""
    language: str
    english: str
    text: str
    gold: str
    """One of `LABELS`."""
    american: str | None
    """The label that people in the United States gave the same English wording; None where they had another one."""


@dataclass(frozen=True, slots=True)
class Language:
    name: str
    items: tuple[Item, ...]
    words: Mapping[str, str]
    """The labels as this language says them."""


def source(language: str) -> str:
    return f"culemo/data/test/{language}.tsv"


def read_language(files: Mapping[str, bytes], language: str) -> Language:
    """In the order of the file. The English file must be among them: items are joined by their English wording."""
    ids: dict[str, str] = {}
    american: dict[str, str] = {}
    for place, row in enumerate(_rows(files, "eng"), start=1):
        wording = row["text_eng"].strip()
        ids.setdefault(wording, f"q{place:03d}")
        american.setdefault(wording, row["emotion_eng"].strip())
    items, words, seen = [], {}, set[str]()
    for place, row in enumerate(_rows(files, language), start=1):
        english, gold = row["text_eng"].strip(), row["emotion_eng"].strip()
        name = ids.get(english, f"{language}{place:03d}")
        if gold not in LABELS:
            raise DataError(f"{source(language)}, question {place}: '{gold}' is not one of the six labels.", _FETCH)
        name = f"{name}b" if name in seen else name
        seen.add(name)
        words[gold] = row[f"emotion_{language}"].strip()
        items.append(Item(name, language, english, row[f"text_{language}"].strip(), gold, american.get(english)))
    return Language(language, tuple(items), words)


def _rows(files: Mapping[str, bytes], language: str) -> list[dict[str, str]]:
    """Cells as they stand, quotation marks and all."""
    path = source(language)
    head, *lines = files[path].decode("utf-8-sig", "replace").replace("\r", "").split("\n")
    columns = head.split("\t")
    wanted = {"text_eng", "emotion_eng", f"text_{language}", f"emotion_{language}"}
    rows = [dict(zip(columns, line.split("\t"), strict=False)) for line in lines if line.strip()]
    if not wanted <= set(columns) or not rows or any(len(row) < len(columns) for row in rows):
        raise DataError(f"{path} is not a table of questions.", _FETCH)
    return rows


# -- the benchmark ---------------------------------------------------------------------------------------------------

OWN, ENGLISH, WITHOUT = "own language, country named", "English, country named", "without country"
_SETTINGS = {"country": OWN, "english": ENGLISH, "none": WITHOUT}
_DRAWS = 2_000
_WORDS = {
    "eng": ("You live in the United States.", "Which of these comes nearest?", "Answer with the letter."),
    "amh": ("የሚኖሩት በኢትዮጵያ ነው።", "ከእነዚህ ውስጥ ይበልጥ የሚቀርበው የትኛው ነው?", "በፊደሉ ብቻ ይመልሱ (A, B, C …)።"),
    "ara": ("أنت تعيش في الإمارات العربية المتحدة.", "أي من هذه هو الأقرب؟", "أجب بالحرف فقط (A, B, C …)."),
    "deu": ("Sie leben in Deutschland.", "Was davon kommt dem am nächsten?", "Antworten Sie mit dem Buchstaben."),
    "hin": ("आप भारत में रहते हैं।", "इनमें से सबसे क़रीब कौन-सा है?", "केवल अक्षर से उत्तर दें (A, B, C …)।"),
    "spn": ("Usted vive en México.", "¿Cuál de estas opciones se acerca más?", "Responda con la letra."),
}
"""In our own words: where one lives, what is asked, how to answer."""
_COUNTRIES = {"amh": "Ethiopia", "ara": "the United Arab Emirates", "deu": "Germany", "hin": "India", "spn": "Mexico"}


@dataclass(frozen=True, slots=True)
class CuLEmoOptions(Options):
    language: str = option("eng", "eng, amh, ara, deu, hin, spn, or all six", (*LANGUAGES, "all"))
    setting: str = option(
        "country",
        "country: its language, country named; english: asked in English, country named; none: no country; all: each, "
        "for paired effects",
        (*_SETTINGS, "all"),
    )


class CuLEmo(Questions[CuLEmoOptions]):
    name, title = "culemo", "CuLEmo"
    asks = "Which of six feelings does a situation bring about? Right is what most people of a country said."
    option_class = CuLEmoOptions
    item_sets, branches = ("published",), ("understand",)
    headline, unit, digits, noun = "balanced accuracy", "%", 1, "questions"
    quick_items, each_answer_counts = 40, True

    def files(self, item_set: str, options: CuLEmoOptions) -> Sequence[Source]:
        names = LANGUAGES if options.language == "all" else dict.fromkeys(("eng", options.language))
        return tuple(Source("published", source(name)) for name in names)

    def questions(self, files: Mapping[str, bytes], options: CuLEmoOptions) -> Sequence[Question]:
        """Question by question, each in all languages and settings, so that a part of them is paired too."""
        names = LANGUAGES if options.language == "all" else (options.language,)
        settings = _SETTINGS.values() if options.setting == "all" else (_SETTINGS[options.setting],)
        read = [read_language(files, name) for name in names]
        asked = [
            _question(item, language, setting)
            for language in read
            for item in language.items
            for setting in settings
            if setting != ENGLISH or language.name != "eng" or settings == (ENGLISH,)
        ]
        return sorted(asked, key=lambda one: str(one.key["question"]))

    def baselines(self, asked: Asked) -> tuple[Baseline, ...]:
        """Where every label counts the same, any constant answer gets a sixth; what the Americans said gets more."""
        trials = [trial for own in asked for trial in own]
        if not trials:
            return ()
        labels = {str(trial.key["gold"]) for trial in trials}
        constant = Baseline("always the same label", 100 / len(labels))
        abroad = [trial for trial in trials if trial.key["language"] != "eng" and trial.key["american"]]
        if not abroad:
            return (constant,)
        answers = [(_cell(one), str(one.key["question"]), one.key["american"] == one.key["gold"]) for one in abroad]
        return (constant, Baseline("the American answer", _balanced("", answers).value or 0.0))

    def people(self, result: Result, options: CuLEmoOptions) -> Result:
        """Plain accuracy, as each of them has: a person's few questions do not have every label."""
        norms = None if result.norms is None else replace(result.norms, measure="accuracy")
        return replace(result, headline=structs.replace(result.headline, name="accuracy"), norms=norms)

    def model(self, result: Result, scored: Sequence[Scored]) -> Result:
        read = read_marks(scored)
        if not read:
            return result
        if result.subject.startswith(PERSON):
            persons = grouped((mark.answer.subject, mark) for mark in read if mark.answer)
            return replace(result, headline=_accuracy(read), baselines=_plain_baselines(list(persons.values())))
        head, who = _headline(self.headline, read), result.subject.removeprefix("model:")
        weights = _weights([_cell(mark.trial) for mark in read])
        cells = {mark.trial.id: _cell(mark.trial) for mark in read}
        items = tuple(
            item if item.points is None else structs.replace(item, points=item.points * weights[cells[item.trial]])
            for item in result.items
        )
        plain = structs.replace(_accuracy(read), note=_beside(read))
        return replace(
            result,
            headline=head,
            items=items,
            item_range=(0.0, 100.0 * max(weights.values())),
            sentence=sentence(who, head, self.title, self.noun, result.baselines, self.better, valid=result.valid),
            tables=(_table(read), *bias_table(read)),
            estimates=(plain, *_effects(read), *bias_estimates(read), *result.estimates),
        )


def _question(item: Item, language: Language, setting: str) -> Question:
    spoken = "eng" if setting == ENGLISH else item.language
    country, ask, end = _WORDS[spoken]
    if setting == ENGLISH and item.language != "eng":
        country = f"You live in {_COUNTRIES[item.language]}."
    text = item.english if setting == ENGLISH else item.text
    key = {
        "correct": {"answer": LABELS.index(item.gold) + 1},
        "gold": item.gold,
        "american": item.american or "",
        "language": item.language,
        "question": item.id,
    }
    words = {label: label for label in LABELS} if spoken == "eng" else language.words
    scale = choice("answer", ask, [words[label] for label in LABELS])
    shown = text if setting == WITHOUT else f"{country}\n\n{text}"
    name, ends = f"{item.id}-{item.language}", (end, "")
    return Question(name, shown, (scale,), key, None, setting, turned=True, ends=ends, drawn_by=item.id)


# -- every label counts the same -------------------------------------------------------------------------------------

Cell = tuple[str, str]
"""A language in a setting, and the gold label."""


def _group(trial: Trial) -> str:
    return f"{trial.key['language']}, {trial.condition}"


def _cell(trial: Trial) -> Cell:
    return _group(trial), str(trial.key["gold"])


def _weights(cells: Sequence[Cell]) -> dict[Cell, float]:
    """By which an answer counts so that the plain mean is the mean over languages of the mean recall over labels."""
    counts, groups = Counter(cells), Counter(group for group, _ in set(cells))
    return {cell: len(cells) / (len(groups) * groups[cell[0]] * count) for cell, count in counts.items()}


def _headline(name: str, marks: Sequence[Mark]) -> Estimate:
    answers = [(_cell(mark.trial), str(mark.trial.key["question"]), bool(mark.all_right)) for mark in marks]
    return _balanced(name, answers)


def _balanced(name: str, answers: Sequence[tuple[Cell, str, bool]]) -> Estimate:
    """The mean recall over labels, averaged over languages and settings; questions are drawn again, each with all its
    answers. `answers`: cell, question, whether right."""
    order = list(dict.fromkeys(cell for cell, _, _ in answers))
    units = {unit: place for place, unit in enumerate(dict.fromkeys(unit for _, unit, _ in answers))}
    rows = np.zeros((len(units), 2 * len(order)))
    for cell, unit, right in answers:
        rows[units[unit], order.index(cell)] += 1
        rows[units[unit], len(order) + order.index(cell)] += right
    groups = [[order.index(cell) for cell in order if cell[0] == group] for group in dict.fromkeys(g for g, _ in order)]
    drawn = interval([rows], lambda totals: _mean_recall(totals[0], groups), totals=shared_totals([rows], _DRAWS))
    value, low, high = (None if one is None else 100 * one for one in (drawn.value, drawn.low, drawn.high))
    if low == high:  # nothing varied, so drawing again tells no width; of all right or all wrong their number does
        alike = value in (0.0, 100.0)
        known = mean_bounds([float(value or 0.0)] * len(rows), (0.0, 100.0)) if alike else None
        low, high = known or (None, None)
    return Estimate(name, value, len(rows), None, low, high, "%", digits=1)


def _mean_recall(totals: Floats, groups: Sequence[Sequence[int]]) -> Floats:
    """A label that no drawn question has counts for nothing."""
    counts, hits = np.split(np.asarray(totals), 2, axis=-1)
    recall = np.divide(hits, counts, out=np.zeros_like(hits), where=counts > 0)
    with np.errstate(invalid="ignore"):  # a draw without any question of a group has no recall there
        recalls = [recall[..., group].sum(axis=-1) / (counts[..., group] > 0).sum(axis=-1) for group in groups]
    return np.asarray(np.mean(recalls, axis=0))


def _accuracy(marks: Sequence[Mark]) -> Estimate:
    """The share right, each answer counted once; the interval is over questions, which have several settings."""
    share = clustered_share("accuracy", [bool(mark.all_right) for mark in marks], [mark.trial.items for mark in marks])
    return structs.replace(share, n=len({mark.trial.items for mark in marks}))


def _majority(marks: Sequence[Mark]) -> tuple[str, float]:
    (label, count), *_ = Counter(str(mark.trial.key["gold"]) for mark in marks).most_common(1)
    return label, 100 * count / len(marks)


def _american(marks: Sequence[Mark]) -> float | None:
    paired = [mark.trial.key for mark in marks if mark.trial.key["american"] and mark.trial.key["language"] != "eng"]
    return 100 * fmean(key["american"] == key["gold"] for key in paired) if paired else None


def _plain_baselines(persons: Sequence[Sequence[Mark]]) -> tuple[Baseline, ...]:
    """In plain accuracy, which whoever always says the most frequent label gets more of than of the balanced: the mean
    over people of what each would get on their own questions."""
    label, _ = _majority([mark for marks in persons for mark in marks])
    shares = [100 * fmean(mark.trial.key["gold"] == label for mark in marks) for marks in persons]
    american = [share for marks in persons if (share := _american(marks)) is not None]
    constant = Baseline(f"always {label}", fmean(shares))
    return (constant, Baseline("the American answer", fmean(american))) if american else (constant,)


def _beside(marks: Sequence[Mark]) -> str:
    label, share = _majority(marks)
    american = _american(marks)
    return f"always {label} {share:.1f}" + ("" if american is None else f", the American answer {american:.1f}")


def _table(marks: Sequence[Mark]) -> Table:
    """Language by language: accuracy never without what it takes to beat."""
    rows = []
    for group in dict.fromkeys(_group(mark.trial) for mark in marks):
        of_group = [mark for mark in marks if _group(mark.trial) == group]
        label, share = _majority(of_group)
        american = _american(of_group)
        language, _, setting = group.partition(", ")
        abroad = "" if american is None else american
        scores = _headline("balanced", of_group), _accuracy(of_group)
        rows.append((language, setting, *scores, f"{share:.1f} ({label})", abroad))
    columns = ("language", "setting", "balanced accuracy", "accuracy", "majority, %", "the American answer, %")
    note = (
        "Balanced: every label counts the same. Majority and the American answer are plain accuracies. A difference "
        "between languages is one between groups of annotators."
    )
    return Table("By language", columns, rows, note, draw=(whiskers("balanced accuracy"),))


def _effects(marks: Sequence[Mark]) -> list[Estimate]:
    """What naming the country does, and asking in its language, in points of accuracy, on the same questions."""
    right: dict[tuple[str, str], dict[str, list[float]]] = {}
    for mark in marks:
        by_setting = right.setdefault((str(mark.trial.key["question"]), str(mark.trial.key["language"])), {})
        by_setting.setdefault(mark.trial.condition, []).append(100.0 * bool(mark.all_right))
    effects = []
    for name, first, second in (("country named − not named", OWN, WITHOUT), ("own language − English", OWN, ENGLISH)):
        gaps = group_means(
            (question, fmean(shares[first]) - fmean(shares[second]))
            for (question, _), shares in right.items()
            if first in shares and second in shares
        )
        if gaps:
            values = list(gaps.values())
            effects.append(mean_estimate(f"{name}, paired", values, unit="points", digits=1, bounds=(-100.0, 100.0)))
    return effects
