"""How people come in and go out: the panels we know, and the keyed hash that a panel's id becomes at once.
The id itself is kept nowhere."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from eqlab.people.study import Ending, Panel

_MOST = 200
"""Characters of a panel id; more is no id."""


@dataclass(frozen=True, slots=True)
class KnownPanel:
    """A panel's names for its parameters, where it takes people back, and how it signs its messages."""

    person: str
    session: str = ""
    study: str = ""
    complete_url: str = ""
    signs: bool = False
    """Whether it sends signed messages about submissions, in Prolific's manner."""


PANELS: Mapping[str, KnownPanel] = {
    "prolific": KnownPanel(
        "PROLIFIC_PID", "SESSION_ID", "STUDY_ID", "https://app.prolific.com/submissions/complete?cc={code}", signs=True
    ),
    "cloudresearch": KnownPanel(
        "participantId",
        "assignmentId",
        "projectId",
        "https://connect.cloudresearch.com/participant/complete?code={code}",
    ),
    "sona": KnownPanel("survey_code", "", "experiment_id"),
    "none": KnownPanel(""),
}
"""Sona's address of return is the university's own: the study file names it. Anything else is a custom panel, whose
study file names its parameter."""


def complete_panel(panel: Panel) -> Panel:
    """A study's panel, with what a known panel says filled in where the study file is silent."""
    known = PANELS.get(panel.name)
    if known is None:
        return panel
    return Panel(
        panel.name,
        panel.person or known.person,
        panel.session or known.session,
        panel.study or known.study,
        panel.complete_url or known.complete_url,
        panel.codes,
    )


def derive(secret: bytes, purpose: str) -> bytes:
    """A key for one purpose, so that no two uses of the secret share one."""
    return hmac.new(secret, f"eqlab {purpose}".encode(), hashlib.sha256).digest()


def panel_hash(secret: bytes, panel_id: str) -> str:
    """What is stored instead of a panel's id: HMAC-SHA256 of the id without surrounding blanks."""
    return hmac.new(derive(secret, "panel"), panel_id.strip().encode(), hashlib.sha256).hexdigest()


def read_panel_id(parameters: Mapping[str, str], panel: Panel) -> str | None:
    """The id in the address; None when there is none, or only the panel's unfilled placeholder."""
    found = parameters.get(panel.person, "").strip() if panel.person else ""
    if not found or len(found) > _MOST or "%" in found or found.startswith("{"):
        return None
    return found


def way_back(panel: Panel, ending: Ending) -> str:
    """The panel's address for this ending; empty when there is no address, or no code for it."""
    code = panel.code(ending)
    if not panel.complete_url or ("{code}" in panel.complete_url and not code):
        return ""
    return panel.complete_url.replace("{code}", quote(code, safe=""))
