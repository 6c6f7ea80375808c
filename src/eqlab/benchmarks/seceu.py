"""SECEU (Wang et al. 2023, arXiv 2307.09042): a story, four feelings, ten points to deal out over them. The headline is
*shape*, the agreement of their pattern with people's: 0 for a flat answer and, in drawn order, for any fixed one; 1
for people's pattern in any strength. Beside it the published distance and EQ, never without what answers get that
read nothing. The published files (stories, people's mean answers and mean distances) are fetched and never shipped."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from msgspec.structs import replace

from eqlab.analysis.intervals import clustered_share
from eqlab.analysis.pattern import agreement, linearised, shape, sums
from eqlab.benchmarks.common.outcome import Asked
from eqlab.benchmarks.common.questions import Question, Questions, how_to_fill_in, mean_by_item
from eqlab.benchmarks.options import Options, option
from eqlab.core.answers import final
from eqlab.core.benchmark import Context, Scored, Source
from eqlab.core.forms import Form, Scale
from eqlab.core.grouping import group_means
from eqlab.core.item_file import numbers_in, read_items
from eqlab.core.results import Baseline, Estimate, ItemScore, Norms
from eqlab.core.runs import OWN
from eqlab.core.toml_file import Section
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.data import office
from eqlab.data.published import broken

_FILES = "seceu/static/SECEU/SECEU"
STORIES = {"en": f"{_FILES}_40items_English.docx", "zh": f"{_FILES}_40items_Chinese.docx"}
NORM = f"{_FILES}_norm.docx"
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
_HEAD = re.compile(r"Item \d+|第.{1,4}题")


def eq(distance: float, mean: float = MEAN, sd: float = SD) -> float:
    """The paper's EQ: the distance on another scale, and nothing more."""
    return 100 + 15 * (mean - distance) / sd


def read_stories(content: bytes, path: str) -> list[tuple[str, list[str]]]:
    """Each with its words in the published order."""
    stories: list[list[str]] = []  # of each story its text, then its words
    for line in map(str.strip, office.paragraphs(content, path)):
        if _HEAD.fullmatch(line):
            stories.append([])
        elif stories and line.startswith("Options:"):
            stories[-1] += _OPTION.findall(line)
        elif stories:  # in Chinese the words stand after tabs, on a line of their own or on the story's
            stories[-1] += line.removeprefix("Story:").split("\t")
    parts = [[part.strip() for part in story if part.strip()] for story in stories]
    if len(parts) != ITEMS or any(len(part) != 1 + WORDS for part in parts):
        raise broken(path, f"{ITEMS} stories with {WORDS} words each")
    return [(text, words) for text, *words in parts]


def read_norm(content: bytes, path: str = NORM) -> tuple[list[tuple[float, ...]], list[float]]:
    """(people's mean points by item in the published order, people's mean distance by item)."""
    lines = [[float(number) for number in re.findall(r"\d+\.\d+", line)] for line in office.paragraphs(content, path)]
    norm = [tuple(numbers) for numbers in lines if len(numbers) == WORDS]
    template = [number for numbers in lines if len(numbers) == ITEMS // 4 for number in numbers]
    if (len(norm), len(template)) != (ITEMS, ITEMS):
        raise broken(path, f"{ITEMS} norms and a template of {ITEMS} distances")
    return norm, template


_COLUMNS = ("id", "theme", "person", "story", "words", "reason")
_ASKS = {"en": "How much of each does {person} feel?", "zh": "{person}此刻的感受是什么？"}
_FILLS: dict[str, tuple[float, ...]] = {"2.5 to each": (2.5,) * WORDS, "4, 3, 2, 1 by place": (4.0, 3.0, 2.0, 1.0)}
_CAVEATS = {
    "published": "People's level of shape is not known: their answers were not released.",
    "open": "The references are one author's, no human norm; 'eqlab study init seceu' asks people.",
}
DISTANCE, SHUFFLED, PUBLISHED = "distance", "shuffled", "published"
FIRST = "points too many for the first word"
Items = Sequence[ItemScore]


@dataclass(frozen=True, slots=True)
class SeceuOptions(Options):
    order: str = option(SHUFFLED, "order of the words: drawn for each item and repeat, as the item file has it, "
                        "or both, for the position effect", (SHUFFLED, PUBLISHED, "both"))  # fmt: skip
    language: str = option("en", "language of the stories", ("en", "zh"))


class Seceu(Questions[SeceuOptions]):
    name, title, open_title = "seceu", "SECEU", "EQ Lab open stories"
    asks = "A story and four feelings: how strong is each? Answers are held against people's pattern."
    item_sets, branches = ("published", "open", OWN), ("understand",)
    option_class = SeceuOptions
    headline, score_range, noun, repeats = "shape", (0.0, 1.0), "stories", 2
    of_people, counted_condition = (FIRST,), SHUFFLED

    def files(self, item_set: str, options: SeceuOptions) -> Sequence[Source]:
        if item_set == "published":
            return tuple(Source("published", path) for path in (STORIES[options.language], NORM))
        name = "seceu.toml" if options.language == "en" else "seceu_zh.toml"
        return (Source("open", name),) if item_set == "open" else ()

    def questions(self, files: Mapping[str, bytes], options: SeceuOptions) -> list[Question]:
        if options.item_set == "published":
            told = read_stories(files[path := STORIES[options.language]], path)
            norm, _ = read_norm(files[NORM])
            stories = [
                (str(place), text, dict(zip(words, points, strict=True)))
                for place, ((text, words), points) in enumerate(zip(told, norm, strict=True), start=1)
            ]
        else:
            ((path, content),) = files.items()
            stories = read_items(content, path, _COLUMNS, _story, numbers_in("words"), "story")
        orders = (SHUFFLED, PUBLISHED) if options.order == "both" else (options.order,)
        return [
            Question(name, text, tuple(Scale(word, word, 0, TOTAL) for word in points), {"reference": points}, TOTAL,
                     order, order == SHUFFLED)
            for name, text, points in stories
            for order in orders
        ]  # fmt: skip

    def instruct(self, form: Form, options: SeceuOptions, *, structured: bool) -> str:
        return how_to_fill_in(form, structured=structured, language=options.language)

    def points(self, trial: Trial, values: Mapping[str, float]) -> float:
        return _distance(values, trial.key["reference"])

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        """An item by itself has a distance; only many together have a shape."""
        return replace(super().item(scored, options), points=None)

    def together(self, items: Items) -> Estimate:
        read, parts = _counting(items)
        return shape(parts, [item.item for item in read])

    def comparable(self, items: Items) -> Items:
        read, parts = _counting(items)
        points = linearised(parts, [item.item for item in read])
        points_of = {(item.trial, item.repeat): point for item, point in zip(read, points, strict=True)}
        return [replace(item, points=points_of.get((item.trial, item.repeat))) for item in items]

    def baselines(self, asked: Asked) -> tuple[Baseline, ...]:
        drawn = [own for trials in asked if (own := [trial for trial in trials if trial.condition == SHUFFLED])]
        norms, fills = list(map(_norms, drawn or asked)), dict(_FILLS) if asked else {}
        if asked and not drawn:
            everywhere = _norms([trial for trials in asked for trial in trials])
            fills["the norm's mean by place"] = tuple(map(fmean, zip(*everywhere, strict=True)))
        return tuple(
            Baseline(name, fmean(agreement([sums(fill, norm) for norm in own]) for own in norms))
            for name, fill in fills.items()
        )

    def more_estimates(self, scored: Sequence[Scored], items: Items, options: SeceuOptions) -> Iterator[Estimate]:
        pairs = list(zip(scored, items, strict=True))
        drawn, fixed = ([pair for pair in pairs if pair[0].trial.condition == order] for order in (SHUFFLED, PUBLISHED))
        main, normed = drawn or fixed, options.item_set == "published"
        yield from _published(main, "", normed, "on the published norm, other form; " if drawn else "")
        if drawn and fixed:
            yield from _published(fixed, ", published order", normed, "")
            one, other = (group_means((item.item, item.score) for _, item in order) for order in (drawn, fixed))
            gain = [(name, (one[name] - other[name]) * 15 / SD) for name in one if name in other]
            yield mean_by_item("position effect", gain, "EQ in published order − in drawn order", digits=1)
        paper = ((item.item, _as_the_paper_reads(one)) for one, item in main)
        rules = "no answer as zeros, negative points shifted, any sum scaled to 10"
        yield mean_by_item("distance, by the paper's rules for replies", paper, rules)
        read = [item for _, item in main if item.values]
        strongest = [max(item.reference, key=item.reference.__getitem__) for item in read]
        firsts = [next(iter(item.values.items())) for item in read]
        chosen = [max(item.values, key=item.values.__getitem__) for item in read]
        hits = [word == best for word, best in zip(chosen, strongest, strict=True)]
        first = sum(word == best for (word, _), best in zip(firsts, strongest, strict=True))
        note = f"25 % by chance, {100 * first / len(read):.0f} % by always taking the first" if read else ""
        yield clustered_share("strongest word found", hits, [item.item for item in read], note=note)
        pull = [(item.item, points - item.reference[word]) for item, (word, points) in zip(read, firsts, strict=True)]
        yield mean_by_item(FIRST, pull, "0 where the place does not matter")

    def proviso(self, estimates: Sequence[Estimate]) -> str:
        """Distance, and EQ where there is one, with what answers get that read nothing: never shape or EQ alone."""
        told = [one for one in estimates if one.name.startswith((DISTANCE, "EQ")) and "rules" not in one.name]
        last = {one.name.partition(",")[2]: one for one in told}  # EQ has the same notes on another scale
        return "; ".join(f"{one.name} {one.value:.{one.digits}f}" + (f" ({one.note})" if one in last.values() else "")
                         for one in told if one.value is not None)  # fmt: skip

    def norms(self, options: Mapping[str, Any], context: Context) -> Norms | None:
        if options["item_set"] != "published":
            return None
        apart = ["saw the words in one fixed order"] if options["order"] != PUBLISHED else []
        apart += ["answered in Chinese"] if options["language"] != "zh" else []
        caution, who = f"they {' and '.join(apart)}" if apart else "", "students, Wang et al. 2023"
        return Norms(tuple(ANCHORS), who, PEOPLE, tuple(ANCHORS.values()), DISTANCE, "", caution, "lower")

    def caveats(self, options: SeceuOptions) -> Sequence[str]:
        return [_CAVEATS[options.item_set]] if options.item_set in _CAVEATS else []


def _story(one: Section, top: Section) -> tuple[str, str, dict[str, float]]:
    """One of our own stories, or of a user's."""
    if top.has("instruction"):
        top.wrong("instruction", "is not taken here (delete it: points are asked for in the same words always)")
    words = one.table("words", None)
    points = {word: words.number(word, 0.0, 0, TOTAL) for word in words.values}
    if len(points) != WORDS or abs(sum(points.values()) - TOTAL) > 0.05:
        one.wrong("words", f'are not {WORDS} whose points add up to {TOTAL} (write {{ "Sad" = 6, "Angry" = 2, … }})')
    asks = _ASKS[top.choice("language", tuple(_ASKS), "en")].format(person=one.text("person", ""))
    text = f"{one.text('story')}\n\n{asks}" if one.has("person") else one.text("story")
    return one.text("id"), text, points


def _distance(values: Mapping[str, float], norm: Mapping[str, float]) -> float:
    return math.dist([values[word] for word in norm], list(norm.values()))


def _norms(trials: Sequence[Trial]) -> list[list[float]]:
    """By place, as shown."""
    return [[trial.key["reference"][key] for key in trial.form.keys] for trial in trials]


def _counting(items: Items) -> tuple[list[ItemScore], list[tuple[float, float, float]]]:
    """Answers in drawn order where there are some, else all; and of each what shape is made of."""
    read = [item for item in items if item.values]
    read = [item for item in read if item.title.endswith(SHUFFLED)] or read
    return read, [sums(list(item.values.values()), [item.reference[word] for word in item.values]) for item in read]


def _published(pairs: Sequence[tuple[Scored, ItemScore]], order: str, normed: bool, form: str) -> Iterator[Estimate]:
    """Distance and EQ as published, with what reads nothing on the same line, and people."""
    norms = _norms([scored.trial for scored, _ in pairs])
    floor = {name: fmean(math.dist(fill, norm) for norm in norms) for name, fill in _FILLS.items() if norms}
    told = "; ".join(f"{name}: {value:.2f}" for name, value in floor.items())
    people = f"; people: {MEAN} (SD {SD})" if normed else ""
    scores = [(item.item, item.score) for _, item in pairs]
    yield (mean := mean_by_item(f"{DISTANCE}{order}", scores, f"smaller is better; {told}{people}"))
    if normed and mean.value is not None:
        told = "; ".join(f"{name}: {eq(value):.1f}" for name, value in floor.items())
        low, high = (None if bound is None else eq(bound) for bound in (mean.high, mean.low))
        yield Estimate(
            f"EQ{order}", eq(mean.value), mean.n, None, low, high, "", f"{form}{told}; people: 100 (SD 15)", 1
        )


def _as_the_paper_reads(scored: Scored) -> float | None:
    """The distance by the paper's rules; None where nothing came back."""
    last = final(scored.attempts)
    if last is None or last.status == "error":
        return None
    norm = scored.trial.key["reference"]
    given = {word: float(last.values.get(word, 0.0)) for word in norm}
    shifted = {word: points - min(0.0, *given.values()) for word, points in given.items()}
    dealt = sum(shifted.values()) or 1.0
    return _distance({word: points * TOTAL / dealt for word, points in shifted.items()}, norm)
