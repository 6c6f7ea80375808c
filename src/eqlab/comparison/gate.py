"""Is a candidate worse than a baseline? One paired comparison per benchmark, for whoever must decide about a change.

Three outcomes, each with its own exit code. *Worse*: a loss is shown (the verdict's test, corrected over benchmarks by
Holm), and not that it lies within the margin. *No worse*: the difference lies above −margin with 97.5 %
(non-inferiority, the one-sided half of TOST: Schuirmann 1987; corrected for skew, since few large losses make Student's
bound short). *Cannot say*: neither. Where every answer is worth the same the gate says that, and no more, and passes;
where nothing can be compared it is undecided, which is never a pass."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from xml.etree import ElementTree as xml

from eqlab.analysis.comparison import least
from eqlab.analysis.multiplicity import holm
from eqlab.comparison.contender import Contender
from eqlab.comparison.entries import Entry
from eqlab.comparison.sentences import pair_sentence, round_up
from eqlab.comparison.tables import pair_data
from eqlab.comparison.verdict import ALPHA, POWER, Pair, pair
from eqlab.core.errors import UsageError
from eqlab.core.plural import many
from eqlab.core.results import Cell, Column, Estimate, Table
from eqlab.core.text import number, short_name, visible
from eqlab.core.values import dataclass
from eqlab.tables.cells import markdown_table, p_text, safe

Outcome = Literal["worse", "better", "no worse", "the same", "cannot say", "undecided"]
"""`better` is a pass as `no worse` is, and so is `the same`, on these items; `undecided`: there is nothing to compare
with."""
IfUnsure = Literal["pass", "fail"]
MARGIN = 0.02
"""The loss that is allowed unless somebody says otherwise, as a share of the scale: 2 points of 100."""
LOSS = 0.05
"""The loss whose chance of being missed is told, as a share of the scale: 5 points of 100."""
NO_WORSE, WORSE, UNSURE, UNDECIDED = 0, 3, 5, 1
"""Exit codes; 2 is a mistake in the command, 4 a limit of cost."""


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
    margin: float = 0.0
    """The loss that is allowed, in points."""
    p: float | None = None
    """Two-sided, corrected over the checks of the gate."""
    at_most: float | None = None
    """The largest loss that is not ruled out: the end of the 95 % interval, or what the few changes allow."""
    changed: str = ""
    """What the candidate no longer answers, and how that counts."""
    loss: float = 0.0
    missed: float | None = None
    """How often a true loss of `loss` points is not shown with these items."""
    doubt: str = ""
    """What the outcome does not say."""

    @property
    def sentence(self) -> str:
        if self.pair is None:
            return f"{self.title}: {self.why}."
        said = [f"{self.title}: {pair_sentence(self.pair, self.things)}"]
        said += [self.changed] if self.changed else []
        loss = self.pair.gain.value
        shown = self.p is not None and self.p < ALPHA and loss is not None and loss < 0
        if self.outcome == "no worse" and shown:
            said.append(f"A loss is shown, but it lies within the margin of {self.margin:g} points.")
        if self.p is not None and self.pair.difference.p is not None and self.p != self.pair.difference.p:
            said.append(f"Corrected over the benchmarks, p is {p_text(self.p)}.")
        return " ".join(said)


@dataclass(frozen=True, slots=True)
class Gate:
    candidate: str
    baseline: str
    margin: float | None
    """As it was given, in points; None: 2 % of each scale."""
    checks: tuple[Check, ...]

    @property
    def worse(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.outcome == "worse")

    @property
    def unsure(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.outcome == "cannot say")

    @property
    def undecided(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.outcome == "undecided")

    @property
    def outcome(self) -> Outcome:
        """Of all benchmarks: the worst of them."""
        if self.undecided:
            return "undecided" if not self.worse else "worse"
        if self.worse or self.unsure:
            return "worse" if self.worse else "cannot say"
        return "the same" if all(check.outcome == "the same" for check in self.checks) else "no worse"

    def code(self, if_unsure: IfUnsure) -> int:
        """The exit code of a gate that may fail."""
        if self.undecided:
            return UNDECIDED
        if self.worse:
            return WORSE
        return UNSURE if self.unsure and if_unsure == "fail" else NO_WORSE


def gate(candidate: Sequence[Entry], baseline: Sequence[Entry], margin: float | None, names: tuple[str, str]) -> Gate:
    """Each benchmark of the baseline; its models with the candidate's of the same name, or one with one."""
    kinds = dict.fromkeys(entry.kind for entry in baseline)
    if not kinds:
        raise UsageError(f"The baseline {names[1]} has no score to compare with.", "Name another run with --baseline.")
    checks = [
        check
        for kind in kinds
        for check in _checks(
            kind,
            [entry for entry in candidate if entry.kind == kind],
            [entry for entry in baseline if entry.kind == kind],
            margin,
        )
    ]
    p = holm([_p(check.pair) for check in checks])
    tests = sum(value is not None for value in p)
    decided = [_decided(replace(check, p=value), max(1, tests)) for check, value in zip(checks, p, strict=True)]
    return Gate(*names, margin, tuple(decided))


def _p(found: Pair | None) -> float | None:
    """Two that are the same have been tested too, and count among the tests."""
    return None if found is None else 1.0 if found.difference.p is None else found.difference.p


def _checks(
    kind: tuple[str, str, str, str], entries: Sequence[Entry], other: Sequence[Entry], margin: float | None
) -> Iterator[Check]:
    benchmark, title, rater, _ = kind
    title = f"{title}, rated by {rater}" if rater else title
    things = other[0].result.noun
    if not entries:
        yield Check(
            title,
            benchmark,
            things,
            None,
            "undecided",
            "the candidate has no score on these questions; run it on them first",
        )
        return
    pairs = _matched(entries, other)
    several = len(pairs) > 1
    for entry, against in pairs:
        label = f"{title}, {entry.name}" if several else title
        if against is None:
            why = f"the baseline has no model named {entry.name}, and more than one"
            yield Check(label, benchmark, things, None, "undecided", why)
        else:
            yield _check(label, benchmark, entry, against, margin)


def _matched(entries: Sequence[Entry], other: Sequence[Entry]) -> list[tuple[Entry, Entry | None]]:
    if len(other) == 1:
        return [(entry, other[0]) for entry in entries]
    named = {entry.name: entry for entry in other}
    return [(entry, named.get(entry.name)) for entry in entries]


def _check(title: str, benchmark: str, entry: Entry, against: Entry, margin: float | None) -> Check:
    """The pair and what was lost; what follows from it is decided when all benchmarks are known."""
    a, b, things = entry.contender, against.contender, against.result.noun
    for side, who in ((a, "candidate"), (b, "baseline")):
        if not side.ranked:
            return Check(
                title, benchmark, things, None, "undecided", f"the {who}'s score cannot be used: {side.why_no_rank}"
            )
    low, high = (
        against.result.others.score_range if against.rater and against.result.others else (against.result.score_range)
    )
    whole, changed, failed = _with_losses(a, b, things)
    same = (a.name, entry.label) == (b.name, against.label)
    found = pair(
        _named(whole, entry.label or ("candidate" if a.name == b.name else ""), "candidate" if same else ""),
        _named(
            replace(b, lost=None),
            against.label or ("baseline" if a.name == b.name else ""),
            "baseline" if same else "",
        ),
    )
    if found.separated is None or found.gain.value is None:
        why = found.why or "there is no difference to test"
        return Check(title, benchmark, things, None, "undecided", why)
    check = Check(
        title,
        benchmark,
        things,
        found,
        "cannot say",
        margin=MARGIN * (high - low) if margin is None else margin,
        at_most=_at_most(found),
        changed=changed,
        loss=LOSS * (high - low),
    )
    return replace(check, doubt=f"{failed} {things} got no answer: run the candidate again") if failed else check


def _with_losses(a: Contender, b: Contender, things: str) -> tuple[Contender, str, int]:
    """The candidate with what it no longer answers as the worst answers that the form allows; in words; and how many
    items got no answer for no fault of its own, which are left out."""
    if a.lost is None or not b.points:
        return replace(a, lost=None), "", 0
    new = [item for item in a.lost.items if item in b.points]
    own = [item for item in new if a.lost.items[item] - {"error"}]
    failed = len(new) - len(own)
    filled = replace(a, points={**a.points, **{item: a.lost.worst[item] for item in own}}, lost=None)
    if not own:
        return filled, "", failed
    verb = "counts" if len(own) == 1 else "count"
    words = f"{len(own)} of the {things} that the baseline answers, the candidate refuses or answers unreadably"
    return filled, f"{words}: {verb} as the worst answer.", failed


def _named(contender: Contender, mark: str, role: str) -> Contender:
    """By its name and label; by its role too where both have the same."""
    marks = [text for text in dict.fromkeys((mark, role)) if text]
    return replace(contender, name=f"{contender.name} ({', '.join(marks)})") if marks else contender


def _at_most(found: Pair) -> float | None:
    """The largest loss that the data leave open, at 97.5 % (the end of a 95 % interval). Where so few items changed
    that they have no spread to judge by: at most π of all items change (Clopper & Pearson 1934), and none of them by
    more than the scale, or the points seen, allow."""
    gap = found.gain
    if gap.value is None:
        return None
    same = gap.differ is None and gap.low is None and not gap.value
    if gap.differ is None and not same:
        if gap.low is None:  # the same loss on every item
            return max(0.0, -gap.value)
        bound = least(gap, 1 - ALPHA / 2)
        return max(0.0, -(gap.low if bound is None else min(gap.low, bound)))
    from eqlab.analysis.special import betaincinv

    changed = gap.differ or 0
    share = float(betaincinv(changed + 1, gap.n - changed, 1 - ALPHA / 2))
    seen = [*found.a.points.values(), *found.b.points.values()]
    bounds = found.a.bounds if found.a.bounds == found.b.bounds else None
    reach = bounds[1] - bounds[0] if bounds else max(seen) - min(seen)
    return share * reach


def _decided(check: Check, tests: int) -> Check:
    """The outcome, the chance of missing a loss, and what is left open."""
    if check.pair is None or check.at_most is None:
        return check
    gap, failed = check.pair.gain, check.doubt
    shown = check.p is not None and check.p < ALPHA and gap.value is not None and gap.value != 0
    within = check.at_most < check.margin
    outcome: Outcome
    if shown and (gap.value or 0.0) < 0 and not within:
        outcome = "worse"
    elif failed:
        outcome = "cannot say"
    elif shown and (gap.value or 0.0) > 0:
        outcome = "better"
    elif check.pair.why == "they are the same":
        outcome = "the same"
    else:
        outcome = "no worse" if within else "cannot say"
    decided = replace(check, outcome=outcome, missed=_missed(check, tests))
    return replace(decided, doubt=_doubt(decided, failed))


def _missed(check: Check, tests: int) -> float | None:
    """1 − the power of the deciding test against a true loss of `loss` points: Student's with the spread seen; where
    too few items changed to have one, the exact test, with answers that lose everything they were worth."""
    if check.pair is None or check.loss <= 0:
        return None
    gap, alpha = check.pair.difference, ALPHA / tests
    if gap.differ is None and gap.se:
        from eqlab.analysis.special import nctdtr, stdtrit

        df = gap.df or max(gap.n - 1, 1)
        return float(nctdtr(df, check.loss / gap.se, float(stdtrit(df, 1 - alpha / 2))))
    if gap.method != "paired" or not check.pair.b.points:
        return None
    from eqlab.analysis.special import bdtr

    ends = check.pair.b.bounds or (0.0, 100.0)
    score = check.pair.b.score.value or 0.0
    worth = max(abs(score - (ends[0] if check.pair.b.better == "higher" else ends[1])), check.loss)
    needed = math.floor(1 - math.log2(alpha)) + 1  # changes, all for the worse, whose signs are improbable enough
    return float(bdtr(needed - 1, gap.n, min(1.0, check.loss / worth)))


def _doubt(check: Check, failed: str) -> str:
    said = [f"{failed[:1].upper()}{failed[1:]}."] if failed else []
    if check.outcome == "cannot say" and check.at_most is not None and check.pair is not None:
        open_loss = (
            f"A loss of up to {number(check.at_most, 1)} points cannot be ruled out, {check.margin:g} is allowed"
        )
        if needed := _needed(check):
            open_loss += f"; about {round_up(needed):,} {check.things} would rule out more than that, if there is none"
        said.append(f"{open_loss}.")
    if check.outcome == "the same" and check.at_most is not None:
        said.append(f"On other {check.things} a loss of up to {number(check.at_most, 1)} points cannot be ruled out.")
    if check.missed is not None and check.outcome != "worse":
        often = round(100 * check.missed)
        share = (
            f"in {often} of 100 cases"
            if 0 < often < 100
            else "nearly always"
            if often
            else "in fewer than 1 of 100 cases"
        )
        said.append(
            f"With these {check.pair.difference.n if check.pair else 0} {check.things} a true loss of {check.loss:g} "
            f"points would be missed {share}."
        )
    return " ".join(said)


def _needed(check: Check) -> int | None:
    """Items with which two that do not differ would be found to be within the margin four times in five:
    ((z₀.₉₇₅ + z₀.₈)·s/margin)²; None without a spread."""
    gap = check.pair.difference if check.pair else None
    if gap is None or gap.differ is not None or not gap.se or check.margin <= 0 or gap.method != "paired":
        return None
    from eqlab.analysis.special import ndtri

    reach = float(ndtri(1 - ALPHA / 2)) + float(ndtri(POWER))
    return max(gap.n + 1, math.ceil((reach * gap.se / check.margin) ** 2 * gap.n))


def verdict_words(found: Gate) -> str:
    """The headline: who, by model and label where there is one pair, and how large the difference is."""
    allowed = f"{found.margin:g} points" if found.margin is not None else f"{100 * MARGIN:g} % of the scale"
    pairs = [check.pair for check in found.checks if check.pair]
    named = {(pair.a.name, pair.b.name) for pair in pairs}
    a, b = (visible(short_name(one)) for one in (named.pop() if len(named) == 1 else (found.candidate, found.baseline)))
    size = abs(pairs[0].gain.value or 0.0) if len(found.checks) == 1 and pairs else None
    by = "" if size is None else f"{number(size, 2 if size < 0.05 else 1)} points "
    if found.worse:
        on = "" if len(found.checks) == 1 else f" on {len(found.worse)} of {len(found.checks)} comparisons"
        return f"FAIL: {a} is {by}worse than {b}{on}."
    if found.undecided:
        return f"UNDECIDED: {a} and {b} cannot be compared on everything."
    if found.unsure:
        return f"CANNOT SAY: whether {a} loses more than {allowed} against {b}."
    if found.outcome == "the same":
        return f"PASS: {a} scores the same as {b} on everything that was asked."
    better = sum(check.outcome == "better" for check in found.checks)
    if size is not None and better:
        return f"PASS: {a} is {by}better than {b}."
    more = f"; better on {better} of {many(len(found.checks), 'comparison')}" if better else ""
    return f"PASS: {a} is no worse than {b}, within {allowed}{more}."


def passes_unsure(found: Gate, if_unsure: IfUnsure) -> str:
    """What becomes of a gate that cannot say; empty where it can."""
    if found.outcome != "cannot say":
        return ""
    if if_unsure == "fail":
        return f"Cannot say, and fails (exit code {UNSURE}), as --if-unsure fail demands."
    return (
        "CANNOT SAY, AND PASSES: this does not show that it is as good. "
        f"--if-unsure fail would fail it (exit code {UNSURE})."
    )


def sentences(found: Gate, if_unsure: IfUnsure | None = None) -> Iterator[tuple[str, str]]:
    """(text, style) for a terminal; `if_unsure`: of a gate that may fail."""
    bad = bool(found.worse or found.undecided)
    yield verdict_words(found), "bold red" if bad else "bold yellow" if found.unsure else "bold green"
    if if_unsure and (said := passes_unsure(found, if_unsure)):
        yield f"! {said}", "bold yellow" if if_unsure == "pass" else "bold red"
    for check in found.checks:
        yield check.sentence, "red" if check.outcome in ("worse", "undecided") else ""
        if check.doubt:
            yield f"! {check.doubt}", "yellow"


def as_data(found: Gate, if_unsure: IfUnsure = "pass") -> Mapping[str, Any]:
    margins = [check.margin for check in found.checks if check.pair]
    return {
        "candidate": found.candidate,
        "baseline": found.baseline,
        "margin": found.margin if found.margin is not None else next(iter(margins), 100 * MARGIN),
        "worse": bool(found.worse),
        "outcome": found.outcome,
        "if_unsure": if_unsure,
        "exit_code": found.code(if_unsure),
        "sentence": verdict_words(found),
        "checks": [
            {
                "title": check.title,
                "benchmark": check.benchmark,
                "outcome": check.outcome,
                "sentence": check.sentence,
                "pair": pair_data(check.pair, check.things) if check.pair else None,
                "margin": check.margin if check.pair else None,
                "p_corrected": check.p,
                "loss_at_most": check.at_most,
                "missed": {"loss": check.loss, "share": check.missed} if check.missed is not None else None,
                "doubt": check.doubt,
            }
            for check in found.checks
        ],
    }


# A gate as files for other tools: JUnit XML for a CI server, Markdown for a pull request.
def junit_xml(found: Gate, if_unsure: IfUnsure = "pass") -> str:
    """One test case per benchmark (and model): a failure if it is worse, or unsure and that fails; an error if nothing
    can be compared."""
    unsure = found.unsure if if_unsure == "fail" else ()
    counts = {
        "failures": len(found.worse) + len(unsure),
        "errors": len(found.undecided),
        "tests": len(found.checks),
    }
    suite = xml.Element("testsuite", {"name": "eqlab compare", **{name: str(n) for name, n in counts.items()}})
    for check in found.checks:
        case = xml.SubElement(suite, "testcase", {"classname": "eqlab.compare", "name": visible(check.title)})
        if check.outcome == "worse" or check in unsure:
            xml.SubElement(case, "failure", {"message": visible(check.sentence), "type": check.outcome})
        elif check.outcome == "undecided":
            xml.SubElement(case, "error", {"message": visible(check.sentence), "type": "undecided"})
        xml.SubElement(case, "system-out").text = visible(f"{check.sentence} {check.doubt}".strip())
    root = xml.Element("testsuites", {name: str(n) for name, n in counts.items()})
    root.append(suite)
    xml.indent(root)
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def markdown_page(found: Gate) -> str:
    mark = "❌" if found.worse else "⚠️" if found.undecided or found.unsure else "✅"
    said = [f"- {safe(check.sentence)} {safe(check.doubt)}".rstrip() for check in found.checks]
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
