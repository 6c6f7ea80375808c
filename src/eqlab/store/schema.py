"""The tables, as they are at the newest migration."""

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text

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
    Column("sent", Text),
    Column("usage", Text),
)
"""Every attempt. Rows are inserted and never changed."""

progress = Table(
    "progress",
    metadata,
    Column("run_id", String(16), primary_key=True),
    Column("subject", String(400), primary_key=True),
    Column("planned", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("answered", Integer, nullable=False),
)
"""How many rows of `planned` and of `answers` each subject has, and how many trials with an answer that is no error.
Triggers of the database keep it (migration 0009); nobody else writes here."""

batches = Table(
    "batches",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("run_id", String(16), ForeignKey("runs.id"), nullable=False),
    Column("subject", String(400), nullable=False),
    Column("provider", String(32), nullable=False),
    Column("state", String(8), nullable=False),
    Column("remote", String(400), nullable=False),
    Column("made_at", Float, nullable=False),
    Column("fit", Text, nullable=False),
    Column("items", Integer, nullable=False),
    Column("note", Text, nullable=False),
    Index("batches_by_subject", "run_id", "subject", "state"),
)
"""What was handed to a provider to be answered within a day: `made` (perhaps sent), `sent`, `taken` in, or `void`."""

batch_items = Table(
    "batch_items",
    metadata,
    Column("batch_id", String(32), ForeignKey("batches.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("benchmark", String(64), nullable=False),
    Column("trial_id", String(32), ForeignKey("trials.id"), nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("more_room", Integer, nullable=False),
)
"""The attempts in a batch; the provider knows each by the batch's id and its number."""

studies = Table(
    "studies",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("run_id", String(16), ForeignKey("runs.id"), nullable=False),
    Column("created_at", Float, nullable=False),
    Column("design_sha256", String(64), nullable=False),
    Column("version", String(32), nullable=False),
    Column("file", Text, nullable=False),
    Column("locked_at", Float),
    Column("lock_sha256", String(64)),
    Column("lock_version", String(32)),
    Column("lock_plan", Text),
    Column("status", String(8)),
)
"""A web study: which run its answers belong to, the analysis plan once it is locked, and whether its door is open
(nothing), `paused` or `closed`."""

participants = Table(
    "participants",
    metadata,
    Column("study_id", String(64), ForeignKey("studies.id"), primary_key=True),
    Column("person", String(32), primary_key=True),
    Column("state", String(16), nullable=False),
    Column("step", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("steps", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("arm", String(200)),
    Column("batch", Integer),
    Column("place", Integer),
    Column("language", String(16), nullable=False),
    Column("consent_version", String(64)),
    Column("arrived_at", Float, nullable=False),
    Column("consented_at", Float),
    Column("assigned_at", Float),
    Column("ended_at", Float),
    Column("seen_at", Float, nullable=False),
    Column("device", String(16)),
)
"""Each person of a study, by a random pseudonym, with the personal plan: drawn once, stored, never drawn again."""

panel_ids = Table(
    "panel_ids",
    metadata,
    Column("study_id", String(64), ForeignKey("studies.id"), primary_key=True),
    Column("hash", String(64), primary_key=True),
    Column("person", String(32), nullable=False, index=True),
    Column("tombstone", String(64)),
)
"""The keyed hash of a panel's id and whose it is; the only table that links the two. The id itself is nowhere. The
tombstone is another keyed hash of it, which is what remains when the person is erased."""

arrivals = Table(
    "arrivals",
    metadata,
    Column("study_id", String(64), ForeignKey("studies.id"), primary_key=True),
    Column("person", String(32), primary_key=True),
    Column("hash", String(64), nullable=False),
    Column("tombstone", String(64)),
)
"""With which panel id each browser came, until its person consents and the id becomes theirs (`panel_ids`). Whoever
knows an id can come with it; so before the consent every browser is somebody of its own."""

tombstones = Table(
    "tombstones",
    metadata,
    Column("study_id", String(64), ForeignKey("studies.id"), primary_key=True),
    Column("hash", String(64), primary_key=True),
)
"""Ids of people who were erased, so that nobody comes a second time; linked to nothing."""

places = Table(
    "places",
    metadata,
    Column("study_id", String(64), ForeignKey("studies.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("arm", String(200), nullable=False),
    Column("batch", Integer, nullable=False),
    Column("state", String(8), nullable=False),
    Column("person", String(32)),
    Column("held_until", Float),
    Index("places_by_state", "study_id", "state", "arm", "number"),
)
"""Room for one person in one batch: open, held or done."""

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study_id", String(64), ForeignKey("studies.id"), nullable=False),
    Column("person", String(32)),
    Column("at", Float, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("detail", Text, nullable=False),
    Index("events_by_person", "study_id", "person"),
)
"""What happened in a study, in order. Rows are only added, except that one person's are deleted when they ask."""

chain = Table(
    "chain",
    metadata,
    Column("study_id", String(64), ForeignKey("studies.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("mark", String(32), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("link", String(64), nullable=False),
)
"""Who was assigned, finished or was erased, as hashes, each over the one before. Rows are only added, and stay when a
person is erased: no name leads to them or back."""

talk_calls = Table(
    "talk_calls",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study_id", String(64), ForeignKey("studies.id"), nullable=False),
    Column("person", String(32)),
    Column("trial_id", String(32), nullable=False),
    Column("at", Float, nullable=False),
    Column("until", Float, nullable=False),
    Column("state", String(8), nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("cost", Float, nullable=False),
    Index("talk_calls_by_person", "study_id", "person"),
)
"""Requests to models on behalf of people, each written down before it is sent: `asked` (at its worst cost, and nobody
else asks the same before `until`), `done` (at what it took), `lost`, or `retried`: lost, and the person asked for
another; or sent once more by the server, and what it took stands with the first. Who is erased leaves a row without a
name."""

panel_events = Table(
    "panel_events",
    metadata,
    Column("study_id", String(64), ForeignKey("studies.id"), primary_key=True),
    Column("event", String(200), primary_key=True),
    Column("at", Float, nullable=False),
)
"""Messages of a panel that were acted upon, so that one sent twice acts once."""

buckets = Table(
    "buckets",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("tokens", Float, nullable=False),
    Column("at", Float, nullable=False),
)
"""Limits by address, shared by all processes of a server. The key is a keyed hash; a bucket that is full again goes."""

researchers = Table(
    "researchers",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("password_hash", Text, nullable=False),
    Column("role", String(16), nullable=False),
    Column("created_at", Float, nullable=False),
)
"""Who may look at the studies of this store, and who may act on them."""

researcher_sessions = Table(
    "researcher_sessions",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("name", String(64), nullable=False),
    Column("since", Float, nullable=False),
)
"""Researchers who are logged in, by a hash of what their cookie holds. Logging out deletes the row."""

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study_id", String(64), index=True),
    Column("at", Float, nullable=False),
    Column("who", String(64), nullable=False),
    Column("action", String(32), nullable=False),
    Column("detail", Text, nullable=False),
)
"""What researchers did: looked at results, exported, erased, released, paused. Rows are only added; the pseudonym of
somebody who is erased leaves them."""
