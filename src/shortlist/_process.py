"""Which process this is: what must not be spent twice may not go on in a forked child."""

from __future__ import annotations

import os


class _Process:
    token = object()

    @classmethod
    def renew(cls) -> None:
        cls.token = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Process.renew)


def this_process() -> object:
    """Another object in every forked child."""
    return _Process.token
