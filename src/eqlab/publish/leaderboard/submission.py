"""A submission: a run's configuration, every attempt and the claimed scores in one JSON file, hashed and signed.

`answers_sha256` is over the canonical JSON of the answers; the signature is over the canonical JSON of everything
else, that hash included, so no byte that matters can change unnoticed."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqlab.benchmarks.registry import names
from eqlab.core.answers import Answer
from eqlab.core.environment import data_folder
from eqlab.core.errors import DataError, UsageError
from eqlab.core.results import Result, as_dict
from eqlab.core.runs import OWN, RunConfig
from eqlab.core.settings import is_secret, without_secrets
from eqlab.data.files import write_whole
from eqlab.runs.score import results
from eqlab.store.reader import Reader, StoredRun

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


FORMAT = "eqlab-submission"
VERSION = 1
MOST_BYTES = 256 * 2**20
COLUMNS = (
    "benchmark", "subject", "trial", "repeat", "attempt", "status", "text", "values", "model", "temperature",
    "tokens_in", "tokens_out", "finish", "at",
)  # fmt: skip
"""Of one attempt, in this order. A thinking model's hidden text stays at home."""
_SIGNED = ("format", "version", "run", "config", "created_at", "provenance", "claims", "answers_sha256", "public_key")


class Refused(DataError):
    """A submission that is not accepted. The message is the reason, to be printed after the file's name."""


def canonical(value: Any) -> bytes:
    """One JSON text per value: keys sorted, no blanks, ASCII only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def answers_sha256(answers: Any) -> str:
    return hashlib.sha256(canonical(answers)).hexdigest()


def signed_part(body: Mapping[str, Any]) -> bytes:
    return canonical({name: body[name] for name in _SIGNED})


def make_submission(store: Reader, stored: StoredRun) -> dict[str, Any]:
    """The file's content; raises for a run that cannot be submitted."""
    _check(store, stored)
    config = _shareable_config(stored.config)
    answers = [
        row
        for subject, benchmark_config in stored.config.pairs()
        for row in _rows(store, stored.id, subject, benchmark_config.name)
    ]
    key = own_key()
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "run": config.id,
        "config": json.loads(json.dumps(as_dict(config))),
        "created_at": stored.created_at,
        "provenance": shareable(dict(stored.provenance)),
        "claims": [claim(result) for result in results(store, stored)],
        "answers_sha256": answers_sha256(answers),
        "public_key": sign(key, b"")[0],
    }
    body["signature"] = sign(key, signed_part(body))[1]
    body["answers"] = json.loads(canonical(answers))
    return body


def write_submission(body: Mapping[str, Any], path: Path) -> None:
    write_whole(path, json.dumps(body, ensure_ascii=True, allow_nan=False) + "\n")


def read_submission(path: Path) -> dict[str, Any]:
    """The file's content, in the right shape; whether it is true is another question."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise Refused(f"it is larger than {MOST_BYTES >> 20} MB")
        body = json.loads(path.read_bytes(), parse_constant=_no_constant)
    except OSError as error:
        raise Refused(f"it cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Refused(f"it is not JSON ({error})") from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise Refused("it is not a file that 'eqlab leaderboard submit' wrote")
    if body.get("version") != VERSION:
        raise Refused(f"it has format version {body.get('version')!r}; this eqlab reads {VERSION}")
    missing = [name for name in (*_SIGNED, "signature", "answers") if name not in body]
    if missing:
        raise Refused(f"it lacks {', '.join(missing)}")
    return body


def claim(result: Result) -> dict[str, Any]:
    """What the submitter says came out; a build computes it again."""
    head = result.headline
    return {
        "benchmark": result.benchmark,
        "subject": result.subject,
        "score": head.value,
        "n": head.n,
        "counts": dict(result.counts),
    }


def shareable(value: Any) -> Any:
    """The same without keys and passwords: a submission is made to be passed on."""
    if isinstance(value, Mapping):
        return {str(key): "(left out)" if is_secret(str(key)) else shareable(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [shareable(part) for part in value]
    return without_secrets(value) if isinstance(value, str) else value


def _shareable_config(config: RunConfig) -> RunConfig:
    models = tuple(
        replace(model, base_url=without_secrets(model.base_url), settings=shareable(dict(model.settings)))
        for model in config.models
    )
    return replace(config, models=models)


def _check(store: Reader, stored: StoredRun) -> None:
    if not stored.config.models:
        raise UsageError(f"Run {stored.id} holds people's answers.", "Only models' runs can be submitted.")
    if any(benchmark_config.name not in names() for benchmark_config in stored.config.benchmarks):
        raise UsageError(
            f"Run {stored.id} holds ratings of others' replies.", "Submit the run whose replies were rated."
        )
    if any(benchmark_config.item_set == OWN for benchmark_config in stored.config.benchmarks):
        raise UsageError(
            f"Run {stored.id} asked items of your own, which nobody else has.",
            "Submit a run of open or published ones.",
        )
    for subject, config in stored.config.pairs():
        for scored in store.scored(stored.id, subject, config.name):
            if not any(attempt.answered for attempt in scored.attempts):
                raise UsageError(
                    f"Run {stored.id} is not complete: {subject} has no answer to item {' '.join(scored.trial.items)}.",
                    "Give the same 'eqlab run' command again to finish it.",
                )


def _rows(store: Reader, run: str, subject: str, benchmark: str) -> Iterator[list[Any]]:
    for scored in store.scored(run, subject, benchmark):
        for answer in scored.attempts:
            yield [_cell(answer, benchmark, column) for column in COLUMNS]


def _cell(answer: Answer, benchmark: str, column: str) -> Any:
    if column == "benchmark":
        return benchmark
    value = getattr(answer, column)
    return dict(value) if column == "values" else value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


# The submitter's key pair: Ed25519 (RFC 8032), made on first use and kept in the data folder, for its owner only.
_LENGTH = 32


def key_file() -> Path:
    return data_folder() / "submitter.key"


def own_key() -> "Ed25519PrivateKey":
    """The key of this user; made if there is none yet."""
    _needed()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    path = key_file()
    if not path.exists():
        _write(path, Ed25519PrivateKey.generate().private_bytes_raw().hex())
    try:
        seed = bytes.fromhex(path.read_text(encoding="ascii").strip())
        return Ed25519PrivateKey.from_private_bytes(seed)
    except (OSError, ValueError) as error:
        raise DataError(
            f"The key in {path} cannot be read ({error}).", "Restore it, or move it away to get a new one."
        ) from error


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text + "\n")


def sign(key: "Ed25519PrivateKey", message: bytes) -> tuple[str, str]:
    """(public key, signature), both hex."""
    return key.public_key().public_bytes_raw().hex(), key.sign(message).hex()


def verified(public: str, signature: str, message: bytes) -> bool:
    """Whether the holder of this key signed this message."""
    _needed()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        raw = bytes.fromhex(public)
        if len(raw) != _LENGTH:
            return False
        Ed25519PublicKey.from_public_bytes(raw).verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(public: str) -> str:
    """Sixteen hex digits that name a key."""
    return hashlib.sha256(public.encode()).hexdigest()[:16]


def _needed() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise UsageError(
            "Submissions and lock files are signed, which needs the package 'cryptography'.",
            "Install it with: pip install 'eqlab[submit]' (or 'eqlab[study]', which has it too)",
        ) from None
