"""What the server has to know beside the studies: secret, password, public address, limits; whether it can be reached
from elsewhere, and what kind of device asks."""

import ipaddress
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from urllib.parse import urlsplit

from eqlab.core.errors import UsageError
from eqlab.core.values import dataclass
from eqlab.study.texts import Texts

LEAST_SECRET = 32
_LONGEST_ADDRESS = 64
COMMON = frozenset({"changeme", "secret", "default", "password"})


@dataclass(frozen=True)
class ServerSettings:
    secret: bytes
    """Keys for cookies and panel ids are derived from it."""
    password_hash: str = ""
    """argon2 hash of the researcher's password; without one nobody can log in."""
    public_url: str = ""
    """How participants reach the server, e.g. https://study.example.org; empty: as the request says."""
    proxy: str = ""
    """Address of a reverse proxy whose X-Forwarded-For and -Proto are believed; empty: nobody's are."""
    hook_secret: bytes = b""
    """Signs a panel's messages; without one they are refused."""
    preview: bool = False
    """Say on every page that nothing is kept."""
    rehearsal: bool = False
    """Whether simulated people may come; a study that is locked or has begun takes none all the same."""
    body_limit: int = 64 * 1024
    address_limit: int = 8 * 1024
    """Characters of an address's query, and of all cookies: taking thousands of fields apart costs more than a page."""
    head_seconds: float = 10.0
    """In which the head of a request must have come."""
    body_seconds: float = 20.0
    """In which its body must have come."""
    arrival_burst: float = 40.0
    """New people from one address at once (a classroom); `arrival_rate` more each second."""
    arrival_rate: float = 1 / 60
    pace_burst: float = 300.0
    """Requests at once of one person, or of all newcomers of one address; `pace_rate` more each second, in each
    process. No browser comes near."""
    pace_rate: float = 5.0
    resume_burst: float = 5.0
    """Guesses at one person's resume code from one address: a stranger's do not keep the person out."""
    resume_rate: float = 1 / 60
    login_burst: float = 5.0
    login_rate: float = 1 / 30
    session_key: str = ""
    """Stays the same as long as the password does, in every process and after every start: sessions end with it."""
    texts: Mapping[str, Texts] = field(default_factory=dict)
    """Languages beside those that ship."""

    @property
    def origin(self) -> str:
        parts = urlsplit(self.public_url)
        return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""

    @property
    def host(self) -> str:
        """Name, and port if it is said, that participants' requests must be for."""
        return urlsplit(self.public_url).netloc.rpartition("@")[2].lower()

    @property
    def https(self) -> bool:
        return self.public_url.startswith("https://")


def check_secret(secret: str) -> bytes:
    """A secret that is worth the name."""
    plain = secret.strip()
    if len(plain) < LEAST_SECRET or len(set(plain)) < 8 or any(word in plain.lower() for word in COMMON):
        raise UsageError(
            f"EQLAB_STUDY_SECRET must be random and have at least {LEAST_SECRET} characters.",
            "Make one with: python -c 'import secrets; print(secrets.token_hex(32))'",
        )
    return plain.encode()


def address_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """None when it is a name. An IPv4 address that a socket for both kinds writes as ::ffff:192.0.2.1 is that IPv4
    address."""
    return None if len(text) > _LONGEST_ADDRESS else _address(text)


@lru_cache(maxsize=4096)
def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def network_of(address: str) -> str:
    """What counts as one client: an IPv4 address, or the /64 that one household has of IPv6."""
    found = address_of(address)
    if found is None:
        return "unknown"
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(ipaddress.IPv6Network((int(found), 64), strict=False))


def is_local(host: str, public_url: str) -> bool:
    """Whether only this machine can reach the server."""
    names = [host] + ([urlsplit(public_url).hostname or ""] if public_url else [])
    return all(name == "localhost" or is_loopback(name) for name in names)


def is_address(name: str) -> bool:
    """Whether it is a number, as 192.168.1.7, and no name."""
    return address_of(name) is not None


def is_loopback(name: str) -> bool:
    found = address_of(name)
    return found is not None and found.is_loopback


def device_class(agent: str) -> str | None:
    """phone, tablet or computer by what the browser says of itself; None when it says nothing. Nothing finer is kept:
    the rest would help to recognise somebody."""
    if not agent:
        return None
    _, android, rest = agent.rpartition("Android")
    if "iPad" in agent or "Tablet" in agent or (android and "Mobile" not in rest):
        return "tablet"
    return "phone" if android or "Mobi" in agent or "iPhone" in agent else "computer"
