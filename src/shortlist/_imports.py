"""One lock around everything that is imported late, held while the process forks.

A fork in the middle of another thread's import leaves the child a module that nobody will ever finish: it would wait
for it for good. So late imports of the package happen under this lock, and a fork waits for the one under way.
"""

from __future__ import annotations

import os
from _thread import RLock
from importlib import import_module

TYPE_CHECKING = False  # that of `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

IMPORTS = RLock()


class MissingPackageError(ModuleNotFoundError):
    """A package that is not installed. The text says what needs it and how to install it, and nothing else."""


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=IMPORTS.acquire, after_in_parent=IMPORTS.release, after_in_child=IMPORTS.release)


def late(module: str, name: str) -> Any:
    """What a module has under that name. For what may never be needed, and needs a library that may not be there."""
    with IMPORTS:
        return getattr(import_module(module), name)
