"""The first file of a study: which arms there could be, what is at hand, how long it takes, and the file's text, a
template with its few open places filled in."""

import json
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from eqlab.core.errors import DataError, UsageError
from eqlab.core.study import ENDINGS, PLACEHOLDER
from eqlab.runs import judge as judging
from eqlab.store.reader import StoredRun
from eqlab.store.store import Store
from eqlab.study.build_design import Say, arm_replies, design_of, split_source, wording_of
from eqlab.study.file import read_study
from eqlab.study.kinds import find_kind
from eqlab.study.overview import expected_minutes, fair_reward
from eqlab.study.panels import FEES, PANELS

_LONGEST_NAME = 60


def study_text(
    kind: str,
    store: Store,
    *,
    study_id: str = "",
    arms: Mapping[str, str] | None = None,
    source: str = "",
    panel: str = "none",
    data: Path | None = None,
    folder: Path | None = None,
    say: Say = lambda _: None,
) -> str:
    """A study file that works as it stands. `folder` is where it will be kept; `source` the run whose replies are
    rated, where no arms are named."""
    form = find_kind(kind).form()
    if panel not in PANELS:
        raise UsageError(
            f"Panel '{panel}' is not known.", f"Known: {', '.join(PANELS)}; name another in the file itself."
        )
    if arms and form.arms == "items":
        raise UsageError(f"A study of kind {kind} takes its arms from the items.", "Drop --arm.")
    if source and (arms or form.arms != "replies"):
        why = "--arm and --from both name the arms." if arms else f"A study of kind {kind} has no replies to rate."
        raise UsageError(why, "Drop --from, or take 'eqlab study init rating --from RUN'.")
    codes = draw_codes()
    named = settled_arms(arms, store, data, folder, source, say) if form.arms == "replies" else dict(arms or {})
    if form.arms == "models" and not named:
        named = {"embedded": "embedded"}
    instruments = _instruments(data)

    def filled(minutes: int, reward: float) -> str:
        return fill(
            form.template,
            study_id=study_id or kind,
            arms=named,
            instruments=instruments,
            panel=panel,
            codes=codes,
            minutes=minutes,
            reward=reward,
        )

    draft = filled(10, 0.0).replace(PLACEHOLDER, "…") if form.talks else filled(10, 0.0)  # what only people can write
    study = read_study(draft, "the study file")
    minutes = expected_minutes(design_of(study, store, data, say, folder=folder))
    return filled(max(1, round(minutes)), fair_reward(study, minutes))


def settled_arms(
    named: Mapping[str, str] | None,
    store: Store,
    data: Path | None,
    folder: Path | None,
    run: str = "",
    say: Say = lambda _: None,
) -> dict[str, str]:
    """The arms to write: those asked for, or what the newest run has. `last` becomes the run's id, because a study
    must not change when another run is made."""
    if not named:
        last = run == "last"
        stored = None if not run else judging.newest_with_replies(store) if last else store.find_run(run)
        return _arms_at_hand(store, say) if stored is None else _arms_of(store, stored, say)
    found = {}
    for name, source in named.items():
        where, chosen = split_source(source)
        if where == "last":
            where = judging.newest_with_replies(store).id
        elif Path(where).is_file():
            where = os.path.relpath(where, folder or Path())
        settled = f"{where}:{chosen}" if chosen else where
        arm_replies(name, settled, store, data, lambda _: None, folder)  # raises where there is nothing
        found[name] = settled
    return found


def _arms_at_hand(store: Store, say: Say) -> dict[str, str]:
    """Every model of the newest run with replies; beside a single one, or none, our own replies to the open prompts."""
    try:
        return _arms_of(store, judging.newest_with_replies(store), say)
    except UsageError:
        return {"author": "author"}


def _arms_of(store: Store, stored: StoredRun, say: Say) -> dict[str, str]:
    """Every model of a run that has replied; beside a single one our own replies, where they are to the same
    prompts."""
    replied = dict.fromkeys(row.arm for row in judging.run_replies(store, stored))
    for model in stored.config.models:
        if model.spec not in replied:
            say(f"{model.spec} is no arm: run {stored.id} has no reply of it.")
    arms: dict[str, str] = {}
    for number, spec in enumerate(replied, start=1):
        name = spec[-_LONGEST_NAME:]
        name = f"{number} {name}"[:_LONGEST_NAME] if name in arms else name
        arms[name] = f"{stored.id}:{spec}" if len(stored.config.models) > 1 else stored.id
    if len(arms) > 1:
        return arms
    ours = {item.id for item in judging.open_prompts()}
    if any(row.prompt in ours for row in judging.run_replies(store, stored)):
        arms["author"] = "author"
    return arms


def _instruments(data: Path | None) -> str:
    try:
        wording_of("TEQ", data)
    except DataError as error:
        name = error.message.rpartition(" is not in ")[0].rpartition(" and ")[2]
        return instruments_part(
            f"{name or 'its file'} was not found. Give a folder that has it (--data DIR or EQLAB_DATA)."
        )
    return instruments_part("")


_CODE = "ABCDEFGHJKLMNPQRSTUVWYZ23456789"
"""Nothing that is easily misread, nor the X of which placeholders are made."""
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
        "fee": str(FEES.get(panel, 0.0)),
    }
    return re.sub("@([a-z]+)@", lambda slot: slots[slot.group(1)], text)


def instruments_part(why_not: str) -> str:
    """The lines about the TEQ: in use, or not and why."""
    told = (
        "# Questionnaires before the tutorial, by key; `eqlab data instruments` lists them. The published study asked\n"
        "# the TEQ (Toronto Empathy Questionnaire), whose wording is its authors' and not shipped."
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
