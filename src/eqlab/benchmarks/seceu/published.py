"""SECEU's published files (Wang et al. 2023, arXiv 2307.09042), which are fetched and never shipped: the stories with
their words in English and Chinese, people's mean answers (the norm) and mean distances (the template); and the numbers
that the paper prints of people."""

import re
from dataclasses import dataclass

from eqlab.core.errors import DataError
from eqlab.data import office

_FOLDER = "seceu/static"
STORIES = {language: f"{_FOLDER}/SECEU/SECEU_40items_{name}.docx" for language, name in
           (("en", "English"), ("zh", "Chinese"))}  # fmt: skip
NORM = f"{_FOLDER}/SECEU/SECEU_norm.docx"
ITEMS, WORDS, TOTAL = 40, 4, 10
MEAN, SD, PEOPLE = 2.79, 0.822, 541
"""Distances of the people who gave the norm: printed, and not to be had from the files but for the mean."""
ANCHORS = {
    1.89: 89, 2.01: 83, 2.4: 64, 2.41: 64, 2.45: 61, 2.46: 61, 2.5: 59, 2.53: 57, 2.56: 55.5, 2.63: 52, 2.7: 50,
    2.78: 131 / 3, 2.82: 42, 2.89: 38, 3.08: 30, 3.12: 28, 3.3: 23, 3.5: 18, 3.72: 13, 3.76: 12,
}  # fmt: skip
"""Distance, and the share of the 541 people with a larger one, in %: every pair that the paper prints (Tables 1, S1
and S2). Where one distance is printed with several shares, their mean."""
_OPTION = re.compile(r"\(\d\)\s*([^;:()]+)")
_CHINESE_HEAD = re.compile(r"第.{1,4}题")


@dataclass(frozen=True, slots=True)
class Story:
    id: str
    text: str
    words: tuple[str, ...]
    """In the published order."""


def eq(distance: float, mean: float = MEAN, sd: float = SD) -> float:
    """The paper's EQ: the distance on another scale, and nothing more."""
    return 100 + 15 * (mean - distance) / sd


def read_stories(content: bytes, path: str, language: str) -> list[Story]:
    lines = [line.strip() for line in office.paragraphs(content, path)]
    found = _english(lines) if language == "en" else _chinese(lines)
    if len(found) != ITEMS or any(len(words) != WORDS for _, words in found):
        raise broken(path, f"{ITEMS} stories with {WORDS} words each")
    return [Story(str(place), text, words) for place, (text, words) in enumerate(found, start=1)]


def _english(lines: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    stories = [line.removeprefix("Story:").strip() for line in lines if line.startswith("Story:")]
    words = [tuple(word.strip() for word in _OPTION.findall(line)) for line in lines if line.startswith("Options:")]
    return list(zip(stories, words, strict=False))


def _chinese(lines: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    """The words stand after tabs, on a line of their own or on the story's."""
    found: list[list[str]] = []
    for line in lines:
        if _CHINESE_HEAD.fullmatch(line):
            found.append([])
        elif found:
            found[-1] += [part.strip() for part in line.split("\t") if part.strip()]
    return [(parts[0], tuple(parts[1:])) for parts in found if parts]


def read_norm(content: bytes, path: str = NORM) -> tuple[list[tuple[float, ...]], list[float]]:
    """(people's mean points by item in the published order, people's mean distance by item)."""
    lines = [[float(number) for number in re.findall(r"\d+\.\d+", line)] for line in office.paragraphs(content, path)]
    norm = [tuple(numbers) for numbers in lines if len(numbers) == WORDS]
    template = [number for numbers in lines if len(numbers) == ITEMS // 4 for number in numbers]
    if (len(norm), len(template)) != (ITEMS, ITEMS):
        raise broken(path, f"{ITEMS} norms and a template of {ITEMS} distances")
    return norm, template


def broken(path: str, wanted: str) -> DataError:
    return DataError(f"{path} does not hold {wanted}.", "Run 'eqlab data verify', then 'eqlab data fetch seceu'.")
