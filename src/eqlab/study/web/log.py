"""Logs as one JSON object a line, for machines. They hold no ids: no query, no cookie, no pseudonym, no values."""

import json
import logging
import time
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
    "handlers": {"err": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}},
    "loggers": {
        "eqlab.study": {"handlers": ["err"], "level": "INFO", "propagate": False},
        "uvicorn": {"handlers": ["err"], "level": "WARNING", "propagate": False},
        "uvicorn.error": {"level": "WARNING"},
        "uvicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
    },
}
"""For uvicorn; its access log is off because addresses can carry a panel's id."""
