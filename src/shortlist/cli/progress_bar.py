"""How far a command is, on a terminal, while it reads and draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import typer

from shortlist._signals import COMMAND
from shortlist.privacy import ApprovalNeeded, BudgetExceeded, Ledger, LedgerError, OutcomeUnknown

Made = TypeVar("Made")
Progress = Callable[[float], None]


def drawn(book: Ledger | None, draw: Callable[[Progress | None], Made]) -> Made:
    """What `draw` makes, told how far it is; where it fails after its charge was booked, say that the charge stays."""
    COMMAND.check()
    head = None if book is None else book.head
    try:
        with bar() as progress:
            return draw(progress)
    except (BudgetExceeded, ApprovalNeeded, OutcomeUnknown):  # each says itself what was booked
        raise
    except Exception:
        COMMAND.check()  # a signal has a line of its own
        if book is not None and head is not None and _booked(book, head):
            typer.echo("shortlist: the ledger was charged before a row was read; the charge stays", err=True)
        raise


def _booked(book: Ledger, head: str) -> bool:
    """By the ledger itself, if it can be asked."""
    try:
        return book.booked_since(head) is not None
    except LedgerError:
        return False


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
