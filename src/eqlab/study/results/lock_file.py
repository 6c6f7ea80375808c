"""The lock as a file that can be given away: what was frozen, when, and a signature (Ed25519, RFC 8032) by the key of
whoever locked. It proves who says so; when it was is proved by whoever keeps a copy, such as a registry."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from eqlab.core.errors import DataError
from eqlab.data.files import write_whole
from eqlab.publish.leaderboard.submission import fingerprint, own_key, sign, verified
from eqlab.store.study.lock import Lock, canonical, plan_sha256

FORMAT = "eqlab study lock 1"


def lock_file(study: str, title: str, lock: Lock) -> dict[str, Any]:
    """Signed if the package that signs is there; `signature` is empty otherwise."""
    body = {
        "format": FORMAT,
        "study": study,
        "title": title,
        "locked_at": lock.at,
        "sha256": lock.sha256,
        "eqlab": lock.version,
        "plan": dict(lock.plan),
    }
    if find_spec("cryptography") is None:
        return {**body, "public_key": "", "signature": ""}
    public, signature = sign(own_key(), canonical(body).encode())
    return {**body, "public_key": public, "signature": signature}


def write_lock_file(path: Path, content: dict[str, Any]) -> None:
    write_whole(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def read_lock_file(path: Path) -> dict[str, Any]:
    """A lock file whose hash and signature are right. Raises where they are not."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}).", "Name a file that 'eqlab study lock' wrote.") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{path} is not a study's lock file.", "Name a file that 'eqlab study lock' wrote.")
    if plan_sha256(content["plan"]) != content["sha256"]:
        raise DataError(f"{path}: the plan is not the one whose hash it names.", "The file has been changed.")
    body = {name: value for name, value in content.items() if name not in ("public_key", "signature")}
    if not content["signature"]:
        raise DataError(
            f"{path} is not signed.", "Lock with the package 'cryptography' at hand: pip install 'eqlab[study]'"
        )
    if not verified(content["public_key"], content["signature"], canonical(body).encode()):
        raise DataError(f"{path}: the signature is not right.", "The file has been changed.")
    return content


def signer(content: dict[str, Any]) -> str:
    return fingerprint(content["public_key"])
