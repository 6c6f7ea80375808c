"""Chromium, Firefox and WebKitGTK with one small way to steer them: go to a page, evaluate, and what went wrong there.

Chromium is steered by its own protocol, Firefox by WebDriver BiDi, WebKitGTK by WebDriver on a screen made for it."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest
from other_servers import free_port

PATIENCE = 60.0
"""Seconds; only a test that fails takes them."""
WEBKIT = tuple(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))


class Browser:
    """One page of it."""

    name = version = ""

    def __init__(self) -> None:
        self._problems: list[str] = []

    @property
    def problems(self) -> list[str]:
        """Errors of scripts and in the console, and replies of 400 and more, by page."""
        return self._problems

    def go(self, url: str) -> None:
        raise NotImplementedError

    def js(self, expression: str) -> Any:
        """The value of an expression in the page; of a page without scripts too."""
        raise NotImplementedError

    def until(self, expression: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self.js(expression):
            assert time.monotonic() < deadline, f"{self.name}: not {expression}"
            time.sleep(0.02)

    def leave(self, action: str) -> None:
        """Do what leads to another page, and wait until it is there."""
        self.js("(document.body.dataset.left = '1', true)")
        self.js(f"({action}, true)")
        there = "document.readyState === 'complete' && !!document.body && !document.body.dataset.left"
        self.until(f"{there} && document.URL !== 'about:blank'")  # which Firefox may show in between


class _Socket(Browser):
    """Steered by messages over one connection: replies by number, events to `heard`."""

    def __init__(self, address: str) -> None:
        super().__init__()
        from websockets.sync.client import connect

        self._line = connect(address, max_size=None, open_timeout=PATIENCE)
        self._socket = self._line.__enter__()
        self._number = 0

    def close(self) -> None:
        self._line.__exit__(None, None, None)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            came = json.loads(self._socket.recv(PATIENCE))
            if came.get("id") == self._number:
                if "navigated" in str(came.get("error")):  # the page that was asked has just been left: ask the next
                    return self.call(method, **parameters)
                assert "error" not in came, came
                return dict(came["result"])
            self.heard(came.get("method", ""), came.get("params", {}))

    def heard(self, event: str, about: dict[str, Any]) -> None:
        raise NotImplementedError


class Chromium(_Socket):
    name = "Chromium"

    def __init__(self, address: str) -> None:
        super().__init__(address)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.version = self.call("Browser.getVersion")["product"].partition("/")[2]

    def heard(self, event: str, about: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            self.problems.append(str(about["exceptionDetails"].get("text")))
        elif event == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.problems.append(about["entry"]["text"] + " " + about["entry"].get("url", ""))
        elif event == "Runtime.consoleAPICalled" and about["type"] == "error":
            self.problems.append(str(about["args"]))
        elif event == "Network.responseReceived" and about["response"]["status"] >= 400:
            self.problems.append(f"{about['response']['status']} {about['response']['url']}")

    def go(self, url: str) -> None:
        self.js("(document.body && (document.body.dataset.left = '1'), true)")
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && !!document.body && !document.body.dataset.left")

    def js(self, expression: str) -> Any:
        came = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in came, came
        return came["result"].get("value")


class Firefox(_Socket):
    name = "Firefox"

    def __init__(self, address: str) -> None:
        super().__init__(address)
        made = self.call("session.new", capabilities={})
        self.version = made["capabilities"]["browserVersion"]
        self.call("session.subscribe", events=["log.entryAdded", "network.responseCompleted"])
        self._page = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def heard(self, event: str, about: dict[str, Any]) -> None:
        if event == "log.entryAdded" and about["level"] == "error":
            self.problems.append(str(about.get("text")))
        elif event == "network.responseCompleted" and about["response"]["status"] >= 400:
            self.problems.append(f"{about['response']['status']} {about['response']['url']}")

    def go(self, url: str) -> None:
        self.call("browsingContext.navigate", context=self._page, url=url, wait="complete")

    def js(self, expression: str) -> Any:
        wanted = f"JSON.stringify([{expression}])"
        came = self.call("script.evaluate", expression=wanted, target={"context": self._page}, awaitPromise=False)
        assert came["type"] == "success", came
        return json.loads(came["result"]["value"])[0]


class WebKit(Browser):
    name = "WebKitGTK"

    def __init__(self, driver: str, program: Path) -> None:
        super().__init__()
        self._driver, self._session = driver, ""
        options = {"binary": str(program), "args": ["--automation"]}
        wanted = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        made = self._call("", capabilities=wanted)
        self._session, self.version = f"/{made['sessionId']}", made["capabilities"]["browserVersion"]

    def _call(self, path: str, method: str = "POST", **body: Any) -> Any:
        data = json.dumps(body).encode() if method == "POST" else None
        url = f"{self._driver}/session{self._session}{path}"
        try:
            with urlopen(
                Request(url, data, {"Content-Type": "application/json"}, method=method), timeout=PATIENCE
            ) as came:
                return json.loads(came.read())["value"]
        except HTTPError as error:
            raise RuntimeError(error.read().decode("utf-8", "replace")) from None

    def go(self, url: str) -> None:
        self._call("/url", url=url)

    def js(self, expression: str) -> Any:
        return self._call("/execute/sync", script=f"return {expression}", args=[])

    def close(self) -> None:
        with suppress(RuntimeError, URLError, OSError):
            self._call("", "DELETE")


@contextmanager
def _started(command: Sequence[str], folder: Path, **environment: str) -> Iterator[Path]:
    """A process that is ended with all it started; its log."""
    log = folder / f"{Path(command[0]).name}.log"
    own = {**os.environ, "HOME": str(folder), **environment}
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=own, start_new_session=True)
        try:
            yield log
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()


def _when(ready: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while (found := ready()) is None:
        assert time.monotonic() < deadline, f"{what} did not start"
        time.sleep(0.05)
    return found


def _read(url: str) -> Any:
    try:
        with urlopen(url, timeout=5) as came:
            return json.loads(came.read())
    except (URLError, OSError):
        return None


@contextmanager
def chromium(folder: Path, scripts: bool = True) -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed")
    port = free_port()
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += [f"--remote-debugging-port={port}", f"--user-data-dir={folder / 'profile'}", "about:blank"]
    with _started(command, folder):
        pages = _when(lambda: _read(f"http://127.0.0.1:{port}/json/list"), "chromium")
        opened = Chromium(next(one["webSocketDebuggerUrl"] for one in pages if one["type"] == "page"))
        opened.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        yield opened
        opened.close()


@contextmanager
def firefox(folder: Path, scripts: bool = True) -> Iterator[Browser]:
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("firefox is not installed")
    (folder / "profile").mkdir()
    (folder / "profile/user.js").write_text(f'user_pref("javascript.enabled", {str(scripts).lower()});\n')
    command = [program, "--headless", "--no-remote", "--profile", str(folder / "profile")]
    with _started([*command, f"--remote-debugging-port={free_port()}", "about:blank"], folder) as log:
        listening = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
        found = _when(lambda: listening.search(log.read_text("utf-8", "replace")), "firefox")
        opened = Firefox(f"{found.group(1)}/session")
        yield opened
        opened.close()


@contextmanager
def webkit(folder: Path, scripts: bool = True) -> Iterator[Browser]:
    driver, screen = shutil.which("WebKitWebDriver"), shutil.which("Xvfb")
    if driver is None or screen is None or not WEBKIT:
        pytest.skip("WebKitGTK's driver or Xvfb is not installed (Debian: webkit2gtk-driver, xvfb)")
    port = free_port()
    program = folder / "browser"
    program.write_text(f'#!/bin/sh\nexec {WEBKIT[0]} --enable-javascript={str(scripts).lower()} "$@"\n')
    program.chmod(0o755)
    with _screen(screen, folder) as around, _started([driver, f"--port={port}"], folder, **around):
        _when(lambda: _read(f"http://127.0.0.1:{port}/status"), "WebKitWebDriver")
        opened = WebKit(f"http://127.0.0.1:{port}", program)
        yield opened
        opened.close()


@contextmanager
def _screen(program: str, folder: Path) -> Iterator[dict[str, str]]:
    display = f":{free_port() % 30000 + 100}"
    with _started([program, display, "-screen", "0", "1280x1000x24"], folder):
        _when(lambda: Path(f"/tmp/.X11-unix/X{display[1:]}").exists() or None, "Xvfb")
        yield {"DISPLAY": display, "GDK_BACKEND": "x11", "XDG_RUNTIME_DIR": str(folder)}


def webkit_console(folder: Path, urls: Sequence[str]) -> list[str]:
    """Errors in WebKitGTK's console on these pages. A browser that its driver steers writes none down (its session is
    private), so one that nobody steers opens them, and after them a page whose own error proves that it is heard."""
    folder.mkdir()
    last = folder / "last.html"
    last.write_text("<!doctype html><title>x</title><script>console.error('the last page')</script>", "utf-8")
    heard = re.compile(r".*CONSOLE.*ERROR.*the last page")
    errors: list[str] = []
    with _screen(shutil.which("Xvfb") or "", folder) as around:
        for url in urls:
            command = ["stdbuf", "-oL", str(WEBKIT[0]), "--enable-write-console-messages-to-stdout=true"]
            with _started([*command, url, last.as_uri()], folder, **around) as log:
                _when(lambda log=log: heard.search(log.read_text("utf-8", "replace")), "WebKitGTK")
                time.sleep(1)  # the first page began to load before the last
                said = re.findall(r".*CONSOLE.*ERROR.*", log.read_text("utf-8", "replace"))
                errors += [f"{url}: {line}" for line in said if not heard.match(line)]
    return errors
