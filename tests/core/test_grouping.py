from statistics import fmean

from hypothesis import given
from hypothesis import strategies as st

from eqlab.core.grouping import group_means, grouped

PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.one_of(st.none(), st.integers(-5, 5).map(float))))


def test_keys_and_values_keep_their_order():
    assert list(grouped([("b", 2), ("a", 1), ("b", 1)]).items()) == [("b", [2, 1]), ("a", [1])]
    assert grouped([]) == {}


@given(PAIRS)
def test_a_mean_is_of_the_values_that_are_defined(pairs):
    found = group_means(pairs)
    known = {key: [value for name, value in pairs if name == key and value is not None] for key in "abc"}
    assert found == {key: fmean(values) for key, values in known.items() if values}
