"""`eqlab study kinds`, `language` and `replies`: what there is to choose, a language of one's own, and what people
wrote."""

from pathlib import Path
from typing import Annotated

import typer

from eqlab.cli.flags import DataFlag, StoreFlag, check_writable
from eqlab.cli.plain import print_text
from eqlab.cli.study_named import File, begun_study


def kinds() -> None:
    """List the kinds of study, those of other packages too."""
    from eqlab.cli.output import print_rows
    from eqlab.study.kinds.registry import find_kind, kind_names

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
    from eqlab.study.language_file import check_code, language_text, missing_words
    from eqlab.study.texts import languages, own_folder

    if not code:
        rows = [
            [name, "; ".join(f"{kind}: {', '.join(keys)}" for kind, keys in missing_words(name).items()) or "complete"]
            for name in languages()
        ]
        print_rows("", ["language", "words inside trials that stay English"], rows)
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
    study and for `eqlab judge --on`. Rows without a yes are never shown to anybody."""
    from eqlab.core.errors import UsageError
    from eqlab.data.files import write_whole
    from eqlab.study.results.replies import replies_csv

    if output.exists():
        raise UsageError(f"{output} exists and is not overwritten.", "Name another file with -o, or delete it.")
    check_writable(output)
    with begun_study(file, store, data) as participation:
        content, n, marked = replies_csv(participation)
    write_whole(output, content)
    print_text(f"{output}: {n} replies, {marked} with a mark. Write yes into the column 'use' of those to be used.")
