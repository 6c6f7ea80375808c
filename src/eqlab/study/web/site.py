"""What the handlers share: the studies' studies, the renderer, cookies, limits."""

import hashlib
import hmac
import time
from collections.abc import Sequence
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from eqlab.core.errors import UsageError
from eqlab.store.study.rate_limits import give_token, take_token
from eqlab.study.overview import expected_minutes
from eqlab.study.panels import derive
from eqlab.study.results.status import StudyStatus
from eqlab.study.served_study import ServedStudy
from eqlab.study.web.addresses import is_local
from eqlab.study.web.cookies import Cookies, parse_cookies
from eqlab.study.web.limiter import VisitLimiter, is_loopback, network_of
from eqlab.study.web.passwords import PasswordGate
from eqlab.study.web.render import Renderer
from eqlab.study.web.settings import ServerSettings


class Site:
    def __init__(self, studies: Sequence[ServedStudy], settings: ServerSettings) -> None:
        self.studies = {served.study.id: served for served in studies}
        if len(self.studies) < len(studies):
            raise UsageError("Two studies have the same id.", "Give each study file its own id.")
        self.settings = settings
        self.render = Renderer(settings)
        for served in studies:
            self.render.texts(served.study.language)  # a missing language is found now, not by a participant
        self.cookies = Cookies(settings.secret, settings.https)
        self.hooks = VisitLimiter(settings.door_burst * 10, 2.0)
        self.gate = PasswordGate(settings.password_hash)
        self.statuses: dict[str, tuple[float, StudyStatus]] = {}
        self.clock = time.time
        self._minutes: dict[str, float] = {}

    def minutes(self, served: ServedStudy) -> float:
        """Expected for one person; worked out once."""
        study = served.study.id
        if study not in self._minutes:
            self._minutes[study] = expected_minutes(served.design)
        return self._minutes[study]

    def person(self, request: Request, study: str) -> str | None:
        return self.cookies.read_person(parse_cookies(request.headers.get("cookie", "")), study)

    async def allows(self, request: Request, what: Literal["door", "login", "resume"], whom: str = "") -> bool:
        """The limits by address, which all processes of the server share. At the door loopback is exempt where the
        server is for this machine only."""
        address = client_of(request)
        if what == "door" and is_loopback(address) and is_local("localhost", self.settings.public_url):
            return True
        burst, rate = {
            "door": (self.settings.door_burst, self.settings.door_rate),
            "login": (self.settings.login_burst, self.settings.login_rate),
            "resume": (self.settings.resume_burst, self.settings.resume_rate),
        }[what]
        served = self.first
        key = self.limit_key(what, whom or network_of(address))
        return await served.write(take_token, served.participation.store, key, burst, rate, self.clock())

    async def forgive(self, request: Request, what: str) -> None:
        served = self.first
        key = self.limit_key(what, network_of(client_of(request)))
        await served.write(give_token, served.participation.store, key)

    @property
    def first(self) -> ServedStudy:
        """Any of the studies: they share one store."""
        return next(iter(self.studies.values()))

    def session_id(self, session: str, name: str) -> str:
        """What the store knows a login by. The server's own password is part of it: a new one ends its sessions."""
        own = self.settings.password_hash if name == "researcher" else ""
        return hashlib.sha256(f"{session}\0{name}\0{own}".encode()).hexdigest()

    def limit_key(self, what: str, whom: str) -> str:
        key = derive(self.settings.secret, "limit")
        return hmac.new(key, f"{what}\0{whom}".encode(), hashlib.sha256).hexdigest()

    def busy(self, language: str = "en") -> Response:
        return self.render.message("busy", language, 429, {"retry-after": "60"})


def client_of(request: Request) -> str:
    return request.client.host if request.client else ""


def is_https(request: Request) -> bool:
    return request.url.scheme == "https"


def site_of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site
