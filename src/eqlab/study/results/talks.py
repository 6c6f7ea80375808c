"""Talks of people as tables: every turn with its words for the researcher; for a public release the numbers alone."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from eqlab.core.answers import final
from eqlab.core.moves import is_simulated
from eqlab.study.results.columns import Column
from eqlab.study.results.participants import Participant

TALKS = (
    Column("person", "text", "pseudonym, as in the answers"),
    Column("arm", "text", "arm the person was assigned to; the person was not told"),
    Column("talk", "text", "id of the talk's first turn: the same for all who began with the same page"),
    Column("item", "text", "persona that is talked about; own: something of the person's"),
    Column("turn", "integer", "from 0, both seats counted"),
    Column("seat", "text", "speaker or listener"),
    Column("by", "text", "person or model"),
    Column("text", "text", "what was said; empty where nothing was"),
    Column("emotion", "integer", "speaker: how they feel, 0 to 100; at turn 0 before any reply"),
    Column("feeling", "text", "speaker: why, in their own words; the other seat did not see it"),
    Column("leaves", "integer", "speaker: 0 stays, 1 leaves satisfied, 2 leaves hurt"),
    Column("status", "text", "ok; refused (by the provider, or closed by the person); unparseable"),
    Column("finish", "text", "left: the person closed the talk; down: no reply came; else the model's own word"),
    Column("attempts", "integer", "replies of the model until one could be read"),
    Column("seconds", "number", "model: from asking to the last byte"),
    Column("at", "time", "when the turn was stored, UTC"),
    Column("simulated", "yes/no", "whether no person but a program took part"),
)


def talk_rows(people: Sequence[Participant]) -> Iterator[dict[str, Any]]:
    """Turn by turn in the order of the talks."""
    for person in people:
        for one in person.turns:
            answer = final(one.attempts)
            if answer is None:
                continue
            speaker = bool(one.trial.seat)
            values: Mapping[str, Any] = answer.values if speaker and answer.status == "ok" else {}
            yield {
                "person": person.person,
                "arm": person.arm,
                "talk": one.trial.talk or one.trial.id,
                "item": " ".join(one.trial.items),
                "turn": one.trial.turn,
                "seat": "speaker" if speaker else "listener",
                "by": "model" if answer.model or answer.latency is not None else "person",
                "text": str(values.get("says") or "") if speaker else answer.text,
                "emotion": values.get("emotion"),
                "feeling": values.get("feeling"),
                "leaves": values.get("leaves"),
                "status": answer.status,
                "finish": answer.finish,
                "attempts": len(one.attempts),
                "seconds": answer.latency,
                "at": datetime.fromtimestamp(answer.at, UTC),
                "simulated": is_simulated(person.person),
            }


def public_talk_rows(people: Sequence[Participant], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Without a word of what was said: feelings, decisions, and lengths in steps of ten words."""
    rows = []
    for one in talk_rows(people):
        kept = {name: one[name] for name in ("arm", "item", "turn", "seat", "by", "emotion", "leaves", "status")}
        words = len(str(one["text"]).split())
        rows.append({"person": names[one["person"]], **kept, "words": 10 * round(words / 10)})
    return sorted(rows, key=lambda row: (row["person"], row["item"], row["turn"]))
