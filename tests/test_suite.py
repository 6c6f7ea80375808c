"""What the suite itself promises to whoever runs it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from later import Later

PYTEST = [sys.executable, "-m", "pytest", "-p", "xdist.plugin", "-p", "no:cacheprovider"]
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Plugins that these suites do not need take seconds."""


@pytest.mark.parametrize("ci", ["true", ""])
def test_without_the_published_data_ci_says_so_first_and_fails_elsewhere_their_tests_are_skipped(tmp_path, ci):
    """In CI one line before the first test, quiet or not; elsewhere the reason. Tests of other things pass."""
    tests = ["core/test_answers.py", "published/test_eqbench_published.py::test_v1_and_v2_use_their_own_references"]
    done = subprocess.run(
        [*PYTEST, "-rs", *(str(ROOT / "tests" / test) for test in tests)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | ALONE | {"CI": ci, "EQLAB_DATA": str(tmp_path / "none")},
        timeout=120,
    )
    first = done.stdout.splitlines()[0]
    assert ("CI without the published data" in first) == bool(ci)
    assert (str(tmp_path / "none") in first) == bool(ci)
    assert "the published data are not here; set EQLAB_DATA" in done.stdout
    assert done.returncode == (1 if ci else 0), done.stdout
    assert ("SKIPPED" in done.stdout) == (not ci)
    assert ("1 skipped: the published data are not here; set EQLAB_DATA\n" in done.stdout) == (not ci)
    assert re.search(r"\d passed, 1 (error|skipped)", done.stdout)  # what needs no data has passed


def test_what_begins_too_late_is_left_out_and_said(tmp_path):
    (tmp_path / "test_one.py").write_text("def test_one(): assert False")
    command = [*PYTEST, "-p", "ending", "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, tmp_path]
    environment = os.environ | ALONE | {"PYTHONPATH": str(ROOT / "tests" / "support"), "EQLAB_TESTS_UNTIL": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout
    assert "1 skipped: EQLAB_TESTS_UNTIL is over" in done.stdout


def test_two_suites_do_not_meet_in_one_database(postgres, start_postgres, tmp_path_factory):
    """Each has a server with a folder and a socket of its own, and none lies below pytest's root, which every suite
    that starts makes private again: in 0.1 the database's data vanished under its feet."""
    from sqlalchemy import create_engine, text
    from sqlalchemy.engine import make_url

    own = start_postgres()
    shared_root = tmp_path_factory.getbasetemp().parent
    folders = [Path(make_url(uri).query["host"]) for uri in (postgres, own.uri)]
    assert folders[0] != folders[1]
    for folder in folders:
        assert list(folder.glob(".s.PGSQL.*"))
        assert shared_root not in folder.parents
    own.stop()
    engine = create_engine(postgres.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        assert connection.execute(text("SELECT 1")).scalar() == 1
    engine.dispose()
    own.start()  # the session ends it


HANGS = "def test_hangs(): threading.Event().wait()"
HANGS_AFTER_A_FAILURE = """
@pytest.fixture
def room():
    yield
    threading.Event().wait()

def test_hangs(room): assert False, "it failed first"
"""
IS_KILLED = "def test_hangs(): os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("body", [HANGS, HANGS_AFTER_A_FAILURE, IS_KILLED], ids=["hangs", "hangs after", "killed"])
def test_a_test_that_hangs_or_dies_ends_the_run_with_its_name(tmp_path, body, workers):
    """With the settings of this suite, but for the length of the limit; all other tests are done."""
    (tmp_path / "test_bad.py").write_text(f"import os, pytest, signal, threading\n{body}\n\ndef test_left(): pass\n")
    (tmp_path / "test_good.py").write_text("def test_fine(): pass\n")
    command = [*PYTEST, "-p", "ending", "-c", ROOT / "pyproject.toml"]
    limit = ["-o", "faulthandler_timeout=2", "--rootdir", tmp_path, "-n", str(workers), "--dist", "worksteal"]
    environment = os.environ | ALONE | {"PYTHONPATH": str(ROOT / "tests" / "support")}
    done = subprocess.run(
        [*command, *limit, tmp_path], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300
    )
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    if body is not IS_KILLED:
        assert "Timeout (0:00:02)!" in said
        assert "in wait" in said
    if workers:
        assert "crashed while running 'test_bad.py::test_hangs'" in said
        assert "Worker gw" in said
        assert " 2 passed" in said


def test_what_a_command_puts_into_the_environment_ends_with_its_test():
    """A price table that is not there, named in one test, was still named while a later module's store was scored."""
    tests = ["cli/test_missing_files.py", "view/test_view_runs.py"]
    names = ["-k", "prices or test_results_are_kept_without_texts", "-vv"]
    command = [*PYTEST, "-p", "no:randomly", *names, *(str(ROOT / "tests" / test) for test in tests)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=os.environ | ALONE, timeout=300)
    assert done.returncode == 0, done.stdout
    assert re.findall(r"(prices|without_texts).* PASSED", done.stdout) == ["prices", "without_texts"]


NEVER = Later("this")
"""A module of the standard library that nobody needs."""


def test_what_comes_later_is_not_imported_by_being_collected():
    """pytest looks at everything that a module of tests holds; some libraries take seconds."""
    assert "this" not in sys.modules
    assert NEVER.c == 97


ONLY_THE_SLICE = """
import re, sys
from importlib.metadata import packages_distributions
from pathlib import Path

pinned = set(re.findall(r"^([a-z0-9-]+)==", Path("requirements/slice.txt").read_text(), re.M)) | {"eqlab", "pip"}
owners = packages_distributions()

class Missing:
    def find_spec(self, name, path=None, target=None):
        names = {re.sub("[-_.]+", "-", owner).lower() for owner in owners.get(name, ())}
        if names and not names & pinned:
            raise ModuleNotFoundError(f"{name} is not in requirements/slice.txt", name=name)

sys.meta_path.insert(0, Missing())
"""


def test_the_slice_needs_only_what_is_installed_for_it(tmp_path):
    """The second interpreter has fewer packages: a test that imports another one would fail there, and only there."""
    (tmp_path / "only_the_slice.py").write_text(ONLY_THE_SLICE)
    folders = re.search(r"^SLICE \?= (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    command = [sys.executable, "-m", "pytest", "-p", "only_the_slice", "--collect-only", "-q", "-n", "0", *folders]
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, timeout=300
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
