"""Where a store is, as text: a path, `sqlite:///PATH` or a database's address. No database library is needed here."""

import hashlib
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
