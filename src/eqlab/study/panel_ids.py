"""How people come in and go out: the keyed hash that a panel's id becomes at once, and the way back to the panel.
The id itself is kept nowhere."""

import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import quote

from eqlab.core.study import Ending, Panel

_MOST = 200
"""Characters of a panel id; more is no id."""


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
