"""The reader of talks in a real browser, from disk: search, filters, two side by side, and nothing for axe."""

import pytest
from later import Later

pytest.importorskip("playwright")

from eqlab.core.results import Estimate, Result, Transcript, Utterance
from eqlab.core.runs import BenchmarkConfig, ModelConfig, RunConfig
from eqlab.publish.groups import RunRecord
from eqlab.publish.report.talk_pages import talk_files

expect = Later("playwright.sync_api", "expect")


def held(who, item, score, outcome):
    lines = (
        Utterance("speaker", f"I tell of {item}.", 30.0),
        Utterance("listener", f"{who} replies."),
        Utterance("speaker", "So.", score, "why"),
    )
    return Transcript(item, f"About {item}", "t", 0, "sim", outcome, "left", score, (30.0, score), lines)


@pytest.fixture
def folder(tmp_path):
    config = RunConfig(
        (ModelConfig("a/one"), ModelConfig("b/two"), ModelConfig("c/three")),
        (BenchmarkConfig("dialogue", 1, "open", "ab" * 32),), "full", None, None, 0,
    )  # fmt: skip
    found = []
    for place, name in enumerate(("a/one", "b/two", "c/three")):
        talks = (held(name, "the dog", 90.0 - place, "success"), held(name, "the job", 5.0, "failure"))
        head = Estimate("final emotion", 50.0, 2)
        found.append(Result("dialogue", "Dialogue", f"model:{name}", {}, "", head, (0.0, 100.0), transcripts=talks))
    records = [RunRecord(config, 0.0, {}, tuple(found))]
    for name, content in talk_files(records, back="../r.html", generated_at=0.0, version="1"):
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (360, "dark")])
def test_reading_talks(watched, folder, width, scheme):
    page, check = watched(width, scheme)
    page.goto(f"file://{folder}/index.html")
    check()
    rows = page.locator("tbody tr:visible")
    expect(rows).to_have_count(6)
    page.get_by_label("search").fill("TELL dog")
    expect(rows).to_have_count(3)
    page.get_by_label("listener").select_option("b/two")
    expect(rows).to_have_count(1)
    page.get_by_label("outcome").select_option("failure")
    expect(rows).to_have_count(0)
    expect(page.get_by_role("status")).to_contain_text("0 of 6")
    page.get_by_label("search").fill("")
    expect(rows).to_have_count(1)

    page.get_by_role("link", name="side by side").locator("visible=true").click()
    shown = page.locator(".beside > section:visible")
    expect(shown).to_have_count(2)
    expect(shown.nth(0)).to_contain_text("b/two")
    page.get_by_label("Right").select_option(label="c/three · speaker sim")
    expect(shown.nth(1)).to_contain_text("c/three")
    check()
    shown.nth(1).get_by_role("link").click()
    expect(page.get_by_text("c/three replies.")).to_be_visible()
    expect(page.get_by_text("why", exact=True).nth(1)).to_be_hidden()
    page.locator("summary").first.click()
    check()
    where = page.url
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/talk-5.html")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(where)
    page.goto(f"file://{folder}/index.html#listener=b%2Ftwo&outcome=success")
    expect(rows).to_have_count(1)  # as a model's page links here
