"""Build the site in a folder: gather entries, compare with the last build, write, remove what is no longer there.

Pages are written one by one into a folder beside them, and take their places when all are there: so the memory does not
grow with the site, and a build that fails leaves the last one as it was. A page that is made from what it was made from
last time is left as it is, and says when it was made."""

import json
import shutil
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import msgspec
import numpy as np

from eqlab.analysis.ranks import KeptShares, LargeShares
from eqlab.benchmarks.eqbench.published import PublishedRun
from eqlab.core.environment import cache_folder
from eqlab.core.errors import DataError, EqlabError, UsageError
from eqlab.core.plural import many
from eqlab.core.values import dataclass
from eqlab.data.files import whole_file
from eqlab.publish.groups import RunRecord
from eqlab.publish.leaderboard.check import check_submission
from eqlab.publish.leaderboard.entries import BoardEntry, figures_only, store_entries
from eqlab.publish.leaderboard.site import TALKS, BoardChange, BoardSite, changes, site_parts, snapshot, whole
from eqlab.publish.leaderboard.submission import Refused, read_submission
from eqlab.publish.leaderboard.tables import Board, apart, boards
from eqlab.runs.parallel import WorkerProcesses
from eqlab.runs.published_results import PublishedReader, PublishedResult, as_run
from eqlab.store.kept_scores import pack, unpacked
from eqlab.store.kept_scores import without_texts as figures_of
from eqlab.store.reader import Reader

_STATE, _FRONT, _UNDER_WAY = "board.json", "index.html", ".under-way"
_MANY, _AT_ONCE = 80, 10
"""Published results from which on other processes are worth their start, and how many each scores at a time."""
KEPT, _MOST_KEPT = 500, 8
"""Models of a table from which on what is drawn for its ranks is kept for the next build, and of how many tables."""
_MOST_BOARDS = 4
"""Of how many boards the figures of published results are kept."""
_UNFINISHED = {"data", "models", TALKS, "compare.html", _FRONT, _UNDER_WAY}
"""What a build that was stopped before its end may have left."""


@dataclass(frozen=True)
class Sources:
    """Where entries come from."""

    store: Reader | None = None
    folders: Sequence[Path] = ()
    """Folders of submissions, or single files."""
    published: bool = False
    data: Path | None = None
    texts: bool = False
    """Show published replies and references too, for a reader who has the data."""


@dataclass
class Built:
    """What a build did, for the command line."""

    folder: Path
    boards: Sequence[Board] = ()
    changed: Sequence[BoardChange] = ()
    new_tables: Sequence[str] = ()
    """Tables that the last build did not have, and by what they stand apart from one of the same name."""
    refused: list[tuple[str, str]] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    files: int = 0
    kept: int = 0
    """How many of them were made by an earlier build, and are as they would be made now."""
    front_bytes: int = 0


def build(folder: Path, sources: Sources, say: Callable[[str], None] = lambda _: None, *, processes: int = 1) -> Built:
    """`processes`: how many score published results, with this one."""
    last = _last_build(folder)
    built = Built(folder)
    with WorkerProcesses(processes) as workers:
        entries = [figures_only(_shown(entry, sources.texts)) for entry in _entries(sources, built, say, workers)]
    if not entries and not built.refused:
        raise UsageError(
            "There is nothing to put on the board.",
            "Run a model with 'eqlab run', add --published, or name submissions with --from.",
        )
    built.boards = boards(entries, lambda name: KeptDraws(cache_folder() / "boards", f"{_place(folder)}-{name}"))
    tables = snapshot(built.boards)
    built.changed = changes(last["tables"], tables) if last else []
    if last:
        known = {table["key"] for table in last["tables"]}
        built.new_tables = [apart(board, built.boards) for board in built.boards if board.key not in known]
    before = last["built_at"] if last else None
    site = BoardSite(built.boards, built.changed, before, built.refused, time.time(), version("eqlab"), _program())
    say(f"{many(len(entries), 'entry', 'entries')} in {many(len(built.boards), 'table')}; writing {folder}")
    made, names = last["made_from"] if last else {}, []
    kept: dict[str, tuple[str, str]] = {}
    with _under_way(folder) as under_way:
        for file in site_parts(site):
            names.append(file.name)
            if file.key and _is_as_made(folder / file.name, made.get(file.name), file.key):
                kept[file.name] = made[file.name]
                built.kept += 1
                continue
            content = _write(under_way / file.name, file.parts())
            if file.key:
                kept[file.name] = (file.key, content)
        built.front_bytes = (under_way / _FRONT).stat().st_size
        _write(under_way / _STATE, [whole(site, names, tables, kept)])
        for name in sorted({*names, _STATE}, key=lambda name: (name == _STATE, name == _FRONT)):  # the front page late
            _take(under_way / name, folder / name)
    _remove(folder, (last["files"] if last else ()), set(names))
    built.files = len(names) + 1
    return built


@dataclass(frozen=True, slots=True)
class KeptDraws:
    """What was drawn for the ranks of a large table, in a file that may be deleted at any time: one model more needs
    only its own pairs then. Some kilobytes of each model."""

    folder: Path
    name: str

    @property
    def _path(self) -> Path:
        return self.folder / f"{self.name}.npz"

    def get(self) -> KeptShares | None:
        try:
            with self._path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                if str(file["program"]) != _program():
                    return None
                models = len(file["rows"])
                tested = np.unpackbits(file["tested"], count=models * models).reshape(models, models).astype(bool)
                items, draws, seed, place = (int(number) for number in file["drawn"])
                large = LargeShares(*(file[name] for name in ("model", "other", "draw", "share")))
                drawn, rows = (items, draws, seed, place), tuple(file["rows"].tolist())
                return KeptShares(drawn, rows, tested, file["floors"], file["lasting"], large)
        except (OSError, ValueError, LookupError, EOFError, BadZipFile):  # none, or damaged
            return None

    def put(self, kept: KeptShares) -> None:
        if len(kept.rows) < KEPT:
            return
        with suppress(OSError, EqlabError), whole_file(self._path, durable=False) as file:
            np.savez(
                file,
                program=_program(),
                drawn=kept.drawn,
                rows=kept.rows,
                tested=np.packbits(kept.tested),
                floors=kept.floors,
                lasting=kept.lasting,
                model=kept.large.model,
                other=kept.large.other,
                draw=kept.large.draw,
                share=kept.large.share,
            )
        _forget(self.folder, "*.npz", _MOST_KEPT)


@dataclass(frozen=True, slots=True)
class KeptFigures:
    """The figures of a board's published results, by the hash of their files: what is not new need not be scored. Some
    10 kilobytes of each model, in a file that may be deleted at any time."""

    folder: Path
    name: str
    asked: str
    """What the questions are known by."""

    @property
    def _path(self) -> Path:
        return self.folder / f"{self.name}.figures"

    @property
    def _stamp(self) -> str:
        return f"{_program()} {self.asked}"

    def get(self) -> dict[str, bytes]:
        try:
            stamp, found = msgspec.msgpack.decode(self._path.read_bytes(), type=tuple[str, dict[str, bytes]])
            return found if stamp == self._stamp else {}
        except (OSError, msgspec.MsgspecError):  # none, or damaged
            return {}

    def put(self, figures: Mapping[str, bytes]) -> None:
        with suppress(OSError, EqlabError), whole_file(self._path, durable=False) as file:
            file.write(msgspec.msgpack.encode((self._stamp, figures)))
        _forget(self.folder, "*.figures", _MOST_BOARDS)


def _forget(folder: Path, pattern: str, most: int) -> None:
    with suppress(OSError):
        newest = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in newest[most:]:
            path.unlink()


def _place(folder: Path) -> str:
    return sha256(str(folder.resolve()).encode()).hexdigest()[:16]


@cache
def _program() -> str:
    """What pages depend on besides results: this package, file by file, and Python."""
    package = Path(__file__).parent.parent.parent
    own = [path for path in package.rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    files = sorted((str(path.relative_to(package)), (about := path.stat()).st_mtime_ns, about.st_size) for path in own)
    return sha256(f"{files} {sys.version}".encode()).hexdigest()


def _is_as_made(path: Path, made: Sequence[str] | None, key: str) -> bool:
    """Whether a page is there, from the same key, and as it was written."""
    try:
        return made is not None and made[0] == key and sha256(path.read_bytes()).hexdigest()[:32] == made[1]
    except (OSError, LookupError, TypeError):
        return False


@contextmanager
def _under_way(folder: Path) -> Iterator[Path]:
    """A folder for what is not finished, gone at the end."""
    path = folder / _UNDER_WAY
    try:
        shutil.rmtree(path, ignore_errors=True)  # of a build that was killed
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _write(path: Path, parts: Iterable[bytes]) -> str:
    """The hash of what was written."""
    made = sha256()
    with whole_file(path, durable=False) as file:
        for part in parts:
            made.update(part)
            file.write(part)
    return made.hexdigest()[:32]


def _take(path: Path, place: Path) -> None:
    if not path.exists():  # it was kept
        return
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        path.replace(place)
    except OSError as error:
        raise DataError(f"{place} cannot be written: {error.strerror or error}.", "Choose another place.") from error


def _entries(
    sources: Sources, built: Built, say: Callable[[str], None], workers: WorkerProcesses
) -> Iterator[BoardEntry]:
    if sources.published:
        reader = published_reader(sources.data)
        files = reader.files()
        say(f"scoring the published results from {'their files' if files else 'the figures that ship with eqlab'}")
        if len(files) >= _MANY and not sources.texts:
            figures = KeptFigures(cache_folder() / "boards", _place(built.folder), reader.asked_sha256())
            yield from _many_published(sources.data, files, workers, figures)
        else:
            yield from published_entries(reader)
    if sources.store is not None:
        yield from store_entries(sources.store, built.left_out)
    for one in checked(sources.folders, sources.data, built.left_out):
        if one.refused:
            built.refused.append((one.name, one.refused))
        yield from one.entries


def _many_published(
    data: Path | None, files: Sequence[Path], workers: WorkerProcesses, figures: KeptFigures
) -> Iterator[BoardEntry]:
    """In the order of the files; those that the last build scored are not scored again."""
    before = figures.get()
    names = {path: sha256(f"{path}\0".encode() + path.read_bytes()).hexdigest() for path in files}
    new = [path for path, name in names.items() if name not in before]
    scored = dict(zip(new, _on_all_cores(data, new, workers), strict=True))
    now = {name: scored.get(path) or before[name] for path, name in names.items()}
    if now.keys() != before.keys():
        figures.put(now)
    yield from map(_unpacked, now.values())


def _on_all_cores(data: Path | None, files: Sequence[Path], workers: WorkerProcesses) -> list[bytes]:
    """Figures of published results, in the order of the files. Workers begin with the first, this process with the
    last, until they meet."""
    if len(files) < _MANY or not workers.count:
        return _figures_of_files(data, files)
    parts = [files[start : start + _AT_ONCE] for start in range(0, len(files), _AT_ONCE)]
    submitted = [workers.submit(_figures_of_files, data, part) for part in parts]
    own: list[list[bytes]] = []
    while submitted and submitted[-1].cancel():
        submitted.pop()
        own.append(_figures_of_files(data, parts[len(submitted)]))
    return [packed for found in (*(one.result() for one in submitted), *reversed(own)) for packed in found]


_ABOUT = ("model", "file", "sha256", "completed", "revised", "items_sha256", "options", "facts", "texts")
"""What an entry tells of a published result besides its figures."""


def _figures_of_files(data: Path | None, files: Sequence[Path]) -> list[bytes]:
    reader = _reader(data)
    return [_packed(reader.file_result(path, again=False)) for path in files]


def _packed(found: PublishedResult) -> bytes:
    """Without words; what a board finds in them is found first."""
    replies = _published(found, texts=False).replies
    about = {name: getattr(found.run, name) for name in _ABOUT}
    return zlib.compress(msgspec.msgpack.encode((about, pack(figures_of(found.result)), replies)), 1)


def _unpacked(packed: bytes) -> BoardEntry:
    about, result, replies = msgspec.msgpack.decode(zlib.decompress(packed))
    entry = _published(PublishedResult(PublishedRun(**about, scored=()), unpacked(result)[0]), texts=False)
    vars(entry).update(replies=replies)
    return entry


@dataclass(frozen=True, slots=True)
class Checked:
    """One file, and what it brings to a board, or why nothing."""

    name: str
    entries: Sequence[BoardEntry] = ()
    refused: str = ""


def checked(places: Sequence[Path], data: Path | None, left_out: dict[str, str]) -> Iterator[Checked]:
    """Submissions in folders, or single files. What lies beside them under another name goes to `left_out`."""
    seen: dict[str, str] = {}
    for path in _submissions(places, left_out):
        try:
            body = read_submission(path)
            entries = check_submission(body, data)
            if first := seen.get(body["answers_sha256"]):
                raise Refused(f"it holds the same answers as {first}")
            seen[body["answers_sha256"]] = path.name
            yield Checked(path.name, entries)
        except Refused as why:
            yield Checked(path.name, refused=str(why))


def _submissions(places: Sequence[Path], left_out: dict[str, str]) -> Iterator[Path]:
    for place in places:
        if place.is_file():
            yield place
        elif place.is_dir():
            for path in sorted(path for path in place.rglob("*") if path.is_file() and not path.name.startswith(".")):
                if path.suffix == ".json":
                    yield path
                else:
                    left_out[path.name] = "no submission: its name does not end in .json"
        else:
            raise DataError(f"There is no folder or file {place}.", "Name submissions, or a folder of them.")


def _shown(entry: BoardEntry, texts: bool) -> BoardEntry:
    """Published results show scores only; so do runs of published items, unless the reader wants the texts. What people
    wrote in a study is never shown."""
    configs = [config for config in entry.record.config.benchmarks if config.name == entry.result.benchmark]
    published = entry.origin == "published" or any(config.item_set == "published" for config in configs)
    shown = (texts or not published) and not entry.people
    return entry if entry.texts == shown else replace(entry, texts=shown)


def _last_build(folder: Path) -> Mapping[str, Any] | None:
    """The last build's own account of itself. A folder with other things in it is left alone."""
    path = folder / _STATE
    if not path.is_file():
        if folder.exists() and (not folder.is_dir() or {one.name for one in folder.iterdir()} - _UNFINISHED):
            raise UsageError(f"{folder} is not empty and holds no leaderboard.", "Name a new or empty folder.")
        return None
    try:
        body = json.loads(path.read_bytes())
        if body["format"] != "eqlab-leaderboard" or not isinstance(body["built_at"], int | float):
            raise ValueError("another format")
        changes(body["tables"], [])  # the shape that comparing needs
        made = body.get("made_from")
        return {name: body[name] for name in ("built_at", "tables", "files")} | {
            "made_from": made if isinstance(made, dict) else {}
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} cannot be read as the last build ({type(error).__name__}: {error}).",
            "Remove it to start afresh; nothing else in the folder is needed.",
        ) from error


def _remove(folder: Path, before: Sequence[str], now: set[str]) -> None:
    """Pages of subjects that are gone. Only what a build wrote, only inside the folder."""
    root = folder.resolve()
    for name in before:
        path = (root / str(name)).resolve()
        if name not in now and path.parent in (root / "models", root / "data", root / TALKS) and path.is_file():
            path.unlink()


# The published EQ-Bench results as entries of the leaderboard.
def published_reader(data: Path | None) -> PublishedReader:
    """One table, as on the published list, whatever was asked for."""
    return PublishedReader(data, revision=True)


def published_entries(reader: PublishedReader, *, texts: bool = False) -> Iterator[BoardEntry]:
    """Every published result; a broken file is an error that names it."""
    for published_result in reader.results():
        yield _published(published_result, texts=texts)


def _published(published_result: PublishedResult, *, texts: bool) -> BoardEntry:
    run, result = as_run(published_result)
    record = RunRecord(run.config, run.created_at, run.provenance, (result,))
    return BoardEntry(record, result, "published", published_result.run.file, texts=texts)


_reader = cache(published_reader)
