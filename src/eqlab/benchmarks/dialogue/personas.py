"""Personas: who speaks in a talk, what they need and how they say it. Read from this project's own file or from
a user's; everything that is wrong with it is said at once, with line, persona and key."""

import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, Literal, cast

from eqlab.benchmarks.dialogue.published import LANGUAGE, START, SagePersona
from eqlab.core.errors import DataError
from eqlab.core.item_file import columns, filled, instruction, read_items
from eqlab.core.toml_file import Section
from eqlab.core.values import dataclass

OPEN = "dialogue.toml"

Kind = Literal["trouble", "joy", "conflict"]
KINDS: tuple[Kind, ...] = ("trouble", "joy", "conflict")
FIXED_LINES = 3
"""Lines after the opening, for a speaker whose lines are fixed."""


@dataclass(frozen=True, slots=True)
class Persona:
    """Somebody with something to tell. Texts speak of the person in the third person."""

    id: str
    title: str
    """May be shown to anybody."""
    kind: Kind
    topic: str
    name: str
    age: int
    who: str
    happened: str
    need: str
    """What the person does not say at first. A listener never sees it, nor `helps`, `hurts` and the two `leaves`."""
    talks: str
    helps: tuple[str, ...]
    hurts: tuple[str, ...]
    leaves_satisfied: str
    leaves_hurt: str
    emotion: int
    """How the person feels as the talk begins, 0 to 100."""
    opening: str
    lines: tuple[str, ...]
    """What is said next, in this order, by a speaker whose lines are fixed, whatever the reply was."""
    quick: bool = False
    language: str = "en"
    """Of the whole file."""
    instruction: str = ""
    """A user's own words to the listener, of the whole file; empty: ours."""
    instruction_speaker: str = ""
    """A user's own words to a model that speaks, with {names} where parts of the persona go in."""

    @property
    def fixed(self) -> tuple[str, ...]:
        """Everything a speaker with fixed lines says, the opening first."""
        return (self.opening, *self.lines)


_OF_FILE = ("language", "instruction", "instruction_speaker")
_KEYS = tuple(field.name for field in fields(Persona) if field.name not in _OF_FILE)
SHEET, HOW = "sheet", "how"
PARTS = (
    *("name", "age", "who", "happened", "need", "talks", "helps", "hurts", "leaves_satisfied", "leaves_hurt"),
    "emotion",
)
"""Parts of a persona that a user's instruction may name; `sheet` is all of them in our words, `how` our way to answer.
"""
LABELS = ("Feeling", "Emotion", "Leaves", "Says")
"""The lines of a speaker's answer, in whatever language the rest is."""
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def parse_open(content: bytes, path: str = OPEN) -> list[Persona]:
    """The personas of a file, in its order. Raises DataError with all that is wrong with it."""
    row = columns(lists=("helps", "hurts", "lines"), numbers=("age", "emotion"), flags=("quick",))
    return read_items(content, path, _KEYS, _persona, row, about=("instruction_speaker",))


def _persona(entry: Section, top: Section) -> Persona:
    return Persona(
        id=_id(entry),
        title=entry.text("title", entry.text("id", "")),
        kind=cast(Kind, entry.choice("kind", KINDS)),
        topic=entry.text("topic", "not said"),
        name=entry.text("name"),
        age=_whole(entry, "age", 1, 120),
        who=entry.text("who"),
        happened=entry.text("happened"),
        need=entry.text("need"),
        talks=entry.text("talks"),
        helps=_texts(entry, "helps"),
        hurts=_texts(entry, "hurts"),
        leaves_satisfied=entry.text("leaves_satisfied"),
        leaves_hurt=entry.text("leaves_hurt"),
        emotion=_whole(entry, "emotion", 0, 100),
        opening=entry.text("opening"),
        lines=_lines(entry),
        quick=_flag(entry, "quick"),
        language=top.text("language", "en"),
        instruction=instruction(top, ()),
        instruction_speaker=_to_speaker(top),
    )


def _to_speaker(top: Section) -> str:
    key = "instruction_speaker"
    text = instruction(top, (), (SHEET, HOW, *PARTS), key)
    if text and not any(f"{{{part}}}" in text for part in (SHEET, "happened")):
        top.wrong(
            key, "lacks {sheet} (write it where the persona goes in, or its parts by name, {happened} among them)"
        )
    if text and f"{{{HOW}}}" not in text and not all(f"{label}:" in text for label in LABELS):
        lines = ", ".join(f"{label}:" for label in LABELS)
        top.wrong(key, f"does not say how to answer (write {{how}}, or ask for the four lines {lines})")
    return text


def _id(entry: Section) -> str:
    value = entry.text("id")
    if value and not _ID.fullmatch(value):
        entry.wrong("id", "is not an id (write small letters, digits and hyphens)")
    return value


def _whole(entry: Section, key: str, low: int, high: int) -> int:
    if not entry.has(key):
        entry.wrong(key, f"is missing (write a whole number from {low} to {high})")
        return low
    return entry.whole(key, low, low, high)


def _texts(entry: Section, key: str) -> tuple[str, ...]:
    if entry.values.get(key, []) == []:
        entry.wrong(key, f'is missing or empty (write {key} = ["…", "…"])')
        return ()
    return entry.texts(key)


def _lines(entry: Section) -> tuple[str, ...]:
    given = entry.values.get("lines")
    if isinstance(given, list) and given and len(given) != FIXED_LINES:
        entry.wrong("lines", f"holds {len(given)} lines (write {FIXED_LINES})")
    return _texts(entry, "lines")


def _flag(entry: Section, key: str) -> bool:
    value = entry.values.get(key, False)
    if not isinstance(value, bool):
        entry.wrong(key, "is neither true nor false (write one of them, without quotes)")
    return value is True


# -- EQ-Bench 3's scenarios ------------------------------------------------------------------------------------------
# EQ-Bench 3's scenarios (`scenario_prompts.txt`, MIT, fetched by the user): canned lines that a speaker says in turn.
# `######## ID | KIND | TITLE` begins a scenario, `####### Prompt1` each of its lines.

_SCENARIO = re.compile(r"########(?!#)\s*(\S.*)?")
_LINE = re.compile(r"#######(?!#)\s*(Prompt)?\s*(\d+)?")
_OPENING = re.compile(r"\A\ufeff?")


@dataclass(frozen=True, slots=True)
class Eqbench3Scenario:
    id: str
    kind: str
    title: str
    lines: tuple[str, ...]
    """What the speaker says, whatever the listener answers."""
    as_published: bool
    """Whether the published code reads these lines: it takes no heading that is not spelled "Prompt1" (no. 409)."""


def is_scenarios(content: bytes) -> bool:
    """Whether a file that is no TOML is of this kind: a line of it begins a scenario."""
    return any(_SCENARIO.match(line.strip()) for line in content.decode("utf-8", "replace").split("\n"))


def parse_scenarios(content: bytes, name: str) -> list[Eqbench3Scenario]:
    """Every scenario that has lines, those that the published code loses among them."""
    try:
        text = _OPENING.sub("", content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 text (byte {error.start}).", "Get the file again.") from error
    scenarios: dict[str, Eqbench3Scenario] = {}
    heading, lines, spelled = "", list[list[str]](), True
    begun = 0

    def close() -> None:
        said = tuple(joined for part in lines if (joined := "\n".join(part).strip()))
        if not heading or not said:
            return
        id_, kind, title = ([part.strip() for part in heading.split("|", 2)] + ["", ""])[:3]
        id_ = id_.split()[0]
        if id_ in scenarios:
            raise DataError(f"{name}, line {begun}: scenario {id_} is there twice.", "Get the file again.")
        scenarios[id_] = Eqbench3Scenario(id_, kind, title, said, spelled)

    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if scenario := _SCENARIO.match(line):
            close()
            heading, lines, spelled, begun = (scenario[1] or "").strip(), [], True, number
            if not heading or heading.startswith("|"):
                raise DataError(f"{name}, line {number}: a scenario without a number.", "Get the file again.")
        elif heading and (prompt := _LINE.match(line)):
            lines.append([])
            spelled = spelled and bool(prompt[1] and prompt[2])
        elif lines:
            lines[-1].append(raw.rstrip("\r"))
    close()
    if not scenarios:
        raise DataError(f"{name} holds no scenarios.", "EQ-Bench 3's file is data/scenario_prompts.txt.")
    return list(scenarios.values())


# -- whom a speaker plays --------------------------------------------------------------------------------------------
# Whom a speaker plays, the same for personas of ours and of SAGE: a sheet that only the speaker reads, how the person
# feels at first, and what is said if the lines are fixed.

_UNTOLD = 50
"""Nobody says how the speaker of a scenario feels, and nobody is asked."""


@dataclass(frozen=True, slots=True)
class Character:
    id: str
    title: str
    """May be shown to anybody."""
    kind: str
    topic: str
    sheet: str
    """Everything the speaker knows, the hidden need included. No listener and no rater ever sees it."""
    emotion: int
    """As the talk begins, 0 to 100."""
    opening: str
    """What is said first; empty where the speaker finds its own words."""
    lines: tuple[str, ...]
    """What a speaker with fixed lines says next."""
    language: str = "en"
    quick: bool = False
    task: bool = False
    """Whether the lines are a task with rules of their own, as EQ-Bench 3's: the listener is told nothing besides."""
    instruction: str = ""
    """A user's own words to the listener; empty: ours."""
    told: str = ""
    """A user's own words to a model that plays this character, all but how to answer; empty: ours."""


def from_persona(persona: Persona) -> Character:
    return Character(
        persona.id,
        persona.title,
        persona.kind,
        persona.topic,
        _sheet(persona),
        persona.emotion,
        persona.opening,
        persona.lines,
        persona.language,
        persona.quick,
        instruction=persona.instruction,
        told=_told_by_user(persona),
    )


def _told_by_user(persona: Persona) -> str:
    parts = {part: getattr(persona, part) for part in PARTS}
    words = {part: "; ".join(one) if isinstance(one, tuple) else str(one) for part, one in parts.items()}
    return filled(persona.instruction_speaker, **words, **{SHEET: _sheet(persona)})


def from_sage(persona: SagePersona) -> Character:
    """SAGE's people begin at 40 and open the talk in their own words, which nobody has written down."""
    told = {
        "Who you are": persona.who,
        "What has happened, and how you take it": persona.scene,
        "What you hope for and do not say": persona.need,
        "Your character": ", ".join(dict.fromkeys((persona.trait, *persona.traits))),
    }
    title = persona.topic or persona.id[:8]
    return Character(persona.id, title, "", persona.topic, _told(told), START, "", (), LANGUAGE)


def from_scenario(scenario: Eqbench3Scenario) -> Character:
    """EQ-Bench 3's scenarios: lines that are said whatever the reply was, by somebody who has no sheet."""
    title = scenario.title or scenario.kind or f"scenario {scenario.id}"
    opening, *lines = scenario.lines
    return Character(scenario.id, title, scenario.kind, "", "", _UNTOLD, opening, tuple(lines), task=True)


def _sheet(persona: Persona) -> str:
    return _told(
        {
            "Who you are": f"{persona.name}, {persona.age}. {persona.who}",
            "What has happened": persona.happened,
            "What you need and do not say at first": persona.need,
            "How you talk": persona.talks,
            "What does you good": "; ".join(persona.helps),
            "What hurts you": "; ".join(persona.hurts),
            "When you leave satisfied": persona.leaves_satisfied,
            "When you leave hurt": persona.leaves_hurt,
        }
    )


def _told(parts: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {text}" for name, text in parts.items() if text)


def to_key(character: Character) -> dict[str, Any]:
    """As a trial's key keeps it; the lines are a list, as in JSON."""
    body = asdict(character)
    del body["quick"]
    for late in ("task", "instruction", "told"):  # they came later: a talk of before keeps its id
        if not body[late]:
            del body[late]
    return body | {"lines": list(character.lines)}


def from_key(key: Mapping[str, Any]) -> Character:
    return Character(**{**key, "lines": tuple(key["lines"])})
