"""Panel ids without a server: what is one person, what is no id, and whose a link or a tombstone is."""

import pytest

from eqlab.study.panels import (
    PANELS,
    is_signed,
    one_spelling,
    panel_hash,
    read_panel_id,
    same_code,
    signature,
    tombstone,
)

SECRET = b"s" * 32
ID = "0123456789abcdef01234567"


_UNSEEN = ("\0", "\u200b", "\u200d", "\u00ad", "\ufeff", "\u202e", "\u034f", "\ufe0f", "\u3164", "\U000e0061")


@pytest.mark.parametrize(
    "spelling",
    [ID.upper(), f" {ID} ", "０１２３４５６７８９abcdef01234567", *(f"{ID[:5]}{one}{ID[5:]}{one}" for one in _UNSEEN)],
)
def test_one_person_has_one_hash_however_the_id_is_spelled(spelling):
    assert one_spelling(spelling) == ID
    assert panel_hash(SECRET, spelling) == panel_hash(SECRET, ID)
    assert tombstone(SECRET, "a", spelling) == tombstone(SECRET, "a", ID)


def test_accents_are_one_however_they_are_written_and_still_tell_people_apart():
    assert one_spelling("an\ud800na") == "anna"  # half a character, as JSON can hold it, is none
    assert one_spelling("a\u0301nna") == one_spelling("\u00e1NNA") != one_spelling("anna")


@pytest.mark.parametrize("given", ["", "  ", "\u200b\0", "{{%PROLIFIC_PID%}}", "%PROLIFIC_PID%", "{id}", "x" * 201])
def test_a_panels_unfilled_place_is_nobody(given):
    assert read_panel_id({"PROLIFIC_PID": given}, PANELS["prolific"], any_form=True) is None


def test_an_id_has_its_panels_form_unless_any_is_taken():
    prolific = PANELS["prolific"]
    assert read_panel_id({"PROLIFIC_PID": ID.upper()}, prolific) == ID.upper()
    assert read_panel_id({"PROLIFIC_PID": "somebody"}, prolific) is None
    assert read_panel_id({"PROLIFIC_PID": "somebody"}, prolific, any_form=True) == "somebody"


def test_what_stays_of_an_id_belongs_to_one_study_and_one_secret():
    made = {tombstone(secret, study, ID) for secret in (SECRET, b"t" * 32) for study in ("a", "b")}
    assert len(made | {panel_hash(SECRET, ID)}) == 5


def test_a_signed_link_is_of_one_study_one_person_and_one_secret():
    given = signature(SECRET, "a", ID)
    assert is_signed(SECRET, "a", ID.upper(), given.upper())
    assert not is_signed(SECRET, "b", ID, given)
    assert not is_signed(SECRET, "a", ID[::-1], given)
    assert not is_signed(b"t" * 32, "a", ID, given)


@pytest.mark.parametrize("typed", ["OIAB-2345", "01ab2345", " oiab 2345 ", "O1AB-2345"])
def test_a_code_is_read_as_people_type_it(typed):
    assert same_code(typed, "OIAB-2345")
    assert not same_code(typed, "OIAB-2346")
