"""`eqlab instruments`: the questionnaires, whose they are, and what is missing to use them here."""

from eqlab.cli.flags import DataFlag, JsonFlag


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
