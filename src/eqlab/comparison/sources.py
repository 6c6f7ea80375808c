"""From what a user names to results: a run of the store, a published EQ-Bench model, or a result file."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from eqlab.benchmarks.eqbench.published import PUBLISHED
from eqlab.comparison.contender import settings_of
from eqlab.comparison.entries import EntrySource
from eqlab.core.errors import UsageError
from eqlab.core.results import Result
from eqlab.runs.published_results import PublishedReader, PublishedResult, is_published
from eqlab.store.access import open_reader
from eqlab.store.reader import Reader, StoredRun

Score = Callable[[Reader, Sequence[StoredRun]], Sequence[tuple[StoredRun, list[Result]]]]
"""From runs to their results."""


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
    """Results of run ids, `last`, `published` (all models), `published:MODEL` and files *.json, in the order named.

    A run named twice counts once. `benchmarks` and `subject` (a part of the name) choose among what is found. `pool`:
    runs that differ in their seeds alone are one result. `score`: by whom runs are scored, where somebody has done it
    already."""
    opened: Reader | None = None
    seen: set[str] = set()
    found: list[EntrySource] = []
    runs: list[StoredRun] = []
    with ExitStack() as closing:
        for name in names:
            if is_published(name):
                wanted = name.removeprefix(PUBLISHED).removeprefix(":")
                found += _published(PublishedReader(data).results([wanted] if wanted else []), seen)
            elif name.endswith(".json"):
                found += _published([PublishedReader(data).file_result(_file(name))], seen)
            else:
                opened = opened or closing.enter_context(open_reader(store))
                stored = opened.find_run(name)
                if stored.id not in seen:
                    seen.add(stored.id)
                    runs.append(stored)
        if opened:
            from eqlab.runs.parallel import results_of  # published models are compared without what runs need

            found += _runs(opened, runs, pool, score or results_of)
    if runs:
        found.sort(key=_place_in(names, runs))
    chosen = [one for one in found if not benchmarks or one.result.benchmark in benchmarks]
    chosen = [one for one in chosen if subject.casefold() in one.result.subject.casefold()]
    if not chosen:
        said = ", ".join(sorted({f"{one.result.subject} on {one.result.benchmark}" for one in found})[:6])
        raise UsageError("Nothing that was named is left to compare.", f"There is: {said or 'nothing'}.")
    return chosen


def _runs(store: Reader, runs: Sequence[StoredRun], pool: bool, score: Score) -> list[EntrySource]:
    from eqlab.runs.pool import pooled

    scored = score(store, runs)
    return [
        EntrySource(result, f"run {stored.id}", _items_of(stored, result), settings_of(stored.config, result.subject))
        for stored, own in (pooled(store, scored) if pool else scored)
        for result in own
    ]


def _items_of(stored: StoredRun, result: Result) -> str:
    """The hash of the item files behind a result."""
    named = [asked for asked in stored.config.benchmarks if asked.name == result.benchmark]
    own = [asked for asked in named if asked.item_set == result.rules.get("item_set", asked.item_set)]
    return (own or named)[0].items_sha256


def _place_in(names: Sequence[str], runs: Sequence[StoredRun]) -> Callable[[EntrySource], int]:
    """Where a source was named: published results and runs keep the order of the command."""
    places = {
        f"run {stored.id}": next(
            place for place, name in enumerate(names) if name == "last" or stored.id.startswith(name)
        )
        for stored in runs
    }
    published = [place for place, name in enumerate(names) if is_published(name) or name.endswith(".json")]
    return lambda source: places.get(source.origin, published[0] if published else 0)


def _published(results: Iterable[PublishedResult], seen: set[str]) -> list[EntrySource]:
    found = []
    for one in results:
        if one.run.file not in seen:
            seen.add(one.run.file)
            found.append(EntrySource(one.result, PUBLISHED, one.run.items_sha256))
    return found


def _file(name: str) -> Path:
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"There is no file {name}.", "Name an EQ-Bench result file, a run id, or published:MODEL.")
    return path
