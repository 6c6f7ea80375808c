"""What there is to ask: `eqlab data` (the published studies' own files), `benchmarks` and `instruments`."""

from typing import TYPE_CHECKING, Annotated

import typer

from eqlab.cli.flags import DataFlag, JsonFlag
from eqlab.cli.plain import print_text
from eqlab.core.plural import many

if TYPE_CHECKING:
    from eqlab.data.published import PinnedFile


Source = Annotated[
    list[str] | None, typer.Argument(metavar="[SOURCE]…", help="A study by its name, such as eqbench; all without one.")
]

_REASONS = 3
"""Failures that are named; the rest is counted."""


def list_files(data: DataFlag = None, as_json: JsonFlag = False) -> None:
    """List every published file, its origin and whether it is here."""
    from eqlab.cli.output import print_json, print_rows
    from eqlab.data.published import manifest, published_folder

    folder = published_folder(data)
    rows = [
        {
            "file": pinned.name,
            "bytes": pinned.bytes,
            "repository": pinned.repository,
            "commit": pinned.commit,
            "present": (folder / pinned.name).is_file(),
        }
        for pinned in manifest()
    ]
    if as_json:
        print_json({"folder": str(folder), "files": rows})
        return
    print_rows(
        f"Published data in {folder}",
        ["file", "kB", "from", "here"],
        [
            [
                str(row["file"]),
                f"{int(str(row['bytes'])) / 1000:.0f}",
                f"{row['repository']}@{str(row['commit'])[:7]}",
                "yes" if row["present"] else "no",
            ]
            for row in rows
        ],
        right=["kB"],
    )
    here = sum(bool(row["present"]) for row in rows)
    print_text(
        f"\n{here} of {many(len(rows), 'file')} {'is' if here == 1 else 'are'} here. They keep their own "
        "licences; see docs/questions.md."
    )


def fetch(sources: Source = None, data: DataFlag = None) -> None:
    """Fetch what is missing from the pinned commits, and check it."""
    from eqlab.cli.output import errors, harmless
    from eqlab.core.errors import DataError
    from eqlab.data.published import fetch as fetch_files
    from eqlab.data.published import published_folder

    wanted = _chosen(sources)
    folder = published_folder(data)
    out = errors()
    outcomes: list[str] = []
    reasons: list[str] = []

    def say(pinned: "PinnedFile", outcome: str) -> None:
        outcomes.append(outcome)
        if outcome.startswith("failed"):
            reasons.append(f"{pinned.name}: {outcome}")
        elif outcome != "kept":
            out.print(f"{len(outcomes)}/{len(wanted)} {pinned.name}: {outcome}", markup=False)

    fetch_files(wanted, folder, say)
    failed = len(reasons)
    print_text(f"{outcomes.count('fetched')} fetched, {outcomes.count('kept')} kept, {failed} failed, in {folder}")
    if failed:
        for reason in reasons[:_REASONS]:
            out.print(harmless(reason), markup=False)
        if failed > _REASONS:
            out.print(f"and {failed - _REASONS} more", markup=False)
        raise DataError(
            f"{many(failed, 'file')} could not be fetched.", "Check the network and run the same command again."
        )


def verify(sources: Source = None, data: DataFlag = None) -> None:
    """Check every file that is here against its pinned sha256."""
    from eqlab.core.errors import DataError
    from eqlab.data.published import published_folder, state

    folder = published_folder(data)
    states = {pinned.name: state(pinned, folder) for pinned in _chosen(sources)}
    changed = [name for name, found in states.items() if found == "changed"]
    for name in changed:
        print_text(f"changed: {name}")
    counts = {kind: list(states.values()).count(kind) for kind in ("ok", "changed", "missing")}
    print_text(f"{counts['ok']} ok, {counts['changed']} changed, {counts['missing']} missing, in {folder}")
    if not counts["ok"] and not changed:
        raise DataError("Nothing is here to verify.", "Get the files with 'eqlab data fetch', or name --data DIR.")
    if changed:
        raise DataError(
            f"{many(len(changed), 'file differs', 'files differ')} from the published ones.",
            "'eqlab data fetch' replaces them in the cache.",
        )


def _chosen(sources: list[str] | None) -> "list[PinnedFile]":
    from eqlab.core.errors import UsageError, did_you_mean
    from eqlab.data.published import manifest

    known = sorted({pinned.source for pinned in manifest()})
    for source in sources or []:
        if source not in known:
            raise UsageError(
                f"There is no source '{source}'.", did_you_mean(source, known, f"There are: {', '.join(known)}.")
            )
    return [pinned for pinned in manifest() if not sources or pinned.source in sources]


# `eqlab data instruments`: the questionnaires, whose they are, and what is missing to use them here.
def instruments(data: DataFlag = None, as_json: JsonFlag = False) -> None:
    """List the questionnaires with source, licence and what is missing on this machine."""
    from eqlab.cli.output import print_json, print_rows
    from eqlab.data.published import find, published_folder
    from eqlab.instruments.wording import list_instruments

    folder = published_folder(data)
    present = {path.relative_to(folder).as_posix() for path in find("**/*", folder)}
    rows = [
        {
            "instrument": listed.instrument.key,
            "name": listed.instrument.name,
            "items": listed.instrument.n_items,
            "answers": f"{listed.instrument.low}–{listed.instrument.high}",
            "source": listed.instrument.source,
            "licence": listed.instrument.licence,
            "wording": listed.wording,
            "missing": listed.missing,
        }
        for listed in list_instruments(present)
    ]
    if as_json:
        print_json(rows)
        return
    columns = ["instrument", "items", "answers", "source", "licence", "missing"]
    print_rows("", columns, [[str(row[column]) or "nothing" for column in columns] for row in rows], right=["items"])


# `eqlab benchmarks`: what can be run, and with which options.
def benchmarks() -> None:
    """List the benchmarks, their options, and what of emotional intelligence they measure."""
    from eqlab.benchmarks.registry import load, names
    from eqlab.cli.output import print_rows
    from eqlab.core.benchmark import BRANCHES, branches_of

    for name in names():
        benchmark = load(name)
        rows = [
            [option.name, option.default, ", ".join(option.choices), option.help] for option in benchmark.option_help()
        ]
        print_rows(f"{name}: {benchmark.title}", ["option", "default", "choices", "what it does"], rows)
    measured = [
        [branch, words, ", ".join(name for name in names() if branch in branches_of(load(name))) or "none of these"]
        for branch, words in BRANCHES.items()
    ]
    print_rows("The four branches of emotional intelligence", ["branch", "what it is", "measured by"], measured)
