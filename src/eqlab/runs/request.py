"""From what a user asks for to a run that can start: names looked up, items read, everything checked once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eqlab.benchmarks.registry import load
from eqlab.core.benchmark import Selection
from eqlab.core.errors import UsageError
from eqlab.core.runs import BenchmarkConfig, ModelConfig, RunConfig
from eqlab.core.secrets import holds_secret, secret_among
from eqlab.core.trials import Trial
from eqlab.data.items import items_sha256, read_sources
from eqlab.models.runner import Asked


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks for, before names are looked up."""

    models: tuple[str, ...] = ("embedded",)
    benchmarks: tuple[str, ...] = ("eqbench",)
    items: str = "open"
    profile: str = "full"
    limit: int | None = None
    repeats: int | None = None
    seed: int = 0
    base_url: str = ""
    structured: bool | None = None
    """None: structured for the embedded model, which cannot keep to a form otherwise; free text for all others."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that is ready to start: its frozen configuration and what makes its plan."""

    config: RunConfig
    asked: Mapping[str, Asked]
    files: Mapping[str, Mapping[str, bytes]]

    def selection(self, model: ModelConfig) -> Selection:
        config = self.config
        return Selection(config.profile, config.limit, config.repeats, config.seed, model.structured)

    def plan(self) -> Iterator[tuple[str, str, Trial, int]]:
        """(subject, benchmark, trial, repeat) in the order of asking."""
        for model in self.config.models:
            selection = self.selection(model)
            for name, asked in self.asked.items():
                for trial, repeat in asked.benchmark.plan(self.files[name], asked.options, selection):
                    yield model.subject, name, trial, repeat


def prepare(request: Request) -> Prepared:
    """Look everything up and read the items; raises before anything is asked or stored."""
    for name, count in (("limit", request.limit), ("repeats", request.repeats)):
        if count is not None and count < 1:
            raise UsageError(f"--{name} {count} makes no sense.", "Give 1 or more.")
    _check_secrets(request)
    asked, files, configs = {}, {}, []
    for name in dict.fromkeys(request.benchmarks):
        benchmark = load(name)
        known = {option.name for option in benchmark.option_help()}
        options = benchmark.options(request.items, {k: v for k, v in request.options.items() if k in known})
        asked[name] = Asked(benchmark, options)
        files[name] = read_sources(benchmark.sources(request.items, options), request.data)
        configs.append(
            BenchmarkConfig(name, benchmark.protocol, request.items, items_sha256(files[name]), dict(options))
        )
    _check_options(request, asked)
    models = tuple(
        ModelConfig(
            spec,
            "" if spec == "embedded" else request.base_url,
            spec == "embedded" if request.structured is None else request.structured,
            dict(request.settings),
        )
        for spec in dict.fromkeys(request.models)
    )
    config = RunConfig(models, tuple(configs), request.profile, request.limit, request.repeats, request.seed)
    return Prepared(config, asked, files)


def _check_secrets(request: Request) -> None:
    """A run's configuration is stored and reported, and a command line is seen by everybody on the machine."""
    hint = "Set the provider's variable, or EQLAB_API_KEY with --base-url."
    if holds_secret(request.base_url):
        raise UsageError("The address holds a password or a key, which would be stored with the run.", hint)
    if name := secret_among(request.settings):
        raise UsageError(f"The setting '{name}' looks like a key, which would be stored with the run.", hint)


def _check_options(request: Request, asked: Mapping[str, Asked]) -> None:
    """An option must belong to at least one of the benchmarks."""
    known = {option.name for one in asked.values() for option in one.benchmark.option_help()}
    for name in request.options:
        if name not in known:
            raise UsageError(f"No benchmark of this run has an option '{name}'.", f"Known: {', '.join(sorted(known))}.")
