"""`shortlist top`: from a table to a private list."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from shortlist._signals import COMMAND
from shortlist._text import terminal_safe
from shortlist.choose import explained, turned
from shortlist.cli.output import check_writable, write_picture, write_table
from shortlist.cli.progress_bar import bar
from shortlist.cli.top_groups import keys_of, lists_of_groups
from shortlist.grouped_release import GroupedRelease
from shortlist.ledger.opening import on_server
from shortlist.method_choice import mechanism_for
from shortlist.paid_release import Booked
from shortlist.privacy import ZCDP, Ledger
from shortlist.release import Release
from shortlist.released_frames import NUMBERS
from shortlist.tables.count import counted, uncounted
from shortlist.tables.file_sources import files_at
from shortlist.tables.files import check_public
from shortlist.tables.question import Question


def top(
    source: Annotated[str, typer.Argument(help="A path or glob: parquet, CSV or JSON lines.", show_default=False)],
    k: Annotated[int, typer.Option("-k", help="How many items.", show_default=False)],
    user: Annotated[str, typer.Option(help="The column of people.", show_default=False)],
    item: Annotated[list[str], typer.Option(help="The column of items; several make one candidate.")],
    candidates: Annotated[
        str | None,
        typer.Option(help="The public list: a text file with one item a line, or a table file with the item column."),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="What it may cost; pure unless there is a delta.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="The delta beside epsilon or rho; needed where the data names the candidates.")
    ] = None,
    rho: Annotated[float | None, typer.Option(help="What it may cost, in zCDP.")] = None,
    method: Annotated[str, typer.Option(help="A mechanism by name.")] = "auto",
    ordered: Annotated[bool, typer.Option("--ordered", help="Release the order too.")] = False,
    smallest: Annotated[
        bool, typer.Option("--smallest", help="The items with the fewest users; needs --candidates.")
    ] = False,
    values: Annotated[bool, typer.Option("--values", help="Release noisy values too.")] = False,
    gaps: Annotated[bool, typer.Option("--gaps", help="Release the lead of each item over the next too.")] = False,
    value: Annotated[str | None, typer.Option(help="Score by the sum of this column, within --clip.")] = None,
    clip: Annotated[
        tuple[float, float] | None, typer.Option(help="The least and the most one person adds to one item.")
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(help="Each person keeps at most so many items, drawn from their own.", show_default=False),
    ] = None,
    where: Annotated[
        str | None, typer.Option(help='Which rows count, for example "week >= 40".', show_default=False)
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="A list for each value of this column; several make one key.")
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(help="The public groups, as CH,DE,FR; without it they come from the data.", show_default=False),
    ] = None,
    groups_per_user: Annotated[
        int | None, typer.Option(help="In how many groups one person counts; 1 if not said.", show_default=False)
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Without candidates: how many of the largest counts may be looked at.", show_default=False),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="The ledger (file or postgresql://), charged before a row is read.")
    ] = None,
    purpose: Annotated[str, typer.Option(help="What the ledger notes.")] = "",
    unit: Annotated[str, typer.Option(help="What one user is, for the record.")] = "user",
    memory: Annotated[str | None, typer.Option(help="How much memory to use before going to disk, as 512MB.")] = None,
    multiline: Annotated[
        bool, typer.Option("--multiline", help="Quoted fields of a CSV file may hold line breaks; trust its writer.")
    ] = False,
    out: Annotated[str | None, typer.Option(help="Write the list to this file (.csv or .parquet).")] = None,
    plot: Annotated[str | None, typer.Option(help="Draw the list to this file (.png, .svg or .pdf).")] = None,
    report: Annotated[str | None, typer.Option(help="Write a page about the release to this file (.html).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")] = False,
) -> None:
    """The k items with the most users, and nothing else about anybody."""
    cost = cost_of(epsilon, delta, rho)
    keys = keys_of(groups, len(by or [""]))
    question = Question.of(user, item, value, clip, most, where, by or None, keys, groups_per_user)
    if candidates is None and delta is None:
        raise ValueError(
            "without a public list of candidates their names come from the data, and no release without a delta "
            "exists: give --candidates FILE, or --delta 1e-6"
        )
    inputs = kept_files(source, candidates, ledger)
    if out is not None:
        check_writable("--out", out, (".csv", ".parquet"), inputs)
    if plot is not None:
        check_writable("--plot", plot, (".png", ".svg", ".pdf"), [*inputs, *([] if out is None else [out])])
        if not find_spec("matplotlib"):
            raise typer.BadParameter("--plot needs matplotlib: pip install 'shortlist[plot]'")
    if report is not None:
        check_writable("--report", report, (".html",), inputs)
    reading: dict[str, Any] = {"unit": unit, "memory": memory, "multiline": multiline}
    plan: dict[str, Any] = {**cost, "method": method, "ordered": ordered, "values": values, "gaps": gaps}
    plan |= {"limit": limit, "largest": not smallest}
    weighed = candidates is None and value is None  # rows are counted, so weights are made
    mechanism, why, keeps_order = mechanism_for(k, public=candidates is not None, most=most, weighed=weighed, **plan)
    if candidates is not None:
        check_public(candidates, source, user)
    noted, paid = purpose or f"top {k} of {os.path.basename(source)}", None
    book = None if ledger is None else Ledger(ledger)
    if book is not None:
        COMMAND.more = whether_booked(book)
    if question.grouping is not None:
        lists = lists_of_groups(source, question, candidates, k, plan, reading, book, noted)
        deliver(lists, out, plot, report, purpose, as_json)
        return
    if book is not None:
        book.check(book.with_room(mechanism.charge, mechanism.guarantee))  # before the header is looked at
        accepted = turned(uncounted(source, question, candidates, **reading), not smallest)
        COMMAND.check()
        paid = Booked.of(mechanism, accepted, book, noted)
    COMMAND.check()
    try:
        with bar() as progress:
            scores = turned(counted(source, question, candidates, progress=progress, **reading), not smallest)
        release = mechanism.release(scores) if paid is None else paid.release(scores)
    except Exception:
        COMMAND.check()  # a signal has a line of its own
        if paid is not None:
            typer.echo("shortlist: the ledger was charged before a row was read; the charge stays", err=True)
        raise
    release = explained(release, why if method == "auto" else "", keeps_order, k)
    deliver(release, out, plot, report, purpose, as_json)


def whether_booked(book: Ledger) -> Callable[[], str]:
    """What to say when the command is stopped: by the file itself, for the charge may be on the disk already."""
    head = book.head

    def say() -> str:
        try:
            entry = book.booked_since(head)
        except Exception as error:  # whatever it is, the line must be said
            return f"see `shortlist ledger show` for what was booked; it cannot be read now ({type(error).__name__})"
        return "nothing was booked" if entry is None else f"the charge was booked as entry {entry} and stays"

    return say


def kept_files(source: str, candidates: str | None, ledger: str | None) -> list[str]:
    """What may not be written over: the table, the list of candidates, the ledger and its files."""
    books = [] if ledger is None or on_server(ledger) else [ledger, f"{ledger}-wal", f"{ledger}-shm"]
    return [*files_at(source), *([] if candidates is None else files_at(candidates)), *books]


def deliver(
    release: Release | GroupedRelease,
    out: str | None,
    plot: str | None,
    report: str | None,
    title: str,
    as_json: bool,
) -> None:
    """Everything that was asked for is tried, the list itself first: it was paid for, and there is no second one."""
    steps: dict[str, Callable[[], None]] = {
        "shown": lambda: typer.echo(release.to_json()) if as_json else show(release)
    }
    if out is not None:
        steps[f"written to {out}"] = lambda: write_table(out, release.columns())
    if plot is not None:
        steps[f"drawn to {plot}"] = lambda: _draw(release, plot)
    if report is not None:
        steps[f"reported in {report}"] = lambda: release.report(report, title=title)
    failed = []
    for step, take in steps.items():
        COMMAND.check()
        try:
            take()
        except Exception as error:
            failed.append(f"the list could not be {step} ({type(error).__name__})")
    if failed:
        raise OSError(f"{'; '.join(failed)}; what was released is released, and charged where there is a ledger")


def cost_of(epsilon: float | None, delta: float | None, rho: float | None) -> dict[str, Any]:
    if (epsilon is None) == (rho is None):
        raise typer.BadParameter("give --epsilon (with --delta or without), or --rho: one of them")
    paid: dict[str, Any] = {"epsilon": epsilon} if rho is None else {"budget": ZCDP(rho)}
    return paid if delta is None else {**paid, "delta": delta}


def _draw(release: Release | GroupedRelease, path: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    release.plot()
    write_picture(path, plt.gcf(), dpi=160)
    plt.close("all")


def show(release: Release | GroupedRelease) -> None:
    """A table and what it cost: colours on a terminal, plain text in a pipe."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    columns = release.texts()
    if not console.is_terminal:
        typer.echo(release.lines(columns))
        return
    table = Table(show_edge=False, pad_edge=False)
    for name in columns:
        numeric = name in NUMBERS
        table.add_column(Text(terminal_safe(name)), justify="right" if numeric else "left", overflow="fold")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    console.print()
    console.print(Text(release.summary))
    console.print(Text(release.line(), style="bold"))
    for note in (*release.notes, release.why):
        console.print(Text(terminal_safe(note), style="dim"))
