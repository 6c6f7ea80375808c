"""The researcher's password: hashed with argon2, checked one at a time, and in the same time whether there is one or
not."""

import asyncio
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from eqlab.core.errors import UsageError

_hasher = PasswordHasher()
LEAST = 10
_QUEUE = 8
"""Checks that may wait; each costs memory and time, so more is an attack."""


def make_hash(password: str) -> str:
    if len(password) < LEAST:
        raise UsageError(f"The password has fewer than {LEAST} characters.", "Take a longer one.")
    return _hasher.hash(password)


@cache
def _nobody() -> str:
    """What a password is checked against when none is set, so that the answer takes as long."""
    return _hasher.hash("nobody has this password")


class Gate:
    """Checks passwords in a thread, one after the other."""

    def __init__(self, password_hash: str) -> None:
        self._hash = password_hash
        self._turn = asyncio.Semaphore(1)
        self._waiting = 0

    @property
    def crowded(self) -> bool:
        return self._waiting >= _QUEUE

    async def opens(self, password: str, own_hash: str | None = None) -> bool:
        """Against the server's own password, or the hash of a researcher who has one; "" for nobody's."""
        wanted = self._hash if own_hash is None else own_hash
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(self._check, wanted, password)
        finally:
            self._waiting -= 1

    def _check(self, wanted: str, password: str) -> bool:
        try:
            right = _hasher.verify(wanted or _nobody(), password)
        except (VerificationError, InvalidHashError):
            return False
        return right and bool(wanted)
