"""Reading four scores in a reply, exactly as the published code does, its quirks included: white-space after the
colon is required in English, decimals are cut, values above 10 stand, the last of two equal names wins.

German is lossier in the published code: a preamble line sticks to the first word, a decimal comma voids the answer,
and question 36's own heading is unknown. `strict` keeps that; `names` mends it (there are no data to check against)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from eqlab.benchmarks.common.reading import is_refusal, read_json
from eqlab.benchmarks.eqbench.score import PRESETS, EqBenchRules
from eqlab.core.answers import Answer, Status, final
from eqlab.core.benchmark import Scored
from eqlab.core.runs import PERSON
from eqlab.core.trials import Trial
from eqlab.data.figures import FigureReply, Four

_AFTER_WORD = re.compile(r":\s+(\d+)")
_GERMAN_PAIR = re.compile(r"([a-zA-ZäöüßÄÖÜ\s]++)(?::\s*+\**+(\d++(?:,\d++)?)\**+)?")
"""As published, but a run of letters is taken whole, with a score or without: a search from each letter on finds the
same, and takes forever on a long text without a colon."""
_MOST_DIGITS = 15
"""More than anyone means by a score, and few enough for every number to stay exact."""
_FIRST = {"en": re.compile(r"First pass scores:"), "de": re.compile(r"Erste[^:\n]*:", re.IGNORECASE)}
_REVISED = {"en": re.compile(r"Revised scores:"), "de": re.compile(r"Überarbeitete[^:\n]*:", re.IGNORECASE)}
_REVISED_MENDED = _REVISED | {"de": re.compile(r"(?:Überarbeitete|Revidierte)[^:\n]*:", re.IGNORECASE)}
_SEVERAL_WORDS = re.compile(r"\W")


@dataclass(frozen=True, slots=True)
class Scores:
    """What a reply holds. A pass that could not be read is None, and so are both when no score is above zero:
    the published code computes the v1 score as a gate for v2 too, and that needs a sum above zero."""

    first: Mapping[str, int] | None
    revised: Mapping[str, int] | None = None
    plain: bool = False
    """Whether the reply holds these pairs and no others, so that it reads the same under all rules."""


def split_passes(text: str, rules: EqBenchRules, language: str) -> tuple[str | None, str | None]:
    """(first pass, revised) of a reply that gives revised scores; (whole text, None) of any other.

    The reply decides, not the run: a published file mixes both kinds. As in the published code the first pass
    is lost when its heading is missing before the revised scores."""
    headings = _REVISED if rules.parser == "strict" else _REVISED_MENDED
    revised = headings[language].search(text)
    if revised is None:
        return text, None
    first = _FIRST[language].search(text, 0, revised.start())
    return (text[first.end() : revised.start()] if first else None), text[revised.end() :]


@lru_cache(maxsize=512)
def _find_pairs(text: str, language: str) -> tuple[tuple[str, str], ...]:
    """Kept for a moment: the same reply is read under several rules."""
    return tuple(english_pairs(text) if language == "en" else german_pairs(text))


def english_pairs(text: str) -> list[tuple[str, str]]:
    r"""What `(\w+):\s+(\d+)` finds, as published, several times faster: colons are rare, words are not, so look for
    the colon and walk back over its word, never into the match before."""
    found = []
    end = 0
    for match in _AFTER_WORD.finditer(text):
        colon = start = match.start()
        while start > end and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        if start < colon:
            found.append((text[start:colon], match[1]))
            end = match.end()
    return found


@lru_cache(maxsize=512)
def _of_several_words(names: tuple[str, ...]) -> bool:
    return any(_SEVERAL_WORDS.search(name) for name in names)


def _find_named(text: str, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Pairs by the names asked for: `\\w+` would read "at peace: 5" as "peace"."""
    longest_first = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return tuple(re.findall(rf"(?<!\w)({longest_first}):\s+(\d+)", text))


def german_pairs(text: str) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in _GERMAN_PAIR.finditer(text) if match[2]]


def read_pass(text: str | None, names: Sequence[str], rules: EqBenchRules, language: str) -> dict[str, int] | None:
    """The four scores in a text, or None."""
    if text is None:
        return None
    found = _find_pairs(text, language)
    if language == "en":
        if rules.parser == "names" and _of_several_words(tuple(names)):
            found = _find_named(text, tuple(names))
        pairs = dict(found)  # names and digits: nothing to clean, and most of all reading
    elif rules.parser == "names":
        pairs = {label.rsplit("\n", 1)[-1].strip(): value.split(",")[0] for label, value in found}
    else:
        pairs = {label.strip(): value for label, value in found}
    if rules.parser == "names" and len(pairs) > len(names):
        pairs = {name: pairs[name] for name in names if name in pairs}
    if len(pairs) != 4 or pairs.keys() != set(names):
        return None
    if language != "en" and any("," in value for value in pairs.values()):
        return None
    if max(map(len, pairs.values())) > _MOST_DIGITS:
        return None
    return {name: int(pairs[name]) for name in names}


def read_scores(
    text: str, names: Sequence[str], rules: EqBenchRules, language: str = "en", revision: bool = True
) -> Scores:
    """Both passes of a reply; without `revision` the whole reply is one pass, as in a run that asks for none."""
    first_text, revised_text = split_passes(text, rules, language) if revision else (text, None)
    first = read_pass(first_text, names, rules, language)
    revised = read_pass(revised_text, names, rules, language)
    if rules.zero_gate and not above_zero(first) and not above_zero(revised):
        return Scores(None, None)
    plain = language == "en" and not _of_several_words(tuple(names))
    plain = plain and _only_these(first_text, first) and (revised_text is None or _only_these(revised_text, revised))
    return Scores(first, revised, plain)


def _only_these(text: str | None, values: Mapping[str, int] | None) -> bool:
    return text is not None and above_zero(values) and len(_find_pairs(text, "en")) == 4


def is_complete(scores: Scores, revision: bool, rules: EqBenchRules) -> bool:
    """Whether every pass that was asked for is there; half an answer is kept only when all tries are used up."""
    enough = above_zero if rules.zero_gate else _known
    return enough(scores.first) and (not revision or enough(scores.revised))


def _known(values: Mapping[str, int] | None) -> bool:
    return values is not None


def above_zero(values: Mapping[str, int] | None) -> bool:
    return values is not None and sum(values.values()) > 0


# -- published figures -----------------------------------------------------------------------------------------------
# Between a reply and its figures: what is kept of a published reply, and the scores that the figures give under any
# rules, the same as the reply itself.

FIGURES = "published figures"
"""Instead of a run, in an answer that is figures without the words they were read in."""


def figures_of(text: str, names: Sequence[str]) -> FigureReply:
    """English only. What the published code rejects for pairs besides the four, and reads otherwise the same."""
    loose, strict = PRESETS["leaderboard"], PRESETS["published-code"]
    passes = split_passes(text, loose, "en")
    first, revised = (read_pass(one, names, loose, "en") for one in passes)
    more = [read_pass(one, names, strict, "en") is None for one in passes]
    unread = not above_zero(first) and not above_zero(revised)
    return FigureReply(
        _numbers(first, names),
        _numbers(revised, names),
        len(text.split()),
        first is not None and more[0],
        revised is not None and more[1],
        unread and is_refusal(text),
    )


def _numbers(read: dict[str, int] | None, names: Sequence[str]) -> Four | None:
    return None if read is None else tuple(read[name] for name in names)


def figure_answer(reply: FigureReply, trial: Trial, subject: str, repeat: int, at: float) -> Answer:
    names = trial.form.keys
    passes = {"first_pass": reply.first, "revised": reply.revised}
    values: dict[str, Any] = {
        name: dict(zip(names, read, strict=True)) for name, read in passes.items() if read is not None
    }
    values["more"] = {"first_pass": reply.first_more, "revised": reply.revised_more}
    values["words"] = reply.words
    status: Status = "refused" if reply.refused else "unparseable"  # until scoring finds that it can be read
    return Answer(FIGURES, trial.id, subject, repeat, 1, "", status, values, at=at)


def read_figures(answer: Answer, rules: EqBenchRules) -> Scores:
    first, revised = (_counts(answer, name, rules) for name in ("first_pass", "revised"))
    if rules.zero_gate and not above_zero(first) and not above_zero(revised):
        return Scores(None, None)
    return Scores(first, revised, plain=not any(answer.values["more"].values()))


def _counts(answer: Answer, name: str, rules: EqBenchRules) -> dict[str, int] | None:
    if rules.parser == "strict" and answer.values["more"][name]:
        return None
    found: dict[str, int] | None = answer.values.get(name)
    return found


# -- which attempt counts --------------------------------------------------------------------------------------------
# Which attempt at a question counts, and the scores in it: a model's words are read, a person's choices stand, and so
# do the figures of published replies.


def read_reply(trial: Trial, text: str, rules: EqBenchRules) -> Scores:
    """The scores in a reply, in either answer mode."""
    if trial.mode == "json":
        reading = read_json(text, trial.form)
        values = reading.values if reading.status == "ok" else None
        gated = values if values is None or not rules.zero_gate or sum(values.values()) > 0 else None
        return Scores(gated)
    revision = trial.condition == "revision"
    return read_scores(text, trial.form.keys, rules, trial.key["language"], revision)


def read_answer(trial: Trial, answer: Answer, rules: EqBenchRules) -> Scores:
    """A model's words are read under the rules; what a person chose on the form stands, but for four zeros."""
    if answer.run == FIGURES:
        return read_figures(answer, rules)
    if not answer.subject.startswith(PERSON):
        return read_reply(trial, answer.text, rules)
    values = answer.values if answer.status == "ok" else {}
    chosen = {name: int(values[name]) for name in trial.form.keys if name in values}
    complete = len(chosen) == len(trial.form.keys) and (not rules.zero_gate or sum(chosen.values()) > 0)
    return Scores(chosen if complete else None)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A planned question with the attempt that counts."""

    scored: Scored
    answer: Answer | None
    """The attempt that counts under these rules."""
    scores: Scores
    status: Status | None


def choose(scored: Scored, rules: EqBenchRules) -> Chosen:
    """The first complete attempt; without one the last that can be used in part. Of what was cut off nothing counts."""
    asked_twice = scored.trial.condition == "revision" and scored.trial.mode == "text"
    partial: tuple[Answer, Scores] | None = None
    for attempt in sorted(scored.attempts, key=lambda answer: answer.attempt):
        if not (attempt.answered and attempt.whole):
            continue
        scores = read_answer(scored.trial, attempt, rules)
        revision = asked_twice and not attempt.subject.startswith(PERSON)
        if is_complete(scores, revision, rules):
            return Chosen(scored, attempt, scores, "ok")
        if scores.first is not None or scores.revised is not None:
            partial = attempt, scores
    if partial is not None:
        return Chosen(scored, partial[0], partial[1], "ok")
    last = final(scored.attempts)
    status: Status | None = None if last is None else "unparseable" if last.status == "ok" else last.status
    return Chosen(scored, last, Scores(None), status)


def choose_again(chosen: Chosen, rules: EqBenchRules) -> Chosen:
    """The same question under other rules; a single plain reply, as most are, need not be read anew."""
    if chosen.scores.plain and len(chosen.scored.attempts) == 1:
        return chosen
    return choose(chosen.scored, rules)
