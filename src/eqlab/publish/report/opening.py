"""The report's first screen: for every table its conclusion and its forest plot; for a first run with the embedded
model, which carries no signal, a real comparison before it. What holds for every result is said once."""

from collections.abc import Iterator, Sequence

from eqlab.comparison.contender import subject_name
from eqlab.core.plural import many
from eqlab.core.results import Estimate
from eqlab.core.text import is_number
from eqlab.core.values import dataclass
from eqlab.publish.groups import Group, Row, RunRecord, group
from eqlab.publish.ladder import LANDSCAPE, ladder, ladder_sentence
from eqlab.tables.forest import Forest, ForestLine, widest

EMBEDDED = ("model:embedded", "judge:embedded")
OWN = "eqlab run PROVIDER/MODEL"


@dataclass(frozen=True)
class Opening:
    """One table on the first screen."""

    title: str
    sentence: str
    forests: tuple[Forest, ...]
    among: str = ""
    """Where the user's own stand among published models, if these are in the picture."""


def openings(groups: Sequence[Group]) -> list[Opening]:
    return [opening(one, groups) for one in groups]


def opening(one: Group, groups: Sequence[Group]) -> Opening:
    """With published models in the picture, where they answered the same questions."""
    return opening_among(one, ladder(one), groups)


def opening_among(one: Group, among: Group | None, groups: Sequence[Group] = (), *, linked: bool = True) -> Opening:
    """`linked`: names in the picture lead to their section of the page."""
    sentence = _rated_in(one, groups) or one.sentence
    drawn = tuple(forests(among or one, linked=linked))
    return Opening(one.title, sentence, drawn, ladder_sentence(one, among) if among else "")


def _rated_in(one: Group, groups: Sequence[Group]) -> str:
    """Where on this page the replies of a table are rated that has no score of its own; empty: nowhere."""
    names = {row.name for row in one.rows}
    if any(is_number(row.result.headline.value) for row in one.rows):
        return ""
    titles = dict.fromkeys(
        other.title for other in groups for row in other.rows if names <= {name for name, _ in _shares(row)}
    )
    return f"These replies have been rated: see {' and '.join(titles)}." if titles else ""


def _shares(row: Row) -> tuple[tuple[str, Estimate], ...]:
    return row.result.others.shares if row.result.others else ()


def forests(one: Group, *, own: str = "", linked: bool = True) -> Iterator[Forest]:
    """One for a table of scores; one a rater where those whose replies were rated are compared."""
    if any(row.result.ranked for row in one.rows):
        lines = tuple(
            ForestLine(
                row.name,
                row.result.headline,
                row.rank,
                row.result.valid,
                row.people,
                row.anchor if linked else "",
                row.beside,
            )
            for row in one.rows
        )
        known = widest([row.baselines for row in one.rows])
        named = next((row.result.headline.name for row in one.rows if is_number(row.result.headline.value)), "")
        whole = " (people: everybody who answered)" if any(row.people for row in one.rows) else ""
        forest = Forest(f"{one.title}{whole}", named, lines, one.scale, known, own)
        if forest.drawn:
            yield forest
        return
    rows = {subject_name(row.result.subject).removeprefix("judge:"): row for row in one.rows}
    for rater, verdict in one.verdicts:
        row = rows.get(rater)
        others = row.result.others if row else None
        if row is None or others is None:
            continue
        lines = tuple(
            ForestLine(
                subject_name(standing.contender.name),
                standing.contender.score,
                standing.rank,
                row.result.valid,
                standing.contender.name == others.written_by_people,
            )
            for standing in verdict.standings
        )
        who = "people" if row.people else f"the judge {rater}"
        forest = Forest(f"{others.title}, rated by {who}", others.detail, lines, others.score_range)
        if forest.drawn:
            yield forest


def landscape() -> Opening:
    """Published models on EQ-Bench, from the figures that ship with the package, and a line for the reader's own."""
    from eqlab.runs.published_results import published_runs

    found = published_runs([f"published:{name}" for name in LANDSCAPE], None)
    (one,) = group([RunRecord(run.config, run.created_at, run.provenance, tuple(own)) for run, own in found])
    return Opening(f"{one.title}: {many(len(one.rows), 'published model')}", one.sentence, tuple(forests(one, own=OWN)))


def embedded_only(records: Sequence[RunRecord]) -> bool:
    """Whether nobody but the embedded model was asked: its answers prove that all works, and tell nothing else."""
    asked = {model.subject for record in records for model in record.config.models}
    return bool(asked) and asked <= set(EMBEDDED)


def said_once(records: Sequence[RunRecord]) -> tuple[str, ...]:
    """Caveats of every result of a page."""
    own = [result.caveats for record in records for result in record.results]
    if not own:
        return ()
    return tuple(caveat for caveat in own[0] if all(caveat in other for other in own))
