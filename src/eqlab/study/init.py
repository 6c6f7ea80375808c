"""The first file of a study: which arms there could be, what is at hand, how long it takes, and the file's text."""

import os
from collections.abc import Mapping
from pathlib import Path

from eqlab.core.errors import DataError, UsageError
from eqlab.runs import judge as judging
from eqlab.store.store import Store
from eqlab.study.build_design import Say, arm_replies, design_of, split_source, wording_of
from eqlab.study.file import read_study
from eqlab.study.kinds.registry import find_kind
from eqlab.study.kinds.template import PLACEHOLDER, draw_codes, fill, instruments_part
from eqlab.study.overview import expected_minutes, fair_reward
from eqlab.study.panels import PANELS

_LONGEST_NAME = 60


def study_text(
    kind: str,
    store: Store,
    *,
    study_id: str = "",
    arms: Mapping[str, str] | None = None,
    panel: str = "none",
    data: Path | None = None,
    folder: Path | None = None,
    say: Say = lambda _: None,
) -> str:
    """A study file that works as it stands. `folder` is where it will be kept."""
    form = find_kind(kind).form()
    if panel not in PANELS:
        raise UsageError(
            f"Panel '{panel}' is not known.", f"Known: {', '.join(PANELS)}; name another in the file itself."
        )
    if arms and form.arms == "items":
        raise UsageError(f"A study of kind {kind} takes its arms from the items.", "Drop --arm.")
    codes = draw_codes()
    named = settled_arms(arms, store, data, folder) if form.arms == "replies" else dict(arms or {})
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
    named: Mapping[str, str] | None, store: Store, data: Path | None, folder: Path | None
) -> dict[str, str]:
    """The arms to write: those asked for, or what the newest run has. `last` becomes the run's id, because a study
    must not change when another run is made."""
    if not named:
        return _arms_at_hand(store, data)
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


def _arms_at_hand(store: Store, data: Path | None) -> dict[str, str]:
    """Every model of the newest run with replies; beside a single one, or none, our own replies to the open prompts."""
    try:
        stored = judging.newest_with_replies(store)
        replied = dict.fromkeys(row.arm for row in judging.run_replies(store, stored))
    except UsageError:
        return {"author": "author"}
    if len(replied) > 1:
        return {spec[-_LONGEST_NAME:]: f"{stored.id}:{spec}" for spec in replied}
    arms = {spec[-_LONGEST_NAME:]: stored.id for spec in replied}
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
