"""Token buckets in the store: so many at once, so many more each second, the same for all processes of a server."""

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from eqlab.store.engine import take_turn, writing
from eqlab.store.schema import buckets
from eqlab.store.store import Store

_DAY = 24 * 3600.0
"""Seconds after which a bucket that nobody used is forgotten."""


def take_token(store: Store, key: str, burst: float, rate: float, now: float) -> bool:
    """Whether one more is allowed now; takes a token if so. `key` must tell nobody whose bucket it is."""
    try:
        return _take(store, key, burst, rate, now)
    except IntegrityError:  # another process has just made the same bucket
        return _take(store, key, burst, rate, now)


def give_token(store: Store, key: str) -> None:
    """Forget what was taken."""
    with writing(store.engine) as connection:
        connection.execute(delete(buckets).where(buckets.c.key == key))


def _take(store: Store, key: str, burst: float, rate: float, now: float) -> bool:
    with writing(store.engine) as connection:
        take_turn(connection, f"bucket {key}")
        row = connection.execute(select(buckets.c.tokens, buckets.c.at).where(buckets.c.key == key)).first()
        tokens = burst if row is None else min(burst, row.tokens + max(0.0, now - row.at) * rate)
        allowed = tokens >= 1
        left = {"tokens": tokens - 1 if allowed else tokens, "at": now}
        if row is None:
            connection.execute(insert(buckets), {"key": key, **left})
            connection.execute(delete(buckets).where(buckets.c.at < now - _DAY))
        else:
            connection.execute(update(buckets).where(buckets.c.key == key).values(**left))
    return allowed
