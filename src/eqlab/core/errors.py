"""Errors a user can put right. Each says what is wrong and the way out; the command line prints them as one line.

EqlabError
├── UsageError      a flag, a name or a value that makes no sense
├── DataError       a file that is missing, unreadable or not what it should be
├── ModelError      a model that cannot be asked at all (key, address, name)
└── StoreError      a store that cannot be opened, or fails
    └── InUseError  a run that another process is working on
"""

from collections.abc import Sequence


def did_you_mean(name: str, known: Sequence[str], rest: str = "", *, cutoff: float = 0.6) -> str:
    """A hint for a name that is unknown: the nearest that is known, if any, then the rest."""
    from difflib import get_close_matches

    near = get_close_matches(name[:100], known, 1, cutoff)
    return f"Did you mean {near[0]}? {rest}".strip() if near else rest


class EqlabError(Exception):
    """A problem with a way out. `message` says what is wrong, `hint` what to do."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        between = "\n" if "\n" in self.message else " "  # a list of problems, then the way out
        return f"{self.message}{between}{self.hint}".strip()


class UsageError(EqlabError):
    exit_code = 2


class DataError(EqlabError):
    pass


class ModelError(EqlabError):
    pass


class StoreError(EqlabError):
    pass


class InUseError(StoreError):
    pass
