"""Writing a file so that it is there whole or not at all: written beside its place, then renamed. A failure leaves the
old file as it was, and says what to do."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from eqlab.core.errors import DataError, UsageError


def write_whole(path: Path, content: bytes | str, *, durable: bool = True) -> None:
    """`durable`: on disk when this returns, and never absent on the way; of a site of hundreds of small files none need
    be."""
    with whole_file(path, durable=durable) as file:
        file.write(content.encode("utf-8", "replace") if isinstance(content, str) else content)


@contextmanager
def whole_file(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name when all went well. Folders on the way are made."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", "Name a file.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # a terminal or a pipe has no place beside it
            with path.open("wb") as file:
                yield file
            return
        with _beside(path, durable) as file:
            yield file
    except OSError as error:
        raise DataError(
            f"{path} cannot be written: {error.strerror or error}.", "Make room, or choose another place."
        ) from error


@contextmanager
def _beside(path: Path, durable: bool) -> Iterator[BinaryIO]:
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:  # new, and no link that somebody else has put there
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if not durable:  # ext4 puts on the disk at once what takes an old file's place: with 2,000 pages, for seconds
            path.unlink(missing_ok=True)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
