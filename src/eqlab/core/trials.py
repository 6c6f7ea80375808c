"""A trial: one form put to one subject once, as messages. Immutable; its id is a hash of its content, so the same
question has the same id in every run, store and year."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from sys import intern
from typing import Any, Literal

import orjson

from eqlab.core.forms import Form, Scale, field_from_json, fields_to_json
from eqlab.core.values import dataclass

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    text: str


def one_prompt(prompt: str, system: str = "") -> tuple[Message, ...]:
    """The messages of a single question."""
    message = Message("user", prompt)
    return (Message("system", system), message) if system else (message,)


AnswerMode = Literal["text", "json"]


@dataclass(frozen=True, slots=True)
class Trial:
    benchmark: str
    items: tuple[str, ...]
    condition: str
    """What the benchmark varies: "plain" or "revision", "default" or "evoked"."""
    stimulus: str
    """What the subject looks at; a person sees it above the form."""
    form: Form
    prompt: str
    """Stimulus and form in words, as a model gets them."""
    system: str = ""
    mode: AnswerMode = "text"
    """"json" asks for the form as a JSON object (structured answers)."""
    order_seed: int | None = None
    key: Mapping[str, Any] = field(default_factory=dict)
    """What scoring needs and no subject sees (references, labels). Plain JSON values."""
    messages: tuple[Message, ...] = ()
    """A later turn of a talk: what was said before `prompt`."""
    talk: str = ""
    """A later turn: the id of the talk's first trial."""
    turn: int = 0
    """A later turn: how many trials of the talk came before."""
    seat: str = ""
    """Who answers: empty for the subject, else one of the benchmark's `seats` (a simulated person who talks to it)."""
    id: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", _content_hash(to_json(self)))


def outgoing(trial: Trial) -> tuple[Message, ...]:
    """The messages as a model gets them."""
    system = (Message("system", trial.system),) if trial.system else ()
    return (*system, *trial.messages, Message("user", trial.prompt))


def to_json(trial: Trial) -> str:
    """Canonical JSON of everything but the id. What only talks, or points dealt out, have is left out elsewhere: a
    question of before there were such keeps its id."""
    body: dict[str, Any] = {
        "benchmark": trial.benchmark,
        "items": trial.items,
        "condition": trial.condition,
        "stimulus": trial.stimulus,
        "form": fields_to_json(trial.form),
        "prompt": trial.prompt,
        "system": trial.system,
        "mode": trial.mode,
        "order_seed": trial.order_seed,
        "key": trial.key,
    }
    if trial.form.total is not None:
        body["total"] = trial.form.total
    if trial.messages or trial.talk:
        body["messages"] = [[message.role, message.text] for message in trial.messages]
        body["talk"] = [trial.talk, trial.turn]
    if trial.seat:
        body["seat"] = trial.seat
    return _as_text(body)


def _as_text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def from_json(text: str, trial_id: str = "") -> Trial:
    """The trial that `to_json` wrote. `trial_id` is trusted when given, which saves hashing on reading."""
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError:  # NaN, which is no JSON but which `to_json` writes
        body = json.loads(text)
    fields = tuple(_scale(*one) if isinstance(one, list) else field_from_json(one) for one in body.pop("form"))
    body["items"] = tuple(body["items"])
    if "talk" in body:
        body["talk"], body["turn"] = body["talk"]
        body["messages"] = tuple(Message(role, said) for role, said in body["messages"])
    return Trial(form=Form(fields=fields, total=body.pop("total", None)), id=trial_id, **body)


def _scale(key: str, label: str, low: int, high: int, anchors: list[Any], reverse: bool) -> Scale:
    return _kept(key, label, low, high, tuple(map(tuple, anchors)), reverse)


@lru_cache(maxsize=4096, typed=True)
def _kept(key: str, label: str, low: int, high: int, anchors: tuple[tuple[int, str], ...], reverse: bool) -> Scale:
    """The same few scales in every order again and again: kept once, they are made and found faster."""
    labels = tuple((value, intern(name)) for value, name in anchors)
    return Scale(intern(key), intern(label), low, high, labels, reverse)


def without(text: str, subject: str) -> str:
    """This JSON, whose key no longer knows what a subject said. The trial keeps its id."""
    body = json.loads(text)
    for name, value in body["key"].items():
        if isinstance(value, list):
            body["key"][name] = [one for one in value if not isinstance(one, list) or one[:1] != [subject]]
    return _as_text(body)


def is_unchanged(trial_id: str, text: str) -> bool:
    """Whether this JSON is that of the trial with this id."""
    return _content_hash(text) == trial_id


def _content_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
