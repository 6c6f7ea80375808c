"""Opening a store: one to work in, which may be new, or one that must be there."""

from eqlab.core.folders import default_store
from eqlab.store.place import check_there
from eqlab.store.store import Store
from eqlab.store.take_in import take_in


def open_store(where: str = "", *, existing: bool = False) -> Store:
    """The store at a path or URL; the user's own without one. Answers that it could not take before are taken in.

    `existing`: a store that is named must be there, since only what it holds is wanted."""
    if existing:
        check_there(where)
    store = Store(where or default_store())
    try:
        take_in(store)
    except BaseException:
        store.close()
        raise
    return store
