"""What can be said of a listener: how its speakers felt at the end, on the way there, and how they left."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from msgspec import structs

from eqlab.analysis.clusters import crossed_mean
from eqlab.analysis.intervals import mean_estimate, proportion_estimate
from eqlab.benchmarks.common.outcome import count_outcomes
from eqlab.benchmarks.dialogue import facets
from eqlab.benchmarks.dialogue.facets import SPEAKER, Cell, Facets
from eqlab.benchmarks.dialogue.talked import Talked, talks_of
from eqlab.benchmarks.dialogue.trials import NAME
from eqlab.core.answers import Status, final
from eqlab.core.benchmark import NO_CONTEXT, Context, Scored
from eqlab.core.results import Estimate, ItemScore, Result, Table, Transcript, Utterance

FELT = "final emotion"
UNFELT = "fixed lines tell no feeling: name a speaker (--speaker SPEC), or have the talks rated (eqlab judge)"
_BOUNDS = (0.0, 100.0)
_ENDS = {
    "satisfied": "left satisfied",
    "hurt": "left hurt",
    "turns": "stayed to the last turn",
    "silence": "got no reply",
    "lines": "said all fixed lines",
    "lost": "speaker's turn unreadable",
    "left": "closed by the person",
    "down": "the model did not answer",
    "": "not over",
}
_MANY_LOST = 0.05
FEWEST = 5
"""Personas below which nothing is claimed."""


def result(subject: str, scored: Iterable[Scored], options: Mapping[str, Any], context: Context = NO_CONTEXT) -> Result:
    talks = talks_of(scored)
    felt = [talk for talk in talks if talk.final is not None]
    speakers = sorted({talk.speaker for talk in talks})
    headline = final_emotion(felt)
    unfelt = not felt and bool(talks) and all(talk.speaker == "fixed" for talk in talks)
    if unfelt:
        headline = structs.replace(headline, note=UNFELT)
    found = no_facets(felt) if unfelt else _facets(subject, felt, options, context)  # others were told nothing either
    line = speaker_line(felt, found)
    return Result(
        noun="talks" if len(speakers) < 2 else "personas",
        benchmark=NAME,
        title="Dialogue",
        subject=subject,
        rules=dict(options),
        sentence=_sentence(subject, talks, felt, headline, line),
        headline=headline,
        score_range=_BOUNDS,
        estimates=estimates(talks, felt),
        counts=counts(talks),
        items=tuple(item(talk, speakers) for talk in talks),
        item_range=_BOUNDS,
        caveats=_caveats(talks, line),
        tables=(*tables(talks, felt), *facets.tables(found)),
        proviso=line,
        transcripts=tuple(transcript(talk) for talk in talks if talk.said),
    )


def final_emotion(felt: Sequence[Talked]) -> Estimate:
    """The mean over personas, repeats and speakers averaged within each. Its interval is over personas; with several
    speakers over personas and speakers, both as samples (two-way clusters, Student's t by the fewer of them), so that
    it holds for others of both."""
    means = list(_by_persona(felt).values())
    simple = mean_estimate(FELT, means, digits=1, bounds=_BOUNDS)
    speakers = {talk.speaker for talk in felt}
    if len(speakers) < 2:
        return structs.replace(
            simple, note=f"by one speaker, {next(iter(speakers))}" if speakers else "", of="personas"
        )
    note = f"over {len(speakers)} speakers"
    finals = np.array([float(talk.final or 0) for talk in felt])
    both = crossed_mean(FELT, finals, [talk.persona for talk in felt], [talk.speaker for talk in felt])
    if both.low is None or both.high is None or len(means) < FEWEST:
        return structs.replace(
            simple, se=None, low=None, high=None, note=f"{note}; no interval over speakers", of="personas"
        )
    low, high = max(_BOUNDS[0], both.low), min(_BOUNDS[1], both.high)
    return structs.replace(simple, se=both.se, low=low, high=high, note=f"{note}, and others like them", of="personas")


def _by_persona(felt: Sequence[Talked]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for talk in felt:
        found.setdefault(talk.persona, []).append(float(talk.final or 0))
    return {persona: fmean(values) for persona, values in found.items()}


def speaker_line(felt: Sequence[Talked], found: Facets) -> str:
    """How much of the score is the speaker's: stands with every score."""
    by = {name: [float(t.final or 0) for t in felt if t.speaker == name] for name in sorted({t.speaker for t in felt})}
    if not by:
        return ""
    if len(by) == 1:
        return (
            f"The score is {next(iter(by))}'s word: it played every speaker. Another speaker may move it by many "
            "points (12 to 28 in SAGE's published talks), and how far is not known from this run."
        )
    means = {name: fmean(values) for name, values in by.items()}
    low, *_, high = sorted(means, key=lambda name: means[name])
    apart = means[high] - means[low]
    said = f"Depends on who speaks: {means[low]:.1f} with {low}, {means[high]:.1f} with {high}, {apart:.1f} apart."
    alone, part = found.share(SPEAKER), found.with_speaker
    if alone is None or part is None:
        return f"{said} How much of the variance is the speaker's cannot be told from these talks."
    return f"{said} Of the variance between all talks {alone:.0f} % is the speaker's, {part:.0f} % with its crossings."


def no_facets(felt: Sequence[Talked]) -> Facets:
    """Of listeners whose talks are too few to tell the factors apart."""
    return Facets(len(felt), {}, None)


def _facets(subject: str, felt: Sequence[Talked], options: Mapping[str, Any], context: Context) -> Facets:
    """Over all listeners of the store who talked under the same options, this one among them."""
    own = _cells(subject, felt)

    def everybody() -> dict[str, list[Cell]]:
        cells: dict[str, list[Cell]] = {}
        for other in context.others():
            if dict(other.asked.options) == dict(options):
                for model in other.config.models:
                    if model.subject not in cells:
                        cells[model.subject] = _cells(model.subject, talks_of(other.scored(model.subject)))
        return cells

    asked = json.dumps(dict(options), sort_keys=True)
    known = context.once(f"cells {asked}", everybody)
    every = [cell for who, cells in known.items() for cell in (own if who == subject else cells)]
    if subject not in known:
        every += own
    if known.get(subject) == own:  # the same for every listener of the store
        return context.once(f"facets {asked}", lambda: facets.facets(every))
    return facets.facets(every)


def _cells(subject: str, talks: Iterable[Talked]) -> list[Cell]:
    return [Cell(subject, talk.persona, talk.speaker, float(talk.final)) for talk in talks if talk.final is not None]


def estimates(talks: Sequence[Talked], felt: Sequence[Talked]) -> tuple[Estimate, ...]:
    over = [talk for talk in talks if talk.outcome]
    gains: dict[str, list[float]] = {}
    for talk in felt:
        gains.setdefault(talk.persona, []).append(float((talk.final or 0) - talk.start))
    words = [len(one.text.split()) for talk in talks for one in talk.said if one.seat == "listener"]
    return (
        mean_estimate("change of emotion", [fmean(own) for own in gains.values()], digits=1, bounds=(-100.0, 100.0)),
        proportion_estimate("success", sum(talk.outcome == "success" for talk in over), len(over)),
        proportion_estimate("failure", sum(talk.outcome == "failure" for talk in over), len(over)),
        mean_estimate("replies per talk", [float(talk.replies) for talk in talks if talk.end], digits=1),
        mean_estimate("words per reply", [float(count) for count in words], digits=1),
    )


def counts(talks: Sequence[Talked]) -> dict[str, int]:
    return count_outcomes(_status(talk) for talk in talks)


def _status(talk: Talked) -> Status | None:
    if not talk.end:
        return None
    return "unparseable" if talk.end == "lost" else "ok"


def item(talk: Talked, speakers: Sequence[str]) -> ItemScore:
    """One talk. Talks of several speakers with one persona stand beside each other as repeats do."""
    several = len(speakers) > 1
    replies = [one.text for one in talk.said if one.seat == "listener"]
    return ItemScore(
        item=talk.persona,
        trial=talk.trial,
        repeat=talk.repeat * len(speakers) + speakers.index(talk.speaker),
        status=_status(talk),
        score=None if talk.final is None else float(talk.final),
        title=f"{talk.title} · {talk.speaker}" if several else talk.title,
        text="\n\n".join(f"{one.seat.capitalize()}: {one.text}" for one in talk.said if one.text),
        values={"end": _ENDS[talk.end], "emotion": " → ".join(map(str, talk.course)), "replies": talk.replies},
        attempts=talk.attempts,
        points=None if talk.final is None else float(talk.final),
        topics=tuple(part for part in (talk.kind, talk.topic) if part),
        words_absent=round(sum(len(text.split()) for text in replies) / len(replies)) if replies else 0,
    )


def turn_shown(scored: Scored) -> ItemScore:
    """One turn by itself: it has no score, a talk has one."""
    trial, answer = scored.trial, final(scored.attempts)
    shown = dict(answer.values) if answer and trial.seat else {}
    return ItemScore(
        trial.items[0],
        trial.id,
        scored.repeat,
        answer.status if answer else None,
        None,
        title=f"turn {trial.turn + 1} · {trial.seat or 'listener'}",
        text=answer.text if answer else "",
        values=shown,
        attempts=len(scored.attempts),
    )


def transcript(talk: Talked) -> Transcript:
    return Transcript(
        item=talk.persona,
        title=talk.title,
        trial=talk.trial,
        repeat=talk.repeat,
        partner=talk.speaker,
        outcome=talk.outcome or "undefined",
        end=_ENDS[talk.end],
        score=None if talk.final is None else float(talk.final),
        course=tuple(map(float, talk.course)) if len(talk.course) > 1 else (),
        lines=tuple(_line(talk, place) for place in range(len(talk.said))),
        topics=tuple(part for part in (talk.kind, talk.topic) if part),
        listener=talk.listener,
    )


def _line(talk: Talked, place: int) -> Utterance:
    """Words before any reply stand with how the person feels as the talk begins, where the speaker feels at all."""
    one = talk.said[place]
    emotion = talk.start if place == 0 and len(talk.course) > 1 else one.emotion
    return Utterance(one.seat, one.text, None if emotion is None else float(emotion), one.feeling)


def tables(talks: Sequence[Talked], felt: Sequence[Talked]) -> tuple[Table, ...]:
    if not talks:
        return ()
    ends: Counter[str] = Counter(talk.end for talk in talks)
    made = [Table("How talks ended", ("end", "talks"), tuple((_ENDS[end], ends[end]) for end in _ENDS if ends[end]))]
    if not felt:
        return tuple(made)
    longest = max(len(talk.course) for talk in felt)
    rows = []
    for place in range(longest):
        reached = sum(len(talk.course) > place for talk in felt)
        values = [float(talk.course[min(place, len(talk.course) - 1)]) for talk in felt]
        name = "at the opening" if place == 0 else f"after reply {place}"
        rows.append((name, mean_estimate("emotion", values, digits=1, bounds=_BOUNDS), reached))
    note = "Of all talks; one that is over stays where it ended, so that the bad ones do not drop out of the mean."
    made.append(Table("The course of emotion", ("when", "emotion", "talks that came so far"), tuple(rows), note))
    for column in ("speaker", "kind"):
        names = sorted({getattr(talk, column) for talk in felt} - {""})
        if len(names) > 1:
            own = [[talk for talk in felt if getattr(talk, column) == name] for name in names]
            made.append(Table(f"By {column}", (column, "final emotion", "success", "failure"), _rows(names, own)))
    return tuple(made)


def _rows(names: Sequence[str], groups: Sequence[Sequence[Talked]]) -> tuple[tuple[str | Estimate, ...], ...]:
    return tuple(
        (
            name,
            mean_estimate(FELT, list(_by_persona(own).values()), digits=1, bounds=_BOUNDS),
            proportion_estimate("success", sum(talk.outcome == "success" for talk in own), len(own)),
            proportion_estimate("failure", sum(talk.outcome == "failure" for talk in own), len(own)),
        )
        for name, own in zip(names, groups, strict=True)
    )


def _sentence(subject: str, talks: Sequence[Talked], felt: Sequence[Talked], headline: Estimate, line: str) -> str:
    who = subject.removeprefix("model:")
    if headline.value is None:
        over = sum(bool(talk.end) for talk in talks)
        return f"{who} held {over} of {len(talks)} talks; there is no score: {headline.note or 'no talk is over'}."
    start = fmean(talk.start for talk in felt)
    won, lost = (sum(talk.outcome == outcome for talk in felt) for outcome in ("success", "failure"))
    return (
        f"Those who talked with {who} felt {headline.value:.1f} of 100 at the end (n = {headline.n} personas, "
        f"{start:.1f} at the opening); {won} of {len(felt)} talks succeeded, {lost} failed. {line}"
    )


def _caveats(talks: Sequence[Talked], line: str) -> tuple[str, ...]:
    said = [line] if line else []
    ends: Counter[str] = Counter(talk.end for talk in talks)
    if ends["lost"]:
        share = ends["lost"] / len(talks)
        grave = " That is too many to believe the rest." if share > _MANY_LOST else ""
        said.append(f"{ends['lost']} of {len(talks)} talks have no score: a turn of the speaker was unreadable.{grave}")
    if ends["silence"]:
        said.append(
            f"{ends['silence']} of {len(talks)} talks ended because the listener gave no reply; they count as "
            "failures, with what the speaker felt then."
        )
    if ends[""]:
        said.append(f"{ends['']} of {len(talks)} talks are not over yet.")
    if len({talk.speaker for talk in talks}) > 1:
        said.append(
            "'eqlab compare' pairs listeners over personas, for these speakers alone; they stand as repeats there."
        )
    return tuple(said)
