"""Records that are made by the hundred thousand, and all records as plain data."""

import copy
import pickle
from dataclasses import asdict, dataclass
from typing import Any

import pytest
from msgspec import structs

from eqlab.core.answers import Answer
from eqlab.core.results import Estimate, ItemScore, Transcript, Utterance, as_dict

ANSWER = Answer("r", "t", "model:m", 0, 1, "text", "ok", values={"b": 2})
ITEM = ItemScore("i", "t", 0, "ok", 1.0, values={"b": 2}, topics=("joy",))
ESTIMATE = Estimate("n", 1.5, 7, low=1.0, high=2.0)
TRANSCRIPT = Transcript("i", "I", "t", 0, "p", "good", "left", 50.0, (40.0, 50.0), (Utterance("a", "hello", 40.0),))
EACH = pytest.mark.parametrize("record", [ANSWER, ITEM, ESTIMATE, TRANSCRIPT], ids=lambda one: type(one).__name__)


@EACH
def test_nothing_of_it_changes(record: Any) -> None:
    before = copy.deepcopy(record)
    for name in (record.__struct_fields__[0], "other"):
        with pytest.raises(AttributeError):
            setattr(record, name, "b")
        with pytest.raises(AttributeError):
            delattr(record, name)
    assert record == before
    assert not hasattr(record, "__dict__")


@EACH
def test_copies_and_pickles_are_the_same(record: Any) -> None:
    for again in (copy.copy(record), copy.deepcopy(record), pickle.loads(pickle.dumps(record))):
        assert again == record
        assert type(again) is type(record)


def test_defaults_are_its_own() -> None:
    first, second = (Answer("r", "t", "s", 0, 1, "", "ok") for _ in range(2))
    assert first.values is not second.values
    assert structs.replace(first, at=2.0).at == 2.0
    assert first.at == 0.0


@pytest.mark.parametrize("given", [{}, {"name": "n", "value": 1.0, "n": 1, "mean": 2}])
def test_wrong_arguments_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Estimate(**given)


@dataclass(frozen=True, slots=True)
class Inner:
    number: int = 1
    pairs: tuple[tuple[str, int], ...] = (("a", 1),)


@dataclass(frozen=True, slots=True)
class Outer:
    inner: Inner
    listed: list[Inner]
    named: dict[str, Inner]
    nothing: None = None


def test_plain_data_is_the_standards_for_dataclasses() -> None:
    value = Outer(Inner(), [Inner(2)], {"x": Inner(3)})
    assert as_dict(value) == asdict(value)


def test_plain_data_reaches_records_within_records() -> None:
    @dataclass(frozen=True)
    class Holder:
        scores: tuple[Estimate, ...]
        by_name: dict[str, Estimate]

    plain = structs.asdict(ESTIMATE)
    assert as_dict(Holder((ESTIMATE,), {"x": ESTIMATE})) == {"scores": (plain,), "by_name": {"x": plain}}
    assert as_dict(TRANSCRIPT)["lines"] == ({"seat": "a", "text": "hello", "emotion": 40.0, "feeling": ""},)
