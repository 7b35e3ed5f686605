"""Options of the commands that read a table, each said once; and how a command is made of them."""

from __future__ import annotations

import datetime
import os
import tomllib
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from inspect import Parameter, Signature
from typing import Annotated, Any, NamedTuple

import typer

from shortlist.cli.output import argument, option
from shortlist.mechanisms.registry import METHODS
from shortlist.scores import read_bound

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
        made = option(self.help, self.metavar, *([written] if written else []), **self.more)
        made = argument(self.help, str(self.metavar)) if self.name == "source" else made
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


def read_separator(written: str | None) -> str | None:
    """A separator as it is written on a command line."""
    return {"tab": "\t", "\\t": "\t"}.get(written or "", written)


def read_groups(written: str | None, columns: int) -> list[Any] | None:
    """The public keys, from `CH,DE,FR`, or `CH|40,DE|40` for two columns."""
    if written is None:
        return None
    keys = [one.strip() for one in written.split(",")]
    return keys if columns == 1 else [tuple(key.split(BETWEEN)) for key in keys]


def read_clip(written: str | None) -> tuple[float, float] | None:
    """Two numbers, from `0,50`."""
    if written is None:
        return None
    try:
        low, high = map(float, written.split(","))
    except ValueError:
        raise typer.BadParameter("--clip must be two numbers, as --clip 0,50") from None
    return low, high


def read_end(option: str, written: str | None) -> int | float | datetime.date | None:
    """A number as it is written, or a day."""
    try:
        return None if written is None else read_bound(written)
    except ValueError:
        raise typer.BadParameter(f"{option} must be a number or a date such as 2024-01-31") from None


READERS: dict[str, Callable[[Any], Any]] = {
    "separator": read_separator,
    "clip": read_clip,
    "q": lambda q: q or 0.5,
    "by": lambda by: by or None,
    **{name: partial(read_end, f"--{name}") for name in ("lower", "upper", "step")},
}
"""How values are read that are not taken as they are."""


def read_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the library's function."""
    arguments = {name: READERS.get(name, lambda value: value)(value) for name, value in values.items()}
    groups = {"groups": read_groups(values["groups"], len(values["by"] or [""]))} if "by" in values else {}
    return {name: value for name, value in arguments.items() if name not in SURFACE} | groups


def command(name: str, run: Callable[..., None], help: str) -> Callable[..., None]:
    """A function with the options of that command as its parameters, of which typer makes a command."""

    def called(context: typer.Context, **values: Any) -> None:
        run(context, values)

    context = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    own = [one.parameter for one in OPTIONS if name in one.commands.split()]
    vars(called)["__signature__"] = Signature([context, *own])
    called.__doc__, called.__annotations__ = help, {}
    return called


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
