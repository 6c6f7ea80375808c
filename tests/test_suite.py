"""What the suite itself promises to whoever runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT


def without_data(folder, ci, test):
    """A test in a suite of its own, where the published data are not."""
    environment = os.environ | {"CI": ci, "EQLAB_DATA": str(folder / "none")}
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", str(ROOT / "tests" / test)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=120)


@pytest.mark.parametrize(("ci", "said"), [("true", True), ("", False)])
def test_ci_without_the_published_data_says_so_first(tmp_path, ci, said):
    """One line before the first test, quiet or not; elsewhere tests are skipped with the reason."""
    done = without_data(tmp_path, ci, "core/test_answers.py")
    assert done.returncode == 0, done.stdout
    first = done.stdout.splitlines()[0]
    assert ("CI without the published data" in first) == said
    assert (str(tmp_path / "none") in first) == said


@pytest.mark.parametrize("ci", ["true", ""])
def test_a_test_of_the_published_data_is_skipped_with_the_reason_and_fails_in_ci(tmp_path, ci):
    done = without_data(tmp_path, ci, "published/test_eqbench_published.py::test_v1_and_v2_use_their_own_references")
    assert "the published data are not here; set EQLAB_DATA" in done.stdout
    assert done.returncode == (1 if ci else 0), done.stdout
    assert ("SKIPPED" in done.stdout) == (not ci)


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
