"""The benchmarks by name: ours, one line each, and those of other packages (entry point group `eqlab.benchmarks`)."""

from importlib import import_module

from eqlab.core.benchmark import Benchmark
from eqlab.core.errors import UsageError
from eqlab.core.plugins import entry_points

_OURS = {
    "eqbench": "eqlab.benchmarks.eqbench.benchmark:EqBench",
    "emotionbench": "eqlab.benchmarks.emotionbench.benchmark:EmotionBench",
    "empathy": "eqlab.benchmarks.empathy.benchmark:Empathy",
    "emobench": "eqlab.benchmarks.emobench.benchmark:EmoBench",
    "dialogue": "eqlab.benchmarks.dialogue.benchmark:Dialogue",
    "culemo": "eqlab.benchmarks.culemo:CuLEmo",
    "tombench": "eqlab.benchmarks.tombench:ToMBench",
    "seceu": "eqlab.benchmarks.seceu.benchmark:Seceu",
}
_STARTED_BY_OTHERS = {
    "rating": "eqlab.benchmarks.rating.benchmark:Ratings",
}
"""Known by name and never part of `eqlab run`: their items are other subjects' replies (`eqlab judge`)."""


def names() -> list[str]:
    return [*_OURS, *(point.name for point in entry_points(group="eqlab.benchmarks") if point.name not in _OURS)]


def usual() -> list[str]:
    """What `eqlab run` asks if nobody says what: the three studies that the project began with."""
    return list(_OURS)[:3]


def find(name: str) -> Benchmark | None:
    """A benchmark of a stored run; None where the package that brings it is not installed here."""
    try:
        return load(name)
    except UsageError:
        return None


def with_option(option: str) -> list[str]:
    """The benchmarks that have this option."""
    return [name for name in names() if any(one.name == option for one in load(name).option_help())]


def place(name: str) -> int:
    """Where a benchmark stands in lists; one that is not installed here comes last."""
    known = [*names(), *_STARTED_BY_OTHERS]
    return known.index(name) if name in known else len(known)


def load(name: str) -> Benchmark:
    ours = _OURS | _STARTED_BY_OTHERS
    if name in ours:
        module, _, attribute = ours[name].partition(":")
        made: Benchmark = getattr(import_module(module), attribute)()
        return made
    for point in entry_points(group="eqlab.benchmarks", name=name):
        theirs: Benchmark = point.load()()
        return theirs
    raise UsageError(f"There is no benchmark '{name}'.", f"There are: {', '.join(names())}.")
