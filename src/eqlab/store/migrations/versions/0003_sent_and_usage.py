"""What was really sent with an answer, and what else came back. Answers of 0.1 have neither."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("answers", sa.Column("sent", sa.Text))
    op.add_column("answers", sa.Column("usage", sa.Text))
