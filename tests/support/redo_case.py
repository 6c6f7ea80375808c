"""The script of an export, run where there is no EQ Lab, for tests."""

import contextlib
import io
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

_APART = """
import runpy, sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "eqlab":
            raise ImportError("eqlab is not here")
sys.meta_path.insert(0, Nothing())
sys.argv = [sys.argv[1]]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@dataclass(frozen=True)
class Again:
    """Names of numbers that the script found again, and of those it did not."""

    same: set[str]
    wrong: list[str]


def without_eqlab(folder, apart=False):
    """`apart`: in a process of its own, which loads all libraries anew; else in this one, while it has no eqlab."""
    code, out, err = (_in_its_own_process if apart else _in_this_process)(str(folder / "redo.py"))
    assert err == "", err
    told = re.findall(r"^(same|DIFFERENT) +(.*): exported", out, re.MULTILINE)
    wrong = [name for same, name in told if same != "same"]
    assert code == bool(wrong), out
    assert f"Numbers found again: {len(told) - len(wrong)} of {len(told)}." in out
    return Again({name for same, name in told if same == "same"}, wrong)


def _in_its_own_process(script):
    ran = subprocess.run(
        [sys.executable, "-I", "-c", _APART, script], capture_output=True, text=True, timeout=200, check=False
    )
    return ran.returncode, ran.stdout, ran.stderr


def _in_this_process(script):
    out, err = io.StringIO(), io.StringIO()
    with _no_eqlab(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [script])
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                runpy.run_path(script, run_name="__main__")
                code = 0
            except SystemExit as end:
                code = end.code or 0
    return code, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def _no_eqlab() -> Iterator[None]:
    """None in `sys.modules` is a module that cannot be imported."""
    ours = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "eqlab"}
    sys.modules.update(dict.fromkeys(ours))
    try:
        yield
    finally:
        sys.modules.update(ours)
