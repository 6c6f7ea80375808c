"""Signed cookies. A participant's names only their pseudonym in one study; the researcher's only a time."""

import base64
import hashlib
import hmac
from http.cookies import SimpleCookie

from starlette.responses import Response

from eqlab.study.panel_ids import derive

_PERSON_SECONDS = 60 * 24 * 3600
RESEARCHER_SECONDS = 12 * 3600
RESEARCHER = "eqlab_researcher"


class Cookies:
    def __init__(self, secret: bytes, secure: bool, password_hash: str = "") -> None:
        self._key = derive(secret, "cookie")
        self._password = password_hash  # a new password ends every session
        self._secure = secure

    # -- participants ------------------------------------------------------------------------------------------

    def person_name(self, study: str) -> str:
        return f"eqlab_{study}"

    def read_person(self, cookies: dict[str, str], study: str) -> str | None:
        """Who this is; None for no cookie, a foreign or a forged one."""
        person, _, signature = cookies.get(self.person_name(study), "").partition(".")
        good = self._sign(f"person\0{study}\0{person}")
        return person if person and hmac.compare_digest(signature.encode(), good.encode()) else None

    def set_person(self, response: Response, study: str, person: str, https: bool) -> None:
        value = f"{person}." + self._sign(f"person\0{study}\0{person}")
        self._set(response, self.person_name(study), value, _PERSON_SECONDS, https)

    def forget_person(self, response: Response, study: str) -> None:
        response.delete_cookie(self.person_name(study), path="/")

    def mark(self, study: str, person: str) -> str:
        """A short name under which a browser keeps answers not yet sent, so that two people who share a device do not
        mix; says nothing about the pseudonym."""
        return self._sign(f"mark\0{study}\0{person}")[:10]

    # -- the researcher ----------------------------------------------------------------------------------------

    def read_researcher(self, cookies: dict[str, str], now: float) -> bool:
        since, _, signature = cookies.get(RESEARCHER, "").partition(".")
        good = self._sign(f"researcher\0{self._password}\0{since}")
        if not hmac.compare_digest(signature.encode(), good.encode()) or not since.isdecimal():
            return False
        return 0 <= now - int(since) < RESEARCHER_SECONDS

    def set_researcher(self, response: Response, now: float, https: bool) -> None:
        since = str(int(now))
        value = f"{since}." + self._sign(f"researcher\0{self._password}\0{since}")
        self._set(response, RESEARCHER, value, RESEARCHER_SECONDS, https)

    def forget_researcher(self, response: Response) -> None:
        response.delete_cookie(RESEARCHER, path="/")

    # -- both --------------------------------------------------------------------------------------------------

    def _sign(self, text: str) -> str:
        digest = hmac.new(self._key, text.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def _set(self, response: Response, name: str, value: str, seconds: int, https: bool) -> None:
        response.set_cookie(
            name, value, max_age=seconds, path="/", httponly=True, samesite="lax", secure=self._secure or https
        )


def parse_cookies(header: str) -> dict[str, str]:
    """A Cookie header; nothing of it when it is malformed."""
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(header)
    except ValueError:
        return {}
    return {name: morsel.value for name, morsel in jar.items()}
