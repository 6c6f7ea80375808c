"""Opening a store to look at it: without SQLAlchemy where that is enough, which is half a second less, and without
writing, so that a store that may only be read can be."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eqlab.store.reader import Reader


def open_reader(where: str = "") -> "Reader":
    """The store at a path or URL; the user's own without one."""
    from eqlab.core.errors import StoreError
    from eqlab.core.folders import default_store
    from eqlab.store.place import sqlite_path
    from eqlab.store.quick import open_quickly

    named = sqlite_path(where) if where else None
    if named is not None and not named.exists():  # a typing error must not make a new store
        raise StoreError(f"There is no store {named}.", "Check the name; 'eqlab run --store' makes a new one.")
    quick = open_quickly(where or default_store())
    if quick is not None:
        return quick
    from eqlab.store.open import open_store

    return open_store(where)
