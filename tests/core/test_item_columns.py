import json
import pickle
from collections.abc import Sequence

import pytest

from eqlab.core.item_columns import ItemColumns, Repeated, small_numbers
from eqlab.core.results import ItemScore, as_dict, field_of
from eqlab.core.values import dataclass

ITEMS = (
    ItemScore("a", "t1", 0, "ok", 0.5, "First", "two words", {"joy": 3}, {"joy": 4}, topics=("joy",), points=5.0),
    ItemScore("b", "t2", 0, None, None, "Second"),
    ItemScore("a", "t1", 1, "refused", None, "First", "", attempts=300, topics=("joy",), words_absent=7),
)


def test_items_in_columns_are_the_same_one_by_one_in_slices_and_in_another_process():
    columns = ItemColumns.of(ITEMS)
    for items in (columns, pickle.loads(pickle.dumps(columns))):
        assert [items[place] for place in (0, 1, 2, -1)] == [*ITEMS, ITEMS[-1]]
        assert (items[1:], items[::-2]) == (ITEMS[1:], ITEMS[::-2])
        assert [list(field_of(items, name)) for name in ("item", "words")] == [["a", "b", "a"], [2, 0, 7]]
        assert tuple(items) == ITEMS  # last, for from here on they stay
    with pytest.raises(IndexError):
        columns[3]


def test_items_made_of_columns_have_defaults_where_none_is_given():
    seen = Repeated.of(["t1", "t2", "t1"])
    made = ItemColumns.made(3, {"item": Repeated(["a", "b"], seen.places), "trial": seen, "repeat": [0, 0, 1]})
    assert made == [ItemScore(*named, None, None) for named in (("a", "t1", 0), ("b", "t2", 0), ("a", "t1", 1))]


def test_other_scores_are_those_of_all_items_also_of_those_with_words():
    lean = ItemColumns.lean(ITEMS, numbers=False).instead({0: ITEMS[0]})
    scored = lean.scored_as([5.0, None, 2.0])
    assert [item.score for item in scored] == list(field_of(scored, "score")) == [5.0, None, 2.0]
    assert (scored[0].text, scored[2].text, lean[0].score) == ("two words", "", 0.5)


@pytest.mark.parametrize(("largest", "size"), [(255, 1), (256, 2), (70_000, 4), (2**40, 8), (-1, 8)])
def test_whole_numbers_take_as_few_bytes_as_the_largest_needs(largest, size):
    numbers = small_numbers([0, largest])
    assert (numbers.itemsize, list(numbers)) == (size, [0, largest])


@dataclass(frozen=True, slots=True)
class Holder:
    items: Sequence[ItemScore]


def test_items_in_columns_are_written_as_json_like_any_others():
    """`study simulate --json` of a study of replies ended with a trace."""
    in_columns, one_by_one = (json.dumps(as_dict(Holder(items))) for items in (ItemColumns.of(ITEMS), ITEMS))
    assert in_columns == one_by_one
