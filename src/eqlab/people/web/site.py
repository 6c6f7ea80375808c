"""What the handlers share: the studies' desks, the renderer, cookies, limits."""

import time
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from eqlab.core.errors import UsageError
from eqlab.people.desk import Desk
from eqlab.people.status import StudyStatus
from eqlab.people.web.cookies import Cookies, parse_cookies
from eqlab.people.web.limiter import Limiter, is_loopback, network_of
from eqlab.people.web.passwords import Gate
from eqlab.people.web.render import Renderer
from eqlab.people.web.settings import Settings


class Site:
    def __init__(self, desks: Sequence[Desk], settings: Settings) -> None:
        self.desks = {desk.study.id: desk for desk in desks}
        if len(self.desks) < len(desks):
            raise UsageError("Two studies have the same id.", "Give each study file its own id.")
        self.settings = settings
        self.render = Renderer(settings)
        for desk in desks:
            self.render.texts(desk.study.language)  # a missing language is found now, not by a participant
        self.cookies = Cookies(settings.secret, settings.https, settings.password_hash)
        self.door = Limiter(settings.door_burst, settings.door_rate)
        self.login = Limiter(settings.login_burst, settings.login_rate)
        self.gate = Gate(settings.password_hash)
        self.statuses: dict[str, tuple[float, StudyStatus]] = {}
        self.clock = time.time

    def person(self, request: Request, study: str) -> str | None:
        return self.cookies.read_person(parse_cookies(request.headers.get("cookie", "")), study)

    def may_enter(self, request: Request) -> bool:
        """The door's limit. Loopback is exempt: it is the machine itself, or a proxy we were not told to believe, and
        then one bucket would hold everybody."""
        address = client_of(request)
        return is_loopback(address) or self.door.allows(network_of(address))

    def busy(self, language: str = "en") -> Response:
        return self.render.message("busy", language, 429, {"retry-after": "60"})


def client_of(request: Request) -> str:
    return request.client.host if request.client else ""


def is_https(request: Request) -> bool:
    return request.url.scheme == "https"


def site_of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site
