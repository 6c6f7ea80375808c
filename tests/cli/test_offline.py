"""After installation, without network or published data: published models can be compared, ranked and reported."""

import pytest


@pytest.fixture
def offline(eqlab, tmp_path):
    """The command line with an empty cache, no store and no server."""
    return lambda *arguments: eqlab(*arguments, EQLAB_CACHE=tmp_path / "cache")


def test_compare(offline):
    done = offline("compare", "published:gpt-4-0314", "published:gpt-4-0613", "published:Qwen-72B-Chat")
    assert done.code == 0, done.err
    for score in ("85.73", "84.79", "80.70"):
        assert score in done.out
    assert "n = 171" in done.out


def test_names_that_fit_no_model_or_several(offline):
    assert "2 published models" in offline("compare", "published:gpt-4").err
    none = offline("compare", "published:nobody")
    assert none.code == 1
    assert "eqlab research reproduce eqbench" in none.err


def test_leaderboard(offline, tmp_path):
    done = offline("leaderboard", "build", "site", "--published", "--no-runs")
    assert done.code == 0, done.err
    assert "54 entries: gpt-4-0314 (85.73) and gpt-4-0613 (84.79) cannot be told apart" in done.out
    assert "figures that ship with eqlab" in done.err
    page = next((tmp_path / "site" / "models").glob("gpt-4-0314-*[0-9a-f].html")).read_text()
    assert "eqlab data fetch eqbench" in page


def test_report(offline, tmp_path):
    done = offline("report", "published:gpt-4-0314", "published:gpt-4-0613", "--items")
    assert done.code == 0, done.err
    html = (tmp_path / "eqlab-report.html").read_text()
    assert "gpt-4-0314 (85.73) and gpt-4-0613 (84.79) cannot be told apart" in html
    items = (tmp_path / "eqlab-report-items" / "subject-1-items-1.html").read_text()
    assert items.count("Its text is not here") == 100
    assert "No words from the subject" not in items


def test_reproduce(offline):
    done = offline("reproduce", "eqbench")
    assert done.code == 0, done.err
    assert "54 of 54 files agree" in done.out
    assert "figures that ship with eqlab" in done.out


def test_what_needs_the_questions_still_says_how_to_get_them(offline):
    done = offline("run", "m", "-b", "eqbench", "--base-url", "http://x", "--items", "published")
    assert done.code == 1
    assert "eqlab data fetch eqbench" in done.err


def test_a_named_folder_without_results_is_said(offline, tmp_path):
    (tmp_path / "data").mkdir()
    for command in (["compare", "published"], ["reproduce", "eqbench"], ["report", "published:gpt-4-0314"]):
        done = offline(*command, "--data", tmp_path / "data")
        assert done.code == 1
        assert f"eqlab data fetch --data {tmp_path / 'data'} eqbench" in done.err
