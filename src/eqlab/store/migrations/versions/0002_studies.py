"""Studies with people: participants, places, events and what a panel told us."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "studies",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("run_id", sa.String(16), sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("design_sha256", sa.String(64), nullable=False),
        sa.Column("version", sa.String(32), nullable=False),
        sa.Column("file", sa.Text, nullable=False),
        sa.Column("locked_at", sa.Float),
        sa.Column("lock_sha256", sa.String(64)),
        sa.Column("lock_version", sa.String(32)),
        sa.Column("lock_plan", sa.Text),
    )
    op.create_table(
        "participants",
        sa.Column("study_id", sa.String(64), sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("person", sa.String(32), primary_key=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("steps", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("arm", sa.String(200)),
        sa.Column("batch", sa.Integer),
        sa.Column("place", sa.Integer),
        sa.Column("language", sa.String(16), nullable=False),
        sa.Column("consent_version", sa.String(64)),
        sa.Column("arrived_at", sa.Float, nullable=False),
        sa.Column("consented_at", sa.Float),
        sa.Column("assigned_at", sa.Float),
        sa.Column("ended_at", sa.Float),
        sa.Column("seen_at", sa.Float, nullable=False),
    )
    op.create_table(
        "panel_ids",
        sa.Column("study_id", sa.String(64), sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("person", sa.String(32), nullable=False, index=True),
    )
    op.create_table(
        "places",
        sa.Column("study_id", sa.String(64), sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("arm", sa.String(200), nullable=False),
        sa.Column("batch", sa.Integer, nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("person", sa.String(32)),
        sa.Column("held_until", sa.Float),
    )
    op.create_index("places_by_state", "places", ["study_id", "state", "arm", "number"])
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("study_id", sa.String(64), sa.ForeignKey("studies.id"), nullable=False),
        sa.Column("person", sa.String(32)),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
    op.create_index("events_by_person", "events", ["study_id", "person"])
    op.create_table(
        "panel_events",
        sa.Column("study_id", sa.String(64), sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("event", sa.String(200), primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
    )
