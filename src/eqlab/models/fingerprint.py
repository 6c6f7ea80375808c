"""The hash of a whole file of weights, however large: read once, and remembered until the file changes."""

import json
import os
from contextlib import suppress
from pathlib import Path

from eqlab.core.errors import EqlabError
from eqlab.core.folders import cache_folder
from eqlab.data.files import write_whole
from eqlab.models.weights import sha256

WORTH = 64 * 2**20
"""Bytes from which on remembering is worth it: a tenth of a second."""


def fingerprint(path: Path) -> str:
    """The sha256. A file of the same name is the same as long as its size, its time and its place on the disk are;
    the time of the last change of anything, which nobody can set, counts too."""
    before = _state(path)
    if before[0] < WORTH:
        return sha256(path)
    name = str(path.resolve())
    known = _known()
    if (found := known.get(name)) and found[:-1] == before:
        return str(found[-1])
    digest = sha256(path)
    if _state(path) == before:  # else somebody writes to it
        with suppress(OSError, EqlabError):  # a cache that cannot be written costs time, and no more
            write_whole(_cache(), json.dumps({**known, name: [*before, digest]}))
    return digest


def _state(path: Path) -> list[int]:
    found = os.stat(path)
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _cache() -> Path:
    return cache_folder() / "fingerprints.json"


def _known() -> dict[str, list[int | str]]:
    try:
        known = json.loads(_cache().read_bytes())
    except (OSError, ValueError):
        return {}
    rows = known.items() if isinstance(known, dict) else ()
    return {name: row for name, row in rows if isinstance(row, list) and len(row) == 5 and isinstance(row[-1], str)}
