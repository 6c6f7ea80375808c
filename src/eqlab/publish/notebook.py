"""What the verbs of Python return, as a notebook shows it: outcomes, results and comparisons print their verdict and
can be drawn. The same sentences stand under a run in the terminal."""

from collections.abc import Iterable, Sequence
from dataclasses import field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import escape

from eqlab.comparison import frames
from eqlab.comparison.compare import Comparison
from eqlab.comparison.frames import Comparisons
from eqlab.comparison.sentences import conclusion
from eqlab.core.results import Result, Results
from eqlab.core.text import is_number
from eqlab.core.values import dataclass
from eqlab.publish.ladder import Conclusion, conclusions
from eqlab.publish.plot import Picture, forest_picture, size_named
from eqlab.publish.plot import plot as plot_runs
from eqlab.runs import ask, score
from eqlab.runs.ask import Outcome
from eqlab.store.access import open_reader
from eqlab.store.reader import Reader, StoredRun
from eqlab.tables.forest import Forest, ForestLine, widest

if TYPE_CHECKING:
    from eqlab.runs.context import Known
    from eqlab.runs.request import Prepared, Request
    from eqlab.store.store import Store


class RunResults(Results):
    """The results of a run."""

    def __init__(self, stored: StoredRun, found: Iterable[Result]) -> None:
        super().__init__(found)
        self.stored = stored

    def __str__(self) -> str:
        return "\n".join(_titled(conclusions([(self.stored, self)])))

    def plot(self, kind: str = "forest", *, size: str = "", alone: bool = False) -> Picture:
        """A picture, as `eqlab plot` makes it: published models beside those who answered their questions."""
        return plot_runs(kind=kind, size=size, alone=alone, beside=[(self.stored, self)])


def results(store: Reader, stored: StoredRun | str, known: "Known | None" = None) -> RunResults:
    """Every subject's result on every benchmark of a run, which may be named by its id or `last`."""
    named = store.find_run(stored) if isinstance(stored, str) else stored
    return RunResults(named, score.results(store, named, known))


@dataclass(frozen=True, slots=True, repr=False)
class Finished(Outcome):
    """What `eqlab.run` returns; printed, it says what came of it."""

    where: str = field(default="", compare=False)
    """The store's address."""

    @property
    def results(self) -> RunResults:
        with open_reader(self.where) as opened:
            return results(opened, self.run)

    def plot(self, kind: str = "forest", *, size: str = "", alone: bool = False) -> Picture:
        return self.results.plot(kind, size=size, alone=alone)

    def __repr__(self) -> str:
        return f"<Outcome of run {self.run}: {' '.join(self._said())}>"

    def __str__(self) -> str:
        return "\n".join([f"Run {self.run}", *self._said()])

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in self._said()) + self.results._repr_html_()

    def _said(self) -> list[str]:
        stopped = [f"{subject} stopped: {why}" for subject, why in self.failures.items()]
        stopped += [f"{subject}: {why}" for subject, why in self.lost.items()]
        stopped += ["Stopped early; what was answered is stored."] if self.interrupted else []
        stopped += [f"Stopped before a limit ({self.limit})."] if self.limit else []
        run_results = self.results
        return [*stopped, *_titled(conclusions([(run_results.stored, run_results)]))]


def run(prepared: "Prepared | Request", store: "Store", **options: Any) -> Finished:
    """As `eqlab.runs.ask.run`, which says what the options are."""
    done = ask.run(prepared, store, **options)
    return Finished(**{one.name: getattr(done, one.name) for one in fields(Outcome)}, where=store.where)


def _titled(found: Sequence[Conclusion]) -> list[str]:
    """Several are told apart by their titles."""
    return [f"{one.data['title']}: {one.sentence}" if len(found) > 1 else one.sentence for one in found]


class Compared(Comparison):
    """A comparison that can be drawn."""

    __slots__ = ()

    def __str__(self) -> str:
        return conclusion(self.verdict, self.things, self.rater)

    def plot(self, *, size: str = "") -> Picture:
        return forest_picture([comparison_forest(self)], size_named(size))


def comparison_forest(one: Comparison) -> Forest:
    """Everybody of a comparison on one axis, in the order of the verdict."""
    lines = tuple(
        ForestLine(
            standing.contender.name,
            standing.contender.score,
            standing.rank,
            standing.contender.ranked,
            standing.contender.people,
        )
        for standing in one.verdict.standings
    )
    first = one.entries[0].result
    scale = first.others.score_range if one.rater and first.others else first.score_range
    floors = (
        [] if one.rater else [[(base.name, base.value) for base in entry.result.baselines] for entry in one.entries]
    )
    named = next((entry.score.name for entry in one.entries if is_number(entry.score.value)), "")
    return Forest(f"{one.title}, rated by {one.rater}" if one.rater else one.title, named, lines, scale, widest(floors))


class ComparedRuns(Comparisons):
    """One comparison a benchmark."""

    def __str__(self) -> str:
        return "\n".join(f"{one.title}: {one}" if len(self) > 1 else str(one) for one in self)

    def plot(self, *, size: str = "") -> Picture:
        return forest_picture([comparison_forest(comparison) for comparison in self], size_named(size))


def compare_runs(
    *names: "str | Outcome | StoredRun",
    store: "Store | str" = "",
    data: Path | None = None,
    joint: bool = False,
    uncalibrated: bool = False,
) -> ComparedRuns:
    """What `eqlab compare` says of runs (ids, `last`, what `eqlab.run` or `find_run` returned), `published:MODEL` and
    result files. `uncalibrated`: also what a judge says that nobody has held against people."""
    comparisons = frames.compare_runs(*names, store=store, data=data, joint=joint, uncalibrated=uncalibrated)
    return ComparedRuns(
        Compared(**{part.name: getattr(comparison, part.name) for part in fields(Comparison)})
        for comparison in comparisons
    )
