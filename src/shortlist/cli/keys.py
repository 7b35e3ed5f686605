"""`shortlist keys`: every name that enough people hold."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from shortlist._signals import COMMAND
from shortlist.cli.output import check_list_and_report
from shortlist.cli.progress_bar import drawn
from shortlist.cli.top import cost_of, deliver, kept_files, whether_booked
from shortlist.from_data import KeyRequest
from shortlist.privacy import Ledger
from shortlist.sampling.entropy import SECURE


def keys(
    source: Annotated[str, typer.Argument(help="A path or glob: parquet, CSV or JSON lines.", show_default=False)],
    user: Annotated[str, typer.Option(help="The column of people.", show_default=False)],
    item: Annotated[list[str], typer.Option(help="The column of names; several make one name.")],
    most: Annotated[
        int | None, typer.Option(help="For how many names each person counts; without it one vote is shared.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(help='Which rows count, for example "week >= 40".', show_default=False)
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="What it may cost, beside --delta.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="The chance that a name which one person alone brought is shown; needed.")
    ] = None,
    rho: Annotated[float | None, typer.Option(help="What it may cost, in zCDP.")] = None,
    weighted: Annotated[
        bool | None, typer.Option("--weighted/--plain", help="Whether a person shares one vote among the names.")
    ] = None,
    values: Annotated[bool, typer.Option("--values/--no-values", help="Noisy counts with the names.")] = True,
    at_least: Annotated[float | None, typer.Option(help="Leave out names whose noisy count is below.")] = None,
    ledger: Annotated[str | None, typer.Option(help="The ledger's file, charged before a row is read.")] = None,
    purpose: Annotated[str, typer.Option(help="What the ledger notes.")] = "",
    unit: Annotated[str, typer.Option(help="What one user is, for the record.")] = "user",
    memory: Annotated[str | None, typer.Option(help="How much memory to use before going to disk, as 512MB.")] = None,
    multiline: Annotated[
        bool, typer.Option("--multiline", help="Quoted fields of a CSV file may hold line breaks; trust its writer.")
    ] = False,
    out: Annotated[str | None, typer.Option(help="Write the names to this file (.csv or .parquet).")] = None,
    report: Annotated[str | None, typer.Option(help="Write a page about the release to this file (.html).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")] = False,
) -> None:
    """Every name that enough people hold, with noisy counts, and nothing else about anybody."""
    cost = cost_of(epsilon, delta, rho)
    if delta is None:
        raise ValueError("names come from the data, and no release without a delta exists: give --delta 1e-6")
    request = KeyRequest.of(
        user, item, most=most, where=where, epsilon=cost.get("epsilon"), delta=delta, budget=cost.get("budget"),
        weighted=weighted, values=values, at_least=at_least, unit=unit, memory=memory, multiline=multiline,
    )  # fmt: skip
    check_list_and_report(out, report, kept_files(source, None, ledger))
    paid = None
    if ledger is not None:
        book = Ledger(ledger)
        COMMAND.more = whether_booked(book)
        paid = request.booked(source, book, purpose or f"keys of {os.path.basename(source)}")
    release = drawn(paid, lambda progress: request.released(source, SECURE, paid, progress))
    deliver(release, out, None, report, purpose, as_json)
