"""A dataclass that is made fast is the same dataclass: frozen, compared, copied, sent, with the same complaints."""

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from eqlab.core.answers import Answer
from eqlab.core.frozen import made_fast
from eqlab.core.results import ItemScore


@made_fast
@dataclass(frozen=True, slots=True)
class Fast:
    name: str
    count: int = 3
    parts: dict = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class More(Fast):
    last: str = "z"


def test_it_is_filled_as_any_other():
    one = Fast("a")
    assert (one.name, one.count, one.parts) == ("a", 3, {})
    assert Fast("a", 4, {"x": 1}) == Fast(parts={"x": 1}, count=4, name="a") == replace(one, count=4, parts={"x": 1})
    assert one.parts is not Fast("a").parts
    assert repr(one) == "Fast(name='a', count=3, parts={})"
    assert list(inspect.signature(Fast).parameters) == ["name", "count", "parts"]
    assert type(one) is Fast


def test_it_stays_frozen():
    one = Fast("a")
    with pytest.raises(FrozenInstanceError):
        one.name = "b"
    with pytest.raises(FrozenInstanceError):
        del one.name
    with pytest.raises((AttributeError, TypeError)):
        one.other = 1


@pytest.mark.parametrize(("values", "named"), [((), {}), (("a", 1, {}, 2), {}), (("a",), {"nonesuch": 1})])
def test_what_does_not_fit_is_refused(values, named):
    with pytest.raises(TypeError, match=r"Fast\.__init__\(\)"):
        Fast(*values, **named)


def test_a_class_below_keeps_its_own_fields():
    one = More("a", last="y")
    assert (one.count, one.last, type(one)) == (3, "y", More)
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(FrozenInstanceError):
        one.last = "x"


@pytest.mark.parametrize(
    "one",
    [
        Fast("a", 1, {"x": [1]}),
        Answer("r", "t", "s", 0, 1, "text", "ok", {"q": 1}, sent={"batch": "b"}),
        ItemScore("i", "t", 0, None, 1.5, words_absent=7),
    ],
)
def test_copies_are_equal_in_every_field(one):
    for other in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert other == one
        assert type(other) is type(one)
        assert [getattr(other, own.name) for own in fields(one)] == [getattr(one, own.name) for own in fields(one)]
    assert copy.deepcopy(Fast("a", 1, {"x": [1]})).parts["x"] == [1]


def test_an_item_shows_what_it_is_given_and_nothing_else_changes():
    one = ItemScore("i", "t", 2, "ok", 1.0, "title", "text", {"a": 1}, group="g", topics=("joy",), words_absent=3)
    assert one.showing("a dialogue") == replace(one, shown="a dialogue")
