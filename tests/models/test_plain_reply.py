"""What is plain is read as aiohttp's parser reads it, however it is cut; what is not is left to that parser."""

import asyncio
from itertools import pairwise

import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_parser import HttpResponseParser
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from eqlab.models.plain_reply import PlainReply, State

PLAIN = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Request-Id:  a b \r\n\r\nhello",
    b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nConnection: Keep-Alive\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nDate: x\r\n\r\n5\r\nhello\r\nA\r\n 0\r\n\r\nabcd\r\n0\r\n\r\n",
]
HEAD = b"HTTP/1.1 200 OK\r\n"
ODD = [
    b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\nContent-Length: 1\r\n\r\nx",
    HEAD + b"\r\nuntil the end",
    HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    HEAD + b"Content-Length: +1\r\n\r\nx",
    HEAD + b"Content-Length: 0\r\n\r\n",
    HEAD + b"Content-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n",
    HEAD + b"Content-Length: 1\r\nConnection: close\r\n\r\nx",
    HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;name=value\r\nx\r\n0\r\n\r\n",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nxyz",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n",
    HEAD + b"Content-Length : 1\r\n\r\nx",
    HEAD + b"Content-Length: 1\r\n folded: yes\r\n\r\nx",
    HEAD + b"Content-Length: 1\r\nX: \xc3\xa9\r\n\r\nx",
    HEAD + b"Content-Length: 1\n\nx\r\n\r\n",
    HEAD + b"Content-Length: 1\n\nx",
    b"HTTP/1.1 200 OK\nContent-Length: 1\n\nx",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\n",
    HEAD + b"Content-Length: 101\r\n\r\nx",
    b"x" * 20_000,
]


def gathered(pieces, largest=100):
    reply = PlainReply(largest)
    state = State.MORE
    for piece in pieces:
        assert state is State.MORE
        state = reply.add(piece)
    return reply, state


def as_aiohttp_reads(raw):
    async def main():
        loop = asyncio.get_running_loop()
        ((head, body),), _, _ = HttpResponseParser(BaseProtocol(loop), loop, 2**16).feed_data(raw)
        return head.code, CIMultiDict(head.headers), await body.read()

    return asyncio.run(main())


@given(st.sampled_from(PLAIN), st.sets(st.integers(1, 200)))
def test_a_plain_reply_is_read_as_it_is_however_it_is_cut(raw, cuts):
    places = [0, *sorted(cut for cut in cuts if cut < len(raw)), len(raw)]
    reply, state = gathered(raw[start:end] for start, end in pairwise(places))
    assert state is State.WHOLE
    assert (reply.status, reply.headers, reply.body) == as_aiohttp_reads(raw)


@pytest.mark.parametrize("raw", ODD)
@pytest.mark.parametrize("at_once", [True, False])
def test_what_is_not_plain_is_given_back_as_it_came(raw, at_once):
    reply, state = PlainReply(100), State.MORE
    came = b""
    for piece in [raw] if at_once else [raw[place : place + 1] for place in range(len(raw))]:
        came += piece
        state = reply.add(piece)
        if state is not State.MORE:
            break
    if state is State.WHOLE:  # what is too much had not come yet: whoever waits for no more is told of it by then
        assert raw.startswith(came)
        assert len(came) < len(raw)
    else:
        assert state is State.ODD
        assert reply.raw == came
