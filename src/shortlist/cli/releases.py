"""Commands that release: top, keys and quantile; their options, each said once, and `shortlist.toml`."""

from __future__ import annotations

import errno
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from inspect import Parameter, Signature
from typing import Annotated, Any, NamedTuple

import typer

from shortlist import keys as release_keys
from shortlist import quantile as release_quantile
from shortlist import top_k
from shortlist._files import check_path, metadata_path, remove, temporary_name, write_table
from shortlist._signals import COMMAND
from shortlist._text import csv_table, terminal_safe
from shortlist.accounting.guarantees import ABSURD_EPSILON, as_epsilon
from shortlist.cli import output
from shortlist.cli.app import in_options
from shortlist.ledger.ledger import on_server
from shortlist.mechanisms.registry import METHODS
from shortlist.pages.summary import notes_in_words, why_in_words
from shortlist.privacy import ZCDP, ApprovalNeeded, BudgetExceeded, Ledger, LedgerError, OutcomeUnknown
from shortlist.release import FIGURES, GroupedRelease, Release
from shortlist.scores import read_bound
from shortlist.tables.file_sources import files_at

NEEDED = Parameter.empty
"""The default of an option that has none."""
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


class Option(NamedTuple):
    """An option of these commands; its name is that of the keyword argument that it gives."""

    commands: str
    name: str
    help: str
    metavar: str | None = None
    """None for a flag, which is a `bool`."""
    type: Any = bool
    default: Any = None
    written: str = ""
    """How it is written, if not by its name."""
    more: Mapping[str, Any] = {}

    @property
    def parameter(self) -> Parameter:
        """The parameter of a function that typer makes a command of."""
        kind, default, written = self.type, self.default, self.written
        if self.metavar is None and kind is bool:
            default, written = bool(default), written or f"--{self.name.replace('_', '-')}"
        kind = kind | None if default is None else kind
        made = output.option(self.help, self.metavar, *([written] if written else []), **self.more)
        made = output.argument(self.help, str(self.metavar)) if self.name == "source" else made
        return Parameter(self.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, made])


ALL = "top keys quantile"
OPTIONS = (
    Option(ALL, "source", "A path or glob: parquet, CSV or JSON lines.", "FILE", str, NEEDED),
    Option("quantile", "value", "The column of numbers or dates.", "COLUMN", str, NEEDED),
    Option("quantile", "lower", "The lower end of the range: a public number, or a date.", "END", str, NEEDED),
    Option("quantile", "upper", "The upper end.", "END", str, NEEDED),
    Option("top keys", "user", "The column of people.", "COLUMN", str, NEEDED),
    Option("quantile", "user", "The column of people.", "COLUMN", str),
    Option("quantile", "one_row_each", "In place of --user: each row is a person of its own. Your word."),
    Option("quantile", "q", "Which quantiles, from 0 to 1; give it several times.", "NUMBER", list[float], written="-q",
           more={"show_default": "0.5"}),
    Option("quantile", "step", "How fine an answer is; 1 between whole numbers, a day between dates.", "SIZE", str),
    Option("quantile", "per_user", "What a person's rows count for: share, median, mean, min, max or sum.", "WAY", str,
           "share"),
    Option("top", "item", "The column of items; several make one candidate.", "COLUMN", list[str], NEEDED),
    Option("keys", "item", "The column of names; several make one name.", "COLUMN", list[str], NEEDED),
    Option("keys", "most", "For how many names each person counts; without it one vote is shared.", "N", int),
    Option("top", "k", "How many items; left out, the data choose, which needs a delta.", "N", int, written="-k"),
    Option("top", "candidates",
           "The public list: a text file with one item a line, or a table file with the item column.", "FILE", str),
    Option("top quantile", "epsilon", "What it may cost; 0.1 to 3 are common, see `shortlist risk 1`.", "NUMBER",
           float),
    Option("keys", "epsilon", "What it may cost, beside --delta.", "NUMBER", float),
    Option("top", "delta", "The delta beside epsilon or rho; needed where the data names the candidates.", "NUMBER",
           float),
    Option("keys", "delta", "The chance that a name which one person alone brought is shown; needed.", "NUMBER", float),
    Option("quantile", "delta", "The delta beside epsilon.", "NUMBER", float),
    Option(ALL, "rho", "What it may cost, in zCDP.", "NUMBER", float),
    Option(ALL, "yes_really", "Allow an epsilon above 30, which promises nobody anything."),
    Option("top", "method", "A mechanism by name.", "NAME", str, "auto", more={"autocompletion": list_methods}),
    Option("quantile", "method", "permute-and-flip or exponential.", "NAME", str, "auto"),
    Option("top", "ordered", "Release the order too."),
    Option("top", "smallest", "The items with the fewest users; needs --candidates."),
    Option("keys", "weighted", "Whether a person shares one vote among the names.", None, bool | None,
           written="--weighted/--plain"),
    Option("top", "values", "Release noisy values too, with their margins."),
    Option("keys", "values", "Noisy counts with the names.", default=True, written="--values/--no-values"),
    Option("top", "gaps", "Release the lead of each item over the next too."),
    Option("top", "value", "Score by the sum of this column, within --clip.", "COLUMN", str),
    Option("top", "clip", "The least and the most one person adds to one item, as 0,50.", "LOW,HIGH", str),
    Option("top", "most", "Each person keeps at most so many items, drawn from their own.", "N", int),
    Option("top keys", "where", 'Which rows count, for example "week >= 40".', "CONDITION", str),
    Option("top", "by", "A list for each value of this column; several make one key.", "COLUMN", list[str]),
    Option("quantile", "by", "Quantiles for each value of this column; several make one key.", "COLUMN", list[str]),
    Option("top", "groups", "The public groups, as CH,DE,FR; without it they come from the data.", "NAMES", str),
    Option("quantile", "groups", "The public groups, as CH,DE,FR; needed with --by.", "NAMES", str),
    Option("top quantile", "groups_per_user", "In how many groups one person counts; 1 if not said.", "N", int),
    Option("top", "limit", "Without candidates: how many of the largest counts may be looked at.", "N", int),
    Option("top", "at_least", "With --values: leave out items whose noisy count is below.", "NUMBER", float),
    Option("keys", "at_least", "Leave out names whose noisy count is below.", "NUMBER", float),
    Option(ALL, "ledger", "The ledger (file or postgresql://), charged before a row is read.", "LEDGER", str),
    Option(ALL, "purpose", "What the ledger notes, and a report is called.", "TEXT", str, ""),
    Option(ALL, "unit", "What one user is, for the record.", "WORD", str, "user"),
    Option(ALL, "memory", "How much memory to use before going to disk, as 512MB.", "SIZE", str),
    Option(ALL, "multiline", "Quoted fields of a CSV file may hold line breaks; trust its writer."),
    Option(ALL, "separator", "What stands between the fields of a CSV file: a comma if not said; 'tab' for a tab.",
           "SIGN", str),
    Option(ALL, "out", "Write the list to this file (.csv or .parquet).", "FILE", str),
    Option(ALL, "plot", "Draw the list to this file (.png, .svg or .pdf).", "FILE", str),
    Option(ALL, "report", "Write a page about the release to this file (.html).", "FILE", str),
    Option(ALL, "shown", "How to print it: table, csv, json or parquet.", "FORMAT", Format, written="--format",
           more={"show_default": "table"}),
    Option(ALL, "as_json", "Short for --format json: one JSON object, for programs.", written="--json"),
    Option(ALL, "quiet", "Print the list alone, without what it cost."),
)  # fmt: skip
"""All options of these commands, in the order in which their help has them."""
SURFACE = {
    "source", "k", "epsilon", "delta", "rho", "yes_really", "smallest", "one_row_each", "groups", "ledger", "purpose",
    "out", "plot", "report", "shown", "as_json", "quiet",
}  # fmt: skip
"""Options that are no argument of the library's functions, or one that follows from several options."""


def read_groups(written: str | None, columns: int) -> list[Any] | None:
    """The public keys, from `CH,DE,FR`, or `CH|40,DE|40` for two columns."""
    if written is None:
        return None
    keys = [one.strip() for one in written.split(",")]
    return keys if columns == 1 else [tuple(key.split(BETWEEN)) for key in keys]


def read_clip(written: str) -> tuple[float, float]:
    """Two numbers, from `0,50`."""
    low, high = map(float, written.split(","))
    return low, high


END = "a number or a date such as 2024-01-31"
READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "separator": (lambda written: {"tab": "\t", "\\t": "\t"}.get(written, written), ""),
    "clip": (read_clip, "two numbers, as --clip 0,50"),
    **dict.fromkeys(("lower", "upper", "step"), (read_bound, END)),
}
"""How values are read that are not taken as they are, and what they must be."""


def read_argument(name: str, written: Any) -> Any:
    """The value of an argument of the library's function."""
    if name in ("by", "q"):
        return written or (None if name == "by" else 0.5)
    if name not in READERS or written is None:
        return written
    read, kind = READERS[name]
    try:
        return read(written)
    except ValueError:
        raise typer.BadParameter(f"--{name} must be {kind}") from None


def read_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the library's function."""
    arguments = {name: read_argument(name, value) for name, value in values.items() if name not in SURFACE}
    groups = {"groups": read_groups(values["groups"], len(values["by"] or [""]))} if "by" in values else {}
    return arguments | groups


def command(name: str, run: Callable[..., None], help: str) -> Callable[..., None]:
    """A function with the options of that command as its parameters, of which typer makes a command."""

    def start(context: typer.Context, **values: Any) -> None:
        run(context, values)

    context = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    own = [one.parameter for one in OPTIONS if name in one.commands.split()]
    vars(start)["__signature__"] = Signature([context, *own])
    start.__doc__, start.__annotations__ = help, {}
    return start


FILE = "shortlist.toml"
IN_FILE = {"user": str, "item": list, "value": str, "separator": str, "unit": str, "ledger": str}
"""Options that it may hold, and in which type: columns and places, never what is spent."""
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
        written = None
    if written is None:
        raise ValueError(f'{FILE} cannot be read: it must be TOML, for example user = "user_id"')
    return {name: _check_default(name, value) for name, value in written.items()}


def _check_default(name: str, value: Any) -> Any:
    if name.replace("-", "_") in COSTS:
        raise ValueError(f"{FILE} must not say {name}: what a release costs is written where it is spent")
    if name not in IN_FILE:
        raise ValueError(f"{FILE} does not know {name}; it may say {', '.join(IN_FILE)}")
    kind = IN_FILE[name]
    texts = [value] if isinstance(value, str) else value
    if not (isinstance(value, str | kind) and all(isinstance(one, str) for one in texts)):
        raise ValueError(f"{FILE}: {name} must be text{' or a list of texts' * (kind is list)}")
    return texts if kind is list else value


def open_ledger(ledger: str | None, context: typer.Context) -> tuple[Ledger | None, Callable[[], int | None]]:
    """The ledger that pays, if one does, and a function that asks it for the entry of the charge.

    A signal that stops the command is answered by what was charged, as the file itself says.
    """
    if ledger is None:
        return None, lambda: None
    book = Ledger(ledger)
    if "MAP" in getattr(context.get_parameter_source("ledger"), "name", ""):
        output.echo_lines(f"shortlist: {terminal_safe(book.path)} pays, as {FILE} says", err=True)
    head = book.head

    def say() -> str:
        try:
            entry = book.booked_since(head)
        except Exception as error:  # whatever it is, the line must be said
            return f"see `shortlist ledger show` for what was booked; it cannot be read now ({type(error).__name__})"
        return "nothing was booked" if entry is None else f"the charge was booked as entry {entry} and stays"

    COMMAND.more = say
    return book, lambda: book.booked_since(head)


@contextmanager
def tell_charge(charge: Callable[[], int | None]) -> Iterator[None]:
    """Where what is done inside fails after its charge, say that the charge stays."""
    COMMAND.check()
    try:
        yield
    except (BudgetExceeded, ApprovalNeeded, OutcomeUnknown):  # each says itself what was charged
        raise
    except Exception:
        COMMAND.check()  # a signal has a line of its own
        try:
            entry = charge()
        except LedgerError:  # it cannot be asked
            entry = None
        if entry is not None:
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
        shown, as_json = values.get("shown"), values.get("as_json")
        if as_json and shown not in (None, Format.json):
            raise typer.BadParameter("give --json or --format, not both")
        form = Format.json if as_json else shown or Format.table
        if form is Format.parquet and sys.stdout is not None and sys.stdout.isatty():
            raise typer.BadParameter("parquet is no text: send it to a file, or give --out list.parquet")
        files = {name: values[name] for name in FILES if values.get(name) is not None}
        out = files.get("out", "")
        if not out and "report" not in files:
            output.check_shown()
        for name, path in files.items():
            output.check_writable(
                f"--{name}", path, FILES[name][1], [*inputs, *([out] if name == "plot" and out else [])]
            )
        if out.lower().endswith(".csv"):
            output.check_writable("--out", metadata_path(out), (".json",), inputs)
        elif out:
            check_path(os.path.realpath(out))
        if "plot" in files:
            _check_matplotlib()
        return cls(form, bool(values.get("quiet")), files, title)

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
            output.forget_output()
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
    book, charge = open_ledger(ledger, context)
    with tell_charge(charge), output.bar() as progress:
        made = release(source, progress=progress, ledger=book, purpose=name, **arguments)
    delivery.deliver(made)


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
