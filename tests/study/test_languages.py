"""Languages: ours are complete, a user's is a file in a folder, and trials speak the study's language."""

import re
import tomllib
from pathlib import Path

import pytest
from filled_studies import template_text
from made_studies import made, study_text, write_replies
from typer.testing import CliRunner

from eqlab.cli.main import app
from eqlab.core.errors import DataError, StoreError
from eqlab.store.study.participation import Participation
from eqlab.study import texts
from eqlab.study.build_design import begin_study, open_study
from eqlab.study.file import read_study
from eqlab.study.kinds import kind_words, language_text, missing_words
from eqlab.study.web.render import Renderer
from eqlab.study.web.settings import ServerSettings

GERMAN = {
    "rating": "Die Person sagt:",
    "pairwise": "Erste Antwort:",
    "reply": "Die Person sagt zu Ihnen:",
    "evoked": "Wie stark empfinden Sie jedes der folgenden 20 Gefühle in diesem Augenblick?",
    "eqbench": "am Ende jedes dieser Gefühle?",
}
ENGLISH = (
    "The person",
    "reply:",
    "say to you",
    "How strongly",
    "not at all",
    "Bad",
    "Interested",
    "Prefer not",
    "choose",
)


@pytest.fixture
def own(tmp_path, monkeypatch):
    folder = tmp_path / "languages"
    folder.mkdir()
    monkeypatch.setenv("EQLAB_LANGUAGES", str(folder))
    return folder


@pytest.mark.parametrize("language", ["de", "es"])
def test_our_languages_lack_nothing_and_fill_in_the_same(language):
    assert missing_words(language) == {}
    read = texts.load(language)
    for name, english in kind_words().items():
        for key, text in english.items():
            assert texts.slots(read.kind(name)[key]) == texts.slots(text), (name, key)
    assert set(read.kinds) == set(kind_words())


@pytest.mark.parametrize("kind", list(GERMAN))
def test_a_german_study_is_german_inside_its_trials_too(kind, tmp_path, store):
    write_replies(tmp_path)
    question = (
        '[[before]]\nkey = "age"\nask = "number"\ntext = "Wie alt?"\nlow = 1\nhigh = 9\nprefer_not_to_say = true\n'
    )
    arms = ("a", "b") if kind in ("rating", "pairwise") else ()
    design = made(tmp_path, store, kind, language="de", top="limit = 4", arms=arms, tables=question)
    asked = [trial for batch in design.batches for trial in batch.trials]
    assert any(GERMAN[kind] in trial.stimulus for trial in asked)
    material = {text for trial in asked for text in trial.key.values() if isinstance(text, str)}
    for trial in (*asked, *design.attention, design.before):
        fields = [
            part
            for one in trial.form.fields
            for part in (one.text, *(label for _, label in getattr(one, "anchors", ())))
        ]
        words = trial.stimulus
        for text in sorted(material, key=len, reverse=True):
            words = words.replace(text, "")
        if kind == "eqbench":  # dialogues and emotion words are the items' own
            words, fields = words.splitlines()[-1], [label for one in trial.form.scales for _, label in one.anchors]
        if kind == "evoked" and trial.condition == "evoked":
            words = words.splitlines()[0] + words.splitlines()[-1]
        for english in ENGLISH:
            assert english not in words, (kind, english)
            assert not any(english in one for one in fields), (kind, english)


def test_a_language_is_added_as_a_file_only(own, tmp_path, store):
    assert "pt" not in texts.languages()
    text = language_text("pt").replace('"Continue"', '"Continuar"').replace('"The person says:"', '"A pessoa diz:"')
    (own / "pt.toml").write_text(text)
    assert "pt" in texts.languages()
    assert texts.load("pt-BR")("continue") == "Continuar"
    write_replies(tmp_path)
    design = made(tmp_path, store, "rating", language="pt")
    assert "A pessoa diz:" in design.batches[0].trials[0].stimulus


def test_what_a_language_file_lacks_is_said(own):
    text = language_text("pt")
    (own / "pt.toml").write_text(
        text.replace('stay = "Stay here"\n', "")
        .replace("{seconds} seconds", "{second} seconds")
        .replace('"ltr"', '"up"')
        + "\nodd = 1\n"
    )
    with pytest.raises(DataError) as error:
        texts.load("pt")
    said = str(error.value)
    for part in ("stay: is missing", "leave_soon: has other places to fill in than English (there are: {seconds})"):
        assert part in said
    assert 'direction: is the way of writing (write "ltr" or "rtl")' in said
    (own / "pt.toml").write_text("\n".join(line for line in text.splitlines() if not line.startswith("okay")))
    assert missing_words("pt") == {"rating": ("okay",)}


def test_a_language_that_is_there_but_not_translated_is_not_complete(own):
    (own / "pt.toml").write_text(language_text("pt"))
    said = CliRunner().invoke(app, ["study", "language"]).output
    words = sum(len(words) for words in kind_words().values()) + len(texts.english_words())
    assert re.search(rf"pt +{words} texts are there in English", said)
    assert re.search(r"de +complete", said)
    assert re.search(r"es +complete", said)


def test_a_users_file_goes_before_ours(own):
    (own / "de.toml").write_text(language_text("de").replace('"Weiter"', '"Vorwärts"'))
    assert texts.load("de")("continue") == "Vorwärts"
    assert texts.load("de").kind("rating")["good"] == "Gut"


def test_a_server_reads_its_words_once(own):
    """A file that is edited or deleted while people take part changes no page, and costs none of them a read."""
    (own / "de.toml").write_text(language_text("de").replace('"Weiter"', '"Vorwärts"'))
    render = Renderer(ServerSettings(b"x" * 32))
    assert render.texts("de")("continue") == "Vorwärts"
    (own / "de.toml").unlink()
    assert render.texts("de")("continue") == "Vorwärts"


def test_an_unknown_language_is_named_with_those_that_are():
    with pytest.raises(DataError, match="language: 'xx' is not one of the values"):
        read_study(study_text("rating", language="xx"))


def test_texts_that_the_file_leaves_out_come_in_its_language():
    study = read_study(study_text("rating", language="es"))
    assert study.checks.instruction == "Para mostrar que está leyendo, elija aquí «{answer}»."
    assert study.instruments_text.startswith("Estas frases")


def test_a_study_that_has_begun_keeps_the_words_of_its_own_language_file(own, tmp_path, store):
    """A consent sentence could change between one person and the next, and nothing said so."""
    english = (Path(texts.__file__).parent / "languages" / "en.toml").read_text()
    (own / "xx.toml").write_text(english)
    path = tmp_path / "study.toml"
    path.write_text(template_text("eqbench", store).replace('language = "en"', 'language = "xx"'))
    text, design = open_study(path, store)
    begin_study(store, design, text)
    (own / "xx.toml").write_text(f"# reviewed by a friend\n{english}")
    begin_study(store, open_study(path, store)[1], text)  # a note of one's own tells people nothing
    word = tomllib.loads(english)["consent_title"]
    (own / "xx.toml").write_text(english.replace(f'consent_title = "{word}"', 'consent_title = "Sign here"'))
    said = []
    _, changed = open_study(path, store, say=said.append)
    assert any("other words in 'xx'" in line for line in said)
    with pytest.raises(StoreError, match="other words in 'xx'"):
        begin_study(store, changed, text)
    assert Participation(store, changed).arrive("p", "xx")  # what was answered can still be read and analysed


def test_a_language_file_that_comes_before_ours_later_is_noticed(own, tmp_path, store):
    path = tmp_path / "study.toml"
    path.write_text(template_text("eqbench", store).replace('language = "en"', 'language = "de"'))
    text, design = open_study(path, store)
    begin_study(store, design, text)
    ours = (Path(texts.__file__).parent / "languages" / "de.toml").read_text()
    (own / "de.toml").write_text(ours)
    with pytest.raises(StoreError, match="Restore the language file"):
        begin_study(store, design, text)
