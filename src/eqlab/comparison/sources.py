"""From what a user names to results: a run of the store, a published EQ-Bench model, or a result file."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from eqlab.benchmarks.eqbench.published import PUBLISHED
from eqlab.comparison.entries import Source
from eqlab.core.errors import UsageError
from eqlab.runs.context import Known
from eqlab.runs.published_results import PublishedResult, Reader
from eqlab.runs.published_runs import is_published
from eqlab.runs.score import results
from eqlab.store.open import open_store
from eqlab.store.store import Store


def read_sources(
    names: Sequence[str],
    store: str = "",
    data: Path | None = None,
    *,
    benchmarks: Sequence[str] = (),
    subject: str = "",
) -> list[Source]:
    """Results of run ids, `last`, `published` (all models), `published:MODEL` and files *.json, in the order named.

    A run named twice counts once. `benchmarks` and `subject` (a part of the name) choose among what is found."""
    opened: Store | None = None
    known: Known | None = None
    seen: set[str] = set()
    found: list[Source] = []
    for name in names:
        if is_published(name):
            wanted = name.removeprefix(PUBLISHED).removeprefix(":")
            found += _published(Reader(data).results([wanted] if wanted else []), seen)
        elif name.endswith(".json"):
            found += _published([Reader(data).file_result(_file(name))], seen)
        else:
            opened = opened or open_store(store)
            known = known or Known(opened)
            found += _run(opened, name, seen, known)
    if opened:
        opened.close()
    chosen = [one for one in found if not benchmarks or one.result.benchmark in benchmarks]
    chosen = [one for one in chosen if subject.casefold() in one.result.subject.casefold()]
    if not chosen:
        said = ", ".join(sorted({f"{one.result.subject} on {one.result.benchmark}" for one in found})[:6])
        raise UsageError("Nothing that was named is left to compare.", f"There is: {said or 'nothing'}.")
    return chosen


def _run(store: Store, name: str, seen: set[str], known: Known) -> list[Source]:
    stored = store.find_run(name)
    if stored.id in seen:
        return []
    seen.add(stored.id)
    asked = [benchmark.items_sha256 for _, benchmark in stored.config.pairs()]
    own = results(store, stored, known)
    return [Source(result, f"run {stored.id}", sha) for result, sha in zip(own, asked, strict=True)]


def _published(results: Iterable[PublishedResult], seen: set[str]) -> list[Source]:
    found = []
    for one in results:
        if one.run.file not in seen:
            seen.add(one.run.file)
            found.append(Source(one.result, PUBLISHED, one.run.items_sha256))
    return found


def _file(name: str) -> Path:
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"There is no file {name}.", "Name an EQ-Bench result file, a run id, or published:MODEL.")
    return path
