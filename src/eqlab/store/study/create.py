"""The beginning of a study: its row, trials and places, written once. A study that has begun keeps its pages."""

import time
from typing import Any

from sqlalchemy import insert, select

from eqlab.core.design import Design
from eqlab.core.errors import StoreError
from eqlab.store.engine import take_turn, writing
from eqlab.store.schema import studies
from eqlab.store.store import Store, write_trials
from eqlab.store.study import places


def create_study(store: Store, design: Design, file: str, version: str, provenance: Any) -> None:
    """Write down the study and its places. Harmless when repeated; refused once its pages have changed."""
    known = select(studies.c.design_sha256).where(studies.c.id == design.study.id)
    with store.engine.connect() as connection:
        begun = connection.execute(known).scalar()
    if begun is None:
        store.begin_run(design.run, (), provenance)
        with writing(store.engine) as connection:
            take_turn(connection, "plan")
            begun = connection.execute(known).scalar()
            if begun is None:
                write_trials(connection, design.trials.values())
                connection.execute(
                    insert(studies),
                    {
                        "id": design.study.id,
                        "run_id": design.run.id,
                        "created_at": time.time(),
                        "design_sha256": design.sha256,
                        "version": version,
                        "file": file,
                    },
                )
                places.create(connection, design)
                begun = design.sha256
    _check(design, begun)


def begun_with(store: Store, study: str) -> str | None:
    """The hash of the pages that a study has begun with in this store; None if it has not."""
    known = select(studies.c.design_sha256).where(studies.c.id == study)
    with store.engine.connect() as connection:
        return connection.execute(known).scalar()


def stored_file(store: Store, study: str) -> str:
    """The text of the study file that the study began with."""
    with store.engine.connect() as connection:
        return str(connection.execute(select(studies.c.file).where(studies.c.id == study)).scalar_one())


def check_begun(store: Store, design: Design) -> None:
    """Raise unless the study has begun in this store, with the pages that its file has now."""
    known = select(studies.c.design_sha256).where(studies.c.id == design.study.id)
    with store.engine.connect() as connection:
        begun = connection.execute(known).scalar()
    if begun is None:
        raise StoreError(
            f"Study '{design.study.id}' has not begun in {store.shown}.",
            "Start it with 'eqlab study serve', or name its store with --store.",
        )
    _check(design, begun)


def _check(design: Design, begun: str | None) -> None:
    if begun != design.sha256:
        raise StoreError(
            f"Study '{design.study.id}' has begun with other pages than its file has now.",
            "Restore the file, or give the changed study a new id.",
        )
