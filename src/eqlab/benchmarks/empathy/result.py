"""What can be said of a subject's replies before anybody has rated them: length and manners, and no score."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eqlab.analysis.intervals import clustered_share, mean_estimate
from eqlab.benchmarks.empathy.replies import MOST_WORDS, describe, reply_text
from eqlab.core.answers import STATUSES, Answer, Status, final
from eqlab.core.benchmark import Scored
from eqlab.core.results import Estimate, ItemScore, Result, Table
from eqlab.core.trials import Trial

UNRATED = "replies are scored by raters: a judge ('eqlab judge MODEL --on RUN') or people ('eqlab ratings')"


@dataclass(frozen=True, slots=True)
class GivenReply:
    """One planned trial with the reply that counts."""

    trial: Trial
    repeat: int
    n_attempts: int
    answer: Answer | None
    text: str
    facts: Mapping[str, Any]
    """Empty without a reply."""

    @property
    def status(self) -> Status | None:
        """A refusal is a reply that can be rated, so it is stored as one; it is counted as what it is."""
        if self.answer is None:
            return None
        return "refused" if self.facts.get("refusal") else self.answer.status


def given_replies(scored: Iterable[Scored]) -> list[GivenReply]:
    return [_given(one) for one in scored]


def _given(one: Scored) -> GivenReply:
    answer = final(one.attempts)
    text = reply_text(answer)
    return GivenReply(one.trial, one.repeat, len(one.attempts), answer, text, describe(text) if text else {})


def result(subject: str, scored: Iterable[Scored], options: Mapping[str, Any]) -> Result:
    given = given_replies(scored)
    replied = [one for one in given if one.text]
    counts = Counter(one.status or "unanswered" for one in given)
    words = mean_estimate("words per reply", [one.facts["words"] for one in replied], digits=1)
    return Result(
        noun="prompts",
        benchmark="empathy",
        title="Empathy",
        subject=subject,
        rules={**options, "mode": given[0].trial.mode if given else "text"},
        sentence=_sentence(subject, replied, words),
        headline=Estimate("P(Good)", None, 0, unit="%", note=UNRATED, digits=1),
        score_range=(0.0, 100.0),
        estimates=_estimates(replied, words),
        counts={
            "planned": len(given),
            **{status: counts.get(status, 0) for status in STATUSES},
            "unanswered": counts.get("unanswered", 0),
        },
        items=tuple(_item(one) for one in given),
        item_range=(1.0, 3.0),
        caveats=_caveats(given, replied),
        tables=_tables(replied) if len(replied) > 1 else (),
    )


def _estimates(replied: Sequence[GivenReply], words: Estimate) -> tuple[Estimate, ...]:
    prompts = [one.trial.items for one in replied]
    return (
        words,
        mean_estimate("tokens per reply", [one.facts["tokens"] for one in replied], digits=1),
        clustered_share("refusals", _those(replied, "refusal"), prompts),
        clustered_share("greet like an assistant", _those(replied, "greeting"), prompts),
        clustered_share("say they are an AI", _those(replied, "ai"), prompts),
        clustered_share(f"longer than {MOST_WORDS} words", [r.facts["words"] > MOST_WORDS for r in replied], prompts),
    )


def _those(replied: Sequence[GivenReply], fact: str) -> list[bool]:
    return [bool(one.facts[fact]) for one in replied]


def _count(replied: Sequence[GivenReply], fact: str) -> int:
    return sum(bool(one.facts[fact]) for one in replied)


def _tables(replied: Sequence[GivenReply]) -> tuple[Table, ...]:
    note = "Words as blanks separate them. Nothing here is a score."
    return (
        Table("Replies by valence", _columns("valence"), _rows(replied, "valence"), note),
        Table("Replies by emotion", _columns("emotion"), _rows(replied, "emotion"), note),
    )


def _columns(by: str) -> tuple[str, ...]:
    return (by, "replies", "words per reply", "refusals", "assistant greetings", "say they are an AI")


def _rows(replied: Sequence[GivenReply], by: str) -> tuple[tuple[str | int | Estimate, ...], ...]:
    groups: dict[str, list[GivenReply]] = {}
    for one in replied:
        groups.setdefault(one.trial.key[by], []).append(one)
    return tuple(
        (
            name,
            len(group),
            mean_estimate("words", [one.facts["words"] for one in group], digits=1),
            *(_count(group, fact) for fact in ("refusal", "greeting", "ai")),
        )
        for name, group in sorted(groups.items())
    )


def reply_shown(scored: Scored) -> ItemScore:
    return _item(_given(scored))


def _item(one: GivenReply) -> ItemScore:
    said = {"refusal": "declines", "greeting": "greets like an assistant", "ai": "says it is an AI"}
    return ItemScore(
        item=one.trial.items[0],
        trial=one.trial.id,
        repeat=one.repeat,
        status=one.status,
        score=None,
        title=f"{one.trial.key['emotion']}: {one.trial.key['utterance']}",
        text=one.text or (one.answer.text if one.answer else ""),
        values={name: value for name, value in one.facts.items() if name in ("words", "tokens")}
        | {label: "yes" for fact, label in said.items() if one.facts.get(fact)},
        attempts=one.n_attempts,
        topics=(str(one.trial.key["emotion"]), str(one.trial.key["valence"])),
        shown=one.trial.stimulus,
    )


def _sentence(subject: str, replied: Sequence[GivenReply], words: Estimate) -> str:
    who = subject.removeprefix("model:")
    if words.value is None:
        return f"{who} gave no reply, so there is nothing to rate."
    refused = _count(replied, "refusal")
    prompts = len({one.trial.items[0] for one in replied})
    tail = f", {refused} of them refusals" if refused else ""
    return (
        f"{who} replied to {prompts} prompts with {words.value:.1f} words on average{tail}. Their score "
        "comes from raters, judges or people."
    )


def _caveats(given: Sequence[GivenReply], replied: Sequence[GivenReply]) -> tuple[str, ...]:
    said = ["Length and manners say nothing about empathy: only raters can. 'eqlab judge MODEL --on RUN' asks a judge."]
    cut = sum(one.answer is not None and one.answer.finish == "length" for one in given)
    if cut:
        said.append(f"{cut} replies were cut off by the token limit; raise it with --set max_tokens=N.")
    lost = sum(one.answer is not None and not one.text for one in given)
    if lost:
        said.append(f"{lost} of {len(given)} prompts got no usable reply and cannot be rated.")
    waiting = sum(one.answer is None for one in given)
    if waiting:
        said.append(f"{waiting} prompts are not answered yet.")
    return tuple(said)
