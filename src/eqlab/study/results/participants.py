"""The participants of a study: everybody who came, with every page they answered and what the checks say, in an
order that does not depend on the store."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored
from eqlab.core.design import Design, Step, StepKind, steps_from_json
from eqlab.core.errors import StoreError
from eqlab.core.results import Estimate
from eqlab.core.runs import PERSON, is_simulated
from eqlab.core.text import value_of
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.instruments.catalogue import INSTRUMENTS, Instrument, score
from eqlab.store.study.moves import is_right
from eqlab.store.study.participation import Participation
from eqlab.store.study.records import Event, Records, answers_of, read_records
from eqlab.study.kinds import kind_of

_OF_ROW = (
    *("person", "state", "arm", "batch", "language", "consent_version", "device"),
    *("arrived_at", "consented_at", "assigned_at", "ended_at", "seen_at"),
)
_FEWEST_VALUES = 5
"""One value throughout fewer answers is no sign of anything."""
_LONG_FORM = 10
"""Scales on one page from which one value throughout counts by itself."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page that a person has answered, by the attempt that counts."""

    number: int
    kind: StepKind
    trial: str
    values: Mapping[str, Any]
    seconds: float | None
    """From showing to saving; None if the page did not say when it was shown."""
    away: float
    attempts: int
    right: bool | None
    """Of a quiz, an attention check or a gold item: whether it was answered as it should be."""
    uneven: bool = False
    """Whether its points do not come out even when they are dealt out: then one value throughout cannot be."""


@dataclass(frozen=True, slots=True)
class Given:
    """One answer as it was stored; a wrong try of the quiz is one too."""

    page: int
    kind: str
    trial: Trial
    attempt: int
    values: Mapping[str, Any]
    seconds: float | None
    away: float
    at: float


@dataclass(frozen=True, slots=True)
class Participant:
    person: str
    state: str
    arm: str | None
    batch: int | None
    language: str
    consent_version: str | None
    page: int
    """How far they came, from 0."""
    steps: tuple[Step, ...]
    arrived_at: float
    consented_at: float | None
    assigned_at: float | None
    ended_at: float | None
    seen_at: float
    given: tuple[Given, ...]
    pages: tuple[Page, ...]
    straight_lining: bool
    too_fast: int
    timed: int
    scores: Mapping[str, float | None]
    """Of the study's instruments, by column name; None where it was not filled in."""
    device: str | None = None
    impossible: int = 0
    """Pages whose browser claimed a time that cannot be, by the server's clock."""
    turns: tuple[Scored, ...] = ()
    """Of talks, both seats', in their order; the first turn of a talk is also in `given`."""

    @property
    def counted(self) -> tuple[Given, ...]:
        """The answers that count: the last attempt of each page."""
        return tuple({one.page: one for one in self.given}.values())

    @property
    def complete(self) -> bool:
        return self.state in ("finished", "extra")

    @property
    def could_straight_line(self) -> bool:
        """Whether anything that they answered could have shown it."""
        return any(True for _ in _rows_of_scales(self.pages))

    @property
    def duration(self) -> float | None:
        """Seconds from consent to the end of those who came to it; None where a clock that was set back between them
        tells none."""
        if self.consented_at is None or self.ended_at is None or not self.complete:
            return None
        took = self.ended_at - self.consented_at
        return took if took >= 0 else None

    def checks(self, passed: bool) -> int:
        return sum(page.kind == "attention" and page.right is passed for page in self.pages)

    def gold(self, passed: bool) -> int:
        return sum(page.kind == "gold" and page.right is passed for page in self.pages)

    @property
    def apart(self) -> float | None:
        """How far apart the answers that count to repeated pages are, as a share of their scales; None without such a
        page."""
        first = {one.trial.id: one.values for one in self.counted if one.kind == "trial"}
        found = []
        for one in self.counted:
            before = first.get(str(one.trial.key.get("repeats", "")))
            if one.kind == "repeat" and before is not None:
                spans = ((scale.key, scale.high - scale.low) for scale in one.trial.form.scales)
                found += [abs(one.values[key] - before[key]) / span for key, span in spans]
        return sum(found) / len(found) if found else None

    @property
    def quiz_attempts(self) -> int:
        return sum(page.attempts for page in self.pages if page.kind == "quiz")


@dataclass(frozen=True, slots=True)
class Participants:
    people: tuple[Participant, ...]
    """In the order of arrival."""
    events: tuple[Event, ...]

    @property
    def erased(self) -> int:
        return sum(event.kind == "erased" for event in self.events)

    def erased_by(self, by: str) -> int:
        """Of those whom 0.1 has erased nobody knows by whom: they count as their own wish."""
        return sum(event.kind == "erased" and event.detail.get("by", "person") == by for event in self.events)

    @property
    def simulated(self) -> int:
        return sum(is_simulated(person.person) for person in self.people)


def read_participants(participation: Participation) -> Participants:
    return participants_of(participation.design, read_records(participation.store, participation.design))


def participants_of(design: Design, records: Records) -> Participants:
    """From rows as a store, or an export, has them."""
    away = {
        (event.person, event.detail.get("page"), event.detail.get("attempt")): float(event.detail.get("away", 0.0))
        for event in records.events
        if event.kind == "saved"
    }
    odd = Counter(event.person for event in records.events if event.detail.get("impossible"))
    people = tuple(
        _participant(design, row, records.answers.get(row.person, ()), away, odd[row.person], records.trials)
        for row in records.people
    )
    return Participants(people, records.events)


def _participant(
    design: Design,
    row: Any,
    said: Sequence[Any],
    away: Mapping[tuple[Any, Any, Any], float],
    odd: int,
    trials: Mapping[str, Trial],
) -> Participant:
    steps = steps_from_json(row.steps)
    where = {step.trial: number for number, step in enumerate(steps) if step.trial}
    given = []
    for answer in said:
        if answer.trial_id in trials:
            continue
        page = where.get(answer.trial_id)
        if page is None:
            raise StoreError(
                f"Somebody's answer to {answer.trial_id} belongs to none of their pages.",
                "Another program has changed the store: go back to a copy.",
            )
        trial, values = design.trials[answer.trial_id], json.loads(answer.values)
        out_of_sight = away.get((row.person, page, answer.attempt), 0.0)
        kind = steps[page].kind
        given.append(Given(page, kind, trial, answer.attempt, values, answer.latency, out_of_sight, answer.at))
    given.sort(key=lambda one: (one.page, one.attempt))
    odd += _impossible_sum(given, row)
    return _participant_of(design, row, steps, given, odd, turns_of(design, trials, said))


def _participant_of(
    design: Design, row: Any, steps: tuple[Step, ...], given: Sequence[Given], odd: int, turns: Sequence[Scored]
) -> Participant:
    """A row of `participants` with what was answered and what the checks say of it."""
    pages = _pages(given, steps)
    return Participant(
        **{name: getattr(row, name) for name in _OF_ROW},
        page=row.step,
        steps=steps,
        given=tuple(given),
        pages=pages,
        straight_lining=straight_lining(pages),
        too_fast=too_fast(pages, design.study.checks.least_seconds),
        timed=timed(pages),
        scores=_scores(design, pages),
        impossible=odd,
        turns=tuple(turns),
    )


def turns_of(design: Design, trials: Mapping[str, Trial], said: Sequence[Any]) -> tuple[Scored, ...]:
    """A person's talks turn by turn, from rows as a store or an export has them."""
    every = {talk: design.trials[talk] for talk in design.talks} | dict(trials)
    answers: dict[str, list[Answer]] = {}
    for row in said:
        if row.trial_id in every:
            answers.setdefault(row.trial_id, []).append(turn_answer(row))
    order = {talk: number for number, talk in enumerate(design.talks)}
    found = [Scored(every[one], 0, tuple(sorted(tries, key=lambda a: a.attempt))) for one, tries in answers.items()]
    return tuple(sorted(found, key=lambda one: (order.get(one.trial.talk or one.trial.id, 0), one.trial.turn)))


def turn_answer(row: Any) -> Answer:
    return Answer(
        row.run_id, row.trial_id, row.subject, 0, row.attempt, row.text, row.status, json.loads(row.values),
        note=row.note, model=row.model, latency=row.latency, finish=row.finish, at=row.at,
    )  # fmt: skip


def _impossible_sum(given: Sequence[Given], row: Any) -> int:
    """1 if the pages took longer together than the person was there: pages cannot overlap. A simulated person's can,
    and where the clock was set back meanwhile nobody knows for how long somebody was there."""
    if row.consented_at is None or is_simulated(row.person):
        return 0
    moments = [row.consented_at, *(one.at for one in given), row.seen_at]
    if any(later < earlier for earlier, later in pairwise(moments)):
        return 0
    return int(sum(one.seconds or 0.0 for one in given) > row.seen_at - row.consented_at + 1.0)


def participant(
    design: Design,
    *,
    person: str,
    state: str,
    held: tuple[str, int] | None,
    page: int,
    steps: tuple[Step, ...],
    times: tuple[float, float | None, float | None, float],
    given: Sequence[Given],
    turns: Sequence[Scored] = (),
) -> Participant:
    """Somebody who is in no store, with what the checks say of them. `times` are arrival, consent, assignment, end."""
    arm, batch = held if held else (None, None)
    arrived, consented, assigned, ended = times
    row = SimpleNamespace(
        person=person,
        state=state,
        arm=arm,
        batch=batch,
        language=design.study.language,
        consent_version=design.study.consent.version if consented else None,
        step=page,
        arrived_at=arrived,
        consented_at=consented,
        assigned_at=assigned,
        ended_at=ended if state not in ("arrived", "taking") else None,
        seen_at=ended,
        device=None,
    )
    return _participant_of(design, row, steps, given, 0, turns)


def _pages(given: Sequence[Given], steps: Sequence[Step]) -> tuple[Page, ...]:
    """The last attempt of each page is the one that counts. Its time is the first one's: an answer that was changed
    afterwards had been thought about before."""
    last: dict[int, Given] = {}
    tries: dict[int, int] = {}
    first: dict[int, Given] = {}
    for one in given:
        last[one.page] = one
        first.setdefault(one.page, one)
        tries[one.page] = tries.get(one.page, 0) + 1
    return tuple(
        Page(
            number,
            steps[number].kind,
            one.trial.id,
            one.values,
            one.seconds if one.seconds is not None else first[number].seconds,
            one.away,
            tries[number],
            is_right(one.trial, one.values) if {"right", "accept"} & set(one.trial.key) else None,
            uneven=bool((one.trial.form.total or 0) % max(1, len(one.trial.form.scales))),
        )
        for number, one in last.items()
    )


def instrument_of(trial: Trial) -> Instrument | None:
    """The published questionnaire that a trial puts, if it puts one."""
    for name in (trial.key.get("instrument"), *trial.items):
        if name in INSTRUMENTS:
            return INSTRUMENTS[name]
    return None


def score_columns(design: Design) -> dict[str, tuple[Trial, Instrument, str]]:
    """Column name → (trial, instrument, name of the score) of every score the study's instruments define."""
    found: dict[str, tuple[Trial, Instrument, str]] = {}
    for trial in design.instruments:
        instrument = instrument_of(trial)
        if instrument is not None:
            found |= {f"{instrument.key} {part.name}": (trial, instrument, part.name) for part in instrument.scores}
    return found


def _scores(design: Design, pages: Sequence[Page]) -> dict[str, float | None]:
    answered = {page.trial: page.values for page in pages if page.kind == "instrument"}
    found: dict[str, float | None] = {}
    for name, (trial, instrument, part) in score_columns(design).items():
        values = answered.get(trial.id)
        found[name] = None if values is None else score(instrument, instrument.in_order(values))[part]
    return found


def scored_of(run: str, people: Sequence[Participant], benchmark: str) -> list[Scored]:
    """What these people answered of a benchmark, as scoring gets it. Pages they never answered are not among it: who
    left is counted elsewhere."""
    return [
        *(scored for person in people for scored in person.turns if scored.trial.benchmark == benchmark),
        *(
            Scored(one.trial, 0, (_answer(run, person.person, one),))
            for person in people
            for one in person.counted
            if one.kind == "trial" and one.trial.benchmark == benchmark
        ),
    ]


def _answer(run: str, person: str, one: Given) -> Answer:
    text = json.dumps(dict(one.values), ensure_ascii=False, sort_keys=True)
    return Answer(
        run, one.trial.id, f"{PERSON}{person}", 0, one.attempt, text, "ok", one.values, latency=one.seconds, at=one.at
    )


FEEDBACK = ("{score}", "{above}", "{people}")
"""What the text of the last page may say of a person's own answers."""


def with_feedback(text: str, participation: Participation, person: str) -> str:
    """The text with the person's own score and the share of people above whom it stands, in the study's own words; a
    dash stands for what is not known."""
    if not any(name in text for name in FEEDBACK):
        return text
    from eqlab.runs.score import score as scored_result

    design, kind = participation.design, kind_of(participation.study)
    config = next(
        benchmark_config for benchmark_config in design.run.benchmarks if benchmark_config.name == kind.form().benchmark
    )
    given = {row.trial_id: row for row in answers_of(participation.store, design.run.id, person)}
    scored = [
        Scored(trial, 0, (Answer(design.run.id, key, f"{PERSON}{person}", 0, 1, "", "ok", json.loads(row.values)),))
        for key, row in given.items()
        if (trial := design.trials.get(key)) is not None and trial.benchmark == config.name
    ]
    result = scored_result(f"{PERSON}{person}", config, scored) if scored else None
    place = result.percentile if result and result.percentile and result.percentile.value is not None else None
    told = (
        value_of(result.headline) if result else "–",
        _above(place) if place else "–",
        f"{place.n:,}" if place else "–",
    )
    for name, words in zip(FEEDBACK, told, strict=True):
        text = text.replace(name, words)
    return text


def _above(place: Estimate) -> str:
    """Without a word: it stands in a text of any language. Of too few stories for an interval it may be anywhere."""
    beyond = {"at least": "≥ ", "at most": "≤ "}
    if sign := next((sign for words, sign in beyond.items() if place.note.startswith(words)), ""):
        return f"{sign}{value_of(place)}"
    low, high = (0.0, 100.0) if place.low is None or place.high is None else (place.low, place.high)
    return f"{value_of(place)} ({low:.0f}–{high:.0f})"


# -- how carefully a person took part; what follows from it is the analysis plan's affair, never the server's ----------


def straight_lining(pages: Sequence[Page]) -> bool:
    """One value on all trial pages together (five values or more), or throughout one page of ten or more scales. Pages
    with one scale each say nothing: who sees ten good replies calls ten replies good."""
    return any(len(set(values)) == 1 for values in _rows_of_scales(pages))


def _rows_of_scales(pages: Sequence[Page]) -> Iterator[Sequence[Any]]:
    """The answers of which one value throughout would be a sign of carelessness."""
    pages = [page for page in pages if not page.uneven]
    trials = [page for page in pages if page.kind == "trial"]
    together = [value for page in trials for value in page.values.values() if value is not None]
    if len(together) >= _FEWEST_VALUES and any(len(page.values) > 1 for page in trials):
        yield together
    for page in pages:
        if page.kind in ("trial", "instrument") and len(page.values) >= _LONG_FORM:
            yield tuple(page.values.values())


def too_fast(pages: Sequence[Page], least_seconds: float) -> int:
    """Trial and instrument pages answered in less than `least_seconds`."""
    return sum(
        page.kind in ("trial", "instrument") and page.seconds is not None and page.seconds < least_seconds
        for page in pages
    )


def timed(pages: Sequence[Page]) -> int:
    """Trial and instrument pages whose time is known."""
    return sum(page.kind in ("trial", "instrument") and page.seconds is not None for page in pages)
