"""Where a store is, as text: a path, `sqlite:///PATH` or a database's address. No database library is needed here."""

import hashlib
from pathlib import Path
from urllib.parse import urlsplit


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
