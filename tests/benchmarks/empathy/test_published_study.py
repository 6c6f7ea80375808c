"""Reading the public file: typed rows, pseudonyms, errors that name the row. The file here is made up."""

import csv
import io

import pytest

from eqlab.benchmarks.empathy.items import ARMS, IdQuirks, parse_published, pseudonym
from eqlab.core.errors import DataError

IDS = {"human": "a" * 24, "chatgpt": "b" * 24 + " ", "chatgpt_empathy": "short@example.org"}


def row(number, **changes):
    made = {
        "part_no": str(number // 2),
        "dialog_id": f"hit:{number}",
        "emotion": "proud",
        "sentiment": "positive",
        "plutchik": "optimism",
        "situation": "I won, at last",
        "speaker_uttr": 'She said "well done"',
    }
    for arm in ARMS:
        made |= {
            f"annotator_{arm}": f"{IDS[arm]}" if number < 2 else f"{IDS[arm][0] * 23}{number // 2}",
            f"response_{arm}": f"reply of {arm} {number}",
            f"rating_{arm}": "3",
            f"empathy_propensity_{arm}": "32",
            f"empathy_arr_{arm}": "[" + ", ".join(["0"] * 16) + "]",
            f"miti_{arm}": "['Affirm']",
        }
    return made | changes


def file(rows):
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def test_rows_become_prompts_replies_raters_and_ratings():
    study = parse_published(file([row(0), row(1, rating_human="1"), row(2), row(3)]))
    assert (len(study.prompts), len(study.replies), len(study.raters), len(study.ratings)) == (4, 12, 6, 12)
    assert [prompt.position for prompt in study.prompts] == [0, 1, 0, 1]
    assert study.ratings[3].value == 1
    assert study.raters[0].teq == (2,) * 16
    assert study.raters[0].teq_total == 32 == study.raters[0].teq_printed
    assert study.replies_of("chatgpt")[1].text == "reply of chatgpt 1"
    assert study.missing_cells == 0


def test_no_panel_id_is_left():
    study = parse_published(file([row(0), row(1)]))
    text = repr(study)
    for name in IDS.values():
        assert name.strip().split("@")[0] not in text
    assert study.id_quirks == IdQuirks(with_trailing_space=1, with_email_suffix=1, not_24_hex=1)
    assert pseudonym("AbC ", b"k") == pseudonym("abc@mail.org", b"k") != pseudonym("abc", b"other")


def test_teq_items_are_reversed():
    keyed = "[2, -2, 2, -2, 2, 2, -2, 2, 2, -2, -2, -2, 2, -2, -2, 2]"
    study = parse_published(file([row(0, empathy_arr_human=keyed), row(1, empathy_arr_human=keyed)]))
    assert study.raters[0].teq_total == 64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rating_human": "4"}, "row 3 is broken.*not a rating"),
        ({"rating_human": ""}, "row 3 is broken"),
        ({"emotion": "hungry"}, "row 3.*not one of the 32 emotions"),
        ({"sentiment": "negative"}, "row 3.*valence"),
        ({"empathy_arr_chatgpt": "[1, 2]"}, "row 3.*sixteen answers"),
        ({"empathy_arr_chatgpt": "no"}, "row 3 is broken"),
        ({"miti_human": "[unclosed"}, "row 3 is broken"),
        ({"empathy_propensity_human": "12"}, "row 3.*other survey answers"),
    ],
)
def test_a_broken_row_is_named(changes, message):
    with pytest.raises(DataError, match=message) as caught:
        parse_published(file([row(0), row(1, **changes)]))
    for name in IDS.values():
        assert name.strip() not in str(caught.value)


def test_a_file_that_is_something_else():
    with pytest.raises(DataError, match="has no rows"):
        parse_published(b"")
    with pytest.raises(DataError, match="row 2 is broken"):
        parse_published(b"a,b\n1,2\n")
    with pytest.raises(DataError, match="cannot be read"):
        parse_published(b"\xff\xfe\x00")
