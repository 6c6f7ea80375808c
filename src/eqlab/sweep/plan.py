"""What a sweep will ask before it asks: calls and tokens, cell by cell, with what the store already holds."""

from collections.abc import Sequence
from dataclasses import dataclass

from eqlab.runs.estimate import CHARACTERS_PER_TOKEN
from eqlab.store.store import Store
from eqlab.sweep.cells import Cell


@dataclass(frozen=True, slots=True)
class CellPlan:
    cell: Cell
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


def plan_cells(cells: Sequence[Cell], store: Store) -> list[CellPlan]:
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
            CellPlan(
                cell,
                trials,
                answered,
                round(left * size.characters / CHARACTERS_PER_TOKEN),
                round(left * size.most_out),
            )
        )
    return plans


def _size(cell: Cell, own_room: int | None) -> _Size:
    asked = cell.prepared.asked[cell.benchmark]
    trials = characters = most_out = 0
    for _, _, trial, _ in cell.prepared.plan():
        trials += 1
        characters += len(trial.prompt) + len(trial.system)
        most_out += own_room or asked.benchmark.asking(trial, asked.options).max_tokens
    return _Size(trials, characters, most_out)
