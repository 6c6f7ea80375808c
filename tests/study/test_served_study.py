"""People who wait at the same time: served together, each with their own outcome, nobody failing for another."""

import asyncio
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from types import SimpleNamespace
from uuid import uuid4

import pytest
from small_study import take
from sqlalchemy import create_engine, event, func, select, text
from sqlalchemy.engine import make_url

from eqlab.core.errors import StoreError
from eqlab.core.moves import Arrival, ConsentMove, FilledPage, Unknown
from eqlab.store.engine import open_engine, scrub, snapshot
from eqlab.store.schema import answers, panel_ids, participants
from eqlab.store.study.records import erase
from eqlab.study.served_study import ServedStudy


@pytest.fixture
def open_desk(make_participation):
    opened = []

    def make(**more):
        opened.append(ServedStudy(make_participation(batches=10, attention=0, **more)))
        return opened[-1]

    yield make
    for served in opened:
        served.close()


@pytest.fixture
def cleaned_at_once(monkeypatch):
    """However long a busy machine takes: nobody is told that it follows."""
    monkeypatch.setattr("eqlab.study.served_study._CLEAN_REST", 0)
    monkeypatch.setattr("eqlab.store.engine._SCRUB", 60)


def in_the_queue(served):
    """Keeps the served's writers busy until it is set, so that what is asked meanwhile waits together."""
    gate = threading.Event()
    for _ in range(served._writers._max_workers):
        served._writers.submit(gate.wait)
    return gate


async def all_waiting(served, *moves):
    gate = in_the_queue(served)
    tasks = [asyncio.create_task(served.make(move)) for move in moves]
    await asyncio.sleep(0)
    gate.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def count(served, table):
    with served.participation.store.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar()


def test_who_waits_together_shares_a_transaction_and_gets_their_own_outcome(open_desk):
    served = open_desk()
    participation = served.participation
    people = [participation.arrive(f"h{number}", "en") for number in range(5)]
    pages = [take(participation, person, until="trial").number for person in people]
    commits = []
    event.listen(participation.store.engine, "commit", commits.append)
    good, bad = {"rating": 3}, {"rating": 9}
    moves = [FilledPage(person, number, 1, good) for person, number in zip(people, pages, strict=True)]
    moves[1] = FilledPage(people[1], pages[1], 1, bad)
    moves[2] = FilledPage(people[2], pages[2] + 1, 1, good)
    moves += [moves[0], FilledPage("nobody", 1, 1, good), ConsentMove(people[3], agreed=False)]
    before = count(served, answers)
    commits.clear()
    *saved, twice, nobody, late = asyncio.run(all_waiting(served, *moves))
    assert len(commits) < len(moves)
    assert [one.outcome for one in saved] == ["saved", "refused", "ahead", "saved", "saved"]
    assert saved[1].problems == {"rating": "off"}
    assert (twice.outcome, late.outcome) == ("again", "again")
    assert isinstance(nobody, Unknown)
    assert count(served, answers) == before + 3
    assert [participation.look(person).number - page for person, page in zip(people, pages, strict=True)] == [
        1,
        0,
        0,
        1,
        1,
    ]


def test_consents_together_give_one_panel_id_to_one_person(open_desk):
    served = open_desk()
    known = served.participation.arrive("known", "en")
    served.participation.consent(known, agreed=True)
    hashes = ["known", "a", "b", "a", None, None, "a"]
    arrived = asyncio.run(all_waiting(served, *(Arrival(one, "en") for one in hashes)))
    people = [one.person for one in arrived]
    assert people[0] == known
    assert len(set(people)) == count(served, participants) == 7  # before the consent an id is nobody's
    saved = asyncio.run(all_waiting(served, *(ConsentMove(one, agreed=True) for one in people)))
    kept = [one.outcome for one in saved]
    assert kept == ["again", "saved", "saved", "turned_away", "saved", "saved", "turned_away"]
    assert count(served, panel_ids) == 3


def test_claims_together_never_share_a_place_and_fill_the_arms_evenly(open_desk):
    served = open_desk(quiz=False)
    participation = served.participation
    people = [participation.arrive(f"h{number}", "en") for number in range(23)]
    asyncio.run(all_waiting(served, *(ConsentMove(person, agreed=True) for person in people)))
    views = [participation.look(person) for person in people]
    arms = [view.arm for view in views if view.state == "taking"]
    assert (arms.count("a"), arms.count("b")) == (10, 10)
    assert [view.state for view in views].count("full") == 3


def test_a_move_that_breaks_breaks_alone(open_desk, monkeypatch):
    served = open_desk()
    participation = served.participation
    people = [participation.arrive(f"h{number}", "en") for number in range(4)]
    page = take(participation, people[0], until="trial").number
    for person in people[1:]:
        take(participation, person, until="trial")
    moves = [FilledPage(person, page, 1, {"rating": 1}) for person in people]
    moves[2] = FilledPage(people[2], page, 1, {"rating": 1}, shown_at="no number")  # type: ignore[arg-type]
    before = count(served, answers)
    saved = asyncio.run(all_waiting(served, *moves))
    assert [getattr(one, "outcome", type(one)) for one in saved] == ["saved", "saved", TypeError, "saved"]
    assert count(served, answers) == before + 3


def test_looks_together_are_everybodys_own(open_desk):
    served = open_desk()
    people = [served.participation.arrive(f"h{number}", "en") for number in range(6)]
    take(served.participation, people[2], until="trial")

    async def look():
        return await asyncio.gather(*(served.look(one) for one in [*people, "nobody"]), return_exceptions=True)

    *views, nobody = asyncio.run(look())
    assert [view.person for view in views] == people
    assert [view.step.kind for view in views] == ["consent", "consent", "trial", "consent", "consent", "consent"]
    assert isinstance(nobody, Unknown)


def test_who_waits_in_another_loop_is_told_there(open_desk):
    """All were told in the loop of the first, where nobody else listens."""
    served = open_desk()
    person = served.participation.arrive("h", "en")
    gate = threading.Event()
    for _ in range(served._readers._max_workers):
        served._readers.submit(gate.wait)

    def look():
        return asyncio.run(asyncio.wait_for(served.look(person), 20)).person

    with ThreadPoolExecutor(5) as threads:
        found = [threads.submit(look) for _ in range(5)]
        time.sleep(0.5)
        gate.set()
        assert [one.result() for one in found] == [person] * 5


def test_two_doors_at_once_take_one_panel_id_once(make_participation):
    """Two servers on one store: the second to consent learns that the first has."""
    first, second = make_participation(), make_participation()
    start = threading.Barrier(2)
    found = []

    def enter(participation):
        people = [participation.arrive(f"h{number}", "en") for number in range(20)]
        start.wait()
        found.extend(participation.consent(one, agreed=True).outcome for one in people)

    threads = [threading.Thread(target=enter, args=[participation]) for participation in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found.count("saved"), found.count("turned_away")) == (20, 20)


def test_a_move_that_the_database_ended_for_another_is_made_again(make_participation, monkeypatch):
    participation = make_participation(batches=10)
    make, ends = participation._make, ["The store failed: deadlock detected.", "The store failed: gone."]

    def fail_once(moves):
        if ends:
            raise StoreError(ends.pop(0))
        return make(moves)

    monkeypatch.setattr(participation, "_make", fail_once)
    with pytest.raises(StoreError, match="gone"):  # the second failure is another one, and is told
        participation.arrive("h", "en")
    ends.append("The store failed: deadlock detected.")
    assert participation.look(participation.arrive("h", "en")).state == "arrived"


# -- deleting ------------------------------------------------------------------------------------------------------


def test_nobodys_saves_wait_while_deleted_people_leave_the_files_and_all_share_one_cleaning(open_desk, monkeypatch):
    """Each deletion kept a writer for as long as the files took: 40 of a stranger stopped everybody for 40 s."""
    served, cleaned, gate = open_desk(), [], threading.Event()

    def scrub(engine, **_):
        cleaned.append(engine)
        return gate.wait(30)

    monkeypatch.setattr("eqlab.study.served_study.scrub", scrub)
    monkeypatch.setattr("eqlab.study.served_study._CLEAN_REST", 0)
    *gone, honest = [served.participation.arrive(f"h{number}", "en") for number in range(12)]

    async def together():
        deletions = [asyncio.create_task(served.erase(person)) for person in gone]
        while not cleaned:
            await asyncio.sleep(0.01)
        saved = await asyncio.wait_for(served.make(ConsentMove(honest, agreed=True)), 20)
        while count(served, participants) > 1:
            await asyncio.sleep(0.01)
        gate.set()
        return saved.outcome, await asyncio.gather(*deletions)

    assert asyncio.run(together()) == ("saved", [True] * 11)
    assert len(cleaned) <= 3


def test_a_store_that_fails_while_files_are_cleaned_is_tried_again(open_desk, monkeypatch):
    served, tries = open_desk(), []

    def scrub(*_, **__):
        tries.append(len(tries))
        if len(tries) < 3:
            raise StoreError("gone")
        return True

    monkeypatch.setattr("eqlab.study.served_study.scrub", scrub)
    monkeypatch.setattr("eqlab.study.served_study._CLEAN_AGAIN", 0.01)

    async def deleted():
        clean = await served.erase(served.participation.arrive("h", "en"))
        while served.cleaner.again is not None:
            await asyncio.sleep(0.01)
        return clean

    assert asyncio.run(asyncio.wait_for(deleted(), 30)) is False
    assert len(tries) == 3
    assert count(served, participants) == 0


class Slow:
    """Cleanings of a second each, by a clock that somebody else sets: machines are busy."""

    def __init__(self, monkeypatch):
        self.now, self.times = 0.0, []
        monkeypatch.setattr("eqlab.study.served_study.scrub", self.scrub)
        clock = SimpleNamespace(monotonic=lambda: self.now, sleep=time.sleep)
        monkeypatch.setattr("eqlab.study.served_study.time", clock)
        monkeypatch.setattr("eqlab.study.served_study._CLEAN_AGAIN", 0.01)

    def scrub(self, *_, **__):
        self.times.append(self.now)
        self.now += 1.0
        return True


def test_files_are_cleaned_a_tenth_of_the_time_at_most_whoever_deletes(open_desk, monkeypatch):
    """Each deletion writes a SQLite file anew: a stranger who came and deleted in a loop kept others from saving."""
    served, slow = open_desk(), Slow(monkeypatch)

    async def one_after_another():
        told = [await served.erase(served.participation.arrive(f"h{number}", "en")) for number in range(5)]
        await asyncio.sleep(0.1)
        assert slow.times == [0.0]
        slow.now = 10.5
        while served.cleaner.again is not None:
            await asyncio.sleep(0.01)
        return told

    assert asyncio.run(asyncio.wait_for(one_after_another(), 60)) == [True, False, False, False, False]
    assert slow.times == [0.0, 10.5]
    assert count(served, participants) == 0


def test_the_studies_of_one_file_share_its_cleanings(open_desk, monkeypatch):
    """Each took a tenth of the time for itself: of ten studies on one server somebody was always writing it anew."""
    first, slow = open_desk(), Slow(monkeypatch)
    second = ServedStudy(first.participation, cleaner=first.cleaner)

    async def deleted():
        return [await one.erase(one.participation.arrive(name, "en")) for one, name in ((first, "h"), (second, "i"))]

    assert asyncio.run(deleted()) == [True, False]
    assert slow.times == [0.0]
    for served in (first, second):
        served.close()
    assert slow.times == [0.0, 1.0]


def test_a_server_that_stops_while_files_are_cleaned_tries_once_more(open_desk, monkeypatch):
    """The cleaning under way set the rest anew, and the last try found itself too early."""
    served, tries, under_way = open_desk(), [], threading.Event()

    def scrub(*_, **__):
        tries.append(len(tries))
        under_way.set()
        time.sleep(0.3)
        return len(tries) > 1

    monkeypatch.setattr("eqlab.study.served_study.scrub", scrub)
    person = served.participation.arrive("h", "en")

    async def stopped():
        deleted = asyncio.create_task(served.erase(person))
        await asyncio.to_thread(under_way.wait)
        await asyncio.to_thread(served.close)
        return await deleted

    assert asyncio.run(stopped()) is False
    assert len(tries) == 2


@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_traces_that_were_to_go_later_go_with_the_server_or_with_the_next(end, open_desk, monkeypatch):
    """'The last traces go within minutes', and then the server was started anew and knew nothing of it."""
    served, cleaned = open_desk(), []
    monkeypatch.setattr("eqlab.study.served_study.scrub", lambda *_, **__: bool(cleaned))
    monkeypatch.setattr("eqlab.study.served_study._CLEAN_AGAIN", 0.01)

    async def deleted():
        return await served.erase(served.participation.arrive("h", "en"))

    async def started_anew():
        anew = ServedStudy(served.participation)
        await anew.begin()
        while anew.cleaner.again is not None:
            await asyncio.sleep(0.01)
        anew.close()

    assert asyncio.run(deleted()) is False
    monkeypatch.setattr("eqlab.study.served_study.scrub", lambda *_, **__: not cleaned.append(end))
    if end == "killed":
        asyncio.run(asyncio.wait_for(started_anew(), 30))
        assert cleaned == [end]
        served.cleaner._unclean.clear()  # its memory is gone
    else:
        served.close()
        assert cleaned == [end]


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_whoever_reads_keeps_the_log_from_being_emptied_and_nobody_from_writing(open_desk, monkeypatch):
    monkeypatch.setattr("eqlab.store.engine._SCRUB", 8.0)
    served = open_desk()
    engine = served.participation.store.engine
    with engine.connect() as reader:
        reader.execute(select(participants)).first()
        cleaning = threading.Thread(target=scrub, args=(engine,))
        cleaning.start()
        time.sleep(0.2)
        served.participation.arrive("h", "en")
        assert cleaning.is_alive()
    cleaning.join()


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_while_somebody_reads_a_deletion_that_is_tried_again_fills_no_disk(open_desk, monkeypatch):
    """Each try wrote the whole file anew into the log, until the disk was full; and there it stayed."""
    monkeypatch.setattr("eqlab.store.engine._SCRUB", 0.2)
    engine = open_desk().participation.store.engine
    log = Path(f"{engine.url.database}-wal")
    with engine.connect() as reader:
        reader.execute(select(participants)).first()
        before = log.stat().st_size
        assert [scrub(engine) for _ in range(3)] == [False, False, False]
        assert log.stat().st_size == before
    assert scrub(engine)
    assert log.stat().st_size == 0


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_nothing_of_the_erased_stays_in_the_gaps_of_balanced_pages(open_desk):
    """SQLite overwrites a row that goes, and not the copies that it left behind when it moved others aside: of people
    who had no place yet, too."""
    engine = open_desk().participation.store.engine
    path = Path(engine.url.database)

    def left(gone):
        content = path.read_bytes()
        return [person for person in gone if person.encode() in content]

    for seed in range(20):
        gone = come_and_go(engine, Random(seed))
        with closing(engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if left(gone):
            break
    else:
        pytest.skip("this SQLite leaves no copies")
    assert scrub(engine)
    assert not left(gone)


def come_and_go(engine, random):
    """Rows of many who come at once and of some who go, in a table of its own; who went."""
    here, gone = [], []
    connection = engine.raw_connection()
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE IF NOT EXISTS said (person TEXT, trial TEXT, text TEXT, PRIMARY KEY (person, trial))")
    for _ in range(3000):
        if len(here) < 30 or random.random() < 0.9:
            if len(here) < 60 and random.random() < 0.12:
                here.append(random.randbytes(8).hex())
            if here:
                row = random.choice(here), random.randbytes(12).hex(), "lorem ipsum " * random.randrange(4, 60)
                cursor.execute("INSERT INTO said VALUES (?, ?, ?)", row)
        else:
            gone.append(here.pop(random.randrange(len(here))))
            cursor.execute("DELETE FROM said WHERE person = ?", (gone[-1],))
    connection.close()
    return gone


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_while_a_backup_reads_nobody_is_told_that_all_is_deleted_and_it_is_once_it_has_ended(open_desk, monkeypatch):
    """VACUUM "succeeds" and leaves rows that an older transaction may still read."""
    monkeypatch.setattr("eqlab.store.engine._SCRUB", 0.3)
    monkeypatch.setattr("eqlab.study.served_study._CLEAN_AGAIN", 0.01)
    served, said = open_desk(), []
    engine = served.participation.store.engine
    event.listen(engine, "before_cursor_execute", lambda _, __, words, *___: said.append(words))
    person = served.participation.arrive("h", "en")
    take(served.participation, person, until="trial")

    async def deleted():
        with snapshot(engine) as backup:
            backup.execute(select(answers)).all()
            first = await served.erase(person)
            assert not any(words.startswith("VACUUM") for words in said)
        while served.cleaner.again is not None:
            await asyncio.sleep(0.01)
        return first

    assert asyncio.run(asyncio.wait_for(deleted(), 30)) is False
    assert sum(words.startswith("VACUUM (FREEZE, ANALYZE)") for words in said) == 1


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_who_had_no_place_leaves_no_name_in_the_statistics_either(open_desk, cleaned_at_once):
    """Consent writes a plan, and autovacuum notes whose: forty of forty names stayed though all was "deleted"."""
    served = open_desk()
    people = [served.participation.arrive(f"h{number}", "en") for number in range(8)]
    for person in people:
        take(served.participation, person, until="quiz")

    def noted():
        with served.participation.store.engine.connect() as connection:
            told = connection.execute(text("SELECT most_common_vals::text, histogram_bounds::text FROM pg_stats"))
            whole = " ".join(str(part) for row in told for part in row)
        return [person for person in people if person in whole]

    with served.participation.store.engine.begin() as connection:
        connection.execute(text("ANALYZE"))
    assert noted()
    for person in people:
        assert asyncio.run(served.erase(person))
    assert noted() == []


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_the_last_person_of_a_store_leaves_no_word_in_the_statistics_either(open_desk, cleaned_at_once):
    """ANALYZE passes over a table without rows, and what it had noted of the one who was there until then stayed."""
    served = open_desk()
    people = [served.participation.arrive(f"h{number}", "en") for number in range(3)]
    for person in people:
        take(served.participation, person)
    for person in people:
        assert asyncio.run(served.erase(person))
    with served.participation.store.engine.connect() as connection:
        told = connection.execute(text("SELECT most_common_vals::text, histogram_bounds::text FROM pg_stats"))
        whole = " ".join(str(part) for row in told for part in row)
        assert connection.execute(select(func.count()).select_from(answers)).scalar() == 0
    assert [person for person in people if person in whole] == []
    again = served.participation.arrive("again", "en")
    assert take(served.participation, again).state == "finished"


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_a_deletion_does_not_wait_for_ever_for_anothers_work_on_a_table(open_desk):
    """Nor does it say "deleted": a copy of the database for the night held tables for as long as it took."""
    engine = open_desk().participation.store.engine
    with engine.connect() as other:
        other.execute(text("LOCK TABLE answers IN SHARE UPDATE EXCLUSIVE MODE"))
        assert scrub(engine) is False
    assert scrub(engine)


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize("table", ["answers", "planned", "events", "participants"])
def test_what_lies_on_a_page_that_somebody_reads_is_not_said_to_be_deleted_before_it_is(table, open_desk, monkeypatch):
    """VACUUM passed over the page and reported success: words stood there as a dead row, and "deleted" was said."""
    monkeypatch.setattr("eqlab.store.engine._VACUUM", 0.5)
    participation = open_desk().participation
    engine, people = participation.store.engine, [participation.arrive(f"h{number}", "en") for number in range(2)]
    for person in people:
        take(participation, person)
    erase(participation, people[0])
    reading = text(f"SELECT * FROM {table}")
    with engine.connect() as reader, reader.execution_options(yield_per=1).execute(reading) as rows:
        rows.fetchone()
        assert scrub(engine) is False
    assert scrub(engine)
    with engine.connect() as connection:
        assert connection.execute(text("SHOW statement_timeout")).scalar() == "0"


def rows_on_pages(engine, relation):
    """The bytes of all that a PostgreSQL file holds, dead or alive, as its pages point at it: not what is free."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("CHECKPOINT"))
        where = text("SELECT current_setting('data_directory') || '/' || pg_relation_filepath(:name)")
        content = Path(connection.execute(where, {"name": relation}).scalar_one()).read_bytes()
    for start in range(0, len(content), 8192):
        page = content[start : start + 8192]
        for (pointer,) in struct.iter_unpack("<I", page[24 : struct.unpack_from("<H", page, 12)[0]]):
            if (pointer >> 15) & 3 == 1:
                yield page[pointer & 0x7FFF : (pointer & 0x7FFF) + (pointer >> 17)]


def told_in(engine, relation, names):
    rows = list(rows_on_pages(engine, relation))
    return [name for name in names if any(name.encode() in row for row in rows)]


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_what_statistics_told_of_the_erased_before_is_gone_too(open_desk, cleaned_at_once):
    """Each cleaning noted those who stayed, and what it noted stood there as a dead row when they went themselves."""
    served = open_desk()
    engine = served.participation.store.engine
    people = [served.participation.arrive(f"h{number}", "en") for number in range(8)]
    for person in people:
        take(served.participation, person, until="quiz")
    with engine.begin() as connection:
        connection.execute(text("ANALYZE"))
    assert told_in(engine, "pg_catalog.pg_statistic", people)
    for person in people[:4]:
        assert asyncio.run(served.erase(person))
    assert told_in(engine, "pg_catalog.pg_statistic", people[:4]) == []


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_keys_above_the_leaves_of_an_index_go_with_their_rows(open_desk):
    """An index divides its leaves by keys of rows, and keeps these when the rows go."""
    engine = open_desk().participation.store.engine
    people = [f"person:{number:016x}" for number in range(200)]
    many = "INSERT INTO planned SELECT 'r', :who, place, 'b', 't', 0 FROM generate_series(1, 20) AS place"
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO runs VALUES ('r', 0, '{}')"))
        connection.execute(text("INSERT INTO trials VALUES ('t', '{}')"))
        connection.execute(text(many), [{"who": who} for who in people])
    gone = [person for number, person in enumerate(people) if number % 3]
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM planned WHERE subject = ANY(:gone)"), {"gone": gone})
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM planned"))
    assert told_in(engine, "planned_pkey", gone)
    assert scrub(engine)
    assert told_in(engine, "planned_pkey", gone) == []
    assert told_in(engine, "planned_pkey", people[::3]) == people[::3]


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_a_role_that_may_not_clean_says_so(open_desk):
    """VACUUM passed over tables of another owner with a notice, and "deleted" was said."""
    engine = open_desk().participation.store.engine
    assert scrub(engine)
    with engine.begin() as connection:
        connection.execute(text("DROP ROLE IF EXISTS guest_of_tables"))
        connection.execute(text("CREATE ROLE guest_of_tables"))

    def as_guest(own, _):
        own.cursor().execute("SET ROLE guest_of_tables")
        own.commit()

    guest = create_engine(engine.url)
    event.listen(guest, "connect", as_guest)
    with pytest.raises(StoreError, match="does not own the table"):
        scrub(guest)
    guest.dispose()


def test_two_servers_may_be_asked_for_their_health_at_once(open_desk):
    """On PostgreSQL both wrote the same row, and one of them said that nothing could be saved."""
    store = open_desk().participation.store
    with ThreadPoolExecutor(8) as threads:
        for asked in [threads.submit(store.ping) for _ in range(80)]:
            asked.result()


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_in_another_encoding_is_refused_in_words(new_database, encoding):
    """A cluster made under LANG=C has such databases, and each request ended in a traceback."""
    url = make_url(new_database("template1"))
    own = f"other_{uuid4().hex}"
    engine = create_engine(url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        made = f"CREATE DATABASE {own} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        connection.execute(text(made))
    engine.dispose()
    with pytest.raises(StoreError, match=f"encoded in {encoding}"):
        open_engine(url.set(database=own).render_as_string(hide_password=False))
