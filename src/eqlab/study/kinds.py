"""The kinds of study by name: ours, those of benchmarks that bring one (`Studied`), those of other packages (entry
point group `eqlab.study_kinds`), and for every other benchmark with scales or choices the one by default.

A language file to translate: every word of participants' pages and of the kinds' trials, in English or, as far as
there is a translation, in the language itself."""

import json
from collections.abc import Mapping
from functools import cache
from importlib import import_module

from eqlab.benchmarks import registry as benchmarks
from eqlab.benchmarks.common.people import BenchmarkStudy
from eqlab.core.benchmark import Rated, Talks
from eqlab.core.design import Design
from eqlab.core.environment import entry_points
from eqlab.core.errors import UsageError, did_you_mean
from eqlab.core.studied import Studied, StudyForm, StudyKind, Worded
from eqlab.core.study import Study
from eqlab.study.texts import EMOTION, english_words, languages, load
from eqlab.study.texts import load as load_texts

GROUP = "eqlab.study_kinds"
_OURS = {
    "rating": "eqlab.benchmarks.rating.study:RatingStudy",
    "pairwise": "eqlab.benchmarks.rating.study:PairwiseStudy",
    "reply": "eqlab.benchmarks.empathy.benchmark:ReplyStudy",
    "evoked": "eqlab.benchmarks.emotionbench.study:EvokedStudy",
    "eqbench": "eqlab.benchmarks.eqbench.benchmark:EqBenchStudy",
    "talk": "eqlab.benchmarks.dialogue.study:TalkStudy",
}


def find_kind(name: str) -> StudyKind:
    """The kind of this name, with English words."""
    if name in _OURS:
        return find_ours(name)
    for point in entry_points(group=GROUP, name=name):
        theirs: StudyKind = point.load()()
        return theirs
    for kind in _of_benchmarks():
        if kind.form().kind == name:
            return kind
    if name in _by_default():
        return BenchmarkStudy(benchmarks.load(name))
    known = f"There are: {', '.join(kind_names())}."
    raise UsageError(f"There is no kind of study '{name}'.", did_you_mean(name, kind_names(), known))


def find_ours(name: str) -> StudyKind:
    module, _, attribute = _OURS[name].partition(":")
    kind: StudyKind = getattr(import_module(module), attribute)()
    return kind


def kind_names() -> tuple[str, ...]:
    theirs = [point.name for point in entry_points(group=GROUP)]
    return tuple(dict.fromkeys([*_OURS, *(kind.form().kind for kind in _of_benchmarks()), *theirs, *_by_default()]))


@cache
def kind_of_benchmark(benchmark: str) -> str:
    """The kind in which people take a benchmark; empty where there is none."""
    return next((name for name in kind_names() if find_kind(name).form().benchmark == benchmark), "")


def kind_of(study: Study) -> StudyKind:
    """A study's kind, with words in its language."""
    kind = find_kind(study.kind)
    language = study.words or study.language
    if isinstance(kind, Worded) and language != "en":
        return kind.in_words(load_texts(language).kind(study.kind))
    return kind


def form_of(design: Design) -> StudyForm:
    return find_kind(design.study.kind).form()


def _by_default() -> list[str]:
    """Benchmarks that bring no kind of their own, and whose answers are no free text: people take them as they are."""
    taken = {kind.form().benchmark for kind in map(find_ours, _OURS)}
    found = []
    for name in benchmarks.names():
        benchmark = benchmarks.load(name)
        if name not in taken and not isinstance(benchmark, Studied | Talks | Rated):
            found.append(name)
    return found


def _of_benchmarks() -> list[StudyKind]:
    """A benchmark registered anywhere brings its kind along."""
    loaded = (benchmarks.load(name) for name in benchmarks.names())
    return [benchmark.study() for benchmark in loaded if isinstance(benchmark, Studied)]


def language_text(language: str) -> str:
    """The file's text; what is not translated yet stands there in English."""
    texts = load(language) if language in languages() else None
    words = texts.words if texts else english_words()
    lines = [
        "# The words on participants' pages. Translate what stands in quotes; keep the keys, and {…}, which the page",
        '# fills in. direction is "ltr" or "rtl".',
        *_lines({key: words[key] for key in english_words()}),
        "",
        "# Words inside the trials, by kind of study. What is left out stays English.",
    ]
    emotions: dict[str, str] = {}
    for name, english in kind_words().items():
        said = {**english, **(texts.kind(name) if texts else {})}
        emotions |= {key.removeprefix(EMOTION): text for key, text in said.items() if key.startswith(EMOTION)}
        own = {key: text for key, text in said.items() if not key.startswith(EMOTION) and key in english}
        lines += ["", f"[kinds.{name}]", *_lines(own)]
    lines += ["", "# The names of emotions, for all kinds.", "[emotions]", *_lines(emotions)]
    return "\n".join(lines) + "\n"


def kind_words() -> dict[str, Mapping[str, str]]:
    """The English words of every kind that has any."""
    kinds = ((name, find_kind(name)) for name in kind_names())
    return {name: kind.words for name, kind in kinds if isinstance(kind, Worded)}


def missing_words(language: str) -> dict[str, tuple[str, ...]]:
    """By kind the words that a language lacks; those stay English."""
    if language == "en":
        return {}
    texts = load(language)
    lacking = {name: tuple(key for key in words if key not in texts.kind(name)) for name, words in kind_words().items()}
    return {name: keys for name, keys in lacking.items() if keys}


def as_in_english(language: str) -> int:
    """How many texts of pages and trials read as in English. Some words are the same; more are not translated yet."""
    texts, words = load(language), english_words()
    inside = [(texts.kind(name).get(key), text) for name, own in kind_words().items() for key, text in own.items()]
    return sum(own == text for own, text in [*((texts.words[key], text) for key, text in words.items()), *inside])


def check_code(language: str) -> str:
    """A language's code: two or three letters, with a part after a hyphen at most."""
    first, _, rest = language.partition("-")
    if not (first.isascii() and first.isalpha() and first.islower() and 2 <= len(first) <= 3 and rest.isascii()):
        raise UsageError(f"'{language}' is not the code of a language.", "Write one such as es, pt-BR or fil.")
    return language


def _lines(words: Mapping[str, str]) -> list[str]:
    return [f"{key} = {json.dumps(text, ensure_ascii=False)}" for key, text in words.items()]
