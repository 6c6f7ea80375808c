"""The report with item pages in a real browser, from disk: profile, heat map, a cell's items, and nothing for axe."""

import re

import pytest
from later import Later

pytest.importorskip("playwright")

from eqlab.core.results import ByEmotion, Estimate, ItemScore, Result
from eqlab.core.runs import BenchmarkConfig, ModelConfig, RunConfig
from eqlab.publish.groups import RunRecord
from eqlab.publish.report.page import item_files, render

expect = Later("playwright.sync_api", "expect")


def result(subject, benchmark, value):
    items = tuple(
        ItemScore(f"i{n}", f"t{n}", 0, "ok", float(n % 9), f"Item {n}", "Calm: 3", {"Calm": 3}, {"Calm": 5}, {}, 1,
                  topics=("anger", "joy") if n % 2 else ("anger",))
        for n in range(6)
    )  # fmt: skip
    head = Estimate(benchmark, value, 6, 2.0, value - 4, value + 4)
    by_emotion = tuple(
        Estimate(name, level, 6, 0.3, level - 1, level + 1) for name, level in (("anger", 2.0), ("joy", 5.0))
    )
    return Result(
        benchmark, benchmark, subject, {"mode": "text"}, "It scores.", head, (0.0, 100.0), (), {"planned": 6, "ok": 6},
        items, emotions=ByEmotion("deviation", by_emotion),
        beside_people=((head, Estimate("people", 50.0, 99, 1.0, 48.0, 52.0, of="people")),),
    )  # fmt: skip


@pytest.fixture
def report(tmp_path):
    models = (ModelConfig("a/one"), ModelConfig("b/two"))
    config = RunConfig(models, (BenchmarkConfig("first", 1, "open", "ab" * 32),), "full", None, None, 0)
    found = [
        result(f"model:{name}", test, 40.0 + 20 * k) for k, name in enumerate("ab") for test in ("first", "second")
    ]
    records = [RunRecord(config, 0.0, {}, tuple(found))]
    folder = tmp_path / "r-items"
    folder.mkdir()
    for name, content in item_files(records, back="../r.html", generated_at=0.0, version="1"):
        (folder / name).write_bytes(content)
    path = tmp_path / "r.html"
    path.write_text(render(records, generated_at=0.0, version="1", items="r-items"), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (360, "dark")])
def test_report_and_item_pages(watched, report, width, scheme):
    page, check = watched(width, scheme)
    page.goto(report.as_uri())
    check()
    expect(page.locator("table.profiled")).to_have_count(2)
    page.locator("table.heat td a").first.click()
    check()
    expect(page.get_by_role("heading", name="Items about anger")).to_be_visible()
    page.locator("tbody th a").first.click()
    check()
    expect(page).to_have_url(re.compile("#item-"))
    page.get_by_role("link", name="Report").click()
    expect(page).to_have_url(re.compile("^" + re.escape(report.as_uri())))
