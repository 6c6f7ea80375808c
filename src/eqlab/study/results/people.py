"""Everybody who came, as a manager's list: by pseudonym, with what might call for an action. No panel id."""

from dataclasses import dataclass

from eqlab.store.study.lock import standing
from eqlab.store.study.participation import Participation
from eqlab.study.results.analysis import log_look
from eqlab.study.results.code import analysis_code
from eqlab.study.results.participants import read_participants


@dataclass(frozen=True, slots=True)
class PersonRow:
    person: str
    state: str
    arm: str
    page: int
    pages: int
    minutes: float | None
    """From arriving to the end, or to the last sign of life."""
    silent: float
    """Minutes since the last save."""
    flags: tuple[str, ...]


def people_rows(participation: Participation) -> list[PersonRow]:
    """The last who came first."""
    now = participation.clock()
    rows = []
    for person in reversed(read_participants(participation).people):
        flags = [
            word
            for word, is_so in (
                ("failed attention", person.checks(False) > 0),
                ("too fast", bool(person.timed) and 2 * person.too_fast > person.timed),
                ("straight-lining", person.straight_lining),
                ("impossible times", person.impossible > 0),
            )
            if is_so
        ]
        end = person.ended_at if person.ended_at is not None else person.seen_at
        rows.append(
            PersonRow(
                person.person,
                person.state,
                person.arm or "",
                person.page + 1,
                len(person.steps),
                (end - person.arrived_at) / 60,
                (now - person.seen_at) / 60,
                tuple(flags),
            )
        )
    return rows


def look(participation: Participation, who: str, what: str) -> None:
    """Somebody has taken data out of the study."""
    stands = standing(participation, *analysis_code())
    log_look(participation, who, "exported", stands)
