"""The reader of talks in a real browser, from disk: search, filters, two side by side, and nothing for axe."""

import pytest

from eqlab.core.results import Estimate, Line, Result, Transcript
from eqlab.core.runs import BenchmarkConfig, ModelConfig, RunConfig
from eqlab.publish.groups import RunRecord
from eqlab.publish.report.talk_pages import talk_files


def held(who, item, score, outcome):
    lines = (
        Line("speaker", f"I tell of {item}.", 30.0),
        Line("listener", f"{who} replies."),
        Line("speaker", "So.", score, "why"),
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
def test_reading_talks(browser, folder, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: said.type == "error" and problems.append(said.text))
    page.on("request", lambda asked: asked.url.startswith("file:") or problems.append(asked.url))

    def check():
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()

    page.goto(f"file://{folder}/index.html")
    check()
    rows = page.locator("tbody tr:visible")
    assert rows.count() == 6
    page.get_by_label("search").fill("TELL dog")
    assert rows.count() == 3
    page.get_by_label("listener").select_option("b/two")
    assert rows.count() == 1
    page.get_by_label("outcome").select_option("failure")
    assert rows.count() == 0
    assert "0 of 6" in page.get_by_role("status").inner_text()
    page.get_by_label("search").fill("")
    assert rows.count() == 1

    page.get_by_role("link", name="side by side").locator("visible=true").click()
    shown = page.locator(".beside > section:visible")
    assert shown.count() == 2
    assert "b/two" in shown.nth(0).inner_text()
    page.get_by_label("Right").select_option(label="c/three · speaker sim")
    assert "c/three" in shown.nth(1).inner_text()
    check()
    shown.nth(1).get_by_role("link").click()
    assert page.get_by_text("c/three replies.").is_visible()
    assert not page.get_by_text("why", exact=True).nth(1).is_visible()
    page.locator("summary").first.click()
    check()
    where = page.url
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/talk-5.html")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(where)
    page.goto(f"file://{folder}/index.html#listener=b%2Ftwo&outcome=success")
    assert rows.count() == 1, "as a model's page links here"
    assert problems == []
    context.close()
