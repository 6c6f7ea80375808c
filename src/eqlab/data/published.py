"""The published studies' own files: found in a folder the user names or in the cache, fetched from pinned commits.

A folder holds `<source>/<path>` for each row of the manifest, and may hold more or less than the manifest knows."""

import csv
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlsplit

from eqlab.core.environment import cache_folder
from eqlab.core.errors import DataError
from eqlab.core.values import dataclass

if TYPE_CHECKING:
    from requests.exceptions import RequestException

FileState = Literal["ok", "missing", "changed"]


@dataclass(frozen=True, slots=True)
class PinnedFile:
    source: str
    repository: str
    commit: str
    path: str
    bytes: int
    sha256: str

    @property
    def name(self) -> str:
        """How the rest of the code names the file."""
        return f"{self.source}/{self.path}"

    @property
    def url(self) -> str:
        host = os.environ.get("EQLAB_MIRROR", "https://raw.githubusercontent.com").rstrip("/")
        return f"{host}/{self.repository}/{self.commit}/{quote(self.path)}"


@cache
def manifest() -> tuple[PinnedFile, ...]:
    text = Path(__file__).with_name("manifest.csv").read_text(encoding="utf-8")
    return tuple(
        PinnedFile(row["source"], row["repository"], row["commit"], row["path"], int(row["bytes"]), row["sha256"])
        for row in csv.DictReader(text.splitlines())
    )


def usual_folder() -> Path:
    """`EQLAB_DATA`, else the cache, whether it is there or not."""
    return Path(os.environ.get("EQLAB_DATA") or cache_folder() / "published")


def published_folder(named: Path | None = None) -> Path:
    """The folder to read: the one named, else `EQLAB_DATA`, else the cache."""
    if named is None and not os.environ.get("EQLAB_DATA"):
        return usual_folder()
    named = named or usual_folder()
    if not named.is_dir():
        raise DataError(f"The data folder {named} does not exist or is not a folder.", "Name another with --data DIR.")
    if not os.access(named, os.R_OK | os.X_OK):
        raise DataError(
            f"The data folder {named} cannot be read.", "Change its permissions or name another with --data."
        )
    return named


def read(name: str, folder: Path) -> bytes:
    """One published file; a missing one is an error that names the command to get it."""
    path = folder / name
    try:
        return path.read_bytes()
    except FileNotFoundError:
        source = name.split("/", 1)[0]
        raise DataError(
            f"The published file {name} is not in {folder}.",
            f"Get it with 'eqlab data fetch {source}', or name a folder that has it with --data DIR.",
        ) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Change its permissions.") from error


def broken(path: str, wanted: str) -> DataError:
    """Of a file that is there and is not what it should be."""
    source = path.partition("/")[0]
    return DataError(f"{path} does not hold {wanted}.", f"Run 'eqlab data verify', then 'eqlab data fetch {source}'.")


def find(pattern: str, folder: Path) -> list[Path]:
    """Every file in the folder that matches, known to the manifest or not, in the order of their names."""
    return sorted(path for path in folder.glob(pattern) if path.is_file())


def state(pinned: PinnedFile, folder: Path) -> FileState:
    path = folder / pinned.name
    if not path.is_file():
        return "missing"
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return "ok" if digest == pinned.sha256 else "changed"


def changed(content: Mapping[str, bytes]) -> list[str]:
    """Published files whose content is not the one that was published. Those have a folder in their names, and files
    that ship have none: they need no look at the list."""
    named = [name for name in content if "/" in name]
    pinned = {file.name: file.sha256 for file in manifest()} if named else {}
    return [name for name in named if name in pinned and hashlib.sha256(content[name]).hexdigest() != pinned[name]]


def fetch(wanted: Iterable[PinnedFile], folder: Path, say: Callable[[PinnedFile, str], None]) -> None:
    """Download what is missing or changed; `say` hears of each file: kept, fetched or the reason it failed. Where
    the server cannot be reached at all, the rest is not tried: nobody waits for 168 failures that are one."""
    import pooch
    from requests.exceptions import ConnectionError as Unreachable
    from requests.exceptions import RequestException, Timeout

    pooch.get_logger().setLevel("ERROR")
    for pinned in wanted:
        if state(pinned, folder) == "ok":
            say(pinned, "kept")
            continue
        target = folder / pinned.name
        try:
            pooch.retrieve(
                pinned.url,
                known_hash=f"sha256:{pinned.sha256}",
                fname=target.name,
                path=target.parent,
                progressbar=False,
            )
        except (Unreachable, Timeout) as error:
            raise DataError(
                f"{urlsplit(pinned.url).netloc} cannot be reached ({_reason(error)}): {pinned.name} and files after "
                "it are missing.",
                "Check the network or the proxy and run the same command again; EQLAB_MIRROR names another server, "
                "--data DIR a folder that has the files.",
            ) from error
        except RequestException as error:
            say(pinned, f"failed: {_reason(error)} from {pinned.url}")
        except ValueError:
            say(pinned, "failed: the file that came does not have the pinned sha256")
        except OSError as error:
            raise DataError(
                f"{target} cannot be written: {error.strerror}.", "Free space or set EQLAB_CACHE."
            ) from error
        else:
            say(pinned, "fetched")


def _reason(error: "RequestException") -> str:
    """In a few words: the server's status, or the kind of failure."""
    answered = getattr(error, "response", None)
    return f"status {answered.status_code}" if answered is not None else type(error).__name__
