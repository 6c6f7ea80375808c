"""Panels, through which people come in and go out: known ones by name, the keyed hash that an id becomes at once,
links that only the server can have made, the way back. The id itself is kept nowhere."""

import base64
import hmac
import re
import unicodedata
from collections.abc import Mapping
from urllib.parse import quote

from eqlab.core.moves import ENDING, State
from eqlab.core.study import Ending, Panel, Study

PANELS: Mapping[str, Panel] = {
    "none": Panel(),
    "prolific": Panel(
        "prolific",
        person="PROLIFIC_PID",
        session="SESSION_ID",
        study="STUDY_ID",
        complete_url="https://app.prolific.com/submissions/complete?cc={code}",
        id_pattern="[0-9a-f]{24}",
    ),
    "cloudresearch": Panel(
        "cloudresearch", person="participantId", session="assignmentId", study="projectId", id_pattern="[0-9a-z]{10,64}"
    ),
    "sona": Panel("sona", person="survey_code", id_pattern="[0-9]{1,12}"),
}
"""Parameters of their addresses, and where people go at the end; study files may name others. CloudResearch gives
every project an address of return of its own: the study file names it. Sona's wants the person's id, which we do not
keep: people are shown the code, and credit is granted by hand. Patterns are held against ids in small letters."""
FEES: Mapping[str, float] = {"prolific": 0.333}
"""What a panel takes on top of the reward, as a share of it, as we last knew it: Prolific's rate for universities and
charities (companies: 0.428), without tax. A new study file says it, and to look it up."""
_MOST = 200
"""Characters of a panel id; more is no id."""
SIGNATURE = "sig"
"""Parameter of a signed link."""


def derive(secret: bytes, purpose: str) -> bytes:
    """A key for one purpose, so that no two uses of the secret share one."""
    return hmac.digest(secret, f"eqlab {purpose}".encode(), "sha256")


_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Characters that show nothing, though Unicode counts them among letters and marks."""


def one_spelling(panel_id: str) -> str:
    """One person, one id: blanks around it, full-width letters, capitals and what nobody can see make no other person.
    (No panel tells people apart by capitals.)"""
    shown = (char for char in _UNSEEN.sub("", panel_id) if unicodedata.category(char) not in ("Cc", "Cf", "Cs"))
    return unicodedata.normalize("NFKC", "".join(shown)).strip().casefold()


def panel_hash(secret: bytes, panel_id: str) -> str:
    """What is stored instead of a panel's id."""
    return hmac.digest(derive(secret, "panel"), one_spelling(panel_id).encode(), "sha256").hex()


def tombstone(secret: bytes, study: str, panel_id: str) -> str:
    """What stays of an id when its person is erased: under another key and for one study only, so that it cannot be
    matched with anything else that is stored."""
    text = f"{study}\0{one_spelling(panel_id)}"
    return hmac.digest(derive(secret, "tombstone"), text.encode(), "sha256").hex()


def signature(secret: bytes, study: str, panel_id: str, until: int = 0) -> str:
    """Proves that a link to a study was made for this id by the holder of the secret, and until when it is good."""
    text = f"{study}\0{one_spelling(panel_id)}" + (f"\0{until}" if until else "")
    return _short(hmac.digest(derive(secret, "link"), text.encode(), "sha256"), 26)


def is_signed(secret: bytes, study: str, panel_id: str, given: str, now: float = 0.0) -> bool:
    """`given` is the signature, with the time until which it is good in seconds before a hyphen. Links that 0.2 made
    have no such time and stay good."""
    when, _, sign = given.rpartition("-")
    if when and not (when.isascii() and when.isdecimal() and len(when) < 12 and int(when) >= now):
        return False
    good = signature(secret, study, panel_id, int(when or 0))
    return hmac.compare_digest(sign.lower().encode(), good.encode())


def signed_link(secret: bytes, base: str, study: str, panel: Panel, panel_id: str, until: int = 0) -> str:
    sign = (f"{until}-" if until else "") + signature(secret, study, panel_id, until)
    query = f"{quote(panel.person)}={quote(panel_id.strip())}&{SIGNATURE}={sign}"
    return f"{base}/s/{study}?{query}"


def resume_code(secret: bytes, study: str, person: str) -> str:
    """With this code a person goes on in another browser. 40 bits, and guesses are limited."""
    made = _short(hmac.digest(derive(secret, "resume"), f"{study}\0{person}".encode(), "sha256"), 8)
    return f"{made[:4]}-{made[4:]}".upper()


def same_code(given: str, right: str) -> bool:
    """However it was typed: without the hyphen, with blanks, in small letters, 0 for O and 1 for I."""
    plain = re.sub(r"[^A-Z2-7]", "", given.upper().replace("0", "O").replace("1", "I"))
    return hmac.compare_digest(plain.encode(), right.replace("-", "").encode())


def read_panel_id(parameters: Mapping[str, str], panel: Panel, any_form: bool = False) -> str | None:
    """The id in the address; None when there is none, only the panel's unfilled placeholder, or nothing that an id of
    this panel can be."""
    found = parameters.get(panel.person, "").strip() if panel.person else ""
    if len(found) > _MOST or not one_spelling(found) or "%" in found or found.startswith("{"):
        return None
    if not any_form and panel.id_pattern and not re.fullmatch(panel.id_pattern, one_spelling(found)):
        return None
    return found


def ending_of(study: Study, state: State, *, assigned: bool) -> Ending | None:
    """The ending whose code somebody is shown. Who stops in a study of talks may get that of those who complete, once
    they have a place; for whom the study is not meant it is full."""
    paid = study.talk is not None and study.talk.stopped == "code" and assigned
    return "complete" if state == "stopped" and paid else ENDING.get("full" if state == "took_another" else state)


def shown_name(panel: Panel) -> str:
    """As the panel spells itself."""
    return {"cloudresearch": "CloudResearch"}.get(panel.name.casefold(), panel.name.capitalize())


def way_back(panel: Panel, ending: Ending) -> str:
    """The panel's address for this ending; empty when there is no address, or no code for it."""
    code = panel.code(ending)
    if not panel.complete_url or ("{code}" in panel.complete_url and not code):
        return ""
    return panel.complete_url.replace("{code}", quote(code, safe=""))


def _short(digest: bytes, characters: int) -> str:
    return base64.b32encode(digest).decode()[:characters].lower()
