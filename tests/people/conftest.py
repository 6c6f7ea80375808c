"""A register for tests, on both kinds of store, with a clock that stands still."""

import pytest
from small_study import small_design

from eqlab.people.founding import found
from eqlab.people.register import Register
from eqlab.store.store import Store


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make_register(store_url, clock):
    """A register for a design, on SQLite and on PostgreSQL."""
    opened = []

    def make(design=None, **more):
        design = design or small_design(**more)
        store = Store(store_url)
        opened.append(store)
        found(store, design, "", "test", {})
        return Register(store, design, clock)

    yield make
    for store in opened:
        store.close()
