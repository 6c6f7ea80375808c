"""`eqlab view`: the store in a browser, live."""

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eqlab.cli.flags import DataFlag, StoreFlag
from eqlab.cli.plain import print_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eqlab.view.site import ViewSite

BrowserFlag = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")]


def view(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 for a free one.")] = 0,
    browser: BrowserFlag = True,
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Look at runs in the browser: scores, comparisons item by item, answers. On this machine only; Ctrl-C ends it."""
    import signal
    import threading

    with_extra()
    from eqlab.view.app import serving

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # runs that were started from a page end with it
    with serving(_site(store, data), port) as where:
        tell(where, browser=browser)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print_text("Stopped.")


@contextmanager
def watched(run: str, store: str, data: Path | None, *, wanted: bool) -> "Iterator[None]":
    """A view of a run while this process works on it, if it is wanted; in a terminal it stays open after it."""
    if not wanted:
        yield
        return
    import os
    import signal
    import sys
    import threading

    with_extra()
    from eqlab.view.app import make_site, serving

    def stop() -> None:
        os.kill(os.getpid(), signal.SIGINT)  # the run's own way to end: what is under way is stored

    site = make_site(store, data=data, stop=(run, stop))
    with serving(site, path=f"/run/{run}") as where:
        tell(where, browser=sys.stdout.isatty())
        try:
            yield
        finally:
            site.stop = None
            if sys.stdout.isatty():
                print_text("The view stays open; Ctrl-C ends it.")
                with suppress(KeyboardInterrupt):
                    threading.Event().wait()


def tell(where: str, *, browser: bool) -> None:
    """The address on one line, whole: its token opens the door."""
    print_text(where)
    if browser:
        import webbrowser

        from eqlab.view.door import for_browser

        webbrowser.open(for_browser(where))


def with_extra() -> None:
    from importlib.util import find_spec

    from eqlab.core.errors import UsageError

    if any(find_spec(name) is None for name in ("starlette", "uvicorn", "argon2")):
        raise UsageError("The view needs an extra.", "Install it with: pip install 'eqlab[study]'")


def _site(store: str, data: Path | None) -> "ViewSite":
    from eqlab.store.access import open_reader
    from eqlab.view.app import make_site

    with open_reader(store):  # a store that cannot be read says so now, and one of 0.1 is brought up to date
        return make_site(store, data=data)
