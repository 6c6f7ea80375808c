"""Who really answered: the model ids that a server named in its replies, beside the one that was asked for. A model
that is another, or is replaced in silence during a run, is noticed here and nowhere else."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from eqlab.core.answers import Answer

_UNTOLD = ("embedded", "gguf:", "azure/")
"""Specs that do not name a model in its maker's words: our own files, and deployments, named by anybody."""
_STAMP = re.compile(
    r"[-_:@.]("
    r"latest|preview|exp|experimental"
    r"|(?:19|20)\d\d-\d\d-\d\d|\d\d-(?:19|20)\d\d|\d\d-\d\d"  # 2024-08-06, 08-2024, 05-20
    r"|\d{8}|\d{6}|\d{3,4}"  # 20240806, 240806, 0613, 001
    r"|v\d+(?:[.:]\d+)*"  # v1:0
    r")$"
)
_WORDS = frozenset({"latest", "preview", "exp", "experimental"})
"""Stamps that name no version."""


def names_of(attempts: Iterable[Answer]) -> Iterator[str]:
    """The model ids of replies; lost requests and replies without one are passed over."""
    return (answer.model for answer in attempts if answer.model and answer.answered)


def replaced(asked: str, seen: Mapping[str, int]) -> Iterator[str]:
    """In words, whatever speaks for another model than the one asked for, or for several. A dated name of the same
    model (gpt-4o, gpt-4o-2024-08-06) is no alarm. `asked` is a spec, or a subject."""
    spec = spec_of(asked)
    if len({name.lower() for name in seen}) > 1:
        yield f"{spec} was replaced during the run: it answered as {in_words(seen)}."
    for name in sorted(seen):
        if not akin(spec, name):
            yield f"{spec} was asked, but {name} answered ({_replies(seen[name])}): is that the same model?"


def in_words(seen: Mapping[str, int]) -> str:
    """The most frequent first: 'gpt-4o-2024-08-06 (12 replies)'; empty where no reply named a model."""
    return ", ".join(f"{name} ({_replies(count)})" for name, count in Counter(seen).most_common())


def _replies(count: int) -> str:
    return f"{count} {'reply' if count == 1 else 'replies'}"


def spec_of(subject: str) -> str:
    """What was asked for: a subject without its role."""
    return re.sub(r"^(model|judge|seat):", "", subject)


def akin(asked: str, answered: str) -> bool:
    """Whether two names may be the same model's, host and dates aside: gpt-4o and gpt-4o-2024-08-06 may; gpt-4o and
    gpt-4o-mini may not, nor may gpt-4-0314 and gpt-4-0613."""
    if not asked or not answered or asked.startswith(_UNTOLD):
        return True
    (one, stamped), (other, dated) = _parts(asked), _parts(answered)
    return one == other and (stamped <= dated or dated <= stamped)


def _parts(name: str) -> tuple[str, frozenset[str]]:
    """The model's own name in letters and digits, and the dates and versions behind it."""
    rest = re.sub(r"@(?!\d{6,8}$).*", "", name)  # a host
    rest = rest.rstrip("/").rsplit("/", 1)[-1].lower().removesuffix(".gguf")
    rest = re.sub(r"^(?:[a-z]+\.)+(?=[a-z])", "", rest)  # us.anthropic.claude…
    stamps = set()
    while found := _STAMP.search(rest):
        stamps.add(re.sub(r"\W", "", found[1]))
        rest = rest[: found.start()]
    return re.sub(r"[^a-z0-9]+", "", rest), frozenset(stamps - _WORDS)
