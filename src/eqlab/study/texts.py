"""The words on participants' pages, one file per language with the same keys."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from eqlab.core.errors import DataError

_FOLDER = files("eqlab.study") / "languages"


@dataclass(frozen=True)
class Texts:
    """Words by key. `direction` is "ltr" or "rtl"."""

    language: str
    words: Mapping[str, str]

    @property
    def direction(self) -> str:
        return self.words["direction"]

    def __call__(self, key: str, **values: object) -> str:
        return self.words[key].format(**values)


def languages() -> tuple[str, ...]:
    return tuple(sorted(one.name.removesuffix(".toml") for one in _FOLDER.iterdir() if one.name.endswith(".toml")))


@cache
def load(language: str) -> Texts:
    """The words in a language, or in its main form: `de-AT` finds `de`."""
    known = languages()
    for name in (language, language.split("-")[0]):
        if name in known:
            return Texts(language, tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8")))
    raise DataError(f"There are no page texts in '{language}'.", f"Known: {', '.join(known)}.")
