"""From what a user asks for to a run that can start: names looked up, items read, everything checked once."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from eqlab.benchmarks.registry import load, usual
from eqlab.core.benchmark import Benchmark, Seated, Selection, Source, check_item_set, file_sources, item_sets_of
from eqlab.core.errors import DataError, UsageError, did_you_mean
from eqlab.core.item_file import own_title
from eqlab.core.runs import OWN, TITLE, ModelConfig, RunConfig
from eqlab.core.settings import holds_secret, secret_among
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.data.items import at_hand, read_sources
from eqlab.data.published import changed
from eqlab.models.runner import Asked
from eqlab.runs.identity import configured

ITEM_SETS = ("open", "published")
AUTO = "auto"
PROFILES = ("quick", "full")
_KEPT = 2000
"""Trials, at most, that are kept for the next model that is asked the same: a longer plan costs little for each."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks for, before names are looked up."""

    models: tuple[str, ...] | str = ("embedded",)
    """One name, or several."""
    benchmarks: tuple[str, ...] | str | None = None
    """None: the three that `eqlab run` asks."""
    items: str = field(default_factory=lambda: os.environ.get("EQLAB_ITEMS") or AUTO)
    """`open`, `published`, `auto` (the study's own where their files are at hand, else the open ones) or the path of a
    file with items of one's own. The default is what EQLAB_ITEMS says, else `auto`."""
    profile: str = "quick"
    limit: int | None = None
    repeats: int | None = None
    seed: int = 0
    base_url: str = ""
    structured: bool | None = None
    """None: structured for the embedded model, which cannot keep to a form otherwise; free text for all others."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None
    label: str = ""
    """What is behind the name this time, if it may change: a run with another label is another run."""

    @property
    def asked_models(self) -> tuple[str, ...]:
        return (self.models,) if isinstance(self.models, str) else tuple(self.models)

    @property
    def asked_benchmarks(self) -> tuple[str, ...]:
        if isinstance(self.benchmarks, str):
            return (self.benchmarks,)
        return tuple(usual() if self.benchmarks is None else self.benchmarks)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that is ready to start: its frozen configuration and what makes its plan."""

    config: RunConfig
    asked: Mapping[str, Asked]
    files: Mapping[str, Mapping[str, bytes]]
    missing: tuple[str, ...] = ()
    """Published sources, not at hand, for which shipped items stand in."""
    plans: dict[tuple[str, Selection], tuple[tuple[Trial, int], ...]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """What these benchmarks planned before from these files, by benchmark and selection."""

    def selection(self, model: ModelConfig) -> Selection:
        config = self.config
        return Selection(config.profile, config.limit, config.repeats, config.seed, model.structured)

    @property
    def changed(self) -> list[str]:
        """Published files that are not as they were published."""
        return [name for content in self.files.values() for name in changed(content)]

    def plan(self) -> Iterator[tuple[str, str, Trial, int]]:
        """(subject, benchmark, trial, repeat) in the order of asking."""
        for model in self.config.models:
            selection = self.selection(model)
            for name in self.asked:
                for trial, repeat in self._planned(name, selection):
                    yield model.subject, name, trial, repeat

    def _planned(self, name: str, selection: Selection) -> Iterator[tuple[Trial, int]]:
        """Items are read once for all models of a sweep."""
        if (name, selection) in self.plans:
            yield from self.plans[name, selection]
            return
        asked, room = self.asked[name], _KEPT - sum(map(len, self.plans.values()))
        found: list[tuple[Trial, int]] = []
        for one in asked.benchmark.plan(self.files[name], asked.options, selection):
            if len(found) <= room:
                found.append(one)
            yield one
        if len(found) <= room:
            self.plans[name, selection] = tuple(found)


def prepare(request: Request) -> Prepared:
    """Look everything up and read the items; raises before anything is asked or stored."""
    check(request)
    asked, files, configs = {}, {}, []
    missing: dict[str, None] = {}
    for name in dict.fromkeys(request.asked_benchmarks):
        benchmark = load(name)
        known = {option.name for option in benchmark.option_help()}
        given = {k: v for k, v in request.options.items() if k in known}
        item_set = _item_set(benchmark, request, given)
        check_item_set(benchmark, item_set)
        options = benchmark.options(item_set, given)
        asked[name] = Asked(benchmark, options)
        files[name] = read_sources(_sources(benchmark, request, item_set, options), request.data)
        if item_set == "open" and item_sets_of(benchmark)[0] == "published":
            published = benchmark.sources("published", options)
            if not at_hand(published, request.data):
                missing |= {one.path.partition("/")[0]: None for one in published if one.kind == "published"}
        if item_set == OWN:
            options = {**options, TITLE: own_title(next(iter(files[name].values())), request.items)}
            asked[name] = Asked(benchmark, options)
        configs.append(configured(benchmark, options, files[name], item_set=item_set))
    _check_options(request, asked)
    models = tuple(
        ModelConfig(
            spec,
            "" if spec == "embedded" else request.base_url,
            spec == "embedded" if request.structured is None else request.structured,
            dict(request.settings),
            label=request.label,
        )
        for spec in dict.fromkeys(request.asked_models)
    )
    config = RunConfig(models, tuple(configs), request.profile, request.limit, request.repeats, request.seed)
    return Prepared(config, asked, files, tuple(missing))


def _item_set(benchmark: Benchmark, request: Request, given: Mapping[str, str]) -> str:
    """The items that a benchmark is asked for; `auto` fetches nothing and fails over no missing file."""
    if request.items != AUTO:
        return request.items if request.items in ITEM_SETS else OWN
    usable = [name for name in item_sets_of(benchmark) if name in ITEM_SETS]
    for name in usable[:-1]:
        if at_hand(benchmark.sources(name, benchmark.options(name, given)), request.data):
            return name
    return usable[-1] if usable else "open"


def check(request: Request) -> None:
    """What can be known without looking anything up; the same for the command line and for Python."""
    if not request.asked_models or not request.asked_benchmarks:
        raise UsageError("There is nothing to ask.", "Name a model and a benchmark.")
    known = (AUTO, *ITEM_SETS)
    if request.items not in known and not Path(request.items).is_file():
        if Path(request.items).suffix:
            raise DataError(f"There is no file {request.items}.", "Name a file of items with --items.")
        choose = f"Choose {', '.join(known[:-1])} or {known[-1]}, or name a file of your own."
        raise UsageError(
            f"--items '{request.items}' is unknown, and no file has that name.",
            did_you_mean(request.items, known, choose),
        )
    if request.profile not in PROFILES:
        raise UsageError(
            f"--profile '{request.profile}' is unknown.",
            did_you_mean(request.profile, PROFILES, f"Choose {' or '.join(PROFILES)}."),
        )
    check_counts(limit=request.limit, repeats=request.repeats)
    _check_secrets(request)


def check_counts(**counts: int | None) -> None:
    for name, count in counts.items():
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise UsageError(f"--{name} {count} is too small.", "Give 1 or more.")


def _sources(benchmark: Benchmark, request: Request, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]:
    if item_set == OWN:
        return file_sources(benchmark, request.items, options)
    return benchmark.sources(item_set, options)


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
            hint = did_you_mean(name, sorted(known), f"There are: {', '.join(sorted(known))}.")
            raise UsageError(f"No benchmark of this run has an option '{name}'.", hint)


# The other models of a run: those that sit in its talks beside the subject.
def seated(prepared: Prepared) -> dict[str, ModelConfig]:
    """The other models of a run's talks, by seat."""
    configs: dict[str, ModelConfig] = {}
    for asked in prepared.asked.values():
        if isinstance(asked.benchmark, Seated):
            for name, model in asked.benchmark.seats(asked.options).items():
                configs[name] = replace(model, role="seat")
    return configs
