"""The published EQ-Bench results as entries of the leaderboard."""

from collections.abc import Iterator
from pathlib import Path

from eqlab.publish.groups import RunRecord
from eqlab.publish.leaderboard.entries import BoardEntry
from eqlab.runs.published_results import PublishedReader
from eqlab.runs.published_runs import as_run


def published_reader(data: Path | None) -> PublishedReader:
    """One table, as on the published list, whatever was asked for."""
    return PublishedReader(data, revision=True)


def published_entries(reader: PublishedReader, *, texts: bool = False) -> Iterator[BoardEntry]:
    """Every published result; a broken file is an error that names it."""
    for found in reader.results():
        run, result = as_run(found)
        record = RunRecord(run.config, run.created_at, run.provenance, (result,))
        yield BoardEntry(record, result, "published", found.run.file, texts=texts)
