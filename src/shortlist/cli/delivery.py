"""From options to a budget and a ledger, and from a release to what is printed and written."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import typer

from shortlist._files import remove, temporary_name
from shortlist._signals import COMMAND
from shortlist._sql import check_path
from shortlist._table_files import metadata_path, write_table
from shortlist._text import csv_table, terminal_safe
from shortlist.cli.app import in_options
from shortlist.cli.defaults import FILE
from shortlist.cli.options import Format
from shortlist.cli.output import check_shown, check_writable, echo_json, echo_lines, forget_output, write_picture
from shortlist.grouped_release import GroupedRelease
from shortlist.ledger.opening import on_server
from shortlist.pages.guarantee_in_words import ABSURD, epsilon_of
from shortlist.pages.summary import notes_in_words, why_in_words
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, Ledger, PureDP
from shortlist.release import FIGURES, Release
from shortlist.tables.file_sources import files_at


def cost_of(epsilon: float | None, delta: float | None, rho: float | None) -> dict[str, Any]:
    """What may be spent, in the words of Python."""
    if (epsilon is None) == (rho is None):
        raise typer.BadParameter("give --epsilon (with --delta or without), or --rho: one of them")
    paid: dict[str, Any] = {"epsilon": epsilon} if rho is None else {"budget": ZCDP(rho)}
    return paid if delta is None else {**paid, "delta": delta}


def check_large(cost: dict[str, Any], yes_really: bool) -> None:
    """Refuse what promises nothing, unless that was meant."""
    guarantee: Guarantee = cost["budget"] if "budget" in cost else PureDP(cost["epsilon"])
    if "delta" in cost:
        delta = cost["delta"]
        guarantee = ZCDP(guarantee.rho, delta) if isinstance(guarantee, ZCDP) else ApproxDP(cost["epsilon"], delta)
    if not yes_really and epsilon_of(guarantee) > ABSURD:
        raise ValueError(
            f"an epsilon above {ABSURD:g} promises nobody anything (see `shortlist risk {epsilon_of(guarantee):g}`): "
            "give a smaller one, or --yes-really if the data are public or made up"
        )


def opened(ledger: str | None, context: typer.Context) -> Ledger | None:
    """The ledger that pays, if one does; whoever stops the command is told what was booked."""
    if ledger is None:
        return None
    book = Ledger(ledger)
    if "MAP" in getattr(context.get_parameter_source("ledger"), "name", ""):
        echo_lines(f"shortlist: {terminal_safe(book.path)} pays, as {FILE} says", err=True)
    COMMAND.more = whether_booked(book)
    return book


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


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a release is printed, and the files it goes to."""

    shown: Format
    quiet: bool
    out: str | None
    plot: str | None
    report: str | None
    title: str

    @classmethod
    def of(
        cls,
        shown: Format | None,
        as_json: bool,
        quiet: bool,
        out: str | None,
        report: str | None,
        title: str,
        inputs: list[str],
        plot: str | None = None,
    ) -> Delivery:
        """Refuse, before anything is read or charged, what could not be written afterwards."""
        if as_json and shown not in (None, Format.json):
            raise typer.BadParameter("give --json or --format, not both")
        form = Format.json if as_json else shown or Format.table
        if form is Format.parquet and sys.stdout is not None and sys.stdout.isatty():
            raise typer.BadParameter("parquet is no text: send it to a file, or give --out list.parquet")
        if out is None and report is None:
            check_shown()
        if out is not None:
            check_writable("--out", out, (".csv", ".parquet"), inputs)
            if out.lower().endswith(".parquet"):
                check_path(os.path.realpath(out))
            if out.lower().endswith(".csv"):
                check_writable("--out", metadata_path(out), (".json",), inputs)
        if plot is not None:
            check_writable("--plot", plot, (".png", ".svg", ".pdf"), [*inputs, *([] if out is None else [out])])
            _check_matplotlib()
        if report is not None:
            check_writable("--report", report, (".html",), inputs)
        return cls(form, quiet, out, plot, report, title)

    def deliver(self, release: Release | GroupedRelease) -> None:
        """Everything that was asked for is tried, the list itself first: it was paid for, and there is no second."""
        steps: dict[str, Callable[[], None]] = {"shown": lambda: self._show(release)}
        if (out := self.out) is not None:
            steps[f"written to {out}"] = lambda: write_table(out, release.columns(), note=release.note)
        if (plot := self.plot) is not None:
            steps[f"drawn to {plot}"] = lambda: _draw(release, plot)
        if (report := self.report) is not None:
            steps[f"reported in {report}"] = lambda: release.report(report, title=self.title)
        failed, written = [], []
        if sys.stdout is None:  # it goes to a file, as was checked before the charge
            del steps["shown"]
        files = filter(None, (self.out, self.plot, self.report))
        paths = dict(zip([one for one in steps if one != "shown"], files, strict=True))
        for step, take in steps.items():
            there = step in paths and os.path.exists(paths[step])
            COMMAND.check()
            try:
                take()
            except Exception as error:
                failed.append(f"the list could not be {step} ({_reason(error)})")
            else:
                written += [f"{step}{_access(paths[step], there)}"] if step in paths else []
                if step in paths and paths[step].lower().endswith(".csv"):
                    written.append(f"what it means to {metadata_path(paths[step])}")
        if failed:
            raise OSError(f"{'; '.join(failed)}; what was released is released, and charged where there is a ledger")
        heard = sys.stdout is not None or self.shown is not Format.table
        if written and heard and not self.quiet:  # what programs read stays alone on its stream
            echo_lines(terminal_safe("; ".join(written)), err=self.shown is not Format.table)

    def _show(self, release: Release | GroupedRelease) -> None:
        """Print it, and see that it arrived: what waits in a buffer would get lost in silence."""
        try:
            self._print(release)
            sys.stdout.flush()
        except BrokenPipeError:
            forget_output()
            raise

    def _print(self, release: Release | GroupedRelease) -> None:
        if self.shown is Format.json:
            echo_json(release.to_json())
        elif self.shown is Format.csv:
            sys.stdout.write(csv_table(release.columns()))
        elif self.shown is Format.parquet:
            _send_parquet(release)
        elif self.quiet:
            typer.echo("\n".join("\t".join(row) for row in zip(*release.texts().values(), strict=True)))
        else:
            show(release)


def _reason(error: Exception) -> str:
    """Why something could not be delivered, in words where there are some; never in those of a library."""
    told = {errno.EPIPE: "nobody reads it any more", errno.ENOSPC: "the disk is full"}
    return told.get(getattr(error, "errno", None) or 0, type(error).__name__)


def _access(path: str, replaced: bool) -> str:
    """What became of a file that was there, and whether others on this machine may read it."""
    own = os.name == "posix" and not os.stat(path).st_mode & 0o077
    return (", in place of what was there" if replaced else "") + (", readable by you alone" if own else "")


def _send_parquet(release: Release | GroupedRelease) -> None:
    draft = f"{temporary_name()}.parquet"
    try:
        write_table(draft, release.columns(), note=release.note)
        with open(draft, "rb") as file:
            sys.stdout.buffer.write(file.read())
    finally:
        remove(draft)


def _check_matplotlib() -> None:
    """Load it before anything is charged: a package that is there can still be broken."""
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt  # noqa: F401
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "matplotlib"
    else:
        return
    near = "" if missing else ", and what is installed does not load"
    raise typer.BadParameter(f"--plot needs matplotlib{near}: pip install 'shortlist[plot]'")


def _draw(release: Release | GroupedRelease, path: str) -> None:
    import matplotlib.pyplot as plt

    release.plot()
    write_picture(path, plt.gcf(), dpi=160)
    plt.close("all")


UNCOUNTED = "No ledger kept count: the next answer about these people adds its epsilon to this one (--ledger counts)."


def show(release: Release | GroupedRelease) -> None:
    """A table and what it cost: colours on a terminal, plain text in a pipe."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    columns, remarks = release.texts(), [in_options(one, sys.argv[1:2]) for one in release.remarks]
    remarks += [] if release.receipt is not None else [UNCOUNTED]
    if not console.is_terminal:
        typer.echo(release.lines(columns, remarks))
        return
    table = Table(show_edge=False, pad_edge=False)
    for name in columns:
        table.add_column(Text(terminal_safe(name)), justify="right" if name in FIGURES else "left", overflow="fold")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    console.print()
    for said in (release.summary, *remarks):
        console.print(Text(said))
    for said in (release.line(), *notes_in_words(release), terminal_safe(why_in_words(release))):
        console.print(Text(said, style="dim"))


def named(purpose: str, what: str, source: str) -> str:
    """The purpose, or what is asked of which file."""
    return purpose or f"{what} of {os.path.basename(source)}"
