"""What the suite itself promises to whoever runs it."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.mark.parametrize(("ci", "said"), [("true", True), ("", False)])
def test_ci_without_the_published_data_says_so_first(tmp_path, ci, said):
    """One line before the first test, quiet or not; elsewhere tests are skipped with the reason."""
    environment = os.environ | {"CI": ci, "EQLAB_DATA": str(tmp_path / "none")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        str(ROOT / "tests" / "core" / "test_answers.py"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=120)
    assert done.returncode == 0, done.stdout
    first = done.stdout.splitlines()[0]
    assert ("CI without the published data" in first) == said
    assert (str(tmp_path / "none") in first) == said
