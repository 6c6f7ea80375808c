"""Items and published data: what ships with the package, and what is fetched once, pinned by sha256."""

from pathlib import Path

FOLDER = Path(__file__).parent
