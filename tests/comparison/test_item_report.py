"""Items judged by many subjects: a planted bad item comes first, and the published board shows what is known of it."""

import json

import numpy as np
import pytest

from eqlab.comparison.item_report import item_report
from eqlab.core.errors import UsageError


def points(seed, subjects=60, items=20, bad=3):
    draw = np.random.default_rng(seed)
    ability = draw.normal(0, 1, subjects)
    slope = np.full(items, 8.0)
    slope[bad] = -8.0
    table = 60 + np.outer(ability, slope) + draw.normal(0, 6, (subjects, items))
    table[: subjects // 2, 5] += 20  # easier for the first family
    return {f"s{i}": {f"q{k}": float(v) for k, v in enumerate(row)} for i, row in enumerate(table)}


def test_a_planted_item_comes_first_and_a_family_is_seen():
    own = points(1)
    families = {name: "one" if int(name[1:]) < 30 else "two" for name in own}
    found = item_report(own, families)
    assert found.tables[0].rows[0][0] == "q3"
    assert dict(found.items)["q3"].rest < 0
    assert "1 of 20 items correlates negatively" in found.sentence
    assert found.tables[-1].rows[0][0] == "q5"
    assert found.tables[-1].rows[0][1].value == pytest.approx(20, abs=6)


def test_few_subjects_are_refused():
    with pytest.raises(UsageError, match="4 models"):
        item_report(dict(list(points(1).items())[:4]), {})


def test_the_published_board(eqlab):
    done = eqlab("items", "report", "published", "--json")
    assert done.code == 0, done.err
    body = json.loads(done.out)
    assert body["subjects"] == 54
    assert len(body["items"]) == 171
    assert sum(one["upper"] < 0 for one in body["items"]) == 30
    assert sum(one["rest"] < 0 for one in body["items"]) == 0
    shown = eqlab("items", "report", "published", "--limit", "3")
    assert "among the better half 30 of 171" in " ".join(shown.out.split())
