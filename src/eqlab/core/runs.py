"""A run: a frozen configuration and its answers. The same configuration is the same run, so starting it again
continues it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, field, fields
from functools import cached_property
from typing import Any, Literal

from eqlab.core.values import dataclass

PEOPLE = "people"
"""Everybody of a run who is a person (`person:<pseudonym>`), taken together."""
OWN = "own"
"""The item set of a run that asked a user's own file."""
TITLE = "title"
"""The option in which such a run keeps what the file calls itself."""
PERSON = "person:"
"""How the subject of one person begins."""
SIMULATED = "sim"
"""How the pseudonym of a simulated person begins, in every row of every table; those of people are hexadecimal."""


def is_simulated(person: str) -> bool:
    """Whether a person of a study is made up, by their pseudonym."""
    return person.startswith(SIMULATED)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """One model as a subject of a run."""

    spec: str
    """`embedded`, `gguf:PATH` or `provider/name`."""
    base_url: str = ""
    structured: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Sampling settings that override the benchmark's (temperature, max_tokens, top_p …)."""
    role: Literal["model", "judge", "seat"] = "model"
    """A judge is a model whose trials show somebody's reply; one in a seat takes part in another model's talk."""
    label: str = ""
    """Tells apart what is behind one name at different times: a model that was trained again."""

    @property
    def subject(self) -> str:
        return f"{self.role}:{self.spec}"


@dataclass(frozen=True, slots=True)
class BenchmarkConfig:
    name: str
    protocol: int
    """The benchmark's own version: raised when a change makes old and new answers incomparable."""
    item_set: str
    """`open` or `published`."""
    items_sha256: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RunConfig:
    models: tuple[ModelConfig, ...]
    """Empty where people answered; they are subjects of the store's plan, and scored together."""
    benchmarks: tuple[BenchmarkConfig, ...]
    profile: str
    limit: int | None
    repeats: int | None
    seed: int

    def pairs(self) -> list[tuple[str, BenchmarkConfig]]:
        """Every subject with every benchmark, in the order of asking; people count as one."""
        subjects = [model.subject for model in self.models] or [PEOPLE]
        return [(subject, benchmark) for subject in subjects for benchmark in self.benchmarks]

    @cached_property
    def id(self) -> str:
        """Ten hex digits of the identity's hash; made once, for it takes long with many models."""
        text = json.dumps(identity(self), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:10]


# -- identity ------------------------------------------------------------------------------------------------------

IDENTITY = 1
"""How a configuration becomes an id. A field that came after 0.1 is told only where it is not at its default, so the
same configuration has the same id in every version; raise this, and tell it, when that can no longer be."""
_FIELDS: Mapping[type, frozenset[str]] = {
    ModelConfig: frozenset({"spec", "base_url", "structured", "settings", "role"}),
    BenchmarkConfig: frozenset({"name", "protocol", "item_set", "items_sha256", "options"}),
    RunConfig: frozenset({"models", "benchmarks", "profile", "limit", "repeats", "seed"}),
}
"""What is always told, since identity 1."""


def identity(config: RunConfig) -> dict[str, Any]:
    """What makes a run the run it is, as plain values."""
    told = _told(config)
    told["models"] = [_told(model) for model in config.models]
    told["benchmarks"] = [_told(benchmark) for benchmark in config.benchmarks]
    return told if IDENTITY == 1 else {"identity": IDENTITY, **told}


def _told(part: RunConfig | ModelConfig | BenchmarkConfig) -> dict[str, Any]:
    always = _FIELDS[type(part)]
    values = {field.name: (getattr(part, field.name), _default(field)) for field in fields(part)}
    return {name: value for name, (value, default) in values.items() if name in always or value != default}


def _default(field: "Field[Any]") -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def config_to_json(config: RunConfig) -> str:
    return json.dumps(asdict(config), sort_keys=True, ensure_ascii=False)


def config_from_json(text: str) -> RunConfig:
    body = json.loads(text)
    body["models"] = tuple(ModelConfig(**model) for model in body["models"])
    body["benchmarks"] = tuple(BenchmarkConfig(**benchmark) for benchmark in body["benchmarks"])
    return RunConfig(**body)
