"""What people wrote in a reply study, as a table for a moderator: one row a reply, with marks of how much care went
into it and an empty column to decide in. Filled in, the table is a source of replies for raters and judges."""

from typing import TYPE_CHECKING, Any

from eqlab.benchmarks.empathy.replies import WrittenReply, moderation_marks
from eqlab.benchmarks.empathy.study import KEY
from eqlab.core.errors import UsageError
from eqlab.core.forms import Writing
from eqlab.store.study.participation import Participation
from eqlab.study.results.participants import read_participants
from eqlab.tables.data import safe_csv

if TYPE_CHECKING:
    import polars as pl

ARM = "people"
COLUMNS = ("use", "marks", "prompt", "utterance", "reply", "words", "seconds", "pasted", "person", "arm")


def replies_csv(participation: Participation) -> tuple[bytes, int, int]:
    """(the table as CSV, replies, marked ones). Cells that a spreadsheet would run are guarded, and read back so."""
    frame = reply_table(participation)
    marked = frame.filter(frame["marks"] != "").height
    return safe_csv(frame), frame.height, marked


def reply_table(participation: Participation) -> "pl.DataFrame":
    import polars as pl

    participants = read_participants(participation)
    pasted = {
        (event.person, event.detail.get("page"), event.detail.get("attempt")): int(event.detail.get("pasted", 0))
        for event in participants.events
        if event.kind == "saved"
    }
    rows: list[dict[str, Any]] = []
    written: list[WrittenReply] = []
    least = 0
    for person in participants.people:
        for one in person.given:
            if one.kind != "trial" or not isinstance(one.values.get(KEY), str):
                continue
            key, reply = one.trial.key, one.values[KEY]
            count = pasted.get((person.person, one.page, one.attempt), 0)
            least = max((f.least_words for f in one.trial.form.fields if isinstance(f, Writing)), default=least)
            said = f"{key['situation']} {key['utterance']}"
            written.append(WrittenReply(person.person, one.trial.items[0], said, reply, one.seconds, count))
            rows.append(
                {
                    "use": "",
                    "prompt": one.trial.items[0],
                    "utterance": key["utterance"],
                    "reply": reply,
                    "words": len(reply.split()),
                    "seconds": one.seconds,
                    "pasted": count,
                    "person": person.person,
                    "arm": ARM,
                }
            )
    if not rows:
        raise UsageError(f"Nobody has written a reply in study '{participation.study.id}' yet.", "Wait for people.")
    marks = [" ".join(own) for own in moderation_marks(written, least)]
    ordered = [{**row, "marks": own} for row, own in zip(rows, marks, strict=True)]
    kinds = {"words": pl.Int64, "pasted": pl.Int64, "seconds": pl.Float64}
    return pl.DataFrame(ordered, schema={name: kinds.get(name, pl.String) for name in COLUMNS}).sort("prompt", "person")
