"""Talks to read, beside a report or in a leaderboard: a list to search and filter, one page a talk, and one page a
persona with two talks side by side. Pages load nothing; without scripts everything is there, unfiltered."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from eqlab.comparison.contender import subject_name
from eqlab.core.results import Transcript
from eqlab.data.files import write_whole
from eqlab.publish.groups import Group, RunRecord, group
from eqlab.publish.report.words import page_environment, policy, source
from eqlab.runs.parallel import WorkerProcesses

INDEX = "index.html"
SEARCHED = 1_500_000
"""Characters of all talks together that the list can be searched for, so that it stays light."""
_LEAST = 200
MOST_OTHERS = 50
"""Links from one talk to others of its persona; the persona's own page has all."""
MOST_TALKS = 2000
"""Talks with pages: more take longer to write than anybody reads. Those of one persona stay together."""
_WIDTH, _HEIGHT, _EDGE = 132.0, 28.0, 4.0


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
    made = page_environment()
    style = source(made, "report.css") + source(made, "talks.css")
    script = source(made, "talks.js")
    words: Any = made.get_template("_talk.html.j2").module  # once for all pages that show the same
    frame: dict[str, Any] = {"style": Markup(style), "script": Markup(script), "policy": policy(style, script)}
    frame |= {"generated_at": home.generated_at, "version": home.version, "home": home, "course": course, "mark": mark}
    room = max(_LEAST, SEARCHED // len(pages))
    listed = [(page, searched(page.talk, room)) for page in pages]
    cut = any(len(_words(page.talk)) > room for page in pages)
    yield INDEX, _page("talk_list.html.j2", frame, listed=listed, pages=pages, every=every, cut=cut, room=room)
    for href, together in groupby(pages, key=lambda page: page.persona):
        own = list(together)
        said = {page.number: Markup(words.lines(page, course, mark)) for page in own}
        links = {page.number: Markup(words.link(page)) for page in own[: MOST_OTHERS + 1]}
        for page in own:
            near = [pages[place] for place in (page.number - 2, page.number) if 0 <= place < len(pages)]
            others = [link for number, link in links.items() if number != page.number][:MOST_OTHERS]
            shown = {"page": page, "said": said[page.number], "others": Markup("".join(others)), "near": near}
            yield page.href, _page("talk.html.j2", frame, **shown)
        yield href, _page("talk_beside.html.j2", frame, pages=own, said=said)


def _page(name: str, frame: Mapping[str, object], **values: object) -> bytes:
    template = page_environment().get_template(name)
    return template.render(**frame, **values).encode("utf-8", "replace")


def searched(talk: Transcript, room: int) -> str:
    """What the list's search looks at: who, what about, and as much of what was said as there is room for."""
    return " ".join(f"{talk.title} {talk.item} {' '.join(talk.topics)} {_words(talk)[:room]}".casefold().split())


def _words(talk: Transcript) -> str:
    return " ".join(line.text for line in talk.lines)


# -- drawn ---------------------------------------------------------------------------------------------------------


def course(values: Sequence[float]) -> Markup:
    """The emotion from the opening to the end as a small line; empty where nobody told it."""
    if len(values) < 2:
        return Markup("")
    step = (_WIDTH - 2 * _EDGE) / (len(values) - 1)
    points = [(_EDGE + place * step, _down(value)) for place, value in enumerate(values)]
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    words = f"emotion {', '.join(f'{value:g}' for value in values)} of 100"
    x, y = points[-1]
    middle = _down(50)
    return Markup(
        f'<svg class="course" width="{_WIDTH:g}" height="{_HEIGHT:g}" role="img" aria-label="{words}">'
        f'<line x1="0" x2="{_WIDTH:g}" y1="{middle:.1f}" y2="{middle:.1f}"/>'
        f'<polyline points="{drawn}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="3"/></svg>'
    )


def mark(value: float, before: float | None = None) -> Markup:
    """One emotion as a dot on a rail from 0 to 100, beside the line it belongs to, with the way it came."""
    x = _across(value)
    came = f'<line class="came" x1="{_across(before):.1f}" x2="{x:.1f}" y1="6" y2="6"/>' if before is not None else ""
    words = f"emotion {value:g} of 100" + ("" if before is None else f", {value - before:+g}")
    return Markup(
        f'<svg class="course" width="{_WIDTH:g}" height="12" role="img" aria-label="{words}">'
        f'<line x1="0" x2="{_WIDTH:g}" y1="6" y2="6"/>{came}<circle cx="{x:.1f}" cy="6" r="4"/></svg>'
    )


def _across(value: float) -> float:
    return _EDGE + max(0.0, min(100.0, value)) / 100 * (_WIDTH - 2 * _EDGE)


def _down(value: float) -> float:
    return _EDGE + (1 - max(0.0, min(100.0, value)) / 100) * (_HEIGHT - 2 * _EDGE)


# The folder of talks beside a report: written while the report is, where other processes are there to do it.
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
