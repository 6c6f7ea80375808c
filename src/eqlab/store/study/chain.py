"""The chain of events of a study: one link whenever somebody is assigned to a place, finishes or is erased, each with a
hash of the one before. A person who is taken out of every table is still in the chain, and so are the arm they were
given and, of whoever has finished, when that was and the answers with their times, as hashes; no name is. Somebody who
rewrites the whole chain is found out by a seal: the same hashes, given away while the study was under way."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from eqlab.core.runs import PERSON
from eqlab.core.text import people as people_in_words
from eqlab.store.engine import take_turn
from eqlab.store.schema import answers, chain, participants, studies

ENDS = ("finished", "extra")
LINKED = ("assigned", *ENDS, "erased")
"""Events that make a link."""


@dataclass(frozen=True, slots=True)
class Link:
    number: int
    """From 1, without a gap."""
    at: float
    kind: str
    mark: str
    """Whose it is: a hash of study and pseudonym. Of somebody erased nothing is left that leads back from it."""
    digest: str
    """With the pseudonym: of arm and batch of somebody assigned, of the answers of somebody who has come to the end;
    else empty."""
    link: str


Given = Iterable[tuple[str, int, str, float, float | None]]
"""(trial, attempt, values as stored, when, seconds on the page) of one person's answers."""


def mark_of(study: str, person: str) -> str:
    return hashlib.sha256(f"{study}\0{person}".encode()).hexdigest()[:32]


def digest_of(person: str, given: Given) -> str:
    """Nobody who does not know the pseudonym can guess the answers behind it."""
    lines = sorted(json.dumps(list(one), ensure_ascii=False) for one in given)
    return hashlib.sha256("\n".join([person, *lines]).encode()).hexdigest()


def extend(connection: Connection, study: str, now: float, happened: Sequence[tuple[str, str]]) -> None:
    """Add links for these (person, kind). The last thing that a transaction does, for all others wait from here on."""
    if not happened:
        return
    take_turn(connection, f"chain {study}")
    row = connection.execute(
        select(chain.c.number, chain.c.link).where(chain.c.study_id == study).order_by(chain.c.number.desc()).limit(1)
    ).first()
    number, last = (0, "") if row is None else (row.number, row.link)
    ended = [person for person, kind in happened if kind in ENDS]
    given = given_by(connection, study, ended) if ended else {}
    assigned = [person for person, kind in happened if kind == "assigned"]
    there = _people_of(connection, study, assigned) if assigned else {}
    rows = []
    for person, kind in happened:
        number += 1
        digest = digest_of(person, given.get(person, ())) if kind in ENDS else ""
        if kind == "assigned":
            digest = arm_digest(there[person])
        mark = mark_of(study, person)
        last = _link(last, number, now, kind, mark, digest)
        rows.append(
            {"study_id": study, "number": number, "at": now, "kind": kind, "mark": mark, "digest": digest, "link": last}
        )
    connection.execute(insert(chain), rows)


def _link(before: str, number: int, at: float, kind: str, mark: str, digest: str) -> str:
    return hashlib.sha256(json.dumps([before, number, at, kind, mark, digest]).encode()).hexdigest()


def read_chain(connection: Connection, study: str) -> list[Link]:
    rows = connection.execute(select(chain).where(chain.c.study_id == study).order_by(chain.c.number))
    return [Link(row.number, row.at, row.kind, row.mark, row.digest, row.link) for row in rows]


def given_by(connection: Connection, study: str, people: Collection[str] | None = None) -> dict[str, list[Any]]:
    """What these people, or all, have answered."""
    run = select(studies.c.run_id).where(studies.c.id == study).scalar_subquery()
    query = select(
        answers.c.subject,
        answers.c.trial_id,
        answers.c.attempt,
        answers.c["values"],
        answers.c.at,
        answers.c.latency,
    ).where(
        answers.c.run_id == run,
        answers.c.subject.startswith(PERSON)
        if people is None
        else answers.c.subject.in_([f"{PERSON}{person}" for person in people]),
    )
    found: dict[str, list[Any]] = {}
    for subject, *one in connection.execute(query):
        found.setdefault(subject.removeprefix(PERSON), []).append(tuple(one))
    return found


def _people_of(connection: Connection, study: str, people: Collection[str] | None = None) -> dict[str, Row[Any]]:
    """These people, or all, as far as they were assigned to a place."""
    columns = ("person", "state", "arm", "batch", "assigned_at", "ended_at")
    query = select(*(participants.c[name] for name in columns)).where(
        participants.c.study_id == study,
        participants.c.assigned_at.is_not(None) if people is None else participants.c.person.in_(people),
    )
    return {row.person: row for row in connection.execute(query)}


def arm_digest(row: Row[Any]) -> str:
    return hashlib.sha256(json.dumps([row.person, row.arm, row.batch]).encode()).hexdigest()


def breaks(connection: Connection, study: str, since: float) -> list[str]:
    """What the chain says against the tables, in words; of people who were assigned after `since`."""
    links = read_chain(connection, study)
    there = _people_of(connection, study)
    return [*broken(links), *against_tables(study, links, there, given_by(connection, study), since)]


def broken(links: Sequence[Link]) -> list[str]:
    """Where the chain does not hold by itself."""
    before = ""
    for number, link in enumerate(links, start=1):
        if link.number != number or link.link != _link(before, number, link.at, link.kind, link.mark, link.digest):
            return [f"link {number} of the chain of events is missing or was changed"]
        before = link.link
    return []


def against_tables(
    study: str,
    links: Sequence[Link],
    there: Mapping[str, Row[Any]],
    given: Mapping[str, Sequence[Any]],
    since: float,
) -> list[str]:
    """`there`: everybody in the tables who was assigned to a place."""
    people = {mark_of(study, person): row for person, row in there.items()}
    erased = {link.mark for link in links if link.kind == "erased"}
    linked = {link.mark for link in links if link.kind == "assigned"}
    ended = {link.mark for link in links if link.kind in ENDS}
    known = [(link, people[link.mark]) for link in links if link.mark in people]
    counts = (
        (len(linked - erased - set(people)), "{} who had been assigned to a place can be found in no table"),
        (
            sum(
                link.digest != digest_of(row.person, given.get(row.person, ()))
                for link, row in known
                if link.kind in ENDS
            ),
            "the answers of {} are not those with which they finished",
        ),
        (
            sum(link.kind == "assigned" and link.digest != arm_digest(row) for link, row in known),
            "the arm of {} is not the one that was drawn",
        ),
        (
            sum(_ended_otherwise(link, row) for link, row in known)
            + sum(row.state in ENDS and row.assigned_at > since and mark not in ended for mark, row in people.items()),
            "the state of {} is not the one in which they ended",
        ),
        (
            sum(mark not in linked and row.assigned_at > since for mark, row in people.items()),
            "the tables hold {} whom no server assigned to a place",
        ),
    )
    return [words.format(people_in_words(count)) for count, words in counts if count]


def _ended_otherwise(link: Link, row: Row[Any]) -> bool:
    """Whoever is banned after the end is told of elsewhere: a researcher did it."""
    return link.kind in ENDS and row.state != "banned" and (row.state, row.ended_at) != (link.kind, link.at)
