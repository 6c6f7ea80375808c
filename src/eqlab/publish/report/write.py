"""From runs in a store to their report on disk."""

import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from eqlab.core.results import Result
from eqlab.data.files import write_whole
from eqlab.runs.panel import with_panels
from eqlab.runs.pool import pooled
from eqlab.runs.score import results_of
from eqlab.store.reader import Reader, StoredRun

if TYPE_CHECKING:
    from eqlab.publish.groups import Group, RunRecord


def write_report(
    store: Reader,
    stored: Sequence[StoredRun],
    where: Path | str,
    *,
    items: bool = False,
    processes: int = 1,
    beside: Sequence[tuple[StoredRun, Sequence[Result]]] = (),
) -> Path:
    """Write the HTML report of some runs, and of results from elsewhere beside them; with `items` every item too, on
    pages in a folder beside it."""
    found = with_panels(store, pooled(store, results_of(store, stored, processes=processes)))
    return write_results([*found, *beside], where, items=items)


def write_results(
    found: Sequence[tuple[StoredRun, Sequence[Result]]], where: Path | str, *, items: bool = False
) -> Path:
    """Write the HTML report of runs whose results are there already."""
    from eqlab.publish.groups import RunRecord, group
    from eqlab.publish.report.page import (
        item_files,
        render,  # here, so that whoever only asks need not load it
    )

    path = Path(where)
    records = [RunRecord(one.config, one.created_at, one.provenance, tuple(own)) for one, own in found]
    groups = group(records)
    now, eqlab = time.time(), version("eqlab")
    folder = item_folder(path)
    if items:
        written = set()
        back = f"../{quote(path.name)}"
        for name, content in item_files(records, back=back, generated_at=now, version=eqlab, groups=groups):
            write_whole(folder / name, content, durable=False)
            written.add(name)
        for old in folder.glob("subject-*.html"):  # of an earlier report with more items
            if old.name not in written:
                old.unlink()
    read = _write_talks(records, groups, path, now, eqlab)
    linked = quote(folder.name) if items else ""
    html = render(records, generated_at=now, version=eqlab, items=linked, talks=read, groups=groups)
    write_whole(path, html)
    return path


def _write_talks(
    records: "Sequence[RunRecord]", groups: "Sequence[Group]", report: Path, now: float, eqlab: str
) -> str:
    """Talks on pages of their own, where there are some: the address of their list from the report, or nothing."""
    if not any(result.transcripts for record in records for result in record.results):
        return ""
    from eqlab.publish.report.talk_pages import INDEX, talk_files

    folder = report.with_name(f"{report.stem}-talks")
    folder.mkdir(exist_ok=True)
    written = set()
    back = f"../{quote(report.name)}"
    for name, content in talk_files(records, back=back, generated_at=now, version=eqlab, groups=groups):
        write_whole(folder / name, content, durable=False)
        written.add(name)
    for pattern in ("talk-*.html", "persona-*.html"):  # of an earlier report with more talks
        for old in folder.glob(pattern):
            if old.name not in written:
                old.unlink()
    return f"{quote(folder.name)}/{INDEX}"


def item_folder(report: Path) -> Path:
    """Where a report's item pages are."""
    return report.with_name(f"{report.stem}-items")
