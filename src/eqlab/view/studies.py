"""Studies: which there are and how they stand. Nothing of what people answered: a study has its own pages, with a
password, and a locked one has one door that keeps every look."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from eqlab.core.results import Cell, Column, Table
from eqlab.core.text import utc
from eqlab.store.reader import StudyRow
from eqlab.view.site import site_of


def studies(request: Request) -> Response:
    site = site_of(request)
    with site.store() as store:
        rows = store.studies()
    return site.page(request, "studies", table=_table(rows), count=len(rows))


def _table(study_rows: list[StudyRow]) -> Table:
    rows: list[list[Cell]] = [
        [
            row.id,
            utc(row.created_at)[:10],
            row.status,
            row.done,
            row.places,
            utc(row.locked_at)[:10] if row.locked_at else "not locked",
            "complete" if row.places and row.done >= row.places else "ended" if row.status == "closed" else "under way",
        ]
        for row in study_rows
    ]
    columns = (
        Column("study", "study"),
        Column("begun", "begun"),
        Column("door", "admission"),
        Column("done", "places filled", "count"),
        Column("places", "places", "count"),
        Column("locked", "plan locked"),
        Column("state", "state"),
    )
    return Table("Studies", columns, rows)


ROUTES = [Route("/studies", studies)]
