"""Words of instruments: ours ship, the others' are loaded."""

import json

import pytest

from eqlab.core.errors import DataError
from eqlab.instruments.catalogue import BDI, BFNE, INSTRUMENTS, MJS, PANAS, TEQ
from eqlab.instruments.wording import (
    list_instruments,
    own_wording,
    read_instrument_file,
    read_questionnaires,
    scales,
    wording_file,
)


def entry(one, prompt, text="Item {}."):
    questions = {str(number): text.format(number) for number in one.numbers}
    return json.dumps([{"name": one.key, "questions": questions, "prompt": prompt, "inner_setting": "s"}]).encode()


def test_only_panas_ships_its_words():
    shipped = [key for key, one in INSTRUMENTS.items() if own_wording(one)]
    assert shipped == ["PANAS"]
    found = scales(PANAS, own_wording(PANAS))
    assert [scale.text.lower() for scale in found] == [scale.key for scale in found]
    assert found[0].anchors[0][0] == 1
    assert found[-1].key == "afraid"


def test_labels_of_all_items():
    prompt = 'From 1 to 5. SCENARIO 1 denotes "never", 2 = "seldom", 5 denotes "always". Go:'
    wording = read_questionnaires(entry(BFNE, prompt), BFNE)
    assert wording.shared_anchors == ((1, "never"), (2, "seldom"), (5, "always"))
    assert scales(BFNE, wording)[1].reverse


def test_labels_by_position_go_to_their_items():
    prompt = (
        'SCENARIO 1 denotes "a" and 7 denotes "b" for question 1 to 8, and question 17 to 24. '
        'While 1 denotes "c" while 7 denotes "d" for question 9 to question 16.'
    )
    wording = read_questionnaires(entry(MJS, prompt), MJS)
    assert wording.shared_anchors is None
    assert [wording.anchors[n - 1][0][1] for n in (1, 8, 9, 16, 17, 24)] == list("aaccaa")


def test_bdi_items_are_their_answers():
    text = "0. No {}. 1. A little, 1-2 hours. 2. Some. 3. Much."
    wording = read_questionnaires(entry(BDI, "SCENARIO", text), BDI)
    assert wording.anchors[4] == ((0, "No 5."), (1, "A little, 1-2 hours."), (2, "Some."), (3, "Much."))


def test_a_broken_file_says_what_is_wrong():
    with pytest.raises(DataError, match="not a questionnaire file"):
        read_questionnaires(b"{", PANAS)
    with pytest.raises(DataError, match="has no PANAS"):
        read_questionnaires(entry(BFNE, ""), PANAS)
    with pytest.raises(DataError, match="lacks"):
        read_questionnaires(json.dumps([{"name": "PANAS", "questions": {}}]).encode(), PANAS)


def instrument_file(**changes):
    facts = {"key": '"teq"', "low": "0", "high": "4"} | changes
    head = "\n".join(f"{name} = {value}" for name, value in facts.items())
    items = "\n".join(
        f'[[item]]\nnumber = {n}\ntext = "t{n}"\nreverse = {str(n in TEQ.reverse).lower()}' for n in TEQ.numbers
    )
    return f'{head}\nanchors = ["a", "b", "c", "d", "e"]\n{items}'.encode()


def test_an_instrument_file_must_fit_the_key():
    wording = read_instrument_file(instrument_file(), TEQ, "teq.toml")
    assert wording.items[15] == "t16"
    assert wording.anchors[0] == tuple(enumerate("abcde"))
    with pytest.raises(DataError, match=r"teq\.toml is not the TEQ"):
        read_instrument_file(instrument_file(high="5"), TEQ, "teq.toml")
    with pytest.raises(DataError, match="not an instrument file"):
        read_instrument_file(b"x = ", TEQ, "teq.toml")


def test_the_list_says_what_is_missing():
    bare = {listed.instrument.key: listed for listed in list_instruments(())}
    assert [key for key, listed in bare.items() if listed.ready] == ["PANAS"]
    assert "eqlab data fetch emotionbench" in bare["AGQ"].missing
    assert wording_file(TEQ) in bare["TEQ"].missing
    assert all(listed.ready for listed in list_instruments({wording_file(one) for one in INSTRUMENTS.values()}))
