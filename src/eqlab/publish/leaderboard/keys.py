"""The submitter's key pair: Ed25519 (RFC 8032), made on first use and kept in the data folder, for its owner only."""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from eqlab.core.errors import DataError, UsageError
from eqlab.core.folders import data_folder

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

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
