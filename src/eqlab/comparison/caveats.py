"""What a reader of a comparison must know besides: other rules, answers left out, pairs that share no items."""

from collections.abc import Sequence

from eqlab.comparison.compare import Comparison
from eqlab.comparison.entries import Entry
from eqlab.comparison.pair import POWER
from eqlab.comparison.sentences import listed
from eqlab.core.answered_as import replaced

_VOLATILE = ("snapshot", "calibration", "calibration_pairs", "raters", "defaults", "repeats")
"""Rules that may differ without making scores incomparable."""


def caveats(found: Comparison, missing: str) -> list[str]:
    entries = found.entries
    things = found.things
    said = [f"{one.name}: {one.result.proviso}" for one in entries if one.result.proviso and not one.rater]
    said += dict.fromkeys(text for one in entries for text in replaced(one.result.subject, one.result.answered_as))
    said += _rules(entries)
    lost = [f"{entry.name} {entry.unused}" for entry in entries if entry.unused]
    if lost:
        what = "count as 0" if missing == "zero" else f"are left out: a pair is compared on the {things} both answered"
        other = "" if missing == "zero" else " ('--missing zero' counts them as 0)"
        said.append(f"Answers that could not be used {what}{other}. Refused, unreadable or failed: {listed(lost)}.")
    waiting = [entry.name for entry in entries if entry.counts.get("unanswered")]
    if waiting:
        said.append(f"Not finished, so preliminary: {listed(waiting)}.")
    invalid = [entry.name for entry in entries if not entry.result.valid and entry.counts_zero]
    if invalid:
        said.append(f"Too few readable answers to be valid by the benchmark's own rule: {listed(invalid)}.")
    apart = [pair for pair in found.pairs if pair.difference.method == "unpaired"]
    loose = sum(bool(pair.a.points and pair.b.points) for pair in apart)
    if loose:
        said.append(
            f"{loose} of {len(found.pairs)} pairs share too few {things} and are compared unpaired, which needs far "
            "more of them; a difference may then come from the items."
        )
    if len(apart) > loose:
        said.append(
            f"{len(apart) - loose} of {len(found.pairs)} pairs are compared by the two displayed scores and their "
            f"intervals: their scores are not means over the same {things}."
        )
    if any(pair.needed for pair in found.pairs):
        said.append(
            f"How many it would take: for a power of {100 * POWER:.0f} % if the difference seen is the true one, "
            "asked as often as now."
        )
    return said


def _rules(entries: Sequence[Entry]) -> list[str]:
    """Rules that differ between those compared."""
    said = []
    for key in dict.fromkeys(key for entry in entries for key in entry.result.rules):
        if key in _VOLATILE:
            continue
        values: dict[str, list[str]] = {}
        for entry in entries:
            if key in entry.result.rules:
                values.setdefault(str(entry.result.rules[key]), []).append(entry.name)
        if len(values) > 1:
            parts = "; ".join(f"{value}: {listed(names)}" for value, names in values.items())
            said.append(f"Not asked or scored alike ({key}): {parts}.")
    return said
