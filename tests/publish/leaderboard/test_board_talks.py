"""Talks in the leaderboard: every one can be read, no published one is, and what a score depends on is said."""

import pytest
from loopback_runs import scores_for
from scripted import is_speaker, speak, talk

import eqlab as api
from eqlab.core.results import Estimate, ItemScore, Result, Transcript, Utterance
from eqlab.core.runs import BenchmarkConfig, RunConfig
from eqlab.publish.leaderboard.build import Sources, _shown, build
from eqlab.publish.leaderboard.entries import BoardEntry
from eqlab.publish.leaderboard.site import BoardSite, site_files
from eqlab.publish.leaderboard.submission import make_submission, write_submission
from eqlab.publish.leaderboard.tables import boards
from eqlab.publish.report.page import RunRecord


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


def test_pages_of_talks_that_are_gone_are_removed(hold, store, server, tmp_path):
    hold("good")
    folder = tmp_path / "site"
    build(folder, Sources(store))
    assert (folder / "talks" / "talk-5.html").is_file()
    other = api.open_store(str(tmp_path / "other.db"))
    server.reply = lambda body, number: scores_for(body, lambda index: index)
    request = api.Request(("m",), ("eqbench",), base_url=server.url, profile="full", limit=6)
    api.run(api.prepare(request), other)
    build(folder, Sources(other))
    other.close()
    assert not list((folder / "talks").iterdir())


def test_talks_of_published_personas_stay_at_home(hold, store, tmp_path, published):
    hold("good", items="published", data=published)
    folder = tmp_path / "site"
    build(folder, Sources(store))
    assert not (folder / "talks").exists()
    said = "".join(path.read_text() for path in folder.rglob("*.html"))
    assert "Read the talks" not in said
    assert "Utterance after" not in said


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


def test_what_people_said_is_not_for_a_public_site():
    """In either seat, on no page and in no file."""
    config = RunConfig((), (BenchmarkConfig("dialogue", 1, "open", "ab" * 32),), "full", None, None, 0)
    secret = "I never told anybody this."
    for subject, partner, listener in (("people", "sim", "person:1"), ("people", "person:1", "model:m")):
        lines = (
            Utterance("speaker", secret, 30.0),
            Utterance("listener", secret),
            Utterance("speaker", secret, 50.0, secret),
        )
        told = Transcript("p1", "t", "x", 0, partner, "open", "left", 50.0, (30.0, 50.0), lines, listener=listener)
        item = ItemScore("p1", "x", 0, "ok", 50.0, text=secret, points=50.0)
        head = Estimate("final emotion", 50.0, 9, 1.0, 48.0, 52.0)
        result = Result(
            "dialogue", "Dialogue", subject, {}, "", head, (0.0, 100.0), items=(item,) * 6, transcripts=(told,)
        )
        entry = BoardEntry(RunRecord(config, 0.0, {}, (result,)), result, "run", "r", 9)
        site = BoardSite(boards([_shown(entry, True)]), [], None, [], 0.0, "1")
        files = dict(site_files(site))
        assert not any(name.startswith("talks/") for name in files)
        assert not any(secret.encode() in content for content in files.values())
