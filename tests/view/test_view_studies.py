"""Studies: how they stand, and not a word of what people answered."""

import pytest

pytest.importorskip("starlette")

from view_case import View, words


def test_a_study_is_listed_with_its_state(make_participation):
    participation = make_participation()
    said = words(View(participation.store.where).get("/studies"))
    assert "This store has 1 study with people." in said
    assert f"{participation.study.id} " in said
    assert "not locked" in said
    assert "under way" in said
    (row,) = participation.store.studies()
    assert (row.done, row.status, row.locked_at) == (0, "open", None)
    assert row.places > 0


def test_none(skilled_view):
    assert "This store has no study with people." in words(skilled_view.get("/studies"))
