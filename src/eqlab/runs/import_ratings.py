"""People's ratings from a file, kept as answers of a run like any other. Raters' ids are hashed at the door with a key
that stays on this machine; the store never sees them."""

import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from eqlab.benchmarks.empathy.items import pseudonym
from eqlab.benchmarks.rating.benchmark import Ratings
from eqlab.benchmarks.rating.imported import BadRow, ImportedRating, Prompts, read_ratings
from eqlab.benchmarks.rating.trials import single
from eqlab.core.answers import Answer
from eqlab.core.environment import data_folder
from eqlab.core.errors import DataError, StoreError
from eqlab.core.plural import many
from eqlab.core.runs import PEOPLE, RunConfig
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.runs.context import Known
from eqlab.runs.identity import configured, provenance
from eqlab.runs.judge import known_prompts, read_file
from eqlab.store.store import Store
from eqlab.store.writer import run_lock

_CHUNK = 500
KEY_FILE = "rater.key"
_PANEL_ID = re.compile(r"[0-9a-f]{24}\s*(?:@|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Import:
    run: str
    taken: int
    """Ratings of the file that are in the store now."""
    new: int
    """Those that were not there before."""
    raters: int
    bad: tuple[BadRow, ...]
    replaced: str
    """The run of this name that counts no more beside it."""


def import_ratings(store: Store, path: Path, name: str, data: Path | None = None) -> Import:
    """Read a file of ratings into the store. The same file under the same name changes nothing; another takes the place
    of the one that had the name, wherever people's ratings are looked for."""
    content = read_file(path)
    key = rater_key()
    found, bad = read_ratings(content, path.name, Prompts(known_prompts(data)), lambda rater: hashed(rater, key))
    if not found:
        why = "; ".join(f"line {row.line}: {row.reason}" for row in bad[:3])
        raise DataError(
            f"{path} has no usable rating ({many(len(bad), 'bad row')}: {why}).", "Correct the rows and import again."
        )
    config = ratings_run(content, name)
    planned = [(f"person:{rating.rater}", single(rating.reply), rating) for rating in found]
    before = imported_as(store, name)
    if config.id in before[1:]:
        raise StoreError(
            f"Other ratings were imported as '{name}' since (run {before[0]}), and take the place of these.",
            "Give these another --name.",
        )
    with run_lock(store, config.id):
        store.begin_run(config, _plan(planned), provenance({}))
        new = _add_missing(store, config.id, planned)
    replaced = next((run for run in before if run != config.id), "")
    return Import(config.id, len(found), new, len({rating.rater for rating in found}), tuple(bad), replaced)


def imported_as(store: Store, name: str) -> list[str]:
    """The runs of this name, newest first."""
    configs = Known(store).runs()
    return [one.id for one in configs if any(asked.options.get("imported_as") == name for asked in one.benchmarks)]


def ratings_run(content: bytes, name: str) -> RunConfig:
    """The run that people's ratings are kept in: what they are of, or what they were read from, under a name."""
    benchmark = Ratings()
    options = {**benchmark.options("imported", {"purpose": "people"}), "imported_as": name}
    return RunConfig((), (configured(benchmark, options, {"ratings": content}),), "full", None, None, 0)


def hashed(rater: str, key: bytes) -> str:
    """A pseudonym for a rater's id as it stands in a file. Panel ids are freed of the slips of typing first."""
    if _PANEL_ID.match(rater.strip()):
        return pseudonym(rater, key)
    return hmac.new(key, rater.strip().encode(), hashlib.sha256).hexdigest()[:16]


def _plan(planned: Sequence[tuple[str, Trial, ImportedRating]]) -> Iterator[tuple[str, str, Trial, int]]:
    for subject, trial, _ in planned:
        yield subject, Ratings.name, trial, 0


def _add_missing(store: Store, run: str, planned: Sequence[tuple[str, Trial, ImportedRating]]) -> int:
    """Store the ratings that are planned and not there yet, so that an import that broke off can be repeated."""
    there = {(subject, trial.id): rating for subject, trial, rating in planned}
    waiting: list[Answer] = []
    known: set[tuple[str, str]] = set()
    for subject, done in _stored(store, run).items():
        known.update((subject, trial) for trial in done)
    ours = {subject for subject, _ in there}
    if known and not ours & {subject for subject, _ in known}:
        raise StoreError(
            f"Run {run} holds these ratings under other pseudonyms.",
            f"They were imported with another {KEY_FILE}; use the machine they came from.",
        )
    for (subject, trial), one in there.items():
        if (subject, trial) not in known:
            waiting.append(
                Answer(
                    run, trial, subject, 0, 1, str(one.value), "ok", {"rating": one.value}, "imported", at=time.time()
                )
            )
    for start in range(0, len(waiting), _CHUNK):
        store.add_answers(waiting[start : start + _CHUNK])
    return len(waiting)


def _stored(store: Store, run: str) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for scored in store.scored(run, PEOPLE, Ratings.name):
        for answer in scored.attempts:
            found.setdefault(answer.subject, set()).add(answer.trial)
    return found


def rater_key() -> bytes:
    """The secret that makes pseudonyms, made once in the data folder and readable by its owner only. With it the same
    person has the same pseudonym in every import; without it nobody can look a known id up."""
    path = data_folder() / KEY_FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(32))
        except FileExistsError:
            pass
        key = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"{path} cannot be written or read: {error.strerror}.", "Change its permissions or set EQLAB_HOME."
        ) from error
    if len(key) < 32:
        raise DataError(f"{path} is too short to be a key.", "Delete it; ratings imported later get new pseudonyms.")
    return key
