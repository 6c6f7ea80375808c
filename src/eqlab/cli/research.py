"""What researchers ask: `eqlab research correlate`, `power`, `probe`, `reproduce` and `items report`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eqlab.cli.compare import BenchmarkFlag, SubjectFlag
from eqlab.cli.flags import (
    BaseUrlFlag,
    ConcurrencyFlag,
    DataFlag,
    JsonFlag,
    PatienceFlag,
    SettingFlag,
    StoreFlag,
    TimeoutFlag,
    check_writable,
)
from eqlab.cli.plain import print_text
from eqlab.core.plural import many
from eqlab.core.settings import read_settings
from eqlab.models.timeouts import PATIENCE, WHOLE, Timeouts
from eqlab.reproduce import STUDIES

if TYPE_CHECKING:
    from eqlab.reproduce.claims import Study


def correlate(
    scores: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SCORES.csv]",
            help="Columns: model, then one per score; NAME_se for its errors. Left out with --external.",
            show_default=False,
        ),
    ] = None,
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE]…",
            help="Our side: run ids, `last`, `published:MODEL`, `published` (all models), result files (*.json).",
            show_default="published",
        ),
    ] = None,
    external: Annotated[
        list[str] | None,
        typer.Option(
            "--external",
            metavar="NAME",
            help="A score that ships: mmlu, arc, hellaswag, truthfulqa, winogrande, gsm8k, mt-bench, elo (repeatable).",
            show_default="none",
        ),
    ] = None,
    benchmark: BenchmarkFlag = None,
    subject: SubjectFlag = "",
    reliability: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Reliability of an external score, 0 to 1; may be repeated."),
    ] = None,
    without: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Take this one of the scores (ability, say) out of both sides of the others."
        ),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE.svg", help="Draw the scatter plots.", show_default="none"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Correlate scores with external ones (MMLU, Arena, …): bootstrap intervals over models, corrected for the
    reliability of both sides."""
    from eqlab.cli.output import print_json, print_table, say
    from eqlab.comparison.correlate import as_data, notes, read_scores, scatter, sentence, shipped_scores, table
    from eqlab.comparison.correlate import correlate as correlate_with
    from eqlab.comparison.entries import entries
    from eqlab.comparison.sources import read_sources
    from eqlab.core.errors import UsageError
    from eqlab.data.external import NAMES, benchmark_of
    from eqlab.data.files import write_whole

    check_writable(output)
    named = list(sources or [])
    if external and scores is not None:  # without a file, the first name is one of ours
        named, scores = [str(scores), *named], None
    if scores is None and not external:
        raise UsageError("Nothing to correlate with.", "Name a file of scores, or --external mmlu.")
    theirs = read_scores(scores) if scores is not None else []
    names = [one.name for one in theirs] or [benchmark_of(name) for name in external or []]
    given = _reliabilities(reliability or [], names)
    own, undefined = entries(
        read_sources(named or ["published"], store, data, benchmarks=benchmark or (), subject=subject)
    )
    if not own:
        said = "; ".join(f"{name}: {why}" for name, why in undefined[:3])
        raise UsageError(f"Nothing here has a score to correlate. {said}.")
    theirs = theirs or shipped_scores(external or [], own)
    taken = next((one for one in theirs if without and one.name in (without, NAMES.get(without.casefold()))), None)
    if without and taken is None:
        raise UsageError(f"--without {without}: there is no such score.", f"There are {', '.join(names)}.")
    correlations = [
        correlate_with(own, one, reliability=given.get(one.name), seed=seed, given=None if one is taken else taken)
        for one in theirs
    ]
    if output:
        write_whole(output, scatter(correlations))
    if as_json:
        print_json([as_data(one) for one in correlations])
        return
    for correlation in correlations:
        say(sentence(correlation), style="bold")
    typer.echo("")
    print_table(table(correlations))
    for note in notes(correlations):
        say(f"! {note}", style="yellow")
    if output:
        typer.echo(f"Scatter: {output.resolve()}")


def _reliabilities(pairs: list[str], known: list[str]) -> dict[str, float]:
    from eqlab.core.errors import UsageError
    from eqlab.core.settings import read_pairs

    found = {}
    for name, text in read_pairs("--reliability", pairs).items():
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if name not in known:
            raise UsageError(f"--reliability {name}: the file has no such score.", f"It has {', '.join(known)}.")
        if not 0 < value <= 1:
            raise UsageError(f"--reliability {name}={text} must be a number above 0, at most 1.")
        found[name] = value
    return found


# `eqlab research power`: how many raters a study needs.
def power(
    gap: Annotated[float, typer.Option(help="Difference in P(Good) worth finding, as a share.")] = 0.05,
    baseline: Annotated[float, typer.Option(help="P(Good) of the group to compare with.")] = 0.493,
    power: Annotated[float, typer.Option(help="Power wanted.")] = 0.8,
    alpha: Annotated[float, typer.Option(help="Level of the test.")] = 0.05,
    ratings_per_rater: Annotated[int, typer.Option(min=1, help="Ratings each rater gives.")] = 10,
    design_effect: Annotated[float, typer.Option(help="Design effect of ratings within raters.")] = 1.57,
    raters: Annotated[int | None, typer.Option(min=2, help="Raters per group, if their number is given.")] = None,
    looks: Annotated[int, typer.Option(min=1, max=20, help="Looks at the data, the last one included.")] = 4,
    studies: Annotated[int, typer.Option(min=100, help="Simulated studies.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    prompts: Annotated[int, typer.Option(min=2, help="Prompts of the study; an arm has one reply to each.")] = 100,
    sd_reply: Annotated[float, typer.Option(min=0, help="How much an arm's replies differ, in log-odds.")] = 0.4,
    as_json: JsonFlag = False,
) -> None:
    """Raters per arm and prompts for a gap in P(Good): by the model that decides, by the published way of counting, by
    simulation, and with looks at the data on the way."""
    from eqlab.analysis.power import StudySize, plan, tables
    from eqlab.cli.output import print_json, print_table

    size = StudySize(
        baseline, gap, power, alpha, ratings_per_rater, design_effect, raters, looks, studies, seed, prompts, sd_reply
    )
    found = plan(size)
    if as_json:
        print_json(found)
        return
    for table in tables(size, found):
        print_table(table)
        typer.echo("")


# `eqlab research probe`: does a model know the published items by heart?
def probe(
    models: Annotated[list[str], typer.Argument(metavar="MODEL…", help="As for `eqlab run`.")],
    benchmark: Annotated[str, typer.Option("-b", "--benchmark", help="One whose items are texts.")] = "eqbench",
    items: Annotated[str, typer.Option(help="`published`, or `open` to see what chance gives.")] = "published",
    limit: Annotated[int | None, typer.Option(min=10, help="At most N items.")] = None,
    max_concurrency: ConcurrencyFlag = 16,
    base_url: BaseUrlFlag = "",
    setting: SettingFlag = None,
    timeout: TimeoutFlag = WHOLE,
    patience: PatienceFlag = PATIENCE,
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the first half of each item and see whether models write the second from memory.

    A hint at contamination: the share of items above what the same replies reach beside other items."""
    from eqlab.cli.output import errors, harmless, print_json, print_table
    from eqlab.core.errors import UsageError
    from eqlab.core.results import as_dict
    from eqlab.core.runs import ModelConfig
    from eqlab.runs import probe as probing

    if items not in ("open", "published"):
        raise UsageError(f"--items '{items}' is unknown.", "Choose open or published.")
    texts = probing.chosen(probing.texts(benchmark, items, data), limit)
    found, timeouts, out = [], Timeouts(timeout, patience=patience), errors()

    def say(text: str) -> None:
        out.print(harmless(text), style="dim", markup=False)

    for spec in dict.fromkeys(models):
        config = ModelConfig(spec, "" if spec == "embedded" else base_url, settings=read_settings(setting or []))
        say(f"{spec}: {many(len(texts), 'text')}")
        result, lost = probing.probe(config, texts, concurrency=max_concurrency, timeouts=timeouts, say=say)
        found.append(probing.Probe(spec, benchmark, items, result, lost))
    if as_json:
        print_json([{**as_dict(one), "sentence": probing.sentence(one)} for one in found])
        return
    for one in found:
        print_text(probing.sentence(one))
    typer.echo("")
    print_table(probing.table(found))


# `eqlab research reproduce`: a published study's tables, recomputed from its own raw data.
_CsvFlag = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the rows to a CSV file, too.")]
_MarkdownFlag = Annotated[bool, typer.Option("--markdown", help="Print Markdown instead of tables.")]


def reproduce(
    study: Annotated[str, typer.Argument(help=f"{', '.join(STUDIES[:-1])} or {STUDIES[-1]}.")],
    data: DataFlag = None,
    as_json: JsonFlag = False,
    markdown: _MarkdownFlag = False,
    csv: _CsvFlag = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Also write its picture, an SVG (no-skill).")
    ] = None,
) -> None:
    """Recompute a study's published numbers and explain every difference."""
    from eqlab.cli.output import print_json
    from eqlab.core.errors import UsageError
    from eqlab.reproduce import load
    from eqlab.reproduce.claims import as_csv, as_markdown

    if as_json and markdown:
        raise UsageError("--json and --markdown exclude each other.", "Choose one.")
    found = load(study)
    if picture is not None and found.picture is None:
        raise UsageError(f"There is no picture of {study}.", "Leave out --picture.")
    check_writable(csv)
    check_writable(picture)
    report = found.reproduce(data)
    if csv is not None:
        _write(csv, as_csv(found.rows_of(report)))
    if picture is not None and found.picture is not None:
        _write(picture, found.picture(report).encode())
    if as_json:
        print_json(report)
    elif markdown:
        typer.echo(as_markdown(found.title, found.findings(report), found.tables(report)), nl=False)
    else:
        show(found, report)
    if csv is not None:
        typer.echo(f"Rows: {csv}", err=True)


def show(study: "Study", report: dict[str, Any]) -> None:
    """The answer in sentences, then the tables."""
    from eqlab.cli.output import print_table, say

    for sentence in study.findings(report):
        say(sentence)
    for table in study.tables(report):
        typer.echo()
        print_table(table)


def _write(path: Path, content: bytes) -> None:
    from eqlab.data.files import write_whole

    write_whole(path, content)


# `eqlab research items`: what each item is worth, from many subjects' points.
def report(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN…|published", help="Runs of one benchmark, studies of people, or the published EQ-Bench board."
        ),
    ],
    benchmark: Annotated[
        str, typer.Option("--benchmark", "-b", help="Of runs with several benchmarks: this one.")
    ] = "",
    limit: Annotated[int, typer.Option(min=1, help="Items to show, the worst first.")] = 10,
    width: Annotated[float, typer.Option(min=0.1, help="± points that a score should have: how many items, …")] = 2.0,
    equate: Annotated[
        list[str] | None,
        typer.Option(
            "--equate",
            metavar="RUN|published",
            help="The same models on other items (repeatable): puts both on one scale, and tells who knows the others.",
        ),
    ] = None,
    otherwise: Annotated[
        list[str] | None,
        typer.Option(
            "--otherwise",
            metavar="RUN|published",
            help="The same models on the same items, asked as JSON or in another language: do items keep their places?",
        ),
    ] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Difficulty, discrimination and agreement with the rest of every item, overall and among the better and the weaker
    half of the subjects; where the items tell most; items that differ between families, and between people and models,
    at equal ability; and how many items, wordings and repeats a score needs."""
    from eqlab.cli.output import print_json, print_table, say
    from eqlab.comparison.item_designs import designs_table, equate_sets, item_designs
    from eqlab.comparison.item_points import asked_otherwise, read_items
    from eqlab.comparison.item_report import item_report
    from eqlab.core.results import as_dict
    from eqlab.reproduce.eqbench import family
    from eqlab.tables.data import table_json

    items = read_items(sources, store, data, benchmark)
    points, people = items.means(people=False), items.means(people=True)
    made = item_report(points, {name: family(name) for name in points}, limit, people)
    designs = item_designs([point for point in items.points if point.person == (len(points) < 2)], width)
    tables = [*made.tables, *(designs_table(designs) if designs else ())]
    if otherwise:
        other = read_items(otherwise, store, data, items.benchmark)
        tables += asked_otherwise(points, other.means(people=False))
    equated = None
    if equate:
        equated = equate_sets(points, read_items(equate, store, data, items.benchmark).means(people=False))
    if as_json:
        print_json(
            {
                "sentence": made.sentence,
                "subjects": made.subjects,
                "items": [{"id": name, **as_dict(quality)} for name, quality in made.items],
                "tables": [table_json(one) for one in tables],
                "designs": as_dict(designs) if designs else None,
                "equated": as_dict(equated.found) if equated else None,
            }
        )
        return
    say(made.sentence, style="bold")
    for table in tables:
        typer.echo("")
        print_table(table)
    if equated:
        say(f"\n{equated.sentence}", style="bold")
        for table in equated.tables:
            typer.echo("")
            print_table(table)
