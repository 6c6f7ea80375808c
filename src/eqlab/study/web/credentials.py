"""Secret and password of a server: from the environment, from files only their owner reads, or, on localhost, made up.
Outside localhost nothing is made up: the server refuses to start."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eqlab.core.errors import DataError, UsageError
from eqlab.study.web.addresses import is_local
from eqlab.study.web.passwords import make_hash
from eqlab.study.web.settings import Settings, check_secret

SECRET, PASSWORD, HOOK = "EQLAB_STUDY_SECRET", "EQLAB_STUDY_PASSWORD", "EQLAB_STUDY_HOOK"
_SECRET_FILE, _PASSWORD_FILE = "study-secret", "study-password"


@dataclass(frozen=True, slots=True)
class Credentials:
    settings: Settings
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
    return Credentials(Settings(check_secret(secret), hashed, public_url.rstrip("/"), proxy, hook), made_up)


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
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Look at its owner and rights.") from error


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
