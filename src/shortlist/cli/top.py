"""`shortlist top`: from a table to a private list."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shortlist import top_k
from shortlist.cli import options
from shortlist.cli.delivery import Delivery, check_large, cost_of, kept_files, named, opened
from shortlist.cli.options import keys_of
from shortlist.cli.progress_bar import drawn
from shortlist.mechanisms.entries import METHODS


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
