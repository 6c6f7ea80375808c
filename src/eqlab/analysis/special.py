"""The special functions of `scipy.special`, the same compiled code, without the rest of that package: its first lines
load array libraries, numpy's tests and a Fortran parser, which takes twice as long as numpy itself. Every command that
prints an interval would wait for them."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import scipy

_PACKAGE = "scipy.special"
_NEEDED = (_PACKAGE, "scipy.linalg")
"""Packages that the compiled module lies in, or takes compiled code from."""


def _compiled() -> ModuleType:
    """The functions' own module, found below packages of the same names that are empty and gone afterwards. Where scipy
    is built in another way, or all of it is loaded already, the package itself."""
    if _PACKAGE in sys.modules:
        return import_module(_PACKAGE)
    empty = {name: ModuleType(name) for name in _NEEDED if name not in sys.modules}
    for name, package in empty.items():
        package.__path__ = [str(Path(folder) / name.partition(".")[2]) for folder in scipy.__path__]
    sys.modules.update(empty)
    try:
        return import_module(f"{_PACKAGE}._ufuncs")
    except ImportError:
        pass
    finally:
        for name in empty:
            del sys.modules[name]
    return import_module(_PACKAGE)


_functions: Any = _compiled()
bdtr = _functions.bdtr
betaincinv = _functions.betaincinv
chdtrc = _functions.chdtrc
chdtri = _functions.chdtri
chndtr = _functions.chndtr
expit = _functions.expit
fdtrc = _functions.fdtrc
fdtri = _functions.fdtri
logit = _functions.logit
ncfdtr = _functions.ncfdtr
nctdtr = _functions.nctdtr
ndtr = _functions.ndtr
ndtri = _functions.ndtri
stdtr = _functions.stdtr
stdtrit = _functions.stdtrit
