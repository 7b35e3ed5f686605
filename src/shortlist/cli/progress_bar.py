"""How far a command is, on a terminal, while it reads and draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import typer

from shortlist._signals import COMMAND
from shortlist.tables.count import Progress

Made = TypeVar("Made")


def drawn(paid: object, draw: Callable[[Progress | None], Made]) -> Made:
    """What `draw` makes, told how far it is; where it fails after something was `paid`, say that the charge stays."""
    COMMAND.check()
    try:
        with bar() as progress:
            return draw(progress)
    except Exception:
        COMMAND.check()  # a signal has a line of its own
        if paid is not None:
            typer.echo("shortlist: the ledger was charged before a row was read; the charge stays", err=True)
        raise


@contextmanager
def bar() -> Iterator[Progress | None]:
    """A progress bar on a terminal: the share of the rows that were read, and nothing about them."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as shown:
        task = shown.add_task("rows read", total=1.0)
        yield lambda share: shown.update(task, completed=share)
