"""CuLEmo (Belay et al. 2025, arXiv 2503.10688): 400 questions about how one would feel, in six languages, each with
the one of six labels that people of one country gave. The items are fetched, never shipped."""

from collections.abc import Mapping
from dataclasses import dataclass

from eqlab.core.errors import DataError

LABELS = ("anger", "fear", "sadness", "joy", "guilt", "neutral")
LANGUAGES = ("eng", "amh", "ara", "deu", "hin", "spn")
_FETCH = "Get it again with 'eqlab data fetch culemo'."


@dataclass(frozen=True, slots=True)
class Item:
    """One question in one language, with the label of that country's people."""

    id: str
    """The place of its English wording in the English file; the same in every language."""
    language: str
    english: str
    text: str
    gold: str
    """One of `LABELS`."""
    american: str | None
    """The label that people in the United States gave the same English wording; None where they had another one."""


@dataclass(frozen=True, slots=True)
class Language:
    name: str
    items: tuple[Item, ...]
    words: Mapping[str, str]
    """The labels as this language says them."""


def source(language: str) -> str:
    return f"culemo/data/test/{language}.tsv"


def read_language(files: Mapping[str, bytes], language: str) -> Language:
    """In the order of the file. The English file must be among them: items are joined by their English wording."""
    ids: dict[str, str] = {}
    american: dict[str, str] = {}
    for place, row in enumerate(_rows(files, "eng"), start=1):
        wording = row["text_eng"].strip()
        ids.setdefault(wording, f"q{place:03d}")
        american.setdefault(wording, row["emotion_eng"].strip())
    items, words, seen = [], {}, set[str]()
    for place, row in enumerate(_rows(files, language), start=1):
        english, gold = row["text_eng"].strip(), row["emotion_eng"].strip()
        name = ids.get(english, f"{language}{place:03d}")
        if gold not in LABELS:
            raise DataError(f"{source(language)}, question {place}: '{gold}' is not one of the six labels.", _FETCH)
        name = f"{name}b" if name in seen else name
        seen.add(name)
        words[gold] = row[f"emotion_{language}"].strip()
        items.append(Item(name, language, english, row[f"text_{language}"].strip(), gold, american.get(english)))
    return Language(language, tuple(items), words)


def _rows(files: Mapping[str, bytes], language: str) -> list[dict[str, str]]:
    """Cells as they stand, quotation marks and all."""
    path = source(language)
    head, *lines = files[path].decode("utf-8-sig", "replace").replace("\r", "").split("\n")
    columns = head.split("\t")
    wanted = {"text_eng", "emotion_eng", f"text_{language}", f"emotion_{language}"}
    rows = [dict(zip(columns, line.split("\t"), strict=False)) for line in lines if line.strip()]
    if not wanted <= set(columns) or not rows or any(len(row) < len(columns) for row in rows):
        raise DataError(f"{path} is not a table of questions.", _FETCH)
    return rows
