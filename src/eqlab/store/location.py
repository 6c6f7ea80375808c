"""Where a store is, as text (a path, `sqlite:///PATH` or a database's address), and whether its file is damaged, told
from one that is busy, full or gone. No database library is needed here."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from eqlab.core.errors import StoreError


def sqlite_path(where: str) -> Path | None:
    """The file of a SQLite store; None for another kind."""
    if "://" not in where:
        return Path(where).expanduser()
    scheme, _, rest = where.partition("://")
    return Path(rest.removeprefix("/")).expanduser() if scheme == "sqlite" and rest.strip("/") else None


def store_key(where: str) -> str:
    """A short name for the store, the same however its file is named; no password goes into it."""
    path = sqlite_path(where)
    if path is not None:
        text = str(path.resolve())
    else:
        parts = urlsplit(where)
        text = f"{parts.hostname}:{parts.port}{parts.path}?{parts.query}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def check_there(where: str) -> None:
    """A typing error in a name must not make a new, empty store."""
    from difflib import get_close_matches

    named = sqlite_path(where) if where else None
    if named is None or named.exists():
        return
    folder = named.absolute().parent
    files = [path.name for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
    stores = [name for name in files if name.endswith((".db", ".sqlite", ".sqlite3"))]
    near = get_close_matches(named.name, stores, n=3, cutoff=0.5) or sorted(stores)[:3]
    hint = f"Beside it there is {', '.join(near)}." if near else "Check the name; 'eqlab run --store' makes a new one."
    raise StoreError(f"There is no store {named}.", hint)


_SIGNS = ("malformed", "not a database", "corrupt", "could not decode", "no such table", "no such column")
"""What SQLite says of files that were cut, overwritten, or never were a database."""


GARBLED = "what it says of its tables cannot be read"
"""Where SQLite's own complaint repeats what is no text any more, and Python cannot decode it."""


def is_damage(words: str) -> bool:
    return any(sign in words.lower() for sign in _SIGNS)


def damaged(where: str, words: str) -> StoreError:
    """`where`: the store as it is shown, without a password."""
    if "not a database" in words:
        return StoreError(f"{where} is not a store, or a corrupt one: {words}.", "Check --store, or go back to a copy.")
    file = where.removeprefix("sqlite:///")
    return StoreError(
        f"The store {where} is corrupt: {words}.",
        f"'eqlab runs store check' tells where. Go back to a copy, or save what can be read: "
        f"sqlite3 {file} .recover | sqlite3 saved.db",
    )


@contextmanager
def sound(where: str) -> Iterator[None]:
    """What is stored is what was stored: cells that cannot be read as such are damage."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise damaged(where, f"a row cannot be read ({type(error).__name__}: {error})") from error
