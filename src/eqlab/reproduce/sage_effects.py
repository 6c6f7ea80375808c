"""SAGE, paired: two listeners on the same personas, one listener with two simulators, and how long talks are."""

from collections.abc import Sequence
from itertools import combinations, pairwise
from statistics import fmean
from typing import Any

import numpy as np

from eqlab.analysis.clusters import crossed_mean
from eqlab.analysis.comparison import Difference, items_needed, paired
from eqlab.analysis.multiplicity import holm
from eqlab.benchmarks.dialogue.published import FAILURE, SUCCESS
from eqlab.reproduce.sage_talks import FEWEST, TalkCell, matrix

ALPHA = 0.05


def differences(cells: Sequence[TalkCell]) -> list[dict[str, Any]]:
    """Every pair of one simulator's models over the personas that both met, the better one first; Holm's correction
    within the simulator."""
    found = []
    for simulator in sorted({cell.simulator for cell in cells}):
        own = [cell for cell in cells if cell.simulator == simulator and cell.talks]
        order = sorted(own, key=lambda cell: -fmean(talk.final for talk in cell.talks))
        pairs = [_pair(one, other) for one, other in combinations(order, 2)]
        for row, corrected in zip(pairs, holm([row["p"] for row in pairs]), strict=True):
            row["p_holm"] = corrected
            row["separated"] = None if corrected is None else corrected < ALPHA
        next_to = {(one.model, other.model) for one, other in pairwise(order)}
        for row in pairs:
            row["neighbours"] = (row["a"], row["b"]) in next_to
        found += pairs
    return found


def _pair(one: TalkCell, other: TalkCell) -> dict[str, Any]:
    difference = paired(*matrix((one, other)))
    return {
        "simulator": one.simulator,
        "a": one.model,
        "b": other.model,
        **_facts(difference),
        "a_better_percent": None if difference.superiority is None else 100 * difference.superiority,
        "personas_needed": items_needed(difference),
    }


def _facts(difference: Difference) -> dict[str, Any]:
    enough = difference.n >= FEWEST
    return {
        "n": difference.n,
        "difference": difference.value,
        "se": difference.se,
        "low": difference.low if enough else None,
        "high": difference.high if enough else None,
        "p": difference.p,
    }


def simulator_effects(cells: Sequence[TalkCell]) -> list[dict[str, Any]]:
    """For each two simulators that met the same listeners: the second minus the first, per listener over personas, and
    over all with both listeners and personas as samples. The first is the one with more files."""
    by_simulator: dict[str, dict[str, TalkCell]] = {}
    for cell in cells:
        if cell.talks:
            by_simulator.setdefault(cell.simulator, {})[cell.listener] = cell
    order = sorted(by_simulator, key=lambda name: (-len(by_simulator[name]), name))
    found = []
    for first, second in combinations(order, 2):
        shared = sorted(set(by_simulator[first]) & set(by_simulator[second]))
        if shared:
            found.append(_effect(first, second, [(by_simulator[first][m], by_simulator[second][m]) for m in shared]))
    return found


def _effect(first: str, second: str, shared: Sequence[tuple[TalkCell, TalkCell]]) -> dict[str, Any]:
    models, values, personas, listeners = [], list[float](), list[str](), list[str]()
    for one, other in shared:
        before, after = one.by_persona, other.by_persona
        both = sorted(set(before) & set(after))
        values += [after[persona] - before[persona] for persona in both]
        personas += both
        listeners += [one.listener] * len(both)
        models.append(
            {
                "model": one.listener,
                "files": sorted({one.model, other.model}),
                "first_score": _mean(one),
                "second_score": _mean(other),
                **_facts(paired(*matrix((other, one)))),
            }
        )
    overall = crossed_mean("", np.array(values), listeners, personas)
    ranks = [_ranks([one[name] for one in models]) for name in ("first_score", "second_score")]
    return {
        "first": first,
        "second": second,
        "models": models,
        "n_models": len(models),
        "n_personas": len(set(personas)),
        "n_pairs": len(values),
        "difference": overall.value,
        "se": overall.se,
        "low": overall.low,
        "high": overall.high,
        "pairs_in_other_order": sum(
            (ranks[0][i] < ranks[0][j]) != (ranks[1][i] < ranks[1][j]) for i, j in combinations(range(len(models)), 2)
        ),
        "pairs_of_models": len(models) * (len(models) - 1) // 2,
    }


def _mean(cell: TalkCell) -> float:
    return fmean(talk.final for talk in cell.talks)


def _ranks(scores: Sequence[float]) -> list[int]:
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    return [order.index(index) for index in range(len(scores))]


def lengths(cells: Sequence[TalkCell]) -> list[dict[str, Any]]:
    """Replies in talks that succeed, that fail, and the others: the end of a talk is the speaker's decision."""
    kinds: dict[str, list[int]] = {"success": [], "in between": [], "failure": []}
    for talk in (talk for cell in cells for talk in cell.talks):
        if talk.replies is not None:
            kind = "success" if talk.final >= SUCCESS else "failure" if talk.final < FAILURE else "in between"
            kinds[kind].append(talk.replies)
    return [
        {
            "outcome": kind,
            "n": len(replies),
            "replies": fmean(replies) if replies else None,
            "fewest": min(replies, default=None),
            "most": max(replies, default=None),
        }
        for kind, replies in kinds.items()
    ]
