"""The script of an export, run where there is no EQ Lab, for tests."""

import re
import subprocess
import sys
from dataclasses import dataclass

_WITHOUT_EQLAB = """
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


def without_eqlab(folder):
    ran = subprocess.run(
        [sys.executable, "-I", "-c", _WITHOUT_EQLAB, str(folder / "redo.py")],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert ran.stderr == "", ran.stderr
    told = re.findall(r"^(same|DIFFERENT) +(.*): exported", ran.stdout, re.MULTILINE)
    wrong = [name for same, name in told if same != "same"]
    assert ran.returncode == bool(wrong), ran.stdout
    assert f"{len(told) - len(wrong)} of {len(told)} numbers were found again" in ran.stdout
    return Again({name for same, name in told if same == "same"}, wrong)
