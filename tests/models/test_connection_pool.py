"""Names and addresses, certificates and proxies that fail in the middle of a run; connections that lead nowhere."""

import asyncio
import contextlib
import gc
import socket
import ssl
import threading

import hostile_wire as wire
import pytest
from fault_net import deaf_place

from eqlab.core.errors import ModelError
from eqlab.models import connections, http
from eqlab.models.chat import prompted
from eqlab.models.http import HttpChat
from eqlab.models.providers import resolve
from eqlab.models.transport import Transport


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.01)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def ask(url, questions=6, between=lambda number: None, **timeouts):
    """One question after the other, each over a connection of its own; what was said."""
    said = []

    async def main():
        chat = HttpChat(resolve("m", url), Transport(1, **timeouts), said.append)
        try:
            for number in range(questions):
                between(number)
                assert (await chat.ask(prompted(f"x {number}"))).text == "I see."
        finally:
            await chat.close()

    asyncio.run(main())
    return said


class Resolver:
    """What the name `models.test` means, answer by answer; the last one stays."""

    def __init__(self, *answers):
        self.answers, self.asked, self.real = list(answers), 0, socket.getaddrinfo

    def __call__(self, host, port, *more, **named):
        if host != "models.test":
            return self.real(host, port, *more, **named)
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        if isinstance(answer, int):
            raise socket.gaierror(answer, "no")
        found = []
        for address in answer:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            place = (address, port, 0, 0) if ":" in address else (address, port)
            found.append((family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place))
        return found


@pytest.fixture
def means(monkeypatch):
    def mean(*answers):
        found = Resolver(*answers)
        monkeypatch.setattr(socket, "getaddrinfo", found)
        return found

    return mean


@pytest.fixture
def named():
    with wire.serving(wire.well) as server:
        server.url = server.url.replace("127.0.0.1", "models.test")
        yield server


GOOD = ("127.0.0.1",)


@pytest.mark.parametrize("failure", [socket.EAI_AGAIN, socket.EAI_NONAME])
def test_a_name_that_is_known_is_used_on_while_nobody_tells_it_anew(named, means, monkeypatch, failure):
    monkeypatch.setattr(connections.NameResolver, "_FRESH", 0.0)
    resolver = means(GOOD, failure)
    assert not ask(named.url, patience=1.0)
    assert resolver.asked > 1
    assert named.requests == 6


def test_a_server_that_moves_is_followed(named, means, monkeypatch):
    monkeypatch.setattr(connections.NameResolver, "_FRESH", 0.0)
    means(("127.0.0.2",), socket.EAI_AGAIN, GOOD)  # nobody is at the first
    assert not ask(named.url)


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (socket.EAI_AGAIN, "the name models.test cannot be looked up now"),
        (socket.EAI_NONAME, "no address is known for the name models.test"),
    ],
)
def test_a_name_that_is_not_known_is_said_soon_or_found_at_last(named, means, failure, words):
    means(failure)
    with pytest.raises(ModelError, match=f"cannot be reached.*{words}.*check the network and --base-url"):
        ask(named.url)
    means(failure, failure, GOOD)
    assert not ask(named.url)


def test_a_resolver_that_hangs_is_not_waited_for_where_the_address_is_known(named, means, monkeypatch):
    monkeypatch.setattr(connections.NameResolver, "_FRESH", 0.0)
    monkeypatch.setattr(connections.NameResolver, "_KNOWN", 0.1)
    real, let_go, hung = means(GOOD), threading.Event(), []

    def hanging(host, *args, **more):
        if host == "models.test" and real.asked == 1:
            real.asked += 1
            hung.append(let_go.wait(30))
        return real(host, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", hanging)

    def before(number):
        if number == 2:  # the second question has its answer, and was asked with the address of the first
            assert real.asked >= 2
            assert not hung
            let_go.set()

    try:
        assert not ask(named.url, questions=3, between=before)
    finally:
        let_go.set()
    assert hung == [True]


@pytest.mark.parametrize("first", ["127.0.0.2", "::1"])
@pytest.mark.parametrize("hangs", [False, True], ids=["refuses", "hangs"])
def test_of_two_addresses_the_one_that_answers_is_used(named, means, first, hangs):
    port = int(named.url.split(":")[2].split("/")[0])
    means((first, "127.0.0.1"))
    with deaf_place(first, port) if hangs else contextlib.nullcontext():
        assert not ask(named.url, questions=3)
    assert named.requests == 3


def test_a_place_that_takes_no_connection_is_an_outage_not_a_bill(means):
    with socket.socket() as probe:
        probe.bind(("127.0.0.2", 0))
        port = probe.getsockname()[1]
    with deaf_place("127.0.0.2", port), pytest.raises(ModelError, match=r"no connection to 127\.0\.0\.2:\d+ within"):
        ask(f"http://127.0.0.2:{port}/v1", timeout=0.3)


def test_a_stand_in_that_ends_closes_whom_it_has_just_let_in():
    """Else the warning of a forgotten connection would fail some other test, now and then."""
    for _ in range(20):
        with wire.serving(wire.well) as server, socket.socket() as line:
            line.connect(("127.0.0.1", int(server.url.split(":")[2].removesuffix("/v1"))))
        assert server.lines == 0
    gc.collect()


def test_a_handshake_that_hangs_is_an_outage_not_a_bill():
    """Somebody takes the connection and never says a word of TLS: nothing was sent, so nothing was billed."""

    async def silent(call):
        pass

    with wire.serving(silent) as server, pytest.raises(ModelError, match=r"no connection to 127\.0\.0\.1:\d+ within"):
        ask(server.url.replace("http:", "https:"), timeout=0.3)
    assert not server.requests


def test_a_connection_that_nobody_takes_for_long_is_closed_though_nobody_asks(monkeypatch):
    monkeypatch.setattr(connections, "_KEPT", 0.2)

    async def main(server):
        chat = HttpChat(resolve("m", server.url), Transport(4))
        await asyncio.gather(*(chat.ask(prompted(f"x {number}")) for number in range(4)))
        kept = server.lines
        async with asyncio.timeout(20):
            while server.lines:
                await asyncio.sleep(0.05)
        again = await chat.ask(prompted("x 5"))
        await chat.close()
        return kept, again.text

    with wire.serving(wire.well) as server:
        assert asyncio.run(main(server)) == (4, "I see.")


def test_connections_are_opened_while_the_first_question_is_answered_and_no_more_than_may_be_asked(monkeypatch):
    monkeypatch.setattr(http, "_ALONE_NEAR", 30.0)
    most = []

    async def main(server):
        chat = HttpChat(resolve("m", server.url), Transport(4))
        replies = await asyncio.gather(*(chat.ask(prompted(f"x {number}")) for number in range(8)))
        await chat.close()
        return len(replies)

    async def first_waits_for_the_others(call):
        async with asyncio.timeout(20):
            while call.number == 1 and server.lines < 4:
                await asyncio.sleep(0.01)
        most.append(server.lines)
        call.writer.write(wire.http(call.good))

    with wire.serving(first_waits_for_the_others) as server:
        assert asyncio.run(main(server)) == 8
        assert most[0] == 4
        assert server.requests == 8


@pytest.mark.parametrize("said", [b"", wire.http(b"{}")], ids=["closes", "speaks first"])
def test_a_connection_opened_ahead_is_not_used_once_the_server_has_closed_it_or_spoken(said):
    async def main():
        met = asyncio.Event()

        async def let_in(reader, writer):
            writer.write(said)
            await writer.drain()
            if not said:
                writer.close()
            met.set()
            await reader.read()
            writer.close()

        server = await asyncio.start_server(let_in, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        transport = Transport(4)
        await transport.connect_ahead(url, {})
        await met.wait()
        await asyncio.sleep(0.1)
        (ahead,) = transport.pool._unused
        taken = await transport.pool.take(ahead.origin)
        assert taken is not ahead
        assert not taken.connected
        assert not ahead.open
        await transport.close()
        server.close()

    asyncio.run(main())


def test_what_was_opened_ahead_is_closed_with_the_rest():
    async def main(server):
        transport = Transport(2)
        for _ in range(3):
            await transport.connect_ahead(f"{server.url}/chat/completions", {})
        while server.lines < 2:
            await asyncio.sleep(0.01)
        await transport.close()
        async with asyncio.timeout(20):
            while server.lines:
                await asyncio.sleep(0.01)

    with wire.serving(wire.well) as server:
        asyncio.run(main(server))
        assert server.opened == 2


def test_connections_are_probed_so_that_one_that_leads_nowhere_is_noticed():
    made = connections.probed_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 9)))
    with made:
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        for name, value in connections._PROBES.items():
            if hasattr(socket, name):
                assert made.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) == value


# -- certificates and proxies -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    from certificates import write_certificates

    folder = tmp_path_factory.mktemp("certificates")
    write_certificates(folder)
    return folder


@pytest.fixture
def secure(certificates, monkeypatch):
    """A server behind TLS whose certificate can be replaced while it runs."""
    from aiohttp import web
    from conftest import completion
    from in_thread import served

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "good.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "bundle.pem"))

    async def handle(request):
        return web.json_response(completion("I see."))

    with served(web.post("/v1/chat/completions", handle), tls=context) as port:
        yield f"https://127.0.0.1:{port}/v1", lambda name: context.load_cert_chain(certificates / f"{name}.pem")


@pytest.mark.parametrize(
    ("replaced", "words"),
    [("old", r"certificate is not trusted .*expired.*clock is wrong"), ("stranger", r"not trusted.*SSL_CERT_FILE")],
)
def test_a_certificate_that_ends_in_the_middle_ends_the_model_and_says_how(secure, replaced, words):
    url, replace = secure
    asked = []

    def between(number):
        asked.append(number)
        if number == 3:
            replace(replaced)

    with pytest.raises(ModelError, match=words):
        ask(url, between=between)
    assert asked[-1] in (3, 4)


class Proxy:
    """Connects whoever asks (CONNECT), until it is told to say something else, or ends."""

    def __init__(self):
        self.says, self.server, self.port = b"HTTP/1.1 200 OK\r\n\r\n", None, 0

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        writer.write(self.says)
        if b" 200 " not in self.says:
            writer.close()
            return
        host, port = head.split()[1].rsplit(":", 1)
        there, back = await asyncio.open_connection(host, int(port))

        async def copy(source, target):
            with contextlib.suppress(OSError):
                while data := await source.read(65536):
                    target.write(data)
            target.close()

        await asyncio.gather(copy(reader, back), copy(there, writer))


def through_proxy(url, monkeypatch, happens, patience=300.0):
    """Two questions, then something happens to the proxy, then four more."""
    said = []

    async def main():
        proxy = Proxy()
        await proxy.start()
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        chat = HttpChat(resolve("m", url), Transport(1, patience=patience), said.append)
        try:
            for number in range(6):
                if number == 2:
                    await happens(proxy)
                assert (await chat.ask(prompted(f"x {number}"))).text == "I see."
        finally:
            await chat.close()
            proxy.server.close()

    asyncio.run(main())
    return said


def saying(words):
    async def happens(proxy):
        proxy.says = words

    return happens


def test_a_proxy_that_dies_is_waited_for_and_called_one(secure, monkeypatch):
    back = []

    async def dies(proxy):
        proxy.server.close()

        async def again():
            await asyncio.sleep(0.5)
            await proxy.start()

        back.append(asyncio.create_task(again()))

    through_proxy(secure[0], monkeypatch, dies)

    async def dies_for_good(proxy):
        proxy.server.close()

    with pytest.raises(ModelError, match=r"has not answered.*the proxy is away: nothing listens at.*--patience"):
        through_proxy(secure[0], monkeypatch, dies_for_good, patience=0.2)


def test_a_proxy_that_wants_a_password_says_where_it_goes(secure, monkeypatch):
    with pytest.raises(ModelError, match=r"the proxy wants a name and a password.*HTTPS_PROXY.*name:password@host"):
        through_proxy(secure[0], monkeypatch, saying(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"))


def test_a_proxy_that_cannot_reach_the_server_is_an_outage(secure, monkeypatch):
    with pytest.raises(ModelError, match=r"has not answered.*the proxy gets no connection \(HTTP 503\)"):
        through_proxy(secure[0], monkeypatch, saying(b"HTTP/1.1 503 Service Unavailable\r\n\r\n"), patience=0.2)


def test_a_proxy_of_plain_http_that_wants_a_password(monkeypatch):
    async def login(call):
        call.writer.write(wire.http(b"", 'Proxy-Authenticate: Basic realm="x"', status="407 Proxy"))

    with wire.serving(login) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        with pytest.raises(ModelError, match="the proxy wants a name and a password"):
            ask("http://models.test/v1")
