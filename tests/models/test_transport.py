"""The way there and back: streams and silence, redirects, proxies, keys."""

import asyncio
import gzip
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import zlib

import pytest
from aiohttp import web
from conftest import completion
from msgspec import structs

from eqlab.core.errors import ModelError
from eqlab.models.chat import Bill, TransportError, prompted
from eqlab.models.http import HttpChat
from eqlab.models.providers import resolve, without_key
from eqlab.models.transport import Transport, TryAgain, environment_proxy, unpacked


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.01)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AZURE_OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sk-0123456789")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def ask(spec, url, request, say=lambda _: None, **timeouts):
    async def main():
        chat = HttpChat(resolve(spec, url), Transport(4, **timeouts), say)
        try:
            return await chat.ask(request)
        finally:
            await chat.close()

    return asyncio.run(main())


class Loopback:
    """A server whose every POST and CONNECT goes to `handle`."""

    def __init__(self, handle, tls=None):
        self.handle, self.port, self.tls = handle, 0, tls

    def __enter__(self):
        self.loop, started = asyncio.new_event_loop(), threading.Event()

        async def start():
            runner = web.ServerRunner(web.Server(self.handle, access_log=None), shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self.tls).start()
            self.port = runner.addresses[0][1]
            return runner

        def work():
            asyncio.set_event_loop(self.loop)
            runner = self.loop.run_until_complete(start())
            started.set()
            self.loop.run_forever()
            self.loop.run_until_complete(runner.cleanup())
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self.loop.close()

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()
        started.wait(10)
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"


def dripping(pieces, pause):
    async def handle(request):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(pause)
        return response

    return handle


def chunk(text, finish=None):
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


def test_a_slow_stream_is_waited_for_as_long_as_it_is_not_silent():
    pieces = [
        b": thinking\n\n",
        chunk("Ca"),
        chunk("lm: 5"),
        b": still here\n\n",
        chunk("", "stop"),
        b"data: [DONE]\n\n",
    ]
    with Loopback(dripping(pieces, 0.3)) as server:
        assert ask("openai/m", f"{server.url}/v1", prompted("x"), silence=1.0, timeout=60).text == "Calm: 5"
        with pytest.raises(TransportError, match="no whole reply within"):
            ask("openai/m", f"{server.url}/v1", prompted("x"), silence=1.0, timeout=1.0)


def test_silence_in_the_middle_of_a_stream_ends_it():
    slow = dripping([chunk("Ca"), chunk("lm")], 5.0)
    with Loopback(slow) as server, pytest.raises((TransportError, ModelError), match="no reply within"):
        ask("openai/m", f"{server.url}/v1", prompted("x"), silence=1.0, timeout=60)


@pytest.mark.parametrize(
    ("spec", "pieces"),
    [
        ("openai/m", [chunk("Calm: 1")]),
        ("anthropic/m", [b'event: message_start\ndata: {"type": "message_start", "message": {"content": []}}\n\n']),
        ("google/m", [b'data: {"candidates": [{"content": {"parts": [{"text": "Calm: 1"}]}}]}\n\n']),
        ("azure/m", [chunk("Calm: 1")]),
    ],
)
def test_a_stream_that_ends_in_the_middle_is_no_reply(spec, pieces):
    with Loopback(dripping(pieces, 0.0)) as server, pytest.raises(TransportError, match="ended in the middle"):
        ask(spec, f"{server.url}/v1", prompted("x"))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_to_another_origin_is_followed(server, status, monkeypatch):
    monkeypatch.setenv("EQLAB_API_KEY", "sk-secret-0123456789")

    async def elsewhere(request):
        return web.Response(status=status, headers={"Location": f"{server.url}/chat/completions"})

    with (
        Loopback(elsewhere) as other,
        pytest.raises(ModelError, match=r"redirects to http://127.0.0.1:\d+.*--base-url"),
    ):
        ask("m", f"{other.url}/v1", prompted("x"))
    assert not server.requests


def test_a_redirect_on_the_same_origin_is_followed():
    async def handle(request):
        if request.path == "/v1/chat/completions":
            return web.Response(status=307, headers={"Location": "/v2/chat"})
        return web.json_response(completion("hi"))

    with Loopback(handle) as server:
        assert ask("m", f"{server.url}/v1", prompted("x")).text == "hi"


def test_the_proxy_of_the_environment_is_used_and_no_proxy_too(monkeypatch):
    seen = []

    async def proxy(request):
        seen.append(str(request.raw_path))
        return web.json_response(completion("through the proxy"))

    with Loopback(proxy) as server:
        monkeypatch.setenv("http_proxy", server.url)
        assert ask("m", "http://models.example/v1", prompted("x")).text == "through the proxy"
        assert seen == ["http://models.example/v1/chat/completions"]
        monkeypatch.setenv("no_proxy", "models.example")
        assert environment_proxy("http://models.example/v1") is None
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    assert environment_proxy("https://api.openai.com/v1") == "http://proxy.example:3128"


def test_a_proxys_login_goes_with_every_kind_of_question_over_one_connection(monkeypatch):
    seen = []

    async def proxy(request):
        seen.append((request.headers.get("Proxy-Authorization"), request.transport.get_extra_info("peername")[1]))
        return web.json_response({})

    async def main(url):
        wire = Transport(1)
        try:
            for path in ("chat/completions", "responses", "messages"):
                await wire.post(f"{url}/{path}", {}, b"{}", path)
                await asyncio.sleep(0.1)  # a connection that has rested is used again
        finally:
            await wire.close()

    with Loopback(proxy) as server:
        monkeypatch.setenv("http_proxy", server.url.replace("//", "//ada:p%40ss@"))
        asyncio.run(main("http://models.example/v1"))
    assert [login for login, _ in seen] == ["Basic YWRhOnBAc3M="] * 3
    assert len({port for _, port in seen}) < 3


def test_a_question_that_nobody_reads_ends_with_its_time():
    async def main(port):
        wire = Transport(1, timeout=0.5)
        came = await wire.post(f"http://127.0.0.1:{port}/v1/files", {}, bytes(30_000_000), "x")
        await wire.close()
        return came

    with socket.create_server(("127.0.0.1", 0)) as deaf:  # connects, and reads nothing
        begun = time.monotonic()
        came = asyncio.run(main(deaf.getsockname()[1]))
        assert time.monotonic() - begun < 10
    assert isinstance(came, TryAgain)


def test_a_key_inside_an_escaped_body_is_found_after_decoding(server, monkeypatch):
    key = "sk-a/b-secret-0123456789"
    monkeypatch.setenv("EQLAB_API_KEY", key)
    escaped = json.dumps({"error": {"message": json.dumps({"headers": f"Bearer {key}"})}}).replace("/", "\\/")
    server.reply = lambda body, n: web.Response(status=401, text=escaped.replace("-secret", "\\u002dsecret"))
    with pytest.raises(ModelError) as caught:
        ask("m", server.url, prompted("x"))
    assert "secret-0123" not in str(caught.value)
    shown = json.dumps(completion(f"You sent {key}")).replace("/", "\\/").replace("-secret", "\\u002dsecret")
    server.reply = lambda body, n: web.Response(text=shown, content_type="application/json")
    assert ask("m", server.url, prompted("x")).text == "You sent (your-key)"


def test_a_short_key_blots_out_nothing_and_hinders_no_adapting(server, monkeypatch):
    monkeypatch.setenv("EQLAB_API_KEY", "x")
    said = []

    def reply(body, number):
        if "max_tokens" in body:
            return web.Response(status=400, text="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.")
        return "hi"

    server.reply = reply
    assert ask("m", server.url, prompted("x"), said.append).text == "hi"
    assert "'max_completion_tokens'" in said[0]
    assert without_key("max_tokens is EMPTY", "EMPTY") == "max_tokens is EMPTY"


def test_a_key_with_a_line_end_is_a_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123\n")
    assert resolve("openai/m").key == "sk-0123"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-01\n23")
    with pytest.raises(ModelError, match="no header can carry"):
        resolve("openai/m")


@pytest.mark.parametrize("value", ["org\nx: y", "org\u00e9"])
def test_a_header_of_the_environment_that_cannot_be_sent_is_said(monkeypatch, value):
    monkeypatch.setenv("OPENAI_ORG_ID", value)
    with pytest.raises(ModelError, match="OpenAI-Organization, from the environment, cannot be sent"):
        resolve("openai/m")
    monkeypatch.setenv("OPENAI_ORG_ID", "org\n")
    assert resolve("openai/m").headers == {"OpenAI-Organization": "org"}


# -- certificates and proxies of the environment ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A certificate authority of our own, and what a server of it needs: (bundle, server's chain and key)."""
    from certificates import write_certificates

    folder = tmp_path_factory.mktemp("authority")
    write_certificates(folder)
    return folder / "bundle.pem", folder / "good.pem"


@pytest.fixture
def secure(authority):
    """A chat server behind TLS, with a certificate that no system trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority[1])

    async def handle(request):
        return web.json_response(completion("in private"))

    with Loopback(handle, context) as server:
        yield f"https://127.0.0.1:{server.port}/v1"


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_the_certificates_of_the_environment_are_trusted(secure, authority, monkeypatch, variable):
    monkeypatch.setenv(variable, str(authority[0]))
    assert ask("m", secure, prompted("x")).text == "in private"


def test_a_certificate_that_ended_is_said_as_such():
    from eqlab.models.transport import _untrusted

    assert "renew" in _untrusted("certificate verify failed: certificate has expired (_ssl.c:1006)").hint
    assert "SSL_CERT_FILE" in _untrusted("certificate verify failed: self-signed certificate").hint


def test_a_certificate_of_nobody_is_not_trusted(secure, monkeypatch, tmp_path):
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelError, match=r"certificate is not trusted.*SSL_CERT_FILE"):
        ask("m", secure, prompted("x"))
    (tmp_path / "none.pem").write_text("nothing of the kind")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "none.pem"))
    with pytest.raises(ModelError, match=r"REQUESTS_CA_BUNDLE names .*none\.pem, which holds no certificates"):
        ask("m", secure, prompted("x"))


class Tunnel:
    """A proxy that connects whoever asks (CONNECT) and keeps what was asked and with which credentials."""

    def __init__(self):
        self.asked = []

    async def serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head)
        host, port = head.split()[1].rsplit(":", 1)
        there, back = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

        async def copy(source, target):
            while data := await source.read(65536):
                target.write(data)
                await target.drain()
            target.close()

        await asyncio.gather(copy(reader, back), copy(there, writer), return_exceptions=True)


def test_tls_goes_through_the_proxy_of_the_environment(secure, authority, monkeypatch):
    """Into the tunnel goes what the proxy must know, and no more: neither key nor prompt."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority[0]))
    monkeypatch.setenv("EQLAB_API_KEY", "sk-secret-0123456789")
    tunnel = Tunnel()

    async def main():
        proxy = await asyncio.start_server(tunnel.serve, "127.0.0.1", 0)
        port = proxy.sockets[0].getsockname()[1]
        monkeypatch.setenv("https_proxy", f"http://user:pass@127.0.0.1:{port}")
        chat = HttpChat(resolve("m", secure), Transport(4))
        try:
            return (await chat.ask(prompted("a prompt"))).text
        finally:
            await chat.close()
            proxy.close()

    assert asyncio.run(main()) == "in private"
    (head,) = tunnel.asked
    assert head.startswith("CONNECT 127.0.0.1:")
    assert "Proxy-Authorization: Basic dXNlcjpwYXNz" in head
    assert "sk-secret" not in head


def test_a_proxy_of_another_kind_is_said_not_gone_around(monkeypatch, server):
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(ModelError, match=r"is a socks5 proxy.*NO_PROXY"):
        ask("m", server.url, prompted("x"))
    assert not server.requests
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert ask("m", server.url, prompted("x")).text == "Calm: 5"
    monkeypatch.setenv("http_proxy", "proxy.example:3128")
    assert environment_proxy("http://models.example/v1") == "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("pack", "name"),
    [
        (gzip.compress, "gzip"),
        (gzip.compress, "X-GZIP"),
        (zlib.compress, "deflate"),
        (lambda raw: zlib.compress(raw, wbits=-15), "deflate"),
        (bytes, ""),
        (bytes, "identity"),
    ],
)
def test_replies_are_unpacked_up_to_the_limit_and_no_further(pack, name):
    raw = json.dumps(completion("Calm: 5")).encode()
    assert unpacked(pack(raw), name, 10_000) == raw
    if pack is gzip.compress:  # members one after the other are one file
        assert unpacked(pack(raw[:30]) + pack(raw[30:]) + bytes(8), name, 10_000) == raw
        assert len(unpacked(2 * pack(bytes(9_000)), name, 10_000)) == 10_001
    assert len(unpacked(pack(bytes(50_000_000)), name, 10_000)) > 10_000
    if pack is not bytes:
        assert len(unpacked(pack(bytes(50_000_000)), name, 100_000)) == 100_001
        for broken in (pack(raw)[:-9], raw, b""):
            with pytest.raises(zlib.error):
                unpacked(broken, name, 10_000)
    with pytest.raises(zlib.error, match="nobody asked for"):
        unpacked(raw, "br", 10_000)


def test_a_packed_reply_is_read(server):
    packed = gzip.compress(json.dumps(completion("Calm: 5")).encode())
    server.reply = lambda body, n: web.Response(body=packed, headers={"Content-Encoding": "gzip"})
    assert ask("m", server.url, prompted("x")).text == "Calm: 5"
    assert server.headers[0]["Accept-Encoding"] == "gzip, deflate"


def test_aiohttp_is_loaded_without_certificates_and_has_them_when_it_connects(tmp_path):
    from certificates import write_certificates

    write_certificates(tmp_path)
    script = (
        "import ssl, eqlab.models.transport\nfrom aiohttp import connector\n"
        "for context in (connector._SSL_CONTEXT_VERIFIED, connector._SSL_CONTEXT_UNVERIFIED):\n"
        "    before = context.cert_store_stats()['x509']\n"
        "    context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname='models.test')\n"
        "    print(before, context.cert_store_stats()['x509'], context.verify_mode.name, context.check_hostname)\n"
        "print(ssl.create_default_context().cert_store_stats()['x509'])\n"
    )
    environment = os.environ | {"SSL_CERT_FILE": str(tmp_path / "bundle.pem"), "SSL_CERT_DIR": str(tmp_path / "none")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines() == ["0 1 CERT_REQUIRED True", "0 1 CERT_NONE False", "1"], done.stderr


@pytest.mark.parametrize(("scheme", "lost"), [("https", 0), ("http", 1)])
def test_a_request_counts_once_there_is_a_connection_to_send_it_over(scheme, lost):
    """Somebody listens, and never says a word: neither to the handshake nor to the question."""
    bill = Bill()

    async def main(port):
        chat = HttpChat(resolve("m", f"{scheme}://127.0.0.1:{port}/v1"), Transport(4))
        asking = asyncio.create_task(chat.ask(structs.replace(prompted("x"), bill=bill)))
        await asyncio.sleep(0.3)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await chat.close()

    with socket.create_server(("127.0.0.1", 0)) as silent:
        asyncio.run(main(silent.getsockname()[1]))
    assert bill.lost == lost
