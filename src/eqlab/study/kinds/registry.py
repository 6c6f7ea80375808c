"""The kinds of study by name: ours, those of benchmarks that bring one (`Studied`), those of other packages (entry
point group `eqlab.study_kinds`), and for every other benchmark with scales or choices the one by default."""

from importlib import import_module

from eqlab.benchmarks import registry as benchmarks
from eqlab.benchmarks.common.people import BenchmarkStudy
from eqlab.core.benchmark import Rated, Talks
from eqlab.core.design import Design
from eqlab.core.environment import entry_points
from eqlab.core.errors import UsageError
from eqlab.core.studied import Studied, StudyForm, StudyKind, Worded
from eqlab.core.study import Study
from eqlab.study.texts import load as load_texts

GROUP = "eqlab.study_kinds"
_OURS = {
    "rating": "eqlab.benchmarks.rating.study:RatingStudy",
    "pairwise": "eqlab.benchmarks.rating.study:PairwiseStudy",
    "reply": "eqlab.benchmarks.empathy.study:ReplyStudy",
    "evoked": "eqlab.benchmarks.emotionbench.study:EvokedStudy",
    "eqbench": "eqlab.benchmarks.eqbench.study:EqBenchStudy",
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
    raise UsageError(f"There is no kind of study '{name}'.", f"There are: {', '.join(kind_names())}.")


def find_ours(name: str) -> StudyKind:
    module, _, attribute = _OURS[name].partition(":")
    made: StudyKind = getattr(import_module(module), attribute)()
    return made


def kind_names() -> tuple[str, ...]:
    theirs = [point.name for point in entry_points(group=GROUP)]
    return tuple(dict.fromkeys([*_OURS, *(kind.form().kind for kind in _of_benchmarks()), *theirs, *_by_default()]))


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
        one = benchmarks.load(name)
        if name not in taken and not isinstance(one, Studied | Talks | Rated):
            found.append(name)
    return found


def _of_benchmarks() -> list[StudyKind]:
    """A benchmark registered anywhere brings its kind along."""
    loaded = (benchmarks.load(name) for name in benchmarks.names())
    return [one.study() for one in loaded if isinstance(one, Studied)]
