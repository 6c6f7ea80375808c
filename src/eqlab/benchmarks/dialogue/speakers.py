"""Who sits in the speaker's seat: models by their specs, each perhaps at an address and with settings of its own, or
fixed lines."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eqlab.core.errors import UsageError
from eqlab.core.pairs import read_settings
from eqlab.core.runs import ModelConfig
from eqlab.core.secrets import holds_secret, secret_among

FIXED = "fixed"
"""A speaker who says canned lines, whatever the reply was, and tells no feeling."""
STRUCTURED = "structured"
"""The one setting that is ours: whether a speaker's turns are asked for as JSON."""
_AT = "@http"
_FLAG = "--speaker"


@dataclass(frozen=True, slots=True)
class Speaker:
    spec: str
    base_url: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How this one is asked, whatever the listeners' settings are."""
    json: bool | None = None
    """None: as the model needs it."""

    @property
    def fixed(self) -> bool:
        return self.spec == FIXED

    @property
    def seat(self) -> str:
        return f"speaker:{self.spec}"

    @property
    def structured(self) -> bool:
        """Whether its turns are asked for as JSON: the embedded model cannot keep to a form otherwise."""
        return self.json if self.json is not None else self.spec == "embedded" and not self.base_url


def read_speakers(text: str) -> tuple[Speaker, ...]:
    """`SPEC`, or several with commas between; `SPEC@http://…` is asked at that address; `SPEC temperature=0.3` with
    settings of its own. Their order means nothing, so they are sorted: the same speakers are the same run."""
    found: dict[str, Speaker] = {}
    for part in text.split(","):
        one = _speaker(part.split(), text)
        if one.spec in found:
            raise UsageError(
                f"{_FLAG}: {one.spec} is named twice.", "A speaker is known by its name: give each its own."
            )
        found[one.spec] = one
    return tuple(found[spec] for spec in sorted(found))


def _speaker(words: Sequence[str], text: str) -> Speaker:
    spec, at, rest = words[0].partition(_AT) if words else ("", "", "")
    if not spec or "=" in spec:
        raise UsageError(
            f"{_FLAG} '{text}' names no speaker.", f"Name a model, or '{FIXED}'; settings stand behind the name."
        )
    settings = read_settings(words[1:], f"{_FLAG} {spec}")
    address = at[1:] + rest if at else ""
    if spec == FIXED and (address or settings):
        raise UsageError(
            f"{_FLAG}: {FIXED} lines have no {'address' if address else 'settings'}.", "Drop what is behind it."
        )
    if holds_secret(address) or (name := secret_among(settings)):
        what = "a password or a key in its address" if holds_secret(address) else f"a setting '{name}' like a key"
        raise UsageError(
            f"{_FLAG}: {spec} has {what}, which would be stored.", "Set the provider's variable, or EQLAB_API_KEY."
        )
    for name, value in settings.items():
        if isinstance(value, list | dict) or str(value).startswith(("[", "{", '"')):
            raise UsageError(
                f"{_FLAG} {spec}: {name} has more than one value.", "A speaker's settings are single ones."
            )
    asked = settings.pop(STRUCTURED, None)
    if asked is not None and not isinstance(asked, bool):
        raise UsageError(f"{_FLAG} {spec}: {STRUCTURED} is '{asked}'.", f"Write {STRUCTURED}=true or =false.")
    return Speaker(spec, address, settings, asked)


def write_speakers(speakers: Sequence[Speaker]) -> str:
    """As `read_speakers` reads it, in one way only."""
    return ",".join(map(_written, speakers))


def _written(one: Speaker) -> str:
    settings = dict(one.settings) | ({} if one.json is None else {STRUCTURED: one.json})
    pairs = [f" {name}={_value(settings[name])}" for name in sorted(settings)]
    return f"{one.spec}@{one.base_url}{''.join(pairs)}" if one.base_url else f"{one.spec}{''.join(pairs)}"


def _value(value: Any) -> str:
    """Text stays as it is unless it would be read as something else."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def seats(options: Mapping[str, Any]) -> dict[str, ModelConfig]:
    """The models in the speaker's seat, by the seat's name."""
    return {
        one.seat: ModelConfig(one.spec, one.base_url, one.structured, dict(one.settings), role="seat")
        for one in read_speakers(options["speaker"])
        if not one.fixed
    }
