"""A gate as files for other tools: JUnit XML for a CI server, Markdown for a pull request."""

from xml.etree import ElementTree as xml

from eqlab.comparison.gate import Check, Gate, doubt, verdict_words
from eqlab.comparison.markdown import safe
from eqlab.comparison.sentences import p_words
from eqlab.core.text import number, value_of, visible


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
    lines = [f"### {mark} EQ Lab: {safe(verdict_words(found))}", ""]
    lines += ["| | candidate | baseline | difference | 95 % interval | p | n | |", "|---|---|---|---|---|---|---|---|"]
    lines += [_row(check) for check in found.checks]
    lines += ["", *(f"- {safe(check.sentence)} {doubt(check, found.margin)}".rstrip() for check in found.checks), ""]
    return "\n".join(lines)


def _row(check: Check) -> str:
    if check.pair is None:
        return f"| {safe(check.title)} | | | | | | | {check.outcome} |"
    gap = check.pair.difference
    bounds = "" if gap.low is None or gap.high is None else f"{number(gap.low, 1)} to {number(gap.high, 1)}"
    cells = [
        safe(check.title),
        value_of(check.pair.a.score),
        value_of(check.pair.b.score),
        "undefined" if gap.value is None else f"{gap.value:+.1f}",
        bounds,
        p_words(gap.p),
        str(gap.n),
        f"**{check.outcome}**" if check.outcome == "worse" else check.outcome,
    ]
    return f"| {' | '.join(cells)} |"
