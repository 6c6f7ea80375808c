"""The benchmarks by name: ours, one line each, and those of other packages (entry point group `eqlab.benchmarks`)."""

from importlib import import_module
from importlib.metadata import entry_points

from eqlab.core.benchmark import Benchmark
from eqlab.core.errors import UsageError

_OURS = {
    "eqbench": "eqlab.benchmarks.eqbench.benchmark:EqBench",
    "emotionbench": "eqlab.benchmarks.emotionbench.benchmark:EmotionBench",
    "empathy": "eqlab.benchmarks.empathy.benchmark:Empathy",
}
_STARTED_BY_OTHERS = {
    "rating": "eqlab.benchmarks.rating.benchmark:Ratings",
}
"""Known by name and never part of `eqlab run`: their items are other subjects' replies (`eqlab judge`)."""


def names() -> list[str]:
    return [*_OURS, *(point.name for point in entry_points(group="eqlab.benchmarks") if point.name not in _OURS)]


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
