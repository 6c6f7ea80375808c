"""ToMBench's emotion part (Chen et al., ACL 2024, arXiv 2402.15052): 420 questions of seven abilities, each with a
story and two to four options, in English and in Chinese. The items are fetched, never shipped."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

from msgspec import structs

from eqlab.analysis.intervals import clustered_share
from eqlab.benchmarks.common.choices import Mark, bias_estimates, bias_table, choice, languages, read_marks
from eqlab.benchmarks.common.outcome import Asked, mean_of, sentence
from eqlab.benchmarks.common.questions import Question, Questions
from eqlab.benchmarks.options import Options, option
from eqlab.core.benchmark import Scored, Source
from eqlab.core.errors import DataError
from eqlab.core.results import Baseline, Estimate, Result, Table, whiskers
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass

FILES = {
    "Unexpected Outcome Test": "uot",
    "Hidden Emotions": "he",
    "Discrepant Emotions": "de",
    "Moral Emotions": "me",
    "Emotion Regulation": "er",
    "Strange Story Task": "sst",
}
"""The files that hold emotion items, and how their items are called here."""
LANGUAGES = ("en", "zh")
_NAMES = {"en": ("STORY", "QUESTION", "OPTION-"), "zh": ("故事", "问题", "选项")}
_LETTER = re.compile(r"^\s*[A-D]\s*[.．:：、]\s*")
_FETCH = "Get it again with 'eqlab data fetch tombench'."


@dataclass(frozen=True, slots=True)
class Item:
    """One question in one language."""

    id: str
    """The same in both languages."""
    file: str
    ability: str
    """Such as "Hidden emotions"; that of a question which is not about emotion names its kind first."""
    emotion: bool
    language: str
    story: str
    question: str
    options: tuple[str, ...]
    """Without the letters that the file puts before them."""
    right: int
    """Place of the right option, from 0."""
    as_written: tuple[str, ...]


def source(file: str) -> str:
    return f"tombench/data/{file}.jsonl"


def read_items(files: Mapping[str, bytes], language: str) -> list[Item]:
    """Every question of the files, those that are not about emotion among them."""
    items = []
    for file, short in FILES.items():
        if source(file) not in files:
            continue
        lines = [line for line in files[source(file)].decode("utf-8", "replace").split("\n") if line.strip()]
        for place, line in enumerate(lines):
            items.append(_item(line, file, f"{short}-{place:03d}", language))
    return items


def _item(line: str, file: str, name: str, language: str) -> Item:
    story, question, option = _NAMES[language]
    try:
        entry = json.loads(line)
        fields: dict[str, Any] = {key.split("\n")[-1]: value for key, value in entry.items()}
        kind, _, ability = str(fields["ABILITY"]).partition(": ")
        written = tuple(text for letter in "ABCD" if isinstance(text := fields[option + letter], str))
        right = "ABCD".index(str(fields["ANSWER"]).strip())
        texts = str(fields[story]).strip(), str(fields[question]).strip()
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{source(file)}: {name} is not a question ({type(error).__name__}: {error}).", _FETCH
        ) from error
    options = tuple(_LETTER.sub("", text).strip() for text in written)
    if right >= len(options) or len(options) < 2:
        raise DataError(f"{source(file)}: the answer of {name} is not one of its options.", _FETCH)
    emotion = kind == "Emotion"
    return Item(
        name, file, ability if emotion else f"{kind}: {ability}", emotion, language, *texts, options, right, written
    )


# -- answers that read no story --------------------------------------------------------------------------------------


def by_length(item: Item, *, longest: bool) -> float:
    """The share right of who takes the longest option, or the shortest; ties are shared."""
    lengths = [len(option) for option in item.options]
    return _shared([length if longest else -length for length in lengths], item.right)


def by_wording(items: Sequence[Item]) -> list[float]:
    """The share right of who takes the option that is right most often where it is offered in other stories, with a
    prior of one in four: the wordings' own doing. Ties are shared."""
    offered: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    for item in items:
        for place, wording in enumerate(item.options):
            for key in ((wording, ""), (wording, item.story)):
                offered[key] += 1
                right[key] += place == item.right

    def elsewhere(wording: str, story: str) -> float:
        told = right[wording, ""] - right[wording, story]
        return (told + 0.25) / (offered[wording, ""] - offered[wording, story] + 1)

    return [_shared([elsewhere(wording, item.story) for wording in item.options], item.right) for item in items]


def _shared(worth: Sequence[float], right: int) -> float:
    best = max(worth)
    return (worth[right] == best) / worth.count(best)


# -- the benchmark ---------------------------------------------------------------------------------------------------

PRINTED_PEOPLE = 86.4
"""Per cent right on the emotion items, as printed; whose, and how far apart they lie, is not said."""
_ASK_ZH = ("请只回答一个选项的字母（例如“答案：A”）。", '请只回答一个 JSON 对象，键为 "answer"，值为选项的编号。')
"""In free text, and for a structured answer."""


@dataclass(frozen=True, slots=True)
class ToMBenchOptions(Options):
    language: str = option("en", "en, zh, or both for a paired difference", (*LANGUAGES, "both"))


class ToMBench(Questions[ToMBenchOptions]):
    name, title = "tombench", "ToMBench, emotion"
    asks = "Multiple choice on short stories: what does somebody feel, show, hide or do about a feeling?"
    option_class = ToMBenchOptions
    item_sets, branches = ("published",), ("understand",)
    headline, unit, digits, noun = "right answers", "%", 1, "questions"
    quick_items, repeats = 35, 2

    def files(self, item_set: str, options: ToMBenchOptions) -> Sequence[Source]:
        return tuple(Source("published", source(file)) for file in FILES)

    def questions(self, files: Mapping[str, bytes], options: ToMBenchOptions) -> Sequence[Question]:
        """Ability after ability, so that a part of them, evenly spaced, has all seven."""
        asked = []
        for language in LANGUAGES if options.language == "both" else (options.language,):
            items = sorted((item for item in read_items(files, language) if item.emotion), key=lambda one: one.ability)
            asked += [_question(item, share) for item, share in zip(items, by_wording(items), strict=True)]
        return sorted(asked, key=lambda one: (one.condition, one.id)) if options.language == "both" else asked

    def baselines(self, asked: Asked) -> tuple[Baseline, ...]:
        """What reads no story: a place, the longest option, words that are right elsewhere, a guess."""
        if not asked:
            return ()
        places = {place: mean_of(asked, partial(_is_right, place)) for place in range(1, 5)}
        best = max(places, key=places.__getitem__)
        return (
            Baseline("a guess", 100 * mean_of(asked, lambda one: 1 / one.form.scales[0].high)),
            Baseline(f"always {'ABCD'[best - 1]}", 100 * places[best]),
            Baseline("always the longest option", 100 * mean_of(asked, lambda one: one.key["longest"])),
            Baseline("the option right most often elsewhere", 100 * mean_of(asked, lambda one: one.key["wording"])),
        )

    def model(self, result: Result, scored: Sequence[Scored]) -> Result:
        read = read_marks(scored)
        if not read:
            return result
        head = _accuracy(self.headline, read)
        who = result.subject.removeprefix("model:")
        abilities = {ability: _own(read, ability) for ability in sorted({mark.trial.condition for mark in read})}
        means = [_accuracy(ability, of_ability).value or 0.0 for ability, of_ability in abilities.items()]
        more = Estimate("mean over abilities", fmean(means), len(means), unit="%", digits=1, of="abilities")
        people = f"People got {PRINTED_PEOPLE} % in print; who they are and how they differ is not said."
        return replace(
            result,
            headline=head,
            sentence=sentence(who, head, self.title, self.noun, result.baselines, self.better, valid=result.valid),
            estimates=(more, *languages([_paired(mark) for mark in read]), *bias_estimates(read), *result.estimates),
            tables=(self._by_ability(abilities), *bias_table(read)),
            caveats=(*result.caveats, people),
        )

    def _by_ability(self, abilities: Mapping[str, Sequence[Mark]]) -> Table:
        rows = []
        for ability, of_ability in abilities.items():
            guess, place, longest, words = self.baselines([[mark.trial for mark in of_ability]])
            best = f"{place.value:.1f} ({place.name[-1]})"
            rows.append((ability, _accuracy("right", of_ability), guess.value, best, longest.value, words.value))
        columns = ("ability", "right", "guess, %", "best place, %", "longest option, %", "favourite words, %")
        note = "Intervals over stories. Favourite words: the option right most often where other stories offer it."
        return Table("By ability", columns, rows, note, draw=(whiskers("right"),))


def _is_right(place: int, trial: Trial) -> bool:
    return bool(trial.key["correct"]["answer"] == place)


def _question(item: Item, wording: float) -> Question:
    name = item.id if item.language == "en" else f"{item.id}-{item.language}"
    key = {
        "correct": {"answer": item.right + 1},
        "language": item.language,
        "story": hashlib.sha256(item.story.encode()).hexdigest()[:10],
        "item": item.id,
        "longest": round(by_length(item, longest=True), 6),
        "wording": round(wording, 6),
    }
    scale = choice("answer", item.question, item.options)
    ends = _ASK_ZH if item.language == "zh" else ("", "")
    return Question(name, item.story, (scale,), key, condition=item.ability, turned=True, ends=ends, drawn_by=item.id)


def _accuracy(name: str, marks: Sequence[Mark]) -> Estimate:
    """The share right; the interval is over stories, of which several questions may be asked, in several orders."""
    share = clustered_share(name, [bool(mark.all_right) for mark in marks], [one.trial.key["story"] for one in marks])
    return structs.replace(share, n=len({mark.trial.items for mark in marks}))


def _own(marks: Sequence[Mark], ability: str) -> list[Mark]:
    return [mark for mark in marks if mark.trial.condition == ability]


def _paired(mark: Mark) -> Mark:
    """Under the name that both languages share."""
    return structs.replace(mark, trial=replace(mark.trial, items=(str(mark.trial.key["item"]),)))
