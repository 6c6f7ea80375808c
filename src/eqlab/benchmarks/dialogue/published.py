"""SAGE's personas and talks (Zhang et al., arXiv 2505.02847), read as published: one JSON object a line, Chinese text.

A speaker is simulated by a model: it opens, the listener (the model under test) replies, and before each next line the
speaker notes down what it feels. Reading is all that is done here; what follows from it is scored elsewhere."""

import ast
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from eqlab.core.errors import DataError
from eqlab.core.values import dataclass

PERSONAS = "sage/SAGE/profile/simulator_profile.jsonl"
TALKS = "sage/SAGE/dataset/*_based_simulator/*_result.jsonl"
LANGUAGE = "zh"

START, CAP, SUCCESS, FAILURE = 40, 100, 100, 10
"""Emotion at the opening; its highest value; a talk succeeds from here on, and fails below this."""
MOST_REPLIES = 10

_STATES = ((SUCCESS, "S"), (70, "A"), (40, "B"), (FAILURE, "C"))
_SEATS: Mapping[object, Literal["speaker", "listener"]] = {"user": "speaker", "assistant": "listener"}


@dataclass(frozen=True, slots=True)
class SagePersona:
    """Whom the speaker plays: less is told apart than in a persona of ours, most of it stands in two long texts."""

    id: str
    who: str
    """Name, age, work, habits, way of talking (`player`)."""
    scene: str
    """What happened, how the person reacts in which mood, and at its end the hidden need."""
    need: str
    """What the person hopes for without saying so (`task`)."""
    trait: str
    """The main trait of character (`main_cha`)."""
    traits: tuple[str, ...] = ()
    topic: str = ""


@dataclass(frozen=True, slots=True)
class SageTurn:
    seat: Literal["speaker", "listener"]
    text: str
    emotion: float | None = None
    """The speaker's, after the reply before."""
    feeling: str = ""
    """Why it is so, in the speaker's own notes; never seen by the listener."""
    plan: str = ""
    """How the speaker means to go on."""
    think: str = ""
    """What a listener that thinks aloud wrote before its reply."""


@dataclass(frozen=True, slots=True)
class Talk:
    persona: str
    line: int
    """Where in the file."""
    final: float
    """The emotion that the talk ended with: its score."""
    state: str
    """S, A, B, C or F as the file says; empty if it does not."""
    turns: tuple[SageTurn, ...]
    topic: str = ""

    @property
    def replies(self) -> int | None:
        """How often the listener spoke; None if the file keeps no turns."""
        return sum(turn.seat == "listener" for turn in self.turns) if self.turns else None

    @property
    def course(self) -> tuple[float, ...]:
        """The emotion over the speaker's turns, the opening first."""
        return tuple(turn.emotion for turn in self.turns if turn.emotion is not None)


def state_of(emotion: float) -> str:
    return next((letter for lowest, letter in _STATES if emotion >= lowest), "F")


def parse_personas(content: bytes, name: str) -> list[SagePersona]:
    """Every persona of `simulator_profile.jsonl`, in its order; ids are unique."""
    personas: dict[str, SagePersona] = {}
    for number, record in _records(content, name):
        place = f"{name}, line {number}"
        group = record.get("cha_group") or []
        persona = SagePersona(
            _text(record, "id", place),
            _text(record, "player", place),
            _text(record, "scene", place),
            _text(record, "task", place),
            _text(record, "main_cha", place),
            tuple(str(one) for one in group) if isinstance(group, list) else (str(group),),
            str(record.get("topic") or ""),
        )
        if persona.id in personas:
            raise _broken(place, f"persona {persona.id} stands in an earlier line, too")
        personas[persona.id] = persona
    return list(personas.values())


def parse_talks(content: bytes, name: str) -> list[Talk]:
    """Every talk of one listener with one speaker (`<model>_result.jsonl`), in the file's order."""
    return [_talk(record, number, f"{name}, line {number}") for number, record in _records(content, name)]


def _talk(record: Mapping[str, Any], number: int, place: str) -> Talk:
    state = record.get("emo_state")
    return Talk(
        _text(record, "id", place),
        number,
        _final(record, place),
        state.removeprefix("Emotion-") if isinstance(state, str) else "",
        tuple(_turns(record.get("history"), place)),
        str(record.get("topic") or ""),
    )


def _records(content: bytes, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(line number, object). Lines end at "\\n" and nowhere else: texts hold other separators, raw ones too."""
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        place = f"{name}, line {number}"
        try:
            record = json.loads(line.decode("utf-8"), strict=False)
        except UnicodeDecodeError as error:
            raise _broken(place, f"no UTF-8 text at byte {error.start}") from error
        except (ValueError, RecursionError) as error:
            raise _broken(place, f"no JSON object ({_why(error)})") from error
        if not isinstance(record, dict):
            raise _broken(place, f"no JSON object but {_kind(record)}")
        yield number, record


def _turns(history: object, place: str) -> Iterator[SageTurn]:
    if isinstance(history, str):
        history = _unpacked(history, place)
    if history is None:
        return
    if not isinstance(history, list):
        raise _broken(place, f"'history' is {_kind(history)}, not a list of turns")
    for position, turn in enumerate(history, 1):
        if not isinstance(turn, dict) or "role" not in turn:
            raise _broken(place, f"turn {position} of 'history' is not an object with a role")
        if turn["role"] == "system":  # what a model was told, said by nobody
            continue
        seat = _SEATS.get(turn["role"]) if isinstance(turn["role"], str) else None
        if seat is None:
            raise _broken(place, f"turn {position} of 'history' has the role {turn['role']!r}, not user or assistant")
        yield SageTurn(
            seat,
            _loose(turn.get("content")),
            _number(turn.get("emotion-point")) if seat == "speaker" else None,
            _loose(turn.get("thinking")),
            _loose(turn.get("planning")),
            _loose(turn.get("think")),
        )


def _unpacked(text: str, place: str) -> object:
    """A list kept as a string: JSON, or as Python writes it."""
    if not text.strip():
        return None
    try:
        return json.loads(text, strict=False)
    except RecursionError as error:
        raise _broken(place, "'history' is nested too deeply") from error
    except ValueError:
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise _broken(place, f"'history' is a string that holds no list of turns ({_why(error)})") from error


def _text(record: Mapping[str, Any], key: str, place: str) -> str:
    value = record.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and key == "id":
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise _broken(place, f"'{key}' is missing or empty" if value in (None, "") else f"'{key}' is {_kind(value)}")
    return value


def _final(record: Mapping[str, Any], place: str) -> float:
    if "emo_point" not in record:
        raise _broken(place, "'emo_point', the final emotion, is missing")
    value = _number(record["emo_point"])
    if value is None:
        raise _broken(place, f"'emo_point', the final emotion, is {_kind(record['emo_point'])}, not a number")
    return value


def _number(value: object) -> float | None:
    """A finite number, or a string of one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _loose(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", str: "text", list: "a list", dict: "an object", tuple: "a list"}
    return names.get(type(value), "a number")


def _why(error: BaseException) -> str:
    """The first line of what the parser says, without the text it read."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos + 1}"
    return (str(error).splitlines() or [""])[0][:80] or type(error).__name__


def _broken(place: str, why: str) -> DataError:
    return DataError(f"{place}: {why}.", "Get the file again with 'eqlab data fetch sage', or correct the line.")
