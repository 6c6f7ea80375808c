"""Participants' pages as text: layouts, words in two languages, refusals in words, stopping, ends."""

import asyncio
import json
import re
import string
import time
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_study import RATING, small_design
from sqlalchemy import event, func, select
from web_case import HASH, PASSWORD, PROLIFIC, enter, fields_of, fill, rows, walk, with_language

from eqlab.core.errors import DataError, UsageError
from eqlab.core.forms import Form, Scale
from eqlab.core.study import Panel
from eqlab.core.text import visible
from eqlab.store.schema import answers, panel_ids, participants
from eqlab.study import texts
from eqlab.study.panels import PANELS, panel_hash, read_panel_id, way_back
from eqlab.study.web.app import create_app
from eqlab.study.web.pages import believable, read_form
from eqlab.study.web.render import blocks, questions
from eqlab.study.web.settings import ServerSettings

SOURCE = [path for path in (texts._FOLDER / ".." / "web").resolve().rglob("*") if path.suffix in (".py", ".j2")]


# -- words ---------------------------------------------------------------------------------------------------------


def names(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)


def test_languages_have_the_same_keys_and_the_same_places():
    english = texts.load("en").words
    assert set(texts.languages()) >= {"de", "en"}
    for language in texts.languages():
        words = texts.load(language).words
        assert list(words) == list(english), language
        assert {key: names(text) for key, text in words.items()} == {key: names(text) for key, text in english.items()}
        assert words["direction"] in ("ltr", "rtl")


def test_every_text_is_used_and_every_used_text_is_there():
    source = "\n".join(path.read_text() for path in SOURCE)
    used = set(re.findall(r"""\bt\(['"]([a-z_]+)['"] *[,)]""", source))
    endings = ("complete", "declined", "failed", "full", "took_another", "stopped", "returned", "banned")
    built = {f"done_{ending}_{part}" for ending in endings for part in ("title", "text")}
    built |= {f"{key}_{part}" for key in ("stop", "delete") for part in ("title", "text", "back")}
    built |= {f"{key}_{part}" for key in ("swap", "moved") for part in ("title", "text", "leave")}
    shown = set(re.findall(r'"(refused|role|missing|large|busy|broken|login|panel|unknown|late|cookies|left)"', source))
    shown |= {f"door_{why}" for why in ("paused", "closed", "erased", "simulated")}
    built |= {f"{key}_{part}" for key in shown for part in ("title", "text")}
    built |= {"instruments_text", "instruction", "own_before", "own_after", "prefer_not"}  # defaults of a study file
    built |= {"delete", "stop_delete", "error_missing", "error_off", "direction"}
    built |= {"change_save", "continue", "contact", "consent_contact"}
    built |= {
        "instruments_text",
        "instruction",
        "check_question",
        "check_choices",
    }  # the study's own, where its file does not say
    built |= {"date", "months"}
    known = set(texts.load("en").words)
    assert used - known == set()
    assert known - used - built == set()


def test_unknown_languages_are_found_at_the_start(make_site):
    with pytest.raises(DataError, match="no page texts in 'xx'"):
        make_site(with_language(small_design(), "xx"))
    assert texts.load("de-AT").language == "de-AT"
    assert texts.load("de-AT")("continue") == "Weiter"


@pytest.mark.parametrize(
    ("language", "until"),
    [("en", "until 5 March 2030."), ("de", "bis zum 5. März 2030."), ("es", "hasta el 5 de marzo de 2030.")],
)
def test_the_end_of_keeping_is_a_date_as_people_write_it(language, until):
    words = texts.load(language)
    assert words("consent_keep", until=words.date("2030-03-05")).endswith(until)
    assert words.date("the end") == "the end"


def test_a_translation_without_months_tells_dates_in_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("EQLAB_LANGUAGES", str(tmp_path))
    whole = (files("eqlab.study") / "languages" / "en.toml").read_text(encoding="utf-8")
    older = re.sub(r"(?m)^(date|months) = .*\n", "", whole)
    (tmp_path / "nl.toml").write_text(older, encoding="utf-8")
    assert texts.load("nl").date("2030-03-05") == "2030-03-05"
    (tmp_path / "sv.toml").write_text(older + '\nmonths = "januari februari"\n', encoding="utf-8")
    with pytest.raises(DataError, match="twelve months"):
        texts.load("sv")
    (tmp_path / "da.toml").write_text(older + '\ndate = "{day:02}.{month}.{year}"\n', encoding="utf-8")
    assert texts.load("da").date("2030-03-05") == "05.03.2030"
    for key, text in (  # each consent was an error
        ("date", "{day:02d}/{month:02d}/{year}"),
        ("date", "{day:x<99999999999999999999}{month}{year}"),
        ("help", "{help:5d}"),
        ("help", "{help!r}"),
    ):
        other = re.sub(rf"(?m)^{key} = .*\n", "", older, count=1)
        (tmp_path / "pl.toml").write_text(f'{key} = "{text}"\n{other}', encoding="utf-8")
        with pytest.raises(DataError, match=f"{key}: "):
            texts.load("pl")


def test_german_pages_are_german_throughout(make_site):
    site = make_site(with_language(small_design(panel=PROLIFIC), "de"))
    client = site.browser()
    _, seen = walk(client, enter(client))
    for page in seen:
        assert '<html lang="de" dir="ltr">' in page.text
        for english in ("Page ", "Continue", "Stop taking", "Questions?", "Finish<"):
            assert english not in page.text
    assert "Teilnahme beenden" in client.get("/s/small/stop").text or "löschen" in client.get("/s/small/stop").text


# -- layout --------------------------------------------------------------------------------------------------------


def test_quotations_and_paragraphs():
    found = blocks("One.\nTwo.\n\nShe says:\n> a\n> b\n>\n> c\nHe replies:\n> d\n\n> e\nEnd.")
    assert [(block.quoted, block.paragraphs) for block in found] == [
        (False, (("One.", "Two."),)),
        (False, (("She says:",),)),
        (True, (("a", "b"), ("c",))),
        (False, (("He replies:",),)),
        (True, (("d",),)),
        (True, (("e",),)),
        (False, (("End.",),)),
    ]
    assert blocks("") == []


def test_story_words_and_the_thing_to_rate_are_told_apart():
    scene = "The person feels: sad\nWhat happened:\n> It rained.\nThe person says:\n> Mum: go\n> I went."

    def roles(text, **more):
        return [block.role for block in blocks(text, **more)]

    assert roles(f"{scene}\nThe other replies:\n> Oh.") == ["", "label", "story", "label", "said", "label", "rated"]
    assert roles(scene, rated=False) == ["", "label", "story", "label", "said"]
    assert roles("Second reply:\n> Oh.", rated=True) == ["label", "rated"]
    assert roles("They say to you:\n> Oh.") == ["label", "said"]
    assert roles("A: Yes.\nB: No.\n\nHow does B feel?") == ["", "asked"]
    assert not any(block.dialogue for block in blocks(scene))  # "The person feels: sad" is nobody speaking
    assert all(block.dialogue for block in blocks("A: Yes.\nB: No.\n\nHow does B feel?"))


def test_a_reply_looks_alike_whatever_its_words():
    """Speakers in a model's reply would mark its arm; so would a direction character."""
    scene = "The person says:\n> I went.\nThe other replies:\n"
    plain, *others = (
        blocks(f"{scene}> {reply}")
        for reply in ("Oh.\n> Well.", "Empathy: I am sorry.\n> Advice: Rest.", "Me: \u202eyes\n> You: \x1b[31mno")
    )
    for other in others:
        assert [(block.role, block.dialogue) for block in other] == [(block.role, block.dialogue) for block in plain]
    assert not any(char in str(others[1]) for char in ("\u202e", "\x1b"))
    beside = blocks("First reply:\n> A: Yes.\n> B: No.", rated=True)
    assert not any(block.dialogue for block in beside)
    dialogue = "Ana: Hello.\nBen: Hi.\n\nWhat Ana feels:\n> A: sad\nA reply:\n> B: Oh."
    assert [block.dialogue for block in blocks(dialogue) if block.role in ("", "rated")] == [True, False]


@given(st.text())
def test_no_word_of_a_text_is_lost(text):
    text = visible(text)
    shown = [line for block in blocks(text) for lines in block.paragraphs for line in lines]
    wanted = [
        (line.rstrip()[1:] if line.startswith(">") else line).strip() for line in text.split("\n") if line.strip(" >")
    ]
    assert [line for line in shown if line.strip(" >")] == [line for line in wanted if line.strip(" >")]


def test_layouts():
    likert = tuple((value, f"label {value}") for value in range(1, 6))

    def layout(*scales, quiz=False):
        return {question.layout for question in questions(Form(scales), {}, {}, quiz=quiz)}

    assert layout(RATING) == {"brief row"}
    assert layout(Scale("c", "C", 1, 5, likert)) == {"row"}
    assert layout(Scale("a", "A", 0, 10, ((0, "none"), (10, "most")))) == {"numbers"}
    assert layout(*(Scale(f"i{n}", f"I {n}", 1, 5, likert) for n in range(20))) == {"table"}
    assert layout(Scale("b", "B", 0, 1, ((0, "a long statement of one's own"), (1, "another")))) == {"list"}
    assert layout(RATING, quiz=True) == {"list"}
    (ends,) = questions(Form((Scale("a", "A", 0, 10, ((0, "none"), (10, "most"))),)), {"a": 3}, {"a": "why"})
    assert (ends.low.label, ends.high.value, ends.chosen, ends.problem) == ("none", 10, (3,), "why")
    assert len(ends.options) == 11


def test_points_are_dealt_out_until_none_is_left(make_site):
    """Without a script: the page says how many points are left, and takes the answer only when none is."""
    from dataclasses import replace

    words = ("joy", "fear", "anger")
    form = Form(tuple(Scale(word, word, 0, 10) for word in words), total=10)
    design = small_design(quiz=False, attention=0)
    dealt = [
        replace(one, trials=tuple(replace(trial, form=form, id="") for trial in one.trials)) for one in design.batches
    ]
    site = make_site(replace(design, batches=tuple(dealt)))
    client = site.browser()
    page = client.post("/s/small/page", data=fill(client.post("/s/small/start").text))
    assert "Share out 10 points among these" in page.text
    assert '<output id="left">10</output>' in page.text
    given = {**fields_of(page.text), "v.joy": "4", "v.fear": "3", "v.anger": "1"}
    refused = client.post("/s/small/page", data=given)
    assert refused.status_code == 422
    assert "Please share out exactly 10 points" in refused.text
    assert '<output id="left">2</output>' in refused.text
    assert refused.text.count(" checked") == 3
    more = client.post("/s/small/page", data={**fields_of(refused.text), **given, "v.fear": "5"})
    assert more.status_code == 200
    (answer,) = [
        row for row in rows(site, answers) if row.trial_id in {one.id for batch in dealt for one in batch.trials}
    ]
    assert json.loads(answer.values) == {"joy": 4, "fear": 5, "anger": 1}


def test_participants_words_are_escaped(make_site):
    evil = small_design()
    study = evil.study
    from dataclasses import replace

    consent = replace(study.consent, text="<script>alert(1)</script>", contact='"><img src=x>')
    site = make_site(replace(evil, study=replace(study, title="<b>", consent=consent)))
    client = site.browser()
    page = client.post("/s/small/start")
    assert "<script>alert" not in page.text
    assert "<img" not in page.text
    assert "&lt;script&gt;" in page.text


# -- posts ---------------------------------------------------------------------------------------------------------


@given(st.binary(max_size=300))
def test_any_body_is_read_or_refused(body):
    post = read_form(body)
    if post is not None:
        shown, away = believable(post, 1e9)
        assert post.step >= 0
        assert away >= 0
        assert shown is None or shown <= 1e9 + 1


def test_times_are_believed_within_reason():
    def times(shown, away, now=1e9):
        return believable(read_form(f"step=1&attempt=1&shown={shown}&away={away}".encode()), now)

    assert times(1e9 - 10, 4) == (1e9 - 10, 4)
    assert times(1e9 - 10, 400) == (1e9 - 10, 10)
    assert times(2e9, 4) == (None, 4)
    assert times(5, -4) == (None, 0)
    assert times("nan", "inf") == (None, 0)


def test_refused_page_says_what_is_missing_and_keeps_the_rest(make_site):
    likert = tuple((value, f"label {value}") for value in range(1, 6))
    from dataclasses import replace

    from eqlab.core.trials import Trial

    form = Form(tuple(Scale(f"feel {n}", f"Feeling <{n}>", 1, 5, likert) for n in range(5)))
    page = Trial("instrument", ("X",), "instrument", "How do you feel?", form, "")
    site = make_site(replace(small_design(quiz=False), instruments=(page,)))
    client = site.browser()
    reply = client.post("/s/small/page", data=fill(client.post("/s/small/start").text))
    sent = fill(reply.text, lambda name, values: "4")
    del sent["v.feel 2"], sent["v.feel 4"]
    refused = client.post("/s/small/page", data=sent)
    assert refused.status_code == 422
    assert "<title>Error: " in refused.text
    assert re.findall(r'<li><a href="#(q-\d)">([^<]+)</a>', refused.text) == [
        ("q-3", "Please choose an answer: Feeling &lt;2&gt;"),
        ("q-5", "Please choose an answer: Feeling &lt;4&gt;"),
    ]
    assert refused.text.count("checked") == 3
    assert refused.text.count('aria-invalid="true" aria-describedby="e-') == 2
    assert client.post("/s/small/page", data=fill(refused.text)).status_code == 200


def test_consent_needs_a_choice(make_site):
    site = make_site(small_design())
    client = site.browser()
    page = client.post("/s/small/start")
    refused = client.post("/s/small/page", data=fields_of(page.text))
    assert (refused.status_code, "whether you want to take part" in refused.text) == (422, True)
    assert '<a href="#agree">' in refused.text
    client.post("/s/small/page", data={**fields_of(page.text), "agree": "yes"})
    late = client.post("/s/small/page", data=fields_of(page.text), headers={"Accept": "application/json"})
    assert late.json()["outcome"] == "again"


def test_quiz_says_that_there_is_another_try(make_site):
    site = make_site(small_design(panel=PROLIFIC))
    client = site.browser()
    quiz = client.post("/s/small/page", data=fill(enter(client).text))
    again = client.post("/s/small/page", data=fill(quiz.text, lambda name, values: values[-1]))
    assert "attempt 2 of 2" in again.text
    assert "checked" not in again.text


# -- doors and ends ------------------------------------------------------------------------------------------------


def test_panel_study_without_parameters_sends_people_to_the_panel(make_site):
    site = make_site()
    reply = site.browser().get("/s/small")
    assert (reply.status_code, "through your panel" in reply.text) == (403, True)
    assert site.browser().post("/s/small/start").status_code == 403
    client = site.browser()
    enter(client)
    assert client.get("/s/small").url.path == "/s/small/page"  # known by the cookie


def test_open_study_has_a_start_button_and_no_second_person_for_a_double_click(make_site):
    site = make_site(small_design())
    client = site.browser()
    assert '<form method="post" action="/s/small/start">' in client.get("/").text
    client.post("/s/small/start")
    client.post("/s/small/start")
    with site.store.engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(participants)).scalar() == 1


def test_pages_of_no_study_and_of_nobody(make_site):
    site = make_site()
    client = site.browser()
    for path in ("page", "stop", "done"):
        assert client.get(f"/s/small/{path}").status_code == 401
        assert client.get(f"/s/nope/{path}").status_code == 404
    assert client.get("/s/nope").status_code == 404
    assert client.post("/s/nope/start").status_code == 404
    enter(client)
    assert client.get("/s/small/done").url.path == "/s/small/page"


def test_stop_and_keep(make_site):
    site = make_site()
    client = site.browser()
    walk(client, enter(client), until=lambda page: "v.rating" in page.text)
    asked = client.get("/s/small/stop")
    assert "keep my answers" in asked.text
    assert client.post("/s/small/stop", content=b"what=nonsense").url.path == "/s/small/stop"
    ended = client.post("/s/small/stop", data={"what": "keep"})
    assert ("You have stopped" in ended.text, "C-" in ended.text) == (True, False)
    assert "You have stopped" in client.get("/s/small/page").text
    assert "keep my answers" not in client.get("/s/small/stop").text
    with site.store.engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(answers)).scalar() == 1


def test_stop_and_delete_leaves_nothing(make_site):
    site = make_site()
    client = site.browser()
    walk(client, enter(client), until=lambda page: "v.rating" in page.text)
    gone = client.post("/s/small/stop", data={"what": "delete"})
    assert "have been deleted" in gone.text
    assert client.get("/s/small/page").text == gone.text  # asked again, it says so again
    with site.store.engine.connect() as connection:
        for table in (answers, participants, panel_ids):
            assert connection.execute(select(func.count()).select_from(table)).scalar() == 0


def test_who_deletes_while_somebody_reads_the_store_is_told_what_is_left(make_site, monkeypatch):
    monkeypatch.setattr("eqlab.store.engine._SCRUB", 0.01)
    site = make_site()
    client = site.browser()
    walk(client, enter(client), until=lambda page: "v.rating" in page.text)
    with site.store.engine.connect() as reader:
        reader.execute(select(answers)).first()
        told = client.post("/s/small/stop", content="what=delete").text
        assert "The last traces in the database" in told
        again = [client.get(f"/s/small/{page}").text for page in ("deleted", "page", "stop")]
        assert [*again, enter(client).text] == [told] * 4
    assert site.studies[0].cleaner.close() is None  # which tries once more
    assert "Your answers have been deleted." not in told
    assert "Your answers have been deleted." in client.get("/s/small/deleted").text


def test_the_end_of_a_deletion_is_told_only_where_it_was_asked_for(make_site):
    site = make_site()
    mine, other = site.browser(), site.browser()
    enter(mine)
    mine.get("/s/small/stop")
    assert 'name="agree"' in mine.get("/s/small/deleted").text, "nobody has deleted anything yet"
    other.cookies.update({name: value for name, value in mine.cookies.items() if not name.endswith("_end")})
    name, value = next((name, value) for name, value in mine.cookies.items() if name.endswith("_end"))
    mine.post("/s/small/stop", data={"what": "delete"})
    assert "have been deleted" in mine.get("/s/small/stop").text
    assert other.get("/s/small/deleted").status_code == 401
    forger = site.browser()
    forger.cookies.set(name, value.replace("stopped.00.", "stopped.10.", 1))
    assert forger.get("/s/small/deleted").status_code == 401
    enter(mine, panel_id=f"{7:024x}")  # the next person at this computer
    assert 'name="agree"' in mine.get("/s/small/deleted").text
    mine.post("/s/small/leave")
    assert mine.get("/s/small/deleted").status_code == 401


def test_a_deleted_person_s_cookie_is_nobody_s(make_site):
    site = make_site()
    client, copy = site.browser(), site.browser()
    page = enter(client)
    copy.cookies.update(client.cookies)
    client.post("/s/small/stop", data={"what": "delete"})
    assert copy.get("/s/small/page").status_code == 401
    assert copy.get("/api/s/small/page").status_code == 401
    assert copy.post("/s/small/page", data=fill(page.text)).status_code == 401
    as_json = copy.post("/s/small/page", data=fill(page.text), headers={"Accept": "application/json"})
    assert as_json.json() == {"outcome": "unknown"}
    assert copy.post("/api/s/small/page", json={"step": 0, "agree": True}).status_code == 401
    assert copy.post("/s/small/stop", data={"what": "keep"}).status_code == 401


def test_full_study_says_so_before_consent(make_site):
    site = make_site(small_design(panel=PROLIFIC, arms=("a",), batches=1))
    first = site.browser()
    walk(first, enter(first))
    reply = enter(site.browser(), panel_id="p-2")
    assert "The study is full" in reply.text
    assert "agree" not in reply.text


def test_preview_says_so_on_every_page(make_site):
    site = make_site(small_design(), preview=True)
    client = site.browser()
    _, seen = walk(client, client.post("/s/small/start"))
    assert all("Preview: nothing is kept." in page.text for page in seen)


@pytest.mark.parametrize("deletes", [False, True])
def test_the_end_of_a_preview_stays_and_says_where_people_go(make_site, deletes):
    """It left for the panel after 20 seconds; after a deletion there was a button with the real code."""
    site = make_site(small_design(panel=PROLIFIC), preview=True)
    client = site.browser()
    last, _ = walk(client, enter(client, panel_id="p-1"))
    if deletes:
        last = client.post("/s/small/stop", data={"what": "delete"})
        assert "Your answers have been" in last.text
    assert "Of this preview nothing is stored." in last.text
    assert f"After it they go to: <code>{PROLIFIC.complete_url.format(code='C-COMPLETE')}</code>" in last.text
    assert 'id="leave"' not in last.text
    assert 'href="https:' not in last.text


def test_two_studies_need_two_ids(make_site):
    site = make_site(small_design())
    with pytest.raises(UsageError, match="same id"):
        create_app([site.studies[0], site.studies[0]], ServerSettings(b"x" * 32))


# -- the panel -----------------------------------------------------------------------------------------------------


def test_panel_hash_is_keyed_and_ignores_blanks():
    one = panel_hash(b"a" * 32, "id-1")
    assert re.fullmatch(r"[0-9a-f]{64}", one)
    assert one == panel_hash(b"a" * 32, "  id-1\n")
    assert one != panel_hash(b"b" * 32, "id-1")
    assert one != panel_hash(b"a" * 32, "id-2")


def test_ids_and_ways_back_of_known_panels():
    prolific = PANELS["prolific"]
    assert read_panel_id({"PROLIFIC_PID": f" {'5f' * 12} "}, prolific) == "5f" * 12
    assert read_panel_id({"PROLIFIC_PID": "5F" * 12}, prolific) == "5F" * 12
    for no_id in ("x", "5f" * 11, "5g" * 12, "5f" * 12 + "0"):
        assert read_panel_id({"PROLIFIC_PID": no_id}, prolific) is None
    assert read_panel_id({"PROLIFIC_PID": "y" * 500}, prolific) is None
    assert read_panel_id({"PROLIFIC_PID": "x"}, PANELS["none"]) is None
    assert way_back(prolific, "complete") == ""  # no code, no way
    coded = Panel("x", "id", complete_url="https://p.example/?c={code}", codes=(("complete", "A&B"),))
    assert way_back(coded, "complete") == "https://p.example/?c=A%26B"
    assert way_back(coded, "failed") == ""
    assert all(PANELS[name].person for name in ("prolific", "cloudresearch", "sona"))


# -- the event loop ------------------------------------------------------------------------------------------------


def test_no_page_keeps_everybody_waiting_for_the_store(make_site):
    """What asks the store on the event loop's own thread stops all other people until it answers."""
    design = small_design(panel=PROLIFIC)
    design = replace(design, study=replace(design.study, debrief="You have {score}."))
    site, on_the_loop = make_site(design, password_hash=HASH), []

    def asked(_, __, statement, *___):
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            on_the_loop.append(statement)

    event.listen(site.store.engine, "before_cursor_execute", asked)
    client = site.browser()
    _, seen = walk(client, enter(client))
    assert "You have " in seen[-2].text
    other = site.browser()
    walk(other, enter(other, panel_id="p-2"), until=lambda reply: "Page 4 " in reply.text)
    for path in ("back", "stop", "elsewhere", "done", "page?dropped=1"):
        assert other.get(f"/s/small/{path}").status_code == 200
    assert other.get("/api/s/small/page").status_code == 200
    assert other.post("/s/small/stop", data={"what": "delete"}).status_code == 200
    researcher = site.browser()
    assert researcher.post("/researcher/login", data={"password": PASSWORD}).status_code == 200
    for path in ("", "small", "small/status.json", "small/people", "small/export/answers.csv"):
        assert researcher.get(f"/researcher/{path}").status_code == 200
    assert researcher.post("/researcher/small/act", data={"what": "pause"}).status_code == 200
    assert client.get("/health").status_code == 200
    assert on_the_loop == []


def test_pages_that_are_rendered_once_for_all_have_what_is_each_persons_own(make_site):
    site = make_site(small_design(panel=PROLIFIC, size=2, attention=1))
    seen = []
    for name in ("one", "two"):
        client = site.browser()
        pages = {}
        reply = enter(client, panel_id=name)
        while 'id="page"' in reply.text:
            number = re.search(r'name="step" value="(\d+)"', reply.text).group(1)
            (mark,) = set(re.findall(r'(?:mark" value=|data-mark=|stop\?mark=)"?([\w-]+)"', reply.text))
            code = re.search(r'<code id="resume">([^<]*)</code>', reply.text)
            assert (code is None) == (number == "0")
            shown = re.search(r'name="shown" value="([\d.]+)"', reply.text).group(1)
            assert float(shown) == pytest.approx(time.time(), abs=60)
            pages[number] = (mark, code and code.group(1))
            reply = client.post("/s/small/page", data=fill(reply.text))
        assert len(set(pages.values())) == 2  # before the consent there is no code
        seen.append(pages)
    kept = site.app.state.site.render._kept
    assert kept
    assert all(seen[0][number] != seen[1][number] for number in seen[0])
    assert not any(site.app.state.site.render._gap in part for parts in kept.values() for part in parts)
