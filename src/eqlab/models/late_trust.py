"""Loads aiohttp without the system's certificates: as it loads, it reads them into two TLS contexts, which takes half
of what `import numpy` takes; ours is made when a server is asked over TLS. Contexts that are made meanwhile read them
with their first connection."""

import ssl
from typing import Any

_EAGER = ssl.SSLContext.load_default_certs


class _LateTrust(ssl.SSLContext):
    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        self._read()
        return self.wrap_bio(*args, **kwargs)

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        self._read()
        return self.wrap_socket(*args, **kwargs)

    def _read(self) -> None:
        self.__class__ = ssl.SSLContext  # type: ignore[assignment]
        self.load_default_certs()


def _later(context: ssl.SSLContext, *_: Any) -> None:
    context.__class__ = _LateTrust


ssl.SSLContext.load_default_certs = ssl.SSLContext.set_default_verify_paths = _later  # type: ignore[method-assign, assignment]
try:
    import aiohttp  # noqa: F401
finally:
    ssl.SSLContext.load_default_certs = _EAGER  # type: ignore[method-assign]
    del ssl.SSLContext.set_default_verify_paths  # the base class's is there again
