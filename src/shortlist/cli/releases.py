"""Commands that release: top, keys and quantile."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import typer

from shortlist import keys as release_keys
from shortlist import quantile as release_quantile
from shortlist import top_k
from shortlist._files import check_path, metadata_path, remove, temporary_name, write_table
from shortlist._signals import COMMAND
from shortlist._text import csv_table, terminal_safe
from shortlist.accounting.guarantees import ABSURD_EPSILON, as_epsilon
from shortlist.cli.app import in_options
from shortlist.cli.options import FILE, Format, command, read_arguments
from shortlist.cli.output import (
    check_shown,
    check_writable,
    drawn,
    echo_json,
    echo_lines,
    forget_output,
    print_table,
    read_budget,
    write_picture,
)
from shortlist.ledger.ledger import on_server
from shortlist.pages.summary import notes_in_words, why_in_words
from shortlist.privacy import ZCDP, Guarantee, Ledger
from shortlist.release import FIGURES, GroupedRelease, Release
from shortlist.tables.files import files_at


def check_large(guarantee: Guarantee, allowed: bool) -> None:
    """Refuse what promises nothing, unless that was meant."""
    if not allowed and as_epsilon(guarantee) > ABSURD_EPSILON:
        raise ValueError(
            f"an epsilon above {ABSURD_EPSILON:g} promises nobody anything (see `shortlist risk "
            f"{as_epsilon(guarantee):g}`): give a smaller one, or --yes-really if the data are public or made up"
        )


def open_ledger(ledger: str | None, context: typer.Context) -> Ledger | None:
    """The ledger that pays, if one does; whoever stops the command is told what was booked."""
    if ledger is None:
        return None
    book = Ledger(ledger)
    if "MAP" in getattr(context.get_parameter_source("ledger"), "name", ""):
        echo_lines(f"shortlist: {terminal_safe(book.path)} pays, as {FILE} says", err=True)
    head = book.head

    def say() -> str:
        """By the file itself, for the charge may be on the disk already."""
        try:
            entry = book.booked_since(head)
        except Exception as error:  # whatever it is, the line must be said
            return f"see `shortlist ledger show` for what was booked; it cannot be read now ({type(error).__name__})"
        return "nothing was booked" if entry is None else f"the charge was booked as entry {entry} and stays"

    COMMAND.more = say
    return book


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
    def of(cls, values: Mapping[str, Any], title: str, inputs: list[str]) -> Delivery:
        """As these options say. Refuse, before anything is read or charged, what could not be written afterwards.

        `inputs` are the files that may not be written over.
        """
        shown, as_json = values.get("shown"), values.get("as_json")
        if as_json and shown not in (None, Format.json):
            raise typer.BadParameter("give --json or --format, not both")
        form = Format.json if as_json else shown or Format.table
        if form is Format.parquet and sys.stdout is not None and sys.stdout.isatty():
            raise typer.BadParameter("parquet is no text: send it to a file, or give --out list.parquet")
        out, plot, report = (values.get(name) for name in ("out", "plot", "report"))
        if out is None and report is None:
            check_shown()
        if out is not None:
            check_writable("--out", out, (".csv", ".parquet"), inputs)
            if out.lower().endswith(".csv"):
                check_writable("--out", metadata_path(out), (".json",), inputs)
            else:
                check_path(os.path.realpath(out))
        if plot is not None:
            check_writable("--plot", plot, (".png", ".svg", ".pdf"), [*inputs, *([] if out is None else [out])])
            _check_matplotlib()
        if report is not None:
            check_writable("--report", report, (".html",), inputs)
        return cls(form, bool(values.get("quiet")), out, plot, report, title)

    def deliver(self, release: Release | GroupedRelease) -> None:
        """Everything that was asked for is tried, the list itself first: it was paid for, and there is no second."""
        files: tuple[tuple[str, str | None, Callable[[str], None]], ...] = (
            ("written to", self.out, lambda path: write_table(path, release.columns(), note=release.note)),
            ("drawn to", self.plot, lambda path: _draw(release, path)),
            ("reported in", self.report, lambda path: release.report(path, title=self.title)),
        )
        failed, written = [], []
        if sys.stdout is not None:  # otherwise it goes to a file, as was checked before the charge
            COMMAND.check()
            try:
                self._show(release)
            except Exception as error:
                failed.append(f"the list could not be shown ({_reason(error)})")
        for done, path, write in files:
            if path is None:
                continue
            there = os.path.exists(path)
            COMMAND.check()
            try:
                write(path)
            except Exception as error:
                failed.append(f"the list could not be {done} {path} ({_reason(error)})")
            else:
                written.append(f"{done} {path}{_access(path, there)}")
                if path.lower().endswith(".csv"):
                    written.append(f"what it means to {metadata_path(path)}")
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
    from rich.text import Text

    console = Console()
    columns, remarks = release.texts(), [in_options(one, sys.argv[1:2]) for one in release.remarks]
    remarks += [] if release.receipt is not None else [UNCOUNTED]
    if not console.is_terminal:
        typer.echo(release.lines(columns, remarks))
        return
    print_table(console, columns, FIGURES)
    below = (release.line(), *notes_in_words(release), terminal_safe(why_in_words(release)))
    console.print()
    for style, lines in (("", (release.summary, *remarks)), ("dim", below)):
        for line in lines:
            console.print(Text(line, style=style))


def named(purpose: str, what: str, source: str) -> str:
    """The purpose, or what is asked of which file."""
    return purpose or f"{what} of {os.path.basename(source)}"


def _run(
    release: Callable[..., Release | GroupedRelease],
    what: str,
    context: typer.Context,
    values: Mapping[str, Any],
    *,
    names: str = "",
    **more: Any,
) -> None:
    """Check everything that needs no row, open the ledger, release and deliver.

    `names` says where names come from, if they do not come from a public list: that needs a delta.
    """
    epsilon, delta, rho = values["epsilon"], values["delta"], values["rho"]
    budget = read_budget(epsilon, delta, rho)
    if names and delta is None:
        instead = "--candidates FILE, or --delta 1e-6" if "candidates" in values else "--delta 1e-6"
        raise ValueError(f"{names}, and no release without a delta exists: give {instead}")
    arguments = {**read_arguments(values), **more, "allow_large": True}
    arguments |= {"epsilon": epsilon} if rho is None else {"budget": ZCDP(rho)}
    arguments |= {} if delta is None else {"delta": delta}
    check_large(budget, values["yes_really"])
    source, ledger, candidates = values["source"], values["ledger"], values.get("candidates")
    name = named(values["purpose"], what, source)
    books = [] if ledger is None or on_server(ledger) else [ledger, f"{ledger}-wal", f"{ledger}-shm"]
    inputs = [*files_at(source), *([] if candidates is None else files_at(candidates)), *books]
    delivery = Delivery.of(values, name, inputs)
    arguments |= {"ledger": (book := open_ledger(ledger, context)), "purpose": name}
    delivery.deliver(drawn(book, lambda progress: release(source, progress=progress, **arguments)))


def _top(context: typer.Context, values: dict[str, Any]) -> None:
    k, names = values["k"], "without a public list of candidates their names come from the data"
    names = names if values["candidates"] is None else ""
    what = "top" if k is None else f"top {k}"
    _run(top_k, what, context, values, names=names, k=k, largest=not values["smallest"])


def _keys(context: typer.Context, values: dict[str, Any]) -> None:
    _run(release_keys, "keys", context, values, names="names come from the data")


def _quantile(context: typer.Context, values: dict[str, Any]) -> None:
    alone, written = values["one_row_each"], "COMMANDLINE" in getattr(context.get_parameter_source("user"), "name", "")
    if (alone and written) or (values["user"] is None and not alone):
        raise typer.BadParameter("give --user, the column of people; or --one-row-each if each row is a person")
    _run(release_quantile, "quantile", context, values, user=None if alone else values["user"])


top = command(
    "top",
    _top,
    """The k items with the most users, and nothing else about anybody.

    \b
    For example: shortlist top films.parquet -k 5 --user user_id --item film \\
                   --candidates films.txt --epsilon 1 --values
    """,
)
keys = command(
    "keys",
    _keys,
    """Every name that enough people hold, with noisy counts, and nothing else about anybody.

    \b
    For example: shortlist keys films.parquet --user user_id --item film \\
                   --epsilon 1 --delta 1e-6

    Only so many of them, the best: shortlist top -k 5 with --delta 1e-6 and without --candidates.
    """,
)
quantile = command(
    "quantile",
    _quantile,
    """A median, or other quantiles, of one number per person, and nothing else about anybody.

    \b
    For example: shortlist quantile films.parquet --user user_id --value age \\
                   -q 0.5 --lower 0 --upper 120 --epsilon 1
    """,
)
