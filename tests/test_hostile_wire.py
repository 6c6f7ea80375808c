"""A server that is hostile below JSON (bench/hostile_wire.py): nothing lost, nothing wrong, nothing misleading."""

import hostile_wire as wire
import pytest
from test_faults import TRIALS, all_well, run

from eqlab.models.http import HttpChat


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.01)


@pytest.mark.parametrize("name", wire.ODD)
def test_an_odd_reply_is_read_at_once_and_as_meant(name, store):
    with wire.serving(wire.ODD[name]) as server:
        given = all_well(store, run(server, store).run)
        assert server.requests == len(given) == TRIALS


@pytest.mark.parametrize("name", wire.TORN)
def test_a_torn_reply_is_asked_again_and_never_read(name, store):
    with wire.serving(wire.once(wire.TORN[name])) as server:
        given = all_well(store, run(server, store).run)
        assert len(given) == TRIALS
        assert server.requests == 2 * TRIALS
    with wire.serving(wire.TORN[name]) as server:
        (failure,) = run(server, store, seed=1).failures.values()
    assert "cannot be reached" not in str(failure)  # somebody is there, and says what cannot be read
    assert "message=" not in str(failure)  # in plain words


@pytest.mark.parametrize(
    "behaviour", [wire.idle_408, wire.hangs_up_unsaid, wire.four_sockets], ids=lambda one: one.__name__
)
def test_connections_that_end_cost_a_repeat_at_most(behaviour, store):
    with wire.serving(behaviour) as server:
        given = all_well(store, run(server, store, limit=40).run, ok=40)
    assert len(given) == 40


def test_a_reply_that_nobody_asked_for_is_nobodys_answer(store):
    """The second of two copies waits on a kept connection. It is thrown away, said, and the connection with it."""
    import asyncio

    from eqlab.models.providers import resolve
    from eqlab.models.settings import prompted
    from eqlab.models.transport import Connection

    said = []

    async def main(url):
        chat = HttpChat(resolve("m", url), Connection(1), said.append)
        texts = []
        for word in ("Calm", "Sad", "Proud"):
            form = "\n\nRate how strongly they feel\n" + "".join(f"{word}{end}\n" for end in "abcd")
            texts.append((await chat.ask(prompted(form))).text.split(":")[0])
            await asyncio.sleep(0.05)
        await chat.close()
        return texts

    with wire.serving(wire.every_reply_twice) as server:
        assert asyncio.run(main(server.url)) == ["Calma", "Sada", "Prouda"]
        assert server.requests == 3
    (line,) = said
    assert "replies that nobody asked for" in line
