"""How long is waited for what."""

from dataclasses import dataclass

WHOLE, SILENCE, PATIENCE = 1800.0, 120.0, 300.0


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds."""

    whole: float = WHOLE
    """For a whole reply."""
    silence: float = SILENCE
    """Without a byte of it."""
    patience: float = PATIENCE
    """While nothing good comes from an address at all: outages, and rates."""
