"""The cells of a sweep: one model, one benchmark, one seed. A cell is an ordinary run, so the same sweep again goes
on where it stopped, and every other command knows its cells by their run ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eqlab.core.benchmark import Seated
from eqlab.core.errors import UsageError
from eqlab.core.runs import ModelConfig
from eqlab.models.open import is_local
from eqlab.models.providers import PROVIDERS, locate, shown_url
from eqlab.runs.request import Prepared, Request, prepare
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
class Cell:
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


def make_cells(sweep: Sweep, data: Path | None = None) -> list[Cell]:
    """Model by model, benchmark by benchmark, seed by seed. Raises on what no run could start with."""
    targets = _targets(sweep)
    bases = {one.name: _base(sweep, one.name, data) for one in sweep.benchmarks}
    cells = []
    for target in targets:
        for name, base in bases.items():
            for seed in sweep.seeds:
                config = replace(base.config, models=(target.config,), seed=seed)
                cells.append(Cell(target, name, seed, replace(base, config=config)))
    seen: dict[str, Cell] = {}
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
    one = next(benchmark for benchmark in sweep.benchmarks if benchmark.name == name)
    base = prepare(
        Request(
            benchmarks=(name,),
            items=one.items,
            profile=one.profile,
            limit=one.limit,
            repeats=one.repeats,
            options=one.options,
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
                f"{sweep.path}: '{model.name}' is no model of {endpoint.name}.",
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
                f"{sweep.path}: {shown_url(address)} takes {before[0]} at once ({before[1]}) or {limit} ({who})?",
                "An address has one limit for all its models: say it once, under [endpoints.NAME].",
            )

    for name, endpoint in sweep.endpoints.items():
        address = endpoint.base_url or PROVIDERS[name].base_url
        state(address.rstrip("/"), endpoint.max_concurrency, f"endpoint '{name}'")
    for target in targets:
        state(target.endpoint, target.model.max_concurrency, f"'{target.model.name}'")
    return [replace(one, limit=stated.get(one.endpoint, (sweep.max_concurrency, ""))[0]) for one in targets]


def by_model(cells: Sequence[Cell]) -> Mapping[str, list[Cell]]:
    """Each model's cells in order, by the model's name."""
    grouped: dict[str, list[Cell]] = {}
    for cell in cells:
        grouped.setdefault(cell.target.model.name, []).append(cell)
    return grouped
