"""What the handlers share: the studies, the renderer, who sends a request, limits by address, cookies."""

import asyncio
import base64
import hashlib
import hmac
import math
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, cast
from urllib.parse import parse_qsl
from weakref import WeakValueDictionary

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from eqlab.core.errors import UsageError
from eqlab.core.moves import State, Unknown, View
from eqlab.core.study import Study
from eqlab.core.values import dataclass
from eqlab.store.study.participation import steady_time
from eqlab.store.study.researchers import give_token, take_token
from eqlab.study.overview import expected_minutes
from eqlab.study.panels import derive, resume_code
from eqlab.study.results.status import StudyStatus
from eqlab.study.served_study import ServedStudy
from eqlab.study.web.credentials import PasswordGate
from eqlab.study.web.guard import parse_cookies
from eqlab.study.web.render import Renderer
from eqlab.study.web.settings import ServerSettings, is_local, is_loopback, network_of

_MOST_ADDRESSES = 50_000
"""Addresses remembered; the one not seen for longest is forgotten first."""
_PERSON_SECONDS = 60 * 24 * 3600
_END_SECONDS = 24 * 3600
_SEALED_SECONDS = 3600
_CLOCKS = 2
"""Seconds by which another server's clock may be ahead."""
RESEARCHER_SECONDS = 12 * 3600
_MARK = re.compile(rb"(?:^|&)mark=([\w-]*)")
SIMULATED = "x-eqlab-simulated"
"""Header with which a simulated person says so."""
_PACED, _COOKIES = "eqlab_paced", "eqlab_cookies"
"""What is kept with a request."""
_SMALL, _FEW = 8_192, 40
_OURS_ALONE = "__Host-"
"""Over https a browser lets no other host, and no plain http page, set a cookie whose name begins so."""
Limited = Literal["door", "login", "resume"]


class Site:
    """One server's studies and what serves them."""

    def __init__(self, studies: Sequence[ServedStudy], settings: ServerSettings) -> None:
        self.studies = {served.study.id: served for served in studies}
        if len(self.studies) < len(studies):
            raise UsageError("Two studies have the same id.", "Give each study file its own id.")
        self.settings = settings
        self.render = Renderer(settings)
        for served in studies:
            self.render.texts(served.study.language)  # a missing language is found now, not by a participant
        self.cookies = Cookies(settings.secret, settings.https)
        self.limits = SharedLimiter(self)
        self.hooks = VisitLimiter(settings.arrival_burst * 10, 2.0)
        self._pace = VisitLimiter(settings.pace_burst, settings.pace_rate)
        self.gate = PasswordGate(settings.password_hash)
        self.statuses: dict[str, tuple[float, StudyStatus]] = {}
        self.clock: Callable[[], float] = steady_time
        self.health_turn = asyncio.Lock()
        self.healthy_at = -math.inf
        """When something was last written to see whether it can be."""
        self._minutes: dict[str, float] = {}

    def minutes(self, served: ServedStudy) -> float:
        """Expected for one person; worked out once."""
        study = served.study.id
        if study not in self._minutes:
            self._minutes[study] = expected_minutes(served.design)
        return self._minutes[study]

    def person(self, request: Request, study: str) -> str | None:
        return self.cookies.read_person(cookies_of(request), study)

    async def allows(self, request: Request, what: Limited, whom: str = "") -> bool:
        """The limits by address, which all processes of the server share. At the door loopback is exempt where the
        server is for this machine only."""
        address = client_of(request)
        if what == "door" and self._is_here(address):
            return True
        return await self.limits.allows(*self._bucket(what, whom or network_of(address)))

    def check_pace(self, request: Request, study: str) -> None:
        """Raises for a program that asks so often that others would wait, in a person's place or as nobody from one
        address. Once a request, and before anything is looked up for it."""
        if _PACED in request.scope:
            return
        request.scope[_PACED] = True
        person, address = self.person(request, study), client_of(request)
        if (person is None and self._is_here(address)) or (self.settings.rehearsal and SIMULATED in request.headers):
            return
        if not self._pace.allows(person or network_of(address)):
            raise HTTPException(429, "Too many requests.", {"retry-after": "60"})

    def _is_here(self, address: str) -> bool:
        """On the machine itself, where the server is for this machine only."""
        return is_loopback(address) and is_local("localhost", self.settings.public_url)

    async def forgive(self, request: Request, what: Limited) -> None:
        key, *_ = self._bucket(what, network_of(client_of(request)))
        await self.limits.give_back(key)

    def _bucket(self, what: Limited, whom: str) -> tuple[str, float, float]:
        """Its key, its size and what comes back each second. Another size is another bucket: who raises a limit does
        not wait until the old one has filled."""
        burst, rate = {
            "door": (self.settings.arrival_burst, self.settings.arrival_rate),
            "login": (self.settings.login_burst, self.settings.login_rate),
            "resume": (self.settings.resume_burst, self.settings.resume_rate),
        }[what]
        return self.limit_key(f"{what} {burst:g}", whom), burst, rate

    @property
    def first(self) -> ServedStudy:
        """Any of the studies: they share one store."""
        return next(iter(self.studies.values()))

    def session_id(self, session: str, name: str) -> str:
        """What the store knows a login by. The server's own password is part of it: a new one ends its sessions."""
        own = (self.settings.session_key or self.settings.password_hash) if name == "researcher" else ""
        return hashlib.sha256(f"{session}\0{name}\0{own}".encode()).hexdigest()

    def limit_key(self, what: str, whom: str) -> str:
        key = derive(self.settings.secret, "limit")
        return hmac.digest(key, f"{what}\0{whom}".encode(), "sha256").hex()

    def busy(self, study: Study | None = None) -> Response:
        language = study.language if study else "en"
        return self.render.message("busy", language, 429, {"retry-after": "60"}, study=study)


def client_of(request: Request) -> str:
    return request.client.host if request.client else ""


def cookies_of(request: Request) -> Mapping[str, list[str]]:
    """Taken apart once a request."""
    if _COOKIES not in request.scope:
        request.scope[_COOKIES] = parse_cookies(request.headers.get("cookie", ""))
    found: Mapping[str, list[str]] = request.scope[_COOKIES]
    return found


def small_form(body: bytes) -> dict[str, str]:
    """The fields of a form that has a few, as anybody may send it; none of anything larger, which costs others time."""
    try:
        pairs = parse_qsl(body[:_SMALL].decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_FEW)
    except ValueError:
        return {}
    return dict(pairs)


def is_https(request: Request) -> bool:
    return request.url.scheme == "https"


def site_of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


@dataclass(frozen=True, slots=True)
class End:
    """How a study ended for somebody who deletes what they said."""

    state: State
    assigned: bool
    """Whether they had a place: in studies of talks, one could have begun."""
    clean: bool = False
    """Whether nothing of them is left in the database's own files either."""


class SomebodyElse(Exception):
    """A post from the page of another person than the one that the browser's cookie names."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of somebody who takes part in a study of ours."""

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

    @property
    def mark(self) -> str:
        return self.site.cookies.mark(self.study.id, self.person)

    def expects(self, fields: bytes) -> None:
        """Raises where a post or a link comes from a page that was made for somebody else: another tab has changed who
        this browser is. Programs name nobody, nor did the pages of 0.2."""
        found = _MARK.search(fields)
        if found is not None and found.group(1).decode() != self.mark:
            raise SomebodyElse

    def place(self, view: View) -> str:
        """Of how many pages this is one; before it is known how long their own part is, of how many at most."""
        t = self.site.render.texts(self.study.language)
        number, total = view.number + 1, view.total
        return t("page_of", number=number, total=total) if view.sure else t("page_of_most", number=number, total=total)

    def minutes_left(self, view: View) -> int | None:
        """None before the consent, and where less than a minute is left to speak of."""
        share = 1 - view.number / max(view.total, 1)
        left = round(self.site.minutes(self.served) * share)
        return left if view.number and left >= 1 else None

    def resume_code(self, view: View) -> str:
        """Once they have consented, and where a panel's link asks for it: without a panel every link begins anew."""
        if not view.number or not self.study.panel.person:
            return ""
        return resume_code(self.site.settings.secret, self.study.id, view.person)

    def remember_end(self, request: Request, reply: Response, end: End) -> None:
        self.site.cookies.set_end(reply, self.study.id, self.person, end, is_https(request))

    async def look(self) -> View:
        return await self.served.look(self.person)

    def to(self, where: str) -> Response:
        return redirect(self.study, where)

    def page(self, name: str, status: int = 200, **values: object) -> Response:
        return self.site.render.page(name, self.study.language, status, study=self.study, **values)


def visit_of(request: Request) -> Visit:
    """Raises what the application turns into a page, or JSON, for a study that is not here and for a stranger."""
    site, served = study_of(request)
    person = site.person(request, served.study.id)
    if person is None:
        raise Unknown
    return Visit(site, served, person)


def study_of(request: Request) -> tuple[Site, ServedStudy]:
    """The study that the address names; raises for who asks too often."""
    site = site_of(request)
    served = site.studies.get(request.path_params["study"])
    if served is None:
        raise HTTPException(404, "There is no such study.")
    site.check_pace(request, served.study.id)
    return site, served


def redirect(study: Study, where: str) -> Response:
    return RedirectResponse(f"/s/{study.id}/{where}", 303)


# -- limits ------------------------------------------------------------------------------------------------------------


class VisitLimiter:
    """Token buckets by client: so many at once, so many more each second. In memory, bounded."""

    def __init__(self, burst: float, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._rate, self._clock = burst, rate, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, client: str) -> bool:
        """Whether this client may come in now; takes a token if so."""
        now = self._clock()
        tokens, at = self._buckets.pop(client, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._rate)
        allowed = tokens >= 1
        self._buckets[client] = (tokens - 1 if allowed else tokens, now)
        if len(self._buckets) > _MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        return allowed


_REFUSED = 1.0
"""Seconds at most for which whoever was refused is so again, whatever has come back meanwhile."""


class SharedLimiter:
    """Token buckets in the store, which all processes of the server share. A look there is a durable write, in the line
    in which people's answers wait: of one bucket there is one at a time, and none just after it was found empty."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._turns = WeakValueDictionary[tuple[str, int], asyncio.Lock]()
        """By bucket, and event loop: a server has one, tests have many."""
        self._refused: OrderedDict[str, float] = OrderedDict()
        """Until when."""

    async def allows(self, key: str, burst: float, rate: float) -> bool:
        """Whether one more is allowed now; takes a token if so."""
        turn = self._turns.setdefault((key, id(asyncio.get_running_loop())), asyncio.Lock())
        async with turn:
            now, served = self._site.clock(), self._site.first
            if now < self._refused.get(key, -math.inf):
                return False
            allowed = await served.write(take_token, served.participation.store, key, burst, rate, now)
            if not allowed:
                self._refused.pop(key, None)
                self._refused[key] = now + min(_REFUSED, 1 / rate if rate else _REFUSED)
                if len(self._refused) > _MOST_ADDRESSES:
                    self._refused.popitem(last=False)
            return allowed

    async def give_back(self, key: str) -> None:
        served = self._site.first
        await served.write(give_token, served.participation.store, key)
        self._refused.pop(key, None)


# -- cookies -----------------------------------------------------------------------------------------------------------


class Cookies:
    """A participant's names only their pseudonym in one study, signed; the researcher's is a random token whose hash
    the store knows as long as they are logged in. Over https they have names that only this host can set."""

    def __init__(self, secret: bytes, secure: bool) -> None:
        self._key = derive(secret, "cookie")
        self._secure = secure
        self._prefix = _OURS_ALONE if secure else ""
        self.researcher = f"{self._prefix}eqlab_researcher"

    # -- participants ------------------------------------------------------------------------------------------

    def person_name(self, study: str) -> str:
        return f"{self._prefix}eqlab_{study}"

    def read_person(self, cookies: Mapping[str, Sequence[str]], study: str) -> str | None:
        """Who this is; None for no cookie, a foreign or a forged one. Nor is anybody believed who is two: of two that
        we have signed, one was put there by somebody else."""
        return self._only_person(cookies, self.person_name(study), f"person\0{self._prefix}{study}")

    def read_old_person(self, cookies: Mapping[str, Sequence[str]], study: str) -> str | None:
        """Over https, who this was to a server before 0.3. Nobody gets such a cookie any more; but a page of another
        host could have put it there."""
        return self._only_person(cookies, f"eqlab_{study}", f"person\0{study}") if self._secure else None

    def _only_person(self, cookies: Mapping[str, Sequence[str]], name: str, what: str) -> str | None:
        people = set()
        for value in cookies.get(name, ()):
            person, _, signature = value.partition(".")
            if person and hmac.compare_digest(signature.encode(), self._sign(f"{what}\0{person}").encode()):
                people.add(person)
        return people.pop() if len(people) == 1 else None

    def set_person(self, response: Response, study: str, person: str, https: bool) -> None:
        value = f"{person}." + self._sign(f"person\0{self._prefix}{study}\0{person}")
        self._set(response, self.person_name(study), value, _PERSON_SECONDS, https)

    def set_end(self, response: Response, study: str, person: str, end: End, https: bool) -> None:
        """How the study ends for somebody, kept by their browser alone: once they are deleted nobody else knows it."""
        said = f"{end.state}.{end.assigned:d}{end.clean:d}.{person}"
        value = f"{said}.{self._sign_end(study, said)}"
        self._set(response, self._end_name(study), value, _END_SECONDS, https)

    def read_end(self, cookies: Mapping[str, Sequence[str]], study: str) -> tuple[End, str] | None:
        """The end, and whose."""
        for value in cookies.get(self._end_name(study), ()):
            said, _, signature = value.rpartition(".")
            if said and hmac.compare_digest(signature.encode(), self._sign_end(study, said).encode()):
                state, flags, person = said.split(".", 2)
                return End(cast(State, state), flags[0] == "1", flags[1] == "1"), person
        return None

    def forget_end(self, response: Response, study: str) -> None:
        response.delete_cookie(self._end_name(study), path="/", secure=self._secure)

    def _sign_end(self, study: str, said: str) -> str:
        return self._sign(f"end\0{self._prefix}{study}\0{said}")

    def _end_name(self, study: str) -> str:
        return f"{self.person_name(study)}_end"

    def forget_person(self, response: Response, study: str) -> None:
        for name in {self.person_name(study), f"eqlab_{study}"}:
            response.delete_cookie(name, path="/", secure=self._secure)

    def mark(self, study: str, person: str) -> str:
        """A short name under which a browser keeps answers not yet sent, so that two people who share a device do not
        mix; says nothing about the pseudonym."""
        return self._sign(f"mark\0{study}\0{person}")[:10]

    # -- the researcher ----------------------------------------------------------------------------------------

    def read_session(self, cookies: Mapping[str, Sequence[str]]) -> str | None:
        """The researcher's session as the store knows it: a hash of what the cookie holds."""
        token = next(iter(cookies.get(self.researcher, ())), "")
        return hashlib.sha256(token.encode()).hexdigest() if token else None

    def set_session(self, response: Response, token: str, https: bool) -> None:
        self._set(response, self.researcher, token, RESEARCHER_SECONDS, https)

    def forget_researcher(self, response: Response) -> None:
        response.delete_cookie(self.researcher, path="/", secure=self._secure)

    # -- somebody of whom it is not certain that it is them ------------------------------------------------------

    def seal(self, person: str, now: float) -> str:
        """A pseudonym that goes through a page of somebody who may be a stranger: unreadable, and good for an hour."""
        nonce = secrets.token_bytes(12)
        plain = f"{int(now)}.{person}".encode()
        hidden = bytes(one ^ two for one, two in zip(plain, self._stream(nonce, len(plain)), strict=True))
        return base64.urlsafe_b64encode(nonce + hidden + self._mac(nonce + hidden)).decode()

    def unseal(self, token: str, now: float) -> str | None:
        try:
            raw = base64.urlsafe_b64decode(token.encode())
        except ValueError:
            return None
        nonce, hidden, mac = raw[:12], raw[12:-16], raw[-16:]
        if len(raw) < 30 or not hmac.compare_digest(mac, self._mac(nonce + hidden)):
            return None
        plain = bytes(one ^ two for one, two in zip(hidden, self._stream(nonce, len(hidden)), strict=True)).decode()
        at, _, person = plain.partition(".")
        return person if -_CLOCKS <= now - int(at) < _SEALED_SECONDS else None

    def _stream(self, nonce: bytes, length: int) -> bytes:
        blocks = (hmac.digest(self._key, b"seal" + nonce + bytes([n]), "sha256") for n in range(8))
        return b"".join(blocks)[:length]

    def _mac(self, text: bytes) -> bytes:
        return hmac.digest(self._key, b"sealed" + text, "sha256")[:16]

    # -- both --------------------------------------------------------------------------------------------------

    def _sign(self, text: str) -> str:
        digest = hmac.digest(self._key, text.encode(), "sha256")
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def _set(self, response: Response, name: str, value: str, seconds: int, https: bool) -> None:
        response.set_cookie(
            name, value, max_age=seconds, path="/", httponly=True, samesite="lax", secure=self._secure or https
        )
