"""The conclusion in words: who scores highest, who cannot be separated from whom, who is not compared and why.

Two subjects are called separate only when their 95 % intervals do not overlap. That is stricter than a test of the
difference at 5 % (Schenker & Gentleman 2001, The American Statistician 55:182), so the words err towards "cannot be
separated"."""

from collections.abc import Sequence
from dataclasses import dataclass

from eqlab.core.results import Result
from eqlab.core.runs import PEOPLE
from eqlab.core.text import basis_of, count_of, is_number, number, short, short_name, value_of

MODES = {"text": "free-text answers", "json": "structured (JSON) answers", "form": "people on a form"}


@dataclass(frozen=True, slots=True)
class _Entry:
    """A result that can be ranked."""

    name: str
    result: Result
    value: float
    low: float
    high: float

    @property
    def own(self) -> str:
        return f"{short_name(self.name)} ({value_of(self.result.headline)}, {basis_of(self.result.headline)})"

    @property
    def opening(self) -> str:
        """The name where a sentence begins."""
        return _begin(short_name(self.name), self.result)

    @property
    def many(self) -> bool:
        """Whether the words around it stand in the plural."""
        return self.result.subject == PEOPLE

    def above(self, other: "_Entry") -> bool:
        return self.low > other.high


def rules_name(result: Result) -> str:
    return str(result.rules.get("name", result.rules.get("rules", "")))


def mode_name(result: Result) -> str:
    mode = str(result.rules.get("mode", ""))
    return MODES.get(mode, f"answer mode {mode}" if mode else "answer mode not recorded")


def subject_name(subject: str) -> str:
    """A model by its bare name; people and judges keep their kind."""
    return short_name(subject.removeprefix("model:"), 160)


def conclusion(results: Sequence[Result], names: Sequence[str] | None = None) -> str:
    """One passage per group of comparable results; `names` (one per result) tell apart equal subjects."""
    named = list(zip(names or _distinct_names(results), results, strict=True))
    groups: dict[tuple[str, ...], list[tuple[str, Result]]] = {}
    for name, result in sorted(named, key=lambda one: one[1].subject == PEOPLE):
        key = comparable(result)
        if result.subject == PEOPLE:  # a person has no answer mode: people stand beside models of any
            key = next((other for other in groups if _but_mode(other) == _but_mode(key)), key)
        groups.setdefault(key, []).append((name, result))
    if not groups:
        return "There are no results yet."
    if len(groups) == 1:
        return _of_group(named)
    return " ".join(f"{_group_name(group[0][1])}: {_of_group(group)}" for group in groups.values())


def ranks(results: Sequence[Result]) -> list[tuple[int, int] | None]:
    """Best and worst rank that the intervals allow; None for a result that cannot be ranked."""
    entries = [_entry("", result) for result in results]
    ranked = [entry for entry in entries if entry]
    return [
        (1 + sum(other.above(entry) for other in ranked), len(ranked) - sum(entry.above(other) for other in ranked))
        if entry
        else None
        for entry in entries
    ]


def comparable(result: Result) -> tuple[str, ...]:
    """Never compare across these. The page knows the run as well and separates more finely."""
    rules = result.rules
    return (result.benchmark, str(rules.get("mode", "")), rules_name(result), str(rules.get("item_set", "")))


def _but_mode(key: tuple[str, ...]) -> tuple[str, ...]:
    return (key[0], *key[2:])


def _group_name(result: Result) -> str:
    parts = [f"rules {rules_name(result)}" if rules_name(result) else "", mode_name(result)]
    if "item_set" in result.rules:
        parts.append(f"item set {result.rules['item_set']}")
    return f"{result.title} ({', '.join(part for part in parts if part)})"


def _distinct_names(results: Sequence[Result]) -> list[str]:
    seen: dict[tuple[str, ...], int] = {}
    names = []
    for result in results:
        key = (result.subject, *comparable(result))
        seen[key] = seen.get(key, 0) + 1
        suffix = f" (no. {seen[key]})" if seen[key] > 1 else ""
        names.append(subject_name(result.subject) + suffix)
    return names


def _entry(name: str, result: Result) -> _Entry | None:
    head = result.headline
    if head.value is None or head.low is None or head.high is None or not result.valid or not result.ranked:
        return None
    if not (is_number(head.value) and is_number(head.low) and is_number(head.high)):
        return None
    return _Entry(name, result, head.value, head.low, head.high)


def _of_group(named: Sequence[tuple[str, Result]]) -> str:
    if len(named) == 1 and named[0][1].sentence:
        return named[0][1].sentence
    if not all(result.ranked for _, result in named):
        return " ".join(result.sentence for _, result in named)
    entries = [entry for name, result in named if (entry := _entry(name, result))]
    entries.sort(key=lambda entry: (-entry.value, entry.name))
    left_out = [_why_left_out(name, result) for name, result in named if not _entry(name, result)]
    if not entries:
        return " ".join(["No score can be compared.", *left_out])
    parts = [_ranking(entries), _against_baselines(entries), *left_out]
    return " ".join(part for part in parts if part)


def _ranking(entries: Sequence[_Entry]) -> str:
    if len(entries) == 1:
        only = entries[0]
        score = f"{value_of(only.result.headline)} ({basis_of(only.result.headline)})"
        return f"{only.opening} {'score' if only.many else 'scores'} {score}."
    printed = value_of(entries[0].result.headline)
    tops = [entry for entry in entries if value_of(entry.result.headline) == printed]
    rest = [entry for entry in entries if entry not in tops]
    tied = [entry for entry in rest if not all(top.above(entry) for top in tops)]
    below = [entry for entry in rest if entry not in tied]
    level = [*tops, *tied]
    clear = [entry for entry in below if all(other.above(entry) for other in tied)]
    partly = [entry for entry in below if entry not in clear]
    clauses = [_opening(tops, tied)]
    if clear:
        clauses.append(_all_above(level, clear))
    if partly:
        verb = "lies" if len(partly) == 1 and not partly[0].many else "lie"
        rivals = [entry for entry in tied if not all(entry.above(other) for other in partly)]
        clauses.append(f"{_join(partly)} {verb} below {_join(tops)} but cannot all be separated from {_join(rivals)}")
        if len(partly) == 1 and len(rivals) == 1:
            clauses[-1] = clauses[-1].replace("cannot all be", "cannot be")
    return "; ".join(clauses) + "."


def _opening(tops: Sequence[_Entry], tied: Sequence[_Entry]) -> str:
    if len(tops) > 1:
        who = _begin(_join_texts([top.own for top in tops]), tops[0].result)
        opening = f"{who} share the highest score and cannot be separated here"
        overlap = "interval overlaps" if len(tied) == 1 else "intervals overlap"
        return f"{opening}; the {overlap} at least one of theirs: {_join(tied)}" if tied else opening
    top = tops[0]
    opening = (
        f"{top.opening} {'score' if top.many else 'scores'} highest "
        f"({value_of(top.result.headline)}, {basis_of(top.result.headline)})"
    )
    its, it = ("their", "they") if top.many else ("its", "it")
    if not tied:
        return opening
    if len(tied) == 1:
        return f"{opening}; {its} interval overlaps that of {tied[0].own}, so the two cannot be separated here"
    return f"{opening}; {its} interval overlaps those of {_join(tied)}, so {it} cannot be separated from them here"


def _all_above(level: Sequence[_Entry], clear: Sequence[_Entry]) -> str:
    if len(level) == 1:
        its, that = "their" if level[0].many else "its", "that" if len(clear) == 1 else "those"
        return f"{its} interval lies above {that} of {_join(clear)}"
    count = {2: "both", 3: "all three", 4: "all four"}.get(len(level), f"all {len(level)}")
    return f"{count} lie above {_join(clear)}"


def _against_baselines(entries: Sequence[_Entry]) -> str:
    """Who does not clearly beat the best subject without any skill."""
    weak = []
    best: set[tuple[str, float]] = set()
    for entry in entries:
        baselines = [baseline for baseline in entry.result.baselines if is_number(baseline.value)]
        if baselines:
            top = max(baselines, key=lambda baseline: baseline.value)
            if entry.low <= top.value:
                weak.append(entry)
                best.add((top.name, top.value))
    if not weak:
        return ""
    name, value = next(iter(best))
    digits = weak[0].result.headline.digits
    which = f"the best baseline ({short(name)}, {number(value, digits)})" if len(best) == 1 else "their best baselines"
    return f"Not clearly above {which}: {_join(weak)}."


def _why_left_out(name: str, result: Result) -> str:
    head = result.headline
    name = short_name(name)
    has, is_not = ("have", "are not") if result.subject == PEOPLE else ("has", "is not")
    if not is_number(head.value):
        return f"{_begin(name, result)} {has} no defined score (n = {count_of(head)})."
    if not result.valid:
        return f"The result of {name} ({value_of(head)}, {basis_of(head)}) is not valid and not compared."
    score = f"a score ({value_of(head)}, n = {count_of(head)})"
    return f"{_begin(name, result)} {has} {score} but no interval, and {is_not} compared."


def _begin(name: str, result: Result) -> str:
    """People are a word, not a name: it is written large where a sentence begins."""
    return name[:1].upper() + name[1:] if result.subject == PEOPLE else name


def _join(entries: Sequence[_Entry]) -> str:
    names = [short_name(entry.name) for entry in entries]
    return _join_texts(names if len(names) <= 6 else [*names[:5], f"{len(names) - 5} others"])


def _join_texts(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
