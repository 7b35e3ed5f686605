"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable


def write_whole(path: str, write: Callable[[str], None], *, private: bool = True) -> None:
    """Let `write` fill a draft, which takes the place of `path` only when all is on the disk.

    A new file is readable by its owner alone if `private`. A file that is there keeps its mode, and a link stays one.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    draft = os.path.join(folder, f".shortlist-{secrets.token_hex(8)}{name[-32:]}")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if private else 0o666))
        write(draft)
        with open(draft, "rb") as written:
            os.fsync(written.fileno())
        if os.path.exists(target):
            os.chmod(draft, os.stat(target).st_mode & 0o777)
        os.replace(draft, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
        raise
