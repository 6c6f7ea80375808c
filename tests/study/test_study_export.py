"""What leaves a study: complete, explained, in one order, and without a panel's id."""

import csv
import io
import json
from dataclasses import replace

import polars as pl
import pytest
from small_study import small_design, take
from sqlalchemy import insert

from eqlab.core.errors import UsageError
from eqlab.core.forms import Form
from eqlab.core.trials import Trial
from eqlab.instruments.catalogue import PANAS
from eqlab.instruments.wording import own_wording, scales
from eqlab.store.schema import events
from eqlab.store.study.records import erase_person
from eqlab.study.results.bundle import redo
from eqlab.study.results.export import (
    FORMATS,
    CodebookEntry,
    as_markdown,
    codebook,
    export_all,
    export_table,
    table_breaks,
    table_names,
)
from eqlab.study.results.participants import read_participants

HASH = "c0ffee" * 8


def read(participation, what):
    return pl.read_parquet(io.BytesIO(export_table(participation, what, "parquet")))


def asks_panas(**more):
    """The small study with the PANAS before it: an instrument whose words ship."""
    form = Form(scales(PANAS, own_wording(PANAS)))
    trial = Trial("instrument", ("PANAS",), "instrument", "How do you feel?", form, "", key={"instrument": "PANAS"})
    return replace(small_design(**more), instruments=(trial,))


@pytest.fixture
def taken(make_participation, clock):
    """One who finished, one who stopped in the middle, one who declined, one who failed the quiz at first."""
    participation = make_participation(asks_panas(batches=4))
    people = []
    for name in ("finishes", "stops", "declines", "second try"):
        people.append(participation.arrive(HASH + name, "en"))
        clock.now += 10
    take(participation, people[0])
    view = take(participation, people[1], until="trial")
    clock.now += 2
    participation.save(people[1], view.number, 1, {"rating": 3}, shown_at=clock.now - 1.5, away=0.4)
    participation.stop(people[1])
    participation.consent(people[2], agreed=False)
    view = take(participation, people[3], until="quiz")
    clock.now += 3
    participation.save(people[3], view.number, 1, {"quiz1": 2}, shown_at=clock.now - 3)
    take(participation, people[3])
    return participation, people


def test_answers_are_one_row_a_value_with_what_was_asked(taken):
    participation, people = taken
    frame = read(participation, "answers")
    own = frame.filter(pl.col("person") == people[1])
    assert own["kind"].to_list() == ["instrument"] * 20 + ["quiz", "trial"]
    last = own.row(-1, named=True)
    assert (last["value"], last["label"], last["scale"], last["benchmark"]) == (3, "Good", "rating", "rating")
    assert (last["seconds"], last["away"], last["page"], last["attempt"]) == (1.5, 0.4, 3, 1)
    assert last["reply_of"] == last["arm"] in ("a", "b")
    tries = frame.filter((pl.col("person") == people[3]) & (pl.col("kind") == "quiz"))
    assert tries.select("attempt", "value").rows() == [(1, 2), (2, 1)]
    whole = 20 + 1 + 2 + 1
    assert frame.height == whole + 22 + 0 + whole + 1


def test_participants_carry_checks_and_scores(taken):
    participation, people = taken
    rows = {row["person"]: row for row in read(participation, "participants").iter_rows(named=True)}
    assert [rows[person]["state"] for person in people] == ["finished", "stopped", "declined", "finished"]
    assert list(rows) == people  # in the order of arrival
    done, left, declined, second = (rows[person] for person in people)
    assert (done["PANAS Positive Affect"], done["PANAS Negative Affect"]) == (30.0, 30.0)
    assert declined["PANAS Positive Affect"] is None
    assert (done["attention_passed"], done["attention_failed"], done["trials_answered"]) == (1, 0, 2)
    assert (done["quiz_attempts"], second["quiz_attempts"], declined["quiz_attempts"]) == (1, 2, 0)
    assert done["straight_lining"]  # the middle of all twenty scales
    assert not declined["straight_lining"]
    assert (done["too_fast"], left["too_fast"]) == (0, 1)
    assert left["duration"] is None
    assert done["duration"] is not None


def test_csv_and_parquet_say_the_same(taken):
    participation, _ = taken
    for what in ("answers", "participants", "events"):
        frame = read(participation, what)
        rows = list(csv.DictReader(io.StringIO(export_table(participation, what, "csv").decode())))
        assert len(rows) == frame.height
        assert list(rows[0]) == frame.columns
        for row, other in zip(rows, frame.iter_rows(named=True), strict=True):
            for name, value in other.items():
                if isinstance(value, bool):
                    assert row[name] == str(value).lower()
                elif isinstance(value, int | float):
                    assert float(row[name]) == value
                elif isinstance(value, str):
                    assert row[name] == value
                elif value is None:
                    assert row[name] == ""
                else:
                    assert row[name] == value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"


def test_the_same_store_gives_the_same_bytes(taken):
    participation, _ = taken
    for what in table_names(participation.design):
        assert export_table(participation, what, "csv") == export_table(participation, what, "csv")


def test_codebook_explains_every_column_and_every_scale(taken):
    participation, _ = taken
    entries = codebook(participation.design)
    for table in ("answers", "participants", "events"):
        explained = [entry.name for entry in entries if entry.part == "column" and entry.table == table]
        assert explained == read(participation, table).columns
    assert all(entry.meaning for entry in entries)
    used = {(row["benchmark"], row["scale"]) for row in read(participation, "answers").iter_rows(named=True)}
    known = {(entry.table, entry.name): entry for entry in entries if entry.part == "scale"}
    assert used <= set(known)
    for trial in participation.design.trials.values():
        for scale in trial.form.scales:
            entry = known[trial.benchmark, scale.key]
            assert (entry.low, entry.high, entry.reverse) == (scale.low, scale.high, scale.reverse)
            assert all(f"{value} = {label}" in entry.anchors for value, label in scale.anchors)
    assert known["instrument", "upset"].source == PANAS.source
    assert known["instrument", "upset"].licence == PANAS.licence
    assert known["quiz", "quiz1"].right == "1"
    assert sum(entry.table == "attention" for entry in entries) == 3  # one for each instruction
    text = export_table(participation, "codebook", "md").decode()
    assert all(f"`{entry.name}`" in text for entry in entries)


def test_words_of_a_study_are_only_words_in_the_codebook(taken):
    """Anybody may have written a title, a scale or an anchor: no tag, link, image or further cell comes of them."""
    hostile = "<img src=x onerror=alert(1)> [a](http://b) ![c](d) `e` | *f*\n# g"
    entry = CodebookEntry("scale", hostile, "a`b|c", hostile, "integer", 1, 3, f"1 = {hostile}", False, hostile)
    text = as_markdown(hostile, [entry])
    assert not set("<>[]*`") & set(text.replace("`a'b\\|c`", "").replace("|---|", ""))
    assert text.count("\n# ") == 0
    assert text.splitlines()[-1].replace("\\|", "").count("|") == 9


def test_no_panel_id_or_hash_leaves(taken, tmp_path):
    participation, people = taken
    assert participation.release(HASH + "stops", "event-1", "RETURNED")
    written = export_all(participation, tmp_path / "out")
    assert {path.name for path, _ in written} == {
        *(f"{what}.{fmt}" for what in table_names(participation.design) for fmt in FORMATS),
        "codebook.md",
        *("study.json", "study.toml", "records.jsonl", "questions.jsonl", "result.json", "redo.py"),
    }
    for path, _ in written:
        content = path.read_bytes()
        assert b"c0ffee" not in content
        assert b"event-1" not in content
    assert people[0] in (tmp_path / "out" / "answers.csv").read_text()


def test_erased_people_are_in_no_table_but_counted(taken):
    participation, people = taken
    erase_person(participation, people[0])
    for what in ("answers", "participants", "events"):
        assert people[0].encode() not in export_table(participation, what, "csv")
    participants = read_participants(participation)
    assert (participants.erased, len(participants.people)) == (1, 3)


def test_formulas_are_disarmed_in_csv_and_kept_in_parquet(make_participation):
    participation = make_participation(arms=("=1+1", "@b"))
    for name in "ab":
        take(participation, participation.arrive(name, "en"))
    rows = list(csv.DictReader(io.StringIO(export_table(participation, "answers", "csv").decode())))
    assert {row["reply_of"] for row in rows if row["reply_of"]} == {"'=1+1", "'@b"}
    assert {"=1+1", "@b"} <= set(read(participation, "answers")["reply_of"].to_list())


def test_events_are_in_order_with_their_detail(taken):
    participation, people = taken
    frame = read(participation, "events")
    own = frame.filter(pl.col("person") == people[2])["kind"].to_list()
    assert own == ["arrived", "declined"]
    saved = frame.filter((pl.col("person") == people[1]) & (pl.col("kind") == "saved")).row(-1, named=True)
    assert (saved["page"], json.loads(saved["detail"])) == (3, {"away": 0.4})
    assert frame["number"].to_list() == list(range(1, frame.height + 1))


def test_half_a_letter_of_a_servers_error_stops_no_export(taken, tmp_path):
    """One that is stored: the table of events was refused for good, and with it the whole export."""
    participation, people = taken
    detail = json.dumps({"page": 3, "why": "cannot take: \ud83d\ude00 \ud83d", "more": ["\ud83d", "\\ud83d"]})
    happened = {"study_id": "small", "person": people[0], "at": 1.0, "kind": "down", "detail": detail}
    with participation.store.engine.begin() as connection:
        connection.execute(insert(events), happened)
    last = read(participation, "events").row(-1, named=True)
    assert json.loads(last["detail"]) == {"why": "cannot take: 😀 ?", "more": ["?", "\\ud83d"]}
    export_all(participation, tmp_path)
    assert table_breaks(tmp_path) == []
    assert redo(tmp_path)[1] == []


def test_unknown_table_or_format_is_refused(make_participation):
    participation = make_participation()
    for what, fmt in (("panel_ids", "csv"), ("answers", "md"), ("answers", "xlsx")):
        with pytest.raises(UsageError, match="There is no export"):
            export_table(participation, what, fmt)


def test_an_empty_study_exports_empty_tables(make_participation):
    participation = make_participation()
    assert read(participation, "answers").height == 0
    assert read(participation, "participants").columns[:2] == ["person", "state"]


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_tables_for_spss_and_stata_hold_the_same_with_labels(taken, tmp_path, ending):
    pyreadstat = pytest.importorskip("pyreadstat")
    participation, _ = taken
    written = export_all(participation, tmp_path, labelled=ending)
    tables = table_names(participation.design)[:-1]
    assert {path.name for path, rows in written if rows is not None} >= {f"{what}.{ending}" for what in tables}
    for what in tables:
        frame = pl.read_parquet(tmp_path / f"{what}.parquet")
        path = tmp_path / f"{what}.{ending}"
        back, told = getattr(pyreadstat, f"read_{ending}")(path, apply_value_formats=True, output_format="polars")
        assert all(told.column_labels)
        assert back.height == frame.height
        for name, found in zip(frame.columns, back.columns, strict=True):
            if frame[name].dtype in (pl.String, pl.Int64, pl.Float64):
                put = frame[name].fill_null("") if frame[name].dtype == pl.String else frame[name]
                assert [one if one is not None or put.dtype != pl.String else "" for one in back[found]] == list(put)
    _, told = getattr(pyreadstat, f"read_{ending}")(tmp_path / f"participants.{ending}", output_format="polars")
    assert told.variable_value_labels["state"][3] == "finished"
    assert told.column_names_to_labels["PANAS_Positive_Affect"].startswith("Positive and Negative Affect")
    with pytest.raises(UsageError, match="no format 'xls'"):
        export_all(participation, tmp_path, labelled="xls")
