"""Is a candidate worse than a baseline? One paired comparison per benchmark, for whoever must decide about a change."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from xml.etree import ElementTree as xml

from eqlab.comparison.contender import Contender
from eqlab.comparison.entries import Entry
from eqlab.comparison.sentences import pair_sentence, round_up
from eqlab.comparison.tables import pair_data
from eqlab.comparison.verdict import Pair, pair
from eqlab.core.errors import UsageError
from eqlab.core.results import Cell, Column, Estimate, Table
from eqlab.core.text import number, visible
from eqlab.tables.markdown import markdown_table, safe

Outcome = Literal["worse", "better", "no worse", "not sure", "undecided"]
"""worse: certainly by more than the margin. not sure: a loss beyond the margin cannot be ruled out. no worse: it can.
undecided: there is nothing to compare with."""


@dataclass(frozen=True, slots=True)
class Check:
    """Candidate (A) minus baseline (B) on one benchmark."""

    title: str
    benchmark: str
    things: str
    """What its items are called."""
    pair: Pair | None
    outcome: Outcome
    why: str = ""
    """Why it is undecided."""

    @property
    def sentence(self) -> str:
        if self.pair is None:
            return f"{self.title}: {self.why}."
        return f"{self.title}: {pair_sentence(self.pair, self.things)}"


@dataclass(frozen=True, slots=True)
class Gate:
    candidate: str
    baseline: str
    margin: float
    checks: tuple[Check, ...]

    @property
    def worse(self) -> tuple[Check, ...]:
        return tuple(one for one in self.checks if one.outcome == "worse")

    @property
    def undecided(self) -> tuple[Check, ...]:
        return tuple(one for one in self.checks if one.outcome == "undecided")


def gate(candidate: Sequence[Entry], baseline: Sequence[Entry], margin: float, names: tuple[str, str]) -> Gate:
    """Each benchmark of the baseline; its models with the candidate's of the same name, or one with one."""
    kinds = dict.fromkeys(entry.kind for entry in baseline)
    if not kinds:
        raise UsageError(f"The baseline {names[1]} has no score to compare with.", "Name another run with --baseline.")
    checks = [
        check
        for kind in kinds
        for check in _checks(
            kind, [one for one in candidate if one.kind == kind], [one for one in baseline if one.kind == kind], margin
        )
    ]
    return Gate(*names, margin, tuple(checks))


def _checks(kind: tuple[str, str, str], own: Sequence[Entry], other: Sequence[Entry], margin: float) -> Iterator[Check]:
    benchmark, title, rater = kind
    title = f"{title}, rated by {rater}" if rater else title
    things = other[0].result.noun
    if not own:
        yield Check(title, benchmark, things, None, "undecided", "the candidate has no score here")
        return
    pairs = _matched(own, other)
    several = len(pairs) > 1
    for one, against in pairs:
        label = f"{title}, {one.name}" if several else title
        if against is None:
            why = f"the baseline has no model named {one.name}, and more than one"
            yield Check(label, benchmark, things, None, "undecided", why)
        else:
            yield _check(label, benchmark, one, against, margin)


def _matched(own: Sequence[Entry], other: Sequence[Entry]) -> list[tuple[Entry, Entry | None]]:
    if len(other) == 1:
        return [(one, other[0]) for one in own]
    named = {entry.name: entry for entry in other}
    return [(one, named.get(one.name)) for one in own]


def _check(title: str, benchmark: str, one: Entry, against: Entry, margin: float) -> Check:
    a, b, things = one.contender, against.contender, against.result.noun
    for side, who in ((a, "candidate"), (b, "baseline")):
        if not side.ranked:
            return Check(
                title, benchmark, things, None, "undecided", f"the {who}'s score cannot be used: {side.why_no_rank}"
            )
    found = pair(_named(a, "candidate", a.name == b.name), _named(b, "baseline", a.name == b.name))
    gap = found.gain
    if found.separated is None or gap.value is None:
        return Check(title, benchmark, things, None, "undecided", found.why or "there is no difference to test")
    if found.better is found.b:
        at_best = gap.value if gap.high is None else gap.high  # no interval: the same loss on every item
        return Check(title, benchmark, things, found, "worse" if at_best < -margin else "not sure")
    if found.better is not None:
        return Check(title, benchmark, things, found, "better")
    return Check(title, benchmark, things, found, "no worse" if gap.low is None or gap.low >= -margin else "not sure")


def _named(one: Contender, role: str, same: bool) -> Contender:
    return replace(one, name=f"{one.name} ({role})") if same else one


def verdict_words(found: Gate) -> str:
    allowed = f" by more than {found.margin:g} points" if found.margin else ""
    if found.worse:
        return f"Worse{allowed}: {found.candidate} against {found.baseline}."
    if found.undecided:
        return f"Undecided: {found.candidate} and {found.baseline} cannot be compared on everything."
    return f"Not shown to be worse{allowed}: {found.candidate} against {found.baseline}."


def doubt(check: Check, margin: float) -> str:
    """What a pass does not say."""
    if check.outcome != "not sure" or check.pair is None or check.pair.gain.low is None:
        return ""
    text = f"A loss of up to {number(-check.pair.gain.low, 1)} points cannot be ruled out"
    needed = check.pair.needed
    if not needed:
        return f"{text}."
    return f"{text}; about {round_up(needed):,} {check.things} would show a difference of this size."


def sentences(found: Gate) -> Iterator[tuple[str, str]]:
    """(text, style) for a terminal."""
    yield verdict_words(found), "bold red" if found.worse or found.undecided else "bold green"
    for check in found.checks:
        yield check.sentence, "red" if check.outcome in ("worse", "undecided") else ""
        if said := doubt(check, found.margin):
            yield f"! {said}", "yellow"


def as_data(found: Gate) -> Mapping[str, Any]:
    return {
        "candidate": found.candidate,
        "baseline": found.baseline,
        "margin": found.margin,
        "worse": bool(found.worse),
        "sentence": verdict_words(found),
        "checks": [
            {
                "title": check.title,
                "benchmark": check.benchmark,
                "outcome": check.outcome,
                "sentence": check.sentence,
                "pair": pair_data(check.pair, check.things) if check.pair else None,
            }
            for check in found.checks
        ],
    }


# A gate as files for other tools: JUnit XML for a CI server, Markdown for a pull request.
def junit_xml(found: Gate) -> str:
    """One test case per benchmark (and model): a failure if it is worse, an error if nothing can be said."""
    counts = {"failures": len(found.worse), "errors": len(found.undecided), "tests": len(found.checks)}
    suite = xml.Element("testsuite", {"name": "eqlab compare", **{name: str(n) for name, n in counts.items()}})
    for check in found.checks:
        case = xml.SubElement(suite, "testcase", {"classname": "eqlab.compare", "name": visible(check.title)})
        if check.outcome == "worse":
            xml.SubElement(case, "failure", {"message": visible(check.sentence), "type": "worse"})
        elif check.outcome == "undecided":
            xml.SubElement(case, "error", {"message": visible(check.sentence), "type": "undecided"})
        xml.SubElement(case, "system-out").text = visible(
            " ".join([check.sentence, doubt(check, found.margin)]).strip()
        )
    root = xml.Element("testsuites", {name: str(n) for name, n in counts.items()})
    root.append(suite)
    xml.indent(root)
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def markdown_page(found: Gate) -> str:
    mark = "❌" if found.worse else "⚠️" if found.undecided else "✅"
    said = [f"- {safe(check.sentence)} {doubt(check, found.margin)}".rstrip() for check in found.checks]
    heading = f"### {mark} EQ Lab: {safe(verdict_words(found))}"
    return "\n".join([heading, "", markdown_table(gate_table(found)), "", *said, ""])


def gate_table(found: Gate) -> Table:
    columns = [
        Column("benchmark", "benchmark"),
        Column("candidate", "candidate", "number"),
        Column("baseline", "baseline", "number"),
        Column("difference", "difference", "estimate"),
        Column("p", "p", "p"),
        Column("outcome", "outcome"),
    ]
    return Table("", columns, [_row(check) for check in found.checks], key="gate")


def _row(check: Check) -> tuple[Cell, ...]:
    if check.pair is None:
        return (check.title, "", "", "", "", check.outcome)
    gap = check.pair.difference
    difference = Estimate("difference", gap.value, gap.n, gap.se, gap.low, gap.high, digits=1)
    return (check.title, check.pair.a.score, check.pair.b.score, difference, gap.p, check.outcome)
