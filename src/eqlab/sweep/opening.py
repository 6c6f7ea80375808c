"""Opening a model of a sweep for as long as there is work for it: at an address, in process, or as its own server."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from eqlab.models.chat import Chat
from eqlab.models.open import is_local, open_chat
from eqlab.models.transport import Transport
from eqlab.sweep.cells import Target
from eqlab.sweep.served import served


@asynccontextmanager
async def opened(
    target: Target, transport: Callable[[], Transport], say: Callable[[str], None] = lambda _: None
) -> AsyncIterator[Chat]:
    """`transport` gives the way to the address: a shared one, which stays open, or one of its own."""
    if target.model.start:
        say(f"{target.model.name}: starting its server.")
        async with served(target.model) as address:
            own = transport()
            try:
                # The address differs each time, so it is no part of the run's configuration.
                yield open_chat(replace(target.config, base_url=address), own, key_variable=target.key, say=say)
            finally:
                await own.close()
    elif is_local(target.config):
        chat = open_chat(target.config, None, say=say)
        try:
            yield chat
        finally:
            await chat.close()
    else:
        yield open_chat(target.config, transport(), key_variable=target.key, say=say)
