"""What must never happen, whatever a model says: see SECURITY.md."""

import html
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, chat_server
from small_sweep import good

import eqlab as api
from eqlab.core.errors import UsageError
from eqlab.core.settings import holds_secret, is_secret, without_secrets
from eqlab.runs.identity import provenance

SOURCES = sorted((ROOT / "src").rglob("*.py"))
HOSTILE = '\x1b[2J\x1b]0;owned\x07=HYPERLINK("http://x") <script>alert(1)</script> \u202eevil\u0000'
KEY = "sk-live-0123456789abcdef0123"


def test_nothing_is_unpickled_or_evaluated():
    """A store, an import or a reply must never become code."""
    forbidden = re.compile(
        r"\b(?:import|from)\s+(?:pickle|cPickle|dill|shelve|marshal)\b|\bjoblib\b|(?<![.\w])(?:eval|exec)\(|"
        r"yaml\.load\(|shell=True|os\.system\(|allow_pickle=True|tempfile\.mktemp\("
    )
    found = [f"{path.name}: {match[0]}" for path in SOURCES for match in forbidden.finditer(path.read_text())]
    assert found == ["values.py: exec("]  # as the standard library's dataclass does: names of fields in our own source


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory):
    """A run whose model writes hostile text, under a key that must appear nowhere."""
    folder = tmp_path_factory.mktemp("hostile")
    own = {"EQLAB_API_KEY": KEY, "EQLAB_HOME": str(folder / "home"), "COLUMNS": "200"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EQLAB_")} | own
    with chat_server() as server:
        server.reply = lambda body, n: HOSTILE + "\n" + (good(body) if n % 2 else "")
        command = [sys.executable, "-c", "from eqlab.cli.main import main; main()", "run", "-b", "eqbench"]
        command += [f"m{HOSTILE[:4]}", "--limit", "4", "--base-url", server.url, "--store", "s.db"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
        assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    return folder, done


@pytest.fixture
def hostile(hostile_run, monkeypatch):
    """The same run for all that only read it, from its folder."""
    monkeypatch.chdir(hostile_run[0])
    monkeypatch.setenv("EQLAB_API_KEY", KEY)
    return hostile_run


def test_the_key_is_nowhere(hostile):
    folder, done = hostile
    assert "Run " in done.stdout, done.stderr
    everything = [done.stdout.encode(), done.stderr.encode()]
    everything += [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert (folder / "eqlab-report.html").is_file()
    assert not any(KEY.encode() in content for content in everything)


def test_no_escape_reaches_the_terminal(eqlab, hostile):
    _, done = hostile
    shown = eqlab("show", "last", "--store", "s.db")
    listed = eqlab("runs", "--store", "s.db")
    for text in (done.stdout, done.stderr, shown.out, shown.err, listed.out):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert "\\x1b[2J" in shown.out  # shown, not hidden
    assert "␛[2J" in listed.out


def test_json_says_the_same_and_nothing_that_a_terminal_obeys(eqlab, hostile):
    from eqlab.cli.plain import as_json

    for command in (("show", "last"), ("runs",)):
        said = eqlab(*command, "--json", "--store", "s.db").out
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", said)
    strange = {"a": ["\x9b31m\x7f\u202e\ud800\U000e0001 é\n", 1.5, None]}
    assert as_json(strange).isascii() is False
    assert "\x9b" not in as_json(strange)
    assert json.loads(as_json(strange)) == strange


def test_the_report_runs_nothing(hostile):
    page = (hostile[0] / "eqlab-report.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "default-src 'none'" in html.unescape(page)


def test_spreadsheets_run_nothing_and_numbers_stay_numbers(eqlab, server):
    import polars as pl

    server.reply = lambda body, n: f"{'=+-@'[n % 4]}cmd|' /C calc'!A0\n{good(body)}"
    eqlab("run", "m", "-b", "eqbench", "--limit", "4", "--base-url", server.url, "--store", "s.db")
    assert eqlab("export", "last", "-o", "a.csv", "--store", "s.db").code == 0
    frame = pl.read_csv("a.csv")
    text = [name for name, kind in frame.schema.items() if kind == pl.String]
    assert not [cell for name in text for cell in frame[name] if cell and cell[0] in "=+-@\t\r\n"]
    assert frame["text"].str.starts_with("'").sum() == 4
    for name in ("score", "latency", "at"):
        assert frame[name].dtype.is_numeric()
    assert eqlab("export", "last", "-o", "a.jsonl", "--store", "s.db").code == 0
    rows = [json.loads(line) for line in Path("a.jsonl").read_text().splitlines()]
    assert all(row["text"][0] in "=+-@" for row in rows)  # exact where nothing can run


def test_every_writer_of_csv_keeps_a_hostile_cell_in_its_place():
    """A spreadsheet ends rows at a bare carriage return, too; what follows it would be a cell of its own."""
    import csv
    import io

    import polars as pl

    from eqlab.publish.leaderboard.site import table_files
    from eqlab.tables.data import FORMULA, safe_csv

    cells = [f"{start}cmd|' /C calc'!A0" for start in FORMULA]
    cells += [f"x{inside}=1+1" for inside in ("\r", "\n", "\r\n", '"', ",", '",', "\r,")]
    rows = [{"text": cell, "score": -1.5} for cell in cells]
    leaderboard = dict(table_files("t", rows, {"text": str, "score": float}))["t.csv"]
    for written in (safe_csv(pl.DataFrame(rows)), leaderboard):
        read = list(csv.reader(io.StringIO(written.decode(), newline="")))
        assert read[1:] == [[f"'{cell}" if cell.startswith(FORMULA) else cell, "-1.5"] for cell in cells]


def test_only_the_owner_reads_what_is_kept(hostile):
    for path in hostile[0].rglob("*"):
        if path.relative_to(hostile[0]).parts[0].startswith("s.db"):
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_nobody_else_reads_a_store_while_it_is_written_or_copied(tmp_path):
    """Whatever the user's umask: the journal of SQLite, locks, copies."""
    import os

    from eqlab.store.maintenance import back_up
    from eqlab.store.writer import run_lock

    before = os.umask(0)
    try:
        store = api.open_store(str(tmp_path / "s.db"))
        prepared = api.prepare(api.Request(models=("m",), base_url="http://h/v1", benchmarks=("eqbench",), limit=1))
        store.begin_run(prepared.config, prepared.plan(), {})
        with run_lock(store, prepared.config.id):
            beside = {path.name for path in tmp_path.iterdir()}
            modes = {path: path.stat().st_mode for path in tmp_path.rglob("*")}
        store.close()
        back_up(str(tmp_path / "s.db"), tmp_path / "copy.db")
    finally:
        os.umask(before)
    assert {"s.db", "s.db-wal", "s.db-shm", "s.db-locks"} <= beside
    modes |= {path: path.stat().st_mode for path in tmp_path.rglob("*")}
    assert [str(path) for path, mode in modes.items() if stat.S_IMODE(mode) & 0o077] == []


@pytest.mark.parametrize(
    "more",
    [
        {"base_url": "http://me:pass@localhost:1/v1"},
        {"base_url": f"http://localhost:1/v1?api_key={KEY}"},
        {"settings": {"api_key": KEY}},
        {"settings": {"Authorization": "x"}},
        {"settings": {"extra_headers": {"Authorization": "Bearer x"}}},
        {"settings": {"user": KEY}},
        {"settings": {"tools": [{"auth": {"token": "x"}}]}},
    ],
)
def test_a_key_on_the_command_line_is_refused(more):
    with pytest.raises(UsageError, match="stored") as caught:
        api.prepare(
            api.Request(
                models=("m",),
                **{"base_url": "http://localhost:1/v1", **({"benchmarks": ("eqbench",), "profile": "full"} | more)},
            )
        )
    assert KEY not in str(caught.value)
    assert "EQLAB_API_KEY" in str(caught.value)


@pytest.mark.parametrize("address", ["http://[x/v1", "http://h:99999/v1", "http://h:0/v1", "ftp://h/v1", "h:1"])
def test_what_is_no_address_is_said_in_a_line(address):
    from eqlab.models.providers import locate

    with pytest.raises(UsageError, match="not a web address"):
        locate("m", address)


@pytest.mark.parametrize(
    "said",
    [
        f"bad key {KEY}",
        f"bad key {KEY[:12]}… (cut)",
        "x" * 290 + KEY,
        "not yours, but sk-proj-abcdefghijklmnopqrstuvwx",
        f"Authorization: Bearer {KEY}",
    ],
)
def test_a_server_that_repeats_a_key_is_not_quoted(said):
    from eqlab.models.providers import without_key
    from eqlab.models.wire.failures import read_error

    for body in (said, json.dumps({"error": {"message": said}}), json.dumps({"detail": {"headers": said}})):
        shown = without_key(read_error(body.encode()).text, KEY)[:300]
        assert KEY[:9] not in shown
        assert "abcdefghijkl" not in shown
        assert len(shown) <= 300


def test_a_server_that_shows_what_it_was_sent_gets_no_key_into_the_store(eqlab, server, tmp_path, monkeypatch):
    monkeypatch.setenv("EQLAB_API_KEY", KEY)
    server.reply = lambda body, n: f"{good(body)}\n\nYour headers: Bearer {KEY}"
    done = eqlab("run", "-b", "eqbench", "m", "--limit", "2", "--base-url", server.url, "--store", "s.db")
    assert done.code == 0, done.err
    assert "(your-key)" in eqlab("show", "last", "--store", "s.db").out
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_the_kept_command_holds_no_secret(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["eqlab", "run", "--store", "postgresql://me:hush@host/db", "--set", f"x={KEY}"])
    command = provenance({})["command"]
    assert "hush" not in command
    assert KEY not in command
    assert "--store" in command


def test_what_is_a_secret():
    assert is_secret("api_key")
    assert is_secret("X-Token")
    assert not is_secret("max_tokens")
    assert not is_secret("monkey")
    assert without_secrets("Authorization: Bearer abc.def") == "Authorization: Bearer (left out)"
    assert without_secrets("eqlab run m --base-url http://h:1/v1 -b eqbench") == (
        "eqlab run m --base-url http://h:1/v1 -b eqbench"
    )
    assert not holds_secret("http://localhost:8000/v1")


def test_an_unreachable_store_does_not_show_its_password():
    from eqlab.core.errors import StoreError

    with pytest.raises(StoreError) as caught:
        api.open_store("postgresql://me:hush@127.0.0.1:1/none")
    assert "hush" not in str(caught.value)


def test_what_is_built_from_source_is_built_with_pinned_tools():
    """A source distribution runs code while it is built, with tools that pip fetches by itself unless it is told not
    to: they are pinned and hashed like everything else, and nothing is fetched beside them."""
    pins = [(ROOT / "requirements" / f"{name}.txt").read_text() for name in ("build", "dev", "run")]
    (tool,) = re.findall(r"^(\S+==\S+) ", pins[0], re.MULTILINE)
    assert tool.startswith("setuptools==")
    assert pins[0].count("--hash=sha256:") == 2  # its wheel and its source
    assert f"\n{tool} " in pins[1]
    only_source = re.findall(r"^([\w.-]+)==\S+ (?:; [^\\]*)?\\\n    --hash=\S+\n    #", pins[1], re.MULTILINE)
    assert {"rouge-score", "sqlitedict", "word2number"} == set(only_source)
    for line in (ROOT / "Makefile").read_text().splitlines():
        if "-r requirements/" in line and "compile" not in line:
            assert "--require-hashes" in line
            assert "--no-deps" in line
        if "-r requirements/dev.txt" in line:
            assert "--no-build-isolation" in line
    assert not re.search(r"(^|[\s=:])/\w", "".join(pins), re.MULTILINE)  # no path of anybody's machine
