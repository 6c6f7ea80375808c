"""Known weaknesses of the pinned packages: pip-audit, in an environment of its own so that nothing pinned changes.

    python bench/audit.py [requirements.txt …]

Ends with 1 if an advisory is open. A package index or advisory database that cannot be reached is said, and fails
nothing: a build without a network must not break."""

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
EVERY = [ROOT / "requirements" / "run.txt", ROOT / "requirements" / "dev.txt"]


def main() -> None:
    files = [Path(name) for name in sys.argv[1:]] or EVERY
    with tempfile.TemporaryDirectory() as folder:
        found = audited(files, Path(folder))
    if isinstance(found, str):
        print(f"audit: not done, {found}")
        return
    print("\n".join([*(lines := advisories(found)), summary(found)]))
    raise SystemExit(1 if lines else 0)


def audited(files: list[Path], folder: Path) -> dict[str, Any] | str:
    """What pip-audit found, or why it could not look."""
    venv.create(folder / "venv", with_pip=True)
    python = str(folder / "venv" / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pip-audit"]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        return f"pip-audit cannot be installed: {_last(done.stderr)}"
    report = folder / "audit.json"
    audit = [python, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner=off"]
    audit += ["--format=json", f"--output={report}", *(f"--requirement={file}" for file in files)]
    done = subprocess.run(audit, capture_output=True, text=True)
    if not report.exists() or not report.read_text().strip():  # written whether or not something was found
        return f"the advisory database was not reached: {_last(done.stderr)}"
    read: dict[str, Any] = json.loads(report.read_text())
    return read


def advisories(found: dict[str, Any]) -> list[str]:
    """One line for each, with the way out."""
    return sorted(
        {
            f"{package['name']} {package['version']}: {one['id']} {' '.join(one.get('aliases', []))}; "
            f"mended in {', '.join(one['fix_versions']) or 'no release yet'}"
            for package in found["dependencies"]
            for one in package.get("vulns", [])
        }
    )


def summary(found: dict[str, Any]) -> str:
    """pip-audit calls what it could not look up no weakness; that would be a lie behind a mirror without advisories."""
    packages = {one["name"]: one for one in found["dependencies"]}
    looked_up = sum("skip_reason" not in one for one in packages.values())
    if packages and not looked_up:
        return f"audit: not done, none of {len(packages)} packages was found in the advisory database"
    unknown = f", {len(packages) - looked_up} not found in the database" if looked_up < len(packages) else ""
    return f"audit: {looked_up} pinned packages looked up{unknown}, {len(advisories(found))} open advisories"


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[-1][:300]


if __name__ == "__main__":
    main()
