"""`shortlist ledger`: make a ledger, look at it, check it, export it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from shortlist._text import csv_table, terminal_safe
from shortlist.ledger.file import LedgerEntry
from shortlist.privacy import ZCDP, ApproxDP, Ledger, LedgerError, PureDP

app = typer.Typer(no_args_is_help=True, help="A privacy budget in a file that nobody can overdraw.")

Path = Annotated[str, typer.Argument(help="The ledger's file.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]


@app.command()
def init(
    path: Path,
    epsilon: Annotated[float | None, typer.Option(help="Budget: epsilon, pure unless there is a delta.")] = None,
    delta: Annotated[float | None, typer.Option(help="Budget: delta, beside epsilon or rho.")] = None,
    rho: Annotated[float | None, typer.Option(help="Budget: rho, for zCDP.")] = None,
    split: Annotated[
        float | None, typer.Option(help="The share of delta kept for conversion; 0.5 if left out.")
    ] = None,
    order: Annotated[float | None, typer.Option(help="Add up Renyi divergences of this order, not rhos.")] = None,
    as_json: Json = False,
) -> None:
    """Make a ledger. Its budget is fixed for good."""
    if (epsilon is None) == (rho is None):
        raise typer.BadParameter("give --epsilon (with --delta or without), or --rho: one of them")
    if os.path.lexists(path):
        raise LedgerError(f"{path} is there already: choose another path, or see `shortlist ledger show`")
    budget: PureDP | ZCDP | ApproxDP
    if rho is not None:
        budget = ZCDP(rho, delta or 0.0)
    elif epsilon is not None and delta is not None:
        budget = ApproxDP(epsilon, delta)
    else:
        budget = PureDP(epsilon)  # type: ignore[arg-type]
    _show(Ledger(path, budget=budget, split=split, order=order), 0, as_json)


@app.command()
def show(
    path: Path,
    rows: Annotated[int, typer.Option(min=0, help="How many of the newest entries.")] = 20,
    as_json: Json = False,
) -> None:
    """What was spent, what is left, and the newest entries."""
    _show(Ledger(path), rows, as_json)


@app.command()
def verify(
    path: Path,
    head: Annotated[str | None, typer.Option(help="A head kept from earlier: it must still be in the chain.")] = None,
    as_json: Json = False,
) -> None:
    """Read every entry again: the chain, the sums, the rule at every step."""
    ledger = Ledger(path)
    count = ledger.verify(head=head)
    if as_json:
        typer.echo(json.dumps({"verified": True, "entries": count, "head": ledger.head}))
    else:
        typer.echo(f"all {count:,} entries follow from one another; head {ledger.head}")


@app.command()
def export(path: Path, as_json: Json = False) -> None:
    """All entries, with exact numbers: CSV, or one JSON object."""
    ledger = Ledger(path)
    entries = ledger.entries()
    if as_json:
        typer.echo(json.dumps({**_facts(ledger), "entries": [asdict(entry) for entry in entries]}))
        return
    columns = {name: [getattr(entry, name) for entry in entries] for name in LedgerEntry.__dataclass_fields__}
    sys.stdout.write(csv_table(columns))


def _facts(ledger: Ledger) -> dict[str, Any]:
    terms = ledger.terms.as_json()
    spent, remaining = asdict(ledger.spent), asdict(ledger.remaining)
    return {"path": ledger.path, **terms, "spent": spent, "remaining": remaining, "head": ledger.head}


def _show(ledger: Ledger, rows: int, as_json: bool) -> None:
    entries = ledger.entries(last=rows)
    if as_json:
        typer.echo(json.dumps({**_facts(ledger), "entries": [asdict(entry) for entry in entries]}))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    facts = Table(show_header=False, show_edge=False, pad_edge=False, box=None)
    for name, value in (
        ("ledger", ledger.path),
        ("budget", str(ledger.terms)),
        ("spent", str(ledger.spent)),
        ("left", str(ledger.remaining)),
        ("head", ledger.head),
    ):
        facts.add_row(Text(name, style="bold"), Text(terminal_safe(value), overflow="fold"))
    console.print(facts)
    if entries:
        table = Table(show_edge=False, pad_edge=False)
        for column in ("entry", "time (UTC)", "what", "guarantee", "mechanism", "purpose"):
            table.add_column(column, justify="right" if column == "entry" else "left", overflow="fold")
        for entry in entries:
            what = entry.kind if entry.refund_of is None else f"refund of {entry.refund_of}"
            minute, mechanism = entry.time[:16].replace("T", " "), entry.mechanism.partition("(")[0]
            cells = (str(entry.number), minute, what, entry.guarantee, mechanism, entry.purpose)
            table.add_row(*(Text(terminal_safe(cell)) for cell in cells))
        console.print()
        console.print(table)
