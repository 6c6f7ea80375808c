"""EQ Lab measures the emotional intelligence of language models and of people, with the same questions.

>>> import eqlab
>>> store = eqlab.open_store("eqlab.db")
>>> outcome = eqlab.run(eqlab.prepare(eqlab.Request("embedded", limit=2)), store)
>>> [result.headline for result in eqlab.results(store, store.find_run(outcome.run))]
"""

from importlib import import_module
from typing import Any

_HOME = {
    "Limits": "eqlab.runs.budget",
    "Listener": "eqlab.runs.ask",
    "Pace": "eqlab.models.timeouts",
    "Request": "eqlab.runs.request",
    "arun": "eqlab.runs.ask",
    "compare_runs": "eqlab.publish.notebook",
    "open_store": "eqlab.store.access",
    "plot": "eqlab.publish.plot",
    "prepare": "eqlab.runs.request",
    "results": "eqlab.publish.notebook",
    "run": "eqlab.publish.notebook",
    "to_frame": "eqlab.comparison.frames",
    "write_report": "eqlab.publish.report.write",
}
"""Where each verb lives; loaded on first use, so that `import eqlab` stays light."""

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'eqlab' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
