"""The EmpatheticDialogues archive (Rashkin et al. 2019) and the two ways to choose prompts from it.

The files look like CSV and are not: there is no quoting, a comma inside a field is written `_comma_`, and a csv reader
swallows rows at a stray quote. So: line by line, split at commas, 8 fields, or 9 with retrieval candidates."""

import io
import random
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from eqlab.benchmarks.empathy.emotions import EMOTIONS
from eqlab.benchmarks.empathy.tokens import count
from eqlab.core.errors import DataError, UsageError

PER_EMOTION = 75
SPLITS = ("train", "valid", "test")
_FIELDS = ("conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance", "selfeval", "tags")


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation's opening."""

    id: str
    split: str
    emotion: str
    situation: str
    utterance: str
    """The speaker's first turn."""
    reply: str
    """The listener's first turn."""
    turns: int
    reply_tokens: int
    """Length of the reply as the study must have counted it: while commas are still `_comma_`, so a comma is none."""


@dataclass(frozen=True, slots=True)
class Reading:
    conversations: tuple[Conversation, ...]
    """Those with a reply, in the order of the file."""
    lines: int
    bad_lines: tuple[str, ...]
    """Place and reason of each line that is not one."""
    without_reply: int


def read_archive(content: bytes, path: str = "empatheticdialogues.tar.gz") -> Reading:
    """All splits of the tar.gz that Facebook AI published."""
    texts: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:*") as archive:
            for member in archive.getmembers():
                name = member.name.rsplit("/", 1)[-1]
                split = name.removesuffix(".csv")
                file = archive.extractfile(member) if split in SPLITS and name.endswith(".csv") else None
                if file is not None:
                    texts[split] = file.read().decode("utf-8")
    except (tarfile.TarError, UnicodeDecodeError, EOFError, OSError) as error:
        raise DataError(f"{path} is no EmpatheticDialogues archive: {error}.", _WHERE) from error
    if not texts:
        raise DataError(f"{path} has no train.csv, valid.csv or test.csv in it.", _WHERE)
    return read_texts({split: texts[split] for split in SPLITS if split in texts})


def read_texts(texts: Mapping[str, str]) -> Reading:
    """The text of each split's file, with its header line."""
    found: list[Conversation] = []
    bad: list[str] = []
    lines = alone = 0
    for split, text in texts.items():
        grouped: dict[str, dict[int, dict[str, str]]] = {}
        for number, line in enumerate(_lines(text, split), start=2):
            lines += 1
            row = _row(line)
            if isinstance(row, str):
                bad.append(f"{split}.csv line {number}: {row}")
            else:
                grouped.setdefault(row["conv_id"], {})[int(row["utterance_idx"])] = row
        for name, turns in grouped.items():
            if 1 in turns and 2 in turns:
                found.append(_conversation(name, split, turns))
            else:
                alone += 1
    return Reading(tuple(found), lines, tuple(bad), alone)


def _lines(text: str, split: str) -> Iterator[str]:
    """Lines end with a newline only: some texts hold other characters that Python takes for line ends."""
    lines = iter(text.split("\n"))
    header = next(lines).rstrip("\r")
    if header.split(",")[: len(_FIELDS)] != list(_FIELDS):
        raise DataError(f"{split}.csv does not begin with the columns {','.join(_FIELDS)}.", _WHERE)
    return (line.rstrip("\r") for line in lines if line.strip())


def _row(line: str) -> dict[str, str] | str:
    """The fields by name, or why there are none."""
    parts = line.split(",")
    if not len(_FIELDS) <= len(parts) <= len(_FIELDS) + 1:
        return f"{len(parts)} fields instead of 8 or 9"
    row = dict(zip(_FIELDS, parts, strict=False))
    if not row["utterance_idx"].isdecimal():
        return f"'{row['utterance_idx'][:20]}' is not the number of a turn"
    if row["context"] not in EMOTIONS:
        return f"'{row['context'][:20]}' is not one of the 32 emotions"
    return row


def _conversation(name: str, split: str, turns: Mapping[int, Mapping[str, str]]) -> Conversation:
    first, second = turns[1], turns[2]
    return Conversation(
        name,
        split,
        first["context"],
        plain(first["prompt"]),
        plain(first["utterance"]),
        plain(second["utterance"]),
        len(turns),
        count(second["utterance"]),
    )


def plain(field: str) -> str:
    """The text a person wrote: escapes undone, outer blanks gone."""
    return field.replace("_comma_", ",").replace("_pipe_", "|").strip()


def longest_replies(conversations: Iterable[Conversation], per_emotion: int = PER_EMOTION) -> list[Conversation]:
    """The rule that the published prompts follow (inferred: it separates 22 of 32 emotions perfectly): in each emotion
    those with the longest first reply; ties by id. It makes the human baseline the longest tenth of replies."""
    chosen = []
    for group in _by_emotion(conversations, per_emotion).values():
        chosen += sorted(group, key=lambda one: (-one.reply_tokens, one.id))[:per_emotion]
    return chosen


def stratified_replies(
    conversations: Iterable[Conversation], per_emotion: int = PER_EMOTION, *, strata: int = 5, seed: int = 0
) -> list[Conversation]:
    """A fair draw: in each emotion the conversations are cut into `strata` equal parts by the length of their first
    reply, and equally many (± 1) are drawn at random from each part."""
    if strata < 1:
        raise UsageError("A stratified draw needs at least one stratum.")
    draw = random.Random(seed)
    chosen = []
    for group in _by_emotion(conversations, per_emotion).values():
        ordered = sorted(group, key=lambda one: (one.reply_tokens, one.id))
        for index in range(strata):
            part = ordered[index * len(ordered) // strata : (index + 1) * len(ordered) // strata]
            wanted = (index + 1) * per_emotion // strata - index * per_emotion // strata
            chosen += draw.sample(part, wanted)
    return chosen


def published_batches(
    chosen: Sequence[Conversation], *, seed: int, size: int = 10, batches: int = 200
) -> list[list[Conversation]]:
    """As in the study: all shuffled together, cut into batches, the first `batches` of them used. Emotions are not
    balanced (`items.balanced_batches` does that)."""
    shuffled = list(chosen)
    random.Random(seed).shuffle(shuffled)
    return [shuffled[start : start + size] for start in range(0, len(shuffled), size)][:batches]


def _by_emotion(conversations: Iterable[Conversation], per_emotion: int) -> dict[str, list[Conversation]]:
    grouped: dict[str, list[Conversation]] = {}
    for one in conversations:
        grouped.setdefault(one.emotion, []).append(one)
    for name, group in grouped.items():
        if len(group) < per_emotion:
            raise UsageError(f"'{name}' has {len(group)} conversations, {per_emotion} are wanted.", "Ask for fewer.")
    return {name: grouped[name] for name in sorted(grouped)}


_WHERE = "Get empatheticdialogues.tar.gz (28 MB) from dl.fbaipublicfiles.com/parlai/empatheticdialogues/."
