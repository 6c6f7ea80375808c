"""A real browser for pages: the system's chromium, without any network of its own."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import absent

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
