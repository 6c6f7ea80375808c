"""A subject's reply as it came: its words, and what it does besides answering."""

from typing import Any

from eqlab.benchmarks.empathy.manners import manners
from eqlab.benchmarks.empathy.tokens import count
from eqlab.benchmarks.structured import read_json
from eqlab.core.answers import Answer, Reading
from eqlab.core.trials import Trial


def read_reply(trial: Trial, text: str) -> Reading:
    """Every reply with words in it is used as it is, a refusal too: the study rated those as well. Only an empty one,
    or JSON that is none, is asked for again."""
    if trial.mode == "json":
        reading = read_json(text, trial.form)
        if reading.status != "ok":
            return Reading("unparseable", note=reading.note)
        text = reading.values["reply"]
    if not text.strip():
        return Reading("unparseable", note="the reply is empty")
    return Reading("ok", describe(text))


def describe(reply: str) -> dict[str, Any]:
    """Length and manners: what is recorded of a reply."""
    found = manners(reply)
    return {
        "words": found.words,
        "tokens": count(reply),
        "refusal": found.refusal,
        "greeting": found.greeting,
        "ai": found.says_it_is_ai,
    }


def reply_text(trial: Trial, answer: Answer | None) -> str:
    """The words of a reply that was read; empty if there is none."""
    if answer is None or answer.status != "ok":
        return ""
    if trial.mode == "json":
        return str(read_json(answer.text, trial.form).values.get("reply", "")).strip()
    return answer.text.strip()
