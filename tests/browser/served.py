"""A study on a real server for browser tests: a questionnaire, a quiz, ratings, dialogues on 0 to 10, a check."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from small_study import small_design, take
from sqlalchemy import func, select
from web_case import PROLIFIC, SECRET, open_desks, with_language

from eqlab.core.design import Batch
from eqlab.core.forms import Form, Scale
from eqlab.core.trials import Trial
from eqlab.store.schema import answers, participants
from eqlab.store.study.records import erase_person
from eqlab.study.web.server import running
from eqlab.study.web.settings import ServerSettings

__all__ = ["PROLIFIC", "Served", "served", "take", "whole_design", "with_language"]
DEGREES = ((1, "barely or not at all"), (2, "slightly"), (3, "to a medium degree"), (4, "strongly"), (5, "fully"))
FEELINGS = (
    "calm", "tense", "glad", "sad", "proud", "ashamed", "awake", "tired",
    "bold", "afraid", "warm", "cold", "sure", "lost", "light", "heavy",
)  # fmt: skip


def whole_design(study_id="small", **more):
    """Every kind of page."""
    design = small_design(study_id, **{"panel": PROLIFIC, "attention": 1, **more})
    form = Form(tuple(Scale(word, word.capitalize(), 1, 5, DEGREES) for word in FEELINGS))
    asked = Trial("instrument", ("feelings",), "instrument", "How strongly do you feel each of these now?", form, "")
    ends = ((0, "not at all"), (10, "as strongly as anyone can"))
    strengths = Form(
        tuple(Scale(word, word.capitalize(), 0, 10, ends) for word in ("amused", "fond", "grieving", "shy"))
    )
    dialogue = "Urs: They've got the wrong photo.\nMeret: What do you mean, wrong?\n\nHow does Meret feel at the end?"
    batches = tuple(
        Batch(
            batch.arm,
            batch.number,
            (*batch.trials[:1], Trial("eqbench", (f"d{batch.number}",), batch.arm, dialogue, strengths, "")),
        )
        for batch in design.batches
    )
    return replace(design, instruments=(asked,), batches=batches)


@dataclass
class Served:
    url: str
    participation: Any

    def link(self, person: str = "p-1", study: str = "small") -> str:
        return f"{self.url}/s/{study}?PROLIFIC_PID={person}&STUDY_ID=s&SESSION_ID=t"

    def answered(self) -> int:
        with self.participation.store.engine.connect() as connection:
            return connection.execute(select(func.count()).select_from(answers)).scalar() or 0

    def erase_all(self) -> None:
        """As the researcher does, at somebody's wish."""
        with self.participation.store.engine.connect() as connection:
            people = connection.execute(select(participants.c.person)).scalars().all()
        for person in people:
            erase_person(self.participation, person)


@contextmanager
def served(folder: Path, *designs: Any, **settings: Any) -> Iterator[Served]:
    store, studies = open_desks(folder, designs or (whole_design(),))
    with running(studies, ServerSettings(**{"secret": SECRET, **settings})) as url:
        yield Served(url, studies[0].participation)
    store.close()
