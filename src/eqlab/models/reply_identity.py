"""Whose reply is it? What is known of a server's replies, and of those that came over one connection; without I/O.

HTTP gives a reply to whoever asked last, and no dialect repeats the question. Two things give another question's away:
it comes when nobody has asked, or it is word for word what somebody else got over this connection."""

import re
from collections import deque
from collections.abc import Hashable
from enum import Enum, auto

_REMEMBERED = 8
"""Replies of a connection that the next is held against."""
_ID = re.compile(rb'"(?:id|responseId)"\s*:\s*"([^"\\]{1,200})"')


class Ids(Enum):
    """What a server's names for its replies tell."""

    UNKNOWN = auto()
    """Nothing yet: there are no two to compare."""
    PUZZLING = auto()
    """Nothing yet, and a reply came again: sent twice, or like all others. New connections tell."""
    ALIKE = auto()
    """Nothing: a new connection began with a name that was there before. Equal replies are no wonder."""
    DISTINCT = auto()
    """Which reply it is, if its words are the same too: some servers draw from a thousand names."""


class Order(Enum):
    """Whether replies come to whom they are meant for."""

    KEPT = auto()
    BROKEN = auto()
    """Some come that nobody asked for; all of them were known as such. Only a first reply is its question's own."""
    DOUBTED = auto()
    """… and some may have been taken for another question's before."""


class ConnectionReplies:
    """What came over one connection."""

    def __init__(self) -> None:
        self.replies = 0
        self._last: deque[tuple[Hashable, bytes, int]] = deque(maxlen=_REMEMBERED)
        self._digests: deque[int] = deque(maxlen=_REMEMBERED)

    def repeats(self, question: Hashable, name: bytes, raw: bytes) -> bool:
        """Whether this is word for word what another question got; remembers it if not."""
        digest = hash(raw)  # of this process alone: no server can aim at it
        if name and digest in self._digests and any(digest == one[2] and question != one[0] for one in self._last):
            return True
        self._last.append((question, name, digest))
        self._digests.append(digest)
        return False

    def brought(self, name: bytes) -> bool:
        return bool(name) and any(name == one for _, one, _ in self._last)


class ServerReplies:
    """What is known of all replies of an address."""

    def __init__(self) -> None:
        self.ids = Ids.UNKNOWN
        self.order = Order.KEPT
        self._first_id = b""
        self._later = 0
        """Answers that were not the first on their connection."""

    @property
    def suspects(self) -> int:
        """Answers that may be another question's, at most."""
        return self._later if self.order is Order.DOUBTED else 0

    def own(self, heard: ConnectionReplies, question: Hashable, raw: bytes, beyond: bytes | None = None) -> bool:
        """Whether a good reply is the question's own, as far as can be told. `beyond`: what came after it already.
        What is not leaves the connection a reply ahead: it must not be used again."""
        first, name = not heard.replies, reply_id(raw)
        heard.replies += 1
        self._compare(name, first)
        if heard.repeats(question, name, raw) and self.ids is not Ids.ALIKE:
            if self.ids is Ids.DISTINCT:
                self._break()
            else:
                self.ids = Ids.PUZZLING
            return False
        if beyond is not None:
            self.unasked(heard, beyond)
        if not first and self.order is not Order.KEPT:  # noticed just now, or on another connection
            return False
        self._later += not first
        return True

    def unasked(self, heard: ConnectionReplies, raw: bytes) -> None:
        """A good reply came, if only in part, and nobody had asked. One of the last again is no loss; another may be
        the answer to a question that got a wrong one."""
        self._break(doubt=not (self.ids is Ids.DISTINCT and heard.brought(reply_id(raw))))

    def _break(self, doubt: bool = False) -> None:
        if self.order is not Order.DOUBTED:
            self.order = Order.DOUBTED if doubt else Order.BROKEN

    def _compare(self, name: bytes, first: bool) -> None:
        if not name or self.ids is Ids.DISTINCT:
            return
        if not self._first_id:
            self._first_id = name
        elif name != self._first_id:
            if self.ids is Ids.PUZZLING:
                self._break()
            self.ids = Ids.DISTINCT
        elif first:
            self.ids = Ids.ALIKE


def reply_id(raw: bytes) -> bytes:
    """A reply's own name (`chatcmpl-…`, `msg_…`, Gemini's `responseId`); empty where it has none."""
    found = _ID.search(raw)
    return found[1] if found else b""
