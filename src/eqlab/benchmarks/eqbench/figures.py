"""Between a reply and its figures: what is kept of a published reply, and the scores that the figures give under any
rules, the same as the reply itself."""

from collections.abc import Sequence
from typing import Any

from eqlab.benchmarks.common.reading import is_refusal
from eqlab.benchmarks.eqbench.parse import Scores, above_zero, read_pass, split_passes
from eqlab.benchmarks.eqbench.rules import PRESETS, EqBenchRules
from eqlab.core.answers import Answer, Status
from eqlab.core.trials import Trial
from eqlab.data.figures import FigureReply, Four

FIGURES = "published figures"
"""Instead of a run, in an answer that is figures without the words they were read in."""


def figures_of(text: str, names: Sequence[str]) -> FigureReply:
    """English only. What the published code rejects for pairs besides the four, and reads otherwise the same."""
    loose, strict = PRESETS["leaderboard"], PRESETS["published-code"]
    passes = split_passes(text, loose, "en")
    first, revised = (read_pass(one, names, loose, "en") for one in passes)
    more = [read_pass(one, names, strict, "en") is None for one in passes]
    unread = not above_zero(first) and not above_zero(revised)
    return FigureReply(
        _numbers(first, names),
        _numbers(revised, names),
        len(text.split()),
        first is not None and more[0],
        revised is not None and more[1],
        unread and is_refusal(text),
    )


def _numbers(read: dict[str, int] | None, names: Sequence[str]) -> Four | None:
    return None if read is None else tuple(read[name] for name in names)


def figure_answer(reply: FigureReply, trial: Trial, subject: str, repeat: int, at: float) -> Answer:
    names = trial.form.keys
    passes = {"first_pass": reply.first, "revised": reply.revised}
    values: dict[str, Any] = {
        name: dict(zip(names, read, strict=True)) for name, read in passes.items() if read is not None
    }
    values["more"] = {"first_pass": reply.first_more, "revised": reply.revised_more}
    values["words"] = reply.words
    status: Status = "refused" if reply.refused else "unparseable"  # until scoring finds that it can be read
    return Answer(FIGURES, trial.id, subject, repeat, 1, "", status, values, at=at)


def read_figures(answer: Answer, rules: EqBenchRules) -> Scores:
    first, revised = (_counts(answer, name, rules) for name in ("first_pass", "revised"))
    if rules.zero_gate and not above_zero(first) and not above_zero(revised):
        return Scores(None, None)
    return Scores(first, revised, plain=not any(answer.values["more"].values()))


def _counts(answer: Answer, name: str, rules: EqBenchRules) -> dict[str, int] | None:
    if rules.parser == "strict" and answer.values["more"][name]:
        return None
    found: dict[str, int] | None = answer.values.get(name)
    return found
