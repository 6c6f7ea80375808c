"""The tables that leave a study: every column with its type and its meaning, so that the codebook cannot lag behind."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "integer", "number", "yes/no", "time"]
TableName = Literal["answers", "participants", "events", "questions"]


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind
    meaning: str


ANSWERS = (
    Column("person", "text", "pseudonym, drawn at random; no table that is exported links it to a panel's id"),
    Column("arm", "text", "arm the person was assigned to; empty before that"),
    Column("batch", "integer", "batch of trials within the arm"),
    Column("page", "integer", "number of the page on the person's way, from 0 (consent)"),
    Column("kind", "text", "question (the researcher's own), instrument, quiz, trial, attention, gold or repeat"),
    Column("trial", "text", "id of the question, a hash of its content: the same question has the same id everywhere"),
    Column("benchmark", "text", "what the trial belongs to"),
    Column("condition", "text", "what the benchmark varies, e.g. default or evoked"),
    Column("item", "text", "item or items that the trial shows"),
    Column("reply_of", "text", "rating: whose reply was rated; no rater saw it"),
    Column("scale", "text", "key of the scale, see the codebook's scales"),
    Column("value", "integer", "the answer on a scale as given, not reversed; empty for other fields"),
    Column("label", "text", "the anchor's words for this value, if there are any; of several answers all"),
    Column("number", "number", "a number that was asked for; empty: declined, left out, or no such field"),
    Column("text", "text", "a text that was asked for; empty: declined, left out, or no such field"),
    Column("reverse", "yes/no", "whether the scale is keyed the other way round"),
    Column("attempt", "integer", "1; 2 and more are further tries of the quiz, or answers that were changed"),
    Column("counts", "yes/no", "whether it is the last attempt, which is the one that counts"),
    Column("seconds", "number", "from showing the page to saving it, bounded by the server's own clock; empty for an "
           "answer that was changed"),
    Column("away", "number", "seconds of it in which the page was out of sight"),
    Column("at", "time", "when the answer was stored, UTC"),
    Column("simulated", "yes/no", "whether no person but a program answered (`eqlab study simulate`)"),
)  # fmt: skip
PARTICIPANTS = (
    Column("person", "text", "pseudonym, as in the answers"),
    Column("state", "text", "arrived, taking, finished, extra (finished after the place was given away), declined, "
           "failed (the quiz), full, stopped, returned (to the panel, or released) or banned"),
    Column("arm", "text", "arm the person was assigned to; empty before that"),
    Column("batch", "integer", "batch of trials within the arm"),
    Column("language", "text", "language of the pages"),
    Column("consent_version", "text", "version of the consent text that was agreed to"),
    Column("arrived_at", "time", "first request, UTC"),
    Column("consented_at", "time", "UTC"),
    Column("assigned_at", "time", "when a place was claimed, UTC"),
    Column("ended_at", "time", "end of taking part, of whatever kind, UTC"),
    Column("seen_at", "time", "last save, UTC"),
    Column("duration", "number", "seconds from consent to the end, of those who came to it"),
    Column("page", "integer", "page reached, from 0"),
    Column("pages", "integer", "pages on the person's way, as far as planned"),
    Column("trials_answered", "integer", "trial pages answered"),
    Column("attention_passed", "integer", "instructed checks answered as asked"),
    Column("attention_failed", "integer", "instructed checks answered otherwise"),
    Column("gold_passed", "integer", "gold items answered rightly"),
    Column("gold_failed", "integer", "gold items answered otherwise"),
    Column("repeat_apart", "number", "how far answers to repeated pages are apart, as a share of the scale"),
    Column("quiz_attempts", "integer", "tries of the comprehension check; 0 if it was not reached"),
    Column("straight_lining", "yes/no", "one value on all trial pages (five values or more), or throughout one page of "
           "ten or more scales"),
    Column("too_fast", "integer", "trial and instrument pages answered faster than the study's least_seconds"),
    Column("away", "number", "seconds in which pages were out of sight, in all"),
    Column("impossible", "integer", "pages whose browser claimed a time that the server's clock rules out"),
    Column("device", "text", "phone, tablet or computer, as the browser said"),
    Column("steps", "text", "the person's own way as JSON: kind and question of each page, in order"),
    Column("simulated", "yes/no", "whether it is no person but a program"),
)  # fmt: skip
EVENTS = (
    Column("number", "integer", "order of what happened, from 1"),
    Column("at", "time", "UTC"),
    Column("person", "text", "pseudonym; empty once the person is erased"),
    Column("kind", "text", "arrived, consented, assigned, saved, expired, admitted, corrected, "
           "released, banned, erased, or the state at the end"),
    Column("page", "integer", "page it happened on"),
    Column("attempt", "integer", "which try of the page"),
    Column("detail", "text", "the rest, as JSON"),
    Column("simulated", "yes/no", "whether it is no person but a program"),
)  # fmt: skip
QUESTIONS = (
    Column("trial", "text", "id of the question, as in the answers"),
    Column("benchmark", "text", "what the question belongs to"),
    Column("condition", "text", "what the benchmark varies"),
    Column("item", "text", "item or items that the question shows"),
    Column("stimulus", "text", "what people looked at, in full"),
    Column("scales", "text", "the scales as JSON: key, words, range, anchors, reversed"),
    Column("key", "text", "what no participant saw, as JSON: references, whose reply, right answers, subscales"),
)
