"""Frozen dataclasses that are made quickly: in everything else they are the standard's."""

import copy
import inspect
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any

import pytest

from eqlab.core.frozen import frozen


@frozen
class Quick:
    name: str
    number: float | None = None
    """A default."""
    values: Mapping[str, Any] = field(default_factory=dict)
    note: str = field(default="", compare=False)

    @property
    def loud(self) -> str:
        return self.name.upper()


@dataclass(frozen=True, slots=True)
class Standard:
    name: str
    number: float | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    note: str = field(default="", compare=False)


def test_is_made_like_a_standard_one() -> None:
    assert asdict(Quick("a", values={"b": 1})) == asdict(Standard("a", values={"b": 1}))
    assert [one.name for one in fields(Quick)] == [one.name for one in fields(Standard)]
    assert repr(Quick("a")) == repr(Standard("a")).replace("Standard", "Quick")
    assert str(inspect.signature(Quick)) == str(inspect.signature(Standard))
    assert Quick("a").values is not Quick("a").values
    assert Quick("a").loud == "A"


def test_is_one_of_its_class_and_of_no_other() -> None:
    assert type(Quick("a")) is Quick
    assert Quick("a") == Quick("a", note="not compared")
    assert Quick("a") != Quick("b")
    assert hash(Quick("a", values=())) == hash(Quick("a", values=()))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["name", "number", "other"])
def test_nothing_of_it_changes(name: str) -> None:
    one = Quick("a")
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        setattr(one, name, "b")
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        delattr(one, name)
    assert one == Quick("a")
    assert not hasattr(one, "__dict__")


@pytest.mark.parametrize("given", [(), ("a", 1.0, {}, "", "too many")])
def test_wrong_arguments_are_refused_and_leave_nothing_open(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        Quick(*given)
    half = object.__new__(Quick)
    with pytest.raises(TypeError):
        Quick.__init__(half, *given)
    with pytest.raises(FrozenInstanceError):
        half.name = "b"  # type: ignore[misc]


def test_a_second_call_of_its_init_is_the_standards() -> None:
    """Nobody does it; it must not open an object to others."""
    one = Quick("a")
    one.__init__("b")  # type: ignore[misc]
    assert type(one) is Quick
    with pytest.raises(FrozenInstanceError):
        one.name = "c"  # type: ignore[misc]


def test_copies_changed_ones_and_pickles() -> None:
    one = Quick("a", 1.5, {"b": 2}, "n")
    assert replace(one, number=2.5) == Quick("a", 2.5, {"b": 2})
    for again in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert again == one
        assert type(again) is Quick
        assert again.note == "n"
