"""Commands of a ledger."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from typing import Annotated, Any

import typer

from shortlist._text import terminal_safe
from shortlist.accounting.curves import largest_range
from shortlist.cli import output
from shortlist.cli.output import Json, argument, flag, option
from shortlist.ledger.chain import WAIT, LedgerEntry, user_name
from shortlist.ledger.filter import HAIR
from shortlist.ledger.ledger import of_server, on_server, public_path
from shortlist.pages.ledger_page import cost_in_words, ledger_columns, waiting
from shortlist.pages.standing import DELTA, SAME, number_text
from shortlist.pages.summary import caution, mechanism_in_words, percent, risk
from shortlist.pages.texts import text_table
from shortlist.privacy import ZCDP, Ledger, LedgerError
from shortlist.release_io import csv_table, json_line

HEADS = ("entry", "time (UTC)", "who", "what", "cost", "purpose", "mechanism")


def echo_ledger(ledger: Ledger, columns: dict[str, list[Any]]) -> None:
    """How a ledger stands, with these entries, for programs."""
    terms = ledger.terms.as_json()
    del terms["limits"]  # fractions of many digits
    spent, remaining, standing = asdict(ledger.spent), asdict(ledger.remaining), ledger.standing.as_json()
    numbers = {"spent": spent, "remaining": remaining, "standing": standing}
    entries = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    output.echo_json(json_line({"path": ledger.path, **terms, **numbers, "head": ledger.head, "entries": entries}))


def show_ledger(ledger: Ledger, rows: int, as_json: bool) -> None:
    """How it stands, with so many of its newest entries; those that wait for approval in all their words."""
    entries, rho = ledger.entries(last=rows), ledger.terms.order is None
    if as_json:
        echo_ledger(ledger, ledger_columns(entries, rho=rho))
        return
    columns, below = _entry_texts(entries, rho=rho), []
    facts = [f"{name:<6}  {value}" for name, value in _facts(ledger).items()]
    large = caution(ledger.terms.budget)
    above = [*facts, *([large] if large else []), *([""] if entries else [])]
    for one in waiting(entries):
        words = f"entry {one.number} {cost_in_words(one, rho=rho)} yet; {one.unit}; {one.mechanism}; {one.source}"
        below += ["", terminal_safe(words)]
    output.show_table(  # nothing is cut or broken for programs and files
        columns if entries else {},
        ["entry"],
        lambda: "\n".join([*above, *([text_table(columns, ["entry"])] if entries else []), *below]),
        above=[("", line) for line in above],
        below=[("", line) for line in below],
        spare=["mechanism"],  # it is in `shortlist ledger export` too
    )


def _facts(ledger: Ledger) -> dict[str, str]:
    standing, delta = ledger.standing, str(ledger).partition(DELTA)[2]
    guess = percent(risk(ledger.terms.budget).guess)
    mixed = "not bounded by the budget: charges for users who are added and for users who are replaced are added up"
    whole = f"once all is spent, a guess whether one user is in the data is right at most {guess} of the time"
    facts = {
        "ledger": ledger.path,
        "budget": str(ledger.terms),
        "risk": mixed if ledger.terms.mixed else whole,
        "booked": f"{standing.so_far}, {standing.times}",
        "left": ledger.closed or standing.admits,
        "delta": delta,
        "head": ledger.head,
    }
    return {name: terminal_safe(value) for name, value in facts.items() if value}


def _entry_texts(entries: list[LedgerEntry], *, rho: bool) -> dict[str, list[str]]:
    """The entries as a person reads them, column by column."""
    rows = []
    for entry in entries:
        what = entry.kind if entry.refund_of is None else f"refund of {entry.refund_of}"
        what += "" if entry.request is None else f" of request {entry.request}"
        minute, mechanism = entry.time[:16].replace("T", " "), mechanism_in_words(entry.mechanism)
        cost = cost_in_words(entry, rho=rho) if entry.kind in ("charge", "refund") else ""
        rows.append([str(entry.number), minute, entry.who or "", what, cost, entry.purpose, mechanism])
    return {name: [terminal_safe(row[n]) for row in rows] for n, name in enumerate(HEADS)}


app = typer.Typer(cls=output.Hinting, no_args_is_help=True)
command = partial(app.command, cls=output.Described)


@app.callback()
def ledger() -> None:
    """A privacy budget in a file that nobody can overdraw.

    \b
    For example: shortlist ledger init q4.db --epsilon 3 --delta 1e-6
                 shortlist ledger show q4.db
    """


CANDIDATES, SURE = 1000, 0.99
"""For the sentence that says what a share buys."""

Path = Annotated[str, argument("The ledger's file, or postgresql://user@host/base?name=q4.", "LEDGER")]
Role = Annotated[str, argument("A role of the server.", "ROLE")]
SPLIT = "The share of delta kept for adding up many small charges; 0.5 if left out, 0 for none."
MIXED = "Add up charges for users who are added and for users who are replaced; the sum bounds neither."


@command()
def init(
    path: Path,
    epsilon: Annotated[float | None, option("Budget: epsilon, pure unless there is a delta.", "NUMBER")] = None,
    delta: Annotated[float | None, option("Budget: delta, beside epsilon or rho.", "NUMBER")] = None,
    rho: Annotated[float | None, option("Budget: rho, for zCDP.", "NUMBER")] = None,
    split: Annotated[float | None, option(SPLIT, "NUMBER")] = None,
    order: Annotated[float | None, option("Add up Renyi divergences of this order, not rhos.", "NUMBER")] = None,
    approval: Annotated[bool, flag("Each release waits until another user has approved it.", "--approval")] = False,
    mixed: Annotated[bool, flag(MIXED, "--allow-mixed-neighbors")] = False,
    as_json: Json = False,
) -> None:
    """Make a ledger. Its budget is fixed for good.

    \b
    For example: shortlist ledger init q4.db --epsilon 3 --delta 1e-6
    """
    budget = output.read_budget(epsilon, delta, rho)
    there = os.path.lexists(path)
    if on_server(path):
        with contextlib.suppress(LedgerError):  # there is none, for this role
            there = bool(Ledger(path))
    if there:
        raise LedgerError(f"{public_path(path)} is there already: choose another path, or see `shortlist ledger show`")
    made = Ledger(path, budget=budget, split=split, order=order, approval=approval, allow_mixed_neighbors=mixed)
    show_ledger(made, 0, as_json)
    if not (as_json or delta):
        output.echo_lines("Names from the data need a delta, and this budget has none: for them add --delta 1e-6.")


@command()
def show(
    path: Path,
    rows: Annotated[int, option("How many of the newest entries.", "N", min=0)] = 20,
    as_json: Json = False,
) -> None:
    """What is booked, what would still be admitted, and the newest entries.

    \b
    For example: shortlist ledger show q4.db
    """
    show_ledger(Ledger(path), rows, as_json)


@command()
def plan(
    path: Path,
    releases: Annotated[int, option("How many equal releases are to come.", "N", min=1)],
    delta: Annotated[float, option("What each needs of its own: for names from the data.", "NUMBER")] = 0.0,
    as_json: Json = False,
) -> None:
    """What each of so many equal releases may spend, and what that buys. Nothing is booked.

    \b
    For example: shortlist ledger plan q4.db --releases 13
    """
    ledger = Ledger(path)
    share = ledger.plan(releases, delta=delta)
    name, value = ("rho", share.rho) if isinstance(share, ZCDP) else ("epsilon", share.epsilon)
    sums_of_floats = ledger.terms.order is None  # elsewhere the last one is not drawn for what is left
    asks = decimal_of(value, releases) if sums_of_floats else value
    options = f"--{name} {asks!r}" + (f" --delta {delta!r}" if delta else "")
    # By the exponential mechanism each other item wins with at most e^(-scale lead) of its chance (Theorem 52).
    scale = largest_range(value) if isinstance(share, ZCDP) else value
    guess, lead = risk(share).guess, math.ceil(math.log((CANDIDATES - 1) / (1 - SURE)) / scale)
    each = {"kind": type(share).__name__, name: value, "delta": delta}
    facts = {"releases": releases, "each": each, "options": options, "guess": guess, "lead": lead}
    size = number_text(value, up=False, same=True)
    each_text = f"{name} {size}" + (f" and delta {number_text(delta)}" if delta else "")
    beyond = not sums_of_floats and value * releases > (ledger.remaining.epsilon or 0.0) * (1 + 1e-12)
    buys = (
        f"what that buys: among {CANDIDATES:,} public candidates one that leads by {lead:,} people is named with "
        f"probability {SURE} or more\n"
    )
    buys = "" if delta else buys  # what names from the data need, `shortlist plan --domain unknown` tells
    standing = "\n".join(map(terminal_safe, str(ledger).splitlines()))
    output.tell(
        {**facts, "standing": ledger.standing.as_json()},
        f"each of {releases:,} releases may spend {each_text}, as their {'divergence' if beyond else name}s add up: "
        f"{options}\n{buys}"
        f"after one of them, a guess whether one user is in the data is right at most {percent(guess)} of the "
        f"time; all of them together keep the budget, {ledger.budget}\n{standing}",
        as_json=as_json,
    )


@command()
def report(
    path: Path,
    out: Annotated[str, option("The page (.html); its table goes beside it (.csv).", "FILE")],
    title: Annotated[str, option("Its heading.", "TEXT")] = "",
) -> None:
    """A page for whoever answers for the budget: every release, who asked, what for, what is left.

    \b
    For example: shortlist ledger report q4.db --out q4.html
    """
    output.check_writable("--out", out, (".html",), [] if on_server(path) else [path])
    Ledger(path).report(out, title=title)
    output.echo_lines(f"written: {terminal_safe(out)}, and its table to {terminal_safe(out[: -len('.html')])}.csv")


@command()
def approve(
    path: Path,
    request: Annotated[int, argument("The number of the entry that asks.", "ENTRY")],
    as_json: Json = False,
) -> None:
    """Approve a release that another user asked for.

    \b
    For example: shortlist ledger approve q4.db 3
    """
    ledger = Ledger(path)
    ledger.approve(request)
    who = next((entry.who for entry in ledger.entries() if entry.kind == "approval" and entry.request == request), None)
    name = who or user_name()
    words = f"entry {request} is approved by {terminal_safe(name)}; whoever asked may ask the same again"
    output.tell({"approved": request, "by": name, "head": ledger.head}, words, as_json=as_json)


@command()
def find(
    path: Path,
    receipt: Annotated[str, argument("What an unknown outcome said, or an entry's hash.", "RECEIPT")],
    as_json: Json = False,
) -> None:
    """Whether something was booked, for good: what is not found now never will be.

    \b
    For example: shortlist ledger find q4.db RECEIPT
    """
    entry = Ledger(path).find(receipt)
    words, number = "nothing was booked under this receipt, and nothing will be", None
    if entry is not None:
        number = entry.number
        words = f"it was booked: entry {number}, a {entry.kind}, {terminal_safe(entry.guarantee)}"
    output.tell({"booked": entry is not None, "entry": number}, words, as_json=as_json)


@command()
def move(
    path: Annotated[str, argument("The ledger's file.", "FILE")],
    target: Annotated[str, argument("postgresql://owner@host/base?name=q4", "TARGET")],
) -> None:
    """Close a ledger's file for good, and go on with it on a server. There are never two budgets.

    \b
    For example: shortlist ledger move q4.db "postgresql://owner@host/base?name=q4"
    """
    where = of_server("move")(path, target, WAIT)
    typer.echo(f"{terminal_safe(path)} is closed for good; it goes on as {terminal_safe(where)}")


@command()
def grant(path: Path, role: Role) -> None:
    """Let a role of the server charge and read, and nothing else.

    \b
    For example: shortlist ledger grant "postgresql://owner@host/base?name=q4" ada
    """
    Ledger(path).grant(role)
    typer.echo(f"{terminal_safe(role)} may charge and read it")


@command()
def revoke(path: Path, role: Role) -> None:
    """Take back what grant gave.

    \b
    For example: shortlist ledger revoke "postgresql://owner@host/base?name=q4" ada
    """
    Ledger(path).revoke(role)
    typer.echo(f"{terminal_safe(role)} may no longer use it")


@command()
def close(
    path: Path, reason: Annotated[str, option("What is noted, and told to whoever tries to charge.", "TEXT")]
) -> None:
    """End the budget for good: nothing is booked from now on. To stop using it nothing needs closing.

    \b
    For example: shortlist ledger close q4.db --reason "the study has ended"
    """
    ledger = Ledger(path)
    ledger.close(reason)
    typer.echo(f"{terminal_safe(ledger.path)} is closed for good; head {ledger.head}")


@command()
def verify(
    path: Path,
    head: Annotated[str | None, option("A head kept from earlier: it must still be in the chain.", "HASH")] = None,
    as_json: Json = False,
) -> None:
    """Read every entry again: the chain, the sums, the rule at every step.

    \b
    For example: shortlist ledger verify q4.db
    """
    ledger = Ledger(path)
    count = ledger.verify(head=head)
    words = f"all {count:,} entries follow from one another; head {ledger.head}"
    output.tell({"verified": True, "entries": count, "head": ledger.head}, words, as_json=as_json)


@command()
def export(
    path: Path,
    exact: Annotated[bool, flag("Fractions as they are in the file, not decimals.", "--exact")] = False,
    as_json: Json = False,
) -> None:
    """All entries: CSV, or one JSON object. Numbers are decimals, rounded up.

    \b
    For example: shortlist ledger export q4.db
    """
    ledger = Ledger(path)
    entries = ledger.entries()
    written = {name: [getattr(entry, name) for entry in entries] for name in LedgerEntry.__dataclass_fields__}
    columns = written if exact else ledger_columns(entries, rho=ledger.terms.order is None)
    echo_ledger(ledger, columns) if as_json else sys.stdout.write(csv_table(columns))


ROUNDED = Fraction(1, 2**50)
"""A share that is so near to a decimal, relatively, is that decimal but for the rounding of floats."""


def decimal_of(size: float, releases: int) -> float:
    """The decimal to ask for in place of a share of that size; the share itself where it is not one but for rounding.

    A fifth of 1 is a hair less than the float 0.2. Who asks for 0.2 five times gets it four times, and the last time
    what is left (`within`), so that the budget is kept and nothing is booked for less than was drawn.

    >>> decimal_of(0.19999999999999998, 5), decimal_of(3 / 13, 13)
    (0.2, 0.23076923076923078)
    """
    decimal = float(f"{size:.{SAME}g}")
    more = Fraction(decimal) - Fraction(size)
    fits = abs(more) <= ROUNDED * Fraction(decimal) and releases * more <= HAIR * Fraction(decimal)
    return decimal if fits else size
