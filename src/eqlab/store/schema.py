"""The tables, as they are at the newest migration."""

from sqlalchemy import Column, Float, ForeignKey, Integer, MetaData, String, Table, Text

HEAD = "0001"
"""The newest migration; a test holds it against the migrations folder."""

metadata = MetaData()

runs = Table(
    "runs",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("created_at", Float, nullable=False),
    Column("config", Text, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", String(16), ForeignKey("runs.id"), nullable=False, index=True),
    Column("started_at", Float, nullable=False),
    Column("provenance", Text, nullable=False),
)
"""Each time a run was started or continued: with which versions, on which platform, by which command."""

trials = Table(
    "trials",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("body", Text, nullable=False),
)

planned = Table(
    "planned",
    metadata,
    Column("run_id", String(16), ForeignKey("runs.id"), primary_key=True),
    Column("subject", String(400), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("benchmark", String(64), nullable=False),
    Column("trial_id", String(32), ForeignKey("trials.id"), nullable=False),
    Column("repeat", Integer, nullable=False),
)
"""What a run asks each subject, in this order; an unanswered trial is a row here without an answer."""

answers = Table(
    "answers",
    metadata,
    Column("run_id", String(16), ForeignKey("runs.id"), primary_key=True),
    Column("subject", String(400), primary_key=True),
    Column("trial_id", String(32), ForeignKey("trials.id"), primary_key=True),
    Column("repeat", Integer, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("status", String(16), nullable=False),
    Column("text", Text, nullable=False),
    Column("values", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("reasoning", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("temperature", Float),
    Column("latency", Float),
    Column("transport_retries", Integer, nullable=False),
    Column("tokens_in", Integer),
    Column("tokens_out", Integer),
    Column("finish", Text, nullable=False),
    Column("at", Float, nullable=False),
)
"""Every attempt. Rows are inserted and never changed."""
