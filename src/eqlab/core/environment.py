"""What is installed and kept on this machine: the folders of EQ Lab (data it makes, data it can fetch again) and the
entry points of other packages."""

import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def cache_folder() -> Path:
    """Fetched files. `EQLAB_CACHE` overrides the platform's cache folder."""
    return Path(os.environ.get("EQLAB_CACHE") or _platform("cache"))


def data_folder() -> Path:
    """The default store. `EQLAB_HOME` overrides the platform's data folder."""
    return Path(os.environ.get("EQLAB_HOME") or _platform("data"))


def default_store() -> str:
    return str(data_folder() / "eqlab.db")


def _platform(kind: str) -> str:
    import platformdirs

    return platformdirs.user_cache_dir("eqlab") if kind == "cache" else platformdirs.user_data_dir("eqlab")


@cache
def version_of(package: str) -> str:
    """The version of an installed package, by the folder that installers write beside it; empty where there is none.
    The standard library loads a parser of mails to tell the same, which takes a quarter of what `import numpy` takes.
    """
    return next((version for name, version in _installed(tuple(sys.path)) if name == package), "")


@cache
def _installed(path: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Names and versions, those found first at the front."""
    found = []
    for folder in dict.fromkeys(path):
        with suppress(OSError):
            for name in os.listdir(folder or "."):
                if name.endswith((".dist-info", ".egg-info")):
                    package, *more = name.rpartition(".")[0].split("-")
                    found += [(package, more[0])] if more else []
    return tuple(found)


def entry_points(group: str, name: str | None = None) -> "tuple[EntryPoint, ...]":
    """The entry points of a group, or those of one name. Read once: Python reads the metadata of every installed
    package each time it is asked for a group, which takes a tenth of a second in a full environment."""
    found = _of_group(group, tuple(sys.path))
    return found if name is None else tuple(point for point in found if point.name == name)


@cache
def _of_group(group: str, path: tuple[str, ...]) -> "tuple[EntryPoint, ...]":  # another path has other packages
    from importlib.metadata import entry_points as read_all  # loads a mail parser

    return tuple(read_all(group=group))


def package_about(name: str) -> dict[str, str]:
    """What an installed package says of itself: title, author, version and address, as far as it says them."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        found = metadata(name)
    except PackageNotFoundError:
        return {}

    def first(*keys: str) -> str:
        return next((value for key in keys for value in found.get_all(key) or () if value), "")

    said = {
        "title": first("Summary") or name,
        "author": first("Author", "Author-email"),
        "version": first("Version"),
        "address": first("Home-page") or first("Project-URL").partition(", ")[2],
    }
    return {key: value for key, value in said.items() if value}
