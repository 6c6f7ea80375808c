"""What is given away while a study is under way, as files with a signature (Ed25519, RFC 8032) by the key of whoever
made them: the lock (what was frozen, and when) and seals (hashes of everybody's answers so far). They prove who says
so; when it was is proved by whoever keeps a copy, such as a registry or a mailbox."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any

from eqlab.core.errors import DataError
from eqlab.core.plural import many
from eqlab.core.runs import is_simulated
from eqlab.core.values import dataclass
from eqlab.data.files import write_whole
from eqlab.publish.leaderboard.submission import fingerprint, own_key, sign, verified
from eqlab.store.engine import snapshot
from eqlab.store.study.chain import (
    NOTED,
    Link,
    breaks,
    broken,
    digest_of,
    given_by,
    given_hashes,
    mark_of,
    note_digest,
    read_chain,
)
from eqlab.store.study.lock import Lock, canonical, plan_sha256
from eqlab.store.study.participation import Participation
from eqlab.store.study.researchers import LOOKS, read_audit, write_note

FORMAT = "eqlab study lock 1"
SEAL = "eqlab study seal 1"
_UNDER_WAY = 120.0
"""Seconds before a seal from which an answer may have been on its way into the store when the seal was made."""
Given = Mapping[str, Sequence[tuple[Any, ...]]]
"""By person: (trial, attempt, values as stored, when, seconds on the page) of each answer; of a talk's turns more."""


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
    return _signed(body)


def _signed(body: dict[str, Any]) -> dict[str, Any]:
    if find_spec("cryptography") is None:
        return {**body, "public_key": "", "signature": ""}
    public, signature = sign(own_key(), canonical(body).encode())
    return {**body, "public_key": public, "signature": signature}


def write_lock_file(path: Path, content: dict[str, Any]) -> None:
    write_whole(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def read_lock_file(path: Path) -> dict[str, Any]:
    """A lock or a seal whose hash and signature are right. Raises where they are not."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}).", "Name a file that 'eqlab study lock' wrote.") from error
    if not isinstance(content, dict) or content.get("format") not in (FORMAT, SEAL):
        raise DataError(
            f"{path} is not a study's lock file or seal.", "Name a file that 'eqlab study lock' or 'seal' wrote."
        )
    if content["format"] == FORMAT and plan_sha256(content["plan"]) != content["sha256"]:
        raise DataError(f"{path}: the plan is not the one whose hash it names.", "The file has been changed.")
    if content["format"] == SEAL and seal_sha256(content) != content["sha256"]:
        raise DataError(f"{path}: the seal is not the one whose hash it names.", "The file has been changed.")
    body = {name: value for name, value in content.items() if name not in ("public_key", "signature")}
    if not content["signature"]:
        raise DataError(
            f"{path} is not signed.", "Lock with the package 'cryptography' at hand: pip install 'eqlab[study]'"
        )
    if not verified(content["public_key"], content["signature"], canonical(body).encode()):
        raise DataError(f"{path}: the signature is not valid.", "The file has been changed.")
    return content


def signer(content: dict[str, Any]) -> str:
    return fingerprint(content["public_key"])


# -- seals -----------------------------------------------------------------------------------------------------------


def make_seal(participation: Participation, who: str) -> dict[str, Any]:
    """Hashes of what everybody has answered so far and of the chain of events. It shows no answer and counts as no
    look; that it was made is kept."""
    study, begun = participation.study, participation.clock()
    links, given = stored_data(participation)
    newest = max((one[3] for own in given.values() for one in own), default=0.0)
    now = max(newest, participation.clock())  # the server's clock may be ahead of this machine's
    body: dict[str, Any] = {
        "format": SEAL,
        "study": study.id,
        "title": study.title,
        "sealed_at": now,
        "eqlab": version("eqlab"),
        "answers": sum(map(len, given.values())),
        "links": len(links),
        "last_link": links[-1].link if links else "",
        "looks_since": _looks_since(participation, links),
        "complete_until": begun - _UNDER_WAY,
        "people": {mark_of(study.id, person): given_hashes(person, own) for person, own in sorted(given.items())},
    }
    body["sha256"] = seal_sha256(body)
    write_note(participation.store, now, who, "sealed", study.id, sha256=body["sha256"], people=len(given))
    return _signed(body)


def _looks_since(participation: Participation, links: Sequence[Link]) -> list[str]:
    """Hashes of the last link that tells of more than a look or a seal ("" if there is none), and of those after it."""
    entries = read_audit(participation.store, participation.study.id)
    quiet = {
        note_digest((one.at, one.who, one.action, one.detail)) for one in entries if one.action in (*LOOKS, "sealed")
    }
    after = list(takewhile(lambda link: link.kind == NOTED and link.digest in quiet, reversed(links)))
    return ["", *(link.link for link in links)][len(links) - len(after) :]


def seal_sha256(content: Mapping[str, Any]) -> str:
    own = {name: value for name, value in content.items() if name not in ("sha256", "public_key", "signature")}
    return hashlib.sha256(canonical(own).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SealCheck:
    """Data of today against a seal of then, person by person."""

    same: int
    erased: int
    changed: int
    missing: int
    added: int
    """People with answers from before the seal who are not in it."""
    broken: tuple[str, ...]
    """What is wrong with the chain of events."""
    later: int = 0
    """Links that the seal has and an export lacks, where they are looks and seals only."""

    @property
    def holds(self) -> bool:
        return not (self.changed or self.missing or self.added or self.broken)


def check_seal(
    seal: Mapping[str, Any],
    links: Sequence[Link],
    given: Given,
    against: Sequence[str] = (),
    *,
    is_export: bool = False,
) -> SealCheck:
    """Answers of the seal must be there as they were, unless their person was erased, and none that is older than the
    seal may have come since; later ones do not matter. `against`: what the chain says against the people of the same
    data: their arms, states and pages. An export may lack later looks and seals; a store has them."""
    study, sealed = seal["study"], seal["people"]
    until = seal.get("complete_until", seal["sealed_at"])
    whole = "complete_until" not in seal  # the first seals had one hash of all answers of a person
    earlier = {person: [one for one in own if one[3] <= until] for person, own in given.items()}
    old = {mark_of(study, person): given_hashes(person, own) for person, own in earlier.items() if own}
    now = {mark_of(study, person): given_hashes(person, own) for person, own in given.items() if own}
    if whole:
        now = {mark_of(study, person): [digest_of(person, own)] for person, own in earlier.items() if own}
        sealed, old = {mark: [digest] for mark, digest in sealed.items()}, now
    gone = set(sealed) - set(now)
    erased = gone & {link.mark for link in links if link.kind == "erased"}
    torn = broken(links)
    count = seal["links"]
    # older seals do not tell what their links are
    behind, since = count - len(links), seal.get("looks_since", ()) if is_export else ()
    newest = links[-1].link if links else ""
    later = behind if 0 < behind < len(since) and since[-1 - behind] == newest else 0
    if not torn and behind > later:
        torn = [
            f"its chain of events has {many(len(links), 'link')} and the seal {count}: was it made before the seal?"
        ]
    elif not torn and count and not later and links[count - 1].link != seal["last_link"]:
        torn = [f"the first {count} links of the chain of events are not those of the seal"]
    torn += [line for line in against if line not in torn]
    same = sum(set(old.get(mark, ())) <= set(own) <= set(now.get(mark, ())) for mark, own in sealed.items())
    changed = len(sealed) - same - len(gone)
    return SealCheck(same, len(erased), changed, len(gone - erased), len(set(old) - set(sealed)), tuple(torn), later)


def stored_data(participation: Participation) -> tuple[list[Link], dict[str, list[Any]]]:
    """The chain of events and everybody's answers, of real people."""
    with snapshot(participation.store.engine) as connection:
        links = read_chain(connection, participation.study.id)
        given = given_by(connection, participation.study.id, run=participation.design.run.id)
    return links, {person: own for person, own in given.items() if not is_simulated(person)}


def stored_breaks(participation: Participation, since: float) -> list[str]:
    """What the chain of events says against the tables of the store."""
    with snapshot(participation.store.engine) as connection:
        return breaks(connection, participation.design, since)
