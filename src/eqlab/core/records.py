"""Records as plain data. Those of which a large report makes half a million (answers, items, estimates, talks) are
`msgspec.Struct(frozen=True)`, which is made in half the time of a dataclass, or less; all others are dataclasses."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def as_dict(record: "Struct | DataclassInstance") -> dict[str, Any]:
    """Its fields by name, and theirs, as `dataclasses.asdict`, which knows no structs. Nothing is copied."""
    names = record.__struct_fields__ if isinstance(record, Struct) else [field.name for field in fields(record)]
    return {name: _plain(getattr(record, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, Struct) or hasattr(type(value), "__dataclass_fields__"):
        return as_dict(value)
    if isinstance(value, list | tuple):
        return type(value)(_plain(one) for one in value)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value
