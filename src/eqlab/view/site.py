"""What every screen shares: the store and what is scored of it, templates, addresses."""

import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import field
from functools import cached_property, partial
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Scope

from eqlab.core.errors import UsageError
from eqlab.core.values import dataclass
from eqlab.publish.components import page_environment, source
from eqlab.store.access import open_reader
from eqlab.store.reader import Reader
from eqlab.study.web.render import File
from eqlab.tables.html import html_table
from eqlab.view.door import derived, same
from eqlab.view.shelf import Shelf

_SCREENS = (
    ("/", "Runs"),
    ("/compare", "Compare"),
    ("/talks", "Talks"),
    ("/judges", "Judges"),
    ("/studies", "Studies"),
    ("/rate", "Rate"),
    ("/start", "Start a run"),
)
_SAID = 4000
_MOST_VALUES = 200
"""Values of an address that are read: no list grows without bound."""
_LINK = re.compile(r'(<a\b[^>]*?) href="/[^"]*"')
"""Links to other screens, which a file has none of."""
_ADDRESSES = (' href="/', ' action="/', ' src="/')
"""What begins an address of ours in a page; text has no bare quotation marks."""
Pairs = Iterable[tuple[str, Any]]


@dataclass
class ViewSite:
    """One server's store and what shows it."""

    where: str
    """The store's path or URL; empty for the user's own."""
    token: str
    data: Path | None = None
    stop: tuple[str, Callable[[], None]] | None = None
    """The run that this process is at work on, and what ends it as Ctrl-C does; None where it asks nobody."""
    rating: dict[str, Any] = field(default_factory=dict)
    """Who is rating what at this moment, by session."""
    started: dict[str, "StartedRun"] = field(default_factory=dict)
    """Runs that were started from a page, by their ids."""
    closing: bool = False
    """Whether the server ends."""
    shelf: Shelf = field(init=False)

    def __post_init__(self) -> None:
        self.shelf = Shelf(self.where)

    def store(self) -> AbstractContextManager[Reader]:
        """For one request; a reader belongs to the thread that opened it."""
        return open_reader(self.where)

    @cached_property
    def form_mark(self) -> str:
        """What a form of ours carries, and no other site's can."""
        return derived(self.token, "form")

    @cached_property
    def style(self) -> str:
        return "".join(source(self.templates, name) for name in ("report.css", "talks.css", "view.css"))

    @cached_property
    def files(self) -> Mapping[str, File]:
        script = source(self.templates, "view.js")
        return {"view.css": File.of("view.css", self.style.encode()), "view.js": File.of("view.js", script.encode())}

    @cached_property
    def templates(self) -> Environment:
        shared = page_environment()
        made = shared.overlay(loader=ChoiceLoader([PackageLoader(f"eqlab.{room}") for room in ("view", "publish")]))
        asset = {"asset": lambda name: f"/static/{name}?v={self.files[name].version}"}
        made.globals = {**shared.globals, **asset, "address": address, "html_table": partial(html_table, labelled=True)}
        return made

    @cached_property
    def version(self) -> str:
        return version("eqlab")

    def page(self, request: Request, name: str, code: int = 200, **values: Any) -> Response:
        live = values.pop("live", False)
        file = asked(request, "file") == "1" and request.method == "GET"
        root = root_of(request.scope)
        here = request.url.path.removeprefix(root)
        html = self.templates.get_template(f"{name}.html.j2").render(
            screens=_SCREENS, here=here, shown_store=values.pop("shown_store", ""), version=self.version,
            generated_at=time.time(), form_mark="" if file else self.form_mark, live=live and not file,
            as_file="" if file or code != HTTPStatus.OK else address(here, kept(request, "file"), file=1),
            style=self.style if file else "", **values,
        )  # fmt: skip
        headers = {"Content-Disposition": f'attachment; filename="eqlab-{name}.html"'} if file else {}
        if file:
            html = _LINK.sub(r"\1", html)
        else:
            for begin in _ADDRESSES:
                html = html.replace(begin, f"{begin[:-1]}{root}/")
        return HTMLResponse(html.encode("utf-8", "replace"), code, headers)


@dataclass
class StartedRun:
    """A run that was started from a page: the command line's own process."""

    command: str
    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def going(self) -> bool:
        return self.process.poll() is None

    @property
    def said(self) -> str:
        """The end of what it printed."""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - _SAID))
            return file.read().decode("utf-8", "replace")

    def stop(self) -> None:
        """As Ctrl-C does: what is under way is stored, and the same command goes on later."""
        if self.going:
            self.process.send_signal(signal.SIGINT)


def site_of(request: Request) -> ViewSite:
    site: ViewSite = request.app.state.site
    return site


def address(path: str, pairs: Pairs = (), **more: Any) -> str:
    """A path with what it asks for; empty values are left out."""
    every = [*pairs, *more.items()]
    query = urlencode([(name, str(value)) for name, value in every if value not in (None, "", False)])
    return f"{path}?{query}" if query else path


def root_of(scope: Scope) -> str:
    """What the address of every page begins with; empty for who was not let in (`door`)."""
    return str(scope.get("root_path", ""))


def go_on(request: Request, path: str) -> Response:
    """To another page of ours."""
    return RedirectResponse(f"{root_of(request.scope)}{path}", 303)


def asked(request: Request, name: str) -> str:
    """One value of the address; empty where there is none."""
    return request.query_params.get(name, "").strip()


def asked_all(request: Request, name: str) -> list[str]:
    return [value for value in request.query_params.getlist(name)[:_MOST_VALUES] if value]


def asked_number(request: Request, name: str, usual: int = 1) -> int:
    """A whole number from 1 on, such as a page's."""
    said = asked(request, name)
    return max(1, int(said)) if said.isdecimal() and len(said) < 7 else usual


async def posted(request: Request) -> dict[str, list[str]]:
    """The fields of one of our forms; raises where it does not carry our mark. The body was bounded before, and came
    from our own page."""
    body = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=500)
    if not same("".join(body.get("mark", [])), site_of(request).form_mark):
        raise HTTPException(403)
    return body


def must(found: Any, message: str, hint: str = "Go back to the list of runs.") -> Any:
    if found is None:
        raise UsageError(message, hint)
    return found


def kept(request: Request, *without: str) -> list[tuple[str, str]]:
    """What the address asks for besides, for links that change one thing."""
    return [(name, value) for name, value in request.query_params.multi_items() if name not in without]
