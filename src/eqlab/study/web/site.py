"""What the handlers share: the studies' studies, the renderer, cookies, limits."""

import time
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from eqlab.core.errors import UsageError
from eqlab.study.results.status import StudyStatus
from eqlab.study.served import ServedStudy
from eqlab.study.web.cookies import Cookies, parse_cookies
from eqlab.study.web.limiter import Limiter, is_loopback, network_of
from eqlab.study.web.passwords import Gate
from eqlab.study.web.render import Renderer
from eqlab.study.web.settings import Settings


class Site:
    def __init__(self, studies: Sequence[ServedStudy], settings: Settings) -> None:
        self.studies = {served.study.id: served for served in studies}
        if len(self.studies) < len(studies):
            raise UsageError("Two studies have the same id.", "Give each study file its own id.")
        self.settings = settings
        self.render = Renderer(settings)
        for served in studies:
            self.render.texts(served.study.language)  # a missing language is found now, not by a participant
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
