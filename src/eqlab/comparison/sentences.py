"""A comparison in words that claim no more than the numbers do."""

from collections.abc import Sequence

from eqlab.comparison.compare import POWER, Comparison, Pair
from eqlab.comparison.entries import Entry

_VOLATILE = ("snapshot", "calibration", "calibration_pairs", "raters", "defaults", "repeats")
"""Rules that may differ without making scores incomparable."""


def noun(found: Comparison) -> str:
    """What the items compared are called."""
    return found.standings[0].entry.result.noun if found.standings else "items"


def round_up(number: int) -> int:
    """To two digits that count: what is predicted is not known better."""
    step = int(10 ** max(0, len(str(number)) - 2))
    return -(-number // step) * step


def p_words(p: float | None) -> str:
    """A p-value that never prints as 0."""
    return "undefined" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def chance_words(probability: float | None) -> str:
    if probability is None:
        return "undefined"
    return "> 99.9 %" if probability > 0.999 else "< 0.1 %" if probability < 0.001 else f"{100 * probability:.1f} %"


def pair_sentence(pair: Pair, things: str) -> str:
    a, b, gap = pair.a.name, pair.b.name, pair.difference
    if gap.value is None:
        return f"{a} and {b} cannot be compared: one of them has no usable answer."
    if pair.separated is None:
        why = "neither side varies" if gap.n > 2 else "too few for a test"
        return f"{a} and {b} differ by {gap.value:+.2f} points on {gap.n} {things}: {why}."
    low, high = gap.low, gap.high
    if pair.separated and gap.value < 0:  # on the shared items the order is the other way round
        a, b = b, a
        low, high = (None, None) if low is None or high is None else (-high, -low)
    bounds = "the same on each" if low is None or high is None else f"95 % interval {low:.1f} to {high:.1f}"
    if pair.separated:
        which = "shared" if gap.method == "paired" else "unshared"
        return f"{a} is better than {b}: {abs(gap.value):+.1f} points ({bounds}, {gap.n} {which} {things})."
    text = f"{a} and {b} cannot be separated with these {gap.n} {things} ({gap.value:+.1f} points, {bounds})"
    if pair.needed is None:
        return f"{text}; they score the same, so more {things} would not do."
    return f"{text}; about {round_up(pair.needed):,} would do."


def sentence(found: Comparison) -> str:
    things = noun(found)
    if len(found.standings) < 2:
        name = found.standings[0].entry.name
        return f"{name} is the only one with scores on {found.title}: there is nothing to compare it with."
    if len(found.pairs) == 1:
        return pair_sentence(found.pairs[0], things)
    tests = [pair for pair in found.pairs if pair.separated is not None]
    apart = sum(bool(pair.separated) for pair in tests)
    first = [standing.entry.name for standing in found.standings if standing.rank[0] == 1]
    text = f"{apart} of {len(tests)} pairs can be separated. "
    if len(first) == 1:
        text += f"{first[0]} is better than all others."
    else:
        text += f"First place may belong to {listed(first)}."
    closest = next((pair for pair in found.pairs if pair.separated is False), None)
    return f"{text} {pair_sentence(closest, things)}" if closest else text


def caveats(found: Comparison, missing: str) -> list[str]:
    entries = [standing.entry for standing in found.standings]
    things = noun(found)
    said = [*_rules(entries)]
    lost = [f"{entry.name} {entry.unused}" for entry in entries if entry.unused]
    if lost:
        what = "count as 0" if missing == "zero" else f"are left out: a pair is compared on the {things} both answered"
        other = "" if missing == "zero" else " ('--missing zero' counts them as 0)"
        said.append(f"Answers that could not be used {what}{other}. Refused, unreadable or failed: {listed(lost)}.")
    waiting = [entry.name for entry in entries if entry.counts.get("unanswered")]
    if waiting:
        said.append(f"Not finished, so preliminary: {listed(waiting)}.")
    invalid = [entry.name for entry in entries if not entry.result.valid]
    if invalid:
        said.append(f"Too few readable answers to be valid by the benchmark's own rule: {listed(invalid)}.")
    loose = sum(pair.difference.method == "unpaired" for pair in found.pairs)
    if loose:
        said.append(
            f"{loose} of {len(found.pairs)} pairs share too few {things} and are compared unpaired, which needs far "
            "more of them; a difference may then come from the items."
        )
    if any(pair.separated is False for pair in found.pairs):
        said.append(
            f"How many would do: for a power of {100 * POWER:.0f} % if the difference seen is the true one, asked as "
            "often as now."
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


def listed(names: Sequence[str], most: int = 6) -> str:
    shown = list(names) if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
