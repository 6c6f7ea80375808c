"""Questions of a researcher's own and replies to write, on the web: shown, refused in words, stored, exported."""

import csv
import io
import re

import pytest
from made_studies import made, write_replies

pytest.importorskip("fastapi")

from web_case import Site, fields_of

from eqlab.core.errors import DataError
from eqlab.store.store import Store
from eqlab.study.file import read_study
from eqlab.study.results.export import export_table
from eqlab.study.results.participants import read_participants
from eqlab.study.results.people import reply_table, signal_table, signals

OWN = """
[[before]]
key = "gender"
ask = "one"
text = "What is your gender?"
options = ["Woman", "Man"]
prefer_not_to_say = true
[[before]]
key = "tongues"
ask = "several"
text = "Which languages do you speak?"
options = ["English", "German"]
prefer_not_to_say = true
[[before]]
key = "age"
ask = "number"
text = "How old are you?"
low = 18
high = 110
prefer_not_to_say = true
[[after]]
key = "remark"
ask = "text"
text = "What else?"
optional = true
[quota]
question = "gender"
places = { "Woman" = 2, "Man" = 9 }
"""


@pytest.fixture
def site(tmp_path):
    opened = []

    def make(kind, **more):
        write_replies(tmp_path)
        store = Store(str(tmp_path / "arms.db"))
        design = made(tmp_path, store, kind, **more)
        store.close()
        opened.append(Site(tmp_path, design))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def begin(site, study="rating"):
    client = site.browser()
    page = client.post(f"/s/{study}/start")
    return client, client.post(f"/s/{study}/page", data={**fields_of(page.text), "agree": "yes"})


def post(client, page, study="rating", **values):
    sent = {**fields_of(page.text), **{f"v.{key}": value for key, value in values.items()}}
    return client.post(f"/s/{study}/page", data=sent)


def test_own_questions_are_asked_refused_in_words_and_kept(site):
    served = site("rating", tables=OWN)
    client, page = begin(served)
    for words in ("What is your gender?", "Prefer not to say", "Choose all that apply.", "A number from 18 to 110."):
        assert words in page.text
    refused = post(client, page, gender="1", tongues=["1", "2"], age="7")
    assert refused.status_code == 422
    assert "Please write a number from 18 to 110, with no marks between thousands: How old are you?" in refused.text
    assert 'value="7"' in refused.text  # what was filled in stays
    assert refused.text.count(" checked") == 3
    refused = post(client, refused, gender="1", tongues="1", age="")
    assert "Please fill in: How old are you?" in refused.text  # blank is not "prefer not to say"
    assert " checked> Prefer not to say" not in refused.text
    both = {**fields_of(refused.text), "v.gender": "1", "v.tongues": "1", "v.age": "44", "d.age": "1"}
    refused = client.post("/s/rating/page", data=both)  # the number was dropped without a word
    assert "Please either answer or tick “Prefer not to say”, not both: How old are you?" in refused.text
    assert 'value="44"' in refused.text
    assert " checked> Prefer not to say" in refused.text
    refused = post(client, refused, gender="1", tongues=["1", "3"], age="44")
    words = "Please either answer or tick “Prefer not to say”, not both: Which languages do you speak?"
    assert words in refused.text  # it was called none of the choices
    refused = post(client, refused, age="<b>")
    assert "&lt;b&gt;" in refused.text
    assert "Please choose an answer: What is your gender?" in refused.text
    sent = {**fields_of(refused.text), "v.gender": "1", "v.tongues": ["2", "1"], "d.age": "1"}
    going = client.post("/s/rating/page", data=sent)
    assert going.status_code == 200
    assert "The other replies" in going.text
    (person,) = read_participants(served.participation).people
    (given,) = person.given
    assert (given.kind, dict(given.values)) == ("question", {"gender": 1, "tongues": [1, 2], "age": None})


def test_who_is_not_wanted_finds_the_study_full_and_a_stratum_ends_with_its_number(site):
    served = site("rating", tables=OWN)
    ends = []
    for gender in ("2", "1", "1", "1", "3"):
        client, page = begin(served)
        reply = post(client, page, gender=gender, tongues="1", age="40")
        ends.append("full" if "The study is full" in reply.text else "in")
    assert ends == ["in", "in", "in", "full", "full"]


def test_exports_have_a_column_for_each_kind_of_answer(site):
    served = site("rating", tables=OWN)
    client, page = begin(served)
    post(client, page, gender="1", tongues=["1", "2"], age="40.5")
    rows = list(csv.DictReader(io.StringIO(export_table(served.participation, "answers", "csv").decode())))
    found = {row["scale"]: row for row in rows}
    assert (found["gender"]["value"], found["gender"]["label"]) == ("1", "Woman")
    assert found["tongues"]["label"] == "English; German"
    assert found["age"]["number"] == "40.5"
    for fmt in ("csv", "parquet"):
        assert export_table(served.participation, "codebook", fmt)
    book = export_table(served.participation, "codebook", "md").decode()
    assert "Which languages do you speak?" in book
    assert "What else?" in book


def test_the_api_takes_and_tells_every_field(site):
    served = site("rating", tables=OWN)
    client, _ = begin(served)
    form = client.get("/api/s/rating/page").json()["form"]
    assert [one["field"] for one in form] == ["scale", "several", "number"]
    refused = client.post("/api/s/rating/page", json={"step": 1, "values": {"gender": 1, "tongues": [9], "age": 3}})
    assert refused.json()["problems"] == {"tongues": "off", "age": "off"}
    lenient = {"gender": "1", "tongues": 1, "age": "44"}  # a number is a number, a list is a list
    refused = client.post("/api/s/rating/page", json={"step": 1, "values": lenient})
    assert refused.json()["problems"] == {"gender": "off", "tongues": "off", "age": "off"}
    assert client.post("/api/s/rating/page", json={"step": 1, "away": "3", "values": {}}).status_code == 422
    saved = client.post("/api/s/rating/page", json={"step": 1, "values": {"gender": 1.0, "tongues": [1], "age": None}})
    assert saved.json()["outcome"] == "saved"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ('key = "a"\nask = "one"\ntext = "t"', "before[1].options: are too few"),
        ('key = "a"\nask = "pick"\ntext = "t"', "before[1].ask: 'pick' is not one of the values"),
        ('key = "a"\nask = "number"\ntext = "t"', "before[1].high: and low are missing"),
        ('key = "a"\nask = "text"\ntext = "t"\nlow = 1', "before[1].low: is for numbers"),
        ('key = "a"\nask = "number"\ntext = "t"\nlow = 5\nhigh = 1', "before[1].high: 1 is out of range"),
        ('key = "a"\nask = "text"\ntext = "t"\n[[before]]\nkey = "a"\nask = "text"\ntext = "u"', "is there twice"),
        ('key = "a"\nask = "one"\ntext = "t"\noptions = ["x", "y"]\noptional = true', "before[1].optional: "),
        ('key = "a"\nask = "text"\ntext = "t"\noptional = true\nprefer_not_to_say = true', "before[1].optional: "),
    ],
)
def test_questions_that_make_no_sense_are_named(question, said):
    from made_studies import study_text

    with pytest.raises(DataError) as error:
        read_study(study_text("rating", tables=f"[[before]]\n{question}"))
    assert said in str(error.value)


# -- replies -------------------------------------------------------------------------------------------------------


def test_words_that_a_check_asks_for_are_no_signal(site):
    """Who passed the checks was flagged for repeating others, and who failed them was not."""
    tables = "[options]\nleast_words = 3\n[checks]\nattention = 2\n[places]\nbatch_size = 4\npeople_per_batch = 2\n"
    served = site("reply", arms=(), top="limit = 4", tables=tables)
    for own in ("river stone cloud morning", "harbour forest island sister"):
        client, page = begin(served, "reply")
        number = 0
        while "v.reply" in page.text:
            number += 1
            asked = re.search("write the word “(.*?)”", page.text)
            said = asked.group(1) if asked else f"{own} {own.upper()[number:]} {number * 1117}"
            page = client.post("/s/reply/page", data={**fields_of(page.text), "v.reply": said})
        assert number == 6
    told = signals(served.participation)
    assert [(one.texts, one.repeated) for one in told] == [(4, 0), (4, 0)]


@pytest.mark.parametrize("kind", ["reply", "rating"])
def test_who_deletes_a_reply_that_others_may_rate_is_told_that_it_stays_there(site, kind):
    """ "Your answers have been deleted", while raters read them on."""
    served = site(kind, arms=()) if kind == "reply" else site(kind)
    client, _ = begin(served, kind)
    told = [client.get(f"/s/{kind}/stop"), client.post(f"/s/{kind}/stop", data={"what": "delete"})]
    assert ["passed on to be rated" in page.text for page in told] == [kind == "reply"] * 2


def test_who_goes_back_and_pastes_has_pasted(site):
    """Two words first, and then the machine's reply by Back: no flag, and the moderator's table had both."""
    served = site("reply", arms=(), top="limit = 2", tables="[options]\nleast_words = 2\n[checks]\nattention = 0\n")
    client, page = begin(served, "reply")
    honest = "I know how hard it is to wait for such news, tell me more."
    page = client.post("/s/reply/page", data={**fields_of(page.text), "v.reply": honest, "pasted": "0"})
    page = client.post("/s/reply/page", data={**fields_of(page.text), "v.reply": "Oh dear.", "pasted": "0"})
    pasted = "Your feelings are entirely valid, and it makes sense to be sad about that. " * 3
    before = client.get("/s/reply/back")
    client.post("/s/reply/page", data={**fields_of(before.text), "v.reply": pasted, "pasted": f"{len(pasted)}"})
    (told,) = signals(served.participation)
    assert {"pasted", "typed too fast"} <= set(told.flags)
    assert told.pasted == pytest.approx(100 * len(pasted) / len(honest + pasted), abs=2)
    written = {row["reply"].strip(): row for row in reply_table(served.participation).to_dicts()}
    assert sorted(written) == sorted([honest, pasted.strip()])
    assert written[pasted.strip()]["pasted"] == len(pasted)
    assert "pasted" in written[pasted.strip()]["marks"]


def test_time_and_pasting_of_a_page_are_shared_by_its_texts(site):
    """Each text had the whole page's: what was pasted into one counted twice, and nobody typed fast."""
    two = "".join(f'[[before]]\nkey = "{key}"\nask = "text"\ntext = "Tell us {key}."\n' for key in ("this", "that"))
    served = site("rating", tables=two)
    client, page = begin(served)
    assert page.text.count('name="pasted"') == 1
    sent = {**fields_of(page.text), "v.this": "a" * 30, "v.that": "b" * 10, "pasted": "20"}
    client.post("/s/rating/page", data=sent)
    (told,) = signals(served.participation)
    assert (told.texts, told.pasted) == (2, 50.0)
    (given,) = [one for person in read_participants(served.participation).people for one in person.given]
    assert told.fastest == pytest.approx(40 / max(given.seconds, 0.1), rel=0.5)
    assert told.fastest > 30 / max(given.seconds, 0.1) or given.seconds < 0.2


def test_replies_of_whom_the_plan_excludes_are_marked(site):
    tables = '[options]\nleast_words = 1\n[checks]\nattention = 0\n[analysis]\nexclude = ["incomplete"]\n'
    served = site("reply", arms=(), top="limit = 2", tables=tables)
    client, page = begin(served, "reply")
    client.post("/s/reply/page", data={**fields_of(page.text), "v.reply": "Tell me more."})
    (row,) = reply_table(served.participation).to_dicts()
    assert "excluded:incomplete" in row["marks"].split()


def test_what_nobody_counted_is_undefined_and_a_word_of_thanks_is_no_repetition(site):
    """Without a script "pasted" was 0, and whoever said "No" had repeated another's phrase."""
    served = site("rating", tables='[[before]]\nkey = "this"\nask = "text"\ntext = "Tell us this."\n')
    long = "I have nothing more to say about all of this"
    for said, counted in (("No", ""), ("No", "0"), (long, ""), (long, "7")):
        client, page = begin(served)
        client.post("/s/rating/page", data={**fields_of(page.text), "v.this": said, "pasted": counted})
    told = signals(served.participation)
    assert [one.pasted for one in told] == [None, 0.0, None, pytest.approx(100 * 7 / len(long))]
    assert [one.repeated for one in told] == [0, 0, 1, 1]


def test_replies_are_written_marked_and_used_only_where_a_moderator_says_yes(site, tmp_path, monkeypatch):
    from eqlab.core.errors import UsageError
    from eqlab.runs.judge import run_replies

    tables = "[options]\nleast_words = 3\n[checks]\nattention = 0\n[places]\nbatch_size = 2\npeople_per_batch = 2\n"
    served = site("reply", arms=(), top="limit = 2", tables=tables)
    said = {}
    for person in ("=HYPERLINK(1) is what I say", "I am so sorry to hear that, truly."):
        client, page = begin(served, "reply")
        refused = post(client, page, "reply", reply="too short")
        assert "Please write at least 3 words: Your reply to them" in refused.text
        assert ">too short</textarea>" in refused.text
        while "v.reply" in page.text:
            page = client.post("/s/reply/page", data={**fields_of(page.text), "v.reply": person, "pasted": "500"})
        said[person] = page
    table = reply_table(served.participation)
    assert table.height == 4
    assert set(table["use"]) == {""}
    assert all("pasted" in marks and "duplicate" in marks for marks in table["marks"])
    told = signals(served.participation)
    assert [one.texts for one in told] == [2, 2]
    assert {one.pasted for one in told} == {100.0}
    assert all({"pasted", "repeated phrases"} <= set(one.flags) for one in told)
    assert {one.like_model for one in told} == {None}  # no model has replied in this store
    served.participation.send_away(table["person"][0], "banned", "researcher")
    others = reply_table(served.participation)
    assert others["person"].to_list() == [who for who in table["person"] if who != table["person"][0]]
    prompt = table["prompt"][0]
    monkeypatch.setattr(
        "eqlab.study.results.people._model_replies",
        lambda _: {prompt: ["Something else altogether, my friend.", "I am so sorry to hear that. Truly!"]},
    )
    first, second = signals(served.participation)
    assert first.like_model < 20
    assert (second.like_model, "like a model's reply" in second.flags) == (100.0, True)
    shown = signal_table([second])
    assert shown.rows[0][-1] == ", ".join(second.flags)
    assert "never verdicts" in shown.note
    with pytest.raises(UsageError, match="nobody has moderated"):
        run_replies(served.store, served.store.read_run(served.participation.design.run.id))

    from eqlab.runs.judge import file_replies
    from eqlab.tables.data import safe_csv

    path = tmp_path / "moderated.csv"
    path.write_bytes(safe_csv(table))
    assert "\n,pasted" in path.read_text() or ",'=HYPERLINK" in path.read_text()
    with pytest.raises(DataError, match="no usable reply"):
        file_replies(path, None, lambda _: None)
    import polars as pl

    chosen = table.with_columns(
        pl.when(pl.col("reply").str.starts_with("=")).then(pl.lit("yes")).otherwise(pl.lit("")).alias("use")
    )
    path.write_bytes(safe_csv(chosen))
    rows = file_replies(path, None, lambda _: None)
    assert {row.reply for row in rows} == {"=HYPERLINK(1) is what I say"}  # as it was written
    assert {row.arm for row in rows} == {"people"}
