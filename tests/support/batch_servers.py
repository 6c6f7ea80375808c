"""The providers' batches on loopback, by name."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web
from batch_anthropic import Anthropic
from batch_gemini import Gemini
from batch_house import KEY
from batch_openai import OpenAi
from in_thread import served

__all__ = ["HOUSES", "KEY", "housed"]
HOUSES = {"openai": OpenAi, "anthropic": Anthropic, "gemini": Gemini}


@contextmanager
def housed(kind: str) -> Iterator[Any]:
    house = HOUSES[kind]()
    with served(web.route("*", "/{path:.*}", house.handle)) as house.port:
        try:
            yield house
        finally:
            house.let_go.set()
