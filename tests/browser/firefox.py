"""Firefox, driven by WebDriver BiDi over the websocket that it opens itself: pages at a width and a scheme, keys, and
what its console said."""

import asyncio
import json
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

PATIENCE = 120.0
"""Seconds that an answer of the browser may take."""
SETTINGS = """
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
user_pref("browser.safebrowsing.update.enabled", false);
user_pref("app.normandy.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("extensions.update.enabled", false);
user_pref("layout.css.prefers-color-scheme.content-override", {scheme});
"""
SCHEMES = {"dark": 0, "light": 1}


class Firefox:
    """One window. Calls wait for their answer; console errors and failed scripts are kept in `problems`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._loop, self._socket, self._number = loop, socket, 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self.problems: list[str] = []
        self._listening = asyncio.run_coroutine_threadsafe(self._listen(), loop)
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded"])
        self._window = self.call("browsingContext.getTree")["contexts"][0]["context"]

    async def _listen(self) -> None:
        async for message in self._socket:
            said = json.loads(message.data)
            if said.get("type") == "event":
                if said["params"].get("level") == "error":
                    self.problems.append(str(said["params"].get("text")))
            elif (waiting := self._waiting.pop(said.get("id"), None)) is not None:
                waiting.set_result(said)

    async def _send(self, method: str, parameters: dict[str, Any]) -> Any:
        self._number += 1
        self._waiting[self._number] = answer = self._loop.create_future()
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        return await asyncio.wait_for(answer, PATIENCE)

    def call(self, method: str, **parameters: Any) -> Any:
        said = asyncio.run_coroutine_threadsafe(self._send(method, parameters), self._loop).result(2 * PATIENCE)
        if said["type"] == "error":
            raise RuntimeError(f"{method}: {said['error']}: {said['message']}")
        return said["result"]

    def wide(self, width: int, height: int = 800) -> None:
        self.call("browsingContext.setViewport", context=self._window, viewport={"width": width, "height": height})

    def goto(self, address: str) -> None:
        self.call("browsingContext.navigate", context=self._window, url=address, wait="complete")

    def run(self, script: str) -> Any:
        """What a script's expression is, as JSON."""
        expression = f"(async () => JSON.stringify(await ({script})))()"
        made = self.call(
            "script.evaluate", expression=expression, target={"context": self._window}, awaitPromise=True
        )  # fmt: skip
        if made["type"] == "exception":
            raise RuntimeError(made["exceptionDetails"]["text"])
        value = made["result"].get("value")
        return None if value is None else json.loads(value)

    def press(self, *keys: str) -> None:
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call(
            "input.performActions", context=self._window, actions=[{"type": "key", "id": "keys", "actions": actions}]
        )  # fmt: skip

    def wait(self, script: str) -> None:
        """Until an expression is true, asked again while the page changes."""
        begun = time.monotonic()
        while time.monotonic() - begun < PATIENCE:
            try:
                if self.run(f"new Promise((done) => requestAnimationFrame(() => done(Boolean({script}))))"):
                    return
            except RuntimeError:  # the page that was asked is gone; the next one is asked
                continue
        raise TimeoutError(f"{script}: not on {self.run('location.href')}")

    def violations(self) -> list[str]:
        """What axe finds wrong with the page, by rule and place."""
        import axe_playwright_python

        axe = next(Path(axe_playwright_python.__file__).parent.rglob("axe.min.js")).read_text(encoding="utf-8")
        self.run(f"(() => {{ {axe}\n; return true; }})()")
        found = self.run("axe.run(document, {resultTypes: ['violations']})")
        return [f"{one['id']}: {node['target']}" for one in found["violations"] for node in one["nodes"]]

    def picture(self, path: Path) -> None:
        import base64

        shot = self.call("browsingContext.captureScreenshot", context=self._window, origin="document")
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def firefox(profile: Path, scheme: str = "light") -> Iterator[Firefox | None]:
    """A browser of its own with an empty profile; None where firefox is not installed."""
    where = shutil.which("firefox-esr") or shutil.which("firefox")
    if where is None:
        yield None
        return
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "user.js").write_text(SETTINGS.replace("{scheme}", str(SCHEMES[scheme])), encoding="utf-8")
    command = [where, "--headless", "--no-remote", "--remote-debugging-port=0", "--profile", str(profile)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            told = "".join(iter(lambda: _line(process), ""))
            address = re.search(r"WebDriver BiDi listening on (ws://\S+)", told)
            if address is None:
                raise RuntimeError(f"firefox opened no door: {told[-500:]}")
            session = asyncio.run_coroutine_threadsafe(_session(), loop).result(PATIENCE)
            try:
                opening = session.ws_connect(f"{address[1]}/session", max_msg_size=2**26)
                socket = asyncio.run_coroutine_threadsafe(_awaited(opening), loop).result(PATIENCE)
                threading.Thread(target=lambda: process.stderr and process.stderr.read(), daemon=True).start()
                yield Firefox(loop, socket)
            finally:  # its socket with it
                asyncio.run_coroutine_threadsafe(session.close(), loop).result(PATIENCE)
        finally:
            process.terminate()
            process.wait(PATIENCE)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(PATIENCE)
            loop.close()


def _line(process: "subprocess.Popen[str]") -> str:
    """The next line of what it says, up to the one that names its door; empty after that."""
    if process.stderr is None or getattr(process, "named", False):
        return ""
    line = process.stderr.readline()
    process.named = "BiDi listening" in line  # type: ignore[attr-defined]
    return line


async def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession()


async def _awaited(opening: Any) -> Any:
    return await opening
