"""`eqlab study`: studies with people. Here: write a study file, check it."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag, check_writable
from eqlab.cli.plain import pasteable, print_text
from eqlab.cli.study_manage import File, begun_study
from eqlab.core.plural import many
from eqlab.core.settings import read_pairs

if TYPE_CHECKING:
    from eqlab.core.design import Design
    from eqlab.core.study import TalkTerms
    from eqlab.study.overview import Overview


_SAME_BY_CHANCE = 10
"""Texts that may be as in English in a language that is translated: German and Spanish have two."""
StudyFile = Annotated[Path, typer.Argument(metavar="FILE", help="A study file (TOML); `eqlab study init` writes one.")]


def init(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="rating, pairwise, reply, evoked, eqbench, talk or another: `eqlab study kinds` lists them.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to.", show_default="ID.toml")
    ] = None,
    study_id: Annotated[
        str, typer.Option("--id", metavar="ID", help="The study's id, part of its address.", show_default="the kind")
    ] = "",
    arm: Annotated[
        list[str] | None,
        typer.Option(
            "--arm",
            metavar="NAME=SOURCE",
            help="rating, pairwise: an arm and its replies: RUN, RUN:MODEL, `last`, `last:MODEL`, a file, `author`, "
            "`published:human`; talk: an arm and its model; may be repeated.",
            show_default="the models of the newest run of `empathy`, or `author`",
        ),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="RUN",
            help="rating, pairwise: have the replies of this run rated, one arm a model, and ours beside a single one.",
            show_default="the newest run with replies",
        ),
    ] = "",
    panel: Annotated[str, typer.Option("--panel", help="Where people come from: none or prolific.")] = "none",
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Write a study file with comments that works as it stands; change it to your needs.

    `eqlab study init rating --from RUN` is all that it takes to have a run's replies rated: the file can be simulated,
    locked and served at once. Completion codes are drawn at random; pay and duration are filled in from the number of
    words and questions."""
    from eqlab.cli.output import errors
    from eqlab.core.errors import UsageError
    from eqlab.data.files import write_whole
    from eqlab.store.access import open_store
    from eqlab.study.init import study_text

    out = errors()
    path = output or Path(f"{study_id or kind}.toml")
    if path.exists():
        raise UsageError(f"{path} exists and is not overwritten.", "Name another file with -o, or delete it.")
    with open_store(store) as opened:
        arms = read_pairs("--arm", arm or [])
        said: list[str] = []
        text = study_text(
            kind,
            opened,
            study_id=study_id,
            arms=arms,
            source=source,
            panel=panel,
            data=data,
            folder=path.parent,
            say=said.append,
        )
    for line in dict.fromkeys(said):
        out.print(line, markup=False)
    write_whole(path, text)
    print_text(f"{path} is written. Read it, change it, then:")
    for step, what in _PATH:
        print_text(f"{pasteable(f'  eqlab study {step}')} {shlex.quote(str(path))}  # {what}")


_PATH = (
    ("check", "problems, minutes, cost, power"),
    ("simulate", "rehearse it with made-up people"),
    ("lock", "freeze the design and the analysis before anybody takes part"),
    ("serve", "let people in"),
    ("analyze", "who came, who is left out, the result"),
)
"""A study from its file to its result."""


def check(file: StudyFile, store: StoreFlag = "", data: DataFlag = None, as_json: JsonFlag = False) -> None:
    """Check a study file: every problem with its line, or arms, places, pages, minutes, cost and what to look at."""
    from eqlab.cli.output import print_json
    from eqlab.core.results import as_dict
    from eqlab.store.access import open_store
    from eqlab.store.study.lock import other_version
    from eqlab.store.study.participation import Participation
    from eqlab.study.build_design import open_study
    from eqlab.study.overview import overview, power_of
    from eqlab.study.results.analysis import analysis_code, analysis_libraries

    with open_store(store) as opened:
        said: list[str] = []
        _, design = open_study(file, opened, data, said.append)
        if upgraded := other_version(Participation(opened, design), *analysis_code(), analysis_libraries()):
            said.append(upgraded)
    found = overview(design)
    power = power_of(design)
    heard = (*dict.fromkeys(said), *found.warnings)
    if as_json:
        print_json({**as_dict(found), "cost": found.cost, "warnings": heard, "run": design.run.id, "power": power})
        return
    _show(design, found, heard, power)


def _show(design: "Design", found: "Overview", heard: tuple[str, ...], power: str) -> None:
    from eqlab.cli.output import console, print_rows

    study = design.study
    rows = [[arm.name, str(arm.batches), _span(arm.fewest, arm.most), str(arm.places)] for arm in found.arms]
    print_text(f"{study.title} (study '{study.id}', {study.kind})\n")
    print_rows("", ["arm", "batches", "trials each", "places"], rows, right=["batches", "trials each", "places"])
    pages = _span(*found.pages)
    print_text(f"\n{many(found.places, 'place')}. A person gets {pages} pages, about {found.minutes:.0f} minutes.")
    if study.instruments:
        print_text(f"Questionnaires first: {', '.join(study.instruments)}.")
    if found.hourly is not None:
        currency = study.pay.currency
        print_text(
            f"Pay: {study.pay.reward:.2f} {currency} each, about {found.hourly:.2f} an hour; {found.rewards:.2f} in all"
            f" and {found.fees:.2f} fees: {found.cost:.2f} {currency}."
        )
    if study.talk is not None:
        print_text(_talks(study.talk))
    if power not in heard:
        print_text(power)
    for warning in heard:
        console().print(f"! {warning}", markup=False, style="yellow")
    if not heard:
        print_text("Nothing to correct.")


def _talks(terms: "TalkTerms") -> str:
    cost = "no limit of cost" if terms.max_cost is None else f"{terms.max_cost:g} in all"
    each = "" if terms.max_cost_person is None else f", {terms.max_cost_person:g} a person"
    return (
        f"Talks: {terms.talks} a person as {terms.person}, {many(terms.turns, 'reply', 'replies')} at most; "
        "models may be asked "
        f"{terms.max_calls} times, {terms.max_calls_person} for one person; {cost}{each}. "
        f"People learn in the {terms.told} that it is a machine."
    )


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"


def kinds() -> None:
    """List the kinds of study, those of other packages too."""
    from eqlab.cli.output import print_rows
    from eqlab.study.kinds import find_kind, kind_names

    forms = [find_kind(name).form() for name in kind_names()]
    print_rows("", ["kind", "people …", "benchmark"], [[form.kind, form.title, form.benchmark] for form in forms])


def language(
    code: Annotated[
        str, typer.Argument(metavar="CODE", help="The language's code, such as es.", show_default="list them")
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to.", show_default="the folder of your languages"),
    ] = None,
) -> None:
    """Write a language file to translate; without CODE, list the languages and what each lacks.

    `language = "CODE"` in a study file then finds it in the folder of your languages (EQLAB_LANGUAGES)."""
    from eqlab.cli.output import print_rows
    from eqlab.core.errors import UsageError
    from eqlab.data.files import write_whole
    from eqlab.study.kinds import as_in_english, check_code, language_text, missing_words
    from eqlab.study.texts import languages, own_folder

    if not code:
        rows = []
        for name in languages():
            lacking = [f"{kind}: {', '.join(keys)}" for kind, keys in missing_words(name).items()]
            if name != "en" and (same := as_in_english(name)) > _SAME_BY_CHANCE:
                lacking.append(f"{same} texts are there in English")
            rows.append([name, "; ".join(lacking) or "complete"])
        print_rows("", ["language", "words that stay English"], rows)
        print_text(f"\nYour own: {own_folder()}")
        return
    path = output or own_folder() / f"{check_code(code)}.toml"
    if path.exists():
        raise UsageError(f"{path} exists and is not overwritten.", "Name another file with -o, or delete it.")
    write_whole(path, language_text(code))
    print_text(f"{path} is written. Translate what stands in quotes; 'eqlab study language' says what is missing.")


def replies(
    file: File,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The table to write.")] = Path(
        "replies.csv"
    ),
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Write what people wrote in a reply study as a table to decide on: marks of care, and an empty column `use`.

    Write yes into it for every reply that may be used; the table is then a source of replies for `[arms]` of a rating
    study and for `eqlab judge --on`. Rows without a yes are never shown to anybody. That somebody read them is kept."""
    from eqlab.core.errors import UsageError
    from eqlab.data.files import write_whole
    from eqlab.study.results.analysis import current_user, log_look, read_moment
    from eqlab.study.results.people import replies_csv

    if output.exists():
        raise UsageError(f"{output} exists and is not overwritten.", "Name another file with -o, or delete it.")
    check_writable(output)
    with begun_study(file, store, data) as participation:
        stands, _, participants = read_moment(participation)
        content, n, marked = replies_csv(participation, participants)
        label = log_look(participation, current_user(), "read", stands)
    write_whole(output, content)
    print_text(f"{output} ({label}): replies: {n}, with a mark: {marked}.")
    print_text("Write yes into the column 'use' of those to be used.")
