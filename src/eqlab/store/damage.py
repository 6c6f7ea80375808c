"""A store whose file is damaged: told from one that is busy, full or gone, and said with the way out."""

from collections.abc import Iterator
from contextlib import contextmanager

from eqlab.core.errors import StoreError

_SIGNS = ("malformed", "not a database", "corrupt", "could not decode", "no such table", "no such column")
"""What SQLite says of files that were cut, overwritten, or never were a database."""


def is_damage(words: str) -> bool:
    return any(sign in words.lower() for sign in _SIGNS)


def damaged(where: str, words: str) -> StoreError:
    """`where`: the store as it is shown, without a password."""
    if "not a database" in words:
        return StoreError(f"{where} is not a store, or a corrupt one: {words}.", "Check --store, or go back to a copy.")
    file = where.removeprefix("sqlite:///")
    return StoreError(
        f"The store {where} is corrupt: {words}.",
        f"'eqlab store check' tells where. Go back to a copy, or save what can be read: "
        f"sqlite3 {file} .recover | sqlite3 saved.db",
    )


@contextmanager
def sound(where: str) -> Iterator[None]:
    """What is stored is what was stored: cells that cannot be read as such are damage."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise damaged(where, f"a row cannot be read ({type(error).__name__}: {error})") from error
