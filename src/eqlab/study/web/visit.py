"""Who sends a request: somebody who takes part in a study of ours. Anybody else is turned away here, in one place."""

from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from eqlab.core.moves import Unknown, View
from eqlab.core.study import Study
from eqlab.study.served_study import ServedStudy
from eqlab.study.web.site import Site, site_of


@dataclass(frozen=True, slots=True)
class Visit:
    site: Site
    served: ServedStudy
    person: str

    @property
    def study(self) -> Study:
        return self.served.study

    @property
    def minutes(self) -> int:
        """What the whole study will take, as far as words and questions can tell."""
        return max(1, round(self.site.minutes(self.served)))

    def minutes_left(self, view: View) -> int | None:
        """None before the consent, and where less than a minute is left to speak of."""
        share = 1 - view.number / max(view.total, 1)
        left = round(self.site.minutes(self.served) * share)
        return left if view.number and left >= 1 else None

    async def look(self) -> View:
        return await self.served.look(self.person)

    def to(self, where: str) -> Response:
        return to(self.study, where)

    def page(self, name: str, status: int = 200, **values: object) -> Response:
        return self.site.render.page(name, self.study.language, status, study=self.study, **values)


def visit_of(request: Request) -> Visit:
    """Raises what the application turns into a page, or JSON, for a study that is not here and for a stranger."""
    site, served = desk_of(request)
    person = site.person(request, served.study.id)
    if person is None:
        raise Unknown
    return Visit(site, served, person)


def desk_of(request: Request) -> tuple[Site, ServedStudy]:
    """The study that the address names."""
    site = site_of(request)
    served = site.studies.get(request.path_params["study"])
    if served is None:
        raise HTTPException(404, "There is no such study.")
    return site, served


def to(study: Study, where: str) -> Response:
    return RedirectResponse(f"/s/{study.id}/{where}", 303)
