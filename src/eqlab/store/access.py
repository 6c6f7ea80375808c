"""Getting at a store: one to work in, which may be new; one that must be there; or one to read.

Reading does without SQLAlchemy where it can, which is half a second less, and without writing, so that a store that may
only be read can be."""

from typing import TYPE_CHECKING

from eqlab.core.errors import StoreError
from eqlab.core.folders import default_store
from eqlab.store.location import check_there
from eqlab.store.pending_answers import held, remove_empty, waiting
from eqlab.store.read_only import open_sqlite_reader

if TYPE_CHECKING:
    from eqlab.store.reader import Reader
    from eqlab.store.store import Store


def open_store(where: str = "", *, existing: bool = False) -> "Store":
    """The store at a path or URL; the user's own without one. Answers that it could not take before are taken in.

    `existing`: a store that is named must be there, since only what it holds is wanted."""
    from eqlab.store.store import Store

    if existing:
        check_there(where)
    store = Store(where or default_store())
    try:
        take_in(store)
    except BaseException:
        store.close()
        raise
    return store


def open_reader(where: str = "") -> "Reader":
    """The store at a path or URL, to read; the user's own without one."""
    check_there(where)
    return open_sqlite_reader(where or default_store()) or open_store(where)


def take_in(store: "Store") -> None:
    """Store the answers that a failing store could not take: all of a file in one transaction, then the file goes.

    Harmless when repeated or interrupted: an answer that is there already is not stored again. A file with answers of
    runs that this store does not know (it is another one of the same name) is left alone."""
    for path in waiting(store.where):
        with held(path) as found:
            if found is None:  # its session is still at work
                continue
            answers, remove = found
            try:
                unknown = store.add_missing(answers)
            except StoreError as error:
                raise StoreError(f"{error.message} {len(answers)} answers still wait in {path}.", error.hint) from error
            if not unknown:
                remove()
    remove_empty(store.where)
