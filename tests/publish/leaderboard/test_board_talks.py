"""Talks in the leaderboard: every one can be read, no published one is, and what a score depends on is said."""

import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "runs"))
from scripted import is_speaker, speak, talk

import eqlab as api
from eqlab.publish.leaderboard.build import Sources, build
from eqlab.publish.leaderboard.submission import make_submission, write_submission


@pytest.fixture
def store(tmp_path):
    opened = api.open_store(str(tmp_path / "s.db"))
    yield opened
    opened.close()


@pytest.fixture
def hold(server, store):
    def go(*models, speakers="s", **more):
        def reply(body, number):
            return speak(body, lean=3 * (body["model"] == "warm")) if is_speaker(body) else talk(body, number)

        server.reply = reply
        there = ",".join(f"{one}@{server.url}" for one in speakers.split(","))
        request = api.Request(
            models,
            "dialogue",
            base_url=server.url,
            options={"speaker": there},
            **{"limit": 5, "profile": "full"} | more,
        )
        return store.find_run(api.run(api.prepare(request), store).run)

    return go


def test_every_talk_is_read_from_the_board(hold, store, tmp_path):
    hold("good", "plain", speakers="cold,warm")
    folder = tmp_path / "site"
    built = build(folder, Sources(store))
    pages = sorted(path.name for path in (folder / "talks").iterdir())
    assert pages == sorted(
        ["index.html", *(f"persona-{n}.html" for n in range(1, 6)), *(f"talk-{n}.html" for n in range(1, 21))]
    )
    front = (folder / "index.html").read_text()
    assert 'href="talks/index.html"' in front
    for line, entry in built.boards[0].entered:
        assert entry.result.proviso in front.replace("&#39;", "'"), "no number of several speakers without this line"
        page = (folder / "models" / f"{entry.id}.html").read_text()
        assert f'href="../talks/index.html#listener={line.name}"' in page
    one = (folder / "talks" / "talk-1.html").read_text()
    assert 'href="../index.html">Leaderboard<' in one
    assert "http://127" not in one


def test_pages_of_talks_that_are_gone_are_removed(hold, store, tmp_path):
    hold("good")
    folder = tmp_path / "site"
    build(folder, Sources(store))
    assert (folder / "talks" / "talk-5.html").is_file()
    other = api.open_store(str(tmp_path / "other.db"))
    build(folder, Sources(other, published=True))
    other.close()
    assert not list((folder / "talks").iterdir())


def test_talks_of_published_personas_stay_at_home(hold, store, tmp_path, published):
    hold("good", items="published", data=published)
    folder = tmp_path / "site"
    build(folder, Sources(store))
    assert not (folder / "talks").exists()
    said = "".join(path.read_text() for path in folder.rglob("*.html"))
    assert "Read the talks" not in said
    assert "Line after" not in said


def test_a_submission_with_talks_is_scored_anew_and_read(hold, store, tmp_path):
    pytest.importorskip("cryptography")
    body = make_submission(store, hold("plain"))
    write_submission(body, tmp_path / "in.json")
    folder = tmp_path / "site"
    built = build(folder, Sources(None, [tmp_path / "in.json"]))
    assert not built.refused
    assert len(list((folder / "talks").glob("talk-*.html"))) == 5
    answers = [row for row in body["answers"] if "Emotion: " in row[6]]
    place = body["answers"].index(answers[-1])
    body["answers"][place][6] = answers[-1][6].replace("Emotion: ", "Emotion: 1")
    write_submission(body, tmp_path / "in.json")
    assert build(folder, Sources(None, [tmp_path / "in.json"])).refused, "a feeling was changed after the fact"
