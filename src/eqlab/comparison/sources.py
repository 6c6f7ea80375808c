"""From what a user names to results: a run of the store, a published EQ-Bench model, or a result file."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from eqlab.benchmarks.eqbench.published import PUBLISHED
from eqlab.comparison.contender import settings_of
from eqlab.comparison.entries import EntrySource
from eqlab.core.errors import DataError, UsageError
from eqlab.core.results import Result
from eqlab.runs.published_results import PublishedReader, PublishedResult, is_published
from eqlab.store.reader import Reader, StoredRun

Score = Callable[
    [Reader, Sequence[StoredRun], Callable[[str, str, str], bool]], Sequence[tuple[StoredRun, list[Result]]]
]
"""From runs to those of their results whose run, subject and benchmark are wanted."""


def read_sources(
    names: Sequence[str],
    store: str = "",
    data: Path | None = None,
    *,
    benchmarks: Sequence[str] = (),
    subject: str = "",
    pool: bool = True,
    score: Score | None = None,
) -> list[EntrySource]:
    """Results of run ids, `last`, RUN:MODEL, MODEL, `published` (all models), `published:MODEL` and files *.json, in
    the order named.

    A run named twice counts once. `benchmarks` and `subject` (a part of the name) choose among what is found. `pool`:
    runs that differ in their seeds alone are one result. `score`: by whom runs are scored, where somebody has done it
    already."""
    seen: set[str] = set()
    sources: list[EntrySource] = []
    own: list[str] = []
    runs: dict[str, StoredRun] = {}
    places: dict[tuple[str, str], int] = {}
    published_files = PublishedReader(data)
    with ExitStack() as closing:
        for name in names:
            if is_published(name):
                wanted = name.removeprefix(PUBLISHED).removeprefix(":")
                sources += _published(published_files.results([wanted] if wanted else []), seen)
            elif name.endswith(".json"):
                sources += _published([published_files.file_result(_file(name))], seen)
            else:
                own.append(name)
        if own:
            from eqlab.runs.parallel import results_of  # published models are compared without what runs need
            from eqlab.store.access import open_reader

            opened = closing.enter_context(open_reader(store))
            for name, (stored, who) in zip(own, opened.find_models(own), strict=True):
                runs[stored.id] = stored
                places.setdefault((stored.id, who), names.index(name))

            def named(run: str, who: str, benchmark: str) -> bool:
                asked = (run, "") in places or (run, who) in places
                return asked and (not benchmarks or benchmark in benchmarks) and subject.casefold() in who.casefold()

            sources += _runs(opened, (score or results_of)(opened, list(runs.values()), named), pool)
    if runs:
        published = [place for place, name in enumerate(names) if name not in own]
        sources.sort(key=lambda one: _place(places, one, published[0] if published else 0))
    chosen = [source for source in sources if not benchmarks or source.result.benchmark in benchmarks]
    chosen = [source for source in chosen if subject.casefold() in source.result.subject.casefold()]
    if not chosen:
        pairs = [(source.result.subject, source.result.benchmark) for source in sources]
        pairs += [(who, config.name) for run in runs.values() for who, config in run.config.pairs()]
        said = ", ".join(sorted({f"{who} on {benchmark}" for who, benchmark in pairs})[:6])
        raise UsageError("Nothing is left to compare with this choice of models.", f"There is: {said or 'nothing'}.")
    return chosen


def _runs(store: Reader, scored: Sequence[tuple[StoredRun, list[Result]]], pool: bool) -> list[EntrySource]:
    from eqlab.runs.pool import pooled

    return [
        EntrySource(
            result,
            f"run {stored.id}",
            _items_of(stored, result),
            settings_of(stored.config, result.subject),
            next((model.label for model in stored.config.models if model.subject == result.subject), ""),
        )
        for stored, own in (pooled(store, scored) if pool else scored)
        for result in own
    ]


def _items_of(stored: StoredRun, result: Result) -> str:
    """The hash of the item files behind a result."""
    named = [config for config in stored.config.benchmarks if config.name == result.benchmark]
    configs = [config for config in named if config.item_set == result.rules.get("item_set", config.item_set)]
    return (configs or named)[0].items_sha256


def _place(places: Mapping[tuple[str, str], int], source: EntrySource, published: int) -> int:
    """Where a source was named: published results and runs keep the order of the command."""
    run = source.origin.removeprefix("run ")
    return places.get((run, source.result.subject), places.get((run, ""), published))


def _published(results: Iterable[PublishedResult], seen: set[str]) -> list[EntrySource]:
    found = []
    for result in results:
        if result.run.file not in seen:
            seen.add(result.run.file)
            found.append(EntrySource(result.result, PUBLISHED, result.run.items_sha256))
    return found


def _file(name: str) -> Path:
    path = Path(name)
    if not path.is_file():
        raise DataError(f"There is no file {name}.", "Name an EQ-Bench result file, a run id, or published:MODEL.")
    return path
