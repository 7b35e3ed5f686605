"""The options that several commands share, described once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer


class Format(StrEnum):
    """How a release is printed."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


Source = Annotated[
    str, typer.Argument(help="A path or glob: parquet, CSV or JSON lines.", show_default=False, metavar="FILE")
]
User = Annotated[str, typer.Option(help="The column of people.", show_default=False, metavar="COLUMN")]
Where = Annotated[
    str | None,
    typer.Option(help='Which rows count, for example "week >= 40".', show_default=False, metavar="CONDITION"),
]
Epsilon = Annotated[
    float | None, typer.Option(help="What it may cost; 0.1 to 3 are common, see `shortlist risk 1`.", metavar="NUMBER")
]
Rho = Annotated[float | None, typer.Option(help="What it may cost, in zCDP.", metavar="NUMBER")]
Large = Annotated[bool, typer.Option("--yes-really", help="Allow an epsilon above 30, which promises nobody anything.")]
GroupsPerUser = Annotated[
    int | None,
    typer.Option(help="In how many groups one person counts; 1 if not said.", show_default=False, metavar="N"),
]
LedgerPath = Annotated[
    str | None,
    typer.Option(
        "--ledger", help="The ledger (file or postgresql://), charged before a row is read.", metavar="LEDGER"
    ),
]
Purpose = Annotated[str, typer.Option(help="What the ledger notes, and a report is called.", metavar="TEXT")]
Unit = Annotated[str, typer.Option(help="What one user is, for the record.", metavar="WORD")]
Memory = Annotated[
    str | None, typer.Option(help="How much memory to use before going to disk, as 512MB.", metavar="SIZE")
]
Multiline = Annotated[
    bool, typer.Option("--multiline", help="Quoted fields of a CSV file may hold line breaks; trust its writer.")
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="What stands between the fields of a CSV file: a comma if not said; 'tab' for a tab.", metavar="SIGN"
    ),
]
Out = Annotated[str | None, typer.Option(help="Write the list to this file (.csv or .parquet).", metavar="FILE")]
Plot = Annotated[str | None, typer.Option(help="Draw the list to this file (.png, .svg or .pdf).", metavar="FILE")]
Report = Annotated[
    str | None, typer.Option(help="Write a page about the release to this file (.html).", metavar="FILE")
]
Shown = Annotated[
    Format | None,
    typer.Option(
        "--format", help="How to print it: table, csv, json or parquet.", show_default="table", metavar="FORMAT",
    ),
]  # fmt: skip
AsJson = Annotated[bool, typer.Option("--json", help="Short for --format json: one JSON object, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print the list alone, without what it cost.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]


def letter(separator: str | None) -> str | None:
    """A separator as it is written on a command line."""
    return {"tab": "\t", "\\t": "\t"}.get(separator or "", separator)


BETWEEN = "|"
"""Stands between the parts of a key, where several columns make it."""


def keys_of(groups: str | None, columns: int) -> list[Any] | None:
    """The public keys, from `CH,DE,FR`, or `CH|40,DE|40` for two columns."""
    if groups is None:
        return None
    keys = [one.strip() for one in groups.split(",")]
    return keys if columns == 1 else [tuple(key.split(BETWEEN)) for key in keys]
