"""How templates become pages: escaped, made visible, and with a policy that admits our own style and script only."""

import base64
import hashlib
from typing import Any

from jinja2 import BaseLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from eqlab.core import text
from eqlab.tables import svg as figures


def environment(loader: BaseLoader | None = None) -> Environment:
    """Templates of the report, or of another loader; undefined names are errors, everything printed is escaped."""
    made = Environment(
        loader=loader or PackageLoader("eqlab.publish.report", "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(text=text, figures=figures)
    return made


def source(made: Environment, name: str) -> str:
    """A style sheet or script as it is; templates of our own, never a user's text."""
    if made.loader is None:
        raise LookupError(f"no loader for {name}")
    return made.loader.get_source(made, name)[0]


def policy(style: str, *scripts: str) -> str:
    """A content security policy: these inline texts, and nothing from anywhere."""
    allowed = " ".join(f"'{_digest(script)}'" for script in scripts) or "'none'"
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src {allowed}; base-uri 'none'; form-action 'none'"
    )


def _digest(inline: str) -> str:
    """Lets the policy admit exactly this inline text and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()


def _shown(value: Any) -> Any:
    """Applied to everything a template prints, before escaping."""
    if isinstance(value, Markup):
        return value
    return text.UNDEFINED if value is None else text.visible(str(value))
