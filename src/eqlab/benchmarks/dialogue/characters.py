"""Whom a speaker plays, the same for personas of ours and of SAGE: a sheet that only the speaker reads, how the person
feels at first, and what is said if the lines are fixed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from eqlab.benchmarks.dialogue.eqbench3 import Eqbench3Scenario
from eqlab.benchmarks.dialogue.personas import PARTS, SHEET, Persona
from eqlab.benchmarks.dialogue.published import LANGUAGE, START, SagePersona
from eqlab.core.item_file import filled

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
