"""Who really judged: the model id that the server named in its replies, beside the one that was asked for. A judge that
is replaced in silence, during a run or before it, is noticed here."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from eqlab.benchmarks.rating.rated import Rated
from eqlab.core.results import Table


def snapshots(ratings: Sequence[Rated]) -> Counter[str]:
    """Ratings by the model id of the reply; replies without one are not counted."""
    return Counter(one.answer.model for one in ratings if one.answer is not None and one.answer.model)


def snapshots_table(given: Mapping[str, Sequence[Rated]]) -> Table:
    rows = []
    for judge, ratings in given.items():
        seen = snapshots(ratings)
        said = ", ".join(f"{model} ({count})" for model, count in seen.most_common()) or "not reported"
        rows.append((judge, said))
    return Table("Who answered", ("judge asked", "answered as (ratings)"), tuple(rows), "By the server's own word.")


def replaced(given: Mapping[str, Sequence[Rated]]) -> Iterator[str]:
    """What speaks for a silent replacement: several ids for one judge, one id for several, or another's name."""
    owners: dict[str, list[str]] = {}
    for judge, ratings in given.items():
        seen = snapshots(ratings)
        for model in seen:
            owners.setdefault(model, []).append(judge)
        if len(seen) > 1:
            yield f"The judge {judge} was replaced during the run: it answered as {', '.join(sorted(seen))}."
        for model in sorted(seen):
            if not akin(judge, model):
                yield f"The judge {judge} was asked, but {model} answered: is that the same model?"
    for model, judges in owners.items():
        if len(judges) > 1:
            yield f"{' and '.join(judges)} all answered as {model}: they may be one judge, counted several times."


def akin(asked: str, answered: str) -> bool:
    """Whether one name contains the other, host and version aside: gpt-4o and gpt-4o-2024-08-06 are, o3 is not."""
    one, other = (_plain(name) for name in (asked, answered))
    return not one or not other or one in other or other in one


def _plain(name: str) -> str:
    last = name.split("@", 1)[0].rsplit("/", 1)[-1]
    return re.sub(r"[^a-z0-9]+", "", last.lower())
