"""What a store holds, scored and at hand: a thread reads what is new, newest run first, and every page is made of the
last snapshot. Results are kept without texts, so that memory does not grow with what models say; a page reads the few
texts it shows. Those of finished runs outlive the process (`store.kept_scores`)."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import field, replace

from eqlab.core.errors import EqlabError, StoreError
from eqlab.core.results import Result
from eqlab.core.runs import PEOPLE, BenchmarkConfig, ModelConfig
from eqlab.core.values import dataclass
from eqlab.publish.groups import Group, RunRecord, group_of, tables_of
from eqlab.publish.ladder import ladder
from eqlab.runs.context import Known
from eqlab.runs.pool import pooled, together
from eqlab.runs.score import Job, key_of, result_of
from eqlab.store.access import open_reader
from eqlab.store.kept_scores import KeptScores, without_texts
from eqlab.store.reader import Reader, StoredRun

LOOK = 1.0
"""Seconds between two looks at the store while somebody watches."""
IDLE = 30.0
"""Seconds after the last request from which on nobody watches."""
_OFTEN = 2.0
"""Seconds after which tables are made of what is scored so far."""


@dataclass(frozen=True, slots=True)
class HeldRun:
    """A run as it was when it was last looked at."""

    stored: StoredRun
    attempts: int
    """How many were stored then."""
    progress: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    results: tuple[Result, ...] = ()
    """Without texts, in the order of the run; those that are scored."""
    left: int = 0
    """Results that are not scored yet."""
    why: str = ""
    """Why it has none, or not all."""

    @property
    def id(self) -> str:
        return self.stored.id

    @property
    def answered(self) -> int:
        return sum(done for done, _ in self.progress.values())

    @property
    def planned(self) -> int:
        return sum(planned for _, planned in self.progress.values())

    @property
    def finished(self) -> bool:
        return self.answered >= self.planned


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a page needs to know of the store at one moment."""

    number: int = 0
    """0: the store was not read yet."""
    runs: tuple[HeldRun, ...] = ()
    """Newest first."""
    groups: tuple[Group, ...] = ()
    """Tables of results that may be compared, each with its verdict."""
    waiting: int = 0
    """Results that are not scored yet."""
    ladders: tuple[Group | None, ...] = ()
    """Each table again among published models, where they answered the same questions."""

    def run(self, name: str) -> HeldRun | None:
        """By its id, the one id that begins so, or `last`."""
        found = self.runs[:1] if name == "last" else [one for one in self.runs if one.id.startswith(name)]
        return found[0] if name and len(found) == 1 else None


class Shelf:
    """Reads a store again and again, in a thread of its own."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.snapshot = Snapshot()
        self._seen = time.monotonic()
        self._over = threading.Event()
        self._wake = threading.Event()
        self._listed = threading.Event()
        self._settled = threading.Event()
        self._thread = threading.Thread(target=self._work, name="eqlab-shelf", daemon=True)
        self._tables: dict[object, Group] = {}
        self._ladders: dict[object, Group | None] = {}
        self._pooled: dict[tuple[object, ...], Result] = {}
        self._scored: dict[tuple[str, str, str, str], _Scored] = {}
        self._looked: set[str] = set()
        self._shut: dict[str, str] = {}
        self._seeds: dict[tuple[str, str, str], Sequence[str]] = {}
        self._moved: dict[str, float] = {}
        self._kept: KeptScores | None = None

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(30)

    def look(self) -> Snapshot:
        """The last snapshot; the first is waited for."""
        self._seen = time.monotonic()
        self._wake.set()
        self._listed.wait(30)
        return self.snapshot

    def watched(self) -> int:
        """The number of the last snapshot, for somebody who waits for the next; waits for nothing itself."""
        self._seen = time.monotonic()
        self._wake.set()
        return self.snapshot.number

    def settle(self, seconds: float) -> Snapshot:
        """The same once everything known is scored, or after so many seconds."""
        self._settled.wait(seconds)
        return self.look()

    def results_of(
        self, store: Reader, runs: Sequence[StoredRun], wanted: Callable[[str, str, str], bool] = lambda *_: True
    ) -> list[tuple[StoredRun, list[Result]]]:
        """Results for a comparison: from the shelf where they are there, else scored now. `wanted(run, subject,
        benchmark)` chooses."""
        about = Known(store)
        found = []
        for stored in runs:
            jobs = [(stored, *pair) for pair in stored.config.pairs() if wanted(stored.id, pair[0], pair[1].name)]
            found.append((stored, [self._at_hand(job) or without_texts(result_of(about, job)) for job in jobs]))
        return found

    def seeds(self, run: str, subject: str, benchmark: str) -> Sequence[str]:
        """The runs that a table takes together under the first of them."""
        return self._seeds.get((run, subject, benchmark), (run,))

    def pick(self, run: str, subject: str, benchmark: str) -> str:
        """What names a result in an address: `RUN:SUBJECT`, several runs with commas between them."""
        return f"{','.join(self.seeds(run, subject, benchmark))}:{subject}"

    def expect(self, run: str) -> None:
        """A run was just started, and is looked for at once: until it has a plan, its page waits for it."""
        self._moved[run] = time.time()
        self._wake.set()

    def moved(self, run: str) -> float:
        """When the number of a run's answers last changed while this process looked; its beginning before that."""
        return self._moved.get(run, 0.0)

    def _at_hand(self, job: Job) -> Result | None:
        scored = self._scored.get(key_of(job))
        return scored.result if scored else None

    # -- in the thread -------------------------------------------------------------------------------------------

    def _work(self) -> None:
        with closing(KeptScores(self.where)) as self._kept:
            self._look_again()

    def _look_again(self) -> None:
        while not self._over.is_set():
            self._wake.clear()
            try:
                with open_reader(self.where) as store:
                    self.read(store)
            except EqlabError:  # locked, or gone for a moment: what was read stands, and is looked for again
                pass
            finally:
                self._listed.set()
            self._wait()

    def _wait(self) -> None:
        self._over.wait(LOOK)
        while time.monotonic() - self._seen > IDLE and not self._over.is_set():
            self._wake.wait(LOOK * 10)

    def read(self, store: Reader) -> None:
        """One look at the store: list what is there, then score what is new, newest run first."""
        attempts = store.attempts()
        total = sum(attempts.values())
        before = {run.id: run for run in self.snapshot.runs}
        ids = store.run_ids()
        listed = [one for run in ids if (one := _listed(store, run, attempts.get(run, 0), before.get(run)))]
        self._moved |= {
            run.id: time.time() if run.id in before else run.stored.created_at
            for run in listed
            if run is not before.get(run.id)
        }
        studies = [run.id for run in listed if not run.stored.config.models]
        shut = {run: words for run in studies if (words := store.shut(run))}
        left_out = {run: store.not_counted(run) for run in studies}
        jobs = [
            (run.stored, *pair)
            for run in listed
            for pair in run.stored.config.pairs()
            if not (pair[0] == PEOPLE and run.id in shut)
        ]

        def stamp(job: Job) -> tuple[object, ...]:
            own = attempts.get(job[0].id, 0), left_out.get(job[0].id)
            return (*own, total, *left_out.values()) if job[2].name in self._looked else own

        new = [job for job in jobs if (old := self._scored.get(key_of(job))) is None or old.stamp != stamp(job)]
        if self.snapshot.number and not new and listed == list(before.values()) and shut == self._shut:
            self._settled.set()
            return
        self._settled.clear()
        held = self._held(listed, shut)
        # tables stay until new ones are made; not where people of a study that was locked since stand in them
        groups = self.snapshot.groups if shut == self._shut else self._groups(store, held)
        self._shut = shut
        self._publish(held, groups, len(new))
        known = Known(store, looked=self._looked, kept=self._kept, total=str(sorted(attempts.items())))
        finished = {run.id: f"{run.attempts} {run.planned}" for run in listed if run.finished}
        pause, last = _OFTEN, time.monotonic()
        for number, job in enumerate(new, start=1):
            if self._over.is_set():
                return
            result, why = _result(known, job, finished.get(job[0].id, ""))  # which may have looked at other runs
            self._scored[key_of(job)] = _Scored(stamp(job), result, why)
            if time.monotonic() - last > pause and number < len(new):
                begun = time.monotonic()
                held = self._held(listed, shut)
                self._publish(held, self._groups(store, held), len(new) - number)
                last = time.monotonic()
                pause = max(_OFTEN, 10 * (last - begun))
        held = self._held(listed, shut)
        groups = self._groups(store, held)
        self._publish(held, groups, 0)
        if self._climb():
            self._publish(held, groups, 0)
        self._settled.set()

    def _held(self, listed: Sequence[HeldRun], shut: Mapping[str, str]) -> list[HeldRun]:
        """The runs with what is scored of them so far."""
        found = []
        for run in listed:
            scored = [self._scored.get(key_of((run.stored, *pair))) for pair in run.stored.config.pairs()]
            known = [own.result for own in scored if own and own.result]
            results = tuple(result for result in known if not (result.subject == PEOPLE and run.id in shut))
            why = next((own.why for own in scored if own and own.why), "")
            if run.id in shut:
                why = f"It is {shut[run.id]}: what people answered is not shown here."
            left = 0 if run.id in shut else sum(own is None for own in scored)
            found.append(replace(run, results=results, left=left, why=why))
        return found

    def _publish(self, runs: Sequence[HeldRun], groups: tuple[Group, ...], waiting: int) -> None:
        ladders = tuple(self._ladders.get(key) for key in self._tables)
        self.snapshot = Snapshot(self.snapshot.number + 1, tuple(runs), groups, waiting, ladders)
        self._listed.set()

    def _groups(self, store: Reader, held: Sequence[HeldRun]) -> tuple[Group, ...]:
        """One table after the other; those whose results are as they were are not ranked again."""
        scored = [(run.stored, list(run.results)) for run in held]
        found = pooled(store, scored, self._together({run.id: run.attempts for run in held}))
        records = [RunRecord(run.config, run.created_at, run.provenance, tuple(own)) for run, own in found]
        tables: dict[object, Group] = {}
        for members in tables_of(records):
            key = tuple(_told(record, result) for record, result in members)
            tables[key] = self._tables.get(key) or group_of(members)
        self._tables = tables
        self._ladders = {key: among for key, among in self._ladders.items() if key in tables}
        return tuple(tables.values())

    def _climb(self) -> bool:
        """Places tables among published models, after they are shown: those are scored for it. Whether any was new."""
        new = {key: ladder(group) for key, group in self._tables.items() if key not in self._ladders}
        self._ladders |= new
        return any(new.values())

    def _together(self, attempts: Mapping[str, int]) -> Callable[..., Result]:
        """Seeds of one model taken together, scored once as long as no answer comes."""

        def score(
            store: Reader, runs: Sequence[str], subject: str, config: BenchmarkConfig, model: ModelConfig
        ) -> Result:
            key = (*((run, attempts[run]) for run in runs), subject, config.name)
            self._seeds[runs[0], subject, config.name] = tuple(runs)
            if key not in self._pooled:
                self._pooled[key] = without_texts(together(store, runs, subject, config, model))
            return self._pooled[key]

        return score


@dataclass(frozen=True, slots=True)
class _Scored:
    stamp: tuple[object, ...]
    """What it was scored from: the run's attempts and people who do not count, and the store's where other runs do."""
    result: Result | None
    why: str


def _listed(store: Reader, run: str, attempts: int, before: HeldRun | None) -> HeldRun | None:
    """None where a newer version wrote it."""
    if before is not None and before.attempts == attempts:
        return before
    try:
        return HeldRun(store.read_run(run), attempts, store.progress(run))
    except StoreError:
        return None


def _result(known: Known, job: Job, revision: str) -> tuple[Result | None, str]:
    """A result without its texts, or why there is none: a benchmark of a package that is gone, files that changed."""
    try:
        result = result_of(known, job, revision)
        return (result if revision else without_texts(result)), ""
    except (EqlabError, LookupError) as error:
        return None, str(error)


def _told(record: RunRecord, result: Result) -> tuple[object, ...]:
    """What a table's row depends on: a table whose rows are told alike is the same table."""
    counts = tuple(sorted(result.counts.items()))
    return record.config.id, result.subject, result.benchmark, result.headline, counts, result.caveats
