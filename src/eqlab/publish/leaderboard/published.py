"""The published EQ-Bench results as entries of the leaderboard."""

from collections.abc import Iterator
from pathlib import Path

from eqlab.publish.leaderboard.entries import Entry
from eqlab.publish.report.page import RunRecord
from eqlab.runs.published_results import Reader, result_files
from eqlab.runs.published_runs import as_run


def published_entries(folder: Path, *, texts: bool = False) -> Iterator[Entry]:
    """Every result file in the folder; a broken one is an error that names it."""
    reader = Reader(folder, revision=True)  # one table, as on the published list, whatever was asked for
    for path in result_files(folder):
        run, result = as_run(reader.read(path), folder)
        record = RunRecord(run.config, run.created_at, run.provenance, (result,))
        yield Entry(record, result, "published", path.relative_to(folder).as_posix(), texts=texts)
