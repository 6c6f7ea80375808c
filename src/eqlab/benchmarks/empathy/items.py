"""Prompts to reply to, the 32 emotions that they are about, and batches of prompts.

The study's public file (`dataset_and_ratings.csv`) as typed rows: prompts, replies, raters and ratings.

The raters' panel ids belong to real people. They are hashed while the file is read and kept nowhere; what is wrong
with them as typed is kept as counts only."""

import ast
import csv
import hashlib
import hmac
import io
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from eqlab.core.errors import DataError
from eqlab.core.item_file import instruction, read_items
from eqlab.core.toml_file import Section
from eqlab.core.values import dataclass
from eqlab.instruments.catalogue import OVERALL, TEQ, score

Valence = Literal["positive", "negative"]
VALENCES: tuple[Valence, ...] = ("positive", "negative")


@dataclass(frozen=True, slots=True)
class Emotion:
    """A label of EmpatheticDialogues with the valence and the Plutchik group that the study gave it. Facts of the
    published file, its oddities included: nostalgic and sentimental count as negative, surprised as positive, and the
    group of impressed and surprised is spelled "surprised"."""

    name: str
    valence: Valence
    plutchik: str


EMOTIONS: dict[str, Emotion] = {
    row["name"]: Emotion(**row)  # type: ignore[arg-type]
    for row in csv.DictReader(Path(__file__).with_name("emotions.csv").read_text("utf-8").splitlines())
}
"""By name, in alphabetical order."""

OPEN_PATH = "empathy.toml"


@dataclass(frozen=True, slots=True)
class EmpathyItem:
    """Somebody's story and what they say first."""

    id: str
    emotion: str
    valence: str
    plutchik: str
    situation: str
    utterance: str
    reply: str
    """A person's reply: the published listener's, or the author's own for open prompts."""
    instruction: str = ""
    """A user's own words to the model, with places for utterance and situation; empty: ours."""

    @property
    def about(self) -> dict[str, str]:
        """What a trial's key says of it."""
        return {name: getattr(self, name) for name in ("emotion", "valence", "plutchik", "situation", "utterance")}


_KEYS = ("id", "emotion", "valence", "plutchik", "situation", "utterance", "reply")


def parse_open(content: bytes, path: str = OPEN_PATH) -> list[EmpathyItem]:
    """Our own prompts, or a user's. Raises DataError with all that is wrong with the file."""
    return read_items(content, path, _KEYS, _item)


def _item(one: Section, top: Section) -> EmpathyItem:
    item = EmpathyItem(**{key: one.text(key) for key in _KEYS})
    emotion = EMOTIONS.get(item.emotion)
    if item.emotion and emotion is None:
        one.wrong("emotion", f"'{item.emotion[:40]}' is not one of the 32 emotions (there are: {', '.join(EMOTIONS)})")
    elif emotion is not None:
        for key, right in (("valence", emotion.valence), ("plutchik", emotion.plutchik)):
            if one.has(key) and getattr(item, key) != right:
                one.wrong(key, f'does not belong to {item.emotion} (write "{right}")')
    return item


_OWN = ("id", "utterance", "situation", "emotion", "valence", "plutchik", "reply", "language")
NOT_SAID = "not said"
"""The emotion of a user's own prompt that names none."""


def parse_own(content: bytes, path: str) -> list[EmpathyItem]:
    """A user's own prompts: an id and what the speaker says; everything else may be left out."""
    return read_items(content, path, _OWN, _own_item, text_as="utterance")


def _own_item(section: Section, top: Section) -> EmpathyItem:
    named = section.choice("emotion", tuple(EMOTIONS), NOT_SAID) if section.has("emotion") else NOT_SAID
    emotion = EMOTIONS.get(named)
    return EmpathyItem(
        section.text("id"),
        named,
        emotion.valence if emotion else section.text("valence", NOT_SAID),
        emotion.plutchik if emotion else section.text("plutchik", NOT_SAID),
        section.text("situation", "", may_be_empty=True),
        section.text("utterance"),
        section.text("reply", "", may_be_empty=True),
        instruction(top, ("utterance",), ("situation",)),
    )


PATH = "empathy/data/dataset_and_ratings.csv"
ARMS = ("human", "chatgpt", "chatgpt_empathy")
BASELINE = "human"
BATCH_SIZE = 10
LABELS = {1: "bad", 2: "okay", 3: "good"}
"""The file's codes; the study's own software used 0, 1, 2."""
TEQ_REVERSED = TEQ.reverse
"""Reverse-keyed items of the Toronto Empathy Questionnaire, counted from 1 (Spreng et al. 2009)."""


@dataclass(frozen=True, slots=True)
class Prompt:
    id: str
    emotion: str
    valence: Valence
    plutchik: str
    situation: str
    utterance: str
    human_reply: str
    batch: int
    position: int
    """Place in the batch, from 0; the same for every rater."""


@dataclass(frozen=True, slots=True)
class PublishedReply:
    arm: str
    prompt: str
    text: str
    miti: tuple[str, ...]
    """Codes of motivational interviewing. Unusable for chatgpt_empathy: the column copies that of chatgpt."""


@dataclass(frozen=True, slots=True)
class Rater:
    pseudonym: str
    arm: str
    batch: int
    teq: tuple[int, ...]
    """The sixteen answers as given, 0 never to 4 always (the file stores them minus 2)."""
    teq_printed: int
    """The total that the file gives."""

    @property
    def teq_total(self) -> int:
        """Scored from the answers: 0 to 64."""
        return int(score(TEQ, self.teq)[OVERALL] or 0)


@dataclass(frozen=True, slots=True)
class Rating:
    arm: str
    rater: str
    batch: int
    position: int
    prompt: str
    value: int
    """1 bad, 2 okay, 3 good: the file's codes."""


@dataclass(frozen=True, slots=True)
class IdQuirks:
    """How many ids, typed by hand, are not as the panel writes them."""

    with_trailing_space: int
    with_email_suffix: int
    not_24_hex: int


@dataclass(frozen=True, slots=True)
class PublishedStudy:
    prompts: tuple[Prompt, ...]
    replies: tuple[PublishedReply, ...]
    raters: tuple[Rater, ...]
    ratings: tuple[Rating, ...]
    id_quirks: IdQuirks
    missing_cells: int

    def replies_of(self, arm: str) -> list[PublishedReply]:
        return [reply for reply in self.replies if reply.arm == arm]


def parse_published(content: bytes, path: str = PATH, key: bytes = b"eqlab") -> PublishedStudy:
    """`key` enters the pseudonyms: with another key nobody who knows a panel id can find its pseudonym."""
    rows = _rows(content, path)
    prompts, replies, ratings = [], [], []
    raters: dict[tuple[str, str], Rater] = {}
    typed: dict[str, set[str]] = {arm: set() for arm in ARMS}
    seen: dict[int, int] = {}
    for number, row in enumerate(rows, start=2):
        try:
            batch = int(row["part_no"])
            position = seen.get(batch, 0)
            seen[batch] = position + 1
            prompt = _prompt(row, batch, position)
            prompts.append(prompt)
            for arm in ARMS:
                typed[arm].add(row[f"annotator_{arm}"])
                name = pseudonym(row[f"annotator_{arm}"], key)
                replies.append(PublishedReply(arm, prompt.id, row[f"response_{arm}"], _codes(row[f"miti_{arm}"])))
                ratings.append(Rating(arm, name, batch, position, prompt.id, _value(row[f"rating_{arm}"])))
                rater = _rater(row, arm, name, batch)
                if raters.setdefault((arm, name), rater) != rater:
                    raise ValueError(f"the rater of arm {arm} has another batch or other survey answers than before")
        except (KeyError, TypeError, ValueError, SyntaxError) as error:
            raise DataError(f"{path}: row {number} is broken ({type(error).__name__}: {error}).", _FETCH) from error
    return PublishedStudy(
        tuple(prompts),
        tuple(replies),
        tuple(raters.values()),
        tuple(ratings),
        _quirks([name for arm in ARMS for name in typed[arm]]),
        sum(cell == "" for row in rows for cell in row.values()),
    )


def pseudonym(panel_id: str, key: bytes) -> str:
    """The first 16 hex digits of HMAC-SHA256 over the id without the slips of typing."""
    clean = panel_id.strip().split("@", 1)[0].lower()
    return hmac.new(key, clean.encode(), hashlib.sha256).hexdigest()[:16]


def is_published(prompt: str) -> bool:
    """Whether a prompt is one of the published dialogues, by its id."""
    return _DIALOGUE.fullmatch(prompt) is not None


def from_published(prompts: Sequence[Prompt]) -> list[EmpathyItem]:
    return [
        EmpathyItem(
            prompt.id,
            prompt.emotion,
            prompt.valence,
            prompt.plutchik,
            prompt.situation.strip(),
            prompt.utterance.strip(),
            prompt.human_reply.strip(),
        )
        for prompt in prompts
    ]


_FETCH = "Run 'eqlab data verify', then 'eqlab data fetch empathy'."
_HEX = re.compile(r"[0-9a-f]{24}")
_DIALOGUE = re.compile(r"hit:\d+_conv:\d+")


def _rows(content: bytes, path: str) -> list[dict[str, str]]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} cannot be read: {error}.", _FETCH) from error
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    if not rows:
        raise DataError(f"{path} has no rows.", _FETCH)
    return rows


def _prompt(row: Mapping[str, str], batch: int, position: int) -> Prompt:
    emotion = EMOTIONS.get(row["emotion"])
    if emotion is None or (row["sentiment"], row["plutchik"]) != (emotion.valence, emotion.plutchik):
        raise ValueError(f"'{row['emotion']}' is not one of the 32 emotions with its valence and group")
    return Prompt(
        row["dialog_id"],
        emotion.name,
        emotion.valence,
        emotion.plutchik,
        row["situation"],
        row["speaker_uttr"],
        row["response_human"],
        batch,
        position,
    )


def _rater(row: Mapping[str, str], arm: str, name: str, batch: int) -> Rater:
    answers = tuple(int(stored) + 2 for stored in json.loads(row[f"empathy_arr_{arm}"]))
    if len(answers) != 16 or not all(0 <= answer <= 4 for answer in answers):
        raise ValueError(f"empathy_arr_{arm} is not sixteen answers from -2 to 2")
    return Rater(name, arm, batch, answers, int(row[f"empathy_propensity_{arm}"]))


@cache
def _codes(text: str) -> tuple[str, ...]:
    return tuple(str(code) for code in ast.literal_eval(text))


def _value(text: str) -> int:
    value = int(text)
    if value not in LABELS:
        raise ValueError(f"{value} is not a rating from 1 to 3")
    return value


def _quirks(typed: Sequence[str]) -> IdQuirks:
    return IdQuirks(
        sum(name != name.strip() for name in typed),
        sum("@" in name for name in typed),
        sum(_HEX.fullmatch(name.strip().lower()) is None for name in typed),
    )
