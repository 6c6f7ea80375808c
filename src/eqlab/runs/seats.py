"""The other models of a run: those that sit in its talks beside the subject."""

from dataclasses import replace

from eqlab.core.benchmark import Seated
from eqlab.core.runs import ModelConfig
from eqlab.runs.request import Prepared


def seated(prepared: Prepared) -> dict[str, ModelConfig]:
    """The other models of a run's talks, by seat."""
    found: dict[str, ModelConfig] = {}
    for asked in prepared.asked.values():
        if isinstance(asked.benchmark, Seated):
            for name, model in asked.benchmark.seats(asked.options).items():
                found[name] = replace(model, role="seat")
    return found
