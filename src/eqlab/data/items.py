"""The item files of a benchmark as bytes, wherever they are: ours, a study's, another package's or a user's; and the
rubrics that ship with the package or are a user's own, read and checked."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from eqlab.core.benchmark import Source
from eqlab.core.errors import DataError, UsageError
from eqlab.core.rubric import Rubric, parse_rubric
from eqlab.data import FOLDER, published


def read_sources(sources: Sequence[Source], folder: Path | None) -> dict[str, bytes]:
    """The content of each source by its name."""
    content = {}
    for source in sources:
        if source.name in content:
            raise UsageError(f"Two item files are called '{source.name}'.", "Rename one of them.")
        content[source.name] = _read(source, folder)
    return content


def at_hand(sources: Sequence[Source], folder: Path | None) -> bool:
    """Whether a run could read them now; nothing is fetched."""
    wanted = [source.path for source in sources if source.kind == "published"]
    if not wanted:
        return True
    if folder is None and not published.usual_folder().is_dir():
        return False  # EQLAB_DATA, or the cache, leads nowhere: nothing is at hand
    there = published.published_folder(folder)
    return all((there / path).is_file() for path in wanted)


def _read(source: Source, folder: Path | None) -> bytes:
    if source.kind == "open":
        return (FOLDER / "open" / source.path).read_bytes()
    if source.kind == "package":
        return _in_package(source)
    if source.kind == "file":
        return _users(Path(source.path))
    return published.read(source.path, published.published_folder(folder))


def _in_package(source: Source) -> bytes:
    from importlib.resources import files

    try:
        return files(source.package).joinpath(source.path).read_bytes()
    except (ModuleNotFoundError, OSError, TypeError, ValueError) as error:
        raise DataError(
            f"The package '{source.package}' has no file '{source.path}' ({type(error).__name__}).",
            "Install it again, with its data files.",
        ) from error


def _users(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Name a file of items.") from error


def items_sha256(content: Mapping[str, bytes]) -> str:
    """One hash over all files, in the order of their names: the item set's identity in a run."""
    digest = hashlib.sha256()
    for name in sorted(content):
        digest.update(f"{name}\0{len(content[name])}\0".encode() + content[name])
    return digest.hexdigest()


PUBLISHED = "published"
_RUBRICS = FOLDER / "rubrics"


def rubric_names() -> list[str]:
    return sorted(one.stem for one in _RUBRICS.glob("*.toml"))


@cache
def shipped(name: str) -> Rubric:
    path = f"{name}.toml"
    return parse_rubric((_RUBRICS / path).read_bytes(), path)


def find_rubric(name: str) -> Rubric:
    """One of ours by its name, or a file."""
    if name in rubric_names():
        return shipped(name)
    path = Path(name)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise (DataError if path.suffix else UsageError)(
            f"There is no rubric '{name}', and no file has that name.",
            f"Ours are {', '.join(rubric_names())}; docs/judge.md shows how to write one.",
        ) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Name a rubric's TOML file.") from error
    return parse_rubric(content, path.name)
