"""Who has come but not consented: their panel id belongs to nobody yet."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "arrivals",
        sa.Column("study_id", sa.String(64), sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("person", sa.String(32), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("tombstone", sa.String(64)),
    )
