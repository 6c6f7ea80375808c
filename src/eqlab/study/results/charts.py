"""The charts of the researcher's page, as shapes in a box: progress over time, drop-out by page, how long people take.
Pure; the page draws them."""

from collections.abc import Sequence
from dataclasses import dataclass

from eqlab.study.results.status import StudyStatus

WIDTH, HEIGHT = 320.0, 120.0
_LEFT, _TOP, _BOTTOM = 30.0, 8.0, 18.0


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    name: str
    says: str
    """The same in words, for whoever cannot see it."""
    bars: tuple[Bar, ...] = ()
    line: str = ""
    """Points of a line, as SVG wants them."""
    top: str = ""
    """What the highest line means."""
    ends: tuple[str, str] = ("", "")
    """Words under the left and the right end."""


def charts(now: StudyStatus) -> tuple[Chart, ...]:
    return (_progress(now), _leaving(now), _minutes(now))


def _progress(now: StudyStatus) -> Chart:
    """People who finished, over the time since the first came."""
    ends, start = now.finished_at, now.first_at
    says = f"{len(ends)} people have finished, of {now.places} places."
    if not ends or start is None:
        return Chart("Finished", says)
    span = max(now.at - start, 1.0)
    top = max(now.places, len(ends))
    points = [(0.0, 0)]
    for number, at in enumerate(sorted(ends), start=1):
        points += [((at - start) / span, number - 1), ((at - start) / span, number)]
    points.append((1.0, len(ends)))
    line = " ".join(f"{_x(share):.1f},{_y(count / top):.1f}" for share, count in points)
    return Chart("Finished", says, line=line, top=str(top), ends=("first came", "now"))


def _leaving(now: StudyStatus) -> Chart:
    """How many reached each page."""
    counts = [page.reached for page in now.pages]
    left = sum(page.left for page in now.pages)
    says = f"{left} people left on the way; {counts[-1] if counts else 0} reached the last page."
    titles = [f"page {page.number} ({page.kind}): {page.reached} reached, {page.left} left" for page in now.pages]
    return Chart(
        "Reached each page", says, _bars(counts, titles), top=str(max(counts, default=0)), ends=("first", "last")
    )


def _minutes(now: StudyStatus) -> Chart:
    """Times of those who finished, in classes of equal width."""
    minutes = now.minutes
    if not minutes:
        return Chart("Minutes needed", "Nobody has finished yet.")
    width = max(1.0, max(minutes) / 12)
    counts = [0] * (int(max(minutes) / width) + 1)
    for one in minutes:
        counts[int(one / width)] += 1
    titles = [f"{n * width:.0f} to {(n + 1) * width:.0f} min: {count} people" for n, count in enumerate(counts)]
    says = f"From {min(minutes):.0f} to {max(minutes):.0f} minutes."
    ends = ("0", f"{len(counts) * width:.0f} min")
    return Chart("Minutes needed", says, _bars(counts, titles), top=str(max(counts)), ends=ends)


def _bars(counts: Sequence[int], titles: Sequence[str]) -> tuple[Bar, ...]:
    top = max(counts, default=0) or 1
    step = (WIDTH - _LEFT) / max(len(counts), 1)
    return tuple(
        Bar(_LEFT + n * step, _y(count / top), max(step - 1.5, 0.5), HEIGHT - _BOTTOM - _y(count / top), title)
        for n, (count, title) in enumerate(zip(counts, titles, strict=True))
    )


def _x(share: float) -> float:
    return _LEFT + share * (WIDTH - _LEFT)


def _y(share: float) -> float:
    return _TOP + (1 - share) * (HEIGHT - _BOTTOM - _TOP)
