"""Talks to read: hostile words stay words, nothing is loaded, every talk is reached, every filter has its data."""

import re

from test_page import HOSTILE, Page, record, result

from eqlab.core.results import Transcript, Utterance
from eqlab.publish.report.page import render
from eqlab.publish.report.talk_pages import INDEX, searched, talk_files, talk_pages
from eqlab.tables.svg import course


def talk(item, partner="sim", score=55.0, text="Fine.", **more):
    lines = (
        Utterance("speaker", "My dog died.", 30.0),
        Utterance("listener", text),
        Utterance("speaker", "Thanks.", score, "so kind"),
    )
    values = (30.0, score) if score is not None else ()
    return Transcript(item, f"About {item}", "t", 0, partner, "open", "stayed", score, values, lines, **more)


def files(*records):
    return {
        name: content.decode() for name, content in talk_files(records, back="../r.html", generated_at=0.0, version="1")
    }


def two(**first):
    one = result("model:a/one", 50.0, transcripts=(talk("p1", **first), talk("p2")))
    return record(one, result("model:b/two", 40.0, transcripts=(talk("p1"), talk("p2", "other"))))


def test_every_talk_has_a_page_and_every_persona_one():
    made = files(two())
    assert sorted(made) == [INDEX, "persona-1.html", "persona-2.html", *(f"talk-{n}.html" for n in range(1, 5))]
    rows = [dict(attrs) for tag, attrs in Page(made[INDEX]).tags if tag == "tr" and "data-words" in attrs]
    assert [(row["data-listener"], row["data-persona"]) for row in rows] == [
        ("a/one", "About p1"), ("b/two", "About p1"), ("a/one", "About p2"), ("b/two", "About p2"),
    ]  # fmt: skip
    assert all("my dog died." in row["data-words"] for row in rows)
    links = {attrs["href"] for html in made.values() for tag, attrs in Page(html).tags if tag == "a"}
    inside = {link.split("#")[0] for link in links if not link.startswith("..")}
    assert inside == set(made)
    both = made["persona-1.html"]
    assert both.count("<section id=") == 2
    assert "<details><summary>why</summary>" in both
    assert "<details open" not in both


def test_hostile_words_stay_words():
    made = files(two(text=HOSTILE, partner=HOSTILE))
    for html in made.values():
        Page(html)
        assert "<script>alert" not in html
        assert "\u202e" not in html
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//", html)
        assert "default-src &#39;none&#39;" in html


def test_without_feelings_there_is_no_course():
    assert course(()) == ""
    (page,) = talk_pages([("a", (talk("p1", score=None),))])
    assert page.talk.score is None
    assert "undefined" in files(record(result(transcripts=(talk("p1", score=None),))))[INDEX]


def test_no_talks_no_pages():
    assert files(record(result())) == {}
    assert "Read the talks" not in render([record(result())], generated_at=0.0, version="1")
    assert "Read the talks" in render([two()], generated_at=0.0, version="1", talks="r-talks/index.html")


def test_the_list_stays_light():
    long = talk("p1", text="word " * 100_000)
    assert len(searched(long, 500)) < 600


def test_more_talks_than_anybody_reads_have_no_page(monkeypatch):
    from eqlab.publish.report import talk_pages as module

    listened = [(who, tuple(talk(f"p{n}") for n in range(4))) for who in ("a", "b")]
    home = module.Home("Report", "r.html", 0.0, "1")
    whole = dict(module.reader_files(listened, home))
    assert sum(name.startswith("talk-") for name in whole) == 8
    monkeypatch.setattr(module, "MOST_TALKS", 5)
    some = dict(module.reader_files(listened, home))
    assert sum(name.startswith("talk-") for name in some) == 4  # two personas whole, not two and a half
    assert "Of 8 talks" in some[module.INDEX].decode()
    assert "Of 8 talks" not in whole[module.INDEX].decode()
    monkeypatch.setattr(module, "MOST_TALKS", 1)
    assert sum(name.startswith("talk-") for name in dict(module.reader_files(listened, home))) == 1
