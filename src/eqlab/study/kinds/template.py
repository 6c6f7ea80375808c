"""The study file that `eqlab study init` writes: a template with its few open places filled in."""

import json
import re
import secrets
from collections.abc import Mapping

from eqlab.core.study import ENDINGS

PLACEHOLDER = "CHANGE ME"
"""Stands where only the researcher knows what to write; `eqlab study check` warns about it."""
_CODE = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_PANEL = """\
# Where people come from. "none": anybody who has the link, by a button on the first page. "prolific": people come from
# Prolific, whose parameters are known; any other panel needs `person` (the parameter in the address that carries its
# id of a person) and `complete_url` (where people go at the end, with {code} in it). One code for each ending, drawn
# at random for this file: enter the same codes at the panel."""


def fill(
    text: str,
    *,
    study_id: str,
    arms: Mapping[str, str],
    instruments: str,
    panel: str,
    codes: Mapping[str, str],
    minutes: int,
    reward: float,
) -> str:
    """`text` is the kind's template."""
    first = next(iter(arms), "")
    slots = {
        "id": _quoted(study_id),
        "arms": "\n".join(f"{_quoted(name)} = {_quoted(source)}" for name, source in arms.items()),
        "reference": f"reference = {_quoted(first)}",
        "instruments": instruments,
        "panel": _panel_part(panel, codes),
        "minutes": str(minutes),
        "reward": f"{reward:.2f}",
    }
    return re.sub("@([a-z]+)@", lambda slot: slots[slot.group(1)], text)


def instruments_part(why_not: str) -> str:
    """The lines about the TEQ: in use, or not and why."""
    told = (
        "# Questionnaires before the tutorial, by key; `eqlab instruments` lists them. The published study asked the\n"
        "# TEQ (Toronto Empathy Questionnaire), whose wording is its authors' and not shipped."
    )
    if not why_not:
        return f'{told}\ninstruments = ["TEQ"]\n'
    return f'{told} Left out here:\n# {why_not}\n# instruments = ["TEQ"]\n'


def draw_codes() -> dict[str, str]:
    """A completion code for each ending, which nobody can guess."""
    return {ending: "".join(secrets.choice(_CODE) for _ in range(8)) for ending in ENDINGS}


def _panel_part(panel: str, codes: Mapping[str, str]) -> str:
    sign = "# " if panel == "none" else ""
    lines = [
        _PANEL,
        "[panel]",
        f"name = {_quoted(panel)}",
        "",
        f"{sign}[panel.codes]",
        *(f"{sign}{ending} = {_quoted(code)}" for ending, code in codes.items()),
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML string: what JSON makes of a text is one."""
    return json.dumps(text, ensure_ascii=False)
