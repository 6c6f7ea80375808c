"""The chain of events of a study: one link whenever somebody is assigned to a place, finishes or is erased, and for
everything that a researcher does, each with a hash of the one before. A person who is taken out of every table is still
in the chain, and so are the arm they were given and, of whoever has finished, when that was and the answers with their
times, as hashes; no name is. Somebody who rewrites the chain from some link on, or cuts off its end, is found out by a
seal: the same hashes, given away while the study was under way."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, or_, select

from eqlab.core.design import Design, personal_seed, steps_from_json
from eqlab.core.grouping import grouped
from eqlab.core.plural import many
from eqlab.core.runs import PERSON
from eqlab.core.text import people as people_in_words
from eqlab.core.trials import is_unchanged
from eqlab.core.values import dataclass
from eqlab.store.engine import Prepared, take_turn
from eqlab.store.schema import answers, audit, chain, events, participants, studies, trials

ENDS = ("finished", "extra")
LINKED = ("assigned", *ENDS, "erased")
"""Events that make a link."""
_CHUNK = 500
_HASHED = select(
    answers.c.subject,
    answers.c.trial_id,
    answers.c.attempt,
    answers.c["values"],
    answers.c.at,
    answers.c.latency,
    answers.c.text,
    answers.c.status,
    answers.c.finish,
    answers.c.model,
)
_GIVEN = Prepared(
    _HASHED.where(
        answers.c.run_id == select(studies.c.run_id).where(studies.c.id == bindparam("study")).scalar_subquery(),
        answers.c.subject == bindparam("subject"),
    )
)
_ARM = Prepared(
    select(participants.c.person, participants.c.arm, participants.c.batch).where(
        participants.c.study_id == bindparam("study"), participants.c.person == bindparam("who")
    )
)
_LAST = Prepared(
    select(chain.c.number, chain.c.link)
    .where(chain.c.study_id == bindparam("study"))
    .order_by(chain.c.number.desc())
    .limit(1)
)
_INSERT = Prepared(insert(chain).inline())
NOTED = "noted"
"""A link of what a researcher did, which the audit trail tells in words."""


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
    of what the event of an erasure or the audit trail tells; else empty."""
    link: str


Given = Iterable[tuple[Any, ...]]
"""(trial, attempt, values as stored, when, seconds on the page) of one person's answers, and more of turns of talks."""


def given_of(row: Any) -> tuple[Any, ...]:
    """A row of `answers`, of a store or an export, as it is hashed. What a page was answered with is its values; a turn
    of a talk also has words, how it came out and who said it, and they are hashed with it."""
    own = (row.trial_id, row.attempt, row.values, row.at, row.latency)
    text = getattr(row, "text", None)  # an export has it of turns only
    if text is None:
        return own
    rest = (row.status, row.finish, row.model)
    return own if rest == ("ok", "", "") and _says(text, row.values) else (*own, *rest, text)


def _says(text: str, values: str) -> bool:
    """Whether a text is only its values, as that of a page is."""
    try:
        return bool(json.loads(text) == json.loads(values))
    except ValueError:
        return False


def mark_of(study: str, person: str) -> str:
    return hashlib.sha256(f"{study}\0{person}".encode()).hexdigest()[:32]


def digest_of(person: str, given: Given) -> str:
    """Nobody who does not know the pseudonym can guess the answers behind it."""
    lines = sorted(json.dumps(list(one), ensure_ascii=False) for one in given)
    return hashlib.sha256("\n".join([person, *lines]).encode()).hexdigest()


def given_hashes(person: str, given: Given) -> list[str]:
    """One for each answer; as little can be guessed from them."""
    lines = (json.dumps([person, *one], ensure_ascii=False) for one in given)
    return sorted(hashlib.sha256(line.encode()).hexdigest()[:32] for line in lines)


def detail_digest(detail: Mapping[str, Any]) -> str:
    """Of what the event of an erasure tells: by whom, in which arm, after how many trials."""
    return hashlib.sha256(json.dumps(detail, sort_keys=True).encode()).hexdigest()


Note = tuple[float, str, str, Mapping[str, Any]]
"""(when, who, action, detail) of a row of the audit trail."""


def note_digest(note: Note) -> str:
    """Without whom it was done to: the pseudonym leaves the trail when the person is erased."""
    at, who, action, detail = note
    rest = {name: value for name, value in detail.items() if name != "person"}
    return hashlib.sha256(json.dumps([at, who, action, rest], sort_keys=True).encode()).hexdigest()


def extend(
    connection: Connection,
    study: str,
    now: float,
    happened: Sequence[tuple[str, str]],
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Add links for these (person, kind). The last thing that a transaction does, for all others wait from here on.
    `detail`: what the event of an erasure tells."""
    if not happened:
        return

    def digest(person: str, kind: str) -> str:
        if kind in ENDS:
            return digest_of(person, map(given_of, _GIVEN.find(connection, study=study, subject=f"{PERSON}{person}")))
        if kind == "assigned":
            (row,) = _ARM.find(connection, study=study, who=person)
            return arm_digest(row)
        return detail_digest(detail or {})

    _add(connection, study, now, [(kind, mark_of(study, person), digest(person, kind)) for person, kind in happened])


def link_note(connection: Connection, study: str, note: Note) -> None:
    """Add the link of something that a researcher did."""
    _add(connection, study, note[0], [(NOTED, "", note_digest(note))])


def _add(connection: Connection, study: str, now: float, links: Sequence[tuple[str, str, str]]) -> None:
    take_turn(connection, f"chain {study}")
    number, last = next(((row.number, row.link) for row in _LAST.find(connection, study=study)), (0, ""))
    rows = []
    for kind, mark, digest in links:
        number += 1
        last = _link(last, number, now, kind, mark, digest)
        rows.append(
            {"study_id": study, "number": number, "at": now, "kind": kind, "mark": mark, "digest": digest, "link": last}
        )
    _INSERT.run(connection, rows)


def _link(before: str, number: int, at: float, kind: str, mark: str, digest: str) -> str:
    return hashlib.sha256(json.dumps([before, number, at, kind, mark, digest]).encode()).hexdigest()


def read_chain(connection: Connection, study: str) -> list[Link]:
    rows = connection.execute(select(chain).where(chain.c.study_id == study).order_by(chain.c.number))
    return [Link(row.number, row.at, row.kind, row.mark, row.digest, row.link) for row in rows]


def given_by(
    connection: Connection, study: str, people: Collection[str] | None = None, run: str = ""
) -> dict[str, list[Any]]:
    """What these people, or all, have answered, in the study's run. Whoever checks names the run that is analysed: the
    store could have been made to name another."""
    asked = run or select(studies.c.run_id).where(studies.c.id == study).scalar_subquery()
    query = _HASHED.where(
        answers.c.run_id == asked,
        answers.c.subject.startswith(PERSON)
        if people is None
        else answers.c.subject.in_([f"{PERSON}{person}" for person in people]),
    )
    return grouped((row.subject.removeprefix(PERSON), given_of(row)) for row in connection.execute(query))


def _people_of(connection: Connection, study: str) -> dict[str, Row[Any]]:
    """Everybody who was assigned to a place or has come to the end."""
    columns = ("person", "state", "arm", "batch", "assigned_at", "ended_at", "steps")
    query = select(*(participants.c[name] for name in columns)).where(
        participants.c.study_id == study,
        or_(participants.c.assigned_at.is_not(None), participants.c.state.in_(ENDS)),
    )
    return {row.person: row for row in connection.execute(query)}


def arm_digest(row: Any) -> str:
    return hashlib.sha256(json.dumps([row.person, row.arm, row.batch]).encode()).hexdigest()


def breaks(connection: Connection, design: Design, since: float) -> list[str]:
    """What the chain says against the tables, in words; of people who were assigned after `since`."""
    study = design.study.id
    links = read_chain(connection, study)
    there = _people_of(connection, study)
    query = select(events.c.person, events.c.kind, events.c.detail).where(
        events.c.study_id == study, events.c.kind.in_(("banned", "erased"))
    )
    told = [(row.person, row.kind, json.loads(row.detail)) for row in connection.execute(query)]
    given = given_by(connection, study, run=design.run.id)
    against = against_tables(design, links, there, given, since, told)
    turns = _turns(connection, design, given) if design.talks else {}
    return [*broken(links), *against, *against_turns(turns), *note_breaks(connection, study, links)]


def _turns(connection: Connection, design: Design, given: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """The JSON of every turn of a talk that was answered: no design has them."""
    ids = sorted({one[0] for own in given.values() for one in own} - set(design.trials))
    found: dict[str, str] = {}
    for start in range(0, len(ids), _CHUNK):
        query = select(trials.c.id, trials.c.body).where(trials.c.id.in_(ids[start : start + _CHUNK]))
        found |= {row.id: row.body for row in connection.execute(query)}
    return found


def against_turns(turns: Mapping[str, str]) -> list[str]:
    """What the ids of turns, which the chain has with their answers, say against what stands in them."""
    changed = sum(not is_unchanged(trial_id, text) for trial_id, text in turns.items())
    return [f"{many(changed, 'turn')} of talks {'is' if changed == 1 else 'are'} not as then"] if changed else []


def note_breaks(connection: Connection, study: str, links: Sequence[Link] | None = None) -> list[str]:
    """What the chain says against the audit trail alone."""
    rows = connection.execute(select(audit).where(audit.c.study_id == study))
    notes = [(row.at, row.who, row.action, json.loads(row.detail)) for row in rows]
    return against_notes(read_chain(connection, study) if links is None else links, notes)


def against_notes(links: Sequence[Link], notes: Sequence[Note]) -> list[str]:
    """What the chain says against the audit trail, from the first row on that has a link: older ones had none."""
    linked = Counter(link.digest for link in links if link.kind == NOTED)
    since = min((link.at for link in links if link.kind == NOTED), default=float("inf"))
    there = Counter(map(note_digest, notes))
    late = Counter(note_digest(note) for note in notes if note[0] >= since)
    counts = (
        ((linked - there).total(), "{} of the audit trail {} missing or changed"),
        ((late - linked).total(), "{} of the audit trail {} made by no command"),
    )
    return [words.format(many(count, "row"), "is" if count == 1 else "are") for count, words in counts if count]


Told = Sequence[tuple[str | None, str, Mapping[str, Any]]]
"""(person, kind, detail) of events."""


def _banned(told: Told) -> set[str]:
    """Who was shut out by a researcher after they had answered."""
    return {
        person
        for person, kind, detail in told
        if person and kind == "banned" and detail.get("by") == "researcher" and detail.get("answered")
    }


def broken(links: Sequence[Link]) -> list[str]:
    """Where the chain does not hold by itself."""
    before = ""
    for number, link in enumerate(links, start=1):
        if link.number != number or link.link != _link(before, number, link.at, link.kind, link.mark, link.digest):
            return [f"link {number} of the chain of events is missing or was changed"]
        before = link.link
    return []


def against_tables(
    design: Design,
    links: Sequence[Link],
    there: Mapping[str, Any],
    given: Mapping[str, Sequence[Any]],
    since: float,
    told: Told,
) -> list[str]:
    """`there`: everybody in the tables who was assigned to a place or has come to the end; `told`: events of those
    banned and erased."""
    study, banned = design.study.id, _banned(told)
    erasures = Counter(link.digest for link in links if link.kind == "erased" and link.digest)
    erasures -= Counter(detail_digest(detail) for _, kind, detail in told if kind == "erased")
    people = {mark_of(study, person): row for person, row in there.items()}
    erased = {link.mark for link in links if link.kind == "erased"}
    linked = {link.mark for link in links if link.kind == "assigned"}
    assigned_at = {link.mark: link.at for link in links if link.kind == "assigned"}
    ended = {link.mark for link in links if link.kind in ENDS}
    untold = len(erased) - sum(kind == "erased" for _, kind, _ in told)
    known = [(link, people[link.mark]) for link in links if link.mark in people]
    counts = (
        (untold, "no event tells of the erasure of {}"),
        (erasures.total() - max(untold, 0), "what is told of the erasure of {} is not what happened"),
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
            sum(row.assigned_at != assigned_at.get(mark, row.assigned_at) for mark, row in people.items()),
            "the assignment of {} is not dated as it was",
        ),
        (
            sum(_ended_otherwise(link, row, banned) for link, row in known)
            + sum(
                row.state in ENDS and mark not in ended and _last_sign(row, given.get(row.person, ())) > since
                for mark, row in people.items()
            ),
            "the state of {} is not the one in which they ended",
        ),
        (
            sum(mark in linked and _other_way(design, row) for mark, row in people.items()),
            "the pages of {} are not those that were drawn",
        ),
        (
            sum(
                mark not in linked
                and (_last_sign(row, given.get(row.person, ())) if row.assigned_at is None else row.assigned_at) > since
                for mark, row in people.items()
            ),
            "the tables hold {} whom no server assigned to a place",
        ),
    )
    return [words.format(people_in_words(count)) for count, words in counts if count > 0]


def _ended_otherwise(link: Link, row: Any, banned: Collection[str]) -> bool:
    """Whoever a researcher has banned after the end is told of elsewhere."""
    if link.kind not in ENDS or (row.state == "banned" and row.person in banned):
        return False
    return (row.state, row.ended_at) != (link.kind, link.at)


def _last_sign(row: Any, given: Sequence[Any]) -> float:
    """The latest time that the tables tell of somebody: one that is set back does not hide the others."""
    return float(max(row.assigned_at or 0.0, row.ended_at or 0.0, *(one[3] for one in given)))


def _other_way(design: Design, row: Any) -> bool:
    """Whether somebody's pages are others than those that the study's seed draws for them: which answers count, and as
    what, hangs on them. A batch that is not the design's is told of by the arm."""
    if not any((batch.arm, batch.number) == (row.arm, row.batch) for batch in design.batches):
        return False
    drawn = design.own_steps(row.arm, row.batch, personal_seed(design.study.seed, row.person))
    return tuple(steps_from_json(row.steps)) != (*design.first_steps(), *drawn)
