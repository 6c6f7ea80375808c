"""[talk] of a study file: people talk with models. What protects them (a line of help, being told that it is a machine)
is no option: a file without it is refused."""

from typing import Any, Literal, cast

from eqlab.core.study import TalkTerms
from eqlab.core.toml_file import Section
from eqlab.study.kinds.template import PLACEHOLDER

TALK = (
    *("person", "about", "opening", "talks", "turns", "characters", "why", "help", "machine", "told", "stopped"),
    *("if_down", "least_wait", "pace", "patience", "max_cost", "max_cost_person", "max_calls", "max_calls_person"),
    *("per_minute", "per_minute_all"),
)
_HELP = "where somebody in distress finds help in the participants' country, such as a crisis line with its hours"
_LONGEST = 5000
"""Characters of a message: even as emoji in a form they stay below what the server takes as one body."""


def talk(top: Section, allowed: bool) -> TalkTerms | None:
    if not allowed:
        if top.has("talk"):
            top.wrong("talk", "is not for this kind of study (delete it)")
        return None
    if not top.has("talk"):
        top.wrong("talk", "is missing (write a line [talk]; 'eqlab study init talk' shows what belongs there)")
        return TalkTerms()
    table, default = top.table("talk", TALK), TalkTerms()
    person = cast(Literal["speaker", "listener"], table.choice("person", ("speaker", "listener"), default.person))
    about = cast(Literal["own", "personas"], table.choice("about", ("own", "personas"), default.about))
    if person == "listener" and table.has("about"):
        table.wrong("about", "is for people who speak (delete the line; a model speaks here, as a persona)")
    if table.has("opening") and (person == "listener" or about == "personas"):
        table.wrong("opening", "is for people who speak of something of their own (delete the line)")
    return TalkTerms(
        person=person,
        about=about,
        opening=table.text("opening", ""),
        talks=table.whole("talks", default.talks, 1, 10),
        turns=table.whole("turns", default.turns, 1, 50),
        characters=table.whole("characters", default.characters, 100, _LONGEST),
        why=bool(table.flag("why", default.why)),
        help=_written(table, "help", f"is missing (write {_HELP})", f"is not written yet (write {_HELP})"),
        machine=_machine(table),
        told=cast(Literal["consent", "debrief"], table.choice("told", ("consent", "debrief"))),
        stopped=cast(Literal["code", "nothing"], table.choice("stopped", ("code", "nothing"), default.stopped)),
        if_down=cast(Literal["go_on", "wait"], table.choice("if_down", ("go_on", "wait"), default.if_down)),
        least_wait=table.number("least_wait", default.least_wait, 0, 60),
        **_limits(table, default),
    )


def _limits(table: Section, default: TalkTerms) -> dict[str, Any]:
    cost = table.number("max_cost", 0.0, 0.0, 1e6) if table.has("max_cost") else None
    each = table.number("max_cost_person", 0.0, 0.0, 1e6) if table.has("max_cost_person") else None
    calls = table.whole("max_calls", default.max_calls, 1, 10_000_000)
    return {
        "pace": table.whole("pace", default.pace, 0, 10_000),
        "patience": table.number("patience", default.patience, 1, 600),
        "max_cost": cost,
        "max_cost_person": each,
        "max_calls": calls,
        "max_calls_person": table.whole("max_calls_person", min(default.max_calls_person, calls), 1, calls),
        "per_minute": table.whole("per_minute", default.per_minute, 1, 600),
        "per_minute_all": table.whole("per_minute_all", default.per_minute_all, 1, 1_000_000),
    }


def _machine(table: Section) -> str:
    missing = (
        "is missing (write the sentence that says that the other one is a machine; told = "
        '"consent" shows it before people agree, told = "debrief" withholds it until the end)'
    )
    return _written(table, "machine", missing, missing.replace("is missing", "is not written yet"))


def _written(table: Section, key: str, missing: str, unchanged: str) -> str:
    """A text that only the researcher can write, and that must be there."""
    said = table.text(key, "")
    if not said:
        table.wrong(key, missing)
    elif PLACEHOLDER in said:
        table.wrong(key, unchanged)
    return said
