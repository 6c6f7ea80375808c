"""What the store keeps of a run's progress, held against the rows that it counts."""

from collections import Counter
from typing import Any


def counts_hold(store: Any) -> bool:
    """Whether every subject's counts are those of its rows, and nobody else has any."""
    planned = Counter(map(tuple, store.rows("SELECT run_id, subject FROM planned", {})))
    rows = list(store.rows("SELECT run_id, subject, trial_id, repeat, status FROM answers", {}))
    attempts = Counter((run, subject) for run, subject, *_ in rows)
    answered = Counter(key[:2] for key in {tuple(row[:4]) for row in rows if row[4] != "error"})
    kept = {tuple(row[:2]): tuple(row[2:]) for row in store.rows("SELECT * FROM progress", {})}
    return kept == {whose: (planned[whose], attempts[whose], answered[whose]) for whose in planned | attempts}
