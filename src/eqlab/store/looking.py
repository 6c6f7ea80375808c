"""Opening a store to look at it: without SQLAlchemy where that is enough, which is half a second less, and without
writing, so that a store that may only be read can be."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eqlab.store.reader import Reader


def open_reader(where: str = "") -> "Reader":
    """The store at a path or URL; the user's own without one."""
    from eqlab.core.folders import default_store
    from eqlab.store.place import check_there
    from eqlab.store.quick import open_quickly

    check_there(where)
    quick = open_quickly(where or default_store())
    if quick is not None:
        return quick
    from eqlab.store.open import open_store

    return open_store(where)
