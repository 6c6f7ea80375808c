"""Writing answers that may come twice: a worker thought dead may have finished. The key of an answer (run, subject,
trial, repeat, attempt) decides; whoever is first is kept."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.engine import URL, make_url

from eqlab.core.answers import Answer
from eqlab.store.engine import take_turn, writing
from eqlab.store.schema import answers
from eqlab.store.store import NextTurn, Store, write_answers

_CHUNK = 500


def add_absent(store: Store, batch: Sequence[Answer]) -> int:
    """Store what is not there yet; returns how many that were. Durable when this returns."""
    added = 0
    for start in range(0, len(batch), _CHUNK):
        some = {_key(answer): answer for answer in reversed(batch[start : start + _CHUNK])}
        with writing(store.engine) as connection:
            for run in sorted({answer.run for answer in some.values()}):
                take_turn(connection, f"answers of {run}")
            there = connection.execute(
                select(
                    answers.c.run_id, answers.c.subject, answers.c.trial_id, answers.c.repeat, answers.c.attempt
                ).where(
                    answers.c.run_id.in_({answer.run for answer in some.values()}),
                    answers.c.trial_id.in_({answer.trial for answer in some.values()}),
                )
            )
            known = {tuple(row) for row in there}
            new = [answer for key, answer in some.items() if key not in known]
            if new:
                write_answers(connection, new)
            added += len(new)
    return added


def _key(answer: Answer) -> tuple[str, str, str, int, int]:
    return answer.run, answer.subject, answer.trial, answer.repeat, answer.attempt


class SharedStore(Store):
    """A store that several workers write to at once."""

    def add_answers(self, batch: Sequence[Answer], turns: Sequence[NextTurn] = ()) -> None:
        if turns:
            super().add_answers((), turns)
        add_absent(self, batch)

    def add_missing(self, batch: Sequence[Answer]) -> list[Answer]:
        """An attempt that is there already was stored by somebody who did the same work: never a second time."""
        add_absent(self, batch)
        return []


def address_without_password(store: Store) -> str:
    """What another machine needs to reach the same database, apart from its password; empty for SQLite, which no other
    machine can write to."""
    url = store.engine.url
    if url.get_backend_name() != "postgresql":
        return ""
    query = {name: value for name, value in url.query.items() if "password" not in name}
    return URL.create("postgresql", url.username, None, url.host, url.port, url.database, query).render_as_string()


def same_database(one: str, other: str) -> bool:
    """Whether two URLs name one database, whoever opens it."""
    a, b = make_url(one), make_url(other)
    return (a.host, a.port, a.database) == (b.host, b.port, b.database)
