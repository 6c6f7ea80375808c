"""The benchmarks by name: ours, one line each, and those of other packages (entry point group `eqlab.benchmarks`)."""

from importlib import import_module
from importlib.metadata import entry_points

from eqlab.core.benchmark import Benchmark
from eqlab.core.errors import UsageError

_OURS = {
    "eqbench": "eqlab.benchmarks.eqbench.benchmark:EqBench",
    "emotionbench": "eqlab.benchmarks.emotionbench.benchmark:EmotionBench",
}


def names() -> list[str]:
    return [*_OURS, *(point.name for point in entry_points(group="eqlab.benchmarks") if point.name not in _OURS)]


def load(name: str) -> Benchmark:
    if name in _OURS:
        module, _, attribute = _OURS[name].partition(":")
        made: Benchmark = getattr(import_module(module), attribute)()
        return made
    for point in entry_points(group="eqlab.benchmarks", name=name):
        theirs: Benchmark = point.load()()
        return theirs
    raise UsageError(f"There is no benchmark '{name}'.", f"There are: {', '.join(names())}.")
