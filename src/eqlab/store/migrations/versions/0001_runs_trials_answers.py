"""Runs, sessions, trials, planned, answers.

Written out rather than taken from schema.py: a migration must not change when the schema does."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.String(16), sa.ForeignKey("runs.id"), nullable=False, index=True),
        sa.Column("started_at", sa.Float, nullable=False),
        sa.Column("provenance", sa.Text, nullable=False),
    )
    op.create_table(
        "trials",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "planned",
        sa.Column("run_id", sa.String(16), sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("subject", sa.String(400), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("benchmark", sa.String(64), nullable=False),
        sa.Column("trial_id", sa.String(32), sa.ForeignKey("trials.id"), nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
    )
    op.create_table(
        "answers",
        sa.Column("run_id", sa.String(16), sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("subject", sa.String(400), primary_key=True),
        sa.Column("trial_id", sa.String(32), sa.ForeignKey("trials.id"), primary_key=True),
        sa.Column("repeat", sa.Integer, primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("values", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("reasoning", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("temperature", sa.Float),
        sa.Column("latency", sa.Float),
        sa.Column("transport_retries", sa.Integer, nullable=False),
        sa.Column("tokens_in", sa.Integer),
        sa.Column("tokens_out", sa.Integer),
        sa.Column("finish", sa.Text, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
    )
