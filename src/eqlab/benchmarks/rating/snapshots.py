"""Who really judged, for a panel: the model ids in the replies of every judge, and judges that turn out to be one."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from eqlab.benchmarks.rating.rated import RatedReply
from eqlab.core import answered_as
from eqlab.core.results import Table


def snapshots(ratings: Sequence[RatedReply]) -> Counter[str]:
    """Ratings by the model id of the reply; replies without one are not counted."""
    return Counter(answered_as.names_of(one.answer for one in ratings if one.answer is not None))


def snapshots_table(given: Mapping[str, Sequence[RatedReply]]) -> Table:
    rows = [(judge, answered_as.in_words(snapshots(ratings)) or "not reported") for judge, ratings in given.items()]
    return Table("Who answered", ("judge asked", "answered as"), tuple(rows), "As the server says.")


def replaced(given: Mapping[str, Sequence[RatedReply]]) -> Iterator[str]:
    """What speaks for a silent replacement: several ids for one judge, another's name, or one id for several."""
    owners: dict[str, list[str]] = {}
    for judge, ratings in given.items():
        seen = snapshots(ratings)
        for model in seen:
            owners.setdefault(model, []).append(judge)
        yield from answered_as.replaced(judge, seen)
    for model, judges in owners.items():
        if len(judges) > 1:
            yield f"{' and '.join(judges)} all answered as {model}: they may be one judge, counted several times."
