"""A library that few tests need, imported by the first that does: each process of a run collects every test."""

from importlib import import_module
from typing import Any


class Later:
    """A module, or something of it, under the name it will have."""

    def __init__(self, module: str, name: str = "") -> None:
        self._module, self._name = module, name

    def _imported(self) -> Any:
        module = import_module(self._module)
        return getattr(module, self._name) if self._name else module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest looks for wrapped fixtures in whatever a module of tests holds
            raise AttributeError(name)
        return getattr(self._imported(), name)

    def __call__(self, *arguments: Any, **more: Any) -> Any:
        return self._imported()(*arguments, **more)
