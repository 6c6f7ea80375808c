"""The rubrics that ship with the package, and a user's own: a name or a file, read and checked."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from eqlab.core.errors import DataError, UsageError
from eqlab.core.rubric import Rubric, parse_rubric

PUBLISHED = "published"
_FOLDER = "rubrics"


def rubric_names() -> list[str]:
    folder = files("eqlab.data").joinpath(_FOLDER)
    return sorted(one.name.removesuffix(".toml") for one in folder.iterdir() if one.name.endswith(".toml"))


@cache
def shipped(name: str) -> Rubric:
    path = f"{name}.toml"
    return parse_rubric(files("eqlab.data").joinpath(_FOLDER, path).read_bytes(), path)


def find_rubric(name: str) -> Rubric:
    """One of ours by its name, or a file."""
    if name in rubric_names():
        return shipped(name)
    path = Path(name)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(
            f"There is no rubric '{name}', and no such file.",
            f"Ours are {', '.join(rubric_names())}; docs/judge.md shows how to write one.",
        ) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Name a rubric's TOML file.") from error
    return parse_rubric(content, path.name)
