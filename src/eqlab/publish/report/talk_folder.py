"""The folder of talks beside a report: written while the report is, where other processes are there to do it."""

from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from eqlab.data.files import write_whole
from eqlab.publish.groups import Group
from eqlab.publish.report.talk_pages import (
    INDEX,
    MOST_TALKS,
    Home,
    TalkPage,
    first_personas,
    listened_in,
    page_files,
    talk_pages,
)
from eqlab.runs.parallel import WorkerProcesses

__all__ = ["INDEX", "Home", "write_talks"]
MANY = 200
"""Talks from which on it is worth sending them to another process."""


def write_talks(
    folder: Path, groups: Sequence[Group], home: Home, workers: WorkerProcesses | None = None
) -> "Future[None]":
    """Done when its result is there."""
    every = talk_pages(listened_in(groups))
    pages = first_personas(every, MOST_TALKS)
    if workers and workers.started and len(pages) >= MANY:
        return workers.submit(_write, folder, pages, len(every), home)
    done: Future[None] = Future()
    _write(folder, pages, len(every), home)
    done.set_result(None)
    return done


def _write(folder: Path, pages: Sequence[TalkPage], every: int, home: Home) -> None:
    folder.mkdir(exist_ok=True)
    written = set()
    for name, content in page_files(pages, every, home):
        write_whole(folder / name, content, durable=False)
        written.add(name)
    for pattern in ("talk-*.html", "persona-*.html"):  # of an earlier report with more talks
        for old in folder.glob(pattern):
            if old.name not in written:
                old.unlink()
