"""Logs as one JSON object a line, for machines. They hold no ids: no query, no cookie, no pseudonym, no values."""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

logger = logging.getLogger("eqlab.study")


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
        key = f"{record.name} {record.levelno} {record.msg}"
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
