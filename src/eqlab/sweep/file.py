"""The sweep file: models × benchmarks × seeds in TOML, read and checked whole before anything else happens.

Nothing of a run's identity hides elsewhere, and no key is ever in it: a key is named by its environment variable."""

import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from eqlab.core.errors import DataError, UsageError
from eqlab.core.secrets import holds_secret, is_secret, secret_among
from eqlab.models.providers import is_web_address
from eqlab.models.waits import WHOLE
from eqlab.sweep.fields import Fields

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
    timeout: float


def read_sweep(path: Path) -> Sweep:
    """Read a file; raises with the file, the table and the key that are wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"There is no file {path}.", "docs/sweep.md shows one to begin with.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.", "It must be a TOML file in UTF-8.") from error
    try:
        return parse_sweep(tomllib.loads(text), str(path))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}.", "Mend that line.") from error


def parse_sweep(body: Mapping[str, Any], path: str = "the sweep") -> Sweep:
    top = Fields(body, path)
    defaults = {
        "items": top.choice("items", ("open", "published"), "open"),
        "profile": top.choice("profile", ("quick", "full"), "full"),
        "limit": top.count("limit", None),
        "repeats": top.count("repeats", None),
    }
    seeds = top.take("seeds", list, [0])
    if not seeds or not all(type(seed) is int for seed in seeds) or len(set(seeds)) < len(seeds):
        raise top.wrong("seeds", "must be a list of different whole numbers, such as [0, 1, 2]")
    sweep = Sweep(
        path=path,
        models=tuple(_model(one) for one in top.tables("models")),
        benchmarks=_benchmarks(top, defaults),
        endpoints={name: _endpoint(name, one) for name, one in top.named("endpoints").items()},
        seeds=tuple(seeds),
        max_concurrency=top.count("max_concurrency", 16) or 16,
        timeout=top.seconds("timeout", WHOLE),
    )
    top.done()
    _check(sweep)
    return sweep


def _benchmarks(top: Fields, defaults: Mapping[str, Any]) -> tuple[SweepBenchmark, ...]:
    """A list of names, or a table for each with what differs from the defaults."""
    if isinstance(top.body.get("benchmarks"), list):
        names = top.take("benchmarks", list, [])
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise top.wrong("benchmarks", "must be a list of different names, such as ['eqbench', 'empathy']")
        return tuple(SweepBenchmark(name, **defaults, options={}) for name in names)
    found = tuple(_benchmark(name, one, defaults) for name, one in top.named("benchmarks").items())
    if not found:
        raise top.wrong("benchmarks", "is missing: write benchmarks = ['eqbench']")
    return found


def _benchmark(name: str, one: Fields, defaults: Mapping[str, Any]) -> SweepBenchmark:
    options = one.take("options", dict, {})
    made = SweepBenchmark(
        name,
        one.choice("items", ("open", "published"), defaults["items"]),
        one.choice("profile", ("quick", "full"), defaults["profile"]),
        one.count("limit", defaults["limit"]),
        one.count("repeats", defaults["repeats"]),
        {key: _option(value) for key, value in options.items()},
    )
    one.done()
    return made


def _option(value: Any) -> str:
    """As on the command line, where everything is text; TOML's true and false are its yes and no."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _endpoint(name: str, one: Fields) -> SweepEndpoint:
    made = SweepEndpoint(name, _address(one), _key(one), one.count("max_concurrency", None))
    one.done()
    return made


def _model(one: Fields) -> SweepModel:
    spec = one.take("spec", str, "")
    if not spec:
        raise one.wrong("spec", "is missing: embedded, gguf:PATH, provider/name, or any name with a base_url")
    settings = dict(one.take("settings", dict, {}))
    for name in _SHORT:
        if name in one.body:
            settings[name] = one.take(name, (int, float), 0)
    for name in _PROTOCOL:
        if name in settings:
            raise one.wrong("settings", f"holds '{name}', which would change the protocol")
    if secret := secret_among(settings):
        raise one.wrong(
            "settings", f"holds '{secret}', which looks like a key; name its variable with key = \"MY_KEY\""
        )
    made = SweepModel(
        spec=spec,
        name=one.take("name", str, spec),
        endpoint=one.take("endpoint", str, ""),
        base_url=_address(one),
        key=_key(one),
        structured=one.take("structured", bool, None),
        settings=settings,
        max_concurrency=one.count("max_concurrency", None),
        start=_start(one),
        health=one.take("health", str, "/health"),
        start_timeout=one.seconds("start_timeout", 900.0),
        gpus=float(one.take("gpus", (int, float), 0)),
        replicas=one.count("replicas", 1) or 1,
    )
    if made.gpus < 0:
        raise one.wrong("gpus", "must be 0 or more")
    if made.start and (made.base_url or made.endpoint):
        raise one.wrong("start", "stands beside an address; a server that is started here has its own")
    one.done()
    return made


def _address(one: Fields) -> str:
    url: str = one.take("base_url", str, "")
    if not url:
        return ""
    if not is_web_address(url):
        raise one.wrong("base_url", "is no web address, such as http://gpu1:8000/v1")
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query or holds_secret(url):
        raise one.wrong("base_url", 'holds more than an address; name the key\'s variable with key = "MY_KEY"')
    return url.rstrip("/")


def _key(one: Fields) -> str:
    name: str = one.take("key", str, "")
    if name and not _VARIABLE.fullmatch(name):
        raise one.wrong("key", "must be the name of an environment variable, never the key itself")
    return name


def _start(one: Fields) -> str:
    command: str = one.take("start", str, "")
    if command and "{port}" not in command:
        raise one.wrong("start", "must say where the port goes, such as 'vllm serve NAME --port {port}'")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise one.wrong("start", f"cannot be cut into words: {error}") from error
    named = [word.lstrip("-").partition("=")[0] for word in words if word.startswith("-") or "=" in word]
    if holds_secret(command) or any(map(is_secret, named)):
        raise one.wrong("start", "holds a key; set VLLM_API_KEY or LLAMA_API_KEY in the worker's environment instead")
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
                f"{sweep.path}: '{model.name}' is at endpoint '{model.endpoint}', which is not there.",
                f"Endpoints of this file: {known}.",
            )
        if model.endpoint and model.base_url:
            raise UsageError(f"{sweep.path}: '{model.name}' has an endpoint and a base_url.", "Keep one of them.")
