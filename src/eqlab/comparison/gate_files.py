"""A gate as files for other tools: JUnit XML for a CI server, Markdown for a pull request."""

from xml.etree import ElementTree as xml

from eqlab.comparison.gate import Check, Gate, doubt, verdict_words
from eqlab.core.results import Cell, Column, Estimate, Table
from eqlab.core.text import visible
from eqlab.tables.markdown import markdown_table, safe


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
