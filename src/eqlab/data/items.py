"""The item files of a benchmark, open or published, as bytes."""

import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from eqlab.core.benchmark import Source
from eqlab.data import published


def read_sources(sources: Sequence[Source], folder: Path | None) -> dict[str, bytes]:
    """The content of each source by its name."""
    content = {}
    for source in sources:
        if source.kind == "open":
            content[source.path] = files("eqlab.data").joinpath("open", source.path).read_bytes()
        else:
            content[source.path] = published.read(source.path, published.published_folder(folder))
    return content


def items_sha256(content: Mapping[str, bytes]) -> str:
    """One hash over all files, in the order of their names: the item set's identity in a run."""
    digest = hashlib.sha256()
    for name in sorted(content):
        digest.update(f"{name}\0{len(content[name])}\0".encode() + content[name])
    return digest.hexdigest()
