"""From runs in a store to their report on disk."""

import time
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import quote

from eqlab.comparison.scores import score_table
from eqlab.core.environment import version_of
from eqlab.core.errors import UsageError
from eqlab.core.results import Result
from eqlab.data.files import write_whole
from eqlab.publish.groups import RunRecord, group
from eqlab.runs.panel import with_panels
from eqlab.runs.parallel import WorkerProcesses, results_of
from eqlab.runs.pool import pooled
from eqlab.runs.score import Chosen
from eqlab.store.reader import Reader, StoredRun
from eqlab.tables.cells import markdown_table, safe


def check_ending(where: Path) -> None:
    """A report under another ending would open in the wrong program."""
    if where.suffix.lower() not in (".html", ".htm"):
        raise UsageError(
            f"A report cannot be '{where.name}'.",
            "Write an .html file; 'eqlab report -o FILE' writes .pdf and .md, too.",
        )


def write_report(
    store: Reader,
    stored: StoredRun | str | Sequence[StoredRun | str],
    where: Path | str,
    *,
    items: bool = False,
    processes: int = 1,
    beside: Sequence[tuple[StoredRun, Sequence[Result]]] = (),
) -> Path:
    """Write the HTML report of some runs (ids, `last`, or what `find_run` returned), and of results from elsewhere
    beside them; with `items` every item too, on pages in a folder beside it."""
    named = [stored] if isinstance(stored, str | StoredRun) else stored
    runs = [store.find_run(one) if isinstance(one, str) else one for one in named]
    with WorkerProcesses(processes) as workers:
        shown = None if items else in_report(runs)
        found = with_panels(store, pooled(store, results_of(store, runs, workers=workers, in_full=shown)))
        return write_results([*found, *beside], where, items=items, workers=workers)


def in_report(runs: Sequence[StoredRun], subjects: Collection[str] = ()) -> Chosen:
    """The items whose words a report of these runs shows, or of some of their subjects; pages of items show all. Seeds
    of one model become one result, and the fewer results, the more items."""
    from eqlab.publish.components import items_shown

    pairs = ((subject, config.name) for run in runs for subject, config in run.config.pairs())
    return partial(items_shown, len({pair for pair in pairs if not subjects or pair[0] in subjects}))


def write_results(
    found: Sequence[tuple[StoredRun, Sequence[Result]]],
    where: Path | str,
    *,
    items: bool = False,
    workers: WorkerProcesses | None = None,
) -> Path:
    """Write the HTML report of runs whose results are there already; many talks by the `workers`, meanwhile."""
    from eqlab.publish.groups import RunRecord, group
    from eqlab.publish.report.page import (
        item_files,
        render,  # here, so that whoever only asks need not load it
    )

    path = Path(where)
    check_ending(path)
    records = [RunRecord(run.config, run.created_at, run.provenance, tuple(own)) for run, own in found]
    groups = group(records)
    now, eqlab = time.time(), version_of("eqlab")
    folder, back = item_folder(path), f"../{quote(path.name)}"
    if items:
        written = set()
        for name, content in item_files(records, back=back, generated_at=now, version=eqlab, groups=groups):
            write_whole(folder / name, content, durable=False)
            written.add(name)
        for old in folder.glob("subject-*.html"):  # of an earlier report with more items
            if old.name not in written:
                old.unlink()
    talks, writing = "", None
    if any(row.result.transcripts for one in groups for row in one.rows):
        from eqlab.publish.report.talk_pages import INDEX, Home, write_talks

        beside = talk_folder(path)
        talks = f"{quote(beside.name)}/{INDEX}"
        writing = write_talks(beside, groups, Home("Report", back, now, eqlab), workers)
    linked = quote(folder.name) if items else ""
    html = render(records, generated_at=now, version=eqlab, items=linked, talks=talks, groups=groups)
    if writing:
        writing.result()
    write_whole(path, html)  # last, so that it never leads to what is not there
    return path


def item_folder(report: Path) -> Path:
    """Where a report's item pages are."""
    return report.with_name(f"{report.stem}-items")


def talk_folder(report: Path) -> Path:
    """Where a report's talks are, each with all its words."""
    return report.with_name(f"{report.stem}-talks")


# The report in a page of Markdown: what was found, and every score with its interval.
def summary(found: Sequence[tuple[StoredRun, Sequence[Result]]]) -> str:
    records = [RunRecord(run.config, run.created_at, run.provenance, tuple(own)) for run, own in found]
    parts = ["# EQ Lab", ""]
    for one in group(records):
        parts += [f"## {safe(one.title)}", "", safe(one.sentence), ""]
        parts.append(markdown_table(score_table(one.lines, "page")))
        floor = ", ".join(f"{safe(name)} {value}" for name, value in one.baselines)
        parts += ["", f"No-skill baselines: {floor}.", ""] if floor else [""]
        said = dict.fromkeys(caveat for row in one.rows for caveat in row.result.caveats)
        parts += [*(f"- {safe(caveat)}" for caveat in said), ""] if said else []
        parts += [f"{safe(' · '.join(one.facts))}", ""]
    return "\n".join(parts)
