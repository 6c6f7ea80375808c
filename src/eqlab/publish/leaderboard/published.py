"""The published EQ-Bench results as entries of the leaderboard."""

from collections.abc import Iterator
from pathlib import Path

from eqlab.publish.leaderboard.entries import Entry
from eqlab.publish.report.page import RunRecord
from eqlab.runs.published_results import Reader
from eqlab.runs.published_runs import as_run


def published_reader(data: Path | None) -> Reader:
    """One table, as on the published list, whatever was asked for."""
    return Reader(data, revision=True)


def published_entries(reader: Reader, *, texts: bool = False) -> Iterator[Entry]:
    """Every published result; a broken file is an error that names it."""
    for found in reader.results():
        run, result = as_run(found)
        record = RunRecord(run.config, run.created_at, run.provenance, (result,))
        yield Entry(record, result, "published", found.run.file, texts=texts)
