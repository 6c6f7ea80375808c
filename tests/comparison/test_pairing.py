"""When two are compared item by item: from half of the smaller side's items on."""

import pytest

from eqlab.comparison.contender import Contender
from eqlab.comparison.verdict import _table, pair, paired_on
from eqlab.core.results import Estimate


def sharing(name, shared, n=10):
    """A contender with `n` items, the first `shared` of which everybody has."""
    points = {f"{k}" if k < shared else f"{name}{k}": float(k * k % 7) for k in range(n)}
    return Contender(name, Estimate("score", 3.0, n, low=2.0, high=4.0), points, "s")


@pytest.mark.parametrize(("shared", "method"), [(4, "unpaired"), (5, "paired")])
def test_half_of_the_items_make_a_pair_and_fewer_do_not(shared, method):
    a, b = sharing("a", 10), sharing("b", shared)
    assert pair(a, b).difference.method == method
    assert paired_on(a, b) == (shared if method == "paired" else 0)


def test_half_of_the_smaller_side_is_enough():
    assert pair(sharing("a", 40, n=40), sharing("b", 5)).difference.method == "paired"


@pytest.mark.parametrize(("shared", "together"), [(4, False), (5, True)])
def test_many_are_one_table_where_every_two_share_half(shared, together):
    table = _table([sharing("a", 10), sharing("b", 10), sharing("c", shared)])
    assert (table is not None) is together


def test_a_difference_stays_on_the_scale():
    """Five clear wins and a clear loss: Student's interval alone would reach beyond what can be."""
    won, lost = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    a, b = (
        Contender(
            name,
            Estimate("score", sum(own) / 6, 6),
            {str(place): value for place, value in enumerate(own)},
            "s",
            bounds=(0.0, 1.0),
        )
        for name, own in (("a", won), ("b", lost))
    )
    found = pair(a, b).difference
    assert found.value == pytest.approx(2 / 3)
    assert found.high == 1.0
    assert found.low is not None
    assert found.low > -1.0
