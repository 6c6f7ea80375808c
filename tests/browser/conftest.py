"""A real browser for pages: the system's chromium, without any network of its own."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import absent

from browser.devices import DESK

ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """A playwright Browser. Closed with the last test of this folder: while it is open its event loop runs in this
    thread, and `asyncio.run` of later tests would fail."""
    where = shutil.which("chromium") or shutil.which("chromium-browser")
    if where is None:
        absent("chromium is not installed")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=where, args=list(ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """A new device, a desk's if not said."""
    opened = []

    def make(**options: Any) -> Any:
        context = browser.new_context(**{**DESK, **options})
        context.set_default_timeout(20_000)
        opened.append(context)
        return context.new_page()

    yield make
    for context in opened:
        context.close()


@pytest.fixture
def watched(browser: Any) -> Iterator[Any]:
    """(page, check) on a device of this width and scheme: `check` asks that nothing scrolls sideways and that axe finds
    nothing; at the end no script may have failed and nothing may have been asked of the network."""
    from axe_playwright_python.sync_playwright import Axe

    problems: list[str] = []
    opened = []

    def make(width: int, scheme: str) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        opened.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: said.type == "error" and problems.append(said.text))
        page.on("request", lambda asked: asked.url.startswith("file:") or problems.append(asked.url))

        def check() -> None:
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()

        return page, check

    yield make
    for context in opened:
        context.close()
    assert problems == []
