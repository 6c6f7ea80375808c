"""People of a study in the store are norms for whoever is asked the same; what was asked otherwise is said."""

import re
import sqlite3

import pytest
from filled_studies import filled, opened, template_text
from typer.testing import CliRunner
from view_case import fill, prepared

import eqlab as api
from eqlab.cli.main import app
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
    everybody = "everybody who answered, also whom the study's own rules leave out"
    assert found.norms.caution == f"{everybody}; each of them answered 4 of 8 {found.noun}"
    if kind == "eqbench":  # emobench's choices are nothing that the test's replies know
        assert found.percentile.value > 50
        assert percentile_sentence("m", found.percentile, found.norms).endswith("4 of 8 questions.")


def test_people_who_were_asked_otherwise_or_are_simulated_are_no_norm(tmp_path):
    where = studied(tmp_path, "seceu")
    same, other = (placed(where, "seceu", options=options) for options in ({}, {"order": "published"}))
    assert same["lab/careful"].percentile.value == 60.0  # two of the five gave the norm itself
    place = other["lab/careful"].percentile
    assert (place.value, place.n, place.note) == (None, 5, "they were asked with order=shuffled")
    assert placed(where, "emobench")["lab/careful"].percentile is None  # nobody was asked these
    with sqlite3.connect(where) as rows:
        rows.execute("UPDATE participants SET person = 'sim' || person")
        for table in ("answers", "planned"):
            rows.execute(f"UPDATE {table} SET subject = replace(subject, 'person:', 'person:sim')")
    rows.close()
    assert placed(where, "seceu", seed=1)["lab/careful"].percentile is None
    with api.open_store(str(where)) as store:
        (study,) = store.studies()
        (people,) = results(store, study.run)
    assert people.headline.value is None
    assert people.caveats[0] == "Not counted: 5 simulated people."


def test_outside_its_analysis_a_study_says_who_is_counted(tmp_path):
    """Neither simulated people nor whom a researcher has shut out; and where the study's own result is to be had."""
    where = studied(tmp_path, "eqbench")
    with sqlite3.connect(where) as rows:
        rows.execute("UPDATE studies SET locked_at = 1.0, status = 'closed'")
        rows.execute("UPDATE participants SET state = 'banned' WHERE rowid = 1")
    rows.close()
    with api.open_store(str(where)) as store:
        (people,) = results(store, store.studies()[0].run)
    assert people.norms.people == 4
    assert people.caveats[0] == "Not counted: 1 person whom a researcher has shut out."
    assert people.caveats[1].startswith("Everybody else who answered is counted here, also whom the plan leaves out;")
    assert people.caveats[1].endswith("'eqlab study analyze'.")


def test_an_open_study_says_so_too(tmp_path):
    where = studied(tmp_path, "eqbench")
    with api.open_store(str(where)) as store:
        (people,) = results(store, store.studies()[0].run)
    assert people.caveats[0].startswith("Everybody who answered is counted here, also whom the study file leaves out;")
    said = CliRunner().invoke(app, ["compare", "last", "--store", str(where)])
    assert "also whom the study file leaves out" in " ".join(said.output.split())
