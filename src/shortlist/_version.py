"""Which version this is, as it was installed."""

from __future__ import annotations

from functools import cache
from importlib import metadata


@cache
def version() -> str:
    """For example "0.2.0"; "unknown" where the package was not installed but only lies on the path."""
    try:
        return metadata.version("shortlist")
    except metadata.PackageNotFoundError:
        return "unknown"
