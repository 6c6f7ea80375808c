"""How long is waited for what. A file of its own: the command line shows these without loading anything else."""

from eqlab.core.values import dataclass

WHOLE, SILENCE, PATIENCE = 1800.0, 120.0, 300.0


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds."""

    whole: float = WHOLE
    """For a whole reply."""
    silence: float = SILENCE
    """Without a byte of it."""
    patience: float = PATIENCE
    """While nothing good comes from an address at all: outages, and rates."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: between two looks at a batch, growing; and how long one that was perhaps sent is looked for."""

    first: float = 5.0
    longest: float = 60.0
    settle: float = 30.0

    @staticmethod
    def every(seconds: float) -> "Pace":
        return Pace(min(5.0, seconds), seconds, min(30.0, 3 * seconds))
