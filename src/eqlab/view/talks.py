"""Talks: a list to search and filter, and a reader with two talks beside each other, where they part marked."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from eqlab.core.results import Transcript, Utterance
from eqlab.core.values import dataclass
from eqlab.publish.report.talk_pages import TalkPage
from eqlab.view.runs import full_result
from eqlab.view.shelf import Snapshot
from eqlab.view.site import ViewSite, address, asked, asked_number, kept, must, site_of

TALKS = 50
"""In the list, on one page."""
OTHERS = 40
"""Talks with the same persona to choose from."""


@dataclass(frozen=True, slots=True)
class TalkRow:
    """A talk of the store, without its words."""

    run: str
    subject: str
    benchmark: str
    who: str
    talk: Transcript

    @property
    def name(self) -> str:
        """What an address calls it: neither a run's id, a trial's nor a number has a colon."""
        return talk_name(self.run, self.subject, self.talk)

    @property
    def words(self) -> str:
        own = self.talk
        return f"{own.title} {own.item} {self.who} {own.partner} {' '.join(own.topics)} {self.run}".casefold()


def talk_name(run: str, subject: str, talk: Transcript) -> str:
    return f"{run}:{talk.trial}:{talk.repeat}:{subject}"


def talk_rows(snapshot: Snapshot) -> Iterator[TalkRow]:
    for table in snapshot.groups:
        for row in table.rows:
            for talk in row.result.transcripts:
                yield TalkRow(row.record.config.id, row.result.subject, row.result.benchmark, row.name, talk)


def talks(request: Request) -> Response:
    site = site_of(request)
    every = list(talk_rows(site.shelf.settle(0.3)))
    query, outcome, page = asked(request, "q"), asked(request, "outcome"), asked_number(request, "page")
    chosen = [
        row
        for row in every
        if outcome in ("", row.talk.outcome) and all(word in row.words for word in query.casefold().split())
    ]
    shown = [(row, address("/talk", t=row.name), "", "") for row in chosen[(page - 1) * TALKS : page * TALKS]]
    return site.page(
        request, "talks", shown=shown, total=len(chosen), every=len(every),
        outcomes=sorted({row.talk.outcome for row in every}), query=query, outcome=outcome, page_number=page,
        pages=-(-len(chosen) // TALKS), state=kept(request, "page"),
    )  # fmt: skip


def talk(request: Request) -> Response:
    site = site_of(request)
    every = {row.name: row for row in talk_rows(site.shelf.settle(0.3))}
    left: TalkRow = must(every.get(asked(request, "t")), "There is no such talk.", "Go back to the list of talks.")
    right = every.get(asked(request, "with"))
    if right is not None and right.talk.item != left.talk.item:
        right = None
    same = [row for row in every.values() if row.talk.item == left.talk.item and row.name != left.name]
    sides = [_read(site, row) for row in (left, right) if row is not None]
    names = list(every)
    place = names.index(left.name)
    return site.page(
        request, "talk", left=left, right=right, sides=sides, same=same[:OTHERS], same_count=len(same),
        part=parting([page.talk.lines for page in sides]), felt=asked(request, "felt") != "hidden",
        before=address("/talk", t=names[place - 1]) if place else "",
        after=address("/talk", t=names[place + 1]) if place + 1 < len(names) else "", place=place + 1, of=len(names),
    )  # fmt: skip


def _read(site: ViewSite, row: TalkRow) -> TalkPage:
    """The talk with its words, from the store."""
    held = must(site.shelf.look().run(row.run), "There is no such run.")
    with site.store() as store:
        full = must(full_result(site, store, held, row.subject, row.benchmark), "There is no such result.")
    wanted = (row.talk.trial, row.talk.repeat, row.talk.listener)
    found = next(
        (
            transcript
            for transcript in full.transcripts
            if (transcript.trial, transcript.repeat, transcript.listener) == wanted
        ),
        None,
    )
    return TalkPage(0, row.who, must(found, "This talk is not there any more.", "Load the list again."), "")


def parting(sides: Sequence[Sequence[Utterance]]) -> str:
    """The anchor of the first turn in which two talks have other words, or that one of them has alone; empty where
    there are not two, or they are the same."""
    for number, turns in enumerate(zip_longest(*sides) if len(sides) > 1 else (), start=1):
        if len({turn and (turn.seat, turn.text) for turn in turns}) > 1:
            return f"{'a' if turns[0] else 'b'}-{number}"
    return ""


ROUTES = [Route("/talks", talks), Route("/talk", talk)]
