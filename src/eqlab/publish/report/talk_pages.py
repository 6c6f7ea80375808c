"""Talks to read, beside a report or in a leaderboard: a list to search and filter, one page a talk, and one page a
persona with two talks side by side. Pages load nothing; without scripts everything is there, unfiltered."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from eqlab.comparison.contender import subject_name
from eqlab.core.results import Transcript
from eqlab.core.values import dataclass
from eqlab.data.files import write_whole
from eqlab.publish.components import inlined, page_bytes, page_environment
from eqlab.publish.groups import Group, RunRecord, group
from eqlab.runs.parallel import WorkerProcesses

INDEX = "index.html"
SEARCHED = 1_500_000
"""Characters of all talks together that the list can be searched for, so that it stays light."""
_LEAST = 200
MOST_OTHERS = 50
"""Links from one talk to others of its persona; the persona's own page has all."""
MOST_TALKS = 2000
"""Talks with pages: more take longer to write than anybody reads. Those of one persona stay together."""


@dataclass(frozen=True, slots=True)
class TalkPage:
    """A talk with its place among the others."""

    number: int
    who: str
    """The listener's name, as the report has it."""
    talk: Transcript
    persona: str
    """Address of the page with all talks of this persona."""

    @property
    def href(self) -> str:
        return f"talk-{self.number}.html"


@dataclass(frozen=True, slots=True)
class Home:
    """Where a reader comes from."""

    name: str
    href: str
    generated_at: float
    version: str


Listened = tuple[str, Sequence[Transcript]]
"""A listener's name and its talks."""


def talk_pages(listened: Sequence[Listened]) -> list[TalkPage]:
    """Personas in the order in which they come up; talks with one persona stand together."""
    every = [(subject_name(talk.listener) if talk.listener else who, talk) for who, talks in listened for talk in talks]
    personas = {item: place for place, item in enumerate(dict.fromkeys(talk.item for _, talk in every), start=1)}
    every.sort(key=lambda pair: personas[pair[1].item])
    return [
        TalkPage(number, who, talk, f"persona-{personas[talk.item]}.html")
        for number, (who, talk) in enumerate(every, start=1)
    ]


def first_personas(every: Sequence[TalkPage], most: int) -> list[TalkPage]:
    """All talks of the first personas, as many as `most` talks allow; of the first alone if it has more."""
    kept: list[TalkPage] = []
    for _, own in groupby(every, key=lambda page: page.persona):
        talks = list(own)
        if kept and len(kept) + len(talks) > most:
            break
        kept += talks
    return kept[:most]


def talk_files(
    records: Sequence[RunRecord], *, back: str, generated_at: float, version: str
) -> Iterator[tuple[str, bytes]]:
    """(name, content) of every page beside a report; nothing where no result has talks. `back` is its address."""
    return reader_files(listened_in(group(records)), Home("Report", back, generated_at, version))


def listened_in(groups: Sequence[Group]) -> list[Listened]:
    rows = [row for one in groups for row in one.rows if not row.again and row.result.transcripts]
    return [(row.name, row.result.transcripts) for row in rows]


def reader_files(listened: Sequence[Listened], home: Home) -> Iterator[tuple[str, bytes]]:
    """(name, content) of every page; nothing where nobody talked."""
    every = talk_pages(listened)
    return page_files(first_personas(every, MOST_TALKS), len(every), home) if every else iter(())


def page_files(pages: Sequence[TalkPage], every: int, home: Home) -> Iterator[tuple[str, bytes]]:
    """The same from the pages themselves, of `every` talk that there is."""
    words: Any = page_environment().get_template("_talk.html.j2").module  # once for all pages that show the same
    frame = {**inlined(("report.css", "talks.css"), ("talks.js",)), "home": home}
    frame |= {"generated_at": home.generated_at, "version": home.version}
    room = max(_LEAST, SEARCHED // len(pages))
    listed = [(one, one.href, f"{one.persona}#talk-{one.number}", searched(one.talk, room)) for one in pages]
    cut = any(len(_words(page.talk)) > room for page in pages)
    yield INDEX, page_bytes("talk_list.html.j2", **frame, listed=listed, pages=pages, every=every, cut=cut, room=room)
    for href, together in groupby(pages, key=lambda page: page.persona):
        own = list(together)
        said = {page.number: Markup(words.lines(page)) for page in own}
        links = {page.number: Markup(words.link(page)) for page in own[: MOST_OTHERS + 1]}
        for page in own:
            near = [pages[place] for place in (page.number - 2, page.number) if 0 <= place < len(pages)]
            others = [link for number, link in links.items() if number != page.number][:MOST_OTHERS]
            shown = {"page": page, "said": said[page.number], "others": Markup("".join(others)), "near": near}
            yield page.href, page_bytes("talk.html.j2", **frame, **shown)
        yield href, page_bytes("talk_beside.html.j2", **frame, pages=own, said=said)


def searched(talk: Transcript, room: int) -> str:
    """What the list's search looks at: who, what about, and as much of what was said as there is room for."""
    return " ".join(f"{talk.title} {talk.item} {' '.join(talk.topics)} {_words(talk)[:room]}".casefold().split())


def _words(talk: Transcript) -> str:
    return " ".join(line.text for line in talk.lines)


# The folder of talks beside a report: written while the report is, where other processes are there to do it.
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
