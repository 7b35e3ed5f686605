"""Which version this is, as it was installed."""

from __future__ import annotations

from functools import cache

from shortlist._imports import late


@cache
def version() -> str:
    """For example "0.2.0"; "unknown" where the package was not installed but only lies on the path."""
    try:
        installed: str = late("importlib.metadata", "version")("shortlist")  # it loads email, zipfile and socket
    except ModuleNotFoundError:
        return "unknown"
    return installed
