"""How a run of the tests ends: no test runs for ever, a worker that died fails the run, skips are listed by reason.

Every test has the limit `faulthandler_timeout` of pyproject.toml: a thread below Python prints the stack of every
thread and ends the process, whatever holds the interpreter. The process is a worker of xdist as a rule: xdist then
names the test that ran in it, and no worker is put in its place, for a replacement can wait for work that never comes.
"""

import faulthandler
import os
import time
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

LOST = pytest.StashKey[list[str]]()
STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LOST] = []
    config.stash[STDERR] = os.dup(2)  # nothing is captured yet


def pytest_unconfigure(config: pytest.Config) -> None:
    os.close(config.stash[STDERR])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """EQLAB_TESTS_UNTIL is a time in seconds since 1970, for a CI that must end in time: what is left out is listed."""
    if time.time() > float(os.environ.get("EQLAB_TESTS_UNTIL") or "inf"):
        pytest.skip("EQLAB_TESTS_UNTIL is over")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """pytest lifts the limit of a test that has failed, for a debugger; taking down its fixtures can hang too."""
    limit = float(item.config.getini("faulthandler_timeout") or 0)
    if limit and not item.config.getoption("usepdb"):
        faulthandler.dump_traceback_later(limit, file=item.config.stash[STDERR], exit=True)
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    if error:
        node.config.stash[LOST].append(node.gateway.id)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Also when the worker died between two tests, where xdist has no test to blame."""
    if session.config.stash[LOST] and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line a reason; pytest's own `-rs` has one line a test."""
    skipped = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    for reason, count in skipped.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason}", yellow=True)
    for worker in config.stash[LOST]:
        terminalreporter.write_line(
            f"Worker {worker} died, by the time limit of a test (stacks above) or from outside; tests were left out.",
            red=True,
        )
