"""Who sits in the speaker's seat: models by their specs, each perhaps at an address of its own, or fixed lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eqlab.core.errors import UsageError
from eqlab.core.runs import ModelConfig
from eqlab.core.secrets import holds_secret

FIXED = "fixed"
"""A speaker who says canned lines, whatever the reply was, and tells no feeling."""
_AT = "@http"


@dataclass(frozen=True, slots=True)
class Speaker:
    spec: str
    base_url: str = ""

    @property
    def fixed(self) -> bool:
        return self.spec == FIXED

    @property
    def seat(self) -> str:
        return f"speaker:{self.spec}"

    @property
    def structured(self) -> bool:
        """Whether its turns are asked for as JSON: the embedded model cannot keep to a form otherwise."""
        return self.spec == "embedded" and not self.base_url


def read_speakers(text: str) -> tuple[Speaker, ...]:
    """`SPEC`, or several with commas between; `SPEC@http://…` is asked at that address. Their order means nothing, so
    they are sorted: the same speakers are the same run."""
    found: dict[str, Speaker] = {}
    for part in text.split(","):
        spec, at, rest = part.strip().partition(_AT)
        if not spec:
            raise UsageError(f"--speaker '{text}' names nobody.", f"Name a model, or '{FIXED}'.")
        if at and (spec == FIXED or holds_secret(at[1:] + rest)):
            why = "has no address" if spec == FIXED else "has a password or a key in its address, which would be stored"
            raise UsageError(f"--speaker: {spec} {why}.", "Set the provider's variable, or EQLAB_API_KEY.")
        if spec in found:
            raise UsageError(f"--speaker: {spec} is named twice.", "A speaker is known by its name: give each its own.")
        found[spec] = Speaker(spec, at[1:] + rest if at else "")
    return tuple(found[spec] for spec in sorted(found))


def write_speakers(speakers: Sequence[Speaker]) -> str:
    return ",".join(f"{one.spec}@{one.base_url}" if one.base_url else one.spec for one in speakers)


def seats(options: Mapping[str, Any]) -> dict[str, ModelConfig]:
    """The models in the speaker's seat, by the seat's name."""
    return {
        one.seat: ModelConfig(one.spec, one.base_url, one.structured, role="seat")
        for one in read_speakers(options["speaker"])
        if not one.fixed
    }
