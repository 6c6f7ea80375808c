"""The benchmarks by name: ours, one line each, and those of other packages (entry point group `eqlab.benchmarks`); and
the papers they come from, as BibTeX: who asks a study's questions cites the study."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from eqlab.core.benchmark import Benchmark
from eqlab.core.environment import entry_points, package_about
from eqlab.core.errors import UsageError, did_you_mean

_OURS = {
    "eqbench": "eqlab.benchmarks.eqbench.benchmark:EqBench",
    "emotionbench": "eqlab.benchmarks.emotionbench.benchmark:EmotionBench",
    "empathy": "eqlab.benchmarks.empathy.benchmark:Empathy",
    "emobench": "eqlab.benchmarks.emobench.benchmark:EmoBench",
    "dialogue": "eqlab.benchmarks.dialogue.benchmark:Dialogue",
    "culemo": "eqlab.benchmarks.culemo:CuLEmo",
    "tombench": "eqlab.benchmarks.tombench:ToMBench",
    "seceu": "eqlab.benchmarks.seceu:Seceu",
}
_STARTED_BY_OTHERS = {
    "rating": "eqlab.benchmarks.rating.benchmark:Ratings",
}
"""Known by name and never part of `eqlab run`: their items are other subjects' replies (`eqlab judge`)."""


def names() -> list[str]:
    return [*_OURS, *(point.name for point in entry_points(group="eqlab.benchmarks") if point.name not in _OURS)]


def is_ours(name: str) -> bool:
    """Whether its open items were written for EQ Lab; another package brings its own."""
    return name in _OURS | _STARTED_BY_OTHERS


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
    return [name for name in names() if any(option_help.name == option for option_help in load(name).option_help())]


def place(name: str) -> int:
    """Where a benchmark stands in lists; one that is not installed here comes last."""
    listed = [*names(), *_STARTED_BY_OTHERS]
    return listed.index(name) if name in listed else len(listed)


def load(name: str) -> Benchmark:
    ours = _OURS | _STARTED_BY_OTHERS
    if name in ours:
        module, _, attribute = ours[name].partition(":")
        benchmark: Benchmark = getattr(import_module(module), attribute)()
        return benchmark
    for point in entry_points(group="eqlab.benchmarks", name=name):
        theirs: Benchmark = point.load()()
        return theirs
    there_are = f"There are: {', '.join(names())}."
    raise UsageError(f"There is no benchmark '{name}'.", did_you_mean(name, names(), there_are))


_SAME = {"rating": "empathy", "pairwise": "empathy"}
"""Benchmarks that use another's replies and scale."""


@cache
def _papers() -> dict[str, str]:
    """The papers behind our own benchmarks: in the file each stands below a line with the benchmark's name."""
    text = Path(__file__).with_name("papers.bib").read_text(encoding="utf-8")
    entries = (part.partition("\n") for part in f"\n{text}".split("\n% ")[1:])
    return {name: entry.strip() for name, _, entry in entries}


def bibtex(benchmark: str) -> str:
    """The paper behind a benchmark; one of another package gives its own (`bibtex`), or is cited as that package."""
    if paper := _papers().get(_SAME.get(benchmark, benchmark)):
        return paper
    for point in entry_points(group="eqlab.benchmarks", name=benchmark):
        if entry := getattr(find(benchmark), "bibtex", ""):
            return str(entry).strip()
        package = point.dist.name if point.dist else point.value.partition(".")[0]
        about = package_about(package)
        rows = {
            "title": f"{{{package}}}: {about.get('title', benchmark)}",
            "author": f"{{{about['author']}}}" if "author" in about else "",
            "version": about.get("version", ""),
            "url": about.get("address", ""),
        }
        return bibtex_entry("software", package, rows)
    return ""


def bibtex_entry(kind: str, key: str, rows: Mapping[str, str]) -> str:
    return f"@{kind}{{{key},\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in rows.items() if value) + "}"
