"""Alerts while a study runs: what a researcher should know at once, told by a web hook or a command, once each. They
name the study and numbers, and nobody."""

import json
import logging
import shlex
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from eqlab.core.errors import StoreError
from eqlab.study.results.status import StudyStatus, study_status
from eqlab.study.served_study import ServedStudy
from eqlab.study.web.log import say

_EVERY = 60.0
_ENOUGH = 10
"""People from which a share says something."""
_LEAVING, _INATTENTIVE = 0.3, 20.0


@dataclass(frozen=True, slots=True)
class Alert:
    study: str
    about: str
    """A word that stays the same; an alert about it is sent once."""
    text: str


def alerts(now: StudyStatus) -> Iterator[Alert]:
    """What is worth telling. Pure."""
    if now.places and now.done >= now.places:
        yield Alert(now.study, "done", f"Every place is done ({now.places}).")
    if now.times.too_low and now.times.minutes.n >= _ENOUGH:
        paid = now.times.per_hour or 0.0
        yield Alert(now.study, "pay", f"At the median people get {paid:.2f} an hour, less than was aimed at.")
    for page in now.pages:
        if page.reached >= _ENOUGH and page.left / page.reached > _LEAVING:
            said = f"{page.left} of {page.reached} people left at page {page.number} ({page.kind})."
            yield Alert(now.study, f"leaving {page.number}", said)
    if now.attention.low is not None and now.attention.low > _INATTENTIVE:
        yield Alert(now.study, "attention", f"{now.attention.value:.0f} % of attention checks are failed.")
    if now.impossible >= 3:
        yield Alert(now.study, "times", f"The browsers of {now.impossible} people claim page times that cannot be.")


class AlertWatch:
    """Looks at the studies every minute, in a thread of its own."""

    def __init__(self, studies: Sequence[ServedStudy], tell: Callable[[Alert], None]) -> None:
        self._studies, self._tell = studies, tell
        self._told: set[tuple[str, str]] = set()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, name="eqlab-alerts", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join(5)

    def look(self) -> None:
        for served in self._studies:
            for alert in alerts(study_status(served.participation)):
                if (alert.study, alert.about) not in self._told:
                    self._told.add((alert.study, alert.about))
                    self._tell(alert)

    def _work(self) -> None:
        while not self._end.wait(_EVERY):
            try:
                self.look()
            except StoreError as error:
                say(logging.WARNING, "alerts could not look at the study", error=type(error).__name__)


def teller(url: str, command: str) -> Callable[[Alert], None]:
    """Posts JSON to `url`, and gives the text to `command` on its standard input; either may be empty."""

    def tell(alert: Alert) -> None:
        if url:
            _post(url, alert)
        if command:
            _run(command, alert)

    return tell


def _post(url: str, alert: Alert) -> None:
    body = json.dumps({"study": alert.study, "about": alert.about, "text": f"{alert.study}: {alert.text}"}).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10):
            pass
    except (urllib.error.URLError, OSError, ValueError) as error:
        say(logging.WARNING, "an alert was not delivered", error=type(error).__name__)


def _run(command: str, alert: Alert) -> None:
    """For e-mail, e.g. `mail -s study me@example.org`. The command is the server owner's own."""
    try:
        subprocess.run(shlex.split(command), input=f"{alert.study}: {alert.text}\n", text=True, timeout=30, check=True)
    except (subprocess.SubprocessError, OSError) as error:
        say(logging.WARNING, "an alert was not delivered", error=type(error).__name__)
