"""Over time: versions in their order, and only clear changes called changes."""

import re

import pytest

pytest.importorskip("starlette")

from view_case import View, fill, prepared, words


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """Three versions of a model, run one after the other; the last is the best by far."""
    path = tmp_path_factory.mktemp("trend") / "s.db"
    for name in ("lab/terse", "lab/terse-2", "lab/careful"):
        fill(path, prepared(models=(name,), limit=30))
    return View(path)


def test_versions_in_their_order_and_the_clear_step_alone_is_called_one(versions):
    said = words(versions.get("/trend", table=1))
    assert re.search(r"\d of 2 steps (is|are) clear \(Holm, 5 %\): .*lab/careful is better than the one before", said)
    newest = [said.rindex(name, 0, said.index("Changes are paired")) for name in ("lab/careful", "lab/terse-2")]
    assert newest == sorted(newest)


def test_one_alone_has_no_course_and_no_table_is_said(versions):
    said = words(versions.get("/trend", table=1, q="careful"))
    assert "Nothing came after another here" in said
    assert "terse" not in said
    assert "no such table" in words(versions.get("/trend", code=400, table=9))


def test_models_of_one_run_do_not_follow_each_other(skilled_view):
    said = words(skilled_view.get("/trend", table=1))
    assert "Nothing came after another here" in said
    assert "Models of one run were asked at once" in said
    assert "worse" not in said


def test_the_first_page_leads_there(versions):
    assert 'href="/trend?table=1"' in versions.get("/")


def test_a_page_as_a_file_stands_alone(versions):
    page = versions.get("/trend", table=1)
    (href,) = re.findall(r'href="([^"]+file=1)" download', page)
    answer = versions.client.get(href.replace("&amp;", "&"))
    assert answer.headers["content-disposition"] == 'attachment; filename="eqlab-trend.html"'
    assert "<style>" in answer.text
    assert "default-src 'none'" in answer.text
    assert "lab/careful" in answer.text
    for elsewhere in ("<script", 'href="/', 'src="', "/static/", versions.site.token, versions.site.form_mark):
        assert elsewhere not in answer.text, elsewhere
