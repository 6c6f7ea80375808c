"""A study's data made coarse enough to be published: new names in a new order, no time of day, whole seconds, no rare
combination of what could tell who somebody is. Irreversible: nothing here leads back to the export."""

import json
import secrets
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from eqlab.core.moves import is_simulated
from eqlab.core.spreadsheet import safe_csv
from eqlab.core.trials import Trial
from eqlab.data.files import write_whole
from eqlab.store.study.participation import Participation
from eqlab.study.results.analysis import analyse
from eqlab.study.results.bundle import summary
from eqlab.study.results.export import public_talk_rows
from eqlab.study.results.participants import Participant, read_participants

T = TypeVar("T")
SMALLEST = 5
"""People who must share a value, or a combination of values, for it to be published."""
MERGED = "other"
_LONGEST = 600
"""Seconds on a page above which only that is said: very long times are as good as a name."""
_LONGEST_VISIT = 120
"""The same in minutes, of the whole visit."""


def publish(participation: Participation, folder: Path, smallest: int = SMALLEST, who: str = "") -> list[Path]:
    """Write the public release: people, answers, what was asked, and what came of the analysis."""
    import polars as pl

    found = analyse(participation, who, "published")
    people = [person for person in read_participants(participation).people if person.consented_at is not None]
    secrets.SystemRandom().shuffle(people)  # the order of arrival would tell the time
    names = {person.person: f"p{number:04d}" for number, person in enumerate(people, start=1)}
    tables = {
        "people": coarse_people(people, names, smallest),
        "answers": coarse_answers(people, names, smallest),
        "questions": [_question(trial) for trial in participation.design.trials.values()],
    }
    if participation.design.talks:
        tables["talks"] = public_talk_rows(people, names)
    written = []
    for name, rows in tables.items():
        path = folder / f"{name}.csv"
        write_whole(path, safe_csv(pl.DataFrame(rows, infer_schema_length=None)))
        written.append(path)
    told = {
        "study": participation.study.id,
        "simulated": found.standing.simulated,
        "coarsened": f"cells of fewer than {smallest} people merged; whole seconds up to {_LONGEST}; no dates; names "
        "and order drawn anew; nothing that people wrote, and no number that they gave of themselves",
        **{name: value for name, value in summary(found).items() if name != "excluded"},
    }
    about = folder / "release.json"
    write_whole(about, json.dumps(told, ensure_ascii=False, indent=1) + "\n")
    return [*written, about]


def coarse_people(people: Sequence[Participant], names: dict[str, str], smallest: int) -> list[dict[str, Any]]:
    """Each person with what can be said of them. Language and device are said only where enough others share both,
    states only where enough others have them."""
    pairs = merged([(person.language, person.device or "") for person in people], (MERGED, MERGED), smallest)
    states = merged([person.state for person in people], MERGED, smallest)
    rows = []
    for person, (language, device), state in zip(people, pairs, states, strict=True):
        minutes = None if person.duration is None else min(round(person.duration / 60), _LONGEST_VISIT)
        rows.append(
            {
                "person": names[person.person],
                "state": state,
                "arm": person.arm,
                "language": language,
                "device": device,
                "minutes": minutes,
                "attention_failed": person.checks(False),
                "quiz_attempts": person.quiz_attempts,
                "straight_lining": person.straight_lining,
                "too_fast": person.too_fast,
                "simulated": is_simulated(person.person),
            }
        )
    return rows


def merged(values: Sequence[T], other: T, smallest: int) -> list[T]:
    """Values that fewer people share become `other`. If too few are left under that name, so does the rarest of the
    rest, until nobody stands alone; of very few people nothing is said."""
    found = list(values)
    while True:
        counts = Counter(found)
        rare = {value for value, count in counts.items() if count < smallest and value != other}
        if not rare and 0 < counts[other] < smallest and len(counts) > 1:
            rare = {min((value for value in counts if value != other), key=lambda value: counts[value])}
        if not rare:
            return found
        found = [other if value in rare else value for value in found]


def coarse_answers(people: Sequence[Participant], names: dict[str, str], smallest: int) -> list[dict[str, Any]]:
    """The answers that count, of every scale. Of questions about the person (age group, gender) a rare answer is left
    empty, and so are all of them where their combination, with language and device, is rare. What people wrote
    themselves is never published, and no number that they gave of themselves."""
    rare = _rare(people, smallest)
    alone = _alone(people, rare, smallest)
    rows: list[dict[str, Any]] = []
    for person in people:
        for one in person.counted:
            for scale in one.trial.form.scales:
                value = one.values.get(scale.key)
                if not isinstance(value, int):
                    continue
                if (one.trial.id, scale.key, value) in rare or (one.kind == "question" and person.person in alone):
                    value = None
                seconds = None if one.seconds is None else min(round(one.seconds), _LONGEST)
                rows.append(
                    {
                        "person": names[person.person],
                        "position": one.page,
                        "kind": one.kind,
                        "trial": one.trial.id,
                        "scale": scale.key,
                        "value": value,
                        "seconds": seconds,
                    }
                )
    return sorted(rows, key=lambda row: (row["person"], row["position"], row["scale"]))


def _rare(people: Sequence[Participant], smallest: int) -> set[tuple[str, str, int]]:
    """(question, scale, value) of answers about oneself that too few people have given. Where one is rare, so is the
    next rarest: otherwise it could be worked out which was left empty."""
    counts: dict[tuple[str, str], Counter[int]] = {}
    for person in people:
        for one in person.counted:
            if one.kind == "question":
                for scale in one.trial.form.scales:
                    value = one.values.get(scale.key)
                    if isinstance(value, int):
                        counts.setdefault((one.trial.id, scale.key), Counter())[value] += 1
    found = set()
    for (trial, key), values in counts.items():
        given = list(values.elements())
        found |= {
            (trial, key, value) for value, kept in zip(given, merged(given, -1, smallest), strict=True) if kept == -1
        }
    return found


def _alone(people: Sequence[Participant], rare: set[tuple[str, str, int]], smallest: int) -> set[str]:
    """Whose answers about themselves, together with language and device, too few others have."""
    pairs = merged([(person.language, person.device or "") for person in people], (MERGED, MERGED), smallest)
    told: list[tuple[Any, ...]] = []
    for person, pair in zip(people, pairs, strict=True):
        answers = sorted(
            (one.trial.id, scale.key, value)
            for one in person.counted
            if one.kind == "question"
            for scale in one.trial.form.scales
            if isinstance(value := one.values.get(scale.key), int)
        )
        told.append((*pair, *(one for one in answers if one not in rare)))
    kept = merged(told, (), smallest)
    return {person.person for person, one in zip(people, kept, strict=True) if one == ()}


def _question(trial: Trial) -> dict[str, Any]:
    return {
        "trial": trial.id,
        "benchmark": trial.benchmark,
        "condition": trial.condition,
        "item": " ".join(trial.items),
        "stimulus": trial.stimulus,
        "key": json.dumps(dict(trial.key), ensure_ascii=False),
    }
