"""EmpatheticDialogues with its real quirks, and both ways to choose from it."""

import gzip
import io
import tarfile
from collections import Counter

import pytest

from eqlab.benchmarks.empathy.dialogues import (
    Conversation,
    longest_replies,
    published_batches,
    read_archive,
    read_texts,
    stratified_replies,
)
from eqlab.core.errors import DataError, UsageError

HEADER = "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags"
TRAIN = f"""{HEADER}
hit:0_conv:1,1,sentimental,I miss him_comma_ a lot ,1,He said "hi,5|5|5_2|2|5,
hit:0_conv:1,2,sentimental,I miss him_comma_ a lot ,0,Oh_comma_ no. I'm sorry!,5|5|5_2|2|5,
hit:0_conv:1,3,sentimental,I miss him_comma_ a lot ,1,Thanks,5|5|5_2|2|5,
hit:6_conv:13,1,proud,I won,3,I won,5|5|5_5|5|5,
hit:7_conv:1,1,proud,too,few
hit:8_conv:1,1,hungry,p,1,u,s,
hit:9_conv:1,x,proud,p,1,u,s,
"""
VALID = "\r\n".join(
    [HEADER, "hit:2_conv:5,1,proud,p,1,one\u2028line,s,,cand_pipe_a|cand b", "hit:2_conv:5,2,proud,p,2,two,s,,c", ""]
)


def archive(files, compress=True):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz" if compress else "w") as made:
        for name, text in files.items():
            info = tarfile.TarInfo(f"empatheticdialogues/{name}")
            info.size = len(text.encode())
            made.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def test_stray_quotes_swallow_nothing():
    found = read_texts({"train": TRAIN})
    (one,) = found.conversations
    assert one == Conversation(
        "hit:0_conv:1", "train", "sentimental", "I miss him, a lot", 'He said "hi', "Oh, no. I'm sorry!", 3, 7
    )
    assert found.lines == 7
    assert found.without_reply == 1
    assert [line.split(":")[0] for line in found.bad_lines] == [f"train.csv line {n}" for n in (6, 7, 8)]
    assert "5 fields" in found.bad_lines[0]
    assert "hungry" in found.bad_lines[1]


def test_a_comma_counts_no_token():
    (one,) = read_texts({"train": TRAIN}).conversations
    assert one.reply_tokens == 7  # Oh_comma_ no . I 'm sorry !


def test_nine_columns_and_odd_line_ends():
    (one,) = read_texts({"valid": VALID}).conversations
    assert one.utterance == "one\u2028line"
    assert one.reply == "two"


@pytest.mark.parametrize("compress", [True, False])
def test_the_archive(compress):
    found = read_archive(archive({"valid.csv": VALID, "train.csv": TRAIN, "README": "x"}, compress))
    assert [one.split for one in found.conversations] == ["train", "valid"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"nothing", "is no EmpatheticDialogues archive"),
        (gzip.compress(b"nothing", mtime=0), "is no EmpatheticDialogues archive"),
        (archive({"README": "x"}), "no train.csv"),
        (archive({"train.csv": TRAIN})[:-40], "is no EmpatheticDialogues archive"),
        (archive({"train.csv": "a,b,c\n1,2,3\n"}), "does not begin with the columns"),
    ],
)
def test_an_archive_that_is_something_else(content, message):
    with pytest.raises(DataError, match=message):
        read_archive(content)


def pool(count=40):
    return [
        Conversation(f"{emotion}{n:03}", "train", emotion, "s", "u", "r", 2, n % 20)
        for emotion in ("proud", "sad")
        for n in range(count)
    ]


def test_the_longest_replies_of_each_emotion():
    chosen = longest_replies(pool(), 6)
    assert Counter(one.emotion for one in chosen) == {"proud": 6, "sad": 6}
    assert [one.reply_tokens for one in chosen[:6]] == [19, 19, 18, 18, 17, 17]
    assert [one.id for one in chosen[:2]] == ["proud019", "proud039"]
    with pytest.raises(UsageError, match="'proud' has 40 conversations, 75"):
        longest_replies(pool())


def test_the_stratified_draw_keeps_the_lengths():
    chosen = stratified_replies(pool(), 12, strata=4, seed=1)
    assert Counter(one.emotion for one in chosen) == {"proud": 12, "sad": 12}
    lengths = [one.reply_tokens for one in chosen if one.emotion == "sad"]
    assert [sum(low <= n < low + 5 for n in lengths) for low in (0, 5, 10, 15)] == [3, 3, 3, 3]
    assert len({one.id for one in chosen}) == 24
    assert chosen == stratified_replies(pool(), 12, strata=4, seed=1)
    assert chosen != stratified_replies(pool(), 12, strata=4, seed=2)
    with pytest.raises(UsageError):
        stratified_replies(pool(), 12, strata=0)


def test_batches_as_published():
    chosen = longest_replies(pool(), 25)
    found = published_batches(chosen, seed=3, batches=4)
    assert [len(batch) for batch in found] == [10, 10, 10, 10]
    assert len({one.id for batch in found for one in batch}) == 40
