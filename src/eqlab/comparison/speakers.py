"""Does a simulated speaker say the same of listeners as another speaker, or as people? Talks of both with the same
personas: bias, agreement, listeners that change places, and an estimate that joins few talks of the reference with many
simulated ones (prediction-powered, `analysis.ppi`)."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec import structs

from eqlab.analysis.clusters import crossed_mean
from eqlab.analysis.comparison import paired
from eqlab.analysis.correlation import pearson
from eqlab.analysis.intervals import mean_estimate, t_bounds
from eqlab.analysis.ppi import Arm, ppi_difference, ppi_mean
from eqlab.comparison.entries import Entry
from eqlab.core.errors import UsageError
from eqlab.core.grouping import group_means
from eqlab.core.plural import many
from eqlab.core.results import Estimate, Result, Table
from eqlab.core.runs import PEOPLE, PERSON
from eqlab.core.values import dataclass

_SCALE, _GAPS = (0.0, 100.0), (-100.0, 100.0)
FEWEST = 5
"""Talks of the reference with one listener, below which nothing is joined."""


@dataclass(frozen=True, slots=True)
class Talk:
    listener: str
    persona: str
    speaker: str
    """One name for all people."""
    who: str
    """The very one who spoke."""
    score: float


@dataclass(frozen=True, slots=True)
class Listener:
    """One listener, as both see it."""

    name: str
    simulated: Estimate
    reference: Estimate
    bias: Estimate
    """Simulated minus reference, over the personas that both talked as."""
    joined: Estimate
    """What the reference would say of all personas; undefined with too few of its talks."""
    gain: float | None = None
    """How many times as many talks of the reference the simulated ones are worth."""


@dataclass(frozen=True, slots=True)
class Flip:
    """Two listeners that the speakers put in another order, each difference A minus B."""

    a: str
    b: str
    simulated: float
    reference: float
    certain: bool
    """Whether either speaker alone tells them apart by more than chance, the other way round."""


@dataclass(frozen=True, slots=True)
class Speakers:
    speaker: str
    reference: str
    listeners: tuple[Listener, ...]
    bias: Estimate
    agreement: Estimate
    """Correlation of talks' ends, one value a listener and persona."""
    ranks: Estimate
    """Correlation of the listeners' scores."""
    pairs: int
    flips: tuple[Flip, ...]
    differences: tuple[tuple[str, str, Estimate], ...]
    """(A, B, A − B) joined, for every two listeners with enough talks of the reference."""


def talks_in(results: Sequence[Result]) -> list[Talk]:
    """Talks with a score. People count as one speaker, of whom each is a sample."""
    return [
        Talk(
            (talk.listener or result.subject).removeprefix("model:"),
            talk.item,
            PEOPLE if talk.partner.startswith(PERSON) else talk.partner,
            talk.partner,
            talk.score,
        )
        for result in results
        for talk in result.transcripts
        if talk.score is not None
    ]


def compare_speakers(talks: Sequence[Talk], reference: str) -> list[Speakers]:
    """Every other speaker against the reference. Raises where there is nothing to compare."""
    names = sorted({talk.speaker for talk in talks})
    if reference not in names:
        raise UsageError(f"No talk here was held with the speaker '{reference}'.", f"There are: {', '.join(names)}.")
    found = [_compare(talks, name, reference) for name in names if name != reference]
    if not found:
        raise UsageError(f"All talks here were held with '{reference}'.", "Name runs with other speakers too.")
    return found


def _compare(talks: Sequence[Talk], speaker: str, reference: str) -> Speakers:
    ours, theirs = _means(talks, speaker), _means(talks, reference)
    shared = [key for key in ours if key in theirs]
    names = list(dict.fromkeys(listener for listener, _ in shared))
    if not names:
        raise UsageError(
            f"'{speaker}' and '{reference}' share no persona and listener.", "Name runs with the same ones."
        )
    arms = {name: _arm(talks, name, speaker, reference, ours) for name in names}
    told = [talk for talk in talks if talk.speaker == reference and (talk.listener, talk.persona) in ours]
    listeners = tuple(
        _listener(name, ours, [talk for talk in told if talk.listener == name], shared, arms[name]) for name in names
    )
    one, other = np.array([ours[key] for key in shared]), np.array([theirs[key] for key in shared])
    scores = [np.array([getattr(row, side).value for row in listeners]) for side in ("simulated", "reference")]
    few = "fewer than three listeners have no order to agree on"
    ranks = pearson("listeners", *scores) if len(names) > 2 else Estimate("listeners", None, len(names), note=few)
    return Speakers(
        speaker,
        reference,
        listeners,
        _over_talks("bias", told, [ours[talk.listener, talk.persona] - talk.score for talk in told], _GAPS),
        pearson("talks", one, other),
        ranks,
        len(names) * (len(names) - 1) // 2,
        tuple(_flips(names, ours, theirs, shared)),
        tuple(_differences(arms)),
    )


def _means(talks: Sequence[Talk], speaker: str) -> dict[tuple[str, str], float]:
    """By listener and persona, repeats averaged."""
    return group_means(((talk.listener, talk.persona), talk.score) for talk in talks if talk.speaker == speaker)


def _listener(
    name: str,
    ours: Mapping[tuple[str, str], float],
    talks: Sequence[Talk],
    shared: Sequence[tuple[str, str]],
    arm: Arm | None,
) -> Listener:
    own = [key for key in shared if key[0] == name]
    joined = Estimate(
        "joined", None, 0, digits=1, note=f"fewer than {FEWEST} talks of the reference, or none without it"
    )
    gain = None
    if arm is not None:
        made = ppi_mean(
            arm.human,
            arm.judge,
            arm.judge_only,
            clusters=arm.raters,
            prompts=arm.prompts,
            judge_clusters=arm.judge_prompts,
        )
        low, high = max(_SCALE[0], made.low), min(_SCALE[1], made.high)
        joined = Estimate("joined", made.value, made.n_rated, made.se, low, high, digits=1, of="talks of the reference")
        gain = made.gain
    return Listener(
        name,
        mean_estimate("simulated", [ours[key] for key in own], digits=1, bounds=_SCALE),
        _over_talks("reference", talks, [talk.score for talk in talks], _SCALE),
        _over_talks("bias", talks, [ours[name, talk.persona] - talk.score for talk in talks], _GAPS),
        joined,
        gain,
    )


def _over_talks(name: str, talks: Sequence[Talk], values: Sequence[float], bounds: tuple[float, float]) -> Estimate:
    """The mean over personas, each counted once. Where people had several talks each, their levels count too: the
    interval is over personas and people."""
    people = {talk.who for talk in talks}
    if 1 < len(people) < len(talks):
        personas, who = [talk.persona for talk in talks], [talk.who for talk in talks]
        estimate = crossed_mean(name, np.array(values), personas, who, of="personas")
        low = None if estimate.low is None else max(bounds[0], estimate.low)
        high = None if estimate.high is None else min(bounds[1], estimate.high)
        return structs.replace(estimate, low=low, high=high, digits=1)
    by_persona = group_means((talk.persona, value) for talk, value in zip(talks, values, strict=True))
    return mean_estimate(name, list(by_persona.values()), digits=1, bounds=bounds)


def _arm(
    talks: Sequence[Talk], name: str, speaker: str, reference: str, ours: Mapping[tuple[str, str], float]
) -> Arm | None:
    """The reference's talks with what was simulated on the same persona, and the personas that were only simulated."""
    rated = [t for t in talks if (t.listener, t.speaker) == (name, reference) and (name, t.persona) in ours]
    seen = {talk.persona for talk in rated}
    only = [persona for who, persona in ours if who == name and persona not in seen]
    people = {talk.who for talk in rated}
    if len(seen) < FEWEST or len(only) < 2 or (len(people) < FEWEST and reference == PEOPLE):
        return None
    return Arm(
        np.array([talk.score for talk in rated]),
        np.array([ours[name, talk.persona] for talk in rated]),
        np.array([ours[name, persona] for persona in only]),
        [talk.who for talk in rated] if len(people) > 1 else None,
        [talk.persona for talk in rated],
        only,
    )


def _differences(arms: Mapping[str, Arm | None]) -> list[tuple[str, str, Estimate]]:
    known = [(name, arm) for name, arm in arms.items() if arm is not None]
    found = []
    for (a, one), (b, other) in combinations(known, 2):
        mean = ppi_difference(one, other)
        low, high = max(_GAPS[0], mean.low), min(_GAPS[1], mean.high)
        found.append((a, b, Estimate("difference", mean.value, mean.n_rated, mean.se, low, high, digits=1)))
    return found


def _flips(
    names: Sequence[str],
    ours: Mapping[tuple[str, str], float],
    theirs: Mapping[tuple[str, str], float],
    shared: Sequence[tuple[str, str]],
) -> list[Flip]:
    of = {name: {persona for who, persona in shared if who == name} for name in names}
    found = []
    for a, b in combinations(names, 2):
        both = sorted(of[a] & of[b])
        if not both:
            continue
        gaps = [
            paired([scores[a, one] for one in both], [scores[b, one] for one in both], bounds=_SCALE)
            for scores in (ours, theirs)
        ]
        simulated, real = (float(gap.value or 0.0) for gap in gaps)
        if simulated * real < 0:
            certain = all(gap.p is not None and gap.p < 0.05 for gap in gaps)
            found.append(Flip(a, b, simulated, real, certain))
    return found


# -- words ---------------------------------------------------------------------------------------------------------

_JOINED = (
    "Joined: what the reference would say of all personas, from its own talks and the simulated ones "
    "(prediction-powered). Worth: how many times as many talks of the reference that is; below 1 the simulation cost "
    "something."
)
_NOT_JOINED = (
    "Nothing is joined: the reference has talked as all of these personas, or as too few of them, or is of too few "
    "people (5 are the fewest)."
)


def sentence(found: Speakers) -> str:
    """The first thing to know."""
    bias = found.bias
    if bias.value is None or bias.low is None or bias.high is None:
        much = "cannot be told: too few talks"
    elif bias.low <= 0 <= bias.high:
        much = f"cannot be told from 0 ({bias.value:+.1f} points, 95 % CI {bias.low:.1f} to {bias.high:.1f})"
    else:
        much = f"is {bias.value:+.1f} points (95 % CI {bias.low:.1f} to {bias.high:.1f})"
    sure = sum(flip.certain for flip in found.flips)
    return (
        f"{found.speaker} against {found.reference}: the bias {much}, n = {many(bias.n, 'persona')}; "
        f"{len(found.flips)} of {many(found.pairs, 'pair')} of listeners change their order, {sure} of them "
        "beyond chance."
    )


def tables(found: Speakers) -> tuple[Table, ...]:
    joined = any(row.joined.value is not None for row in found.listeners)
    made = [
        Table(
            f"Listeners by {found.speaker} and by {found.reference}",
            ("listener", found.speaker, found.reference, "bias", *(("joined", "worth") if joined else ())),
            tuple(
                (row.name, row.simulated, row.reference, row.bias, *((row.joined, row.gain) if joined else ()))
                for row in found.listeners
            ),
            "Over the personas that both talked as. " + (_JOINED if joined else _NOT_JOINED),
        ),
        Table(
            "Agreement", ("of", "correlation"), (("talks", found.agreement), ("listeners' scores", found.ranks)),
            "A correlation knows no bias: see the first table for it.",
        ),
    ]  # fmt: skip
    if found.flips:
        flips = tuple((f.a, f.b, f.simulated, f.reference, "yes" if f.certain else "no") for f in found.flips)
        columns = ("A", "B", f"A − B by {found.speaker}", f"A − B by {found.reference}", "beyond chance")
        made.append(Table("Listeners that change places", columns, flips))
    if found.differences:
        made.append(Table("Joined differences", ("A", "B", "A − B"), found.differences))
    return tuple(made)


# Two listeners' difference for speakers nobody has asked: talks with several speakers, personas and speakers both
# taken as samples. The verdict's own differences are over personas, and hold for these speakers alone.
_DIFFERENCES = (-100.0, 100.0)
_SPEAKERS, _PERSONAS = 2, 5
"""The fewest that both listeners must have talked with."""
TITLE = "For other speakers too"
Ends = Mapping[tuple[str, str], float]
"""Final emotion by persona and speaker, the mean over repeats."""


Beyond = tuple[str, str, Estimate, Estimate]
"""A, B, A − B for any other speakers, and the same for speakers who differ as in the published talks."""


def over_speakers(entries: Sequence[Entry]) -> list[Beyond]:
    """Of every two listeners that talked with the same two speakers or more, in the entries' order."""
    ends = {entry.name: _ends(entry) for entry in entries}
    found = []
    for a, b in combinations(ends, 2):
        both = {speaker for _, speaker in set(ends[a]) & set(ends[b])}
        if len(both) >= _SPEAKERS:
            found.append((a, b, difference(ends[a], ends[b]), moderated(ends[a], ends[b])))
    return found


def difference(ends: Ends, other: Ends) -> Estimate:
    """The first minus the second over the talks that both held with the same persona and speaker: the mean over
    personas, with an interval over personas and speakers (two-way clusters, Student's t by the fewer of them)."""
    both = [key for key in ends if key in other]
    personas, speakers = [key[0] for key in both], [key[1] for key in both]
    gaps = np.array([ends[key] - other[key] for key in both])
    estimate = structs.replace(crossed_mean("A − B", gaps, personas, speakers, of="personas"), digits=1)
    if estimate.low is None or estimate.high is None or estimate.n < _PERSONAS:
        return structs.replace(estimate, low=None, high=None, note="too few personas, or talks that all end alike")
    return structs.replace(estimate, low=max(_DIFFERENCES[0], estimate.low), high=min(_DIFFERENCES[1], estimate.high))


_SPEAKER_SD, _WORTH = 5.0, 2
"""Points by which a listener's mean is moved by the speaker, beyond what moves all listeners (3 in SAGE's published
talks, from two simulators; taken larger to be safe), and how many further speakers that knowledge counts for."""


def moderated(one: Ends, other: Ends) -> Estimate:
    """The same difference where few speakers need not tell alone how far speakers go: their variance is drawn towards
    that of the published talks, as if `_WORTH` more speakers had shown it, s̃² = (d·s² + d₀·s₀²)/(d + d₀) with d + d₀
    degrees of freedom (Smyth 2004). Over the personas with whom all speakers both listeners talked."""
    both = [key for key in one if key in other]
    speakers = sorted({speaker for _, speaker in both})
    held: dict[str, dict[str, float]] = {}
    for persona, speaker in both:
        held.setdefault(persona, {})[speaker] = one[persona, speaker] - other[persona, speaker]
    gaps = np.array([[own[speaker] for speaker in speakers] for own in held.values() if len(own) == len(speakers)])
    name, note = "A − B", f"if speakers move a listener's mean by some {_SPEAKER_SD:g} points, as in published talks"
    if len(gaps) < _PERSONAS or len(speakers) < _SPEAKERS:
        return Estimate(name, None, len(gaps), digits=1, of="personas", note="too few personas that all talked as")
    personas, count = gaps.shape
    mean, by_persona, by_speaker = float(gaps.mean()), gaps.mean(axis=1), gaps.mean(axis=0)
    rest = gaps - by_persona[:, None] - by_speaker[None, :] + mean
    noise = float((rest**2).sum()) / ((personas - 1) * (count - 1))
    known = 2 * _SPEAKER_SD**2 + noise / personas
    df = count - 1 + _WORTH
    over_speakers = ((count - 1) * float(by_speaker.var(ddof=1)) + _WORTH * known) / df / count
    over_personas = float(by_persona.var(ddof=1)) / personas
    shared = noise / (personas * count)
    variance = max(over_personas, over_speakers, over_personas + over_speakers - shared)
    spent = max(0.0, over_personas - shared) ** 2 / (personas - 1) + over_speakers**2 / df
    low, high = t_bounds(mean, variance**0.5, min(variance**2 / spent, personas - 1))
    ends = max(_DIFFERENCES[0], low), min(_DIFFERENCES[1], high)
    return Estimate(name, mean, personas, variance**0.5, *ends, digits=1, of="personas", note=note)


def _ends(entry: Entry) -> dict[tuple[str, str], float]:
    return group_means(((talk.item, talk.partner), talk.score) for talk in entry.result.transcripts)


def over_speakers_table(differences: Sequence[Beyond]) -> Table:
    return Table(
        TITLE,
        ("A", "B", "A − B", "if speakers differ as in published talks"),
        tuple(differences),
        "Personas and speakers both as samples: the first interval holds for other speakers like these. Two speakers "
        f"know little of all others, and it says so. The second takes it that a speaker moves a listener by up to "
        f"{_SPEAKER_SD:g} points beyond what moves all; where it is more, it is too narrow.",
    )
