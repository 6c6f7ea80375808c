"""What can be said of a listener: how its speakers felt at the end, on the way there, and how they left.

How much of a talk's end is the listener's, how much the persona's and the speaker's; and how many personas and
speakers a score needs. All factors are random and crossed; cells may be missing."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from eqlab.analysis.clusters import crossed_mean
from eqlab.analysis.components import needed, planned
from eqlab.analysis.intervals import clustered_share, mean_estimate
from eqlab.benchmarks.common.outcome import count_outcomes
from eqlab.benchmarks.dialogue.talked import Talked, talks_of
from eqlab.benchmarks.dialogue.trials import NAME
from eqlab.core.answers import Status, final
from eqlab.core.benchmark import NO_CONTEXT, Context, Scored
from eqlab.core.grouping import group_means
from eqlab.core.plural import many
from eqlab.core.results import Baseline, Estimate, ItemScore, Result, Table, Transcript, Utterance
from eqlab.core.values import dataclass
from eqlab.core.words import count_words

if TYPE_CHECKING:
    from eqlab.analysis.reml import Variances

LISTENER, PERSONA, SPEAKER = "listener", "persona", "speaker"
FACTORS = (LISTENER, PERSONA, SPEAKER)
HALF_WIDTH = 5.0
_USUAL = 60
"""Personas of the open set."""
WIDEST = 50.0
"""An interval that covers a scale of 100 points says nothing."""
_SPEAKERS = (1, 2, 3, 5, 10, 20, 40)
_PERSONAS = (*range(5, 100, 5), *range(100, 500, 10), *range(500, 2001, 50))
"""Looked at one by one: with few speakers more personas can widen an interval, as degrees of freedom are lost."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One talk's end."""

    listener: str
    persona: str
    speaker: str
    final: float


@dataclass(frozen=True, slots=True)
class Facets:
    n: int
    levels: Mapping[str, int]
    fitted: "Variances | None"
    """None where the talks cannot tell the factors apart."""

    def share(self, factor: str) -> float | None:
        """Percent of the variance of one talk's end that is this factor's alone."""
        found = self.fitted.share.get(factor) if self.fitted else None
        return None if found is None else 100 * found

    @property
    def with_speaker(self) -> float | None:
        """Percent that the speaker has part in: alone, and in how it takes listeners and personas."""
        if self.fitted is None or SPEAKER not in self.fitted.variance:
            return None
        shares = [share for term, share in self.fitted.share.items() if SPEAKER in term.split(":")]
        return None if None in shares else 100 * sum(share or 0.0 for share in shares)


def facets(cells: Sequence[Cell]) -> Facets:
    factors = {name: [getattr(cell, name) for cell in cells] for name in FACTORS}
    levels = {name: len(set(values)) for name, values in factors.items()}
    several = {name: values for name, values in factors.items() if levels[name] > 1}
    return Facets(len(cells), levels, _fit([cell.final for cell in cells], several))


def _fit(finals: Sequence[float], factors: Mapping[str, Sequence[str]]) -> "Variances | None":
    """With all crossings of two factors, or with as many as the cells that are there allow; without the speaker where
    nothing tells it from the listeners."""
    if len(set(finals)) < 2 or PERSONA not in factors:
        return None
    from eqlab.analysis.reml import variances  # slow to load, and most talks are not fitted

    crossings = [":".join(pair) for pair in combinations(factors, 2)]
    without = [name for name in factors if name != SPEAKER]
    for terms in ([*factors, *crossings], [*factors, *crossings[:1]], [*factors], without):
        fitted = variances(finals, factors, terms)
        if fitted is not None:
            return fitted
    return None


@dataclass(frozen=True, slots=True)
class Design:
    """What a planned number of speakers buys; None: wider than the scale, or not within 2,000 personas."""

    speakers: int
    alone: bool
    """Whether it speaks of this one speaker and of no other."""
    score: float | None
    """Half width of a listener's score with the usual number of personas."""
    personas_for_score: int | None
    """How many make it ± `HALF_WIDTH`."""
    difference: float | None
    personas_for_difference: int | None


def designs(variance: Mapping[str, float], personas: int) -> list[Design]:
    """The first keeps to one speaker; the others are for any, where the talks tell how much speakers differ."""
    several = _SPEAKERS if SPEAKER in variance else ()
    return [_design(variance, 1, personas, alone=True)] + [_design(variance, n, personas) for n in several]


def _design(variance: Mapping[str, float], speakers: int, personas: int, *, alone: bool = False) -> Design:
    sizes = {PERSONA: personas, SPEAKER: speakers}
    grid = {PERSONA: _PERSONAS, SPEAKER: (speakers,)}
    fixed = (SPEAKER,) if alone else ()
    widths: list[float | None] = []
    counts: list[int | None] = []
    for difference in (False, True):
        width = planned(variance, sizes, subject=LISTENER, difference=difference, fixed=fixed).half_width
        enough = needed(variance, HALF_WIDTH, grid, subject=LISTENER, difference=difference, fixed=fixed)
        widths.append(width if width < WIDEST else None)
        counts.append(enough.sizes[PERSONA] if enough else None)
    return Design(speakers, alone, widths[0], counts[0], widths[1], counts[1])


def note(found: Facets, listeners: str = "listeners", speaker: str = "speaker") -> str:
    """What the shares do not tell, or only roughly; empty: nothing."""
    count = found.levels[SPEAKER]
    if count < 2:
        return f"one {speaker}: what another would change is unknown"
    if found.fitted is not None and SPEAKER not in found.fitted.variance:
        one = listeners.removesuffix("s")
        return f"no {one} was met by two {speaker}s: their effect cannot be told from the {listeners}'"
    return f"from {count} {speaker}s: their variance is a guess of the order of magnitude" if count < 5 else ""


# -- words ---------------------------------------------------------------------------------------------------------


def facet_tables(found: Facets) -> tuple[Table, ...]:
    fitted = found.fitted
    if fitted is None:
        return ()
    rows = tuple((_named(term), fitted.levels.get(term), *_numbers(fitted, term)) for term in fitted.variance)
    beware = note(found)
    shares = Table(
        "Where the end of a talk comes from",
        ("part", "levels", "share of the variance", "variance"),
        rows,
        (
            f"Crossed random effects by REML over {many(found.n, 'talk')}. {beware.capitalize()}{'.' if beware else ''}"
        ).strip(),
    )
    return (shares, _designs(fitted)) if LISTENER in fitted.variance else (shares,)


def _numbers(fitted: "Variances", term: str) -> tuple[Estimate, Estimate]:
    low, high = fitted.interval(term) or (None, None)
    share = fitted.share[term]
    return (
        Estimate("share", None if share is None else 100 * share, fitted.n, unit="%", digits=1),
        Estimate("variance", fitted.variance[term], fitted.n, low=low, high=high, digits=1),
    )


def _named(term: str) -> str:
    return "rest" if term == "residual" else term.replace(":", " × ")


def _designs(fitted: "Variances") -> Table:
    """Half widths for a listener's score and for the difference of two, and the personas it takes for ±5."""
    of_score, of_difference = (f"± of a {what}, {_USUAL} personas" for what in ("score", "difference"))
    return Table(
        f"How many personas and speakers for ±{HALF_WIDTH:g}",
        ("speakers", of_score, "personas for a score", of_difference, "personas for a difference"),
        tuple(
            (
                "this one only" if design.alone else f"{design.speakers} of many",
                *(_told(design.score), str(design.personas_for_score or "")),
                *(_told(design.difference), str(design.personas_for_difference or "")),
            )
            for design in designs(fitted.variance, _USUAL)
        ),
        "From the variances above, with Student's t for the planned numbers. 'This one only' speaks of one speaker and "
        "of no other. Empty: wider than the scale, or not within 2,000 personas.",
    )


def _told(width: float | None) -> str:
    return "" if width is None else f"{width:.1f}"


FELT = "final emotion"
CHANGE = "change of emotion"
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


AS_FOUND = "leaves the person as found"
"""What is left where nothing that is said matters: the emotion at the opening."""


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
        baselines=(Baseline(AS_FOUND, fmean(float(talk.start) for talk in felt)),) if felt else (),
        caveats=_caveats(talks, line),
        tables=(*tables(talks, felt), *facet_tables(found)),
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
    return group_means((talk.persona, float(talk.final or 0)) for talk in felt)


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
    cells_here = _cells(subject, felt)

    def everybody() -> dict[str, list[Cell]]:
        cells: dict[str, list[Cell]] = {}
        for other in context.others():
            if dict(other.asked.options) == dict(options):
                for model in other.config.models:
                    if model.subject not in cells:
                        cells[model.subject] = _cells(model.subject, talks_of(other.scored(model.subject)))
        return cells

    asked = json.dumps(dict(options), sort_keys=True)
    by_listener = context.once(f"cells {asked}", everybody)
    every = [cell for who, cells in by_listener.items() for cell in (cells_here if who == subject else cells)]
    if subject not in by_listener:
        every += cells_here
    if by_listener.get(subject) == cells_here:  # the same for every listener of the store
        return context.once(f"facets {asked}", lambda: facets(every))
    return facets(every)


def _cells(subject: str, talks: Iterable[Talked]) -> list[Cell]:
    return [Cell(subject, talk.persona, talk.speaker, float(talk.final)) for talk in talks if talk.final is not None]


def estimates(talks: Sequence[Talked], felt: Sequence[Talked]) -> tuple[Estimate, ...]:
    over = [talk for talk in talks if talk.outcome]
    gains = group_means((talk.persona, float((talk.final or 0) - talk.start)) for talk in felt)
    words = ((talk, count_words(one.text)) for talk in talks for one in talk.said if one.seat == "listener")
    return (
        mean_estimate(CHANGE, list(gains.values()), digits=1, bounds=(-100.0, 100.0)),
        share_of_talks("success", over),
        share_of_talks("failure", over),
        mean_of_talks("replies per talk", ((talk, talk.replies) for talk in talks if talk.end)),
        mean_of_talks("words per reply", words),
    )


def share_of_talks(outcome: str, talks: Sequence[Talked]) -> Estimate:
    """How many had this outcome; talks of one person, or about one persona, are alike."""
    return clustered_share(outcome, [talk.outcome == outcome for talk in talks], [_alike(talk) for talk in talks])


def mean_of_talks(
    name: str, values: Iterable[tuple[Talked, float]], bounds: tuple[float, float] | None = None
) -> Estimate:
    """The mean over people, or over personas, each with the mean of their own."""
    own = group_means((_alike(talk), float(value)) for talk, value in values)
    return mean_estimate(name, list(own.values()), digits=1, bounds=bounds)


def _alike(talk: Talked) -> str:
    return talk.person or talk.persona


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
        words_absent=round(sum(map(count_words, replies)) / len(replies)) if replies else 0,
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
    shown = [Table("How talks ended", ("end", "talks"), tuple((_ENDS[end], ends[end]) for end in _ENDS if ends[end]))]
    if not felt:
        return tuple(shown)
    longest = max(len(talk.course) for talk in felt)
    rows = []
    for place in range(longest):
        reached = sum(len(talk.course) > place for talk in felt)
        values = [(talk, talk.course[min(place, len(talk.course) - 1)]) for talk in felt]
        name = "at the opening" if place == 0 else f"after reply {place}"
        rows.append((name, mean_of_talks("emotion", values, _BOUNDS), reached))
    note = "Of all talks; one that is over stays where it ended, so that the bad ones do not drop out of the mean."
    shown.append(Table("The course of emotion", ("when", "emotion", "talks that came so far"), tuple(rows), note))
    for column in ("speaker", "kind"):
        names = sorted({getattr(talk, column) for talk in felt} - {""})
        if len(names) > 1:
            groups = [[talk for talk in felt if getattr(talk, column) == name] for name in names]
            shown.append(Table(f"By {column}", (column, "final emotion", "success", "failure"), _rows(names, groups)))
    return tuple(shown)


def _rows(names: Sequence[str], groups: Sequence[Sequence[Talked]]) -> tuple[tuple[str | Estimate, ...], ...]:
    return tuple(
        (
            name,
            mean_estimate(FELT, list(_by_persona(group).values()), digits=1, bounds=_BOUNDS),
            share_of_talks("success", group),
            share_of_talks("failure", group),
        )
        for name, group in zip(names, groups, strict=True)
    )


def _sentence(subject: str, talks: Sequence[Talked], felt: Sequence[Talked], headline: Estimate, line: str) -> str:
    who = subject.removeprefix("model:")
    if headline.value is None:
        over = sum(bool(talk.end) for talk in talks)
        return (
            f"{who} held {over} of {many(len(talks), 'talk')}; there is no score: {headline.note or 'no talk is over'}."
        )
    start = fmean(talk.start for talk in felt)
    won, lost = (sum(talk.outcome == outcome for talk in felt) for outcome in ("success", "failure"))
    return (
        f"Those who talked with {who} felt {headline.value:.1f} of 100 at the end (n = {many(headline.n, 'persona')}, "
        f"{start:.1f} at the opening); {won} of {many(len(felt), 'talk')} succeeded, {lost} failed. {line}"
    )


def _caveats(talks: Sequence[Talked], line: str) -> tuple[str, ...]:
    said = [line] if line else []
    ends: Counter[str] = Counter(talk.end for talk in talks)
    if ends["lost"]:
        share = ends["lost"] / len(talks)
        grave = " That is too many to believe the rest." if share > _MANY_LOST else ""
        said.append(
            f"{ends['lost']} of {many(len(talks), 'talk')} {'has' if ends['lost'] == 1 else 'have'} no "
            f"score: a turn of the speaker was unreadable.{grave}"
        )
    if ends["silence"]:
        said.append(
            f"{ends['silence']} of {many(len(talks), 'talk')} ended because the listener gave no reply; they count as "
            "failures, with what the speaker felt then."
        )
    if ends[""]:
        said.append(f"{ends['']} of {many(len(talks), 'talk')} {'is' if ends[''] == 1 else 'are'} not over yet.")
    if len({talk.speaker for talk in talks}) > 1:
        said.append(
            "'eqlab compare' pairs listeners over personas, for these speakers alone; they stand as repeats there."
        )
    return tuple(said)
