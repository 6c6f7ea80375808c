"""People of a study in the store are norms for whoever is asked the same; what was asked otherwise is said."""

import re

import pytest
from filled_studies import filled, opened, template_text
from view_case import fill, prepared

import eqlab as api
from eqlab.core.text import percentile_sentence
from eqlab.runs.score import results

MODELS = ("lab/careful", "lab/terse")


def studied(tmp_path, kind):
    """A store with five people, each of whom answered four of eight open items; says where it is."""
    where = tmp_path / "s.db"
    with api.open_store(str(where)) as store:
        text = template_text(kind, store).replace("\nseed = 1\n", "\nseed = 1\nlimit = 8\n")
        text = re.sub(r"batch_size = \d+", "batch_size = 4", text)
        filled(opened(tmp_path / "study.toml", text, store), store, 5)
    return where


def placed(where, kind, **more):
    run = fill(where, prepared(MODELS, (kind,), limit=8, items="open", repeats=1, **more))
    with api.open_store(str(where)) as store:
        return {one.subject.removeprefix("model:"): one for one in results(store, run)}


@pytest.mark.parametrize("kind", ["eqbench", "emobench"])
def test_people_of_a_study_are_norms(tmp_path, kind):
    found = placed(studied(tmp_path, kind), kind)["lab/careful"]
    assert (found.norms.people, found.norms.source) == (5, f"people of study '{kind}'")
    assert found.norms.caution == f"each of them answered 4 of 8 {found.noun}"
    if kind == "eqbench":  # emobench's choices are nothing that the test's replies know
        assert found.percentile.value > 50
        assert percentile_sentence("m", found.percentile, found.norms).endswith("4 of 8 questions.")


def test_people_who_were_asked_otherwise_or_are_simulated_are_no_norm(tmp_path, monkeypatch):
    where = studied(tmp_path, "seceu")
    same, other = (placed(where, "seceu", options=options) for options in ({}, {"order": "published"}))
    assert same["lab/careful"].percentile.value == 60.0  # two of the five gave the norm itself
    place = other["lab/careful"].percentile
    assert (place.value, place.n, place.note) == (None, 5, "they were asked with order=shuffled")
    assert placed(where, "emobench")["lab/careful"].percentile is None  # nobody was asked these
    monkeypatch.setattr("eqlab.core.moves.is_simulated", lambda person: True)
    place = placed(where, "seceu", seed=1)["lab/careful"].percentile
    assert (place.value, place.note) == (None, "the people are simulated")
