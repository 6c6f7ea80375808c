"""Studies that 0.2 began: they open, half-way people go on to the end, and the analysis says what it said.

`studies_0_2.sql.gz` is a store with a run of two models, a locked study of their replies (three people finished, one
half-way whose place went to another, one half-way, one who only opened the link, one who stopped, one erased) and a
study of talks with one talk half-way. `export_0_2.zip` is the export of the first study, without its Parquet files."""

import csv
import gzip
import re
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select
from talk_case import Person
from typer.testing import CliRunner
from web_case import SECRET, Site, fields_of

from eqlab.cli.main import app
from eqlab.core.runs import ModelConfig
from eqlab.store.access import open_store
from eqlab.store.schema import panel_ids, participants
from eqlab.store.study.lock import other_version, read_lock, standing
from eqlab.store.study.participation import Participation, TurnedAway
from eqlab.store.study.studies import check_begun, stored_file
from eqlab.study.build_design import open_study
from eqlab.study.panels import panel_hash, resume_code, tombstone
from eqlab.study.results.analysis import analyse, analysis_code
from eqlab.study.results.bundle import redo
from eqlab.study.results.export import export_all, table_breaks

HERE = Path(__file__).parent
RUN, RUNS = "c241e55ef2", {"rating": "0a79aafcd0", "talk": "4eb818a7b6"}
DESIGNS = {
    "rating": "24e9555e44539ebacae9919d176724138592e0e96ac192c7609570a584bfd299",
    "talk": "07285bdf85daa53967586246c6a646f8797afa69b9b5f98fe85f321040dab504",
}
NUMBERS = {
    "P(Good), cold": 83.33333333333334,
    "P(Good), warm": 66.66666666666666,
    "P(Good), warm − cold": -16.666666666666675,
    "gain in Good, warm over cold": -20.000000000000007,
}
LATER = 1_790_010_000.0
"""Hours after the last person came: what was held half-way has lapsed."""


def written(folder):
    path = folder / "old.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(gzip.decompress((HERE / "studies_0_2.sql.gz").read_bytes()).decode())
    connection.close()
    return path


@pytest.fixture
def old(tmp_path):
    path = str(written(tmp_path))
    assert CliRunner().invoke(app, ["runs", "store", "upgrade", "--store", path]).exit_code == 0
    store = open_store(path)
    yield store
    store.close()


def participation_of(store, study, folder, clock=lambda: LATER):
    path = folder / f"{study}.toml"
    path.write_text(stored_file(store, study))
    design = open_study(path, store)[1]
    check_begun(store, design)
    return Participation(store, design, clock)


def panel_id(number):
    return f"{number:024x}"


def person_of(participation, panel):
    query = select(panel_ids.c.person).where(
        panel_ids.c.study_id == participation.study.id, panel_ids.c.hash == panel_hash(SECRET, panel)
    )
    with participation.store.engine.connect() as connection:
        return connection.execute(query).scalar_one()


def to_the_end(participation, person):
    """Right where something is right, else the lowest answer; how the person ends."""
    while (view := participation.look(person)).step is not None:
        if view.step.kind == "consent":
            saved = participation.consent(person, agreed=True)
        else:
            scales = view.trial.form.scales if view.trial else ()
            values = dict(view.trial.key.get("right") or {scale.key: scale.low for scale in scales} if scales else {})
            saved = participation.save(person, view.number, view.attempt, values)
        assert saved.outcome == "saved"
    return view.state


def test_studies_and_their_runs_keep_their_ids_and_pages(old, tmp_path):
    for study, run in RUNS.items():
        design = participation_of(old, study, tmp_path).design
        assert (design.run.id, design.sha256) == (run, DESIGNS[study])
    assert set(old.run_ids()) == {RUN, *RUNS.values()}


def test_the_lock_holds_and_says_what_has_changed_since(old, tmp_path):
    rating = participation_of(old, "rating", tmp_path)
    lock = read_lock(rating)
    then = standing(rating, lock.version, lock.plan["code_sha256"])
    assert (then.label, then.done, then.planned) == ("interim", 3, 6)
    now = standing(rating, "0.3.0", "another")
    assert now.label == "exploratory"
    assert "code_sha256 was" in now.reason
    assert 'eqlab was "0.2.0", is "0.3.0"' in now.reason


def test_the_analysis_finds_the_same_numbers(old, tmp_path):
    found = analyse(participation_of(old, "rating", tmp_path))
    assert {one.name: one.value for one in found.result.estimates} == pytest.approx(NUMBERS)
    (contrast,) = found.planned
    assert contrast.estimate.value == pytest.approx(-1.0505159934013557, abs=1e-5)
    assert sorted(found.sample.excluded.values()) == [("failed_attention",), *[("incomplete",)] * 3]
    talk = analyse(participation_of(old, "talk", tmp_path)).result
    assert (talk.headline.name, talk.headline.value) == ("final emotion", 70.0)


def test_half_way_people_go_on_in_another_browser_and_finish(old, tmp_path):
    """With the code that 0.2 showed them. The place of the first had gone to another; the second's had only lapsed."""
    rating = participation_of(old, "rating", tmp_path)
    site = Site.over(old, [rating])
    for number, page, end in ((4, 5, "extra"), (5, 6, "finished")):
        person = person_of(rating, panel_id(number))
        assert rating.look(person).number == page
        with site.browser() as client:
            asked = client.get("/s/rating", params={"PROLIFIC_PID": panel_id(number)})
            who = re.search(r'name="who" value="([^"]+)"', asked.text).group(1)
            code = resume_code(SECRET, "rating", person)
            shown = client.post("/s/rating/resume", data={"who": who, "code": code})
            assert fields_of(shown.text)["step"] == str(page)
        assert to_the_end(rating, person) == end
    site.close_studies()
    came = person_of(rating, panel_id(6))
    assert to_the_end(rating, came) == "finished"
    assert standing(rating, "0.2.0").done == 5
    found = analyse(rating)
    assert len(found.sample.kept) == 5
    assert "5 of 6 places are done: the result is preliminary." in found.result.caveats


def test_who_was_erased_stays_out(old, tmp_path):
    from eqlab.core.moves import Arrival

    rating = participation_of(old, "rating", tmp_path)
    away = panel_id(8)
    with pytest.raises(TurnedAway, match="erased"):
        rating.admit(Arrival(panel_hash(SECRET, away), "en", tombstone=tombstone(SECRET, "rating", away)))


def test_a_talk_goes_on_with_its_next_turn(old, tmp_path, server):
    from eqlab.study.served_study import ServedStudy
    from eqlab.study.web.server import running
    from eqlab.study.web.settings import ServerSettings

    server.reply = lambda body, number: "I am here."
    with old.engine.connect() as connection:
        now = max(connection.execute(select(participants.c.seen_at)).scalars()) + 60
    talk = participation_of(old, "talk", tmp_path, lambda: now)
    models = {"kestrel": ModelConfig("good-model-x1", base_url=server.url)}
    with running([ServedStudy(talk, models)], ServerSettings(secret=SECRET)) as base:
        person = Person(base, "p-2")
        who = re.search(r'name="who" value="([^"]+)"', person.page.text).group(1)
        code = resume_code(SECRET, "talk", person_of(talk, "p-2"))
        person.page = person.client.post("/s/talk/resume", data={"who": who, "code": code})
        assert (person.place, person.state, person.lines[0]) == ((1, 2), "say", ("you", "Nobody listens."))
        person.say("Thank you.", 45).until_answered()
        assert person.lines[-1] == ("other", "I am here.")
        person.say("", 60)
        person.rate(6).finish()
        assert "C-COMPLETE" in person.text
        person.client.close()
    sent = [one["content"] for one in server.requests[0]["messages"]]
    assert sent[-3:] == ["Nobody listens.", "Reply of good-model-x1 to 15 characters: Cheer up.", "Thank you."]
    assert analyse(talk).result.headline.value == pytest.approx((70 + 60) / 2)


def test_an_export_has_the_files_and_columns_of_0_2(old, tmp_path):
    with zipfile.ZipFile(HERE / "export_0_2.zip") as exported:
        exported.extractall(tmp_path / "then")
    written = {path.name for path, _ in export_all(participation_of(old, "rating", tmp_path), tmp_path / "now")}
    assert {path.name for path in (tmp_path / "then").iterdir()} <= written
    for path in (tmp_path / "then").glob("*.csv"):
        then, now = (_lines(folder / path.name) for folder in (tmp_path / "then", tmp_path / "now"))
        if path.name == "codebook.csv":  # columns are described in better words since, and their values are listed
            then, now = (
                [{**line, "meaning": "", "anchors": ""} if line["part"] == "column" else line for line in lines]
                for lines in (then, now)
            )
        assert then == now


def _lines(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_analysis_is_done_again_from_an_export_of_0_2(tmp_path):
    with zipfile.ZipFile(HERE / "export_0_2.zip") as exported:
        exported.extractall(tmp_path)
    found, different = redo(tmp_path)
    assert different == []
    assert {one.name: one.value for one in found.result.estimates} == pytest.approx(NUMBERS)
    assert table_breaks(tmp_path) == []


@pytest.mark.parametrize("command", ["check", "status"])
def test_a_study_locked_by_another_version_says_so_before_more_people_are_asked(old, tmp_path, command):
    participation_of(old, "rating", tmp_path)
    file, store = str(tmp_path / "rating.toml"), str(tmp_path / "old.db")
    said = " ".join(CliRunner().invoke(app, ["study", command, file, "--store", store]).output.split())
    assert "with eqlab 0.2.0, and this is" in said
    assert "uv tool run --from 'eqlab[study]==0.2.0' eqlab study serve FILE" in said
    assert "on your copy from before that (--store)" in said
    talk = participation_of(old, "talk", tmp_path)
    assert other_version(talk, *analysis_code()) == ""  # never locked


@pytest.mark.parametrize("command", [["runs", "list"], ["study", "status", "rating.toml"], ["run", "embedded"]])
def test_nobody_upgrades_a_locked_study_in_passing(tmp_path, command):
    """Its server may be at work, and the version that locked it cannot read newer tables."""
    path = written(tmp_path)

    def everything():
        with closing(sqlite3.connect(path)) as opened:
            return list(opened.iterdump())

    before = everything()
    (tmp_path / "rating.toml").write_text("")
    said = CliRunner().invoke(app, [*command, "--store", str(path)]).exception
    assert "holds the study 'rating', locked with eqlab 0.2.0, and its tables are older (0006" in str(said)
    assert "uv tool run --from 'eqlab[study]==0.2.0'" in said.hint
    assert everything() == before
    copy = tmp_path / "copy.db"
    assert CliRunner().invoke(app, ["runs", "store", "backup", str(copy), "--store", str(path)]).exit_code == 0
    done = CliRunner().invoke(app, ["runs", "store", "upgrade", "--store", str(path)])
    assert (done.exit_code, done.output) == (0, "The store is up to date.\n")
    assert CliRunner().invoke(app, ["runs", "list", "--store", str(path)]).exit_code == 0
    with closing(sqlite3.connect(copy)) as kept:
        assert kept.execute("SELECT version_num FROM alembic_version").fetchall() == [("0006",)]


def test_a_store_whose_studies_are_not_locked_comes_up_to_date_by_itself(tmp_path):
    path = written(tmp_path)
    with closing(sqlite3.connect(path)) as begun, begun:
        begun.execute("UPDATE studies SET locked_at = NULL")
    assert CliRunner().invoke(app, ["runs", "list", "--store", str(path)]).exit_code == 0


def test_an_upgrade_makes_no_store_of_a_wrong_name(tmp_path):
    said = CliRunner().invoke(app, ["runs", "store", "upgrade", "--store", str(tmp_path / "lod.db")])
    assert "There is no store" in str(said.exception)
    assert list(tmp_path.iterdir()) == []
