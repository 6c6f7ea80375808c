"""Whose replies were rated: the share of Good of each, as the rater's own result has it, ready to be compared."""

from eqlab.comparison.contender import Contender, item_means, why_no_rank
from eqlab.core.results import Estimate, Result

GOOD = "P(Good)"


def shares(result: Result) -> dict[str, Estimate]:
    """P(Good) by whose replies they are; empty for a calibration, for pairs, and for whatever is no rating."""
    if result.rules.get("purpose") == "calibration" or result.rules.get("pairwise"):
        return {}
    return {
        str(cells[0]): share
        for table in result.tables
        if table.whiskers == GOOD and table.title.startswith("Arms")
        for cells in table.rows
        if isinstance(share := cells[table.columns.index(GOOD)], Estimate)
    }


def arms(result: Result, item_set: str = "") -> list[Contender]:
    """Paired over prompts where one judge rated all; from the intervals over whole raters where people did."""
    found = []
    for name, share in shares(result).items():
        points = item_means([item for item in result.items if item.group == name])
        why = why_no_rank(share, points, valid=result.valid)
        found.append(Contender(name, share, points, item_set, why, bounds=(0.0, 100.0)))
    return found


def rater(result: Result) -> str:
    return result.subject.removeprefix("judge:")
