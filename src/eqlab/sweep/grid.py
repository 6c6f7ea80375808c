"""The grid of a sweep: one model, one benchmark, one seed a cell. A cell is an ordinary run, so the same sweep again
goes on where it stopped, and every other command knows its cells by their run ids. Before it asks, a sweep says what it
will ask: calls and tokens, cell by cell, with what the store already holds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eqlab.core.benchmark import Seated
from eqlab.core.errors import EqlabError, UsageError
from eqlab.core.grouping import grouped
from eqlab.core.runs import ModelConfig
from eqlab.core.values import dataclass
from eqlab.models.open import is_local
from eqlab.models.providers import PROVIDERS, locate, shown_url
from eqlab.runs.estimate import CHARACTERS_PER_TOKEN
from eqlab.runs.request import Prepared, Request, prepare
from eqlab.store.store import Store
from eqlab.sweep.file import Sweep, SweepModel


@dataclass(frozen=True, slots=True)
class Target:
    """One model of the sweep, and where and how hard it may be asked."""

    model: SweepModel
    config: ModelConfig
    endpoint: str
    """Models with the same endpoint share its limit: an address, or a name of its own for what is run in place."""
    limit: int
    """Requests that the endpoint gets at once, at most."""
    key: str
    """The name of the key's variable, if the file names one."""

    @property
    def in_place(self) -> bool:
        """Whether the model runs where the work is done, in process or as a server started for it."""
        return bool(self.model.start) or is_local(self.config)

    def identity(self) -> dict[str, Any]:
        """What provenance records where the model itself is out of sight. Never a key."""
        if not self.in_place:
            return {"endpoint": shown_url(self.endpoint), "model": locate(self.config.spec, self.config.base_url).model}
        started = {"start": self.model.start} if self.model.start else {}
        return {"model": self.config.spec, "on": "the worker", **started}


@dataclass(frozen=True, slots=True)
class SweepRun:
    target: Target
    benchmark: str
    seed: int
    prepared: Prepared

    @property
    def run(self) -> str:
        return self.prepared.config.id

    @property
    def subject(self) -> str:
        return self.target.config.subject

    @property
    def name(self) -> str:
        return f"{self.target.model.name} · {self.benchmark} · seed {self.seed}"


@dataclass(frozen=True, slots=True)
class SweepListener:
    """Who wants to hear. Calls come from several threads."""

    say: Callable[[str], None] = lambda _: None
    moved: Callable[[SweepRun, int, int], None] = lambda _, __, ___: None
    """(cell, trials answered, trials planned), first when a cell begins."""
    ended: Callable[[SweepRun, EqlabError | None], None] = lambda _, __: None
    """With what stopped the cell early, or None."""


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    failures: Mapping[str, EqlabError]
    """Why cells stopped early or never began, by run id."""
    interrupted: bool


def make_runs(sweep: Sweep, data: Path | None = None) -> list[SweepRun]:
    """Model by model, benchmark by benchmark, seed by seed. Raises on what no run could start with."""
    targets = _targets(sweep)
    bases = {benchmark.name: _base(sweep, benchmark.name, data) for benchmark in sweep.benchmarks}
    cells = []
    for target in targets:
        for name, base in bases.items():
            for seed in sweep.seeds:
                config = replace(base.config, models=(target.config,), seed=seed)
                cells.append(SweepRun(target, name, seed, replace(base, config=config)))
    seen: dict[str, SweepRun] = {}
    for cell in cells:
        if cell.run in seen:
            raise UsageError(
                f"{sweep.path}: '{cell.name}' and '{seen[cell.run].name}' are the same run.",
                "Two entries of one model must differ in their settings or address.",
            )
        seen[cell.run] = cell
    return cells


def _base(sweep: Sweep, name: str, data: Path | None) -> Prepared:
    """A benchmark of the sweep, looked up and read once for all models and seeds."""
    sweep_benchmark = next(benchmark for benchmark in sweep.benchmarks if benchmark.name == name)
    base = prepare(
        Request(
            benchmarks=(name,),
            items=sweep_benchmark.items,
            profile=sweep_benchmark.profile,
            limit=sweep_benchmark.limit,
            repeats=sweep_benchmark.repeats,
            options=sweep_benchmark.options,
            data=data,
        )
    )
    asked = base.asked[name]
    if isinstance(asked.benchmark, Seated) and (others := asked.benchmark.seats(asked.options)):
        raise UsageError(
            f"{sweep.path}: {name} has other models in its talks ({', '.join(others)}), which a sweep cannot open yet.",
            f"Hold these talks with 'eqlab run -b {name}'.",
        )
    return base


def _targets(sweep: Sweep) -> list[Target]:
    targets = [_target(sweep, model) for model in sweep.models]
    for name, endpoint in sweep.endpoints.items():
        if not endpoint.base_url and name not in PROVIDERS:
            raise UsageError(
                f"{sweep.path}: endpoint '{name}' has no base_url and is no provider.",
                f"Add base_url, or name one of: {', '.join(PROVIDERS)}.",
            )
    return _with_limits(sweep, targets)


def _target(sweep: Sweep, model: SweepModel) -> Target:
    endpoint = sweep.endpoints.get(model.endpoint)
    base_url = endpoint.base_url if endpoint else model.base_url
    structured = model.spec == "embedded" if model.structured is None else model.structured
    config = ModelConfig(model.spec, base_url, structured, dict(model.settings))
    key = model.key or (endpoint.key if endpoint else "")
    if model.start or is_local(config):
        return Target(model, config, f"{model.name} in place", 0, key)
    if endpoint and not base_url:
        if endpoint.name != model.spec.partition("/")[0]:
            raise UsageError(
                f"{sweep.path}: '{model.name}' is not a model of {endpoint.name}.",
                f"Write spec = '{endpoint.name}/NAME', or give the endpoint a base_url.",
            )
        base_url = ""
    return Target(model, config, locate(model.spec, base_url, key).base_url, 0, key)


def _with_limits(sweep: Sweep, targets: Sequence[Target]) -> list[Target]:
    """One limit for each address, whoever states it."""
    stated: dict[str, tuple[int, str]] = {}

    def state(address: str, limit: int | None, who: str) -> None:
        if limit is None:
            return
        before = stated.setdefault(address, (limit, who))
        if before[0] != limit:
            raise UsageError(
                f"{sweep.path}: {shown_url(address)} has two limits: {before[0]} ({before[1]}) and {limit} ({who}).",
                "An address has one limit for all its models: set it once, under [endpoints.NAME].",
            )

    for name, endpoint in sweep.endpoints.items():
        address = endpoint.base_url or PROVIDERS[name].base_url
        state(address.rstrip("/"), endpoint.max_concurrency, f"endpoint '{name}'")
    for target in targets:
        state(target.endpoint, target.model.max_concurrency, f"'{target.model.name}'")
    return [replace(one, limit=stated.get(one.endpoint, (sweep.max_concurrency, ""))[0]) for one in targets]


def by_model(cells: Sequence[SweepRun]) -> Mapping[str, list[SweepRun]]:
    """Each model's cells in order, by the model's name."""
    return grouped((cell.target.model.name, cell) for cell in cells)


@dataclass(frozen=True, slots=True)
class SweepRunPlan:
    cell: SweepRun
    trials: int
    answered: int
    """Before, by an earlier session."""
    tokens_in: int
    """Estimated, for the trials that are not answered yet."""
    tokens_out: int
    """At most, for the same: what the requests allow."""

    @property
    def calls(self) -> int:
        """At least: a reply that cannot be read is asked for again, and adaptive runs plan more as they go."""
        return self.trials - self.answered


@dataclass(frozen=True, slots=True)
class _Size:
    trials: int
    characters: int
    most_out: int


def plan_runs(cells: Sequence[SweepRun], store: Store) -> list[SweepRunPlan]:
    """Sizes are counted once for models that are asked the same."""
    sizes: dict[tuple[object, ...], _Size] = {}
    stored = set(store.run_ids())
    plans = []
    for cell in cells:
        model = cell.target.config
        own_room = model.settings.get("max_tokens")
        key = (cell.benchmark, cell.seed, model.structured, own_room)
        if key not in sizes:
            sizes[key] = _size(cell, own_room if isinstance(own_room, int) else None)
        size = sizes[key]
        answered, planned = store.progress(cell.run).get(cell.subject, (0, 0)) if cell.run in stored else (0, 0)
        trials = max(size.trials, planned)  # an adaptive run has planned more than its first round
        left = 0.0 if not size.trials else (trials - answered) / size.trials
        plans.append(
            SweepRunPlan(
                cell,
                trials,
                answered,
                round(left * size.characters / CHARACTERS_PER_TOKEN),
                round(left * size.most_out),
            )
        )
    return plans


def _size(cell: SweepRun, own_room: int | None) -> _Size:
    asked = cell.prepared.asked[cell.benchmark]
    trials = characters = most_out = 0
    for _, _, trial, _ in cell.prepared.plan():
        trials += 1
        characters += len(trial.prompt) + len(trial.system)
        most_out += own_room or asked.asking(trial).max_tokens
    return _Size(trials, characters, most_out)
