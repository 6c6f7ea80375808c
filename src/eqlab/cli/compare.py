"""`eqlab compare`: which subjects differ, by how much, and how sure that is."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag, check_writable

if TYPE_CHECKING:
    from eqlab.comparison.compare import Comparison
    from eqlab.comparison.entries import Entry, Missing
    from eqlab.comparison.gate import IfUnsure


class CompareFlags(TypedDict):
    """What sources are read from, and which of their results."""

    store: str
    data: Path | None
    benchmarks: Sequence[str]
    subject: str


SourcesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SOURCE]…",
        help="Run ids, `last`, RUN:MODEL, a model's name (its newest run), `published:MODEL`, `published` (all), or "
        "EQ-Bench result files (*.json).",
        show_default="last",
    ),
]
BenchmarkFlag = Annotated[
    list[str] | None, typer.Option("-b", "--benchmark", help="Only this benchmark; may be repeated.")
]
SubjectFlag = Annotated[str, typer.Option(help="Only those whose name contains this.")]
MissingFlag = Annotated[
    str, typer.Option(help="Answers that could not be used: `drop` (leave the item out) or `zero` (0 points).")
]


SweepFlag = Annotated[
    Path | None, typer.Option("--sweep", metavar="FILE", help="Every run of this sweep that is in the store.")
]


def compare(
    sources: SourcesArgument = None,
    sweep: SweepFlag = None,
    benchmark: BenchmarkFlag = None,
    subject: SubjectFlag = "",
    missing: MissingFlag = "drop",
    joint: Annotated[bool, typer.Option("--joint", help="Also ranks that hold for all at once: wider ranges.")] = False,
    each_run: Annotated[
        bool, typer.Option("--each-run", help="Seeds of one model as rivals, not taken together as repeats.")
    ] = False,
    speakers: Annotated[
        str,
        typer.Option(
            metavar="REFERENCE",
            help="Compare speakers: talks of every other one with those of this one, or of `people`.",
        ),
    ] = "",
    baseline: Annotated[
        str, typer.Option(metavar="SOURCE", help="Compare the one source named with this one: candidate − baseline.")
    ] = "",
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="With --baseline: exit code 3 if the candidate is worse.")
    ] = False,
    if_unsure: Annotated[
        str,
        typer.Option(
            metavar="pass|fail",
            help="With --fail-if-worse: whether `cannot say` passes or fails (exit code 5).",
            show_default="pass",
        ),
    ] = "",
    stable: Annotated[
        str,
        typer.Option(
            metavar="K/N",
            help="With --baseline: an item is right where K of its N repeats are; for right and wrong answers.",
        ),
    ] = "",
    margin: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="POINTS",
            help="With --baseline: a loss that is allowed; `no worse` means within it.",
            show_default="2 % of the scale",
        ),
    ] = None,
    equivalent: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="POINTS", help="Are two alike within ± this? Two one-sided tests.", show_default="no"
        ),
    ] = None,
    uncalibrated: Annotated[
        bool,
        typer.Option("--uncalibrated", help="Compare what a judge says even if it was never held against people."),
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --baseline: write JUnit XML for a CI server.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a summary for a pull request.")] = None,
    paper: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write methods and results as text for a paper, and a .bib file beside it."),
    ] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare the models of one or more runs, and published ones: paired item by item where items are shared.

    Gives each difference with its interval, ranks as ranges, who may be first, and what more items or repeats would
    buy. With --baseline it is a gate for CI: see docs/compare.md."""
    from eqlab.cli.output import print_json, print_table, say
    from eqlab.comparison.compare import alike, alike_data, alike_sentence, alike_table, caveats
    from eqlab.comparison.compare import compare as compare_entries
    from eqlab.comparison.entries import entries, refuse_uncalibrated
    from eqlab.comparison.sources import read_sources
    from eqlab.comparison.tables import as_data, sentence, tables
    from eqlab.core.errors import UsageError

    if missing not in ("drop", "zero"):
        raise UsageError(f"--missing '{missing}' is unknown.", "Choose drop or zero.")
    gate_only = {"--fail-if-worse": fail_if_worse, "--margin": margin is not None, "--junit": junit, "--stable": stable}
    for flag, value in gate_only.items():
        if value and not baseline:
            raise UsageError(f"{flag} needs something to compare with.", "Add --baseline RUN.")
    if equivalent is not None and (equivalent <= 0 or baseline or speakers):
        raise UsageError("--equivalent takes a margin above 0 and compares models.", "Use --margin with --baseline.")
    if if_unsure not in ("", "pass", "fail"):
        raise UsageError(f"--if-unsure '{if_unsure}' is unknown.", "Choose pass or fail.")
    if if_unsure and not fail_if_worse:
        raise UsageError("--if-unsure needs a gate that can fail.", "Add --fail-if-worse.")
    if paper and (baseline or speakers):
        raise UsageError("--paper describes a comparison of models.", "Drop --baseline, or --speakers.")
    if paper and paper.suffix.lower() == ".bib":
        raise UsageError(f"{paper} is where the citations go.", "Name a text file: the .bib file is written beside it.")
    if paper and paper.suffix.lower() not in ("", ".txt", ".md"):
        raise UsageError(f"--paper writes plain text, which '{paper.name}' would not be.", "Write a .txt file.")
    check_writable(junit, markdown, paper)
    named = [*(sources or ()), *(_runs_of(sweep, store, data) if sweep else ())] or ["last"]
    missing_is: Missing = "zero" if missing == "zero" else "drop"
    chosen: CompareFlags = {"store": store, "data": data, "benchmarks": benchmark or (), "subject": subject}
    if speakers:
        _speakers(named, speakers, chosen, as_json)
        return
    if baseline:
        ends: IfUnsure | None = None if not fail_if_worse else "fail" if if_unsure == "fail" else "pass"
        _gate(named, baseline, chosen, missing_is, margin, ends, junit, markdown, as_json, uncalibrated, stable)
        return
    own, undefined = entries(read_sources(named, **chosen, pool=not each_run), missing_is)
    if not own:
        said = "; ".join(f"{name}: {why}" for name, why in undefined[:3])
        raise UsageError(f"Nothing here has item scores to compare. {said}.")
    if not uncalibrated:
        refuse_uncalibrated(own)
    comparisons = compare_entries(own, undefined, joint=joint)
    if markdown:
        from eqlab.comparison.tables import comparison_page

        write_file(markdown, comparison_page(comparisons, missing))
    if paper:
        _write_paper(paper, comparisons, missing, store)
    tested = {one.title: alike(one, equivalent) for one in comparisons if equivalent and one.pairs}
    if as_json:
        print_json(
            [
                as_data(one, missing) | ({"equivalence": alike_data(tested[one.title])} if one.title in tested else {})
                for one in comparisons
            ]
        )
        return
    for comparison in comparisons:
        pairs = tested.get(comparison.title, [])
        say(f"{sentence(comparison)} {alike_sentence(pairs)}" if pairs else sentence(comparison), style="bold")
        for table in [*tables(comparison), *([alike_table(pairs, comparison)] if pairs else [])]:
            typer.echo("")
            print_table(table)
        for caveat in caveats(comparison, missing):
            say(f"! {caveat}", style="yellow")
        typer.echo("")
    if paper:
        say(f"For a paper: {paper.resolve()} and {paper.with_suffix('.bib').name}")


def _write_paper(path: Path, found: "Sequence[Comparison]", missing: str, store: str) -> None:
    from importlib.metadata import version

    from eqlab.publish.cite import paper
    from eqlab.store.access import open_reader

    origins = {
        entry.origin.removeprefix("run ") for one in found for entry in one.entries if entry.origin[:4] == "run "
    }
    runs = {}
    if origins:
        with open_reader(store) as opened:
            runs = {run: opened.read_run(run) for run in origins}
    text, bib = paper(found, runs, version("eqlab"), missing)
    write_file(path, text)
    write_file(path.with_suffix(".bib"), bib)


def _speakers(named: list[str], reference: str, chosen: "CompareFlags", as_json: bool) -> None:
    """Whether simulated speakers say the same of listeners as the reference does."""
    from eqlab.cli.output import print_json, print_table, say
    from eqlab.comparison.sources import read_sources
    from eqlab.comparison.speakers import compare_speakers, sentence, tables, talks_in
    from eqlab.core.errors import UsageError
    from eqlab.core.results import as_dict

    talks = talks_in([source.result for source in read_sources(named, **chosen)])
    if not talks:
        raise UsageError("No talk here has a score.", "Name runs of talks whose speakers tell how they feel.")
    found = compare_speakers(talks, reference)
    if as_json:
        print_json([{**as_dict(one), "sentence": sentence(one)} for one in found])
        return
    for speakers in found:
        say(sentence(speakers), style="bold")
        for table in tables(speakers):
            typer.echo("")
            print_table(table)
        typer.echo("")


def _gate(
    named: list[str],
    baseline: str,
    chosen: "CompareFlags",
    missing: "Missing",
    margin: float | None,
    if_unsure: "IfUnsure | None",
    junit: Path | None,
    markdown: Path | None,
    as_json: bool,
    uncalibrated: bool,
    stable: str,
) -> None:
    """Candidate against baseline, A and B in the order given. `if_unsure`: of a gate that may fail; else it only
    tells."""
    from eqlab.cli.output import print_json, say
    from eqlab.comparison.entries import entries, refuse_uncalibrated
    from eqlab.comparison.gate import as_data, gate, junit_xml, markdown_page, sentences
    from eqlab.comparison.sources import read_sources
    from eqlab.core.errors import UsageError

    if len(named) != 1:
        raise UsageError(f"A gate compares one candidate with the baseline, not {len(named)}.", "Name one run.")
    candidate, _ = entries(read_sources(named, **chosen), missing)
    reference, _ = entries(read_sources([baseline], **chosen), missing)
    if not uncalibrated:
        refuse_uncalibrated([*candidate, *reference])
    if stable:
        candidate, reference = _stable(candidate, stable), _stable(reference, stable)
    found = gate(candidate, reference, margin, names=(named[0], baseline))
    if junit:
        write_file(junit, junit_xml(found, if_unsure or "pass"))
    if markdown:
        write_file(markdown, markdown_page(found))
    if as_json:
        print_json(as_data(found, if_unsure or "pass"))
    else:
        for text, style in sentences(found, if_unsure):
            say(text, style=style)
    code = found.code(if_unsure or "pass")
    if code and (if_unsure or found.undecided):
        raise typer.Exit(code)


def _stable(found: "list[Entry]", text: str) -> "list[Entry]":
    from eqlab.comparison.entries import stable
    from eqlab.core.errors import UsageError

    parts = text.split("/")
    least, repeats = (int(part) if part.strip().isdecimal() else 0 for part in (*parts, "", "")[:2])
    if len(parts) != 2 or not 1 <= least <= repeats:
        raise UsageError(f"--stable '{text}' is not K/N.", "Write how many of how many repeats: 4/5.")
    return [stable(entry, least, repeats) for entry in found]


def _runs_of(sweep: Path, store: str, data: Path | None) -> list[str]:
    """The runs of a sweep that have begun."""
    from eqlab.core.errors import UsageError
    from eqlab.store.access import open_reader
    from eqlab.sweep.file import read_sweep
    from eqlab.sweep.grid import make_runs

    cells = make_runs(read_sweep(sweep), data)
    with open_reader(store) as opened:
        known = set(opened.run_ids())
    found = [cell.run for cell in cells if cell.run in known]
    if not found:
        raise UsageError(f"No run of {sweep} is in the store.", f"Run 'eqlab sweep {sweep}' first.")
    return found


def write_file(path: Path, text: str) -> None:
    from eqlab.data.files import write_whole

    write_whole(path, text)
