"""A software bill of materials (CycloneDX 1.5 JSON) of the environment it runs in, from the standard library alone.

python bench/sbom.py > sbom.json"""

import json
import re
import sys
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from typing import Any


def component(found: Distribution) -> dict[str, Any]:
    meta = found.metadata
    name = re.sub(r"[-_.]+", "-", meta["Name"]).lower()
    said = next((meta[field] for field in ("License-Expression", "License") if field in meta), "")
    licences = [{"license": {"name": said.splitlines()[0][:200]}}] if said.strip() else []
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{found.version}",
        "name": name,
        "version": found.version,
        "purl": f"pkg:pypi/{name}@{found.version}",
        "licenses": licences,
    }


def bill() -> dict[str, Any]:
    parts = {part["bom-ref"]: part for part in map(component, distributions())}
    product = next((part for part in parts.values() if part["name"] == "eqlab"), None)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": (product or {"name": "eqlab"}) | {"type": "application"},
        },
        "components": sorted((part for part in parts.values() if part is not product), key=lambda part: part["name"]),
    }


if __name__ == "__main__":
    json.dump(bill(), sys.stdout, indent=2)
    sys.stdout.write("\n")
