"""ToMBench's emotion part (Chen et al., ACL 2024, arXiv 2402.15052): 420 questions of seven abilities, each with a
story and two to four options, in English and in Chinese. The items are fetched, never shipped."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from eqlab.core.errors import DataError

FILES = {
    "Unexpected Outcome Test": "uot",
    "Hidden Emotions": "he",
    "Discrepant Emotions": "de",
    "Moral Emotions": "me",
    "Emotion Regulation": "er",
    "Strange Story Task": "sst",
}
"""The files that hold emotion items, and how their items are called here."""
LANGUAGES = ("en", "zh")
_NAMES = {"en": ("STORY", "QUESTION", "OPTION-"), "zh": ("故事", "问题", "选项")}
_LETTER = re.compile(r"^\s*[A-D]\s*[.．:：、]\s*")
_FETCH = "Get it again with 'eqlab data fetch tombench'."


@dataclass(frozen=True, slots=True)
class Item:
    """One question in one language."""

    id: str
    """The same in both languages."""
    file: str
    ability: str
    """Such as "Hidden emotions"; that of a question which is not about emotion names its kind first."""
    emotion: bool
    language: str
    story: str
    question: str
    options: tuple[str, ...]
    """Without the letters that the file puts before them."""
    right: int
    """Place of the right option, from 0."""
    as_written: tuple[str, ...]


def source(file: str) -> str:
    return f"tombench/data/{file}.jsonl"


def read_items(files: Mapping[str, bytes], language: str) -> list[Item]:
    """Every question of the files, those that are not about emotion among them."""
    found = []
    for file, short in FILES.items():
        if source(file) not in files:
            continue
        lines = [line for line in files[source(file)].decode("utf-8", "replace").split("\n") if line.strip()]
        for place, line in enumerate(lines):
            found.append(_item(line, file, f"{short}-{place:03d}", language))
    return found


def _item(line: str, file: str, name: str, language: str) -> Item:
    story, question, option = _NAMES[language]
    try:
        entry = json.loads(line)
        fields: dict[str, Any] = {key.split("\n")[-1]: value for key, value in entry.items()}
        kind, _, ability = str(fields["ABILITY"]).partition(": ")
        written = tuple(text for letter in "ABCD" if isinstance(text := fields[option + letter], str))
        right = "ABCD".index(str(fields["ANSWER"]).strip())
        texts = str(fields[story]).strip(), str(fields[question]).strip()
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{source(file)}: {name} is not a question ({type(error).__name__}: {error}).", _FETCH
        ) from error
    options = tuple(_LETTER.sub("", text).strip() for text in written)
    if right >= len(options) or len(options) < 2:
        raise DataError(f"{source(file)}: the answer of {name} is not one of its options.", _FETCH)
    emotion = kind == "Emotion"
    return Item(
        name, file, ability if emotion else f"{kind}: {ability}", emotion, language, *texts, options, right, written
    )


# -- answers that read no story --------------------------------------------------------------------------------------


def by_length(item: Item, *, longest: bool) -> float:
    """The share right of who takes the longest option, or the shortest; ties are shared."""
    lengths = [len(option) for option in item.options]
    return _shared([length if longest else -length for length in lengths], item.right)


def by_wording(items: Sequence[Item]) -> list[float]:
    """The share right of who takes the option that is right most often where it is offered in other stories, with a
    prior of one in four: the wordings' own doing. Ties are shared."""
    offered: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    for item in items:
        for place, option in enumerate(item.options):
            for key in ((option, ""), (option, item.story)):
                offered[key] += 1
                right[key] += place == item.right

    def elsewhere(option: str, story: str) -> float:
        told = right[option, ""] - right[option, story]
        return (told + 0.25) / (offered[option, ""] - offered[option, story] + 1)

    return [_shared([elsewhere(option, item.story) for option in item.options], item.right) for item in items]


def _shared(worth: Sequence[float], right: int) -> float:
    best = max(worth)
    return (worth[right] == best) / worth.count(best)


def chance(items: Sequence[Item]) -> float:
    return fmean(1 / len(item.options) for item in items)
