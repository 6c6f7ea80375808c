"""What a reader needs to judge, or repeat, a run: versions, machine, command, models."""

import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from eqlab.core.secrets import without_secrets


def provenance(identities: Mapping[str, Any], changed: Sequence[str] = ()) -> dict[str, Any]:
    """What a reader needs to judge, or repeat, a run. `changed`: published files that are not as published."""
    packages = ("eqlab", "aiohttp", "sqlalchemy", "numpy", "scipy", "xllamacpp")
    return {
        "versions": {name: found for name in packages if (found := _version(name))},
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "command": without_secrets(shlex.join(["eqlab", *sys.argv[1:]])),
        "models": dict(identities),
        **({"changed published files": list(changed)} if changed else {}),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
