"""Pages from templates. Autoescape is on and an unknown name is an error."""

import gzip
import hashlib
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from eqlab.core.text import money
from eqlab.study.texts import Texts, load
from eqlab.study.web.settings import ServerSettings
from eqlab.study.web.shown import speaker

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class File:
    """A style or script, in memory: no path of the disk is ever looked up for a request."""

    body: bytes
    packed: bytes
    type: str
    version: str


class Renderer:
    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self.files = _read_files()
        self._environment = Environment(
            loader=PackageLoader("eqlab.study.web", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals["asset"] = lambda name: f"/static/{name}?v={self.files[name].version}"
        self._environment.filters["clock"] = lambda at: time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))
        self._environment.filters["mail_parts"] = mail_parts
        self._environment.filters["speaker"] = speaker
        self._environment.filters["money"] = money
        self._environment.globals["preview"] = settings.preview

    def texts(self, language: str) -> Texts:
        return self._settings.texts.get(language) or load(language)

    def page(self, name: str, language: str, status: int = 200, **values: Any) -> HTMLResponse:
        t = self.texts(language)
        return HTMLResponse(self._environment.get_template(f"{name}.html.j2").render(t=t, **values), status)

    def message(
        self, key: str, language: str, status: int, headers: Mapping[str, str] | None = None, study: Any = None
    ) -> HTMLResponse:
        """A page that only says something: `<key>_title` and `<key>_text`."""
        reply = self.page("message", language, status, key=key, study=study)
        reply.headers.update(headers or {})
        return reply

    def file(self, name: str, packed: bool) -> Response | None:
        found = self.files.get(name)
        if found is None:
            return None
        headers = {"cache-control": _FOREVER, "vary": "accept-encoding"}
        if packed:
            headers["content-encoding"] = "gzip"
        return Response(found.packed if packed else found.body, headers=headers, media_type=found.type)


def mail_parts(text: str) -> tuple[str, str, str] | None:
    """What stands before, in and after the first e-mail address of a text; None without one."""
    found = re.search(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}", text)
    return (text[: found.start()], found.group(), text[found.end() :]) if found else None


def _read_files() -> dict[str, File]:
    found = {}
    for one in (files("eqlab.study.web") / "static").iterdir():
        ending = one.name.rsplit(".", 1)[-1]
        if ending in _TYPES:
            body = one.read_bytes()
            if ending == "css":  # comments are for us; a licence ("/*!") stays
                body = re.sub(rb"/\*(?!!).*?\*/\n?", b"", body, flags=re.DOTALL)
            packed = gzip.compress(body, 9, mtime=0)
            found[one.name] = File(body, packed, _TYPES[ending], hashlib.sha256(body).hexdigest()[:12])
    return found
