"""`shortlist quantile`: quantiles of one number per person."""

from __future__ import annotations

import datetime
from typing import Annotated, Any

import typer

from shortlist import quantile as released_quantile
from shortlist.cli import options
from shortlist.cli.delivery import Delivery, check_large, cost_of, kept_files, named, opened
from shortlist.cli.options import keys_of
from shortlist.cli.progress_bar import drawn
from shortlist.votes import read_bound


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
