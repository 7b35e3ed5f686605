"""Commands that release: top, keys and quantile; their options, each said once, and `shortlist.toml`."""

from __future__ import annotations

import errno
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from inspect import Parameter, Signature
from types import GenericAlias
from typing import Annotated, Any, NamedTuple

import typer

from shortlist import keys as release_keys
from shortlist import quantile as release_quantile
from shortlist import top_k
from shortlist._files import check_path, remove, temporary_name
from shortlist._signals import COMMAND
from shortlist._text import terminal_safe
from shortlist.accounting.guarantees import ABSURD_EPSILON, as_epsilon
from shortlist.cli import output
from shortlist.cli.app import in_options
from shortlist.ledger.ledger import on_server
from shortlist.mechanisms.registry import METHODS
from shortlist.pages.summary import notes_in_words, why_in_words
from shortlist.pages.texts import FIGURES
from shortlist.privacy import ZCDP, ApprovalNeeded, BudgetExceeded, Ledger, LedgerError, OutcomeUnknown
from shortlist.query import OPTIONS, options_of
from shortlist.release import GroupedRelease, Release
from shortlist.release_io import csv_table, metadata_path, write_table
from shortlist.scores import read_bound
from shortlist.tables.files import files_at

BETWEEN = "|"
"""Stands between the parts of a key, where several columns make it."""


class Format(StrEnum):
    """How a release is printed."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


def list_methods(incomplete: str) -> list[str]:
    """The values of --method that begin so, for a shell that completes them."""
    return [name for name in ("auto", *METHODS) if name.startswith(incomplete)]


COLUMN, COLUMNS, COUNT, NUMBER, FLAG = "COLUMN", "COLUMN ...", "N", "NUMBER", ""
TYPES: dict[str, Any] = {COLUMNS: list[str], "NUMBER ...": list[float], COUNT: int, NUMBER: float, FLAG: bool}
"""The type of a value, by what stands for it in the help; all others are texts."""


SHOWN, MEDIAN, METHOD = {"show_default": "table"}, {"show_default": "0.5"}, {"autocompletion": list_methods}


class Own(NamedTuple):
    """What the line says of an option in its own way."""

    help: str
    metavar: str = FLAG
    written: str = ""
    """How it is written, if not by its name."""
    type: Any = None
    more: Mapping[str, Any] = {}


LINE: dict[str, str | Own] = {
    "source": Own("A path or glob: parquet, CSV or JSON lines.", "FILE"),
    "user": COLUMN,
    "one_row_each": Own("In place of --user: each row is a user of its own. Your word."),
    "item": COLUMNS,
    "value": Own("The column of numbers or dates; `top` sums them, within --clip.", COLUMN),
    "lower": "END",
    "upper": "END",
    "q": Own("Which quantiles, from 0 to 1; give it several times.", "NUMBER ...", "-q", None, MEDIAN),
    "step": Own("How fine an answer is; 1 between whole numbers, a day between dates.", "SIZE"),
    "per_user": Own("What a user's rows count for: share, median, mean, min, max or sum.", "WAY"),
    "k": Own("How many items; left out, the data choose, which needs a delta.", COUNT, "-k"),
    "candidates": Own("The public list: a file with one item a line, or a table with the item column.", "FILE"),
    "epsilon": Own("What it may cost; 0.1 to 3 are common, see `shortlist risk 1`.", NUMBER),
    "delta": Own("The delta beside epsilon or rho; needed where the data name the items, as for `keys`.", NUMBER),
    "rho": Own("What it may cost, in zCDP.", NUMBER),
    "yes_really": Own("Allow an epsilon above 30, which promises nobody anything."),
    "method": Own("A mechanism by name; of quantiles permute-and-flip or exponential.", "NAME", more=METHOD),
    "ordered": FLAG,
    "smallest": Own("The items with the fewest users; needs --candidates."),
    "weighted": Own("Whether each user shares one vote among the names.", FLAG, "--weighted/--plain", bool | None),
    "values": Own("Release noisy values too, with their margins.", FLAG, "--values/--no-values"),
    "gaps": FLAG,
    "clip": Own("The least and the most one user adds to one item, as 0,50.", "LOW,HIGH"),
    "most": COUNT,
    "where": Own('Which rows count, for example "week >= 40".', "CONDITION"),
    "by": Own("An answer for each value of this column; several make one key.", COLUMNS),
    "groups": Own("The public groups, as CH,DE,FR; `top` can take them from the data.", "NAMES"),
    "groups_per_user": Own("In how many groups one user counts; 1 if not said.", COUNT),
    "limit": Own("Without candidates: how many of the largest counts may be looked at.", COUNT),
    "at_least": NUMBER,
    "ledger": Own("The ledger (file or postgresql://), charged before a row is read.", "LEDGER"),
    "purpose": Own("What the ledger notes, and a report is called.", "TEXT"),
    "unit": "WORD",
    "memory": Own("How much memory to use before going to disk, as 512MB.", "SIZE"),
    "multiline": Own("Quoted fields of a CSV file may hold line breaks; trust its writer."),
    "separator": Own("What stands between the fields of a CSV file: a comma if not said; 'tab' for a tab.", "SIGN"),
    "out": Own("Write the list to this file (.csv or .parquet).", "FILE"),
    "plot": Own("Draw the list to this file (.png, .svg or .pdf).", "FILE"),
    "report": Own("Write a page about the release to this file (.html).", "FILE"),
    "shown": Own("How to print it: table, csv, json or parquet.", "FORMAT", "--format", Format, SHOWN),
    "as_json": Own("Short for --format json: one JSON object, for programs.", written="--json"),
    "quiet": Own("Print the list alone, without what it cost."),
}
"""The options of these commands, in the order of their help: what stands for a value, or what else is said of it.

One of the library's is here by its name: which commands have it, its default and its help are those of `Query`.
"""
PLAIN = {"str | None": "TEXT", "int | None": COUNT, "float | None": NUMBER, "bool": FLAG}
"""What stands for a value of an option of tables that is not listed, by its type: the commands have it all the same."""
LINE |= {one.name: PLAIN[one.type] for one in OPTIONS.values()
         if one.part == "table" and one.name not in LINE and one.type in PLAIN}  # fmt: skip
CALLS = {"top": "top_k", "keys": "keys", "quantile": "quantile"}
"""The commands, and the functions that they call."""
ALONE = {"one_row_each": "quantile", "smallest": "top"}
"""Options of the line that one command has."""
NEEDED = {"top": ("source", "user", "item"), "keys": ("source", "user", "item"),
          "quantile": ("source", "value", "lower", "upper")}  # fmt: skip
SURFACE = {name for name in LINE if name not in OPTIONS} | {"k", "epsilon", "delta", "ledger", "purpose"}
"""Options that are no argument of the library's functions, or one that follows from several options."""


def make_parameters(command: str) -> Iterator[Parameter]:
    """The parameters of a function that typer makes this command of."""
    declared = {one.name: one for one in options_of(CALLS[command])}
    for name, row in LINE.items():
        if command not in ALONE.get(name, command) or (name in OPTIONS and name not in declared):
            continue
        own, option = row if isinstance(row, Own) else Own("", row), declared.get(name)
        kind, default = own.type or TYPES.get(own.metavar, str), option.default if option else None
        help, metavar, written = own.help or (option.help if option else ""), own.metavar.split(" ")[0], own.written
        if kind is bool:
            default, written = bool(default), written or f"--{name.replace('_', '-')}"
        elif name in ("source", *NEEDED[command]):
            default = Parameter.empty
        elif isinstance(kind, GenericAlias):
            default = None
        made = output.option(help, metavar or None, *([written] if written else []), **own.more)
        made = output.argument(help, metavar) if name == "source" else made
        kind = kind | None if default is None else kind
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, made])


def read_clip(written: str) -> tuple[float, float]:
    """Two numbers, from `0,50`."""
    low, high = map(float, written.split(","))
    return low, high


READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "separator": (lambda written: {"tab": "\t", "\\t": "\t"}.get(written, written), ""),
    "clip": (read_clip, "two numbers, as --clip 0,50"),
    "groups": (lambda written: [one.strip() for one in written.split(",")], ""),
    **dict.fromkeys(("lower", "upper", "step"), (read_bound, "a number or a date such as 2024-01-31")),
}
"""How values are read that are not taken as they are, and what they must be."""


def read_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the library's function; groups of several columns are written `CH|40,DE|40`."""
    arguments = {name: value for name, value in values.items() if name not in SURFACE}
    for name, (read, kind) in READERS.items():
        try:
            if arguments.get(name) is not None:
                arguments[name] = read(arguments[name])
        except ValueError:
            raise typer.BadParameter(f"--{name} must be {kind}") from None
    if "q" in arguments:
        arguments["q"] = arguments["q"] or OPTIONS["q"].default
    if "by" in arguments:
        by, keys = arguments["by"] or None, arguments["groups"]
        pairs = [tuple(key.split(BETWEEN)) for key in keys] if by and by[1:] and keys is not None else keys
        arguments |= {"by": by, "groups": pairs}
    return arguments


def command(run: Callable[[typer.Context, dict[str, Any]], None]) -> Callable[..., None]:
    """A function with the options of the command of that name as its parameters, of which typer makes a command."""

    def start(context: typer.Context, **values: Any) -> None:
        run(context, values)

    context = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    vars(start)["__signature__"] = Signature([context, *make_parameters(run.__name__)])
    start.__doc__, start.__annotations__ = run.__doc__, {}
    return start


FILE = "shortlist.toml"
IN_FILE = [name for name, one in OPTIONS.items() if one.lasting]
"""Options that it may hold, as texts: columns and places, never what is spent."""
COSTS = ("epsilon", "delta", "rho", "budget", "allow_large", "yes_really")


def read_defaults(folder: str = ".") -> dict[str, Any]:
    """What the file in that folder says; nothing if there is none.

    Raises
    ------
    ValueError
        naming the option that may not stand there.
    """
    try:
        with open(os.path.join(folder, FILE), "rb") as file:
            written = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, IsADirectoryError):
        raise ValueError(f'{FILE} cannot be read: it must be TOML, for example user = "user_id"') from None
    for name, value in written.items():
        if name.replace("-", "_") in COSTS:
            raise ValueError(f"{FILE} must not say {name}: what a release costs is written where it is spent")
        if name not in IN_FILE:
            raise ValueError(f"{FILE} does not know {name}; it may say {', '.join(IN_FILE)}")
        several = LINE[name] == COLUMNS
        texts = value if several and isinstance(value, list) else [value]
        if not all(isinstance(one, str) for one in texts):
            raise ValueError(f"{FILE}: {name} must be text{' or a list of texts' * several}")
        written[name] = texts if several else value
    return written


@contextmanager
def open_ledger(ledger: str | None, context: typer.Context) -> Iterator[Ledger | None]:
    """The ledger that pays, if one does. Where what is done inside fails after its charge, say that the charge stays.

    A signal that stops the command is answered by what was charged, as the file itself says.
    """
    book = None if ledger is None else Ledger(ledger)
    head = "" if book is None else book.head

    def find_charge() -> int | None:
        return None if book is None else book.booked_since(head)

    def say() -> str:
        try:
            entry = find_charge()
        except Exception as error:  # whatever it is, the line must be said
            return f"see `shortlist ledger show` for what was booked; it cannot be read now ({type(error).__name__})"
        return "nothing was booked" if entry is None else f"the charge was booked as entry {entry} and stays"

    if book is not None:
        if "MAP" in getattr(context.get_parameter_source("ledger"), "name", ""):
            output.echo_lines(f"shortlist: {terminal_safe(book.path)} pays, as {FILE} says", err=True)
        COMMAND.more = say
    COMMAND.check()
    try:
        yield book
    except (BudgetExceeded, ApprovalNeeded, OutcomeUnknown):  # each says itself what was charged
        raise
    except Exception:
        COMMAND.check()  # a signal has a line of its own
        with suppress(LedgerError):  # it cannot be asked
            if find_charge() is not None:
                typer.echo("shortlist: the ledger was charged before a row was read; the charge stays", err=True)
        raise


FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "out": ("written to", (".csv", ".parquet")),
    "plot": ("drawn to", (".png", ".svg", ".pdf")),
    "report": ("reported in", (".html",)),
}
"""Options that name a file: what is said of it afterwards, and how its name may end."""
REASONS = {errno.EPIPE: "nobody reads it any more", errno.ENOSPC: "the disk is full"}
"""Why something could not be delivered; never in the words of a library."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a release is printed, and the files it goes to."""

    shown: Format
    quiet: bool
    files: Mapping[str, str]
    title: str

    @classmethod
    def of(cls, values: Mapping[str, Any], title: str, inputs: list[str]) -> Delivery:
        """As these options say. Refuse, before anything is read or charged, what could not be written afterwards.

        `inputs` are the files that may not be written over.
        """
        as_json, form = values["as_json"], values["shown"] or Format.table
        if as_json and values["shown"] not in (None, Format.json):
            raise typer.BadParameter("give --json or --format, not both")
        form = Format.json if as_json else form
        if form is Format.parquet and sys.stdout is not None and sys.stdout.isatty():
            raise typer.BadParameter("parquet is no text: send it to a file, or give --out list.parquet")
        files = {name: values[name] for name in FILES if values[name] is not None}
        out = files.get("out", "")
        if not out and "report" not in files:
            output.check_shown()
        for name, path in files.items():
            others = [out] if name == "plot" and out else []
            output.check_writable(f"--{name}", path, FILES[name][1], [*inputs, *others])
        if out.lower().endswith(".csv"):
            output.check_writable("--out", metadata_path(out), (".json",), inputs)
        elif out:
            check_path(os.path.realpath(out))
        if "plot" in files:
            output.check_matplotlib()
        return cls(form, values["quiet"], files, title)

    def deliver(self, release: Release | GroupedRelease) -> None:
        """Everything that was asked for is tried, the list itself first: it was paid for, and there is no second."""
        write: dict[str, Callable[[str], None]] = {
            "out": lambda path: write_table(path, release.columns(), note=release.note),
            "plot": lambda path: _draw(release, path),
            "report": lambda path: release.report(path, title=self.title),
        }
        failed, written = [], []
        if sys.stdout is not None:  # otherwise it goes to a file, as was checked before the charge
            COMMAND.check()
            try:
                self._show(release)
            except Exception as error:
                failed.append(f"shown ({_reason(error)})")
        for name, path in self.files.items():
            there, done = os.path.exists(path), f"{FILES[name][0]} {path}"
            COMMAND.check()
            try:
                write[name](path)
            except Exception as error:
                failed.append(f"{done} ({_reason(error)})")
            else:
                own = os.name == "posix" and not os.stat(path).st_mode & 0o077
                replaced = ", in place of what was there" if there else ""
                written.append(f"{done}{replaced}{', readable by you alone' if own else ''}")
                if path.lower().endswith(".csv"):
                    written.append(f"what it means to {metadata_path(path)}")
        if failed:
            said = "; ".join(f"the list could not be {one}" for one in failed)
            raise OSError(f"{said}; what was released is released, and charged where there is a ledger")
        heard = sys.stdout is not None or self.shown is not Format.table
        if written and heard and not self.quiet:  # what programs read stays alone on its stream
            output.echo_lines(terminal_safe("; ".join(written)), err=self.shown is not Format.table)

    def _show(self, release: Release | GroupedRelease) -> None:
        """Print it, and see that it arrived: what waits in a buffer would get lost in silence."""
        try:
            if self.shown is Format.json:
                output.echo_json(release.to_json())
            elif self.shown is Format.csv:
                sys.stdout.write(csv_table(release.columns()))
            elif self.shown is Format.parquet:
                _send_parquet(release)
            elif self.quiet:
                typer.echo("\n".join("\t".join(row) for row in zip(*release.texts().values(), strict=True)))
            else:
                show(release)
            sys.stdout.flush()
        except BrokenPipeError:
            with suppress(OSError, ValueError):  # or what is left in the buffer would fail once more at the end
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, sys.stdout.fileno())
                os.close(nowhere)
            raise


def _reason(error: Exception) -> str:
    return REASONS.get(getattr(error, "errno", None) or 0, type(error).__name__)


def _send_parquet(release: Release | GroupedRelease) -> None:
    draft = f"{temporary_name()}.parquet"
    try:
        write_table(draft, release.columns(), note=release.note)
        with open(draft, "rb") as file:
            sys.stdout.buffer.write(file.read())
    finally:
        remove(draft)


def _draw(release: Release | GroupedRelease, path: str) -> None:
    import matplotlib.pyplot as plt

    release.plot()
    output.write_picture(path, plt.gcf(), dpi=160)
    plt.close("all")


UNCOUNTED = "No ledger kept count: the next answer about these people adds its epsilon to this one (--ledger counts)."


def show(release: Release | GroupedRelease) -> None:
    """A table and what it cost: colours on a terminal, plain text in a pipe."""
    columns, remarks = release.texts(), [in_options(one, sys.argv[1:2]) for one in release.remarks]
    remarks += [] if release.receipt is not None else [UNCOUNTED]
    below = (release.line(), *notes_in_words(release), terminal_safe(why_in_words(release)))
    lines = [("", ""), ("", release.summary), *(("", one) for one in remarks), *(("dim", one) for one in below)]
    output.show_table(columns, FIGURES, lambda: release.lines(columns, remarks), below=lines)


Function = Callable[..., Release | GroupedRelease]


def _run(
    release: Function, what: str, context: typer.Context, values: Mapping[str, Any], names: str = "", **more: Any
) -> None:
    """Check everything that needs no row, open the ledger, release and deliver.

    `names` says where names come from, if they do not come from a public list: that needs a delta.
    """
    epsilon, delta, rho = values["epsilon"], values["delta"], values["rho"]
    budget = output.read_budget(epsilon, delta, rho)
    if names and delta is None:
        instead = "--candidates FILE, or --delta 1e-6" if "candidates" in values else "--delta 1e-6"
        raise ValueError(f"{names}, and no release without a delta exists: give {instead}")
    arguments = {**read_arguments(values), **more, "allow_large": True}
    arguments |= {"epsilon": epsilon} if rho is None else {"budget": ZCDP(rho)}
    arguments |= {} if delta is None else {"delta": delta}
    if not values["yes_really"] and as_epsilon(budget) > ABSURD_EPSILON:
        raise ValueError(
            f"an epsilon above {ABSURD_EPSILON:g} promises nobody anything (see `shortlist risk "
            f"{as_epsilon(budget):g}`): give a smaller one, or --yes-really if the data are public or made up"
        )
    source, ledger, candidates = values["source"], values["ledger"], values.get("candidates")
    name = values["purpose"] or f"{what} of {os.path.basename(source)}"
    books = [] if ledger is None or on_server(ledger) else [ledger, f"{ledger}-wal", f"{ledger}-shm"]
    inputs = [*files_at(source), *([] if candidates is None else files_at(candidates)), *books]
    delivery = Delivery.of(values, name, inputs)
    with open_ledger(ledger, context) as book, output.bar() as progress:
        made = release(source, progress=progress, ledger=book, purpose=name, **arguments)
    delivery.deliver(made)


@command
def top(context: typer.Context, values: dict[str, Any]) -> None:
    """The k items with the most users, and nothing else about anybody.

    \b
    For example: shortlist top films.parquet -k 5 --user user_id --item film \\
                   --candidates films.txt --epsilon 1 --values
    """
    k, names = values["k"], "without a public list of candidates their names come from the data"
    names = names if values["candidates"] is None else ""
    what = "top" if k is None else f"top {k}"
    _run(top_k, what, context, values, names=names, k=k, largest=not values["smallest"])


@command
def keys(context: typer.Context, values: dict[str, Any]) -> None:
    """Every name that enough people hold, with noisy counts, and nothing else about anybody.

    \b
    For example: shortlist keys films.parquet --user user_id --item film \\
                   --epsilon 1 --delta 1e-6

    Only so many of them, the best: shortlist top -k 5 with --delta 1e-6 and without --candidates.
    """
    _run(release_keys, "keys", context, values, names="names come from the data")


@command
def quantile(context: typer.Context, values: dict[str, Any]) -> None:
    """A median, or other quantiles, of one number per person, and nothing else about anybody.

    \b
    For example: shortlist quantile films.parquet --user user_id --value age \\
                   -q 0.5 --lower 0 --upper 120 --epsilon 1
    """
    alone, written = values["one_row_each"], "COMMANDLINE" in getattr(context.get_parameter_source("user"), "name", "")
    if (alone and written) or (values["user"] is None and not alone):
        raise typer.BadParameter("give --user, the column of people; or --one-row-each if each row is a person")
    _run(release_quantile, "quantile", context, values, user=None if alone else values["user"])
