"""Taking in the answers that a failing store could not store: all of a file in one transaction, then the file goes."""

from eqlab.core.errors import StoreError
from eqlab.store.store import Store
from eqlab.store.unstored import held, remove_empty, waiting


def take_in(store: Store) -> None:
    """Harmless when repeated or interrupted: an answer that is there already is not stored again. A file with
    answers of runs that this store does not know (it is another one of the same name) is left alone."""
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
