"""A fit as plain JSON and back: what a batch was asked with outlives the process that asked it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eqlab.models.fit import Fit


def fit_to_json(fit: Fit) -> dict[str, Any]:
    return {
        "wire": fit.wire,
        "dropped": sorted(fit.dropped),
        "ways": dict(fit.ways),
        "room_limit": fit.room_limit,
        "thinks": fit.thinks,
    }


def fit_from_json(values: Mapping[str, Any]) -> Fit:
    return Fit(
        values["wire"],
        frozenset(values["dropped"]),
        dict(values["ways"]),
        values["room_limit"],
        bool(values["thinks"]),
    )


def unstreamed(fit: Fit) -> Fit:
    """Nothing is streamed from a batch."""
    return replace(fit, streams=False)
