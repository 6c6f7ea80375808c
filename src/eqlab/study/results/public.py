"""A study's data made coarse enough to be published: new names in a new order, no dates, no page times, and nobody who
differs from at least four others in what could tell who they are. Irreversible: nothing here leads back to the export.

What could tell who somebody is are *traits*: state, language, device, how long the visit took, how checks went, and
what people said of themselves. Each has a ladder from fine to nothing. Traits are made coarser, all over, until nearly
everybody shares all of them with enough others; the few that are left show none of theirs, and as many others with
them as it takes. So it is the joint of all columns that is safe, and an empty cell tells nothing."""

import csv
import json
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from eqlab.benchmarks.empathy.items import is_published
from eqlab.core.design import Design
from eqlab.core.errors import DataError, UsageError
from eqlab.core.forms import Scale, Several
from eqlab.core.runs import is_simulated
from eqlab.core.text import people as people_in_words
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.data.files import write_whole
from eqlab.store.store import Store
from eqlab.store.study.participation import Participation
from eqlab.study.kinds import find_kind
from eqlab.study.results.analysis import StudyAnalysis, analyse_unseen, log_look
from eqlab.study.results.bundle import STUDY, summary
from eqlab.study.results.export import ANSWERS, PARTICIPANTS, QUESTIONS, RELEASE, TALKS, public_talk_rows
from eqlab.study.results.participants import Participant, Participants
from eqlab.tables.data import safe_csv

SMALLEST = 5
"""People who must share all traits for them to be published."""
HIDDEN = "*"
"""Every trait of the few whose combination is too rare."""
_FEW, _HALF = 0.1, 0.5
"""The share of people whose traits may be hidden, for being too few, rather than making them coarser for all; and the
share with the company that they need to be no gap."""
_TRAITS = ("question", "quiz", "attention", "gold")
"""Pages that are told of by traits only."""
_LONG_VISITS = (5, 10, 20, 40)
"""Minutes between which the length of a visit is told."""
_EXPORTED = {one.name: one.meaning for one in (*TALKS, *QUESTIONS, *PARTICIPANTS, *ANSWERS)}
_RELEASED = {
    "person": "name, drawn anew for this release",
    "position": "number of the page on the person's way, from 0",
    "seconds": "seconds on the page, rounded to tens, at most 600",
    "words": "length of what was said, in words, rounded to tens",
    "analysed": "whether the person is in the result; empty for somebody who answered no trial",
}
"""What columns of a release mean where it is not what they mean in an export."""
_NO_ROWS = {"answers": ("person", "position", "kind", "trial", "scale", "value")}
"""Columns of a table without rows: where everything was written, no answer is published."""
_UNPROTECTED = (
    "the answers themselves, how far somebody came, the arm, and which pages somebody got, which may tell the order in "
    "which people came: whoever knows how somebody answered a few pages can "
    "find the rest of their answers, also in another release of this study; whether the consent tells people so is not "
    "checked"
)


def publish(
    participation: Participation,
    folder: Path,
    smallest: int = SMALLEST,
    who: str = "",
    *,
    times: bool = False,
    replies: bool = False,
) -> list[Path]:
    """Write the public release: people, answers, what was asked, and what came of the analysis. `times`: with the
    seconds on each page, in tens, which nothing protects. `replies`: with those that came in tables, which people may
    have written. One that is refused is kept as a look, and as no release."""
    if (folder / STUDY).exists():
        raise UsageError(
            f"{folder} holds an export, with names and times that must not be published.",
            "Name another folder with -o.",
        )
    analysis, _, participants = analyse_unseen(participation)
    action = "analysed"
    try:
        content = _release(analysis, participants, smallest, participation.store, times=times, replies=replies)
        action = "published"
    finally:
        log_look(participation, who, action, analysis.standing)
    for name, text in content.items():
        write_whole(folder / name, text)
    return [folder / name for name in content]


def _release(
    analysis: StudyAnalysis, participants: Participants, smallest: int, store: Store, *, times: bool, replies: bool
) -> dict[str, bytes | str]:
    """The files of a release; refused where they would not keep their promise."""
    import polars as pl

    design = analysis.design
    people = [person for person in participants.people if person.consented_at is not None]
    simulated = sum(is_simulated(person.person) for person in people)
    if 0 < simulated < len(people):  # nobody is hidden among those of whom the release says that they are nobody
        raise UsageError(
            f"Study '{design.study.id}' holds {people_in_words(simulated, 'simulated')} beside "
            f"{people_in_words(len(people) - simulated, 'real')}: a release has one kind.",
            "Clear the simulated ones first: 'eqlab study clear FILE'.",
        )
    if len(people) < smallest:
        raise UsageError(
            f"Study '{design.study.id}' has {people_in_words(len(people))}; a release needs at least "
            f"{smallest}, so that nobody stands alone.",
            "Wait for more people, or pass the whole export on to somebody you trust.",
        )
    kept = {person.person for person in analysis.sample.kept}
    inferred = {person.person: _inferred(person, design, kept) for person in people}
    few = {told: size for told, size in Counter(inferred.values()).items() if size < smallest}
    if alone := [(told.stratum, size) for told, size in few.items() if told.analysed == "yes"]:
        quota = f", {design.study.quota.question} as the pages that they got tell it" if alone[0][0] else ""
        sizes = " and ".join(f"{name} {people_in_words(size)}".strip() for name, size in alone)
        raise UsageError(
            f"Study '{design.study.id}' has {sizes} in its analysis{quota}; a release needs at least {smallest}, "
            "so that nobody stands alone.",
            "Wait for more people, or pass the whole export on to somebody you trust.",
        )
    everybody, people = people, [person for person in people if inferred[person.person] not in few]
    if not people:
        raise UsageError(
            f"Study '{design.study.id}' has fewer than {people_in_words(smallest)} of each kind: analysed, left out, "
            "without an answer. Nobody could hide among others.",
            "Wait for more people, or pass the whole export on to somebody you trust.",
        )
    secrets.SystemRandom().shuffle(people)  # the order of arrival would tell the time
    names = {person.person: f"p{number:04d}" for number, person in enumerate(people, start=1)}
    known = [inferred[person.person] for person in people]
    candidates = traits_of(people)
    traits = coarsen(candidates, smallest, known)
    published, private = _of_others(design, store), frozenset() if replies else _in_tables(design, store)
    withheld = _with_repeats(design, published | private)
    tables = {
        "people": public_people(people, names, traits, known),
        "answers": public_answers(people, names, times=times),
        "questions": [_question(trial, trial.id in withheld) for _, trial in sorted(design.trials.items())],
    }
    if design.talks:
        tables["talks"] = public_talk_rows(people, names)
    content = {
        name: safe_csv(pl.DataFrame(rows, schema=None if rows else _NO_ROWS.get(name), infer_schema_length=None))
        for name, rows in tables.items()
    }
    check_groups(content["people"], traits, smallest, known)
    codebook = public_codebook(tables, candidates, traits)
    if withheld:
        codebook = [row | {"meaning": f"{row['meaning']}{_WITHHELD.get(row['column'], '')}"} for row in codebook]
    content["codebook"] = safe_csv(pl.DataFrame(codebook))
    told = {
        "study": design.study.id,
        "simulated": analysis.standing.simulated,
        "looks at results": {
            "before the planned number": len(analysis.standing.looks),
            "later": analysis.standing.later_looks,
        },
        "protected": f"nobody differs from at least {smallest - 1} others in all of these together: "
        + ", ".join([*traits, "analysed", *(["the quota's question"] if design.study.quota.question else [])]),
        "people left out": f"not analysed, and too few to hide among each other: {len(everybody) - len(people)}",
        "unprotected": _UNPROTECTED + ("; the seconds on each page, in tens" if times else ""),
        "left out": "dates, what people wrote, numbers that they gave of themselves, answers to the quiz and to checks"
        + ("" if times else ", the seconds on each page")
        + (", texts and keys of published items, which are not ours to pass on" if published else "")
        + (", replies that came in a table, which people may have written, with their prompts" if private else ""),
        **{name: value for name, value in summary(analysis).items() if name != "excluded"},
    }
    about = json.dumps(told, ensure_ascii=False, indent=1) + "\n"
    return {**{f"{name}.csv": text for name, text in content.items()}, RELEASE: about}


# -- traits ------------------------------------------------------------------------------------------------------------


class Inferred(NamedTuple):
    """What the rest of a release tells of somebody, whether it is written beside them or not."""

    analysed: str
    """As it is written: yes, no, or nothing of who answered no trial. The numbers are of those who are analysed, so
    whoever leaves people out until they fit finds the others."""
    stratum: str
    """With a quota each answer has places, and so pages, of its own."""


def _inferred(person: Participant, design: Design, kept: Collection[str]) -> Inferred:
    asked = design.before if person.arm is not None and design.study.quota.question else None
    said = next((one.values for one in person.counted if asked and one.trial.id == asked.id), None)
    stratum = "" if said is None else design.stratum(said) or ""
    answered = any(page.kind in ("trial", "talk") for page in person.pages)
    return Inferred(("yes" if person.person in kept else "no") if answered else "", stratum)


@dataclass(frozen=True, slots=True)
class Trait:
    """Something that could tell who somebody is, of everybody, from fine to nothing."""

    name: str
    ladder: tuple[tuple[str, ...], ...]
    """Everybody's values, coarser with every step; below the last step the trait is left out."""
    meanings: tuple[str, ...] = ()
    """What the values of each step mean."""


def traits_of(people: Sequence[Participant]) -> list[Trait]:
    """The least needed for an analysis first: where two would do, that one is made coarser."""

    def trait(name: str, *steps: Callable[[Participant], Any], meaning: str = "", coarser: str = "") -> Trait:
        ladder = tuple(tuple(str(step(participant)) for participant in people) for step in steps)
        return Trait(name, ladder, (meaning or _EXPORTED[name], f"made coarser: {coarser}"))

    gold = any(page.kind == "gold" for participant in people for page in participant.given)
    return [
        trait("minutes", _minutes, meaning="minutes from consent to the end, of those who came to it, in five steps"),
        trait("too_fast", lambda one: one.too_fast, lambda one: one.too_fast > 0, coarser="whether it was 1 or more"),
        trait("quiz_attempts", lambda one: one.quiz_attempts, lambda one: one.quiz_attempts > 1,
              coarser="whether it was 2 or more"),
        trait("straight_lining", lambda one: bool(one.straight_lining)),
        trait("attention_failed", lambda one: one.checks(False), lambda one: one.checks(False) > 0,
              coarser="whether it was 1 or more"),
        *([trait("gold_failed", lambda one: one.gold(False), lambda one: one.gold(False) > 0,
                 coarser="whether it was 1 or more")] if gold else ()),
        trait("device", lambda one: one.device or ""),
        trait("language", lambda one: one.language),
        *_questions(people),
        trait("state", lambda one: one.state, lambda one: "finished" if one.complete else "other",
              coarser="finished (also extra), or other"),
    ]  # fmt: skip


def _minutes(person: Participant) -> str:
    if person.duration is None:
        return ""
    minutes = person.duration / 60
    above = [most for most in _LONG_VISITS if minutes >= most]
    below = [most for most in _LONG_VISITS if minutes < most]
    return f"{above[-1] if above else 0} to {below[0]}" if below else f"{above[-1]} or more"


def _questions(people: Sequence[Participant]) -> list[Trait]:
    """What people said of themselves by choosing; numbers and words of their own are never published."""
    given = [_said(person) for person in people]
    keys = {key: None for said in given for key in said}  # in the order of asking
    short = Counter(scale for _, scale in keys)
    scales = {
        (one.trial.id, scale.key): scale
        for person in people
        for one in person.counted
        for scale in one.trial.form.scales
    }
    return [
        Trait(
            f"about_{scale}" if short[scale] == 1 else f"about_{trial}_{scale}",
            (tuple("" if (value := said.get((trial, scale))) is None else str(value) for said in given),),
            (_asked(scales[trial, scale]),),
        )
        for trial, scale in keys
    ]


def _asked(scale: Scale) -> str:
    return f"{scale.text} ({'; '.join(f'{value} = {label}' for value, label in scale.anchors)})"


def _said(person: Participant) -> dict[tuple[str, str], int]:
    return {
        (one.trial.id, scale.key): value
        for one in person.counted
        if one.kind == "question"
        for scale in one.trial.form.scales
        if isinstance(value := one.values.get(scale.key), int)
    }


def coarsen(
    traits: Sequence[Trait], smallest: int, known: Sequence[Hashable] | None = None
) -> dict[str, tuple[str, ...]]:
    """The traits that are left, everybody's values by name: each combination is that of at least `smallest` people who
    are alike in what is `known` of them anyway. Of few people it is hidden."""
    at = dict.fromkeys(range(len(traits)), 0)  # which trait is on which step; those left out are missing
    count = len(traits[0].ladder[0]) if traits else 0
    parts = [None] * count if known is None else known

    def combined(steps: Mapping[int, int]) -> list[tuple[Any, ...]]:
        return list(zip(parts, *(traits[trait].ladder[step] for trait, step in steps.items()), strict=True))

    def hides(steps: Mapping[int, int]) -> dict[tuple[Any, ...], int]:
        """Combinations that are hidden, and how many people have each."""
        sizes = Counter(combined(steps))
        gone = {one: size for one, size in sizes.items() if size < smallest}
        for one in sorted(sizes.keys() - gone.keys(), key=lambda one: (sizes[one], one)):
            if 0 < sum(size for rare, size in gone.items() if rare[0] == one[0]) < smallest:
                gone[one] = sizes[one]  # a few alone would be told by what they do not show
        return gone

    def cost(steps: Mapping[int, int]) -> tuple[int, int]:
        """How many people are too few to be shown; and how many are hidden, with those who keep them company."""
        gone = hides(steps).values()
        return sum(size for size in gone if size < smallest), sum(gone)

    def too_many(few: int, hidden: int) -> bool:
        return few > _FEW * count or hidden > _HALF * count

    while at and too_many(*cost(at)):
        at = min((_coarser(traits, at, trait) for trait in at), key=cost)
    gone = hides(at)
    hidden = [one in gone for one in combined(at)]
    return {
        traits[trait].name: tuple(
            HIDDEN if hide else value for hide, value in zip(hidden, traits[trait].ladder[step], strict=True)
        )
        for trait, step in at.items()
    }


def _coarser(traits: Sequence[Trait], at: Mapping[int, int], trait: int) -> dict[int, int]:
    step = at[trait] + 1
    return {one: old for one, old in at.items() if one != trait} | (
        {trait: step} if step < len(traits[trait].ladder) else {}
    )


def check_groups(
    people_csv: bytes, traits: Collection[str], smallest: int, known: Sequence[Hashable] | None = None
) -> None:
    """Hold the finished table against the promise, without a word of how it was made. `known`: what else can be told of
    each person."""
    rows = list(csv.DictReader(StringIO(people_csv.decode())))
    parts = [None] * len(rows) if known is None else known
    told = [name for name in ("analysed", *traits) if rows and name in rows[0]]
    sizes = Counter((part, *(row[name] for name in told)) for part, row in zip(parts, rows, strict=True))
    least = min(sizes.values(), default=0)
    if least < smallest:
        raise DataError(
            f"The release was not written: {people_in_words(least)} would share a combination of {', '.join(traits)}, "
            f"and {smallest} must.",
            "This is a fault of EQ Lab; please report it.",
        )


# -- the tables --------------------------------------------------------------------------------------------------------


def public_people(
    people: Sequence[Participant],
    names: Mapping[str, str],
    traits: Mapping[str, Sequence[str]],
    known: Sequence[Inferred],
) -> list[dict[str, Any]]:
    return [
        {
            "person": names[person.person],
            "arm": person.arm,
            "analysed": known[number].analysed,
            **{name: values[number] for name, values in traits.items()},
            "simulated": is_simulated(person.person),
        }
        for number, person in enumerate(people)
    ]


def public_answers(people: Sequence[Participant], names: Mapping[str, str], *, times: bool) -> list[dict[str, Any]]:
    """The answers that count, of every scale of trials and questionnaires. What people said of themselves and how they
    did at the checks is among the traits, and stands nowhere else: there it could be told of whom it is hidden."""
    rows: list[dict[str, Any]] = []
    for person in people:
        for one in person.counted:
            if one.kind in _TRAITS:
                continue
            for scale in one.trial.form.scales:
                value = one.values.get(scale.key)
                if not isinstance(value, int):
                    continue
                row: dict[str, Any] = {
                    "person": names[person.person],
                    "position": one.page,
                    "kind": one.kind,
                    "trial": one.trial.id,
                    "scale": scale.key,
                    "value": value,
                }
                if times:
                    row["seconds"] = None if one.seconds is None else min(10 * round(one.seconds / 10), 600)
                rows.append(row)
    return sorted(rows, key=lambda row: (row["person"], row["position"], row["scale"]))


def public_codebook(
    tables: Mapping[str, Sequence[Mapping[str, Any]]], candidates: Sequence[Trait], traits: Mapping[str, Sequence[str]]
) -> list[dict[str, str]]:
    """What every column of the release means, how coarse the traits are, and which were left out."""
    told = _RELEASED | {one.name: _as_released(one, traits.get(one.name)) for one in candidates}
    columns = [(table, name) for table, rows in tables.items() for name in (rows[0] if rows else ())]
    columns += [("people", one.name) for one in candidates if one.name not in traits]
    return [{"table": table, "column": name, "meaning": told.get(name) or _EXPORTED[name]} for table, name in columns]


def _as_released(trait: Trait, values: Sequence[str] | None) -> str:
    """With the step of the ladder on which somebody's values stand."""
    if values is None:
        return f"left out, since too few people share it: {trait.meanings[0]}"
    step = next(
        number
        for number, own in enumerate(trait.ladder)
        if all(value in (HIDDEN, fine) for value, fine in zip(values, own, strict=True))
    )
    coarser = f"; {trait.meanings[step]}" if step else ""
    hidden = f"; {HIDDEN}: hidden, with all others of these columns" if HIDDEN in values else ""
    return f"{trait.meanings[0]}{coarser}{hidden}"


_OF_THE_DESIGN = ("arm", "arms", "prompt", "words", "repeats")
"""What a key holds of the study itself: whose reply a page showed."""


_WITHHELD = {
    "stimulus": "; empty of published items and of replies from tables",
    "key": "; of these whose reply it was, and no more",
}


def _of_others(design: Design, store: Store) -> frozenset[str]:
    """The questions that others have published: their licences let us ask them, not pass them on."""
    theirs = {one.name for one in design.run.benchmarks if one.item_set == "published"}
    if any(_on_published(source, store) for _, source in design.study.arms):
        theirs |= {one.name for one in design.run.benchmarks}
    asked = design.trials.values()
    return frozenset(one.id for one in asked if one.benchmark in theirs or any(map(is_published, one.items)))


def _in_tables(design: Design, store: Store) -> frozenset[str]:
    """Pages with a reply that came in a table: people may have written it, who let raters read it and nobody else."""
    if find_kind(design.study.kind).form().arms != "replies":
        return frozenset()
    arms = {name for name, source in design.study.arms if _is_table(source, store)}
    return frozenset(one.id for one in design.trials.values() if arms & {one.key.get("arm"), *one.key.get("arms", ())})


def _is_table(source: str, store: Store) -> bool:
    where = source.partition(":")[0]
    return where not in _NO_TABLES and not any(run.startswith(where) for run in store.run_ids())


_NO_TABLES = ("author", "published")


def _with_repeats(design: Design, own: frozenset[str]) -> frozenset[str]:
    """These pages, and those that show their words once more, as a repeat or as a check."""
    shown = [one for one in design.trials.values() if one.id in own]
    texts = {one.stimulus for one in shown} - {""}
    texts |= {label for one in shown for label in _options(one) if len(label.split()) > _A_FEW}
    others = [one for one in design.trials.values() if one.id not in own]
    return own | {one.id for one in others if any(text in one.stimulus for text in texts)}


_A_FEW = 3
"""Words that are nobody's: "Very much", "sad"."""


def _options(trial: Trial) -> Iterator[str]:
    """What can be chosen, in words."""
    for one in trial.form.fields:
        if isinstance(one, Scale):
            yield from (label for _, label in one.anchors)
        elif isinstance(one, Several):
            yield from one.options


def _on_published(source: str, store: Store) -> bool:
    """Whether an arm's replies are those of a run on published items."""
    named = [run for run in store.run_ids() if run.startswith(source.partition(":")[0])]
    return len(named) == 1 and any(one.item_set == "published" for one in store.read_run(named[0]).config.benchmarks)


def _question(trial: Trial, withheld: bool) -> dict[str, Any]:
    key = {name: value for name, value in trial.key.items() if not withheld or name in _OF_THE_DESIGN}
    return {
        "trial": trial.id,
        "benchmark": trial.benchmark,
        "condition": trial.condition,
        "item": " ".join(trial.items),
        "stimulus": "" if withheld else trial.stimulus,
        "key": json.dumps(key, ensure_ascii=False) if key or not withheld else "",
    }
