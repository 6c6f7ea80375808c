"""Whose replies were rated: the share of Good of each, as the rater's own result has it, ready to be compared."""

from eqlab.comparison.contender import Contender, item_means, why_no_rank
from eqlab.core.results import Estimate, Result


def shares(result: Result) -> dict[str, Estimate]:
    """By whose replies they are; empty for a calibration, for pairs, and for whatever is no rating."""
    return dict(result.others.shares) if result.others else {}


def arms(result: Result, item_set: str = "") -> list[Contender]:
    """Paired over prompts where one judge rated all; from the intervals over whole raters where people did."""
    found = []
    bounds = result.others.score_range if result.others else None
    for name, share in shares(result).items():
        points = item_means([item for item in result.items if item.group == name])
        why = why_no_rank(share, points, valid=result.valid)
        found.append(Contender(name, share, points, item_set, why, bounds=bounds))
    return found


def rater(result: Result) -> str:
    return result.subject.removeprefix("judge:")
