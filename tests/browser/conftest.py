"""A real browser for pages: the system's chromium, without any network of its own."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from conftest import absent

from browser.devices import DESK

ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
PATIENCE = 60
"""Seconds that an action, a navigation or an expectation waits."""
LIMIT = 120
"""Seconds that any call of the browser may take: scripts, axe, a faked clock and closing have no limit of their own."""


def limited(call: Callable[[Any, Awaitable[Any]], Any]) -> Callable[[Any, Awaitable[Any]], Any]:
    """playwright's way into its event loop, which every call takes, with a limit: the test fails where it waited."""

    def sync(self: Any, awaitable: Awaitable[Any]) -> Any:
        async def bounded() -> Any:
            try:
                async with asyncio.timeout(LIMIT):
                    return await awaitable
            except TimeoutError:
                raise TimeoutError(f"the browser has not answered for {LIMIT} seconds") from None

        return call(self, bounded())

    return sync


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """A playwright Browser. Closed with the last test of this folder: while it is open its event loop runs in this
    thread, and `asyncio.run` of later tests would fail."""
    where = shutil.which("chromium") or shutil.which("chromium-browser")
    if where is None:
        absent("chromium is not installed")
    sync_api = pytest.importorskip("playwright.sync_api")
    from playwright._impl._sync_base import SyncBase

    with pytest.MonkeyPatch.context() as patch, sync_api.sync_playwright() as playwright:
        patch.setattr(SyncBase, "_sync", limited(SyncBase._sync))
        sync_api.expect.set_options(timeout=PATIENCE * 1000)
        opened = playwright.chromium.launch(executable_path=where, args=list(ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """A page on a new device, a desk's if not said.

    A test that makes a page go elsewhere waits until it is there: chromium can forget to close a device while the next
    page takes the place of the last."""
    opened = []

    def make(**options: Any) -> Any:
        context = browser.new_context(**{**DESK, **options})
        context.set_default_timeout(PATIENCE * 1000)
        opened.append(context)
        return context.new_page()

    yield make
    for context in opened:
        context.close()


@pytest.fixture
def watched(visit: Any) -> Iterator[Any]:
    """(page, check) on a device of this width and scheme: `check` asks that nothing scrolls sideways and that axe finds
    nothing; at the end no script may have failed and nothing may have been asked of the network."""
    from browser.accessible import sound

    problems: list[str] = []

    def make(width: int, scheme: str) -> Any:
        page = visit(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: said.type == "error" and problems.append(said.text))
        page.on("request", lambda asked: asked.url.startswith("file:") or problems.append(asked.url))

        def check() -> None:
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            sound(page)

        return page, check

    yield make
    assert problems == []
