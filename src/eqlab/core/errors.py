"""Errors a user can put right. Each says what is wrong and the way out; the command line prints them as one line.

EqlabError
├── UsageError      a flag, a name or a value that makes no sense
├── DataError       a file that is missing, unreadable or not what it should be
├── ModelError      a model that cannot be asked at all (key, address, name)
└── StoreError      a store that cannot be opened, or fails
    └── InUseError  a run that another process is working on
"""


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
