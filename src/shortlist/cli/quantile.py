"""`shortlist quantile`: a median or other quantiles of one number per person."""

from __future__ import annotations

import datetime
import os
from typing import Annotated

import typer

from shortlist._signals import COMMAND
from shortlist.cli.output import check_writable
from shortlist.cli.progress_bar import bar
from shortlist.cli.top import cost_of, deliver, kept_files, whether_booked
from shortlist.cli.top_groups import keys_of
from shortlist.privacy import Ledger
from shortlist.quantile_request import quantile_request
from shortlist.sampling.entropy import SECURE
from shortlist.votes import read_bound


def quantile(
    source: Annotated[str, typer.Argument(help="A path or glob: parquet, CSV or JSON lines.", show_default=False)],
    value: Annotated[str, typer.Option(help="The column of numbers or dates.", show_default=False)],
    lower: Annotated[str, typer.Option(help="The lower end of the range: a public number, or a date.")],
    upper: Annotated[str, typer.Option(help="The upper end.")],
    user: Annotated[str | None, typer.Option(help="The column of people.", show_default=False)] = None,
    one_row_each: Annotated[
        bool, typer.Option("--one-row-each", help="In place of --user: each row is a person of its own. Your word.")
    ] = False,
    q: Annotated[
        list[float] | None, typer.Option("-q", help="Which quantiles, from 0 to 1.", show_default="0.5")
    ] = None,
    step: Annotated[str | None, typer.Option(help="How fine an answer is.", show_default=False)] = None,
    per_user: Annotated[
        str, typer.Option(help="What a person's rows count for: share, median, mean, min, max or sum.")
    ] = "share",
    epsilon: Annotated[float | None, typer.Option(help="What it may cost; pure unless there is a delta.")] = None,
    delta: Annotated[float | None, typer.Option(help="The delta beside epsilon.")] = None,
    rho: Annotated[float | None, typer.Option(help="What it may cost, in zCDP.")] = None,
    method: Annotated[str, typer.Option(help="permute-and-flip or exponential.")] = "auto",
    by: Annotated[
        list[str] | None, typer.Option(help="Quantiles for each value of this column; several make one key.")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="The public groups, as CH,DE,FR; needed with --by.", show_default=False)
    ] = None,
    groups_per_user: Annotated[
        int | None, typer.Option(help="In how many groups one person counts; 1 if not said.", show_default=False)
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="The ledger's file, charged before a row is read.")] = None,
    purpose: Annotated[str, typer.Option(help="What the ledger notes.")] = "",
    unit: Annotated[str, typer.Option(help="What one user is, for the record.")] = "user",
    memory: Annotated[str | None, typer.Option(help="How much memory to use before going to disk, as 512MB.")] = None,
    multiline: Annotated[
        bool, typer.Option("--multiline", help="Quoted fields of a CSV file may hold line breaks; trust its writer.")
    ] = False,
    out: Annotated[str | None, typer.Option(help="Write the quantiles to this file (.csv or .parquet).")] = None,
    report: Annotated[str | None, typer.Option(help="Write a page about the release to this file (.html).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")] = False,
) -> None:
    """A median, or other quantiles, of one number per person, and nothing else about anybody."""
    if (user is None) == (not one_row_each):
        raise typer.BadParameter("give --user, the column of people; or --one-row-each if each row is a person")
    cost = cost_of(epsilon, delta, rho)
    request = quantile_request(
        source, user=user, value=value, q=q or 0.5, lower=bound("--lower", lower),
        upper=bound("--upper", upper), step=None if step is None else bound("--step", step), per_user=per_user,
        epsilon=cost.get("epsilon"), delta=cost.get("delta"), budget=cost.get("budget"), method=method, unit=unit,
        memory=memory, multiline=multiline, by=by or None, groups=keys_of(groups, len(by or [""])),
        groups_per_user=groups_per_user,
    )  # fmt: skip
    inputs = kept_files(source, None, ledger)
    if out is not None:
        check_writable("--out", out, (".csv", ".parquet"), inputs)
    if report is not None:
        check_writable("--report", report, (".html",), inputs)
    paid = None
    if ledger is not None:
        book = Ledger(ledger)
        COMMAND.more = whether_booked(book)
        paid = request.booked(book, purpose or f"quantile of {os.path.basename(source)}")
    COMMAND.check()
    try:
        with bar() as progress:
            release = request.released(SECURE, paid, progress)  # type: ignore[arg-type]
    except Exception:
        COMMAND.check()  # a signal has a line of its own
        if paid is not None:
            typer.echo("shortlist: the ledger was charged before a row was read; the charge stays", err=True)
        raise
    deliver(release, out, None, report, purpose, as_json)


def bound(option: str, text: str) -> int | float | datetime.date:
    """A number as it is written, or a day."""
    try:
        return read_bound(text)
    except ValueError:
        raise typer.BadParameter(f"{option} must be a number or a date such as 2024-01-31") from None
