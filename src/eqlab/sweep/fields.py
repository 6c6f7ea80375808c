"""One table of a TOML file, key by key: each has a kind, and what nobody asked for is a mistake worth naming."""

from collections.abc import Mapping, Sequence
from typing import Any

from eqlab.core.errors import UsageError


class Fields:
    def __init__(self, body: Mapping[str, Any], where: str) -> None:
        self.body = body
        self._where = where
        self._known: list[str] = []

    def wrong(self, key: str, why: str) -> UsageError:
        return UsageError(f"{self._where}: '{key}' {why}.", "docs/sweep.md lists every key.")

    def take(self, key: str, kind: type | tuple[type, ...], default: Any) -> Any:
        self._known.append(key)
        if key not in self.body:
            return default
        value = self.body[key]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            wanted = " or ".join(_NAMES[one] for one in kinds)
            raise self.wrong(key, f"must be {wanted}, not {value!r}")
        return value

    def count(self, key: str, default: int | None) -> int | None:
        value = self.take(key, int, default)
        if value is not None and value < 1:
            raise self.wrong(key, f"must be 1 or more, not {value}")
        return None if value is None else int(value)

    def seconds(self, key: str, default: float) -> float:
        value = float(self.take(key, (int, float), default))
        if not 0 < value < float("inf"):
            raise self.wrong(key, f"must be a number of seconds above 0, not {value:g}")
        return value

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        value: str = self.take(key, str, default)
        if value not in choices:
            raise self.wrong(key, f"must be {' or '.join(choices)}, not '{value}'")
        return value

    def tables(self, key: str) -> list["Fields"]:
        """`[[key]]`, as often as it is there."""
        found = self.take(key, list, [])
        if not all(isinstance(one, dict) for one in found):
            raise self.wrong(key, f"must be tables: write [[{key}]]")
        return [Fields(one, f"{self._where}, {key} {number}") for number, one in enumerate(found, 1)]

    def named(self, key: str) -> dict[str, "Fields"]:
        """`[key.NAME]`, by name."""
        found = self.take(key, dict, {})
        if not all(isinstance(one, dict) for one in found.values()):
            raise self.wrong(key, f"must be tables: write [{key}.NAME]")
        return {name: Fields(one, f"{self._where}, {key}.{name}") for name, one in found.items()}

    def done(self) -> None:
        """Nothing may be left over: a mistyped key would silently change nothing."""
        for key in self.body:
            if key not in self._known:
                raise self.wrong(key, f"is unknown (known: {', '.join(sorted(self._known))})")


_NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}
