"""An HTTP reply in the plain form that nearly every server sends, gathered until it is whole; without I/O. Whatever is
not plain (another version, no length, odd fields, trailers, bytes beyond its end) is left to a parser that knows HTTP:
so the way that is taken a million times is short, and nothing is read in a way of our own that could be read in two."""

import re
from collections.abc import Mapping
from enum import Enum, auto

from multidict import CIMultiDict

_HEAD = re.compile(rb"HTTP/1\.1 ([2-5]\d\d) [ -~]*\r\n((?:[A-Za-z0-9-]{1,100}: [ -~]*\r\n)*)\r\n")
_FIELD = re.compile(r"([A-Za-z0-9-]+): *([^\r]*?) *\r\n")
_SIZE = re.compile(rb"([0-9a-fA-F]{1,8})\r\n")
_BARE = re.compile(rb"(?<!\r)\n")
_LONGEST_HEAD = 16384
_BODILESS = (204, 205, 304)


class State(Enum):
    MORE = auto()
    """What has come is plain, and not all of it."""
    WHOLE = auto()
    ODD = auto()
    """Not plain: `raw` is for somebody else to read, with all that comes after it."""


class PlainReply:
    """What has come of one reply, whose body may have so many bytes at most."""

    __slots__ = ("_chunk", "_chunks", "_largest", "_size", "_start", "body", "headers", "raw", "status")

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self.raw: bytes | bytearray = b""
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.body = b""
        self._start = 0
        """Of the body; 0 until the head has been read."""
        self._size: int | None = None
        """Of the body; None where it comes in chunks."""
        self._chunk = 0
        """Where the next chunk begins."""
        self._chunks: list[bytes] = []

    def add(self, data: bytes) -> State:
        if not self.raw:
            self.raw = data  # mostly all there is
        elif type(self.raw) is bytearray:
            self.raw += data
        else:
            self.raw = bytearray(self.raw) + data
        if not self._start:
            head = _HEAD.match(self.raw)
            if head is None:
                ended = self.raw.find(b"\r\n\r\n") >= 0 or _BARE.search(self.raw)
                return State.ODD if ended or len(self.raw) >= _LONGEST_HEAD else State.MORE
            if not self._read_head(head):
                return State.ODD
        if self._size is None:
            return self._read_chunks()
        missing = self._start + self._size - len(self.raw)
        if missing:
            return State.MORE if missing > 0 else State.ODD
        self.body = bytes(self.raw[self._start :])
        return State.WHOLE

    def _read_head(self, head: re.Match[bytes]) -> bool:
        """Whether it says plainly where the body ends, and that the connection goes on."""
        headers = self.headers = CIMultiDict(_FIELD.findall(head[2].decode("ascii")))
        self.status, self._start = int(head[1]), head.end()
        if self.status in _BODILESS or "Upgrade" in headers:
            return False
        if headers.get("Connection", "keep-alive").lower() != "keep-alive":
            return False
        lengths = headers.getall("Content-Length", ())
        if "Transfer-Encoding" in headers:
            self._chunk = self._start
            return not lengths and headers.getall("Transfer-Encoding") == ["chunked"]
        if len(lengths) != 1 or not re.fullmatch("[0-9]{1,10}", lengths[0]):
            return False
        self._size = int(lengths[0])
        return 0 < self._size <= self._largest

    def _read_chunks(self) -> State:
        raw = self.raw
        while line := _SIZE.match(raw, self._chunk):
            start = line.end()
            end = start + int(line[1], 16)
            if end - self._start > self._largest:
                return State.ODD
            if not b"\r\n".startswith(raw[end : end + 2]):
                return State.ODD
            if len(raw) < end + 2:
                return State.MORE
            if end == start:
                self.body = b"".join(self._chunks)
                return State.WHOLE if len(raw) == end + 2 else State.ODD
            self._chunks.append(bytes(raw[start:end]))
            self._chunk = end + 2
        return State.MORE if len(raw) - self._chunk < 10 and b"\r\n" not in raw[self._chunk :] else State.ODD
