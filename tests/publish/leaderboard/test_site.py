"""The site: what is on the front page, how large it is, that nothing foreign gets out of its cell, and what changed."""

import csv
import json
import re
import shutil
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from msgspec import structs

from eqlab.analysis.comparison import paired
from eqlab.comparison.verdict import Verdict, from_intervals
from eqlab.core.errors import DataError, UsageError
from eqlab.core.item_columns import ItemColumns
from eqlab.core.results import Estimate, ItemScore
from eqlab.publish.leaderboard import build as build_module
from eqlab.publish.leaderboard import site as site_module
from eqlab.publish.leaderboard.build import Sources, build, published_entries, published_reader
from eqlab.publish.leaderboard.entries import run_entries
from eqlab.publish.leaderboard.site import BoardSite, site_files
from eqlab.publish.leaderboard.tables import Board, boards, unlike

pytest_plugins = ["loopback_runs"]
QUESTIONS = "data/eq_bench_v2_questions_171.json"


@pytest.fixture(scope="session")
def entries(published):
    return list(published_entries(published_reader(published)))


@pytest.fixture(scope="session")
def files(entries):
    made = dict(site_files(BoardSite(boards(entries), [], None, [], 1.8e9, "0")))
    return {name: content if name.endswith(".parquet") else content.decode() for name, content in made.items()}


def test_every_published_model_is_ranked_as_its_items_allow(entries, golden):
    (board,) = boards(entries)
    with (golden / "eqbench.csv").open() as file:
        known = len(list(csv.DictReader(file)))
    assert len(board.entered) == len(entries) == known
    for _, entry in board.entered:
        scores = list(entry.item_scores.values())
        assert np.mean(scores) == pytest.approx(entry.result.headline.value, abs=1e-9)
        assert len(scores) == entry.result.headline.n
    top = board.entered[0][0]
    assert top.name == "gpt-4-0314"
    assert top.rank[0] == 1 < top.rank[1]
    assert board.sentence.startswith("gpt-4-0314 (85.73) and gpt-4-0613 (84.79) cannot be told apart with these 171")
    assert re.search(r"\d+ of 53 pairs of adjacent models", board.sentence)
    assert {"always 3", "random"} <= {line.name for line in board.lines if line.kind == "baseline"}


def test_published_words_do_not_get_into_the_site(entries, files):
    said = next(item.text for item in entries[0].result.items if len(item.text) > 80)
    word = next(iter(entries[0].result.items[0].reference))
    for name, content in files.items():
        if not name.endswith(".parquet"):
            assert said[:60] not in content
    items = [
        content
        for name, content in files.items()
        if ("-items" in name or "/items-" in name) and isinstance(content, str)
    ]
    assert items
    assert not any(f'"{word}"' in content for content in items)


def test_texts_are_shown_to_a_reader_who_wants_them(entries):
    one = replace(entries[0], texts=True)
    pages = dict(site_files(BoardSite(boards([one]), [], None, [], 1.8e9, "0")))
    page = pages[f"models/{one.id}-items-1.html"].decode()
    assert 'class="reply"' in page


def hundred(entries):
    """As many as the promise names, with long names."""
    return [
        replace(
            entry,
            source=f"{entry.source}-{copy}",
            result=replace(
                entry.result,
                subject=f"model:organisation-{copy}/a-model-with-a-long-name-{copy}-{i}",
                items=tuple(structs.replace(item, text=f"{item.text} {copy}") for item in entry.result.items),
            ),
        )
        for copy in range(2)
        for i, entry in enumerate(entries)
    ][:100]


ROW = re.compile(r'<tbody role="rowgroup" class="\w+">.*?</tbody>')


def test_the_front_page_of_a_hundred_models_is_small_and_pages_have_them_all(entries, monkeypatch):
    (board,) = boards(hundred(entries))
    site = BoardSite([board], [], None, [], 1.8e9, "0")
    made = {name: content.decode(errors="replace") for name, content in site_files(site)}
    monkeypatch.setattr("eqlab.publish.leaderboard.site.WHOLE", 1000)
    whole = dict(site_files(site))["index.html"].decode()
    front, rows = made["index.html"], ROW.findall(whole)
    assert len(front.encode()) < 150_000 < len(whole.encode())
    assert len(rows) == len(board.lines) > 100
    assert ROW.findall(front) == rows[:50]
    pages = re.findall(r'href="(table-[^"]+)"', front)
    assert len(pages) == 2
    assert [row for page in pages for row in ROW.findall(made[page])] == rows  # to the last figure
    (said,) = re.findall(r"Reliability of[^<]*", whole)
    assert all(said in made[page] for page in ("index.html", *pages))
    at_length = [name for page in pages for name in re.findall(r'<th scope="row"><bdi>([^<]+)</bdi></th>', made[page])]
    assert at_length == [line.name for line in board.length.lines]
    assert all(target in made for page in pages for target in re.findall(r'href="([^"#]+\.html)"', made[page]))


@pytest.fixture
def many_files(published, tmp_path):
    """Some result files, one of them twice."""
    data = tmp_path / "data" / "eqbench"
    (data / "data").mkdir(parents=True)
    (data / "results").mkdir()
    shutil.copy(published / "eqbench" / QUESTIONS, data / QUESTIONS)
    for number, path in enumerate(published_reader(published).files()[:21]):
        shutil.copy(path, data / "results" / f"{number:02}.json")
    shutil.copy(data / "results" / "00.json", data / "results" / "copy.json")
    return data / "results"


def built_files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}


def test_published_results_scored_on_two_processes_make_the_same_site(many_files, tmp_path, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1.8e9)
    sources = Sources(published=True, data=tmp_path / "data")
    for name, processes, many in (("few", 1, 80), ("one", 1, 2), ("two", 2, 2)):
        monkeypatch.setattr(build_module, "_MANY", many)
        (board,) = build(tmp_path / name, sources, processes=processes).boards
        assert [line.why_no_rank for line in board.lines if "word for word" in line.why_no_rank]
        assert not any(item.text or item.shown for _, entry in board.entered for item in entry.result.items)
    assert built_files(tmp_path / "few") == built_files(tmp_path / "one") == built_files(tmp_path / "two")
    (many_files / "03.json").write_text("{")
    with pytest.raises(DataError, match=r"03\.json"):
        build(tmp_path / "two", sources, processes=2)


def test_figures_of_published_results_are_kept_until_their_file_changes(many_files, tmp_path, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1.8e9)
    monkeypatch.setattr(build_module, "_MANY", 2)
    monkeypatch.setenv("EQLAB_CACHE", str(tmp_path / "cache"))
    scored, figures = [], build_module._figures_of_files
    monkeypatch.setattr(
        build_module, "_figures_of_files", lambda data, files: scored.extend(files) or figures(data, files)
    )
    sources = Sources(published=True, data=tmp_path / "data")

    def builds(name):
        scored.clear()
        build(tmp_path / name, sources)
        return [path.name for path in scored], built_files(tmp_path / name)

    everything, first = builds("a")
    assert len(everything) == 22
    again, second = builds("a")
    assert again == []
    assert {path.name for path in first if first[path] != second[path]} == {"index.html"}  # nothing has changed
    body = json.loads((many_files / "05.json").read_bytes())
    for iteration in body["raw_results"].values():
        iteration["raw_inference"]["1"] = "no"
    (many_files / "05.json").write_text(json.dumps(body))
    (many_files / "copy.json").unlink()
    changed, third = builds("a")
    assert changed == ["05.json"]
    (kept,) = (tmp_path / "cache").rglob("*.figures")
    kept.write_bytes(kept.read_bytes()[:1000])
    assert len(builds("a")[0]) == 21
    assert [page for path, page in builds("b")[1].items() if path.match("data/items-*")] == [
        page for path, page in third.items() if path.match("data/items-*")
    ]
    (question,) = (tmp_path / "data").rglob("*questions*")
    question.write_bytes(question.read_bytes() + b" ")
    assert len(builds("a")[0]) == 21


def test_the_page_that_compares_two_is_bounded_and_says_so(entries, files, monkeypatch):
    monkeypatch.setattr("eqlab.publish.leaderboard.site.COMPARED", 12)
    (board,) = boards(entries)
    made = {
        name: content.decode(errors="replace")
        for name, content in site_files(BoardSite([board], [], None, [], 1.8e9, "0"))
        if name.endswith(".html")
    }
    best = {entry.id for _, entry in board.entered[:12]}
    data = json.loads(re.search(r'id="data">(.*?)</script>', made["compare.html"], re.DOTALL)[1])
    assert {model[0] for model in data["tables"][0]["models"]} == best
    assert f"the best 12 of {len(board.entered)} rows are here" in made["compare.html"]
    assert "Compare two of the best" in made["index.html"]
    linked = {one for page in made.values() for one in re.findall(r"compare\.html#a=([\w-]+)", page)}
    linked |= {one for page in made.values() for one in re.findall(r"&amp;b=([\w-]+)", page)}
    assert linked == best
    assert "rows are here" not in files["compare.html"]
    assert "Compare any two" in files["index.html"]


def test_a_table_that_fits_is_on_the_front_page_alone(files, entries):
    assert files["index.html"].count('class="model"') == len(entries)
    assert not any(name.startswith("table-") for name in files)


def test_every_table_has_its_files_and_every_link_leads_somewhere(files):
    for name, content in files.items():
        if name.endswith(".html"):
            folder = name.rpartition("/")[0]
            for target in re.findall(r'href="([^"#]+)', content):
                path = "/".join(part for part in (folder, target) if part)
                while "/../" in path:
                    path = re.sub(r"[^/]+/\.\./", "", path, count=1)
                assert path in files or path == "board.json", (name, target)
    rows = json.loads(files[next(name for name in files if name.startswith("data/board-") and name.endswith(".json"))])
    frame = pl.read_parquet(files[next(name for name in files if re.match(r"data/board-.*\.parquet", name))])
    assert frame["score"].to_list() == [row["score"] for row in rows]
    assert frame["name"].to_list() == [row["name"] for row in rows]


def test_a_page_holds_a_hundred_items_at_most(files):
    pages = {name: content for name, content in files.items() if re.search(r"-items-\d+\.html$", name)}
    assert {content.count('<th scope="row">') for content in pages.values()} == {100, 71}


def test_a_hostile_name_stays_in_its_cell(run, store, tmp_path):
    name = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u202e"
    run(name, "other")
    build(tmp_path / "site", Sources(store=store))
    for path in (tmp_path / "site").rglob("*.html"):
        content = path.read_text()
        assert "<script>alert" not in content
        assert "<img" not in content
        assert "\u202e" not in content
    compared = (tmp_path / "site" / "compare.html").read_text()
    data = re.search(r'id="data">(.*?)</script>', compared, re.DOTALL).group(1)
    assert any("</script>" in model[1] for model in json.loads(data)["tables"][0]["models"])


def test_own_runs_show_replies_and_the_same_replies_are_ranked_once(run, store, tmp_path):
    run("alpha", "gamma")
    run("alpha", settings={"temperature": 0.5})
    built = build(tmp_path / "site", Sources(store=store))
    (board,) = built.boards
    assert {"alpha", "alpha (temperature 0.5)"} <= {line.name for line in board.lines}
    ranked = [line for line in board.lines if line.rank]
    copies = [line for line in board.lines if "word for word" in line.why_no_rank]
    assert len(board.entered) == 3
    assert len(copies) >= 1
    assert len(ranked) + len(copies) == 3
    page = next((tmp_path / "site" / "models").glob("alpha-*-items-1.html")).read_text()
    assert "<pre" in page


def test_seeds_of_one_model_are_one_row(run, store, tmp_path):
    runs = [run("alpha", "gamma", seed=seed).id for seed in (0, 1)]
    (board,) = build(tmp_path / "site", Sources(store=store)).boards
    assert [line.name for line, _ in board.entered] == sorted(
        ["alpha", "gamma"], key=lambda name: -score_of(board, name)
    )
    for _, entry in board.entered:
        assert {item.repeat for item in entry.result.items} == {0, 1}
        assert any(all(one in said for one in runs) for said in entry.result.caveats)


def score_of(board, name):
    return next(line.estimate.value for line in board.lines if line.name == name)


def test_changes_since_the_last_build(run, store, tmp_path):
    run("alpha", "beta-model")
    site = tmp_path / "site"
    assert build(site, Sources(store=store)).changed == []
    assert "This is the first build" in (site / "index.html").read_text()
    assert build(site, Sources(store=store)).changed == []
    assert "Nothing has changed" in (site / "index.html").read_text()
    run("newcomer")
    built = build(site, Sources(store=store))
    assert ("newcomer", "new") in [(change.name, change.what) for change in built.changed]
    assert "newcomer" in (site / "data" / "changes.csv").read_text()
    state = json.loads((site / "board.json").read_text())
    state["tables"][0]["rows"][0]["score"] += 5
    state["tables"][0]["rows"].append({"id": "x", "name": "gone-one", "score": 1.0, "digits": 2, "rank": [1, 2]})
    state["files"] += ["models/x.html", "../outside.txt"]
    (site / "board.json").write_text(json.dumps(state))
    (site / "models" / "x.html").write_text("old")
    (tmp_path / "outside.txt").write_text("keep")
    built = build(site, Sources(store=store))
    assert {change.what for change in built.changed} == {"score", "gone"}
    assert not (site / "models" / "x.html").exists()
    assert (tmp_path / "outside.txt").exists()


def test_a_folder_with_other_things_is_left_alone(run, store, tmp_path):
    run("alpha")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="no leaderboard"):
        build(tmp_path / "mine", Sources(store=store))
    with pytest.raises(UsageError, match="nothing to put"):
        build(tmp_path / "empty", Sources())
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "board.json").write_text("{}")
    with pytest.raises(UsageError, match="last build"):
        build(tmp_path / "site", Sources(store=store))


def test_runs_with_other_items_or_modes_have_tables_of_their_own(run, store, tmp_path):
    run("alpha")
    run("alpha", limit=6)
    built = build(tmp_path / "site", Sources(store=store))
    assert sorted(len(board.items) for board in built.boards) == [6, 12]


def test_empathy_shows_whose_replies_were_rated_and_says_what_is_left_out(run, store):
    from eqlab.core.results import OfOthers

    stored = run("alpha")
    left_out: dict[str, str] = {}
    (entry,) = run_entries(store, stored, left_out)
    share = Estimate("P(Good), human", 60.0, 50, None, 50.0, 70.0, "%", digits=1)
    others = OfOthers("Empathy", "replies called Good", (("human", share), ("model:x", share)), "human")
    rated = replace(
        entry.result, benchmark="rating", subject="judge:j", others=others, rules={"purpose": "judging"}, items=()
    )
    from eqlab.publish.leaderboard.entries import _arms

    (board,) = boards(_arms(entry.record, rated, "r", 0))
    assert {line.name: line.kind for line in board.lines} == {"human": "people", "x": "model"}
    assert not left_out


def test_differences_without_items_come_from_the_intervals():
    a = Estimate("a", 10.0, 20, None, 8.0, 13.0)
    b = Estimate("b", 4.0, 30, None, 1.0, 6.0)
    found = from_intervals(a, b)
    assert (found.value, found.n) == (6.0, 50)
    assert found.low == pytest.approx(6 - np.hypot(2, 2))
    assert found.high == pytest.approx(6 + np.hypot(3, 3))
    assert from_intervals(a, structs.replace(b, value=None)).value is None
    assert from_intervals(a, structs.replace(b, low=None)).low is None


def test_neighbours_are_compared_as_compare_does(entries, files):
    (board,) = boards(entries)
    (first, one), (second, other) = board.entered[:2]
    gap = paired(board.row(one), board.row(other))
    page = files[f"models/{one.id}.html"]
    assert f"{gap.low:.2f} to {gap.high:.2f}" in page
    assert first.name in page
    assert second.name in page


def test_a_pair_of_neighbours_is_tested_once_and_turned_for_the_other(entries, monkeypatch):
    (board,) = boards(entries)
    names = [line.name for line in board.subjects[:6]]
    direct = [board.verdict.pair(below, above) for above, below in pairwise(names)]
    tested = []
    whole = Verdict.pair
    monkeypatch.setattr(Verdict, "pair", lambda own, *pair: tested.append(pair) or whole(own, *pair))
    for above, below in pairwise(names):
        board.pair(above, below)
    turned = [board.pair(below, above) for above, below in pairwise(names)]
    assert len(tested) == len(names) - 1
    assert [_shown(pair) for pair in turned] == [_shown(pair) for pair in direct]


def _shown(pair):
    gap = pair.difference
    return gap.value, gap.n, gap.se, gap.low, gap.high, pair.separated, pair.why, pair.better and pair.better.name


def test_every_ranked_model_stands_at_equal_length_too(entries, files):
    (board,) = boards(entries)
    assert {line.name for line in board.lines if line.rank} == set(board.at_length)
    assert board.length.slope.n == len(board.items)
    rows = json.loads(files[f"data/board-{board.key}.json"])
    for row in rows:
        equal = board.at_length.get(row["name"]) if row["kind"] == "model" else None
        assert row["score_at_equal_length"] == (equal.estimate.value if equal else None)
    # brief answers go with a negative slope here, so brief subjects lose and long ones gain, all along one slope
    slope, common = board.length.slope.value, np.log2(board.length.words)
    for line in board.length.lines:
        moved = line.score.value - slope * (np.log2(line.words) - common)
        assert line.estimate.value == pytest.approx(moved)


def test_people_of_a_study_are_a_row_even_where_their_score_is_undefined(entries):
    known = Estimate("Alignment", None, 1266, note="they were asked half of it", digits=1, of="people")
    (board,) = boards([replace(one, result=replace(one.result, people=known)) for one in entries[:3]])
    (line,) = [line for line in board.lines if line.kind == "people"]
    assert (line.name, line.rank, line.estimate.value) == ("People, published (1266)", None, None)
    assert board.lines[-1] is line
    made = dict(site_files(BoardSite([board], [], None, [], 1.8e9, "0")))
    html = made["index.html"].decode()
    assert "People, published (1266): undefined, because they were asked half of it." in html
    row = next(row for row in json.loads(made[f"data/board-{board.key}.json"]) if row["kind"] == "people")
    assert (row["score"], row["n"], row["not_ranked_because"]) == (None, 1266, known.note)
    seen = structs.replace(known, value=70.0, low=60.0, high=80.0)
    (board,) = boards([replace(one, result=replace(one.result, people=seen)) for one in entries[:3]])
    assert board.lines.index(next(line for line in board.lines if line.study)) < len(board.lines) - 1


def test_tables_of_one_name_and_item_set_say_what_differs():
    asked = ("item set published (sha256 a43b…)", "profile full", "options language = en, revision = no")
    plain = Board("1", "eqbench", "EQ-Bench v2", asked, "", (0.0, 100.0), (), (), (), Verdict(()))
    revised = replace(plain, facts=(*asked[:2], "options language = en, revision = yes"))
    assert unlike(plain, [plain]) == ()
    assert unlike(plain, [plain, replace(plain, title="Another", facts=revised.facts)]) == ()
    assert replace(revised, unlike=unlike(revised, [plain, revised])).label == (
        "EQ-Bench v2, item set published, revision = yes"
    )


def stamps(site):
    return {str(path.relative_to(site)): path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()}


def test_pages_whose_inputs_are_the_same_are_neither_made_nor_written_again(run, store, tmp_path, monkeypatch):
    site = tmp_path / "site"
    for name in ("alpha", "beta"):
        run(name)
    first = build(site, Sources(store=store))
    assert first.kept == 0
    before = stamps(site)
    made = []
    rendered = site_module.page_bytes
    monkeypatch.setattr(
        site_module, "page_bytes", lambda name, /, **given: made.append(name) or rendered(name, **given)
    )
    again = build(site, Sources(store=store))
    after = stamps(site)
    models = {name for name in before if name.startswith("models/") or "-replies." in name}
    assert again.kept == len(models) > 4
    assert {name for name in before if after[name] == before[name]} == models
    assert set(made) == {"compare.html.j2", "board.html.j2"}

    run("gammas")  # one more: items of the others stay, their ranks may not
    third = build(site, Sources(store=store))
    now = stamps(site)
    items = {name for name in models if "-items-" in name or "replies" in name}
    assert all(now[name] == before[name] for name in items)
    assert third.kept >= len(items)
    fresh = tmp_path / "fresh"
    build(fresh, Sources(store=store))
    for name in stamps(fresh):
        if name.startswith(("models/", "data/")) and "changes" not in name and not name.endswith(".parquet"):
            assert untimed(site / name) == untimed(fresh / name), name


def test_items_in_columns_tell_a_page_as_the_items_themselves_do():
    """Boards of results that were kept made and wrote every page anew: nobody knew how to hash their items."""
    items = (ItemScore("open-1", "t1", 0, "ok", 3.0), ItemScore("open-2", "t2", 0, "ok", 5.0))
    site = BoardSite((), (), None, (), 0.0, "0.3", code="program")
    assert site.digest(items)
    assert site.digest(ItemColumns.of(items)) == site.digest(items)
    assert site.digest(ItemColumns.of(items[:1])) != site.digest(items)


def untimed(path):
    return re.sub(r'<time datetime="[^"]+">[^<]+</time>', "", path.read_text())


def test_a_page_that_was_changed_or_lost_is_made_again(run, store, tmp_path):
    site = tmp_path / "site"
    run("alpha")
    run("beta")
    build(site, Sources(store=store))
    one, other, third = sorted((site / "models").glob("*.html"))[:3]
    whole = one.read_bytes()
    one.write_bytes(whole + b"<script>")
    other.unlink()
    state = json.loads((site / "board.json").read_bytes())
    state["made_from"][f"models/{third.name}"] = "broken"
    (site / "board.json").write_text(json.dumps(state))
    build(site, Sources(store=store))
    assert b"<script>" not in one.read_bytes()
    assert other.is_file()
    state["made_from"] = ["broken"]
    (site / "board.json").write_text(json.dumps(state))
    assert build(site, Sources(store=store)).kept == 0


def test_a_build_that_fails_leaves_the_last_one_as_it_was(run, store, tmp_path, monkeypatch):
    """Pages are written as they are made, beside the others, and take their places when all are there."""
    site = tmp_path / "site"
    run("alpha")
    build(site, Sources(store=store))
    before = {name: (site / name).read_bytes() for name in stamps(site)}
    run("beta")
    with monkeypatch.context() as broken:
        broken.setattr(site_module, "compare_data", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            build(site, Sources(store=store))
    assert {name: (site / name).read_bytes() for name in stamps(site)} == before
    (site / ".under-way" / "models").mkdir(parents=True)  # killed: nobody could clean
    (site / ".under-way" / "models" / "old.html").write_text("old")
    build(site, Sources(store=store))
    assert not (site / ".under-way").exists()
    assert not (site / "models" / "old.html").exists()


def test_a_large_table_is_text_in_parts(monkeypatch):
    """No more than a batch of rows is text at once, and the whole is what it was."""
    rows = [{"text": f"r{number}", "score": number / 7} for number in range(25)]
    schema = {"text": str, "score": float}
    whole = dict(site_module.table_files("t", rows, schema))
    monkeypatch.setattr(site_module, "_ROWS", 10)
    parts = {file.name: list(file.parts()) for file in site_module._table_parts("t", rows, schema)}
    assert {name: b"".join(some) for name, some in parts.items()} == whole
    assert [len(parts[name]) for name in ("t.csv", "t.json")] == [4, 4]
    assert json.loads(whole["t.json"]) == rows
    assert whole["t.csv"].decode().splitlines()[:2] == ["text,score", "r0,0.0"]
    assert json.loads(dict(site_module.table_files("t", [], schema))["t.json"]) == []


def test_draws_of_a_large_board_are_kept_and_a_damaged_file_is_no_harm(tmp_path, monkeypatch):
    from eqlab.analysis.ranks import _last_drawn, rank_sets

    random = np.random.default_rng(5)
    table = np.round(random.normal(np.linspace(0, 3, 30)[:, None], 1, (30, 20)), 2)
    keeper = build_module.KeptDraws(tmp_path / "kept", "site-a")

    def ranges(rows):
        _last_drawn.clear()
        return rank_sets(rows, draws=100, first=False, keeper=keeper).ranges

    assert keeper.get() is None
    ranges(table[:29])
    assert keeper.get() is None, "a small table is drawn faster than read"
    monkeypatch.setattr(build_module, "KEPT", 10)
    ranges(table[:29])
    kept = keeper.get()
    assert (len(kept.rows), kept.drawn) == (29, (20, 100, 0, 5))
    _last_drawn.clear()
    alone = rank_sets(table, draws=100, first=False).ranges
    assert ranges(table) == alone
    assert len(keeper.get().rows) == 30
    (path,) = (tmp_path / "kept").iterdir()
    for damaged in (b"", b"PK\x03\x04", path.read_bytes()[:2000]):
        path.write_bytes(damaged)
        assert keeper.get() is None
        assert ranges(table) == alone
    monkeypatch.setattr(build_module, "_program", lambda: "another program")
    assert keeper.get() is None
    monkeypatch.setattr(build_module, "_MOST_KEPT", 1)
    build_module.KeptDraws(tmp_path / "kept", "site-b").put(kept)
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["site-b.npz"]
    (tmp_path / "file").write_text("")
    build_module.KeptDraws(tmp_path / "file", "site-c").put(kept)  # a place that cannot be written keeps nothing
