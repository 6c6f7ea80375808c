"""Opening a store for work."""

from eqlab.core.folders import default_store
from eqlab.store.store import Store
from eqlab.store.take_in import take_in


def open_store(where: str = "") -> Store:
    """The store at a path or URL; the user's own without one. Answers that it could not take before are taken in."""
    store = Store(where or default_store())
    take_in(store)
    return store
