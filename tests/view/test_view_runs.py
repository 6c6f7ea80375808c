"""Runs: the conclusion first, numbers with interval and n, filters in the address, runs under way, locked studies."""

import re

import pytest

pytest.importorskip("starlette")

from small_study import rate
from view_case import View, fill, near, prepared, words

from eqlab.store.access import open_reader
from eqlab.store.store import Store
from eqlab.view.shelf import Shelf, Snapshot


def test_the_first_page_answers_who_is_best_and_how_certain(skilled_view):
    said = words(skilled_view.get("/"))
    assert "lab/careful is best: it scores" in said
    assert re.search(
        r"lab/careful 1 \d\d\.\d\d \d\d\.\d\d … \d\d\.\d\d 12 24 of 24", said
    )  # rank, score, interval, n, usable
    assert "No-skill baselines (the ticks): always 0:" in said
    assert "for any one row its true rank lies in its range with 95 % confidence" in said


def test_somebody_who_knows_nothing_reads_what_is_asked_and_what_the_score_means(skilled_view, skilled_store):
    _, run = skilled_store
    said = words(skilled_view.get("/"))
    (floor,) = {
        max(baseline.value for baseline in result.baselines)
        for held in skilled_view.site.shelf.look().runs
        for result in held.results
    }
    meaning = (
        "How strongly does somebody in a dialogue feel each of four emotions? Answers are held against a reference."
    )
    scale = rf"Higher is better, 100 at most; the best no-skill baseline, '[^']+', gets {floor:.1f}\."
    assert meaning in said.partition("lab/careful is best")[0]
    assert re.search(scale, said.partition("lab/careful is best")[0])
    for page in (
        skilled_view.get("/result", run=run, subject="model:lab/terse", b="eqbench"),
        skilled_view.get("/compare", s=run),
    ):
        assert meaning in words(page)


def test_answers_that_cannot_be_used_stand_first_and_the_table_says_what_at_worst_means(tmp_path):
    refused = "I would rather not guess."

    def reply(trial, subject, repeat):
        return refused if subject.endswith("hasty") and int(trial.id, 16) % 3 == 0 else near(trial, subject, repeat)

    run = fill(tmp_path / "s.db", prepared(limit=30), reply)
    view = View(tmp_path / "s.db")
    held = view.site.shelf.look().runs[0]
    lost = next(result for result in held.results if result.subject.endswith("hasty")).counts["unparseable"]
    assert 0 < lost < 30
    said = words(view.get("/"))
    assert f"{30 - lost} of 30" in said
    assert "30 of 30" in said
    assert "At worst: with every refused, unreadable or failed answer as the worst that its form allows." in said
    page = view.get("/result", run=run, subject="model:lab/hasty", b="eqbench")
    parts = (
        f"{lost} answers of 30 could not be used",
        "Worst items",
        "by emotion",
        "Score beside baselines",
        'id="items"',
    )
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert refused in words(page[places[0] : places[1]])
    assert refused in words(page[places[-1] :].partition("</tr>")[2].partition("</tr>")[0])  # and in the whole list
    worst = [float(score) for score in re.findall(r'<td>ok</td><td class="num">([-\d.]+)</td>', page)]
    assert worst[:5] == worst[5:10] == sorted(worst[5:])[:5]
    whole = words(view.get("/result", run=run, subject="model:lab/careful", b="eqbench"))
    assert "could not be used" not in whole


def test_from_an_emotion_to_its_items(skilled_view, skilled_store):
    page = skilled_view.get("/result", run=skilled_store[1], subject="model:lab/terse", b="eqbench")
    heat = page.partition('class="heat"')[2].partition("</table>")[0]
    values = [float(value) for value in re.findall(r">(\d+\.\d\d)</a>", heat)]
    assert len(values) > 3
    assert values == sorted(values, reverse=True)
    href = re.search(r'href="([^"]+topic=[^"]+)"', heat)[1].replace("&amp;", "&")
    few = skilled_view.client.get(href).text
    assert 0 < few.partition('id="items"')[2].count("/item?") < 24


def test_a_table_does_not_wait_for_its_place_among_published_models(skilled_store, monkeypatch):
    shelf = Shelf(str(skilled_store[0]))
    shown = []
    monkeypatch.setattr("eqlab.view.shelf.ladder", lambda group: shown.append(shelf.snapshot.groups))
    with open_reader(str(skilled_store[0])) as store:
        shelf.read(store)
    assert shown == [shelf.snapshot.groups]
    assert [len(group.rows) for group in shown[0]] == [3]
    assert shelf.snapshot.ladders == (None,)


def test_search_and_benchmark_are_in_the_address(skilled_view, skilled_store):
    page = skilled_view.get("/", q="hasty", b="eqbench")
    assert 'value="hasty"' in page
    assert page.count("data-key=") == 1
    assert "1 of 3; ranks are among all" in words(page)
    assert "No row fits" not in page
    nobody = words(skilled_view.get("/", q="nobody at all"))
    assert "lab/careful" not in nobody
    assert "No run fits." in nobody


def test_rows_are_ticked_for_a_comparison(skilled_view, skilled_store):
    page = skilled_view.get("/")
    picks = re.findall(r'name="s" value="([^"]+)"', page)
    assert picks == [f"{skilled_store[1]}:model:lab/{name}" for name in ("careful", "hasty", "terse")]
    said = words(skilled_view.get("/compare", s=picks[:2], b="eqbench"))
    assert "lab/careful is better than lab/hasty by" in said


def test_an_empty_store_shows_where_to_begin(tmp_path):
    Store(str(tmp_path / "new.db")).close()
    page = View(tmp_path / "new.db").get("/")
    said = words(page)
    assert "This store has no run yet." in said
    assert "eqlab run" in said
    (href,) = re.findall(r'class="button" href="([^"]+)"', page)
    assert "published" in href


def test_a_store_that_is_still_being_read_is_not_called_empty(skilled_store, monkeypatch):
    view = View(skilled_store[0])
    monkeypatch.setattr(view.site.shelf, "snapshot", Snapshot())
    said = words(view.get("/"))
    assert "The store is being read" in said
    assert "no run yet" not in said


def test_a_run_under_way(tmp_path):
    """Progress, what failed and why, what came last, without a word of a score it does not have."""

    def reply(trial, subject, repeat):
        return "I would rather not." if int(trial.id[:2], 16) % 5 == 0 else near(trial, subject, repeat)

    run = fill(tmp_path / "s.db", prepared(("lab/careful",)), reply, leave=4)
    view = View(tmp_path / "s.db")
    page = view.get(f"/run/{run}")
    said = words(page)
    assert "8 of 12 trials are answered" in said
    assert '<progress value="8" max="12"' in page
    assert '<noscript><meta http-equiv="refresh"' in page  # read without a script, too
    assert "Last answers" in said
    if "I would rather not." in said:
        assert "What failed, and why" in said
    with Store(str(tmp_path / "s.db")) as store:
        latest = store.latest(run, 3)
    assert len(latest) == 3
    assert {one.benchmark for one in latest} == {"eqbench"}


def test_new_answers_are_seen_at_the_next_look(tmp_path):
    plan = prepared(("lab/careful",))
    fill(tmp_path / "s.db", plan, leave=4)
    view = View(tmp_path / "s.db")
    before = view.site.shelf.snapshot
    view.read()
    assert view.site.shelf.snapshot is before  # nothing new: nothing is made again
    fill_rest(tmp_path / "s.db", plan)
    view.read()
    after = view.site.shelf.snapshot
    assert after.number > before.number
    assert (before.runs[0].answered, after.runs[0].answered) == (8, 12)
    assert after.groups[0].rows[0].result.headline.n == 12


def fill_rest(path, plan):
    from view_case import _answer

    with Store(str(path)) as store:
        trials = list(plan.plan())
        store.add_answers([_answer(plan, *one, near, 1_790_000_100.0, {}) for one in trials[-4:]])


def test_seeds_of_one_model_are_one_row_and_one_pick(tmp_path):
    runs = [fill(tmp_path / "s.db", prepared(("lab/careful", "lab/hasty"), seed=seed)) for seed in (0, 1)]
    view = View(tmp_path / "s.db")
    page = view.get("/")
    assert page.count("data-key=") == 2
    picks = re.findall(r'name="s" value="([^"]+)"', page)
    assert sorted(picks[0].partition(":")[0].split(",")) == sorted(runs)
    said = words(view.get("/compare", s=picks, b="eqbench"))
    assert "lab/careful is better than lab/hasty" in said
    row = view.site.shelf.snapshot.groups[0].rows[0]
    full = words(view.get("/result", run=row.record.config.id, subject=row.result.subject, b="eqbench"))
    assert "taken together as repeats" in full or "repeat 1" in full


def test_results_are_kept_without_texts(skilled_view):
    items = [item for one in skilled_view.site.shelf.snapshot.runs for result in one.results for item in result.items]
    assert len(items) == 72
    assert not any(item.text or item.shown or item.values for item in items)
    assert all(item.words for item in items)  # how long they were is known


def test_a_result_leads_to_its_items(skilled_view, skilled_store):
    page = skilled_view.get("/result", run=skilled_store[1], subject="model:lab/terse", b="eqbench", status="ok")
    assert "Items" in words(page)
    links = re.findall(r'href="(/item\?[^"]+)"', page)
    assert len(links) == 24 + 5  # the worst stand above, too
    said = words(skilled_view.client.get(links[0].replace("&amp;", "&")).text)
    assert "Answers of all models" in said
    assert "No item fits." in words(
        skilled_view.get("/result", run=skilled_store[1], subject="model:lab/terse", b="eqbench", status="refused")
    )


@pytest.mark.parametrize(
    "path", ["/run/none", "/result?run=last&subject=model:x&b=eqbench", "/result", "/item?run=last&b=eqbench&trial=x"]
)
def test_what_is_not_there_is_said(skilled_view, path):
    reply = skilled_view.client.get(path)
    assert reply.status_code == 400
    assert "Something went wrong" not in reply.text


def test_people_of_a_locked_study_are_not_shown(make_participation, tmp_path):
    """Before it is complete; its list of answers raises for everybody (`Reader.shut`)."""
    participation = make_participation()
    store = participation.store
    view = View(store.where)
    assert "is not shown here" not in view.get("/")
    with store.engine.begin() as connection:
        from sqlalchemy import text

        connection.execute(text("UPDATE studies SET locked_at = 1.0"))
    view.read()
    said = words(view.get("/"))
    assert "which is locked" in said
    assert "what people answered is not shown here" in said
    assert all(one.results == () for one in view.site.shelf.snapshot.runs if not one.stored.config.models)


def test_who_is_shut_out_while_a_page_is_open_leaves_its_numbers(make_participation):
    """A ban changes no number of answers."""
    participation = make_participation()
    people = [rate(participation, name, (1, 2, 3)) for name in "abc"]
    view = View(participation.store.where)

    def result():
        ((only,),) = (run.results for run in view.site.shelf.snapshot.runs)
        return only

    before = result()
    participation.send_away(people[0], "banned", "ada")
    view.read()
    assert "Not counted: 1 person whom a researcher has shut out." in result().caveats
    assert result().headline.n < before.headline.n


def test_a_store_of_0_1_is_brought_up_to_date_and_shown(tmp_path):
    import gzip
    import sqlite3
    from contextlib import closing
    from pathlib import Path

    sql = gzip.decompress((Path(__file__).parent.parent / "store" / "store_0_1.sql.gz").read_bytes()).decode()
    with closing(sqlite3.connect(tmp_path / "old.db")) as made:
        made.executescript(sql)
        made.execute("UPDATE studies SET locked_at = NULL")
        made.commit()
    view = View(tmp_path / "old.db")
    page = view.get("/")
    assert view.site.shelf.snapshot.runs
    assert view.site.shelf.snapshot.runs[0].id in page


def test_a_store_that_may_only_be_read(skilled_store, tmp_path):
    import os
    import shutil

    path = tmp_path / "ro" / "s.db"
    path.parent.mkdir()
    shutil.copy(skilled_store[0], path)
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        before = sorted(os.listdir(path.parent))
        assert "lab/careful is best" in words(View(path).get("/"))
        assert sorted(os.listdir(path.parent)) == before or os.getuid() == 0
    finally:
        path.parent.chmod(0o700)
