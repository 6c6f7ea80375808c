"""Opening a store: from a URL or a path to an engine whose tables are up to date."""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache, wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import Connection, Dialect, Engine, Executable, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError

from eqlab.core.errors import StoreError
from eqlab.core.settings import without_secrets
from eqlab.store.database import (
    BUSY,
    HEAD,
    Database,
    Transaction,
    failed,
    make_file,
    reason,
    set_up,
    sqlite_said_plainly,
    way_out,
)
from eqlab.store.location import GARBLED, damaged, is_damage, sqlite_path

_WRITE = {"eqlab_write": True}
_KNOW_PEOPLE = (
    *("events", "arrivals", "panel_ids", "participants", "audit"),
    *("answers", "planned", "progress", "places", "talk_calls", "trials"),
)
_SCRUB, _SCRUB_HOLDS = 2.0, 0.1
"""Seconds that emptying the write-ahead log waits for readers, and for which it keeps writers waiting meanwhile."""
_VACUUM = 10.0
"""Seconds for PostgreSQL's VACUUM, which waits for whoever reads a page: what it has done by then stays done."""
_HELD = ("55P03", "57014", "40P01")
"""PostgreSQL's words for a table that another's VACUUM, or a copy of the whole, held for longer than a lock waits; for
a statement that took too long; and for two that waited for each other."""
_NOW = text("SELECT txid_snapshot_xmax(txid_current_snapshot()) % 4294967296")
_OLDER_READERS = text(
    """SELECT 1 FROM (
        SELECT unnest(ARRAY[backend_xmin, backend_xid]) AS held FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND (datname IS NULL OR datname = current_database())
        UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()
        UNION ALL SELECT unnest(ARRAY[xmin, catalog_xmin]) FROM pg_replication_slots
    ) AS transactions WHERE age(held) > age(CAST(:then AS xid)) LIMIT 1"""
)
"""Transactions of PostgreSQL that may still see what was deleted before `then`: VACUUM leaves that where it is."""
_ANOTHERS = text(
    """SELECT relname FROM pg_class WHERE NOT pg_has_role(relowner, 'USAGE')
    AND oid IN (SELECT to_regclass(name) FROM unnest(CAST(:names AS text[])) AS name) LIMIT 1"""
)
"""A table that this role may not clean."""
_OWNS = text("SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database()")
_REBUILT = 256 << 20
"""Bytes of an index up to which it is built anew: of a larger one that takes too long."""
_INDEXES = text(
    """SELECT CAST(CAST(indexrelid AS regclass) AS text) AS name, indisvalid AS whole FROM pg_index
    WHERE indrelid IN (SELECT to_regclass(name) FROM unnest(CAST(:names AS text[])) AS name)
    AND (NOT indisvalid OR pg_relation_size(indexrelid) BETWEEN 2 * 8192 + 1 AND :most)"""
)
"""Indexes with keys above their leaves, where the key of a row stays when the row goes; and what is left of one whose
building anew broke off."""
_NOTED = text(
    """SELECT attname, format_type(atttypid, atttypmod) AS kind FROM pg_stats
    JOIN pg_namespace ON nspname = schemaname
    JOIN pg_class ON relnamespace = pg_namespace.oid AND relname = tablename
    JOIN pg_attribute USING (attname) WHERE attrelid = pg_class.oid AND pg_class.oid = to_regclass(:name)"""
)
"""The columns of a table of which PostgreSQL's statistics hold values."""
_DEADLOCKS = 3
P = ParamSpec("P")
_Done = TypeVar("_Done")
_OPENING = threading.Lock()
"""One thread opens a store at a time: migrations keep what they work on in globals."""


def open_engine(where: str, *, upgrade: bool = False) -> Engine:
    """An engine for a path, `sqlite:///PATH` or `postgresql://…`, migrated to the newest tables; with a locked study
    only where somebody has asked to `upgrade` it."""
    path = sqlite_path(where)
    url = where
    if where.startswith(("postgresql://", "postgres://")):
        url = "postgresql+psycopg://" + where.split("://", 1)[1]
    no_store = StoreError(
        f"'{without_secrets(where)}' is not a store.", "Give a path, sqlite:///PATH or postgresql://USER@HOST/NAME."
    )
    if path is None and not url.startswith("postgresql+psycopg:"):
        raise no_store
    try:
        with _OPENING:
            engine = _server(url) if path is None else _sqlite(path)
            try:
                _migrate(engine, upgrade)
            except BaseException:
                engine.dispose()
                raise
    except ArgumentError as error:
        raise no_store from error
    except UnicodeDecodeError as error:
        raise damaged(str(path or "store"), GARBLED) from error
    except ModuleNotFoundError as error:
        raise StoreError("PostgreSQL needs an extra.", "Install it with: pip install 'eqlab[postgres]'") from error
    except DBAPIError as error:
        shown = str(path or make_url(url).render_as_string(hide_password=True))
        if is_damage(reason(error)) and path is not None:
            raise damaged(shown, reason(error)) from error
        full = "full" in reason(error) or "disk I/O" in reason(error)
        way = way_out(reason(error)) if full else "Check --store."
        raise StoreError(f"The store {shown} cannot be opened: {reason(error)}.", way) from error
    return engine


def _server(url: str) -> Engine:
    engine = create_engine(url, pool_pre_ping=True)

    def check(connection: Any, _: Any) -> None:
        """Before anything else: of another encoding the driver cannot read even the server's version."""
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreError(
                f"The database {_shown(engine)} is encoded in {encoding}, and answers are in UTF-8.",
                "Make one with: createdb -E UTF8 -T template0 …",
            )

    event.listen(engine, "connect", check, insert=True)
    return engine


def close_engine(engine: Engine) -> None:
    """What another thread still uses, or takes after this, is closed when it comes back."""
    event.listen(engine.pool, "checkin", lambda _, entry: entry.invalidate())
    engine.dispose()


def _shown(engine: Engine) -> str:
    """A SQLite store by its file, as its user calls it; another by its address, without a password."""
    return (engine.dialect.name == "sqlite" and engine.url.database) or engine.url.render_as_string(hide_password=True)


def _sqlite(path: Path) -> Engine:
    make_file(path)
    engine = create_engine(URL.create("sqlite", database=str(path)), connect_args={"timeout": BUSY})

    event.listen(engine, "connect", lambda connection, _: set_up(connection))

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        # A writer takes the write lock at once: upgrading a read lock later fails under load.
        write = connection.get_execution_options().get("eqlab_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes; committed at the end, rolled back on an error."""
    with said_plainly(engine), engine.connect().execution_options(**_WRITE) as connection, connection.begin():
        yield connection


class Prepared:
    """A statement for parameters that are always the same ones, compiled once for each kind of database, and run within
    a transaction of SQLAlchemy without its own work, which takes several times what a row takes."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._compiled: dict[tuple[str, frozenset[str]], tuple[str, dict[str, Any], Sequence[str] | None]] = {}

    def run(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> int:
        """For each of these rows of parameters, which have the same names; how many rows it changed."""
        with self._made(connection, rows) as cursor:
            return int(cursor.rowcount)

    def find(self, connection: Connection, **given: Any) -> list[Any]:
        """What a query finds: rows with the columns' names."""
        with self._made(connection, [given]) as cursor:
            names = [column[0] for column in cursor.description]
            return [SimpleNamespace(**dict(zip(names, row, strict=True))) for row in cursor.fetchall()]

    @contextmanager
    def _made(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
        words, fixed, places = self._words(connection.dialect, rows[0])
        given = [{**fixed, **row} for row in rows]
        values: list[Any] = given if places is None else [tuple(row[name] for name in places) for row in given]
        cursor = connection.connection.cursor()
        try:
            if len(values) == 1:
                cursor.execute(words, values[0])
            else:
                cursor.executemany(words, values)
            yield cursor
        except Exception as error:
            base: type[Exception] = connection.dialect.loaded_dbapi.Error
            if not isinstance(error, base):
                raise
            raise DBAPIError.instance(None, None, error, base, dialect=connection.dialect) from error
        finally:
            cursor.close()

    def _words(self, dialect: Dialect, row: Mapping[str, Any]) -> tuple[str, dict[str, Any], Sequence[str] | None]:
        key = (dialect.name, frozenset(row))
        found = self._compiled.get(key)
        if found is None:
            compiled: Any = self._statement.compile(dialect=dialect, column_keys=list(row))  # type: ignore[attr-defined]
            found = self._compiled[key] = (str(compiled), dict(compiled.params), compiled.positiontup)
        return found


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """For a single query: on PostgreSQL without a transaction around it, which would double its way."""
    options = {"isolation_level": "AUTOCOMMIT"} if engine.dialect.name == "postgresql" else {}
    with said_plainly(engine), engine.connect().execution_options(**options) as connection:
        yield connection


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """For queries that must agree with each other while others write."""
    options = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with said_plainly(engine), engine.connect().execution_options(**options) as connection:
        yield connection


@contextmanager
def said_plainly(engine: Engine) -> Iterator[None]:
    """A database that fails (full, locked, gone) is a StoreError with the way out."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise damaged(_shown(engine), GARBLED) from error
    except DBAPIError as error:
        where = _shown(engine)
        if engine.dialect.name == "sqlite" and is_damage(reason(error)):
            raise damaged(where, reason(error)) from error
        if not isinstance(error, OperationalError) and "read-only" not in reason(error):
            raise
        raise failed(where, error) from error


def despite_deadlock(work: Callable[P, _Done]) -> Callable[P, _Done]:
    """A transaction that is made again when it and another waited for each other, and the database ended this one."""

    @wraps(work)
    def made(*args: P.args, **kwargs: P.kwargs) -> _Done:
        for _ in range(_DEADLOCKS):
            try:
                return work(*args, **kwargs)
            except StoreError as error:
                if "deadlock" not in str(error):
                    raise
        return work(*args, **kwargs)

    return made


def take_turn(connection: Connection, what: str) -> None:
    """Wait until no other process is at this part of a transaction. SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": lock_key(what)})


def scrub(engine: Engine) -> bool:
    """After an erasure: what was deleted leaves the database's own files too. SQLite's file is written anew, since
    balanced pages keep stale copies of rows in their gaps whatever `secure_delete` says, and its write-ahead log is
    emptied (the next erasure or the end of the program does it, if not this time); PostgreSQL's dead rows go, its
    statistics of what stood in them, and their keys in indexes. It takes about as long for many as for one. False
    while somebody reads who began before the erasure, on SQLite at all, or holds a table or a page."""
    with said_plainly(engine):
        if engine.dialect.name == "sqlite":
            return _scrub_file(engine)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            _check_owner(connection)
            try:
                connection.exec_driver_sql(_patience())
                connection.exec_driver_sql(f"SET statement_timeout = '{1000 * _VACUUM:.0f}ms'")
                return _scrub_server(engine, connection)
            except OperationalError as error:
                if getattr(error.orig, "sqlstate", "") not in _HELD:
                    raise
                return False
            finally:
                for setting in ("lock_timeout", "statement_timeout"):
                    connection.exec_driver_sql(f"RESET {setting}")


def _check_owner(connection: Connection) -> None:
    """VACUUM passes over what is another's with no more than a notice."""
    table = connection.execute(_ANOTHERS, {"names": list(_KNOW_PEOPLE)}).scalar()
    if table or not connection.execute(_OWNS).scalar():
        what, way = (f"table '{table}'", "TABLE …") if table else ("database", "DATABASE …")
        raise StoreError(
            f"The database's role does not own the {what}: what was deleted cannot be cleaned away.",
            f"Let the role own it: ALTER {way} OWNER TO …",
        )


def _scrub_server(engine: Engine, connection: Connection) -> bool:
    """Rows, what was noted of them, and the notes that these replaced, which tell of whoever was here before: all of
    it as soon as nobody can see it any more. Keys of indexes at last."""
    if not _unseen(connection):
        return False
    # Without FREEZE it passes over a page that somebody is reading, and says that all went well.
    connection.exec_driver_sql(f"VACUUM (FREEZE, ANALYZE) {', '.join(_KNOW_PEOPLE)}")
    with engine.begin() as other:
        _forget_the_last(other)
    if not _unseen(connection):
        return False
    connection.exec_driver_sql("VACUUM (FREEZE) pg_catalog.pg_statistic")
    names = {"names": list(_KNOW_PEOPLE), "most": _REBUILT}
    for index, whole in connection.execute(_INDEXES, names).all():
        connection.exec_driver_sql(f"REINDEX INDEX CONCURRENTLY {index}" if whole else f"DROP INDEX {index}")
    return True


def _unseen(connection: Connection) -> bool:
    """Whether everybody has gone, after some waiting, who may still see what was deleted until now."""
    then = {"then": str(connection.execute(_NOW).scalar_one())}
    deadline = time.monotonic() + _SCRUB
    while connection.execute(_OLDER_READERS, then).first() is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(_SCRUB_HOLDS)
    return True


def _patience(scope: str = "SESSION") -> str:
    return f"SET {scope} lock_timeout = '{1000 * _SCRUB:.0f}ms'"


def _forget_the_last(connection: Connection) -> None:
    """ANALYZE leaves what it noted before of a table that has become empty: the words of whoever was the last. A column
    that is given the type it has loses that."""
    connection.exec_driver_sql(_patience("LOCAL"))
    for table in _KNOW_PEOPLE:
        if connection.exec_driver_sql(f"SELECT 1 FROM {table} LIMIT 1").first() is not None:
            continue
        if noted := connection.execute(_NOTED, {"name": table}).all():
            anew = ", ".join(f'ALTER COLUMN "{column.attname}" TYPE {column.kind}' for column in noted)
            connection.exec_driver_sql(f"ALTER TABLE {table} {anew}")


def _scrub_file(engine: Engine) -> bool:
    with (
        sqlite_said_plainly(_shown(engine)),
        closing(engine.raw_connection()) as own,  # neither is done within a transaction
        closing(own.cursor()) as cursor,
    ):
        if not _emptied(cursor):
            return False  # the log would only grow, by the whole file
        try:
            cursor.execute("VACUUM")
        finally:
            clean = _emptied(cursor)
        return clean


def _emptied(cursor: Any) -> bool:
    """Whether the write-ahead log could be: not while somebody reads."""
    deadline = time.monotonic() + _SCRUB
    cursor.execute(f"PRAGMA busy_timeout={1000 * min(_SCRUB, _SCRUB_HOLDS):.0f}")
    try:
        while True:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            (blocked, *_) = cursor.fetchone() or (1,)
            if not blocked or time.monotonic() > deadline:
                return not blocked
            time.sleep(_SCRUB_HOLDS)  # while it waits nobody can write
    finally:
        cursor.execute(f"PRAGMA busy_timeout={1000 * BUSY:.0f}")


class ServerDatabase(Database):
    is_server = True
    errors = (StoreError, SQLAlchemyError, OSError)

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with writing(self._engine) as connection:
            yield Within(connection)

    def rows(self, query: str, values: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
        with said_plainly(self._engine), self._engine.connect() as connection:
            yield from connection.execution_options(yield_per=500).execute(text(query), values)

    def close(self) -> None:
        """The engine's owner closes it."""


class Within(Transaction):
    """A transaction of SQLAlchemy as one that runs know."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def rows(self, query: str, **values: Any) -> list[Sequence[Any]]:
        return list(self._connection.execute(text(query), values))

    def run(self, command: str, **values: Any) -> None:
        self._connection.execute(text(command), values)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            given = [dict(zip(columns, row, strict=True)) for row in rows]
            _insertion(table, tuple(columns)).run(self._connection, given)

    def take_turn(self, what: str) -> None:
        take_turn(self._connection, what)


@cache
def _insertion(table: str, columns: tuple[str, ...]) -> Prepared:
    names, values = '", "'.join(columns), ", :".join(columns)
    return Prepared(text(f'INSERT INTO {table} ("{names}") VALUES (:{values})'))


def address_without_password(engine: Engine) -> str:
    """What another machine needs to reach the same database, apart from its password; empty for SQLite, which no other
    machine can write to."""
    url = engine.url
    if url.get_backend_name() != "postgresql":
        return ""
    query = {name: value for name, value in url.query.items() if "password" not in name}
    return URL.create("postgresql", url.username, None, url.host, url.port, url.database, query).render_as_string()


def same_database(one: str, other: str) -> bool:
    """Whether two URLs name one database, whoever opens it."""
    first, second = make_url(one), make_url(other)
    return (first.host, first.port, first.database) == (second.host, second.port, second.database)


def lock_key(what: str) -> int:
    """A number for PostgreSQL's advisory locks."""
    return int.from_bytes(hashlib.sha256(f"eqlab {what}".encode()).digest()[:8], "big", signed=True)


def _migrate(engine: Engine, upgrade: bool) -> None:
    """Bring the tables to HEAD; those of a locked study only to `upgrade` it. Alembic is imported only when there is
    something to do: it is slow to load."""
    with engine.connect() as connection:
        version = _version(connection)
        foreign = version is None and engine.dialect.name == "sqlite" and inspect(connection).get_table_names()
    if version == HEAD:
        return
    if foreign:
        where = _shown(engine)
        raise StoreError(f"{where} is another program's database, or a corrupt store.", "Name another with --store.")
    if version is not None and version > HEAD:
        raise StoreError(f"The store was written by a newer eqlab (tables {version}, known {HEAD}).", "Upgrade eqlab.")
    from alembic import command
    from alembic.config import Config

    with writing(engine) as connection:
        take_turn(connection, "migration")
        if _version(connection) == HEAD:  # another process was faster
            return
        if version is not None and not upgrade:
            _refuse_if_locked(connection, _shown(engine), version)
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _refuse_if_locked(connection: Connection, store: str, version: str) -> None:
    """A plan is carried out by the code it was locked with, which refuses newer tables: nobody upgrades such a store in
    passing, perhaps under the study's server."""
    if not inspect(connection).has_table("studies"):
        return
    query = "SELECT id, lock_version FROM studies WHERE locked_at IS NOT NULL ORDER BY locked_at DESC"
    locked = connection.execute(text(query)).first()
    if locked is None:
        return
    by = locked.lock_version
    raise StoreError(
        f"The store {store} holds the study '{locked.id}', locked with eqlab {by}, and its tables are older "
        f"({version}, now {HEAD}): what is analysed after an upgrade of the store is exploratory.",
        f"Go on with the locked version: uv tool run --from 'eqlab[study]=={by}' eqlab …; or name another store with "
        "--store. To upgrade this one all the same, stop its server, keep a copy for that version (eqlab runs store "
        "backup FILE; pg_dump), then: eqlab runs store upgrade.",
    )


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return version
