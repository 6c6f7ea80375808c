"""EQ Lab measures the emotional intelligence of language models and of people, with the same questions.

>>> import eqlab
>>> store = eqlab.open_store("eqlab.db")
>>> outcome = eqlab.run(eqlab.prepare(eqlab.Request(models=("embedded",), limit=2)), store)
>>> [result.headline for result in eqlab.results(store, store.find_run(outcome.run))]
"""

from typing import Any

__all__ = ["Listener", "Request", "open_store", "prepare", "results", "run", "write_report"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # loaded on first use: `import eqlab` stays light
        from eqlab import api

        return getattr(api, name)
    raise AttributeError(f"module 'eqlab' has no attribute '{name}'")
