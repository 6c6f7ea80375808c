"""Secret and password of a server: from the environment, from files only their owner reads, or, on localhost, made up.
Outside localhost nothing is made up: the server refuses to start."""

import asyncio
import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from eqlab.core.errors import DataError, UsageError
from eqlab.core.values import dataclass
from eqlab.study.panels import derive
from eqlab.study.web.settings import ServerSettings, check_secret, is_local

SECRET, PASSWORD, HOOK = "EQLAB_STUDY_SECRET", "EQLAB_STUDY_PASSWORD", "EQLAB_STUDY_HOOK"
_SECRET_FILE, _PASSWORD_FILE = "study-secret", "study-password"
_hasher = PasswordHasher()
_LEAST_CHARACTERS = 10
_QUEUE = 8
"""Checks that may wait; each costs memory and time, so more is an attack."""


@dataclass(frozen=True, slots=True)
class Credentials:
    settings: ServerSettings
    made_up: str
    """A password for this start only; empty when there is a lasting one."""


def credentials(
    folder: Path, host: str, public_url: str, proxy: str, environment: Mapping[str, str] = os.environ
) -> Credentials:
    """What a server on `host` runs with. `folder` is where lasting files are."""
    local = is_local(host, public_url)
    made_up = ""
    secret = environment.get(SECRET, "") or _read(folder / _SECRET_FILE)
    if not secret:
        if not local:
            raise UsageError(
                f"Outside localhost a study needs a secret: {SECRET} is not set.",
                "Set it to 32 random characters or more, or let 'eqlab study password' make one.",
            )
        secret = make_secret(folder)
    password = environment.get(PASSWORD, "")
    hashed = make_hash(password) if password else _read(folder / _PASSWORD_FILE)
    if not hashed:
        if not local:
            raise UsageError(
                f"Outside localhost the researcher's page needs a password: {PASSWORD} is not set.",
                "Set it, or choose one with 'eqlab study password'.",
            )
        made_up = secrets.token_urlsafe(9)
        hashed = make_hash(made_up)
    hook = environment.get(HOOK, "").encode()
    kept = check_secret(secret)
    # A hash has a salt of its own each time it is made; what sessions hang on must not.
    session_key = hmac.new(derive(kept, "owner"), (password or hashed).encode(), hashlib.sha256).hexdigest()
    return Credentials(
        ServerSettings(kept, hashed, public_url.rstrip("/"), proxy, hook, session_key=session_key), made_up
    )


def known_secret(folder: Path, environment: Mapping[str, str] = os.environ) -> bytes:
    """The secret that the server has hashed panel ids with; raises where there is none."""
    secret = environment.get(SECRET, "") or _read(folder / _SECRET_FILE)
    if not secret:
        raise UsageError(
            f"A panel's id can only be looked up with the server's secret: {SECRET} is not set.",
            "Set it as the server has it, or name the person with --person.",
        )
    return check_secret(secret)


def keep_password(folder: Path, password: str) -> Path:
    """Store the hash of a password, and a secret if there is none yet."""
    path = folder / _PASSWORD_FILE
    _write(path, make_hash(password))
    if not _read(folder / _SECRET_FILE):
        make_secret(folder)
    return path


def make_secret(folder: Path) -> str:
    made = secrets.token_hex(32)
    _write(folder / _SECRET_FILE, made)
    return made


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Check its owner and permissions.") from error


def _write(path: Path, text: str) -> None:
    """Readable by its owner only, from the first byte; replaced as a whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
        draft.replace(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}.", "Name a folder with EQLAB_HOME.") from error


# -- passwords ---------------------------------------------------------------------------------------------------------


def make_hash(password: str) -> str:
    if len(password) < _LEAST_CHARACTERS:
        raise UsageError(f"The password has fewer than {_LEAST_CHARACTERS} characters.", "Choose a longer one.")
    return _hasher.hash(password)


@cache
def _nobody() -> str:
    """What a password is checked against when none is set, so that the answer takes as long."""
    return _hasher.hash("nobody has this password")


class PasswordGate:
    """Checks passwords, hashed with argon2, in a thread, one after the other; in the same time whether there is one or
    not."""

    def __init__(self, password_hash: str) -> None:
        self._hash = password_hash
        self._turn = asyncio.Semaphore(1)
        self._waiting = 0

    @property
    def crowded(self) -> bool:
        return self._waiting >= _QUEUE

    async def opens(self, password: str, own_hash: str | None = None) -> bool:
        """Against the server's own password, or the hash of a researcher who has one; "" for nobody's."""
        wanted = self._hash if own_hash is None else own_hash
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(self._check, wanted, password)
        finally:
            self._waiting -= 1

    def _check(self, wanted: str, password: str) -> bool:
        try:
            right = _hasher.verify(wanted or _nobody(), password)
        except (VerificationError, InvalidHashError):
            return False
        return right and bool(wanted)
