"""The EQ profile of a subject: every benchmark it took, one row each, on its own axis with its own baselines, and
people beneath where they answered the same. Scales are never mixed, so there is no sum and no average."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from eqlab.comparison.contender import subject_name
from eqlab.core.results import Estimate, Result, best_baseline
from eqlab.core.text import number
from eqlab.tables.svg import Range, common_range, table_range


@dataclass(frozen=True, slots=True)
class ProfileLine:
    label: str
    detail: str
    """Which number it is, and of what."""
    estimate: Estimate
    scale: Range
    letters: tuple[tuple[str, str, float], ...] = ()
    valid: bool = True
    people: bool = False
    anchor: str = ""


@dataclass
class Profile:
    subject: str
    lines: list[ProfileLine] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Member:
    """A row of a score table as the profile needs it."""

    result: Result
    name: str
    anchor: str
    letters: tuple[tuple[str, str, float], ...]
    scale: Range
    title: str
    people: bool


def profiles(tables: Sequence[Sequence[Member]]) -> list[Profile]:
    """One per subject, in the order of the tables; only subjects of which it says more than the score tables do."""
    found: dict[str, Profile] = {}
    for members in tables:
        own_people = [_line(one, f"{one.title}: people") for one in members if one.people]
        for one in members:
            if one.result.others is not None:
                for arm, lines in _arms(one):
                    found.setdefault(arm, Profile(arm)).lines.extend(lines)
            elif not one.people:
                profile = found.setdefault(subject_name(one.result.subject), Profile(subject_name(one.result.subject)))
                profile.lines += [_line(one, one.title), *own_people, *_beside_people(one)]
    return [profile for profile in found.values() if _says_more(profile.lines)]


def _says_more(lines: Sequence[ProfileLine]) -> bool:
    """Several benchmarks, or people of a study: what no score table shows."""
    own = {line.label for line in lines if not line.people}
    return len(own) > 1 or any(line.people and not line.anchor for line in lines)


def _line(one: Member, label: str) -> ProfileLine:
    head = one.result.headline
    detail = head.note if head.value is None else head.name
    item_set = one.result.rules.get("item_set")
    detail += f", {item_set} items" if item_set else ""
    best = best_baseline(one.result.baselines, one.result.better)
    if best is not None and head.value is not None:
        detail += f"; without any skill at best {number(best.value, head.digits)} ({best.name})"
    return ProfileLine(
        label, detail, head, one.scale, one.letters, one.result.valid,
        one.people, one.anchor,
    )  # fmt: skip


def _beside_people(one: Member) -> Iterator[ProfileLine]:
    """The subject's and people's number of one measure, on one axis."""
    for own, people in one.result.beside_people:
        scale = table_range([own, people])
        yield ProfileLine(one.title, own.name, own, scale, valid=one.result.valid, anchor=one.anchor)
        yield ProfileLine(f"{one.title}: people", f"{people.name}, published", people, scale, people=True)


def _arms(one: Member) -> Iterator[tuple[str, list[ProfileLine]]]:
    """Whoever's replies were rated has its number in its profile, and the rater named beside it."""
    told = one.result.others
    if told is None:
        return
    rater = "people" if one.people else f"a judge, {subject_name(one.result.subject).removeprefix('judge:')}"
    scale = common_range([told.score_range])
    title = f"{told.title}, rated by {rater}"
    human = [
        ProfileLine(f"{title}: people", f"{told.detail}, written by people", share, scale, people=True)
        for name, share in told.shares
        if name == told.written_by_people
    ]
    for name, share in told.shares:
        if name != told.written_by_people:
            line = ProfileLine(title, told.detail, share, scale, valid=one.result.valid, anchor=one.anchor)
            yield subject_name(name), [line, *human]
