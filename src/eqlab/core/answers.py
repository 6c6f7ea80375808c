"""An answer: what came back for one attempt at one trial. Every attempt is kept; nothing is overwritten. And who really
answered: a model that is another than the one asked for, or is replaced in silence during a run, is noticed here."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from operator import attrgetter
from typing import Any, Literal

import msgspec

from eqlab.core.runs import PEOPLE, PERSON
from eqlab.core.values import dataclass

Status = Literal["ok", "unparseable", "refused", "error"]
PROVIDER_REFUSED = ("content_filter", "refusal")
"""The finish of an answer that a provider, and not the model's text, refused: it stands, and is not asked again."""
LENGTH = "length"
"""The finish of a reply that was cut by its room."""
STATUSES: tuple[Status, ...] = ("ok", "unparseable", "refused", "error")
FAILED_READINGS: tuple[Status, ...] = ("unparseable", "refused")
"""Of an attempt that was answered and cannot be scored: it counts against the tries of its trial."""
UNANSWERED = "unanswered"
"""What a planned trial without an answer is counted as."""
OUTCOMES = (*STATUSES, UNANSWERED)
"""Everything that can become of a planned trial, in the order of every table."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a benchmark read in a reply."""

    status: Status
    values: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    """Why it could not be read, for people."""


class Answer(msgspec.Struct, frozen=True, gc=False):
    run: str
    trial: str
    subject: str
    repeat: int
    attempt: int
    text: str
    status: Status
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    note: str = ""
    reasoning: str = ""
    """A thinking model's hidden text: kept, never parsed."""
    model: str = ""
    """The model id that the server said answered."""
    temperature: float | None = None
    """As it was sent; None where none was."""
    latency: float | None = None
    """Seconds from sending the request that succeeded to its last byte."""
    transport_retries: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish: str = ""
    at: float = 0.0
    """Unix time of arrival."""
    sent: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What the request really said: dialect, room, seed, effort …; what is absent was not sent. Empty before 0.2."""
    usage: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What else came back: reasoning_tokens, cached_tokens, cost in US dollars where the provider says it."""

    @property
    def answered(self) -> bool:
        """Whether the subject said something, readable or not."""
        return self.status != "error"

    @property
    def whole(self) -> bool:
        """Whether its words may be read: what was cut by its room, or taken by a provider's filter, may say something
        else than was meant (a last "10" cut to "1"), unless it was found complete all the same."""
        return self.status == "ok" or self.finish not in (LENGTH, *PROVIDER_REFUSED)

    @property
    def batch(self) -> bool:
        """Whether it came with many others, hours later and cheaper."""
        return "batch" in self.sent


_CUT_TWICE = 2


def stands(outcomes: Iterable[tuple[str | None, str | None]]) -> bool:
    """Whether attempts, each as (status, finish), settle their trial whatever tries are left: a good answer does, and
    what a provider refused, and a reply that was cut once more though it had been given more room."""
    cut = 0
    for status, finish in outcomes:
        if status == "ok" or (status == "refused" and finish in PROVIDER_REFUSED):
            return True
        cut += status == "unparseable" and finish == LENGTH
    return cut >= _CUT_TWICE


def outcomes(attempts: Iterable[Answer]) -> Iterator[tuple[str, str]]:
    return ((answer.status, answer.finish) for answer in attempts)


def standing(attempts: Iterable[Answer]) -> list[Answer]:
    """In their order. People may change an answer, and what they took back stays in the store: of a person's good
    attempts the last one alone."""
    ordered = sorted(attempts, key=attrgetter("attempt"))
    if len(ordered) > 1 and ordered[0].subject.startswith(PERSON):
        return [answer for answer in ordered if answer.status == "ok"][-1:] or ordered
    return ordered


def final(attempts: Iterable[Answer]) -> Answer | None:
    """The attempt that counts: of those that stand the first good one, else the last that was answered, else the
    last."""
    answers = tuple(attempts)
    if len(answers) == 1:  # as most are
        return answers[0]
    ordered = standing(answers)
    for answer in ordered:
        if answer.status == "ok":
            return answer
    answered = [answer for answer in ordered if answer.answered] or ordered
    return answered[-1] if answered else None


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
    if spec == PEOPLE or spec.startswith(PERSON):  # models have a part in their talks
        return
    if len({name.lower() for name in seen}) > 1:
        yield f"{spec} was replaced during the run: it answered as {in_words(seen)}."
    for name in sorted(seen):
        if not akin(spec, name):
            yield f"{spec} was asked, but {model_name(name)} answered ({_replies(seen[name])}): is that the same model?"


def in_words(seen: Mapping[str, int]) -> str:
    """The most frequent first: 'gpt-4o-2024-08-06 (12 replies)'; empty where no reply named a model."""
    return ", ".join(f"{model_name(name)} ({_replies(count)})" for name, count in Counter(seen).most_common())


def model_name(said: str) -> str:
    """What a server calls its model, without the folders where that is a file: /srv/models/m.gguf is m.gguf."""
    return said.rstrip("/").rpartition("/")[2] if said.startswith("/") else said


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
