"""How far each subject of a run is, kept by the database itself: a list of runs does not count their answers.

Triggers change the counts in the transaction that changes the rows, whoever writes these; so they hold after a kill,
an erasure and in a copy. SQLite's see one row, PostgreSQL's all rows of a statement."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_COUNTED = """
    INSERT INTO progress (run_id, subject, planned, attempts, answered)
    SELECT run_id, subject, sum(planned), sum(attempts), sum(answered) FROM (
        SELECT run_id, subject, 1 AS planned, 0 AS attempts, 0 AS answered FROM planned
        UNION ALL SELECT run_id, subject, 0, count(*), max(CASE WHEN status <> 'error' THEN 1 ELSE 0 END)
        FROM answers GROUP BY run_id, subject, trial_id, repeat
    ) counted GROUP BY run_id, subject
"""
_ROOM = """
    ON CONFLICT (run_id, subject) DO UPDATE SET planned = progress.planned + excluded.planned,
    attempts = progress.attempts + excluded.attempts, answered = progress.answered + excluded.answered
"""
_SAME = "a.run_id = {0}.run_id AND a.subject = {0}.subject AND a.trial_id = {0}.trial_id AND a.repeat = {0}.repeat"
_NOBODY = "DELETE FROM progress WHERE planned <= 0 AND attempts <= 0"
"""Whoever is erased leaves no name here either."""

_ONLY = "({0}.status <> 'error' AND NOT EXISTS (SELECT 1 FROM answers a WHERE {1} AND a.status <> 'error'{2}))"
"""Whether an answer of SQLite was the only one of its trial."""
_OWN = "run_id = OLD.run_id AND subject = OLD.subject"
_SQLITE = {
    "planned_added AFTER INSERT ON planned": f"""
        INSERT INTO progress VALUES (NEW.run_id, NEW.subject, 1, 0, 0) {_ROOM};
    """,
    "planned_gone AFTER DELETE ON planned": f"""
        UPDATE progress SET planned = planned - 1 WHERE {_OWN};
        {_NOBODY} AND {_OWN};
    """,
    "answers_added AFTER INSERT ON answers": f"""
        INSERT INTO progress VALUES (NEW.run_id, NEW.subject, 0, 1,
            {_ONLY.format("NEW", _SAME.format("NEW"), " AND a.attempt <> NEW.attempt")}) {_ROOM};
    """,
    "answers_gone AFTER DELETE ON answers": f"""
        UPDATE progress SET attempts = attempts - 1,
            answered = answered - {_ONLY.format("OLD", _SAME.format("OLD"), "")} WHERE {_OWN};
        {_NOBODY} AND {_OWN};
    """,
}

_SIGNED = (
    """
    INSERT INTO progress (run_id, subject, planned, attempts, answered)
    SELECT run_id, subject, {0} FROM {1} GROUP BY run_id, subject ORDER BY run_id, subject
"""
    + _ROOM
)
_BY_TRIAL = """
    (SELECT run_id, subject, count(*) AS tries, count(*) FILTER (WHERE status <> 'error') > 0 AND {0} = (
        SELECT count(*) FROM answers a WHERE {1} AND a.status <> 'error'
    ) AS whole FROM changed c GROUP BY run_id, subject, trial_id, repeat) tried
"""
"""Trials whose answers all came, or all went, with this statement: as many are there as came, or none is left."""
_CAME = _BY_TRIAL.format("count(*) FILTER (WHERE status <> 'error')", _SAME.format("c"))
_WENT = _BY_TRIAL.format("0", _SAME.format("c"))
_POSTGRESQL = {
    ("planned_added", "INSERT ON planned", "NEW"): _SIGNED.format("count(*), 0, 0", "changed"),
    ("planned_gone", "DELETE ON planned", "OLD"): _SIGNED.format("-count(*), 0, 0", "changed"),
    ("answers_added", "INSERT ON answers", "NEW"): _SIGNED.format(
        "0, sum(tries), count(*) FILTER (WHERE whole)", _CAME
    ),
    ("answers_gone", "DELETE ON answers", "OLD"): _SIGNED.format(
        "0, -sum(tries), -count(*) FILTER (WHERE whole)", _WENT
    ),
}


def upgrade() -> None:
    op.create_table(
        "progress",
        sa.Column("run_id", sa.String(16), primary_key=True),
        sa.Column("subject", sa.String(400), primary_key=True),
        sa.Column("planned", sa.Integer, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("answered", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":  # what others write while it is counted would never be
        op.execute("LOCK TABLE planned, answers IN SHARE ROW EXCLUSIVE MODE")
    op.execute(_COUNTED)
    if op.get_bind().dialect.name == "sqlite":
        for when, then in _SQLITE.items():
            op.execute(f"CREATE TRIGGER {when} BEGIN {then} END")
        return
    for (name, when, rows), then in _POSTGRESQL.items():
        gone = f"{_NOBODY} AND (run_id, subject) IN (SELECT run_id, subject FROM changed);" if rows == "OLD" else ""
        op.execute(
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {then}; {gone} RETURN NULL; END $$"
        )
        op.execute(
            f"CREATE TRIGGER {name} AFTER {when} REFERENCING {rows} TABLE AS changed "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {name}()"
        )
