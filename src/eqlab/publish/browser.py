"""PNG and PDF of a drawing or page, by the Chromium that is installed; without one the way out is said."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from eqlab.core.errors import UsageError
from eqlab.data.files import write_whole

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_QUIET = (
    "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--hide-scrollbars", "--no-pdf-header-footer",
)  # fmt: skip
_SECONDS = 120


def browser() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise UsageError(
            "PNG and PDF are made by Chromium, and none is installed.",
            "Install chromium, or write an .svg or .html file.",
        )
    return found


def draw(svg: str, size: tuple[int, int], where: Path) -> None:
    """A drawing as PNG, twice as fine as on a screen, or as a PDF page of its size."""
    width, height = size
    page = (
        f'<!doctype html><meta charset="utf-8"><style>@page{{size:{width}px {height}px;margin:0}}'
        f"html,body{{margin:0;background:#fff}}svg{{display:block}}</style>{svg}"
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "page.html")
        source.write_text(page, encoding="utf-8")
        if where.suffix.lower() == ".pdf":
            _run(source, "print-to-pdf", where)
        else:
            _run(source, "screenshot", where, f"--window-size={width},{height}", "--force-device-scale-factor=2")


def print_page(source: Path, where: Path) -> None:
    """A page of ours as PDF."""
    _run(source, "print-to-pdf", where)


def _run(source: Path, what: str, where: Path, *more: str) -> None:
    """Made elsewhere and then written whole: a browser that fails leaves the old file as it was."""
    with tempfile.TemporaryDirectory() as profile:
        made = Path(profile, f"made{where.suffix}")
        own = [f"--user-data-dir={profile}", f"--{what}={made}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:  # Chromium's own sandbox cannot be used by root
            own.append("--no-sandbox")
        try:
            done = subprocess.run(
                [browser(), *_QUIET, *own, *more, source.resolve().as_uri()],
                capture_output=True, timeout=_SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(
                f"Chromium did not answer ({type(error).__name__}).", "Write an .svg or .html file."
            ) from error
        if not made.is_file():
            words = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise UsageError(
                f"Chromium made no {where.name} ({(words or ['it said nothing'])[-1][:200]}).", "Write an .svg."
            )
        write_whole(where, made.read_bytes())
