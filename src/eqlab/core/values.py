"""The standard library's `dataclass`, with classes made in a quarter of the time: that one compiles six
functions for each class, a seventh of what `eqlab run` took to start. Here only `__init__` is compiled, and only if
somebody makes an object; the others ask for the fields by name. Everything else is the standard library's: fields,
`replace`, `asdict`, matching, deriving.

>>> @dataclass(frozen=True, slots=True)
... class Point:
...     x: int
...     y: int = 0
>>> Point(1), Point(1) == Point(1, 0), hash(Point(1)) == hash(Point(1, 0))
(Point(x=1, y=0), True, True)
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: Any = None, /, **how: bool) -> Any:
        def made(cls: type) -> type:
            plain = how.keys() <= {"frozen", "slots", "eq", "repr"}
            derived = any(dataclasses.is_dataclass(base) for base in cls.__mro__[1:])
            return _made(cls, how) if plain and not derived else dataclasses.dataclass(cls, **how)

        return made if cls is None else made(cls)


_T = TypeVar("_T")
_FACTORY = type("_Factory", (), {"__repr__": lambda self: "<factory>"})()  # as a signature shows it


def _made(cls: type[_T], how: Mapping[str, bool]) -> type[_T]:
    doc, cls.__doc__ = cls.__doc__, cls.__doc__ or cls.__name__  # else it makes one of the signature, which takes long
    slots, frozen = how.get("slots", False), how.get("frozen", False)
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    own = dataclasses.fields(cls)  # type: ignore[arg-type]
    names = [field.name for field in own]
    cls.__doc__ = doc or f"{cls.__name__}({', '.join(names)})"
    cls.__dataclass_params__.frozen = frozen  # type: ignore[attr-defined]
    made: dict[str, Any] = {"__init__": _Init(cls, own, frozen=frozen)}
    if slots and frozen:
        made |= {"__getstate__": _get_state, "__setstate__": _set_state}
    if how.get("repr", True):
        made["__repr__"] = _repr([field.name for field in own if field.repr])
    if how.get("eq", True):
        made["__eq__"] = _eq(_values([field.name for field in own if field.compare]))
        hashed = _values([field.name for field in own if (field.compare if field.hash is None else field.hash)])
        if cls.__dict__.get("__hash__") is None:
            cls.__hash__ = (lambda self: hash(hashed(self))) if frozen else None  # type: ignore[assignment]
    for name, function in made.items():
        if name not in cls.__dict__:
            setattr(cls, name, function)
    if not frozen:
        return cls

    def refuse(self: object, name: str, *value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")
        (object.__setattr__ if value else object.__delattr__)(self, name, *value)

    cls.__setattr__ = cls.__delattr__ = refuse  # type: ignore[method-assign]
    return cls


class _Init:
    """An `__init__` that is compiled when it is first asked for: half of the classes that a command loads make no
    object."""

    def __init__(self, cls: type, own: Sequence["dataclasses.Field[Any]"], *, frozen: bool) -> None:
        self._cls, self._own, self._frozen = cls, own, frozen

    def __get__(self, made: object, cls: type) -> Any:
        compiled: Any = _init(self._cls, self._own, frozen=self._frozen)
        self._cls.__init__ = compiled  # type: ignore[misc]
        return compiled.__get__(made, cls)


def _init(cls: type, own: Sequence["dataclasses.Field[Any]"], *, frozen: bool) -> Callable[..., None]:
    known: dict[str, Any] = {"_set": object.__setattr__, "_factory": _FACTORY}
    given, body = ["self"], []
    for field in own:
        value = field.name
        if field.default is not dataclasses.MISSING:
            known[f"_default_{field.name}"] = field.default
        if field.default_factory is not dataclasses.MISSING:
            known[f"_make_{field.name}"] = field.default_factory
            value = f"_make_{field.name}() if {value} is _factory else {value}" if field.init else f"_make_{value}()"
            given += [f"{field.name}=_factory"] if field.init else []
        elif field.init:
            default = f"=_default_{field.name}" if field.default is not dataclasses.MISSING else ""
            given.append(f"{field.name}{default}")
        elif field.default is not dataclasses.MISSING:
            value = f"_default_{field.name}"
        else:  # `__post_init__` sets it
            continue
        body.append(f"_set(self, {field.name!r}, {value})" if frozen else f"self.{field.name} = {value}")
    body += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    exec(f"def __init__({', '.join(given)}):\n " + "\n ".join(body or ["pass"]), known)
    function: Callable[..., None] = known["__init__"]
    function.__annotations__ = {field.name: field.type for field in own if field.init} | {"return": None}
    function.__qualname__, function.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return function


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _get_state(self: object) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]  # type: ignore[arg-type]


def _set_state(self: object, state: Sequence[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):  # type: ignore[arg-type]
        object.__setattr__(self, field.name, value)


def _repr(names: Sequence[str]) -> Callable[[object], str]:
    @recursive_repr()
    def shown(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return shown


def _eq(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[object, object], Any]:
    def equal(self: object, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal
