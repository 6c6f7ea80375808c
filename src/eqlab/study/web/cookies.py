"""Cookies. A participant's names only their pseudonym in one study, signed; the researcher's is a random token whose
hash the store knows as long as they are logged in."""

import base64
import hashlib
import hmac
import secrets

from starlette.responses import Response

from eqlab.study.panels import derive

_PERSON_SECONDS = 60 * 24 * 3600
_SEALED_SECONDS = 3600
RESEARCHER_SECONDS = 12 * 3600
RESEARCHER = "eqlab_researcher"


class Cookies:
    def __init__(self, secret: bytes, secure: bool) -> None:
        self._key = derive(secret, "cookie")
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

    def read_session(self, cookies: dict[str, str]) -> str | None:
        """The researcher's session as the store knows it: a hash of what the cookie holds."""
        token = cookies.get(RESEARCHER, "")
        return hashlib.sha256(token.encode()).hexdigest() if token else None

    def set_session(self, response: Response, token: str, https: bool) -> None:
        self._set(response, RESEARCHER, token, RESEARCHER_SECONDS, https)

    def forget_researcher(self, response: Response) -> None:
        response.delete_cookie(RESEARCHER, path="/")

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
        return person if 0 <= now - int(at) < _SEALED_SECONDS else None

    def _stream(self, nonce: bytes, length: int) -> bytes:
        blocks = (hmac.new(self._key, b"seal" + nonce + bytes([n]), hashlib.sha256).digest() for n in range(8))
        return b"".join(blocks)[:length]

    def _mac(self, text: bytes) -> bytes:
        return hmac.new(self._key, b"sealed" + text, hashlib.sha256).digest()[:16]

    # -- both --------------------------------------------------------------------------------------------------

    def _sign(self, text: str) -> str:
        digest = hmac.new(self._key, text.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def _set(self, response: Response, name: str, value: str, seconds: int, https: bool) -> None:
        response.set_cookie(
            name, value, max_age=seconds, path="/", httponly=True, samesite="lax", secure=self._secure or https
        )


def parse_cookies(header: str) -> dict[str, str]:
    """A Cookie header, as browsers write it: other programs on the same host put anything into theirs, and a cookie
    that is not ours must not hide one that is."""
    found: dict[str, str] = {}
    for part in header.split(";"):
        name, is_pair, value = part.partition("=")
        if is_pair:
            found.setdefault(name.strip(), value.strip().strip('"'))
    return found
