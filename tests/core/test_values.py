"""`dataclass` of this house makes what the standard library's makes."""

import copy
import dataclasses
import inspect
import pickle
from typing import ClassVar

import pytest

from eqlab.core.values import dataclass


def made(dataclass, **how):
    @dataclass(frozen=True, **how)
    class Value:
        kind: ClassVar[str] = "value"
        name: str
        size: int = 3
        tags: list[str] = dataclasses.field(default_factory=list, repr=False)
        note: str = dataclasses.field(default="", compare=False)
        rank: int = dataclasses.field(default=0, hash=False)
        whole: str = dataclasses.field(init=False, default="w")
        later: int = dataclasses.field(init=False)

        def __post_init__(self):
            object.__setattr__(self, "later", self.size + 1)

    return Value


HOW = [{}, {"slots": True}, {"eq": False}, {"slots": True, "repr": False}]
PICKLED, NOTHING = made(dataclass, slots=True), dataclass(frozen=True, slots=True)(type("Nothing", (), {}))
PICKLED.__qualname__ = "PICKLED"


@pytest.mark.parametrize("how", HOW)
def test_the_same_as_the_standard_librarys(how):
    ours, theirs = made(dataclass, **how), made(dataclasses.dataclass, **how)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__match_args__ == theirs.__match_args__
    assert [field.name for field in dataclasses.fields(ours)] == [field.name for field in dataclasses.fields(theirs)]
    assert hasattr(ours, "__slots__") == hasattr(theirs, "__slots__")
    for mine, other in [(ours("a"), theirs("a")), (ours("b", 4, ["c"], rank=2), theirs("b", 4, ["c"], rank=2))]:
        assert dataclasses.asdict(mine) == dataclasses.asdict(other)
        assert how.get("repr") is False or repr(mine) == repr(other)
        assert dataclasses.asdict(dataclasses.replace(mine, size=9)) == dataclasses.asdict(
            dataclasses.replace(other, size=9)
        )
        assert copy.deepcopy(mine).tags == mine.tags
        for value in (mine, other):
            with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'size'"):
                value.size = 1
            with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'size'"):
                del value.size
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        ours()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("other", [{}, {"size": 4}, {"tags": ["x"]}, {"note": "n"}, {"rank": 1}, {"name": "b"}])
def test_equal_and_hashed_alike(how, other):
    ours, theirs = made(dataclass, **how), made(dataclasses.dataclass, **how)
    for one, two in [(ours("a"), ours(**{"name": "a"} | other))]:
        assert (one == two) == (theirs("a") == theirs(**{"name": "a"} | other))
    assert ours("a") != theirs("a")
    if how.get("eq", True):
        with pytest.raises(TypeError, match="unhashable type: 'list'"):
            hash(ours("a"))
        assert hash(ours("a", tags=())) == hash(ours("a", tags=(), note="x", rank=4))
    else:
        assert hash(ours("a")) != hash(ours("a")) or ours("a") is not ours("a")


@pytest.mark.parametrize("how", HOW)
def test_an_open_class_is_the_same_too(how):
    def open_class(dataclass):
        @dataclass(**how)
        class Open:
            name: str
            tags: list[str] = dataclasses.field(default_factory=list)
            size: int = 3

        return Open

    ours, theirs = open_class(dataclass), open_class(dataclasses.dataclass)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert (ours.__hash__ is None) == (theirs.__hash__ is None) == how.get("eq", True)
    for kind in (ours, theirs):
        value, other = kind("a"), kind("a")
        assert (value == other) == how.get("eq", True)
        value.size = 4
        assert dataclasses.asdict(value) == {"name": "a", "tags": [], "size": 4}
        assert value != other
        assert value.tags is not other.tags
        assert copy.deepcopy(value).size == 4


def test_pickled_and_back():
    value = PICKLED("a", tags=["b"])
    assert pickle.loads(pickle.dumps(value)) == value


def test_a_class_keeps_what_it_says_of_itself():
    @dataclass(frozen=True)
    class Own:
        """Its own words."""

        name: str

        def __eq__(self, other):
            return True

        def __repr__(self):
            return "own"

    assert (Own.__doc__, repr(Own("a")), Own("a") == 3) == ("Its own words.", "own", True)
    assert hash(Own("a")) == hash(Own("a"))


def test_a_class_without_fields():
    assert (repr(NOTHING()), NOTHING() == NOTHING(), hash(NOTHING())) == ("Nothing()", True, hash(()))


@pytest.mark.parametrize("kind", [dataclass, dataclasses.dataclass])
def test_others_derive_from_it(kind):
    @kind(frozen=True)
    class Derived(made(dataclass)):
        more: int = 1

    assert dataclasses.replace(Derived("a"), more=2) == Derived("a", more=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Derived("a").more = 3
    with pytest.raises(TypeError, match="frozen"):
        dataclasses.dataclass(type("Open", (made(dataclass),), {}))
