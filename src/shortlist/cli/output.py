"""What the commands show and write: text without tricks, files whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar

import typer
from typer.core import TyperGroup

from shortlist._files import write_whole
from shortlist._text import without_passwords

if TYPE_CHECKING:
    from matplotlib.figure import Figure


UsageError: type[Any] = typer.BadParameter.__bases__[0]


@contextmanager
def without_secrets() -> Iterator[None]:
    """What is said of a line that is no command repeats parts of it: an address of a server among them, perhaps."""
    try:
        yield
    except UsageError as error:
        error.message = without_passwords(error.message)
        raise


class Hinting(TyperGroup):
    """Commands of which a name that is not known leads to one that is."""

    instead: ClassVar[dict[str, str]] = {
        "median": "quantile", "quantiles": "quantile", "topk": "top", "top-k": "top", "names": "keys",
        "balance": "show", "status": "show", "spent": "show", "create": "init", "new": "init", "list": "show",
    }  # fmt: skip
    """What others call them."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, known = args[0], self.list_commands(ctx)
        if name not in known:
            near = [one for one in [self.instead.get(name), *get_close_matches(name, known, n=1)] if one in known]
            if near:
                ctx.fail(f"No such command {name!r}: write `{ctx.command_path} {near[0]}`.")
        return super().resolve_command(ctx, args)

    def make_context(self, *words: Any, **named: Any) -> Any:
        with without_secrets():
            return super().make_context(*words, **named)

    def invoke(self, ctx: Any) -> Any:
        with without_secrets():
            return super().invoke(ctx)


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
