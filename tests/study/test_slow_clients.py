"""A real server against connections that trickle: they are closed in time, others are served meanwhile, logs stay
small. And several processes that share one store."""

import asyncio
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest
from small_study import small_design
from uvicorn.server import ServerState
from web_case import SECRET, open_desks

from eqlab.core.errors import UsageError
from eqlab.study.web.connections import Connections, TimedProtocol, most_connections
from eqlab.study.web.log import Bounded
from eqlab.study.web.server import app_config, config, in_thread, listen, running
from eqlab.study.web.settings import ServerSettings


@pytest.fixture
def served(tmp_path):
    store, studies = open_desks(tmp_path, [small_design()])
    settings = ServerSettings(SECRET, head_seconds=0.6, body_seconds=0.6)
    with running(studies, settings) as base:
        yield base
    store.close()


def connect(base):
    host, port = base.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def get(base, path="/health"):
    with urllib.request.urlopen(base + path, timeout=60) as reply:
        return reply.status


def closed_within(connection, seconds):
    """Whether the server ends the connection, whatever it says before."""
    connection.settimeout(seconds)
    try:
        while connection.recv(4096):
            pass
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True
    return True


def test_a_head_that_trickles_is_not_waited_for_and_others_are_served(served):
    slow = [connect(served) for _ in range(40)]
    for connection in slow:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-")
    assert get(served) == 200
    deadline = time.monotonic() + 5
    assert all(closed_within(connection, max(0.1, deadline - time.monotonic())) for connection in slow)
    assert get(served) == 200
    for connection in slow:
        connection.close()


def test_a_connection_that_says_nothing_is_closed(served):
    with connect(served) as silent:
        assert closed_within(silent, 5)


@pytest.mark.parametrize("before", [1, 2, 5])
def test_half_a_head_after_requests_sent_together_is_not_waited_for(served, before):
    whole = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with connect(served) as connection:
        connection.sendall(whole * before)
        replies = b""
        while replies.count(b"HTTP/1.1 ") < before:
            replies += connection.recv(65536)
        time.sleep(0.2)
        connection.sendall(b"GET /health HTTP/1.1\r\n")
        assert closed_within(connection, 10)


def test_a_body_that_trickles_is_refused_with_a_reason(served):
    with connect(served) as slow:
        head = b"POST /s/small/resume HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n"
        slow.sendall(head + b"Content-Length: 100\r\n\r\nab")
        slow.settimeout(5)
        told = b""
        while chunk := slow.recv(4096):
            told += chunk
        assert told.startswith(b"HTTP/1.1 408")
        assert b"did not arrive in full" in told


ENDS = {"no length": "Transfer-Encoding: chunked", "two ends": "Content-Length: 4\r\nTransfer-Encoding: chunked"}
"""Of a body: a proxy may see another one."""


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("path", ["/s/small/resume", "/api/s/small/page", "/nowhere"])
def test_a_body_without_one_length_is_not_read(served, path, ends):
    """Each of its pieces has a head of its own: one of sixty thousand pieces took a second of everybody's time."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n{ENDS[ends]}\r\n\r\n"
    with connect(served) as connection:
        connection.sendall(head.encode() + b"4\r\nwho=\r\n0\r\n\r\n")
        told = said_by(connection)
        assert told.startswith(b"HTTP/1.1 400")
        assert b"must tell its length" in told
    with connect(served) as connection, suppress(OSError):
        connection.sendall(head.encode())
        for _ in range(60):
            connection.sendall(b"1\r\na\r\n" * 1000)
        assert closed_within(connection, 10)
    assert get(served) == 200


def said_by(connection):
    told = b""
    with suppress(ConnectionResetError):
        while chunk := connection.recv(4096):
            told += chunk
    return told


BLANKS = 23_000 * b" "
NO_HEADS = {
    "control characters": [b"x:" + BLANKS + end for end in (b"\0", b"\x0b", b"\r", b"\x0c", b"\x7f")],
    "at most": [b"x:" + 4 * BLANKS + b"y", b"x:" + 4 * BLANKS + b"\0", 5000 * b"a: b\r\n" + b"c: d"],
}


@pytest.mark.parametrize("why", NO_HEADS)
def test_a_head_that_costs_too_much_is_not_read(served, why):
    """h11 goes back at each blank before what no head may hold: 24 kB took a second, 120 kB half a minute, and heads
    that came at once had no limit."""
    began = time.process_time()
    for line in NO_HEADS[why]:
        with connect(served) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + line + b"\r\n\r\n")
            told = said_by(connection)
        assert told.startswith(b"HTTP/1.1 400")
        assert why.encode() in told
    assert time.process_time() - began < 2
    with connect(served) as connection:
        connection.sendall(
            b"GET /health HTTP/1.1\r\nHost: localhost\r\nx:" + BLANKS + b"\xe9\r\nConnection: close\r\n\r\n"
        )
        assert said_by(connection).startswith(b"HTTP/1.1 200")


def test_a_reply_that_nobody_reads_is_not_kept_for_ever(served, monkeypatch):
    """Such a connection was neither idle nor waiting: nothing ended it, and it never made room."""
    gone = threading.Event()
    lost = TimedProtocol.connection_lost
    monkeypatch.setattr(TimedProtocol, "connection_lost", lambda self, error: (gone.set(), lost(self, error)))
    with connect(served) as deaf:
        deaf.sendall(b"GET /static/pico.css HTTP/1.1\r\nHost: localhost\r\n\r\n" * 300)
        assert gone.wait(60)
    assert get(served) == 200


def test_a_connection_that_is_used_is_kept(served):
    with connect(served) as kept:
        for _ in range(3):
            kept.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            told = b""
            while b'"ok"' not in told:
                told += kept.recv(4096)
            assert b"200 OK" in told
            time.sleep(0.8)  # longer than a head may take: between requests that is no fault


class Idle:
    """A connection as far as making room needs one."""

    def __init__(self, connections, address, kind="waiting"):
        self.others, self.address, self.dropped = connections, address, False
        connections.open[address] += 1
        getattr(connections, kind)[self] = None
        connections.make_room(self)

    def drop(self):
        self.dropped = True
        self.others.open[self.address] -= 1
        self.others.idle.pop(self, None)
        self.others.waiting.pop(self, None)
        self.others.unread.pop(self, None)


def test_when_there_are_too_many_one_that_nobody_uses_makes_room():
    connections = Connections(3, shared=True)
    first, kept, second, newcomer = (
        Idle(connections, "proxy", kind) for kind in ("waiting", "idle", "unread", "waiting")
    )
    assert [one.dropped for one in (first, kept, second, newcomer)] == [False, True, False, False]
    another = Idle(connections, "proxy")
    assert [one.dropped for one in (first, second, newcomer, another)] == [True, False, False, False]
    for one in (newcomer, another):
        connections.waiting.pop(one)  # their requests have come
    last = Idle(connections, "proxy", "unread")
    assert [one.dropped for one in (second, newcomer, another, last)] == [True, False, False, False]
    assert most_connections() >= 32


@pytest.mark.parametrize(("limit", "most"), [(400, 136), (64, 32), (1_000_000, 4096)])
def test_half_of_the_files_are_kept_for_models(monkeypatch, limit, most):
    """Strangers' idle connections left 128 files, and talks beyond about 110 at once got no reply."""
    monkeypatch.setattr("resource.getrlimit", lambda _: (limit, limit))
    monkeypatch.setattr("resource.setrlimit", lambda *_: None)
    assert most_connections() == most


def test_one_address_does_not_take_everybodys_place():
    connections = Connections(80)
    guest = Idle(connections, "203.0.113.7", "idle")
    many = [Idle(connections, "198.51.100.1", "idle") for _ in range(30)]
    assert not guest.dropped
    assert sum(not one.dropped for one in many) == connections.open["198.51.100.1"] == 20


def test_connections_kept_alive_for_nothing_do_not_lock_anybody_out(tmp_path, monkeypatch):
    """272 sockets with one request each once kept every newcomer out for a minute."""
    monkeypatch.setattr("eqlab.study.web.server.most_connections", lambda: 40)
    store, studies = open_desks(tmp_path, [small_design()])
    with running(studies, ServerSettings(SECRET)) as base:
        held = [connect(base) for _ in range(60)]
        for connection in held:
            try:
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                connection.recv(4096)
            except OSError:  # was closed for a later one
                continue
        assert [get(base) for _ in range(10)] == [200] * 10
        for connection in held:
            connection.close()
    store.close()


def test_bodies_that_do_not_come_do_not_lock_anybody_out(tmp_path, monkeypatch):
    """Their heads were there: nothing but the time for a body ended them, and they made no room."""
    monkeypatch.setattr("eqlab.study.web.server.most_connections", lambda: 40)
    store, studies = open_desks(tmp_path, [small_design()])
    head = b"POST /s/small/resume HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n"
    head += b"Content-Length: 10\r\n\r\n"
    with running(studies, ServerSettings(SECRET, body_seconds=60)) as base:
        held = []
        for number in range(30):
            held.append(connect(base))
            held[-1].sendall(head)
            time.sleep(0.01)
            held[-1].sendall(b"ab" * (number % 2))  # trickling makes no newcomer of it
        assert [get(base) for _ in range(20)] == [200] * 20
        with connect(base) as honest:
            honest.sendall(head)
            others = [connect(base) for _ in range(10)]
            honest.sendall(b"who=x&code")
            assert b"HTTP/1.1 401" in honest.recv(4096)  # later than others that wait, and served
        for connection in (*held, *others):
            connection.close()
    store.close()


class Line:
    """A transport as far as a protocol needs one: what comes over it, from whom."""

    def __init__(self, protocol, address):
        self.protocol, self.address, self.said = protocol, address, b""
        self.closing, self.aborted, self.reading, self.left = False, False, True, 0
        protocol.connection_made(self)

    def sends(self, data):
        assert self.reading
        self.protocol.data_received(data)

    def get_extra_info(self, name):
        return {"peername": (self.address, 5), "sockname": ("127.0.0.1", 80)}.get(name)

    def write(self, data):
        self.said += data

    def get_write_buffer_size(self):
        return self.left

    def is_closing(self):
        return self.closing

    def close(self):
        self.closing = True

    def abort(self):
        self.closing = self.aborted = True

    def pause_reading(self):
        self.reading = False

    def resume_reading(self):
        self.reading = True


@pytest.fixture
def flooded():
    """Connections to one application, which notes whom it serves: (lines, served)."""
    served = []

    async def app(scope, receive, send):
        served.append(scope["client"][0])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def main(work):
        made = app_config(app, ServerSettings(SECRET), "127.0.0.1", 0, quiet=True)
        made.load()
        state = ServerState()
        await work(lambda address: Line(made.http(made, state, {}, asyncio.get_running_loop()), address), served)

    return lambda work: asyncio.run(main(work))


async def turns(loops):
    for _ in range(loops):
        await asyncio.sleep(0)


ASKED = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_who_asks_once_waits_for_one_request_of_a_flood_and_not_for_all(flooded):
    """Two hundred connections of one address made every page of others wait for as long as they asked."""

    async def work(line, served):
        crowd = [line("198.51.100.1") for _ in range(200)]
        for one in crowd:
            one.sends(ASKED)
        line("203.0.113.7").sends(ASKED)
        line("2001:db8::1").sends(ASKED)
        await turns(30)
        assert {"203.0.113.7", "2001:db8::1"} <= set(served[:8])
        await turns(200 * 12)
        assert served.count("198.51.100.1") == 200  # each in its turn
        assert all(one.said.startswith(b"HTTP/1.1 204") and one.reading for one in crowd)

    flooded(work)


def test_requests_sent_together_wait_for_their_turn_each(flooded):
    """What lies ready when a reply has ended would otherwise begin at once, on every connection."""

    async def work(line, served):
        for _ in range(50):
            line("198.51.100.1").sends(ASKED * 5)
        await turns(10)
        before = len(served)
        assert before < 40
        line("203.0.113.7").sends(ASKED)
        await turns(3)
        assert "203.0.113.7" in served[before : before + 12]
        await turns(250 * 12)
        assert len(served) == 251

    flooded(work)


def test_the_time_for_a_head_is_over_when_it_has_come_though_it_waits_for_its_turn(flooded):
    async def work(line, served):
        crowd = [line("198.51.100.1") for _ in range(20)]
        for one in crowd:
            one.sends(ASKED)
        whole, half = line("198.51.100.1"), line("198.51.100.1")
        whole.sends(ASKED)
        half.sends(ASKED[:-2])
        assert [one.protocol._late is None for one in (whole, half)] == [True, False]
        assert len(served) == 0
        await turns(100)
        assert len(served) == 21

    flooded(work)


def test_who_has_gone_keeps_nobody_waiting_and_nothing_of_a_request_is_lost(flooded):
    async def work(line, served):
        gone = [line("198.51.100.1") for _ in range(100)]
        for one in gone:
            one.sends(ASKED)
        last = line("198.51.100.1")
        last.sends(ASKED[:20])
        last.reading = True  # the server's own code may read on: then all of it waits
        last.sends(ASKED[20:])
        for one in gone[4:]:
            one.closing = True
            one.protocol.connection_lost(None)
        await turns(40)
        assert len(served) == 5  # four at once, and the last
        assert last.said.startswith(b"HTTP/1.1 204")

    flooded(work)


def test_a_reply_that_is_read_slowly_is_read_to_its_end(flooded):
    """A download of 4 MB over 50 kB a second was cut after ten seconds: only an empty buffer began the time anew."""

    async def work(line, served):
        slow, deaf = line("198.51.100.1"), line("198.51.100.1")
        for one in (slow, deaf):
            one.protocol.seconds, one.left = 0.01, 4_000_000
            one.sends(ASKED)
            await turns(5)
            one.protocol.pause_writing()
        for _ in range(10):
            slow.left -= 1000
            await asyncio.sleep(0.02)
        assert (slow.aborted, deaf.aborted) == (False, True)
        assert slow.protocol in slow.protocol.others.unread  # and gives way all the same
        await asyncio.sleep(0.1)
        assert slow.aborted

    flooded(work)


def test_a_connection_that_was_reset_is_in_no_list(flooded):
    """After the time for the next request it stood for a minute among those that give way, and made no room."""

    async def work(line, served):
        reset = line("198.51.100.1")
        reset.protocol.timeout_keep_alive = 0.02
        reset.sends(ASKED)
        await turns(5)
        reset.closing = True
        reset.protocol.connection_lost(ConnectionResetError())
        await asyncio.sleep(0.1)
        others = reset.protocol.others
        assert [*others.idle, *others.waiting, *others.unread] == []

    flooded(work)


def test_who_sends_requests_without_waiting_for_replies_loses_the_connection(flooded):
    """Each took in a quarter of a megabyte more while its reply was made, and nothing bounded that: 2 GB in minutes."""

    async def work(line, served):
        post = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody"
        eager, patient = line("198.51.100.1"), line("203.0.113.7")
        eager.sends(2000 * post)
        patient.sends(100 * post)
        await turns(2000)
        assert (eager.aborted, patient.aborted) == (True, False)
        assert served.count("203.0.113.7") == 100

    flooded(work)


def test_nonsense_while_a_reply_is_made_is_logged_by_nobody(flooded, caplog):
    """A line for each, with an address in memory that made it another line: fifty a second filled the disk."""

    async def work(line, served):
        closing = line("198.51.100.1")
        closing.sends(ASKED[:-2] + b"Connection: close\r\n\r\n")
        closing.sends(b"?")
        await turns(60)
        assert closing.closing

    flooded(work)
    assert "Fatal" not in caplog.text


@pytest.mark.parametrize("others", [0, 20])
def test_what_fails_ends_the_connection_at_once_or_in_a_later_turn(flooded, others):
    """Nobody else would: in no list and without a timer it stood for ever, and kept all that came over it."""

    def failing():
        raise RuntimeError("a fault of ours")

    async def work(line, served):
        early = line("198.51.100.1")
        early.sends(ASKED[:20])
        crowd = [line("198.51.100.1") for _ in range(others)]
        for one in crowd:
            one.sends(ASKED)
        early.protocol.conn.next_event = failing
        with suppress(RuntimeError):
            early.sends(ASKED[20:])
        await turns(60)
        assert early.aborted
        assert len(served) == others

    flooded(work)


@pytest.mark.parametrize(
    "asked", [ASKED[:-2] + b"Connection: close\r\n\r\n", b"no request at all\r\n\r\n"], ids=["asked for", "refused"]
)
def test_a_closed_connection_whose_reply_nobody_reads_is_ended(flooded, asked):
    """It waited for its reader without end, and nothing made it give way: four thousand kept everybody out."""

    async def work(line, served):
        deaf, other = line("198.51.100.1"), line("198.51.100.1")
        for one in (deaf, other):
            one.sends(asked)
        await turns(5)
        assert [(one.closing, one.aborted) for one in (deaf, other)] == [(True, False)] * 2
        for _ in range(2):
            deaf.protocol.pause_writing()
            deaf.protocol.resume_writing()
        other.protocol.others.most = 2
        line("203.0.113.7")
        assert [one.aborted for one in (deaf, other)].count(True) == 1  # makes room
        for one in (deaf, other):
            if not one.aborted:
                assert one.protocol._stuck.when() <= asyncio.get_running_loop().time() + 60
                one.protocol._stuck._run()  # its time is over
            assert one.aborted

    flooded(work)


def test_on_a_socket_for_both_kinds_an_ipv4_address_is_one_and_so_is_the_proxys(tmp_path):
    """They come as ::ffff:127.0.0.1: all IPv4 people were one client, and no proxy was believed."""
    try:
        listening = listen("::", 0)
    except UsageError:
        pytest.skip("no IPv6 here")
    store, studies = open_desks(tmp_path, [small_design()])
    settings = ServerSettings(SECRET, proxy="127.0.0.1", arrival_burst=1, arrival_rate=0)
    made = config(studies, settings, "::", 0, quiet=True)
    with in_thread(made, listening) as port:
        base = f"http://127.0.0.1:{port}"
        codes = [_comes_in(base, address, "small") for address in ("203.0.113.9", "203.0.113.9", "198.51.100.4")]
        assert codes == [200, 429, 200]
        with connect(base) as held:
            held.sendall(b"GET")
            deadline = time.monotonic() + 5
            while "127.0.0.1" not in made.http.others.open and time.monotonic() < deadline:
                time.sleep(0.01)
            assert set(made.http.others.open) == {"127.0.0.1"}
    for served in studies:
        served.close()
    store.close()


def test_the_same_line_is_logged_so_often_and_then_counted():
    now = [0.0]
    bounded = Bounded(3, clock=lambda: now[0])

    def passes(text):
        record = logging.LogRecord("asyncio", logging.ERROR, "", 1, text, (), None)
        return bounded.filter(record), getattr(record, "facts", {})

    assert [passes("socket.accept() out of system resource")[0] for _ in range(100)].count(True) == 3
    assert passes("another")[0]
    fatal = [passes(f"Fatal error: protocol <Own object at {hex(number)}>")[0] for number in range(50, 60)]
    assert fatal.count(True) == 3
    now[0] = 61.0
    assert passes("socket.accept() out of system resource") == (True, {"left_out": 97})


def _comes_in(base, address, study="eqbench"):
    """The status of somebody new from an address, on a connection of their own."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    opener.addheaders = [("Sec-Fetch-Site", "same-origin"), ("Connection", "close"), ("X-Forwarded-For", address)]
    try:
        return opener.open(f"{base}/s/{study}/start", b"", timeout=30).status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_several_processes_share_sessions_and_limits(store_url, tmp_path, eqlab):
    """Whoever comes in by one process goes on by another, and the limit counts for all."""
    study = Path(tmp_path / "study.toml")
    environment = {**os.environ, "EQLAB_HOME": str(tmp_path / "home"), "PYTHONPATH": os.pathsep.join(sys.path)}
    assert eqlab("study", "init", "eqbench", "-o", study, "--store", store_url).code == 0
    server = subprocess.Popen(
        [sys.executable, "-c", "from eqlab.cli.main import main; main()", "study", "serve", str(study), "--port", "0",
         "--workers", "2", "--store", store_url, "--proxy", "127.0.0.1", "--per-address", "3"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        base = ""
        for line in server.stdout:
            if found := re.search(r"participants\s+(http://[^/]+)/s/", line):
                base = found.group(1)
                break
        assert base, "the server did not start"
        time.sleep(1)
        jar = urllib.request.HTTPCookieProcessor()
        opener = urllib.request.build_opener(jar)
        opener.addheaders = [("Sec-Fetch-Site", "same-origin"), ("Connection", "close")]
        text = opener.open(f"{base}/s/eqbench/start", b"", timeout=30).read().decode()
        assert 'name="agree"' in text
        for _ in range(8):  # each on a new connection, to whichever process takes it
            assert 'name="agree"' in opener.open(f"{base}/s/eqbench/page", timeout=30).read().decode()
        crowd = [_comes_in(base, "203.0.113.9") for _ in range(16)]  # three in all, not three a process
        assert crowd.count(200) == 3
        assert set(crowd) == {200, 429}
        assert _comes_in(base, "198.51.100.4") == 200
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(40) in (0, -signal.SIGTERM)
        server.stdout.close()
