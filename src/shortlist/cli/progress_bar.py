"""How far a command is, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shortlist.tables.count import Progress


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
