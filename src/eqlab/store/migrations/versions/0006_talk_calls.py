"""Talks of people with models: each question to a model is written down before it is sent."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "talk_calls",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("study_id", sa.String(64), sa.ForeignKey("studies.id"), nullable=False),
        sa.Column("person", sa.String(32)),
        sa.Column("trial_id", sa.String(32), nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("until", sa.Float, nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("cost", sa.Float, nullable=False),
    )
    op.create_index("talk_calls_by_person", "talk_calls", ["study_id", "person"])
