"""`shortlist keys`: every name that enough people hold."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shortlist import keys as released_keys
from shortlist.cli import options
from shortlist.cli.delivery import Delivery, check_large, cost_of, kept_files, named, opened
from shortlist.cli.progress_bar import drawn


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
