"""Results on the terminal: one table, then what holds for a benchmark said once, and what is one subject's own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eqlab.cli.output import print_table, say
from eqlab.comparison.scores import ScoreLine, rules_words, score_table
from eqlab.core.plural import many
from eqlab.core.results import Estimate, Result, goodness
from eqlab.core.text import floor_text, is_number, place_sentences
from eqlab.tables.cells import estimate_text

if TYPE_CHECKING:
    from eqlab.core.results import Result
    from eqlab.publish.ladder import Conclusion


def print_results(results: Sequence[Result], said: Sequence[str] = ()) -> None:
    """One table of all results, then each conclusion and its caveats in words; what was said above is not repeated."""
    groups = _by_title(results)
    ordered = [result for own in groups.values() for result in own]
    print_table(score_table([ScoreLine.of(result) for result in ordered], "terminal"))
    everywhere = [one for one in ordered[0].caveats if all(one in result.caveats for result in ordered)]
    everywhere = everywhere if len(ordered) > 1 else []
    for group in groups.values():
        _print_group(group, said, everywhere, alone=len(ordered) == 1, named=len(groups) > 1)
    if everywhere:
        say("")
    for caveat in everywhere:
        say(f"! {caveat}", style="yellow")


def _by_title(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Benchmark by benchmark, the best first."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.title, []).append(result)
    return {title: sorted(group, key=_worst) for title, group in groups.items()}


def _worst(result: Result) -> float:
    value = result.headline.value
    return -goodness(value, result.better) if result.ranked and is_number(value) else 0.0


def _print_group(
    results: Sequence[Result], said: Sequence[str], everywhere: Sequence[str], *, alone: bool, named: bool
) -> None:
    """What holds for all of a benchmark's results, then what is one's own."""
    shared = [caveat for caveat in results[0].caveats if all(caveat in result.caveats for result in results)]
    floors = {_floor(result) for result in results}
    sentences = [] if said and not alone else [one for one in results if not any(one.sentence in up for up in said)]
    lines: list[tuple[str, str]] = [(result.sentence, "bold") for result in sentences]
    if len(floors - {""}) == 1 and (floor := max(floors)):
        lines.append((f"No-skill baselines: {floor}.", "dim"))
        floors = set()
    lines += [(f"! {caveat}", "yellow") for caveat in shared if caveat not in everywhere]
    for result in results:
        own = f"{_name(result)}: " if len(results) > 1 else ""
        if floors and (floor := _floor(result)):
            lines.append((f"{own}no-skill baselines: {floor}.", "dim"))
        if result.proviso and result.proviso not in result.caveats:
            lines.append((f"{_name(result)}: {result.proviso.removesuffix('.')}.", ""))
        lines += [(sentence, "") for sentence in place_sentences(_name(result), result)]
        if again := _again(result):
            lines.append((f"{own}asked again: {again}." if own else f"Asked again: {again}.", "dim"))
        lines += [(f"! {own}{caveat}", "yellow") for caveat in result.caveats if caveat not in (*shared, *everywhere)]
    if not lines:
        return
    kinds = {rules_words(result) for result in results}
    rules = f" ({kinds.pop()})" if len(kinds) == 1 and "" not in kinds else ""
    say("")
    if named or not sentences:
        say(f"{results[0].title}{rules}")
    for text, style in lines:
        say(text, style=style)


def _name(result: Result) -> str:
    return result.subject.removeprefix("model:")


def _floor(result: Result) -> str:
    if result.headline.value is None:  # there is nothing to compare with it
        return ""
    return ", ".join(
        f"{baseline.name} {floor_text(baseline.value, result.headline.digits)}" for baseline in result.baselines
    )


def _again(result: Result) -> str:
    """How alike answers to the same question were."""
    return "; ".join(_brief(estimate) for estimate in result.estimates if estimate.name.startswith("repeatability: "))


def _brief(estimate: Estimate) -> str:
    """Name, value, interval and n in one phrase."""
    name = estimate.name.removeprefix("repeatability: ")
    if estimate.value is None:
        return f"{name} {estimate.note or 'undefined'}"
    return f"{name} {estimate_text(estimate)}"


def result_json(result: Result) -> dict[str, Any]:
    from dataclasses import replace

    from eqlab.core.results import as_dict
    from eqlab.tables.data import table_json

    return {**as_dict(replace(result, tables=())), "tables": [table_json(table) for table in result.tables]}


def print_conclusions(found: "Sequence[Conclusion]") -> None:
    """What a command that asked models says first. Several are told apart by their titles."""
    from eqlab.cli.output import say

    for conclusion in found:
        named = len(found) > 1 and conclusion.data["title"] not in conclusion.sentence
        title = f"{conclusion.data['title']}: " if named else ""
        say(f"{title}{conclusion.sentence}\n", style="bold")


def without_answers(results: "Sequence[Result]") -> list[str]:
    """Subjects of whom no answer at all could be used: not a low score but a run that failed."""
    totals: dict[str, list[int]] = {}
    for result in results:
        counts = result.counts
        own = totals.setdefault(result.subject, [0, 0, 0, 0])
        for place, status in enumerate(("unparseable", "error", "refused", "ok")):
            own[place] += counts.get(status, 0)
    said = []
    for subject, (unread, lost, refused, usable) in totals.items():
        name = subject.partition(":")[2] or subject
        if refused and not usable:
            said.append(
                f"{name}: none of {many(unread + lost + refused, 'answer')} could be used, "
                f"{many(refused, 'was', 'were')} refused; "
                "'eqlab runs show --status refused' shows them."
            )
        elif unread and not usable:
            said.append(
                f"{name}: none of {many(unread + lost, 'answer')} could be used; "
                "'eqlab runs show --status unparseable' shows them."
            )
        elif lost and not usable:
            said.append(f"{name}: no answer came; 'eqlab runs show --status error' says why.")
    return said
