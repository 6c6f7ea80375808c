"""Logs as one JSON object a line, for machines. They hold no ids: no query, no cookie, no pseudonym, no values.

Alerts while a study runs: what a researcher should know at once, told by a web hook or a command, once each. They
name the study and numbers, and nobody."""

import json
import logging
import re
import shlex
import subprocess
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

from eqlab.core.errors import UsageError
from eqlab.core.plural import many
from eqlab.core.text import people
from eqlab.core.values import dataclass

if TYPE_CHECKING:
    from eqlab.study.results.status import StudyStatus
    from eqlab.study.served_study import ServedStudy

logger = logging.getLogger("eqlab.study")


_PLACE = re.compile("0x[0-9a-f]+")
"""Of an object in memory: another one makes no other line."""


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, Any] = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        said.update(getattr(record, "facts", {}))
        if record.exc_info and record.exc_info[1] is not None:
            said["error"] = where(record.exc_info[1])
        return json.dumps(said, ensure_ascii=False)


class Bounded(logging.Filter):
    """The same line at most so often a minute: an attack must not fill the disk. How many were left out is said by the
    next that is written."""

    def __init__(self, most: int = 20, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most, self._clock = most, clock
        self._minute = -1
        self._counts: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        minute = int(self._clock() // 60)
        if minute != self._minute:
            self._minute = minute
            self._counts.clear()
        key = _PLACE.sub("", f"{record.name} {record.levelno} {record.msg}")
        self._counts[key] += 1
        if self._counts[key] > self._most:
            self._left_out[key] += 1
            return False
        if left_out := self._left_out.pop(key, 0):
            record.facts = {**getattr(record, "facts", {}), "left_out": left_out}
        return True


def where(error: BaseException) -> str:
    """An error's type and place. Not its message: a database's message holds the row's values."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__
    code = trace.tb_frame.f_code
    return f"{type(error).__name__} at {code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno} in {code.co_name}"


def say(level: int, message: str, **facts: Any) -> None:
    logger.log(level, message, extra={"facts": facts})


LOG_CONFIG: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "eqlab.study.web.log.JsonLines"}},
    "filters": {"bounded": {"()": "eqlab.study.web.log.Bounded"}},
    "handlers": {
        "err": {
            "class": "logging.StreamHandler",
            "formatter": "json",
            "filters": ["bounded"],
            "stream": "ext://sys.stderr",
        }
    },
    "loggers": {
        "eqlab.study": {"handlers": ["err"], "level": "INFO", "propagate": False},
        "asyncio": {"handlers": ["err"], "level": "WARNING", "propagate": False},
        "uvicorn": {"handlers": ["err"], "level": "WARNING", "propagate": False},
        "uvicorn.error": {"level": "WARNING"},
        "uvicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
    },
}
"""For uvicorn; its access log is off because addresses can carry a panel's id."""


_EVERY = 60.0
_ENOUGH = 10
"""People from which a share says something."""
_LEAVING, _INATTENTIVE = 0.3, 20.0
_UNANSWERED = 2
"""People without a reply who make an outage; one may be a filter's work."""


@dataclass(frozen=True, slots=True)
class Alert:
    study: str
    about: str
    """A word that stays the same; an alert about it is sent once."""
    text: str


def alerts(now: "StudyStatus") -> Iterator[Alert]:
    """What is worth telling. Pure."""
    if now.places and now.done >= now.places:
        yield Alert(now.study, "done", f"Every place is done ({now.places}).")
    if now.times.too_low and now.times.minutes.n >= _ENOUGH:
        paid = now.times.per_hour or 0.0
        yield Alert(now.study, "pay", f"At the median people get {paid:.2f} an hour, less than was aimed at.")
    for page in now.pages:
        if page.reached >= _ENOUGH and page.left / page.reached > _LEAVING:
            said = f"{page.left} of {many(page.reached, 'person', 'people')} left at page {page.number} ({page.kind})."
            yield Alert(now.study, f"leaving {page.number}", said)
    if now.attention.low is not None and now.attention.low > _INATTENTIVE:
        yield Alert(now.study, "attention", f"{now.attention.value:.0f} % of attention checks are failed.")
    for silence in now.silences:
        if silence.people >= _UNANSWERED:
            said = f"The model of arm {silence.arm} gives no reply: {people(silence.people)} asked in vain."
            yield Alert(now.study, f"model {silence.arm} {silence.since}", said)
    if now.impossible >= 3:
        yield Alert(now.study, "times", f"Browsers claim page times that cannot be, those of {people(now.impossible)}.")


_OFTEN, _SELDOM = 10, 60
"""Failed attempts, a minute apart, after which an alert is told only once an hour: who hears and says otherwise is not
told for ever."""


class AlertWatch:
    """Looks at the studies every minute, in a thread of its own."""

    def __init__(self, studies: "Sequence[ServedStudy]", *ways: Callable[[Alert], bool | None]) -> None:
        """A way returns False for an alert that did not arrive: by that way it is told again, with how often it was
        tried."""
        self._studies, self._ways = studies, ways
        self._told: set[tuple[str, str]] = set()
        self._failed: dict[tuple[str, str, int], tuple[Alert, int]] = {}
        self._looks = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, name="eqlab-alerts", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join(5)

    def look(self) -> None:
        from eqlab.study.results.status import study_status

        for served in self._studies:
            for alert in alerts(study_status(served.participation)):
                if (alert.study, alert.about) not in self._told:
                    self._told.add((alert.study, alert.about))
                    self._failed |= {(alert.study, alert.about, way): (alert, 0) for way in range(len(self._ways))}
        self._looks += 1
        for key, (alert, tries) in list(self._failed.items()):
            if tries >= _OFTEN and self._looks % _SELDOM:
                continue
            late = "" if not tries else f" (Sent late; failed attempts: {tries}.)"
            if self._arrives(self._ways[key[-1]], replace(alert, text=f"{alert.text}{late}")):
                del self._failed[key]
            else:
                self._failed[key] = (alert, tries + 1)

    def _arrives(self, tell: Callable[[Alert], bool | None], alert: Alert) -> bool:
        try:
            return tell(alert) is not False
        except Exception as error:  # noqa: BLE001 - whatever another program answers, the next alert is told
            say(logging.WARNING, "an alert was not delivered", error=where(error))
            return False

    def _work(self) -> None:
        while not self._end.wait(_EVERY):
            try:
                self.look()
            except Exception as error:  # noqa: BLE001 - nobody else looks: what fails now may work in a minute
                say(logging.WARNING, "alerts could not look at the study", error=where(error))


def tellers(url: str, command: str) -> list[Callable[[Alert], bool]]:
    """The ways that there are: JSON posted to `url`, the text given to `command` on its standard input."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"The command for alerts cannot be read ({error}).", "Check --alert-command.") from error
    ways: list[Callable[[Alert], bool]] = [partial(_post, url)] if url else []
    return [*ways, partial(_run, words)] if words else ways


class _NotElsewhere(urllib.request.HTTPRedirectHandler):
    """Who is sent elsewhere with what they bring comes there with empty hands, and is made welcome."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _post(url: str, alert: Alert) -> bool:
    body = json.dumps({"study": alert.study, "about": alert.about, "text": f"{alert.study}: {alert.text}"}).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    try:
        with urllib.request.build_opener(_NotElsewhere).open(request, timeout=10):
            return True
    except (HTTPException, OSError, ValueError) as error:
        say(logging.WARNING, "an alert was not delivered", error=type(error).__name__)
        return False


def _run(command: list[str], alert: Alert) -> bool:
    """For e-mail, e.g. `mail -s study me@example.org`. The command is the server owner's own."""
    try:
        subprocess.run(command, input=f"{alert.study}: {alert.text}\n", text=True, timeout=30, check=True)
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        say(logging.WARNING, "an alert was not delivered", error=type(error).__name__)
        return False
    return True
