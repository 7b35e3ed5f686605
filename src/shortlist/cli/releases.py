"""Commands that release: top, keys and quantile."""

from __future__ import annotations

import datetime
import errno
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from shortlist import keys as released_keys
from shortlist import quantile as released_quantile
from shortlist import top_k
from shortlist._files import check_path, metadata_path, remove, temporary_name, write_table
from shortlist._signals import COMMAND
from shortlist._text import csv_table, terminal_safe
from shortlist.cli import output as options
from shortlist.cli.app import FILE, in_options
from shortlist.cli.output import (
    Format,
    check_shown,
    check_writable,
    drawn,
    echo_json,
    echo_lines,
    forget_output,
    keys_of,
    write_picture,
)
from shortlist.grouped_release import GroupedRelease
from shortlist.ledger.ledger import on_server
from shortlist.mechanisms.registry import METHODS
from shortlist.pages.summary import ABSURD, epsilon_of, notes_in_words, why_in_words
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, Ledger, PureDP
from shortlist.release import FIGURES, Release
from shortlist.tables.file_sources import files_at
from shortlist.votes import read_bound


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


def methods_like(incomplete: str) -> list[str]:
    """The words for --method that begin so, for a shell that completes them."""
    return [name for name in ("auto", *METHODS) if name.startswith(incomplete)]


def top(
    context: typer.Context,
    source: options.Source,
    user: options.User,
    item: Annotated[list[str], typer.Option(help="The column of items; several make one candidate.", metavar="COLUMN")],
    k: Annotated[
        int | None,
        typer.Option("-k", help="How many items; left out, the data choose, which needs a delta.", metavar="N"),
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            help="The public list: a text file with one item a line, or a table file with the item column.",
            metavar="FILE",
        ),
    ] = None,
    epsilon: options.Epsilon = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="The delta beside epsilon or rho; needed where the data names the candidates.", metavar="NUMBER"
        ),
    ] = None,
    rho: options.Rho = None,
    yes_really: options.Large = False,
    method: Annotated[
        str, typer.Option(help="A mechanism by name.", metavar="NAME", autocompletion=methods_like)
    ] = "auto",
    ordered: Annotated[bool, typer.Option("--ordered", help="Release the order too.")] = False,
    smallest: Annotated[
        bool, typer.Option("--smallest", help="The items with the fewest users; needs --candidates.")
    ] = False,
    values: Annotated[bool, typer.Option("--values", help="Release noisy values too, with their margins.")] = False,
    gaps: Annotated[bool, typer.Option("--gaps", help="Release the lead of each item over the next too.")] = False,
    value: Annotated[
        str | None, typer.Option(help="Score by the sum of this column, within --clip.", metavar="COLUMN")
    ] = None,
    clip: Annotated[
        str | None,
        typer.Option(help="The least and the most one person adds to one item, as 0,50.", metavar="LOW,HIGH"),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(
            help="Each person keeps at most so many items, drawn from their own.", show_default=False, metavar="N"
        ),
    ] = None,
    where: options.Where = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="A list for each value of this column; several make one key.", metavar="COLUMN"),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="The public groups, as CH,DE,FR; without it they come from the data.",
            show_default=False,
            metavar="NAMES",
        ),
    ] = None,
    groups_per_user: options.GroupsPerUser = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help="Without candidates: how many of the largest counts may be looked at.", show_default=False, metavar="N"
        ),
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(help="With --values: leave out items whose noisy count is below.", metavar="NUMBER"),
    ] = None,
    ledger: options.LedgerPath = None,
    purpose: options.Purpose = "",
    unit: options.Unit = "user",
    memory: options.Memory = None,
    multiline: options.Multiline = False,
    separator: options.Separator = None,
    out: options.Out = None,
    plot: options.Plot = None,
    report: options.Report = None,
    shown: options.Shown = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """The k items with the most users, and nothing else about anybody.

    \b
    For example: shortlist top films.parquet -k 5 --user user_id --item film \\
                   --candidates films.txt --epsilon 1 --values
    """
    cost = cost_of(epsilon, delta, rho)
    if candidates is None and delta is None:
        raise ValueError(
            "without a public list of candidates their names come from the data, and no release without a delta "
            "exists: give --candidates FILE, or --delta 1e-6"
        )
    name = named(purpose, "top" if k is None else f"top {k}", source)
    delivery = Delivery.of(shown, as_json, quiet, out, report, name, kept_files(source, candidates, ledger), plot)
    words: dict[str, Any] = {"user": user, "item": item, "candidates": candidates, "value": value}
    words |= {"clip": ends_of(clip), "most": most, "where": where, "unit": unit, "memory": memory}
    words |= {"by": by or None, "groups": keys_of(groups, len(by or [""])), "groups_per_user": groups_per_user}
    words |= {"multiline": multiline, "separator": options.letter(separator)}
    words |= {**cost, "method": method, "ordered": ordered, "values": values, "gaps": gaps, "limit": limit}
    words |= {"at_least": at_least, "largest": not smallest, "allow_large": True}
    check_large(cost, yes_really)
    book = opened(ledger, context)
    words |= {"ledger": book, "purpose": name}
    delivery.deliver(drawn(book, lambda progress: top_k(source, k, progress=progress, **words)))


def ends_of(clip: str | None) -> tuple[float, float] | None:
    """Two numbers, from `0,50`."""
    if clip is None:
        return None
    try:
        low, high = map(float, clip.split(","))
    except ValueError:
        raise typer.BadParameter("--clip must be two numbers, as --clip 0,50") from None
    return low, high


def keys(
    context: typer.Context,
    source: options.Source,
    user: options.User,
    item: Annotated[list[str], typer.Option(help="The column of names; several make one name.", metavar="COLUMN")],
    most: Annotated[
        int | None,
        typer.Option(help="For how many names each person counts; without it one vote is shared.", metavar="N"),
    ] = None,
    where: options.Where = None,
    epsilon: Annotated[float | None, typer.Option(help="What it may cost, beside --delta.", metavar="NUMBER")] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="The chance that a name which one person alone brought is shown; needed.", metavar="NUMBER"),
    ] = None,
    rho: options.Rho = None,
    yes_really: options.Large = False,
    weighted: Annotated[
        bool | None, typer.Option("--weighted/--plain", help="Whether a person shares one vote among the names.")
    ] = None,
    values: Annotated[bool, typer.Option("--values/--no-values", help="Noisy counts with the names.")] = True,
    at_least: Annotated[
        float | None, typer.Option(help="Leave out names whose noisy count is below.", metavar="NUMBER")
    ] = None,
    ledger: options.LedgerPath = None,
    purpose: options.Purpose = "",
    unit: options.Unit = "user",
    memory: options.Memory = None,
    multiline: options.Multiline = False,
    separator: options.Separator = None,
    out: options.Out = None,
    plot: options.Plot = None,
    report: options.Report = None,
    shown: options.Shown = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Every name that enough people hold, with noisy counts, and nothing else about anybody.

    \b
    For example: shortlist keys films.parquet --user user_id --item film \\
                   --epsilon 1 --delta 1e-6

    Only so many of them, the best: shortlist top -k 5 with --delta 1e-6 and without --candidates.
    """
    cost = cost_of(epsilon, delta, rho)
    if delta is None:
        raise ValueError("names come from the data, and no release without a delta exists: give --delta 1e-6")
    words: dict[str, Any] = {"user": user, "item": item, "most": most, "where": where, **cost, "weighted": weighted}
    words |= {"values": values, "at_least": at_least, "unit": unit, "memory": memory, "multiline": multiline}
    words |= {"separator": options.letter(separator), "allow_large": True}
    check_large(cost, yes_really)
    name = named(purpose, "keys", source)
    delivery = Delivery.of(shown, as_json, quiet, out, report, name, kept_files(source, None, ledger), plot)
    book = opened(ledger, context)
    words |= {"ledger": book, "purpose": name}
    delivery.deliver(drawn(book, lambda progress: released_keys(source, progress=progress, **words)))


def quantile(
    context: typer.Context,
    source: options.Source,
    value: Annotated[str, typer.Option(help="The column of numbers or dates.", show_default=False, metavar="COLUMN")],
    lower: Annotated[str, typer.Option(help="The lower end of the range: a public number, or a date.", metavar="END")],
    upper: Annotated[str, typer.Option(help="The upper end.", metavar="END")],
    user: Annotated[
        str | None, typer.Option(help="The column of people.", show_default=False, metavar="COLUMN")
    ] = None,
    one_row_each: Annotated[
        bool, typer.Option("--one-row-each", help="In place of --user: each row is a person of its own. Your word.")
    ] = False,
    q: Annotated[
        list[float] | None,
        typer.Option(
            "-q", help="Which quantiles, from 0 to 1; give it several times.", show_default="0.5", metavar="NUMBER"
        ),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            help="How fine an answer is; 1 between whole numbers, a day between dates.",
            show_default=False,
            metavar="SIZE",
        ),
    ] = None,
    per_user: Annotated[
        str,
        typer.Option(help="What a person's rows count for: share, median, mean, min, max or sum.", metavar="WAY"),
    ] = "share",
    epsilon: options.Epsilon = None,
    delta: Annotated[float | None, typer.Option(help="The delta beside epsilon.", metavar="NUMBER")] = None,
    rho: options.Rho = None,
    yes_really: options.Large = False,
    method: Annotated[str, typer.Option(help="permute-and-flip or exponential.", metavar="NAME")] = "auto",
    by: Annotated[
        list[str] | None,
        typer.Option(help="Quantiles for each value of this column; several make one key.", metavar="COLUMN"),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(help="The public groups, as CH,DE,FR; needed with --by.", show_default=False, metavar="NAMES"),
    ] = None,
    groups_per_user: options.GroupsPerUser = None,
    ledger: options.LedgerPath = None,
    purpose: options.Purpose = "",
    unit: options.Unit = "user",
    memory: options.Memory = None,
    multiline: options.Multiline = False,
    separator: options.Separator = None,
    out: options.Out = None,
    plot: options.Plot = None,
    report: options.Report = None,
    shown: options.Shown = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """A median, or other quantiles, of one number per person, and nothing else about anybody.

    \b
    For example: shortlist quantile films.parquet --user user_id --value age \\
                   -q 0.5 --lower 0 --upper 120 --epsilon 1
    """
    if one_row_each and "COMMANDLINE" in getattr(context.get_parameter_source("user"), "name", ""):
        raise typer.BadParameter("give --user, the column of people; or --one-row-each if each row is a person")
    if user is None and not one_row_each:
        raise typer.BadParameter("give --user, the column of people; or --one-row-each if each row is a person")
    cost = cost_of(epsilon, delta, rho)
    words: dict[str, Any] = {"user": None if one_row_each else user, "value": value, "q": q or 0.5}
    words |= {"lower": bound("--lower", lower), "upper": bound("--upper", upper), "per_user": per_user, **cost}
    words |= {"step": None if step is None else bound("--step", step), "method": method, "unit": unit}
    words |= {"memory": memory, "multiline": multiline, "separator": options.letter(separator), "by": by or None}
    words |= {"groups": keys_of(groups, len(by or [""])), "groups_per_user": groups_per_user, "allow_large": True}
    check_large(cost, yes_really)
    name = named(purpose, "quantile", source)
    delivery = Delivery.of(shown, as_json, quiet, out, report, name, kept_files(source, None, ledger), plot)
    book = opened(ledger, context)
    words |= {"ledger": book, "purpose": name}
    delivery.deliver(drawn(book, lambda progress: released_quantile(source, progress=progress, **words)))


def bound(option: str, text: str) -> int | float | datetime.date:
    """A number as it is written, or a day."""
    try:
        return read_bound(text)
    except ValueError:
        raise typer.BadParameter(f"{option} must be a number or a date such as 2024-01-31") from None
