"""A trial: one form put to one subject once. Immutable; its id is a hash of its content, so the same question
has the same id in every run, store and year."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Any, Literal

from eqlab.core.forms import Form, Scale, field_from_json, fields_to_json

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
    id: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", _content_hash(to_json(self)))


def to_json(trial: Trial) -> str:
    """Canonical JSON of everything but the id."""
    body = {
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
    return json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def from_json(text: str, trial_id: str = "") -> Trial:
    """The trial that `to_json` wrote. `trial_id` is trusted when given, which saves hashing on reading."""
    body = json.loads(text)
    fields = tuple(_scale(*one) if isinstance(one, list) else field_from_json(one) for one in body.pop("form"))
    body["items"] = tuple(body["items"])
    return Trial(form=Form(fields=fields), id=trial_id, **body)


def _scale(key: str, label: str, low: int, high: int, anchors: list[Any], reverse: bool) -> Scale:
    """The same few keys and words again and again: kept once, they are also found faster."""
    labels = tuple((value, intern(name)) for value, name in anchors)
    return Scale(intern(key), intern(label), low, high, labels, reverse)


def _content_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
