"""What a study will ask of people and of a budget, what it can find, and what its researcher should look at before it
begins. Pure."""

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import date
from statistics import mean

from eqlab.benchmarks.common.people import first_step
from eqlab.core.design import Batch, Design
from eqlab.core.forms import Several, Writing
from eqlab.core.plural import many
from eqlab.core.studied import Powered
from eqlab.core.study import ENDINGS, PLACEHOLDER, Study
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.core.words import count_words
from eqlab.runs.judge import open_prompts
from eqlab.study.kinds import kind_of

_WORDS_PER_SECOND = 220 / 60
_SECONDS_PER_SCALE, _SECONDS_PER_PAGE = 4.0, 3.0
"""Rough, and checked against one study: 16 questionnaire lines and 10 ratings took people nine to ten minutes."""
_TYPED_WORDS, _SECONDS_PER_TYPED_WORD = 30, 2.0
"""Words of a longer text, and what one takes to think of and type."""
_NOT_YET = re.compile(r"change|todo|xxx|placeholder|^code\d*$", re.IGNORECASE)
_POWER = 0.8
_LONG_MINUTES = 5
"""A study longer than this wants two attention checks."""


@dataclass(frozen=True, slots=True)
class ArmOverview:
    name: str
    batches: int
    fewest: int
    most: int
    """Trials in a batch."""
    places: int


@dataclass(frozen=True, slots=True)
class Overview:
    arms: tuple[ArmOverview, ...]
    places: int
    pages: tuple[int, int]
    """Fewest and most pages of a person, consent and debrief included."""
    minutes: float
    """Expected for one person; a guess from the number of words and questions."""
    hourly: float | None
    """What the reward comes to in an hour; None without a reward."""
    rewards: float
    fees: float
    warnings: tuple[str, ...]

    @property
    def cost(self) -> float:
        return self.rewards + self.fees


def overview(design: Design) -> Overview:
    study, places = design.study, list(design.places())
    minutes = expected_minutes(design)
    sizes = [len(batch.trials) for batch in design.batches]
    others = len(design.first_steps()) + 1 + min(study.checks.attention, len(design.attention))
    others += len(design.gold) + (design.after is not None)
    pay = study.pay
    return Overview(
        arms=tuple(_arm(name, design, [place.arm for place in places].count(name)) for name in design.arms),
        places=len(places),
        pages=(min(sizes) + design.repeats(min(sizes)) + others, max(sizes) + design.repeats(max(sizes)) + others),
        minutes=minutes,
        hourly=pay.reward / minutes * 60 if pay.reward else None,
        rewards=pay.reward * len(places),
        fees=pay.reward * pay.fee * len(places),
        warnings=tuple(warnings(design, minutes)),
    )


def _arm(name: str, design: Design, places: int) -> ArmOverview:
    sizes = [len(batch.trials) for batch in design.batches if batch.arm == name]
    return ArmOverview(name, len(sizes), min(sizes), max(sizes), places)


def expected_minutes(design: Design) -> float:
    """For one person with a batch of mean length."""
    study = design.study
    told = _seconds(count_words(study.consent.text), 1) + _seconds(count_words(study.debrief), 0)
    others = (*design.own_pages, *design.instruments, *design.quizzes, *design.gold)
    common = sum(_page_seconds(trial) for trial in others)
    checks = [_page_seconds(trial) for trial in design.attention]
    checked = mean(checks) * min(study.checks.attention, len(checks)) if checks else 0.0
    shares = [1 + design.repeats(len(batch.trials)) / len(batch.trials) for batch in design.batches]
    own = mean(share * _batch_seconds(batch) for share, batch in zip(shares, design.batches, strict=True))
    own += _talk_seconds(study)
    return (told + common + checked + own) / 60


def _talk_seconds(study: Study) -> float:
    """Reading, feeling and writing, turn by turn: at the most, since people may leave."""
    if study.talk is None:
        return 0.0
    return study.talk.talks * study.talk.turns * (_TYPED_WORDS * _SECONDS_PER_TYPED_WORD + _seconds(60, 1))


def _batch_seconds(batch: Batch) -> float:
    return sum(_page_seconds(trial) for trial in batch.trials)


def _page_seconds(trial: Trial) -> float:
    """Labels are read once where all questions of a page have the same."""
    labels = {scale.anchors for scale in trial.form.scales}
    words = sum(count_words(field.text) for field in trial.form.fields)
    words += sum(count_words(label) for anchors in labels for _, label in anchors)
    words += sum(count_words(" ".join(field.options)) for field in trial.form.fields if isinstance(field, Several))
    long = [field for field in trial.form.fields if isinstance(field, Writing) and field.long and not field.optional]
    typed = sum(max(_TYPED_WORDS, writing.least_words) for writing in long)
    return _seconds(count_words(trial.stimulus) + words, len(trial.form.fields)) + _SECONDS_PER_TYPED_WORD * typed


def _seconds(words: int, scales: int) -> float:
    return words / _WORDS_PER_SECOND + _SECONDS_PER_SCALE * scales + _SECONDS_PER_PAGE


def fair_reward(study: Study, minutes: float) -> float:
    """What a person must get for the hourly rate, rounded up to ten cents or pence."""
    return math.ceil(study.pay.per_hour * minutes / 60 * 10 - 1e-9) / 10


def warnings(design: Design, minutes: float) -> Iterator[str]:
    """What a researcher should look at; nothing of it stops a study."""
    study, kind = design.study, kind_of(design.study)
    template, english = re.sub(r"\\\n\s*", "", kind.form().template), []
    for where, text in _texts(asdict(study)):
        if PLACEHOLDER in text:
            yield f"{where} still says '{PLACEHOLDER}': write what belongs there."
        elif not where.startswith("analysis") and len(text.split()) > _NOBODYS and text.strip() in template:
            english.append(where)
    if english and study.language != "en":
        named = ", ".join(dict.fromkeys(english))
        yield f"Still the template's English, between pages in '{study.language}': {named}."
    if study.instruments and study.language != "en":
        asked = ", ".join(study.instruments)
        yield f"Questionnaires are asked in the words of their files, between pages in '{study.language}': {asked}."
    if study.not_after and not study.panel.person:
        yield "not_after: without a panel's ids nobody who took part in another study is recognised."
    with suppress(ValueError):  # in words
        if date.fromisoformat(study.consent.keep_until) < date.today():
            yield f"consent.keep_until: {study.consent.keep_until} is over; people are told it."
    yield from _about_pay(study, minutes)
    if minutes > _LONG_MINUTES and study.checks.attention < 2:
        n = study.checks.attention or "none"
        yield f"checks.attention: {n} in a study of about {minutes:.0f} minutes; panels want two in one over five."
    yield from _about_codes(study)
    needed = {
        "failed_gold": bool(design.gold), "inconsistent": study.checks.repeat, "failed_attention": design.attention
    }  # fmt: skip
    for rule in study.analysis.exclude:
        if not needed.get(rule, True):
            yield f"analysis.exclude: {rule} can exclude nobody: the study has no such pages."
    if study.language != "en" and _shows_open_items(design):
        yield f"The open items are English; the pages around them are in '{study.language}'."
    elif (spoken := _published_in(design)) and spoken != study.language.partition("-")[0]:
        yield f"The published items are in '{spoken}'; the pages around them are in '{study.language}'."
    yield from kind.warnings(design)


def _shows_open_items(design: Design) -> bool:
    """Replies come with the prompts that they answer."""
    if kind_of(design.study).form().arms != "replies":
        return design.study.items == "open" and not design.talks
    ours = {item.utterance for item in open_prompts()}
    return any(trial.key.get("utterance") in ours for trial in design.trials.values())


_CODES = {"eng": "en", "deu": "de", "spn": "es", "hin": "hi", "ara": "ar", "amh": "am"}


def _published_in(design: Design) -> str:
    """The language of a published study's items, as far as their benchmark has several; empty: not known."""
    (asked,) = design.run.benchmarks
    spoken = str(asked.options.get("language", "")) if design.study.items == "published" else ""
    return "" if spoken in ("all", "both") else _CODES.get(spoken, spoken)


_NOBODYS = 1
"""A label of so many words is nobody's, and not a template's: "Good"."""


def _texts(value: object, where: str = "") -> Iterator[tuple[str, str]]:
    """Every value of a study with its place in the file; those of a list have one."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _texts(part, f"{where}.{key}" if where else key)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _texts(part, where)
    else:
        yield where, str(value)


def _about_pay(study: Study, minutes: float) -> Iterator[str]:
    pay = study.pay
    if not pay.reward:
        if study.panel.person:
            yield "pay.reward is 0: people of a panel are paid."
        return
    if study.panel.person and not pay.fee:
        yield "pay.fee is 0: write what the panel charges on top of the reward, as a share of it (0.333 is 33.3 %)."
    hourly = pay.reward / minutes * 60
    if round(hourly, 2) < pay.per_hour:
        yield (
            f"{pay.reward:.2f} {pay.currency} for about {minutes:.0f} minutes is {hourly:.2f} an hour, less than the "
            f"{pay.per_hour:.2f} aimed at: pay {fair_reward(study, minutes):.2f}."
        )


def _about_codes(study: Study) -> Iterator[str]:
    if not study.panel.person:
        return
    missing = [ending for ending in ENDINGS if not study.panel.code(ending)]
    if missing:
        yield f"panel.codes has none for: {', '.join(missing)}. Those people end without a code."
    given = [code for _, code in study.panel.codes]
    doubtful = [code for code in given if _NOT_YET.search(code)]
    if doubtful:
        yield f"panel.codes: {', '.join(doubtful)} looks like a placeholder: enter the code that the panel knows."
    if len(set(given)) < len(given):
        yield "Two endings have the same code under [panel.codes]: the panel cannot tell them apart."


def power_of(design: Design) -> str:
    """What a study of this size will find: a kind that knows its own measure says it in that measure, any other in
    standard deviations between people."""
    kind = kind_of(design.study)
    sentence = kind.power(design) if isinstance(kind, Powered) else ""
    return sentence or _power_in_sd(design)


def _power_in_sd(design: Design) -> str:
    """Two groups: d = (t_α/2 + t_β)·√(2/n) with 2n − 2 degrees of freedom. One: the half-width of a mean's interval,
    t_α/2/√n with n − 1."""
    from eqlab.analysis.special import stdtrit

    alpha, people = design.study.analysis.alpha, min(design.sizes.values())
    level = f"{100 * (1 - alpha):g} %"
    if people < 2:
        return "One person cannot tell how people differ."
    if len(design.arms) < 2:
        width = float(stdtrit(people - 1, 1 - alpha / 2)) / math.sqrt(people)
        return (
            f"With {many(people, 'person', 'people')}, the mean is known to within ±{width:.2f} SD of people ({level} "
            "interval)."
        )
    alpha, named = first_step(alpha, len(design.arms))
    df = 2 * people - 2
    found = float(stdtrit(df, 1 - alpha / 2) + stdtrit(df, _POWER)) * math.sqrt(2 / people)
    return (
        f"With {many(people, 'person', 'people')} per arm, you have 80 % power to detect a difference of "
        f"{found:.2f} SD "
        f"of people (two-sided, {named})."
    )
