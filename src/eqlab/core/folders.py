"""Where EQ Lab keeps things: data it makes (the store) and data it can fetch again (the cache)."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Fetched files. `EQLAB_CACHE` overrides the platform's cache folder."""
    return Path(os.environ.get("EQLAB_CACHE") or _platform("cache"))


def data_folder() -> Path:
    """The default store. `EQLAB_HOME` overrides the platform's data folder."""
    return Path(os.environ.get("EQLAB_HOME") or _platform("data"))


def default_store() -> str:
    return str(data_folder() / "eqlab.db")


def _platform(kind: str) -> str:
    import platformdirs

    return platformdirs.user_cache_dir("eqlab") if kind == "cache" else platformdirs.user_data_dir("eqlab")
