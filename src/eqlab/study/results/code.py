"""The code that carries out an analysis: its version, and a hash of every source file that can change a result."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable

_ROOMS = ("analysis", "benchmarks", "core", "instruments", "study/kinds", "study/results")
"""Folders of the package whose Python files decide what an analysis says."""


@cache
def analysis_code() -> tuple[str, str]:
    """(version of eqlab, sha256 over names and contents of the files)."""
    root = files("eqlab")
    whole = hashlib.sha256()
    for room in _ROOMS:
        for name, content in sorted(_sources(root.joinpath(*room.split("/")), room)):
            whole.update(f"{name}\0{len(content)}\0".encode())
            whole.update(content)
    return version("eqlab"), whole.hexdigest()


def _sources(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for one in folder.iterdir():
        path = f"{name}/{one.name}"
        if one.is_dir():
            yield from _sources(one, path)
        elif one.name.endswith(".py"):
            yield path, one.read_bytes().replace(b"\r\n", b"\n")
