"""Talks: do scores and differences over personas and speakers hold for speakers nobody asked, and does an estimate that
joins few talks of people with many simulated ones hold? Called by claims.py."""

import numpy as np
import numpy.typing as npt
from claims_tables import Rows, share, show

Floats = npt.NDArray[np.float64]
SDS = {"persona": 12.0, "speaker": 10.0, "listener:persona": 6.0, "listener:speaker": 5.0, "rest": 14.0}
"""Points; of the order of SAGE's published talks."""


def _world(random: np.random.Generator, personas: int, speakers: int, taste: float = SDS["listener:speaker"]) -> Floats:
    """Ends of talks by listener (two, who do not differ), persona and speaker: whole numbers from 0 to 100."""
    ends = (
        50.0
        + random.normal(0, SDS["persona"], (1, personas, 1))
        + random.normal(0, SDS["speaker"], (1, 1, speakers))
        + random.normal(0, SDS["listener:persona"], (2, personas, 1))
        + random.normal(0, taste, (2, 1, speakers))
        + random.normal(0, SDS["rest"], (2, personas, speakers))
    )
    return np.asarray(np.clip(np.round(ends), 0, 100))


def speakers(times: int) -> None:
    from eqlab.analysis.intervals import mean_estimate
    from eqlab.benchmarks.dialogue.result import final_emotion
    from eqlab.benchmarks.dialogue.talked import Said, Talked
    from eqlab.comparison.speakers import difference

    rows = Rows()
    for personas, counts in ((20, (2, 3, 5, 10)), (60, (2, 3, 5, 10))):
        for count in counts:
            random = np.random.default_rng(100 * personas + count)
            alone = both = wide = narrow = gap_alone = gap = defined = 0.0
            for _ in range(times):
                ends = _world(random, personas, count)
                first = ends[0]
                plain = mean_estimate("", first.mean(axis=1).tolist(), bounds=(0.0, 100.0))
                held = [
                    Talked(
                        f"p{p}", "", "", "", f"s{s}", 0, "t", 40,
                        (Said("listener", "b"), Said("speaker", "c", int(first[p, s]))), "turns",
                    )
                    for p in range(personas) for s in range(count)
                ]  # fmt: skip
                score = final_emotion(held)
                alone += _holds(plain.low, plain.high, 50.0)
                both += _holds(score.low, score.high, 50.0)
                narrow += (plain.high or 0.0) - (plain.low or 0.0)
                wide += (100.0 if score.high is None else score.high) - (score.low or 0.0)
                d = (ends[0] - ends[1]).mean(axis=1)
                paired = mean_estimate("", d.tolist())
                gap_alone += _holds(paired.low, paired.high, 0.0)
                a, b = (
                    {(f"p{p}", f"s{s}"): float(one[p, s]) for p in range(personas) for s in range(count)}
                    for one in ends
                )
                joint = difference(a, b)
                if joint.low is not None:
                    defined += 1
                    gap += _holds(joint.low, joint.high, 0.0)
            rows.append(
                (personas, count, share(alone, times), share(both, times), f"±{narrow / times / 2:.1f}",
                 f"±{wide / times / 2:.1f}", share(gap_alone, times), share(gap, int(defined)) if defined else "none")
            )  # fmt: skip
    show(
        f"Talks: intervals for speakers nobody asked, {times} experiments a row",
        ("personas", "speakers", "score, over personas", "score, over both", "width", "width, both",
         "difference, over personas", "difference, over both"),
        rows,
    )  # fmt: skip


def people(times: int) -> None:
    """Three listeners, 60 personas, all simulated; some also with people, each of whom has a level of their own."""
    from eqlab.comparison.speakers import Talk, compare_speakers

    truth = {"a": 55.0, "b": 50.0, "c": 45.0}
    rows = Rows()
    for name, likeness, bias in (("close", 0.9, 12.0), ("fair", 0.5, 12.0), ("of no use", 0.0, 25.0)):
        for human, persons in ((10, 10), (20, 10), (30, 30)):
            random = np.random.default_rng(human * 1000 + persons + int(10 * likeness))
            own = joined = gap = total = gaps = 0
            widths = [0.0, 0.0]
            for _ in range(times):
                talks = []
                persona, level = random.normal(0, 10, 60), random.normal(0, 5, persons)
                for listener, mean in truth.items():
                    felt = mean + persona + random.normal(0, 5, 60)
                    noise = random.normal(0, 10, 60)
                    seen = bias + mean + likeness * (felt - mean) + np.sqrt(1 - likeness**2) * noise
                    seen = np.clip(np.round(seen), 0, 100)
                    talks += [Talk(listener, f"p{p}", "sim", "sim", float(seen[p])) for p in range(60)]
                    for p in random.choice(60, human, replace=False):
                        who = int(random.integers(persons))
                        score = float(np.clip(np.round(felt[p] + level[who] + random.normal(0, 6)), 0, 100))
                        talks.append(Talk(listener, f"p{p}", "people", f"person:{who}", score))
                (found,) = compare_speakers(talks, "people")
                for row in found.listeners:
                    if row.joined.low is None or row.joined.high is None or row.reference.low is None:
                        continue
                    total += 1
                    own += _holds(row.reference.low, row.reference.high, truth[row.name])
                    joined += _holds(row.joined.low, row.joined.high, truth[row.name])
                    widths[0] += (row.reference.high or 0.0) - row.reference.low
                    widths[1] += row.joined.high - row.joined.low
                for a, b, one in found.differences:
                    gaps += 1
                    gap += _holds(one.low, one.high, truth[a] - truth[b])
            rows.append(
                (name, human, persons, share(own, total), share(joined, total),
                 f"{widths[0] / total:.1f}", f"{widths[1] / total:.1f}", share(gap, gaps))
            )  # fmt: skip
    show(
        f"People's talks joined with simulated ones: 3 listeners, 60 personas, {times} experiments a row",
        ("the simulation is", "talks of people a listener", "people", "people's own interval", "joined", "width",
         "width, joined", "joined difference"),
        rows,
    )  # fmt: skip


def few_speakers(times: int) -> None:
    """Differences for speakers nobody asked, where few were: over both as they are, and with what published talks know
    of speakers. Unfriendly: speakers who move a listener four times as far as in the published talks."""
    from eqlab.comparison.speakers import difference, moderated

    rows = Rows()
    for personas in (20, 60):
        for count in (2, 3, 5):
            for taste in (0.0, 3.0, 5.0, 8.0, 12.0):
                random = np.random.default_rng(1000 * personas + 10 * count + int(taste))
                held = [0.0, 0.0, 0.0]
                width = [0.0, 0.0]
                for _ in range(times):
                    ends = _world(random, personas, count, taste)
                    one, other = (
                        {(f"p{p}", f"s{s}"): float(own[p, s]) for p in range(personas) for s in range(count)}
                        for own in ends
                    )
                    gaps = (ends[0] - ends[1]).mean(axis=1)
                    held[0] += abs(gaps.mean()) <= 2.0 * gaps.std(ddof=1) / personas**0.5
                    for place, found in enumerate((difference(one, other), moderated(one, other))):
                        low, high = found.low or 0.0, found.high or 0.0
                        held[place + 1] += low <= 0.0 <= high
                        width[place] += (high - low) / 2
                rows.append(
                    (personas, count, taste, *(share(one, times) for one in held),
                     *(f"±{one / times:.1f}" for one in width))
                )  # fmt: skip
    show(
        f"Talks: differences for speakers nobody asked, {times} experiments a row",
        ("personas", "speakers", "SD of a speaker's effect on a listener", "over personas", "over both",
         "as in published talks", "width, both", "width, as in published talks"),
        rows,
    )  # fmt: skip


def _holds(low: float | None, high: float | None, truth: float) -> bool:
    """An interval that could not be made claims nothing, and holds."""
    return low is None or high is None or low <= truth <= high
