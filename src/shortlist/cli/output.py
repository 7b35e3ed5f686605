"""What the commands show and write: text without tricks, files whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from shortlist._files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_writable(option: str, path: str, endings: tuple[str, ...], inputs: Iterable[str] = ()) -> None:
    """Refuse, before anything is read or charged, what could not be written afterwards, and the files to be `kept`."""
    if not path.lower().endswith(endings):
        raise typer.BadParameter(f"{option} must end in {' or '.join(endings)}: {path}")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder} is not there: {option} needs a folder to write to")
    if not (_new_or_regular(path) and os.access(folder, os.W_OK)):
        raise PermissionError(f"{path} cannot be written")
    if any(_is_same(path, other) for other in inputs):
        raise typer.BadParameter(
            f"{option} must be a file of its own, not one that the command reads or writes: {path}"
        )


def _new_or_regular(path: str) -> bool:
    """Whether a file may be made or replaced there: no folder, device, pipe, circle of links or endless name."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _is_same(path: str, other: str) -> bool:
    there = os.path.exists(path) and os.path.exists(other)
    return os.path.realpath(path) == os.path.realpath(other) or (there and os.path.samefile(path, other))


def write_picture(path: str, figure: Figure, *, dpi: int, private: bool = True) -> None:
    """A picture, in the format that the path ends in."""
    write_whole(path, lambda draft: figure.savefig(draft, dpi=dpi), private=private)
