"""Batches: what was handed to a provider to be answered within a day, written down before it is sent."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "batches",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("run_id", sa.String(16), sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("subject", sa.String(400), nullable=False),
        sa.Column("provider", sa.String(32), nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("remote", sa.String(400), nullable=False),
        sa.Column("made_at", sa.Float, nullable=False),
        sa.Column("fit", sa.Text, nullable=False),
        sa.Column("items", sa.Integer, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
    )
    op.create_index("batches_by_subject", "batches", ["run_id", "subject", "state"])
    op.create_table(
        "batch_items",
        sa.Column("batch_id", sa.String(32), sa.ForeignKey("batches.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("benchmark", sa.String(64), nullable=False),
        sa.Column("trial_id", sa.String(32), sa.ForeignKey("trials.id"), nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("failed", sa.Integer, nullable=False),
        sa.Column("more_room", sa.Integer, nullable=False),
    )
