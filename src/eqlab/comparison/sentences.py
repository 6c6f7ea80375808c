"""The verdict in words that claim no more than it does: one passage for terminal, report, leaderboard and files."""

from collections.abc import Sequence
from itertools import combinations, permutations

from eqlab.analysis.comparison import least, paired
from eqlab.analysis.intervals import mean_bounds
from eqlab.analysis.multiplicity import holm
from eqlab.comparison.contender import REFERENCE, Contender
from eqlab.comparison.verdict import ALPHA, NamedPairs, Pair, Verdict, paired_on
from eqlab.core.grouping import grouped
from eqlab.core.plural import many
from eqlab.core.results import Result, best_baseline, goodness
from eqlab.core.runs import PEOPLE
from eqlab.core.text import basis_of, floor_text, number, short_name, value_of
from eqlab.tables.cells import p_text

_MOST_NAMES = 6


def conclusion(verdict: Verdict, things: str = "items", rater: str = "") -> str:
    """Who is first, or which group cannot be told apart; then people, baselines, and who is left out and why. With a
    rater: whose replies are rated how, and how neighbours compare."""
    ranked = [standing.contender for standing in verdict.ranked]
    if rater and any(standing.contender.score.value is not None for standing in verdict.standings):
        parts = [_rated(verdict, things, rater)]
    else:
        some = any(standing.contender.score.value is not None for standing in verdict.standings)
        parts = [_first(verdict, things)] if ranked else ["No score can be compared."] if some else []
        parts += _not_given(verdict)
        parts += _these_speakers(ranked)
    parts += [
        _people(verdict, standing.contender)
        for standing in verdict.standings
        if standing.contender.why_no_rank == REFERENCE
    ]
    parts.append(_baselines(ranked))
    parts += _left_out([standing.contender for standing in verdict.standings if not standing.rank], bool(ranked))
    return " ".join(part for part in parts if part) or "No score can be compared."


def _first(verdict: Verdict, things: str) -> str:
    ranked, first = [standing.contender for standing in verdict.ranked], list(verdict.first)
    if len(ranked) == 1:
        return f"{_name(ranked[0])} scores {_score(ranked[0])}."
    if len(ranked) == 2:
        return pair_sentence(verdict.pair(ranked[0].name, ranked[1].name), things)
    rest = [contender for contender in ranked if contender not in first]
    jointly = verdict.jointly_apart if rest else NamedPairs()  # a sentence about several holds for all of them at once
    clear = all((a.name, b.name) in jointly for a in first for b in rest)
    after = [b for b in rest if any((a.name, b.name) in jointly for a in first)]
    alike = not any((a.name, b.name) in verdict.apart for a, b in permutations(first, 2))
    sizes = {size for a, b in combinations(first, 2) if (size := paired_on(a, b))}
    if len(first) == 1:
        opening = f"{_name(first[0])} is best: it scores {_score(first[0])}"
        more = "more" if first[0].better == "higher" else "less"
        found = f"{opening}, {more} than {_others(rest)}." if clear else f"{opening}{_behind(rest, after, 'it')}"
    elif alike:
        found = f"{_listed_scores(first)} cannot be told apart{_with(sizes, things)}"
        found += _before(first, rest, clear, after) if rest else "."
    else:
        found = f"{_listed_scores(first, 'or')} may be best{_with(sizes, things)}: when {len(ranked)} are compared"
        found += " at once, a lead of this size can be chance"
        found += _before(first, rest, clear, after) if rest else "."
    return " ".join(part for part in (found, _neighbours(verdict)) if part)


def _these_speakers(ranked: Sequence[Contender]) -> list[str]:
    """Differences of talks are over personas: they hold for the speakers that were asked, who are a sample."""
    speakers = frozenset[str]().union(*(contender.speakers for contender in ranked))
    if len(ranked) < 2 or not speakers or speakers == {PEOPLE}:
        return []
    with_whom = "this speaker" if len(speakers) == 1 else f"these {len(speakers)} speakers"
    return [f"This is of talks with {with_whom}, a sample: with another the order may be another."]


def _not_given(verdict: Verdict) -> list[str]:
    """Who leads by answers that it did not give; of two alone the sentence on the pair says it."""
    if len(verdict.ranked) < 3:
        return []
    after: dict[str, list[Contender]] = {}
    for one, other in verdict.leads:
        after.setdefault(one, []).append(verdict.of(other).contender)
    leading = [
        (verdict.of(name).contender, behind) for name, behind in after.items() if verdict.of(name).contender.lost
    ]
    if len(leading) > 1:
        named = [f"{_name(contender)} ({contender.lost.words})" for contender, _ in leading if contender.lost]
        return [
            f"Better than some others only while lost answers are left out, not when they count as the worst: "
            f"{listed(named)}."
        ]
    return [
        f"{_name(own)} is better than {_others(behind)} on what it answered only, and not with {own.lost.words} "
        "counted as the worst answers."
        for own, behind in leading
        if own.lost
    ]


def _rated(verdict: Verdict, things: str, rater: str) -> str:
    shown = [standing for standing in verdict.standings if standing.contender.score.value is not None][
        : _MOST_NAMES + 1
    ]
    if all(standing.contender.score.unit == "%" for standing in shown):  # of the replies, called Good
        shares = ", ".join(f"{value_of(one.contender.score)} of the replies by {_name(one.contender)}" for one in shown)
        verbs = ("call Good", "calls Good")
    else:
        shares = ", ".join(f"{_name(one.contender)} {value_of(one.contender.score)}" for one in shown) + " overall"
        verbs = ("give", "gives")
    opening = (
        f"People {verbs[0]} {shares}." if rater == PEOPLE else f"Judge-only: {short_name(rater)} {verbs[1]} {shares}."
    )
    if len(verdict.ranked) < 2:
        return opening
    pairs = verdict.neighbours()
    sizes = {size for pair in pairs if (size := paired_on(pair.a, pair.b))}
    if len(pairs) == 1:
        return f"{opening} {pair_sentence(pairs[0], things)}"
    certain = [pair for pair in pairs if _holds(verdict, pair)]
    apart = [pair_sentence(pair, things) for pair in certain]
    same = [f"{_name(pair.a)} and {_name(pair.b)}" for pair in pairs if pair not in certain]
    said = apart[:_MOST_NAMES]
    if len(same) == len(pairs):
        said.append(f"No two adjacent models can be told apart{_with(sizes, things)}.")
    elif same:
        said.append(f"Cannot be told apart{_with(sizes, things)}: {listed(same)}.")
    if len(apart) > _MOST_NAMES:
        said.append(f"The other {len(apart) - _MOST_NAMES} are in the tables.")
    return f"{opening} {' '.join(said)}"


def _holds(verdict: Verdict, pair: Pair) -> bool:
    """Whether one is better with all compared at once, as a passage about several pairs must hold."""
    better = pair.better
    return better is not None and (better.name, (pair.b if better is pair.a else pair.a).name) in verdict.jointly_apart


def _with(sizes: set[int], things: str) -> str:
    return f" with these {min(sizes)} {things}" if len(sizes) == 1 else f" with these {things}"


def _before(first: Sequence[Contender], rest: Sequence[Contender], clear: bool, after: Sequence[Contender]) -> str:
    who = "both" if len(first) == 2 else f"all {len(first)}"
    return f"; {who} are better than {_others(rest)}." if clear else _behind(rest, after, "them")


def _behind(rest: Sequence[Contender], after: Sequence[Contender], whom: str) -> str:
    """Those who may not be first: who comes after the first ones with all compared at once, and who only seems to."""
    if len(after) == len(rest):
        return f"; {_others(rest)} {'comes' if len(rest) == 1 else 'come'} after {whom}."
    count = "" if len(rest) == 1 else f", {len(after)} of them" if after else ", none of them"
    verb = "stands" if len(rest) == 1 else "stand"
    count = count or ", not"
    return f"; {_others(rest)} {verb} lower{count} beyond chance when all are compared at once."


def _others(rest: Sequence[Contender]) -> str:
    return listed([_name(contender) for contender in rest]) if len(rest) <= 3 else f"the other {len(rest)}"


def _neighbours(verdict: Verdict) -> str:
    """How much the order is worth, where it is long."""
    if len(verdict.ranked) < 5:
        return ""
    pairs = verdict.neighbours()
    same = sum(not _holds(verdict, pair) for pair in pairs)
    return f"{same} of {many(len(pairs), 'pair')} of adjacent models cannot be told apart."


def pair_sentence(pair: Pair, things: str) -> str:
    """One difference, the better one first."""
    a, b, gap = pair.a, pair.b, pair.difference
    if gap.value is None:
        return f"{_name(a)} and {_name(b)} cannot be compared: {pair.why}."
    if pair.separated is None:
        return f"{_both(pair)} cannot be compared with {gap.n} {things}: {pair.why}."
    low, high, size = gap.low, gap.high, gap.value
    if size < 0:
        low, high, size = (None if high is None else -high), (None if low is None else -low), -size
    digits = 2 if 0 < size < 0.05 else 1
    bounds = "the same on each" if low is None or high is None else f"95 % interval {_range(low, high, digits)}"
    if gap.differ is not None and gap.p is not None:
        bounds = f"exact test of the {gap.differ} on which they differ, p = {p_text(gap.p)}"
    basis = f"{bounds}, {_counted(pair, things)}"
    if pair.better is not None:
        worse = b if pair.better is a else a
        return f"{_name(pair.better)} is better than {_name(worse)} by {number(size, digits)} points ({basis})."
    if pair.leads is not None and pair.leads.lost is not None:
        other, less = (b if pair.leads is a else a), pair.at_worst
        turned = less is not None and less.p is not None and less.p < ALPHA and less.value != 0
        left = f"{_name(other)} is better" if turned else "the two cannot be told apart"
        return (
            f"{_name(pair.leads)} is better than {_name(other)} on what it answered, by {number(size, digits)} points "
            f"({basis}); with {pair.leads.lost.words} counted as the worst answers {left}."
        )
    if pair.why and gap.value:  # near copies
        apart = f"{number(size, digits)} points in all"
        return f"{_both(pair)} cannot be told apart: {pair.why} shared {things} only ({apart})."
    if pair.why:
        return f"{_both(pair)} cannot be told apart: {pair.why} on {gap.n} shared {things}."
    text = f"{_both(pair)} cannot be told apart: a difference of {number(size, digits)} points ({basis})"
    if not gap.value:
        return f"{text}; they score the same."
    words = needed_words(pair)
    return f"{text}; it would take some {words} {things} to tell." if words else f"{text}."


def wins_sentence(a: str, b: str, gains: Sequence[float], things: str) -> str:
    """On how many items each of two does better; a count, no verdict. `gains`: how much better A is on each."""
    wins, losses = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    alike = len(gains) - wins - losses
    said = f"{short_name(a)} does better on {wins} of {len(gains)} {things}, {short_name(b)} on {losses}"
    return f"{said}; on {alike} they are alike." if alike else f"{said}."


def scale_sentence(result: Result) -> str:
    """Which way is better, where the scale ends, what the best baseline gets; nothing of a score that ranks nobody."""
    if not result.ranked:
        return ""
    end = result.score_range[1 if result.better == "higher" else 0]
    bound = "at most" if result.better == "higher" else "at least"
    unit = f" {result.headline.unit}" if result.headline.unit else ""
    said = f"{result.better.capitalize()} is better, {end:g}{unit} {bound}"
    top = best_baseline(result.baselines, result.better)
    if top is None:
        return f"{said}."
    return (
        f"{said}; the best no-skill baseline, '{top.name}', gets {floor_text(top.value, result.headline.digits)}{unit}."
    )


def needed_words(pair: Pair) -> str:
    """How many items would separate two, as far as that can be said: nothing of a difference within its error."""
    if pair.needed_range is None:
        return ""
    low, high = map(round_up, pair.needed_range)
    return f"{low:,} to {high:,}" if low < high else f"{low:,}"


def _counted(pair: Pair, things: str) -> str:
    if pair.difference.method == "paired":
        return f"{pair.difference.n} shared {things}"
    if pair.a.points and pair.b.points:
        return f"{len(pair.a.points)} and {len(pair.b.points)} {things}, not the same ones"
    return "from their two intervals"


def _both(pair: Pair) -> str:
    by = pair.a.better
    ordered = goodness(pair.a.score.value or 0.0, by) >= goodness(pair.b.score.value or 0.0, by)
    a, b = (pair.a, pair.b) if ordered else (pair.b, pair.a)
    return f"{_name(a)} ({value_of(a.score)}) and {_name(b)} ({value_of(b.score)})"


def _range(low: float, high: float, digits: int) -> str:
    return f"{number(low, digits)} to {number(high, digits)}"


def _people(verdict: Verdict, people: Contender) -> str:
    """Where people stand, who have no rank."""
    name = people.name[:1].upper() + people.name[1:]
    named = f": {people.score.name}" if " − " in people.score.name else " score"  # of arms, no score of people's
    opening = f"{name}{named} {_score(people)}"
    places: dict[str, list[str]] = {}
    pairs = [verdict.pair(one.contender.name, people.name) for one in verdict.ranked]
    p = holm([pair.difference.p if pair.separated is not None else None for pair in pairs])  # one sentence on all
    for standing, found, corrected in zip(verdict.ranked, pairs, p, strict=True):
        where = "not to be told apart from"
        if found.better is not None and corrected is not None and corrected < ALPHA:
            lower = (found.better is people) == (people.better == "lower")
            where = "less than" if lower else "more than"
        places.setdefault(where, []).append(_name(standing.contender))
    said = [f"{where} {listed(names)}" for where, names in sorted(places.items(), key=lambda one: one[0])]
    return f"{opening}: {'; '.join(said)}." if said else f"{opening}."


def _baselines(ranked: Sequence[Contender]) -> str:
    """Who does not clearly beat the best no-skill baseline, and who is clearly below it."""
    weak: dict[str, list[Contender]] = {}
    floors = set()
    for contender in ranked:
        top = best_baseline(contender.baselines, contender.better)
        if top is None:
            continue
        worst, best = _ends(contender)
        floor = goodness(top.value, contender.better)
        if worst is None or goodness(worst, contender.better) <= floor:
            below = best is not None and goodness(best, contender.better) < floor
            weak.setdefault("below" if below else "not clearly better than", []).append(contender)
            floors.add((top.name, floor_text(top.value, contender.score.digits)))
    if not weak:
        return ""
    name, value = next(iter(floors))
    which = f"'{name}', a no-skill baseline ({value})" if len(floors) == 1 else "the best no-skill baseline"
    said = [
        f"{listed([_name(one) for one in own])} {'is' if len(own) == 1 else 'are'} {how} {which}."
        for how, own in sorted(weak.items())
    ]
    return " ".join(said)


def _ends(contender: Contender) -> tuple[float | None, float | None]:
    """The worse and the better end of the interval. Answers all alike have none of their own, and the one that their
    number allows between the ends of the scale. The worse end is corrected for skew, as the gate's is."""
    points = list(contender.points.values())
    ends = (contender.score.low, contender.score.high)
    if ends[0] is None and contender.bounds and points:
        ends = mean_bounds(points, contender.bounds) or ends
    worst, best = ends if contender.better == "higher" else ends[::-1]
    good = paired([goodness(value, contender.better) for value in points], [0.0] * len(points))
    bound = least(good)
    if worst is not None and bound is not None:
        worst = goodness(min(goodness(worst, contender.better), bound), contender.better)
    return worst, best


def _left_out(rest: Sequence[Contender], some_ranked: bool) -> list[str]:
    """Who has no rank, by reason; people have their own sentence."""
    reasons = grouped((contender.why_no_rank, contender) for contender in rest if contender.why_no_rank != REFERENCE)
    if not some_ranked and len(reasons) == 1:
        return [f"{why[:1].upper()}{why[1:]}." for why in reasons]
    return [
        f"{listed([_with_value(one) for one in own])} {'are' if len(own) > 1 or own[0].people else 'is'} not compared: "
        f"{why}."
        for why, own in reasons.items()
    ]


def _with_value(one: Contender) -> str:
    return _name(one) if one.score.value is None else f"{_name(one)} ({value_of(one.score)}, n = {one.score.n})"


def _name(contender: Contender) -> str:
    return short_name(contender.name)


def _score(contender: Contender) -> str:
    return f"{value_of(contender.score)} ({basis_of(contender.score)})"


def _listed_scores(some: Sequence[Contender], link: str = "and") -> str:
    return listed([f"{_name(contender)} ({value_of(contender.score)})" for contender in some], link=link)


def listed(names: Sequence[str], most: int = _MOST_NAMES, link: str = "and") -> str:
    shown = list(names) if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {link} {shown[-1]}"


def round_up(number: int) -> int:
    """To two digits that count: what is predicted is not known better."""
    step = int(10 ** max(0, len(str(number)) - 2))
    return -(-number // step) * step
