"""A study's own row: written once when it begins, with its trials and places; open, paused or closed from then on. A
study that has begun keeps its pages."""

import time
from typing import Any, Literal

from sqlalchemy import bindparam, insert, select, update

from eqlab.core.design import Design
from eqlab.core.errors import StoreError
from eqlab.store.engine import Within, take_turn, writing
from eqlab.store.schema import studies
from eqlab.store.store import Store, write_trials
from eqlab.store.study import places
from eqlab.store.study.participation import Participation
from eqlab.store.study.researchers import note

Status = Literal["open", "paused", "closed"]
"""Paused: nobody new comes in for now. Who is inside goes on to the end, whatever the status."""
_DESIGN = select(studies.c.design_sha256).where(studies.c.id == bindparam("study"))


def create_study(store: Store, design: Design, file: str, version: str, provenance: Any) -> None:
    """Write down the study and its places. Harmless when repeated; refused once its pages have changed."""
    begun = begun_with(store, design.study.id)
    if begun is None:
        store.begin_run(design.run, (), provenance)
        with writing(store.engine) as connection:
            take_turn(connection, "plan")
            begun = connection.execute(_DESIGN, {"study": design.study.id}).scalar()
            if begun is None:
                write_trials(Within(connection), design.trials.values())
                row = {
                    "id": design.study.id,
                    "run_id": design.run.id,
                    "created_at": time.time(),
                    "design_sha256": design.sha256,
                    "version": version,
                    "file": file,
                }
                connection.execute(insert(studies), row)
                places.create(connection, design)
                begun = design.sha256
    _check_pages(design, begun)


def begun_with(store: Store, study: str) -> str | None:
    """The hash of the pages that a study has begun with in this store; None if it has not."""
    with store.engine.connect() as connection:
        return connection.execute(_DESIGN, {"study": study}).scalar()


def begun_at(store: Store, study: str) -> float | None:
    with store.engine.connect() as connection:
        return connection.execute(select(studies.c.created_at).where(studies.c.id == study)).scalar()


def check_begun(store: Store, design: Design) -> None:
    """Raise unless the study has begun in this store, with the pages that its file has now."""
    begun = begun_with(store, design.study.id)
    if begun is None:
        raise StoreError(
            f"Study '{design.study.id}' has not begun in {store.shown}.",
            "Start it with 'eqlab study serve', or name its store with --store.",
        )
    _check_pages(design, begun)


def _check_pages(design: Design, begun: str) -> None:
    if begun != design.sha256:
        raise StoreError(
            f"Study '{design.study.id}' has begun with other pages than its file has now.",
            "Restore the file, and the replies, items or words that it names, or give the changed study a new id.",
        )


def stored_file(store: Store, study: str) -> str:
    """The text of the study file that the study began with."""
    with store.engine.connect() as connection:
        return str(connection.execute(select(studies.c.file).where(studies.c.id == study)).scalar_one())


def read_status(participation: Participation) -> Status:
    query = select(studies.c.status).where(studies.c.id == participation.study.id)
    with participation.store.engine.connect() as connection:
        status: Status | None = connection.execute(query).scalar()
    return status or "open"


def set_status(participation: Participation, status: Status, who: str) -> None:
    """Pause, resume or close. A closed study stays closed."""
    study = participation.study.id
    with writing(participation.store.engine) as connection:
        before = connection.execute(select(studies.c.status).where(studies.c.id == study)).scalar()
        if before == "closed" and status != "closed":
            raise StoreError(f"Study '{study}' is closed for good.", "To go on, give the study a new id.")
        stored = None if status == "open" else status
        connection.execute(update(studies).where(studies.c.id == study).values(status=stored))
        note(connection, participation.clock(), who, {"open": "resumed"}.get(status, status), study)
