"""Which attempt at a question counts, and the scores in it: a model's words are read, a person's choices stand, and so
do the figures of published replies."""

from dataclasses import dataclass

from eqlab.benchmarks.common.reading import read_json
from eqlab.benchmarks.eqbench.figures import FIGURES, read_figures
from eqlab.benchmarks.eqbench.parse import Scores, is_complete, read_scores
from eqlab.benchmarks.eqbench.rules import EqBenchRules
from eqlab.core.answers import Answer, Status, final
from eqlab.core.benchmark import Scored
from eqlab.core.runs import PERSON
from eqlab.core.trials import Trial


def read_reply(trial: Trial, text: str, rules: EqBenchRules) -> Scores:
    """The scores in a reply, in either answer mode."""
    if trial.mode == "json":
        reading = read_json(text, trial.form)
        values = reading.values if reading.status == "ok" else None
        gated = values if values is None or not rules.zero_gate or sum(values.values()) > 0 else None
        return Scores(gated)
    revision = trial.condition == "revision"
    return read_scores(text, trial.form.keys, rules, trial.key["language"], revision)


def read_answer(trial: Trial, answer: Answer, rules: EqBenchRules) -> Scores:
    """A model's words are read under the rules; what a person chose on the form stands, but for four zeros."""
    if answer.run == FIGURES:
        return read_figures(answer, rules)
    if not answer.subject.startswith(PERSON):
        return read_reply(trial, answer.text, rules)
    values = answer.values if answer.status == "ok" else {}
    chosen = {name: int(values[name]) for name in trial.form.keys if name in values}
    complete = len(chosen) == len(trial.form.keys) and (not rules.zero_gate or sum(chosen.values()) > 0)
    return Scores(chosen if complete else None)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A planned question with the attempt that counts."""

    scored: Scored
    answer: Answer | None
    """The attempt that counts under these rules."""
    scores: Scores
    status: Status | None


def choose(scored: Scored, rules: EqBenchRules) -> Chosen:
    """The first complete attempt; without one the last that can be used in part. Of what was cut off nothing counts."""
    asked_twice = scored.trial.condition == "revision" and scored.trial.mode == "text"
    partial: tuple[Answer, Scores] | None = None
    for attempt in sorted(scored.attempts, key=lambda answer: answer.attempt):
        if not (attempt.answered and attempt.whole):
            continue
        scores = read_answer(scored.trial, attempt, rules)
        revision = asked_twice and not attempt.subject.startswith(PERSON)
        if is_complete(scores, revision, rules):
            return Chosen(scored, attempt, scores, "ok")
        if scores.first is not None or scores.revised is not None:
            partial = attempt, scores
    if partial is not None:
        return Chosen(scored, partial[0], partial[1], "ok")
    last = final(scored.attempts)
    status: Status | None = None if last is None else "unparseable" if last.status == "ok" else last.status
    return Chosen(scored, last, Scores(None), status)


def choose_again(chosen: Chosen, rules: EqBenchRules) -> Chosen:
    """The same question under other rules; a single plain reply, as most are, need not be read anew."""
    if chosen.scores.plain and len(chosen.scored.attempts) == 1:
        return chosen
    return choose(chosen.scored, rules)
