"""`eqlab study serve`, `preview`, `status`, `password` as commands."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eqlab.cli.main import app
from eqlab.core.errors import UsageError

pytest.importorskip("fastapi")


@pytest.fixture
def study_file(tmp_path):
    path = tmp_path / "eqbench.toml"
    result = CliRunner().invoke(app, ["study", "init", "eqbench", "-o", str(path)])
    assert result.exit_code == 0, result.output
    return path


def begin(*arguments):
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("eqlab")), "study", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    said = ""
    while "Ctrl-C stops" not in said:
        line = process.stdout.readline()
        if not line:
            raise AssertionError(said + process.stderr.read())
        said += line
    return process, said


def printed(*arguments):
    process, said = begin(*arguments)
    process.kill()
    process.communicate(timeout=60)
    return said


def read(url):
    with urllib.request.urlopen(url, timeout=60) as reply:
        return reply.read().decode()


def test_serve_prints_links_answers_and_stops_cleanly(study_file):
    process, said = begin("serve", str(study_file), "--port", "0")
    try:
        link = re.search(r"participants  (http://127\.0\.0\.1:\d+/s/eqbench)", said).group(1)
        assert re.search(r"researcher    http://127\.0\.0\.1:\d+/researcher/eqbench", said)
        assert re.search(r"for this start: \S{12}", said)
        assert "Start" in read(link)
        assert json.loads(read(link.replace("/s/eqbench", "/health")))["status"] == "ok"
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out.strip()) == (0, "Stopped.")
    assert err == "! eqbench.toml still says 'CHANGE ME': people will read it.\n"
    result = CliRunner().invoke(app, ["study", "status", str(study_file), "--json"])
    assert json.loads(result.stdout)["study"] == "eqbench"
    shown = CliRunner().invoke(app, ["study", "status", str(study_file)]).stdout
    assert "0 of 60 places done" in shown
    assert "nobody yet" in shown


def test_the_status_of_a_changed_file_is_not_told(study_file):
    """It told the places of the study as it was, under the words of the new file."""
    printed("serve", str(study_file), "--port", "0")
    study_file.write_text(study_file.read_text().replace("people_per_batch = 10", "people_per_batch = 9"))
    status = CliRunner().invoke(app, ["study", "status", str(study_file)])
    assert "has begun with other pages than its file has now" in str(status.exception)
    checked = CliRunner().invoke(app, ["study", "check", str(study_file)])
    assert "has begun with other pages than its file has now" in checked.output


def test_preview_keeps_nothing(study_file, tmp_path):
    process, said = begin("preview", str(study_file), "--port", "0")
    try:
        link = re.search(r"participants  (\S+)", said).group(1)
        assert "nothing is kept" in read(link)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    status = CliRunner().invoke(app, ["study", "status", str(study_file)])
    assert "has not begun" in str(status.exception)


def test_a_study_of_signed_links_is_told_how_they_are_made_and_not_given_one_that_opens_nothing(study_file, tmp_path):
    study_file.unlink()
    CliRunner().invoke(app, ["study", "init", "eqbench", "-o", str(study_file), "--panel", "prolific"])
    study_file.write_text(study_file.read_text().replace("[panel]\n", "[panel]\nsigned = true\n"))
    said = printed("serve", str(study_file), "--port", "0")
    url = re.search(
        r"participants  signed links only: 'eqlab study people links FILE IDS --url (http://\S+:\d+)'", said
    ).group(1)
    ids, good = tmp_path / "ids.txt", "5f3c8d2ab91e4c0012d3a4b5"
    ids.write_text(f"\ufeff{good}\n\n {good.upper()} \n")
    made = CliRunner().invoke(app, ["study", "people", "links", str(study_file), str(ids), "--url", url])
    assert [line.split("&")[0].lower() for line in made.output.splitlines()] == [
        f"{url}/s/eqbench?prolific_pid={good}"
    ] * 2
    ids.write_text(f"{good}\n\nsomebody\n")
    refused = CliRunner().invoke(app, ["study", "people", "links", str(study_file), str(ids), "--url", url])
    assert (refused.output, "line 3: 'somebody' is no id" in str(refused.exception)) == ("", True)
    said = printed("preview", str(study_file), "--port", "0")  # whose door is open
    assert re.search(r"participants  http://\S+/s/eqbench\n", said)


def test_serve_refuses_to_be_open_to_the_world_without_secrets(study_file):
    result = CliRunner().invoke(app, ["study", "serve", str(study_file), "--host", "0.0.0.0"])
    assert isinstance(result.exception, UsageError)
    assert "EQLAB_STUDY_SECRET" in str(result.exception)
    result = CliRunner().invoke(app, ["study", "serve", str(study_file), "--public-url", "study.example.org"])
    assert "not a web address" in str(result.exception)


def test_password_is_kept_as_a_hash(tmp_path, monkeypatch):
    monkeypatch.setenv("EQLAB_HOME", str(tmp_path / "own"))
    result = CliRunner().invoke(app, ["study", "password"], input="a long password\na long password\n")
    assert result.exit_code == 0, result.output
    kept = (tmp_path / "own" / "study-password").read_text()
    assert kept.startswith("$argon2id$")
    assert "a long password" not in kept + result.output
