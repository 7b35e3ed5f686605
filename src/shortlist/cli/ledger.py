"""`shortlist ledger`: make a ledger, look at it, divide it, check it, report it, export it, approve what waits."""

from __future__ import annotations

import json
import math
import os
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from shortlist._text import csv_table, terminal_safe, without_arguments
from shortlist.accounting.tight_zcdp import largest_range
from shortlist.cli.output import Hinting, check_writable
from shortlist.ledger.chain import LedgerEntry
from shortlist.ledger.opening import of_server, on_server, shown_path
from shortlist.ledger.turn import WAIT
from shortlist.ledger.words import user_name
from shortlist.pages.guarantee_in_words import odds, percent
from shortlist.pages.ledger_page import cost_in_words, ledger_columns
from shortlist.pages.rounding import number_text
from shortlist.privacy import ZCDP, ApproxDP, Ledger, LedgerError, PureDP

app = typer.Typer(cls=Hinting, no_args_is_help=True, help="A privacy budget in a file that nobody can overdraw.")

CANDIDATES, SURE = 1000, 0.99
"""For the sentence that says what a share buys."""

Path = Annotated[
    str, typer.Argument(help="The ledger's file, or postgresql://user@host/base?name=q4.", show_default=False)
]
HEADS = ("entry", "time (UTC)", "who", "what", "cost", "purpose", "mechanism")
WIDE = 110
"""Columns of a terminal that has room for the mechanisms; they are in `shortlist ledger export` too."""
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]


@app.command()
def init(
    path: Path,
    epsilon: Annotated[float | None, typer.Option(help="Budget: epsilon, pure unless there is a delta.")] = None,
    delta: Annotated[float | None, typer.Option(help="Budget: delta, beside epsilon or rho.")] = None,
    rho: Annotated[float | None, typer.Option(help="Budget: rho, for zCDP.")] = None,
    split: Annotated[
        float | None,
        typer.Option(help="The share of delta kept for adding up many small charges; 0.5 if left out, 0 for none."),
    ] = None,
    order: Annotated[float | None, typer.Option(help="Add up Renyi divergences of this order, not rhos.")] = None,
    approval: Annotated[
        bool, typer.Option("--approval", help="Each release waits until another user has approved it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a ledger. Its budget is fixed for good."""
    if (epsilon is None) == (rho is None):
        raise typer.BadParameter("give --epsilon (with --delta or without), or --rho: one of them")
    if os.path.lexists(path) or (on_server(path) and _is_there(path)):
        raise LedgerError(f"{shown_path(path)} is there already: choose another path, or see `shortlist ledger show`")
    budget: PureDP | ZCDP | ApproxDP
    if rho is not None:
        budget = ZCDP(rho, delta or 0.0)
    elif epsilon is not None and delta is not None:
        budget = ApproxDP(epsilon, delta)
    else:
        budget = PureDP(epsilon)  # type: ignore[arg-type]
    _show(Ledger(path, budget=budget, split=split, order=order, approval=approval), 0, as_json)
    if not (as_json or delta):
        typer.echo("Names from the data need a delta, and this budget has none: for them add --delta 1e-6.")


@app.command()
def show(
    path: Path,
    rows: Annotated[int, typer.Option(min=0, help="How many of the newest entries.")] = 20,
    as_json: Json = False,
) -> None:
    """What is booked, what would still be admitted, and the newest entries."""
    _show(Ledger(path), rows, as_json)


@app.command()
def plan(
    path: Path,
    releases: Annotated[int, typer.Option(min=1, help="How many equal releases are to come.", show_default=False)],
    delta: Annotated[float, typer.Option(help="What each needs of its own: for names from the data.")] = 0.0,
    as_json: Json = False,
) -> None:
    """What each of so many equal releases may spend, and what that buys. Nothing is booked."""
    ledger = Ledger(path)
    share = ledger.plan(releases, delta=delta)
    name, value = ("rho", share.rho) if isinstance(share, ZCDP) else ("epsilon", share.epsilon)
    options = f"--{name} {value!r}" + (f" --delta {delta!r}" if delta else "")
    right, lead = odds(share).right, _lead(share)
    if as_json:
        each = {"kind": type(share).__name__, name: value, "delta": delta}
        facts = {"releases": releases, "each": each, "options": options, "right": right, "lead": lead}
        typer.echo(json.dumps({**facts, "standing": ledger.standing.as_json()}))
        return
    size = number_text(value, up=False, same=True)
    each_text = f"{name} {size}" + (f" and delta {number_text(delta)}" if delta else "")
    rule = "rule (b), which adds up rhos" if name == "rho" else "rule (a), which adds up epsilons"
    if name == "rho" and isinstance(ledger.budget, ZCDP):
        rule = "the sum of rhos"
    elif ledger.terms.order is not None and value * releases > (ledger.remaining.epsilon or 0.0) * (1 + 1e-12):
        rule = "rule (b), which adds up divergences"
    typer.echo(
        f"each of {releases:,} releases may spend {each_text}, by {rule}: {options}\n"
        f"what that buys: among {CANDIDATES:,} public candidates one that leads by {lead:,} people is named with "
        f"probability {SURE} or more\n"
        f"what one of them can give away: a guess of 50% becomes at most {percent(right)}; all of them together keep "
        f"the budget, {ledger.budget}\n{terminal_safe(str(ledger))}"
    )


def _lead(share: PureDP | ApproxDP | ZCDP) -> int:
    """By how many people an item must lead all others to be the one winner, nearly surely.

    By the exponential mechanism each other one wins with at most e^(-scale lead) of its chance (Theorem 52).
    """
    scale = largest_range(share.rho) if isinstance(share, ZCDP) else share.epsilon
    return math.ceil(math.log((CANDIDATES - 1) / (1 - SURE)) / scale)


@app.command()
def report(
    path: Path,
    out: Annotated[str, typer.Option(help="The page (.html); its table goes beside it (.csv).", show_default=False)],
    title: Annotated[str, typer.Option(help="Its heading.")] = "",
) -> None:
    """A page for whoever answers for the budget: every release, who asked, what for, what is left."""
    check_writable("--out", out, (".html",), [] if on_server(path) else [path])
    Ledger(path).report(out, title=title)
    typer.echo(f"written: {terminal_safe(out)}, and its table beside it")


@app.command()
def approve(
    path: Path,
    request: Annotated[int, typer.Argument(help="The number of the entry that asks.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Approve a release that another user asked for."""
    ledger = Ledger(path)
    ledger.approve(request)
    who = next((entry.who for entry in ledger.entries() if entry.kind == "approval" and entry.request == request), None)
    name = who or user_name()
    if as_json:
        typer.echo(json.dumps({"approved": request, "by": name, "head": ledger.head}))
    else:
        typer.echo(f"entry {request} is approved by {terminal_safe(name)}; whoever asked may ask the same again")


@app.command()
def find(
    path: Path,
    receipt: Annotated[
        str, typer.Argument(help="What an unknown outcome said, or an entry's hash.", show_default=False)
    ],
    as_json: Json = False,
) -> None:
    """Whether something was booked, for good: what is not found now never will be."""
    entry = Ledger(path).find(receipt)
    if as_json:
        typer.echo(json.dumps({"booked": entry is not None, "entry": None if entry is None else entry.number}))
    elif entry is None:
        typer.echo("nothing was booked under this receipt, and nothing will be")
    else:
        typer.echo(f"it was booked: entry {entry.number}, a {entry.kind}, {terminal_safe(entry.guarantee)}")


@app.command()
def move(
    path: Annotated[str, typer.Argument(help="The ledger's file.", show_default=False)],
    target: Annotated[str, typer.Argument(help="postgresql://owner@host/base?name=q4", show_default=False)],
) -> None:
    """Close a ledger's file for good, and go on with it on a server. There are never two budgets."""
    where = of_server("moving", "move")(path, target, WAIT)
    typer.echo(f"{terminal_safe(path)} is closed for good; it goes on as {terminal_safe(where)}")


@app.command()
def grant(path: Path, role: Annotated[str, typer.Argument(help="A role of the server.", show_default=False)]) -> None:
    """Let a role of the server charge and read, and nothing else."""
    Ledger(path).grant(role)
    typer.echo(f"{terminal_safe(role)} may charge and read it")


@app.command()
def revoke(path: Path, role: Annotated[str, typer.Argument(help="A role of the server.", show_default=False)]) -> None:
    """Take back what grant gave."""
    Ledger(path).revoke(role)
    typer.echo(f"{terminal_safe(role)} may no longer use it")


@app.command()
def close(
    path: Path,
    reason: Annotated[
        str, typer.Option(help="What is noted, and told to whoever tries to charge.", show_default=False)
    ],
) -> None:
    """End the budget for good: nothing is booked from now on. To stop using it nothing needs closing."""
    ledger = Ledger(path)
    ledger.close(reason)
    typer.echo(f"{terminal_safe(ledger.path)} is closed for good; head {ledger.head}")


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
def export(
    path: Path,
    exact: Annotated[bool, typer.Option("--exact", help="Fractions as they are in the file, not decimals.")] = False,
    as_json: Json = False,
) -> None:
    """All entries: CSV, or one JSON object. Numbers are decimals, rounded up."""
    ledger = Ledger(path)
    entries = ledger.entries()
    if exact:
        columns = {name: [getattr(entry, name) for entry in entries] for name in LedgerEntry.__dataclass_fields__}
    else:
        columns = _columns(ledger, entries)
    if as_json:
        typer.echo(json.dumps({**_facts(ledger), "entries": _rows(columns)}))
    else:
        sys.stdout.write(csv_table(columns))


def _is_there(path: str) -> bool:
    """Whether there is a ledger on a server, for this role."""
    try:
        Ledger(path)
    except LedgerError:
        return False
    return True


def _columns(ledger: Ledger, entries: list[LedgerEntry]) -> dict[str, list[Any]]:
    return ledger_columns(entries, rho=ledger.terms.order is None)


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _facts(ledger: Ledger) -> dict[str, Any]:
    terms = ledger.terms.as_json()
    del terms["limits"]  # fractions of many digits
    spent, remaining, standing = asdict(ledger.spent), asdict(ledger.remaining), ledger.standing.as_json()
    numbers = {"spent": spent, "remaining": remaining, "standing": standing}
    return {"path": ledger.path, **terms, **numbers, "head": ledger.head}


def _show(ledger: Ledger, rows: int, as_json: bool) -> None:
    entries = ledger.entries(last=rows)
    if as_json:
        typer.echo(json.dumps({**_facts(ledger), "entries": _rows(_columns(ledger, entries))}))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console, standing = Console(), ledger.standing
    facts = Table(show_header=False, show_edge=False, pad_edge=False, box=None)
    for name, value in (
        ("ledger", ledger.path),
        ("budget", str(ledger.terms)),
        ("booked", f"{standing.so_far}, {standing.times}"),
        ("left", ledger.closed or standing.admits),
        *_kept_delta(ledger, standing.releases),
        ("head", ledger.head),
    ):
        facts.add_row(Text(name, style="bold"), Text(terminal_safe(value), overflow="fold"))
    console.print(facts)
    if entries:
        table = Table(show_edge=False, pad_edge=False)
        narrow = console.width < WIDE
        for column in HEADS[: -1 if narrow else None]:
            table.add_column(column, justify="right" if column == "entry" else "left", overflow="fold")
        for entry in entries:
            what = entry.kind if entry.refund_of is None else f"refund of {entry.refund_of}"
            what += "" if entry.request is None else f" of request {entry.request}"
            minute, mechanism = entry.time[:16].replace("T", " "), without_arguments(entry.mechanism)
            cost = cost_in_words(entry, rho=ledger.terms.order is None) if entry.kind in ("charge", "refund") else ""
            cells = [str(entry.number), minute, entry.who or "", what, cost, entry.purpose, mechanism]
            table.add_row(*(Text(terminal_safe(cell)) for cell in cells[: -1 if narrow else None]))
        console.print()
        console.print(table)
        for words in _waiting(entries, rho=ledger.terms.order is None):
            console.print()
            console.print(Text(terminal_safe(words)), overflow="fold")


def _waiting(entries: list[LedgerEntry], *, rho: bool) -> list[str]:
    """What nobody has approved yet, in all its words, however narrow the terminal: whoever approves approves these."""
    done = {entry.request for entry in entries}
    return [
        f"entry {one.number} {cost_in_words(one, rho=rho)} yet; {one.unit}; {one.mechanism}; {one.source}"
        for one in entries
        if one.kind == "request" and one.number not in done
    ]


def _kept_delta(ledger: Ledger, releases: int) -> list[tuple[str, str]]:
    """What is said of a delta of which a share is kept: nothing is set aside in silence."""
    budget, left = ledger.budget, ledger.remaining.delta
    if not isinstance(budget, ApproxDP) or not ledger.terms.split:
        return []
    whole = number_text(budget.delta)
    if ledger.spent.delta > ledger.terms.limits.delta:
        return [("delta", f"{number_text(left, up=False)} of {whole} is left for the charges' own")]
    share = f"the share {ledger.terms.split:g} of {whole} is kept for adding up many small charges"
    if not releases and ledger.terms.limits.delta:
        return [("delta", f"the first charge may have all of {whole}; if it has less, {share} (--split 0: none)")]
    return [("delta", f"{number_text(left, up=False)} is left for the charges' own; {share}")]
