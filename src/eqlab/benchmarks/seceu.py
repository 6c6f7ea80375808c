"""SECEU (Wang et al. 2023, arXiv 2307.09042): a story, four feelings, ten points to deal out over them. The headline is
*shape*, the agreement of their pattern with people's: 0 for a flat answer and, in drawn order, for any fixed one; 1
for people's pattern in any strength. Beside it the published distance and EQ, never without what answers get that
read nothing.

The published files are fetched and never shipped: the stories with their words in English and Chinese, people's mean
answers (the norm) and mean distances (the template); and the numbers that the paper prints of people."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from msgspec.structs import replace

from eqlab.analysis.intervals import clustered_share, mean_estimate
from eqlab.analysis.pattern import linearised, shape, sums
from eqlab.benchmarks.common.questions import Question, Questions, by_item, how_to_fill_in
from eqlab.benchmarks.options import Options, option
from eqlab.core.answers import final
from eqlab.core.benchmark import Context, Scored, Selection, Source
from eqlab.core.errors import DataError
from eqlab.core.forms import Form, Scale
from eqlab.core.item_file import numbered, read_items
from eqlab.core.results import Baseline, Estimate, ItemScore, Norms
from eqlab.core.runs import OWN
from eqlab.core.toml_file import Section
from eqlab.core.trials import Trial
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


_OPEN = {"en": "seceu.toml", "zh": "seceu_zh.toml"}
_ASKS = {"en": "How much of each does {person} feel?", "zh": "{person}此刻的感受是什么？"}
_CHINESE = "请把{total}分分配给下面{count}种情绪，某种情绪越强，分数越高；总分必须是{total}。\n{words}\n\n"
_AS_JSON, _AS_LINES = "请只回答一个 JSON 对象，以这些词为键，分数为值。", "请每行写一个词、一个冒号和分数，不要写别的。"
_FILLS: dict[str, tuple[float, ...]] = {"2.5 to each": (2.5,) * WORDS, "4, 3, 2, 1 by place": (4.0, 3.0, 2.0, 1.0)}
DISTANCE, SHUFFLED, PUBLISHED = "distance", "shuffled", "published"


@dataclass(frozen=True, slots=True)
class SeceuOptions(Options):
    order: str = option(SHUFFLED, "order of the words: drawn for each item and repeat, as the item file has it, "
                        "or both, for the position effect", (SHUFFLED, PUBLISHED, "both"))  # fmt: skip
    language: str = option("en", "language of the stories", ("en", "zh"))


class Seceu(Questions[SeceuOptions]):
    name, title, open_title = "seceu", "SECEU", "EQ Lab open stories"
    item_sets, branches = ("published", "open", OWN), ("understand",)
    option_class = SeceuOptions
    headline, score_range, noun, repeats = "shape", (0.0, 1.0), "stories", 2

    def files(self, item_set: str, options: SeceuOptions) -> Sequence[Source]:
        if item_set == "published":
            return tuple(Source("published", path) for path in (STORIES[options.language], NORM))
        return (Source("open", _OPEN[options.language]),) if item_set == "open" else ()

    def questions(self, files: Mapping[str, bytes], options: SeceuOptions) -> list[Question]:
        if options.item_set == "published":
            path = STORIES[options.language]
            norm, _ = read_norm(files[NORM])
            stories = read_stories(files[path], path, options.language)
            pairs = [
                (one, dict(zip(one.words, points, strict=True))) for one, points in zip(stories, norm, strict=True)
            ]
        else:
            ((path, content),) = files.items()
            pairs = read_items(
                content, path, ("id", "theme", "person", "story", "words", "reason"), _story, _row, "story"
            )
        order = SHUFFLED if options.order == SHUFFLED else PUBLISHED
        return [
            Question(story.id, story.text, tuple(Scale(word, word, 0, TOTAL) for word in story.words),
                     {"reference": points}, TOTAL, order, order == SHUFFLED)
            for story, points in pairs
        ]  # fmt: skip

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        """Both orders are two plans; the second one's repeats are counted on."""
        before = 0
        for order in (SHUFFLED, PUBLISHED) if options["order"] == "both" else (options["order"],):
            for trial, repeat in super().plan(files, {**options, "order": order}, selection):
                yield trial, before + repeat
            before += repeat + 1

    def instruct(self, form: Form, options: SeceuOptions, *, structured: bool) -> str:
        if options.language == "en":
            return how_to_fill_in(form, structured=structured)
        told = _CHINESE.format(total=TOTAL, count=WORDS, words="\n".join(form.keys))
        return told + (_AS_JSON if structured else _AS_LINES)

    def points(self, trial: Trial, values: Mapping[str, float]) -> float:
        return _distance(values, trial.key["reference"])

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        """An item by itself has a distance; only many together have a shape."""
        return replace(super().item(scored, options), points=None)

    def together(self, items: Sequence[ItemScore]) -> Estimate:
        return shape(list(_sums(items).values()), self.headline)

    def comparable(self, items: Sequence[ItemScore]) -> Sequence[ItemScore]:
        read = _counting(items)
        points = linearised([_sums_of(item) for item in read], [item.item for item in read])
        found = {(item.trial, item.repeat): own for item, own in zip(read, points, strict=True)}
        return [replace(item, points=found.get((item.trial, item.repeat))) for item in items]

    def baselines(self, trials: Sequence[Trial]) -> tuple[Baseline, ...]:
        asked = [one for one in trials if one.condition == SHUFFLED] or list(trials)
        if not asked:
            return ()
        norms = [[one.key["reference"][key] for key in one.form.keys] for one in asked]
        fills = dict(_FILLS)
        if asked[0].condition == PUBLISHED:
            fills["the norm's mean by place"] = tuple(map(fmean, zip(*norms, strict=True)))
        return tuple(
            Baseline(name, shape([sums(fill, norm) for norm in norms]).value or 0.0) for name, fill in fills.items()
        )

    def more_estimates(
        self, scored: Sequence[Scored], items: Sequence[ItemScore], options: SeceuOptions
    ) -> Iterator[Estimate]:
        orders = {
            order: [pair for pair in zip(scored, items, strict=True) if pair[0].trial.condition == order]
            for order in (SHUFFLED, PUBLISHED)
        }
        main = orders[SHUFFLED] or orders[PUBLISHED]
        normed = options.item_set == "published"
        form = "on the published norm, other form; " if orders[SHUFFLED] else ""
        yield from _published(main, "", normed, form)
        if all(orders.values()):
            yield from _published(orders[PUBLISHED], ", published order", normed)
            drawn, fixed = (by_item((item.item, item.score) for _, item in orders[order]) for order in orders)
            gain = [(drawn[name] - fixed[name]) * 15 / SD for name in drawn if name in fixed]
            yield mean_estimate("position effect", gain, note="EQ in published order − in drawn order", digits=1)
        rules = "no answer as zeros, negative points shifted, any sum scaled to 10"
        paper = by_item((item.item, _as_the_paper_reads(one)) for one, item in main)
        yield mean_estimate("distance, by the paper's rules for replies", list(paper.values()), note=rules)
        read = [item for _, item in main if item.values]
        first = sum(next(iter(item.values)) == _strongest(item.reference) for item in read)
        note = f"25 % by chance, {100 * first / len(read):.0f} % by always taking the first" if read else ""
        hits = [_strongest(item.values) == _strongest(item.reference) for item in read]
        yield clustered_share("strongest word found", hits, [item.item for item in read], note=note)
        pull = by_item((item.item, points - item.reference[word]) for item in read
                       for word, points in list(item.values.items())[:1])  # fmt: skip
        yield mean_estimate(
            "points too many for the first word", list(pull.values()), note="0 where the place does not matter"
        )

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
        known, caution = ANCHORS, f"they {' and '.join(apart)}" if apart else ""
        who = "students, Wang et al. 2023"
        return Norms(tuple(known), who, PEOPLE, tuple(known.values()), DISTANCE, "", caution, "lower")

    def caveats(self, options: SeceuOptions) -> Sequence[str]:
        if options.item_set == "published":
            return ("People's level of shape is not known: their answers were not released.",)
        told = "The references are one author's, no human norm; 'eqlab study init seceu' asks people."
        return (told,) if options.item_set == "open" else ()


def _story(one: Section, top: Section) -> tuple[Story, dict[str, float]]:
    """One of our own stories, or of a user's."""
    if top.has("instruction"):
        top.wrong("instruction", "is not taken here (delete it: points are asked for in the same words always)")
    words = one.table("words", None)
    points = {word: words.number(word, 0.0, 0, TOTAL) for word in words.values}
    if len(points) != WORDS or abs(sum(points.values()) - TOTAL) > 0.05:
        one.wrong("words", f'are not {WORDS} whose points add up to {TOTAL} (write {{ "Sad" = 6, "Angry" = 2, … }})')
    asks = _ASKS[top.choice("language", tuple(_ASKS), "en")].format(person=one.text("person", ""))
    text = f"{one.text('story')}\n\n{asks}" if one.has("person") else one.text("story")
    return Story(one.text("id"), text, tuple(points)), points


def _row(cells: Mapping[str, Any]) -> dict[str, Any]:
    """A line of a CSV, whose words stand in one cell."""
    words = cells.get("words")
    return {**cells, "words": numbered(words)} if isinstance(words, str) else dict(cells)


def _distance(values: Mapping[str, float], norm: Mapping[str, float]) -> float:
    return math.dist([values[word] for word in norm], list(norm.values()))


def _strongest(points: Mapping[str, float]) -> str:
    return max(points, key=points.__getitem__)


def _counting(items: Sequence[ItemScore]) -> list[ItemScore]:
    """Answers in drawn order where there are some, else all."""
    read = [item for item in items if item.values]
    return [item for item in read if item.title.endswith(SHUFFLED)] or read


def _sums_of(item: ItemScore) -> tuple[float, float, float]:
    return sums(list(item.values.values()), [item.reference[word] for word in item.values])


def _sums(items: Sequence[ItemScore]) -> dict[str, tuple[float, float, float]]:
    """What shape is made of, by item, repeats together."""
    found: dict[str, tuple[float, float, float]] = {}
    for item in _counting(items):
        a, b, c = _sums_of(item)
        x, y, z = found.get(item.item, (0.0, 0.0, 0.0))
        found[item.item] = (a + x, b + y, c + z)
    return found


def _published(
    pairs: Sequence[tuple[Scored, ItemScore]], order: str, normed: bool, form: str = ""
) -> Iterator[Estimate]:
    """Distance and EQ as published, with what reads nothing on the same line, and people."""
    trials = [one.trial for one, _ in pairs]
    floor = {name: fmean(_distance(dict(zip(one.form.keys, fill, strict=True)), one.key["reference"]) for one in trials)
             for name, fill in _FILLS.items() if trials}  # fmt: skip
    told = "; ".join(f"{name}: {value:.2f}" for name, value in floor.items())
    people = f"; people: {MEAN} (SD {SD})" if normed else ""
    own = mean_estimate(
        f"{DISTANCE}{order}",
        list(by_item((item.item, item.score) for _, item in pairs).values()),
        note=f"smaller is better; {told}{people}",
    )
    yield own
    if normed and own.value is not None:
        told = "; ".join(f"{name}: {eq(value):.1f}" for name, value in floor.items())
        low, high = (None if bound is None else eq(bound) for bound in (own.high, own.low))
        yield Estimate(f"EQ{order}", eq(own.value), own.n, None, low, high, "", f"{form}{told}; people: 100 (SD 15)", 1)


def _as_the_paper_reads(scored: Scored) -> float | None:
    """The distance by the paper's rules; None where nothing came back."""
    last = final(scored.attempts)
    if last is None or last.status == "error":
        return None
    norm, words = scored.trial.key["reference"], scored.trial.form.keys
    given = {word: float(last.values.get(word, 0.0)) for word in words} if last.values else dict.fromkeys(words, 0.0)
    given = {word: points - min(0.0, *given.values()) for word, points in given.items()}
    dealt = sum(given.values())
    return _distance({word: points * TOTAL / dealt if dealt else 0.0 for word, points in given.items()}, norm)
