"""The memorisation probe: show models the first half of each item, and see whether they know the second. Nothing is
stored: it is a question about the items, not a measurement of the model."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from eqlab.analysis import memorisation
from eqlab.analysis.memorisation import halves, probed, words
from eqlab.benchmarks.common.selection import spread
from eqlab.benchmarks.registry import load, names
from eqlab.core.benchmark import Probed, check_item_set
from eqlab.core.errors import UsageError
from eqlab.core.results import Table
from eqlab.core.runs import ModelConfig
from eqlab.core.values import dataclass
from eqlab.data.items import read_sources
from eqlab.models.chat import Chat, TransportError, prompted, split_reasoning
from eqlab.models.open import open_chats
from eqlab.models.timeouts import Timeouts

PROMPT = """\
Below is the first half of a text. Go on with it exactly as the original does, word for word, as far as you remember it.
Write the second half and nothing else.

{first}"""
_SHOWN = 10
DEFAULT_TIMEOUTS = Timeouts()


@dataclass(frozen=True, slots=True)
class Probe:
    """One model on one benchmark's items."""

    model: str
    benchmark: str
    item_set: str
    found: memorisation.Memorised
    lost: int
    """Requests without a reply."""


def texts(benchmark: str, item_set: str, data: Path | None) -> dict[str, str]:
    """The texts of a benchmark's items by id."""
    asked = load(benchmark)
    if not isinstance(asked, Probed):
        raise UsageError(f"There is no probe for '{benchmark}'.", f"There is one for: {', '.join(probed_names())}.")
    check_item_set(asked, item_set)
    options = asked.options(item_set, asked.probe_options())
    return dict(asked.texts(read_sources(asked.sources(item_set, options), data), options))


def probed_names() -> list[str]:
    return [name for name in names() if isinstance(load(name), Probed)]


def probe(
    model: ModelConfig,
    items: Mapping[str, str],
    *,
    concurrency: int = 16,
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[memorisation.Memorised, int]:
    """What one model knows of the texts, and how many requests were lost."""
    parts = {name: halves(text) for name, text in items.items()}
    replies = asyncio.run(
        _ask_all(model, {name: first for name, (first, _) in parts.items()}, concurrency, timeouts, say)
    )
    return probed(replies, parts), len(parts) - len(replies)


async def _ask_all(
    model: ModelConfig, firsts: Mapping[str, str], concurrency: int, timeouts: Timeouts, say: Callable[[str], None]
) -> dict[str, str]:
    chat = open_chats([model], concurrency=concurrency, timeouts=timeouts, say=say)[model.subject]
    waiting = iter(firsts.items())
    replies: dict[str, str] = {}

    async def work() -> None:
        for name, first in waiting:
            reply = await _ask(chat, first, model)
            if reply is not None:
                replies[name] = reply

    try:
        await asyncio.gather(*(work() for _ in range(chat.concurrency)))
    finally:
        await chat.close()
    return replies


async def _ask(chat: Chat, first: str, model: ModelConfig) -> str | None:
    """Temperature 0, and room for a half as long as the first; None where the request was lost."""
    max_tokens = 64 + 2 * len(words(first))
    request = prompted(PROMPT.format(first=first), temperature=0.0, max_tokens=max_tokens, settings=model.settings)
    try:
        reply = await chat.ask(request)
    except TransportError:
        return None
    return split_reasoning(reply.text)[0]


def chosen(items: Mapping[str, str], limit: int | None) -> dict[str, str]:
    names = list(items)
    return {name: items[name] for name in spread(names, limit or len(names))}


def sentence(one: Probe) -> str:
    share = one.found.share
    if share.value is None:
        return f"{one.model}: too few texts of {one.benchmark} ({share.n}) to say anything."
    known = len(one.found.known)
    said = (
        f"{one.model} goes on with {known} of {share.n} {one.item_set} texts of {one.benchmark} word for word further"
    )
    said += " than with other texts, or with these in another order of words"
    if one.found.p is not None and one.found.p < 0.01:
        return f"{said}: more than chance explains. Its score on them may be memory; compare it with the open items."
    return f"{said}: no more than chance explains. That is no proof that it never saw them."


def table(probes: Sequence[Probe]) -> Table:
    return Table(
        "Memorisation probe",
        (
            "model",
            "items",
            "texts above the null",
            "by chance, %",
            "p",
            "threshold, % of a half",
            "lost",
            "most overlap",
        ),
        tuple(
            (
                one.model,
                f"{one.benchmark} ({one.item_set})",
                one.found.share,
                1.0,
                one.found.p,
                100 * one.found.threshold,
                one.lost,
                ", ".join(f"{name} {100 * one.found.overlaps[name]:.0f} %" for name in one.found.known[:_SHOWN]),
            )
            for one in probes
        ),
        "Overlap: the longest run of words shared with the true second half, in % of that half; a run ends between two "
        "words that the first half has, too. Null: the same replies beside the other texts' halves, and beside their "
        "own in another order of words; threshold: the larger 99th percentile.",
    )
