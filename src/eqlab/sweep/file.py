"""The sweep file: models × benchmarks × seeds in TOML, read and checked whole before anything else happens.

Nothing of a run's identity hides elsewhere, and no key is ever in it: a key is named by its environment variable."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from eqlab.core.errors import DataError, UsageError
from eqlab.core.settings import holds_secret, is_secret, secret_among
from eqlab.core.toml_file import Section, decoded, read_toml
from eqlab.core.values import dataclass
from eqlab.models.providers import is_web_address
from eqlab.models.timeouts import PATIENCE, SILENCE, WHOLE, Timeouts
from eqlab.runs.request import AUTO, ITEM_SETS, Request

_PROTOCOL = ("model", "messages", "stream", "response_format")
"""Settings that would change the protocol."""
_SHORT = ("temperature", "max_tokens", "top_p")
"""Settings that may stand beside the model's name."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class SweepBenchmark:
    name: str
    items: str
    profile: str
    limit: int | None
    repeats: int | None
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SweepEndpoint:
    name: str
    base_url: str
    """Empty: the address of the provider of this name."""
    key: str
    """The name of the environment variable that holds the key."""
    max_concurrency: int | None


@dataclass(frozen=True, slots=True)
class SweepModel:
    spec: str
    name: str
    """What tables call it; the spec if nothing else is said."""
    endpoint: str
    base_url: str
    key: str
    structured: bool | None
    settings: Mapping[str, Any]
    max_concurrency: int | None
    start: str
    """The command of a server to start where the work is done; `{port}` stands for a free port."""
    health: str
    start_timeout: float
    gpus: float
    replicas: int
    """How many servers of this model may run at once on a cluster."""


@dataclass(frozen=True, slots=True)
class Sweep:
    path: str
    models: tuple[SweepModel, ...]
    benchmarks: tuple[SweepBenchmark, ...]
    endpoints: Mapping[str, SweepEndpoint]
    seeds: tuple[int, ...]
    max_concurrency: int
    timeouts: Timeouts


_TOP = (
    *("items", "profile", "limit", "repeats", "seeds", "models", "benchmarks", "endpoints"),
    *("max_concurrency", "timeout", "silence", "patience"),
)
_BENCHMARK = ("items", "profile", "limit", "repeats", "options")
_ENDPOINT = ("base_url", "key", "max_concurrency")
_MODEL = (
    *("spec", "name", "endpoint", "base_url", "key", "structured", "settings", "max_concurrency", "start", "health"),
    *("start_timeout", "gpus", "replicas", *_SHORT),
)
_HINT = "docs/sweep.md lists every key."
_MOST = 10**9
_ITEMS, _PROFILES = (AUTO, *ITEM_SETS), ("quick", "full")


def read_sweep(path: Path) -> Sweep:
    """Read a file; raises with every key that is wrong, and its line."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.", "docs/sweep.md shows one to begin with.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}.", "It must be a TOML file in UTF-8.") from error
    return parse_sweep(decoded(content, str(path)), str(path))


def parse_sweep(text: str, path: str = "the sweep") -> Sweep:
    sweep = read_toml(text, path, _TOP, lambda top: _sweep(top, path), _HINT)
    _check(sweep)
    return sweep


def _sweep(top: Section, path: str) -> Sweep:
    return Sweep(
        path=path,
        models=tuple(_model(section) for section in top.tables("models", _MODEL)),
        benchmarks=_benchmarks(top, _shared(top, SweepBenchmark("", Request().items, "full", None, None, {}))),
        endpoints={name: _endpoint(name, section) for name, section in top.named("endpoints", _ENDPOINT).items()},
        seeds=top.wholes("seeds", (0,), -(2**63), 2**63 - 1),
        max_concurrency=top.whole("max_concurrency", 16, 1, _MOST),
        timeouts=_timeouts(top),
    )


def _timeouts(top: Section) -> Timeouts:
    patience = top.number("patience", PATIENCE, 0, _MOST)
    return Timeouts(_seconds(top, "timeout", WHOLE), _seconds(top, "silence", SILENCE), patience)


def _shared(table: Section, default: SweepBenchmark) -> SweepBenchmark:
    """What a file says of all benchmarks, and a benchmark's own table of one."""
    return replace(
        default,
        items=table.choice("items", _ITEMS, default.items),
        profile=table.choice("profile", _PROFILES, default.profile),
        limit=_count(table, "limit", default.limit),
        repeats=_count(table, "repeats", default.repeats),
    )


def _benchmarks(top: Section, shared: SweepBenchmark) -> tuple[SweepBenchmark, ...]:
    """A list of names, or a table for each with what differs from the defaults."""
    if isinstance(top.values.get("benchmarks"), list):
        found = tuple(replace(shared, name=name) for name in top.texts("benchmarks"))
    else:
        sections = top.named("benchmarks", _BENCHMARK)
        found = tuple(
            replace(_shared(section, shared), name=name, options=_options(section))
            for name, section in sections.items()
        )
    if not found:
        top.wrong("benchmarks", 'is missing (write benchmarks = ["eqbench", "empathy"])')
    return found


def _options(section: Section) -> dict[str, str]:
    """As on the command line, where everything is text; TOML's true and false are its yes and no."""
    given = section.table("options", None).values
    return {key: ("yes" if value else "no") if isinstance(value, bool) else str(value) for key, value in given.items()}


def _count(table: Section, key: str, default: int | None) -> int | None:
    return table.whole(key, default or 1, 1, _MOST) if table.has(key) else default


def _seconds(table: Section, key: str, default: float) -> float:
    return table.number(key, default, 0.001, _MOST)


def _endpoint(name: str, section: Section) -> SweepEndpoint:
    return SweepEndpoint(name, _address(section), _key(section), _count(section, "max_concurrency", None))


def _model(section: Section) -> SweepModel:
    spec = section.text("spec", "")
    if not spec:
        section.wrong("spec", "is missing (write embedded, gguf:PATH, provider/name, or any name with a base_url)")
    model = SweepModel(
        spec=spec,
        name=section.text("name", spec),
        endpoint=section.text("endpoint", ""),
        base_url=_address(section),
        key=_key(section),
        structured=section.flag("structured", None),
        settings=_settings(section),
        max_concurrency=_count(section, "max_concurrency", None),
        start=_start(section),
        health=section.text("health", "/health"),
        start_timeout=_seconds(section, "start_timeout", 900.0),
        gpus=section.number("gpus", 0.0, 0, _MOST),
        replicas=section.whole("replicas", 1, 1, _MOST),
    )
    if model.start and (model.base_url or model.endpoint):
        section.wrong("start", "stands beside an address; a server that is started here has its own (delete one)")
    return model


def _settings(section: Section) -> dict[str, Any]:
    """Whatever the endpoint knows, as it is written: it is part of a run's identity."""
    settings = dict(section.table("settings", None).values)
    for name in _SHORT:
        if section.has(name):
            section.number(name, 0.0, -_MOST, _MOST)
            settings[name] = section.values[name]
    for name in _PROTOCOL:
        if name in settings:
            section.wrong("settings", f"holds '{name}', which would change the protocol (delete it)")
    if secret := secret_among(settings):
        section.wrong("settings", f"holds '{secret}', which looks like a key (name its variable: key = \"MY_KEY\")")
    return settings


def _address(section: Section) -> str:
    url = section.text("base_url", "")
    if not url:
        return ""
    parts = urlsplit(url) if is_web_address(url) else None
    if parts is None:
        section.wrong("base_url", "is not a web address (write one such as http://gpu1:8000/v1)")
    elif parts.username or parts.password or parts.query or holds_secret(url):
        section.wrong("base_url", 'holds more than an address (name the key\'s variable: key = "MY_KEY")')
    return url.rstrip("/")


def _key(section: Section) -> str:
    name = section.text("key", "")
    if name and not _VARIABLE.fullmatch(name):
        section.wrong("key", "is the name of an environment variable, never the key itself (write its name)")
    return name


def _start(section: Section) -> str:
    command = section.text("start", "")
    if command and "{port}" not in command:
        section.wrong("start", "does not say where the port goes (write 'vllm serve NAME --port {port}')")
    try:
        words = shlex.split(command)
    except ValueError as error:
        section.wrong("start", f"cannot be cut into words: {error} (close the quotation)")
        return command
    named = [word.lstrip("-").partition("=")[0] for word in words if word.startswith("-") or "=" in word]
    if holds_secret(command) or any(map(is_secret, named)):
        section.wrong("start", "holds a key (set VLLM_API_KEY or LLAMA_API_KEY in the worker's environment instead)")
    return command


def _check(sweep: Sweep) -> None:
    """What only shows between tables."""
    if not sweep.models:
        raise UsageError(f"{sweep.path} names no model.", "Add a table: [[models]] with spec = 'provider/name'.")
    names = [model.name for model in sweep.models]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{sweep.path}: two models are called '{name}'.", "Give each a name of its own: name = …")
    for model in sweep.models:
        if model.endpoint and model.endpoint not in sweep.endpoints:
            known = ", ".join(sweep.endpoints) or "none"
            raise UsageError(
                f"{sweep.path}: '{model.name}' uses endpoint '{model.endpoint}', which the file does not define.",
                f"Endpoints of this file: {known}.",
            )
        if model.endpoint and model.base_url:
            raise UsageError(f"{sweep.path}: '{model.name}' has an endpoint and a base_url.", "Keep one of them.")
