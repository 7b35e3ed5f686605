"""A ledger on a terminal, and as facts for programs: what is booked, what is left, the newest entries."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from shortlist._text import json_line, terminal_safe, text_table
from shortlist.cli.output import echo_json
from shortlist.ledger.chain import LedgerEntry
from shortlist.ledger.standing import DELTA
from shortlist.pages.guarantee_in_words import caution, percent, risk
from shortlist.pages.ledger_page import cost_in_words, ledger_columns
from shortlist.pages.mechanism_in_words import mechanism_in_words
from shortlist.privacy import Ledger

HEADS = ("entry", "time (UTC)", "who", "what", "cost", "purpose", "mechanism")
WIDE = 110
"""Columns of a terminal that has room for the mechanisms; they are in `shortlist ledger export` too."""


def entry_columns(ledger: Ledger, entries: list[LedgerEntry]) -> dict[str, list[Any]]:
    """The entries as columns, numbers as decimals."""
    return ledger_columns(entries, rho=ledger.terms.order is None)


def as_rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """The same as one object for each entry."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def ledger_facts(ledger: Ledger) -> dict[str, Any]:
    """How a ledger stands, for programs."""
    terms = ledger.terms.as_json()
    del terms["limits"]  # fractions of many digits
    spent, remaining, standing = asdict(ledger.spent), asdict(ledger.remaining), ledger.standing.as_json()
    numbers = {"spent": spent, "remaining": remaining, "standing": standing}
    return {"path": ledger.path, **terms, **numbers, "head": ledger.head}


def show_ledger(ledger: Ledger, rows: int, as_json: bool) -> None:
    """How it stands, with so many of its newest entries."""
    entries = ledger.entries(last=rows)
    if as_json:
        echo_json(json_line({**ledger_facts(ledger), "entries": as_rows(entry_columns(ledger, entries))}))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console, rho = Console(), ledger.terms.order is None
    facts, columns = _facts(ledger), _entry_texts(entries, rho=rho)
    below = [terminal_safe(words) for words in _waiting(entries, rho=rho)]
    large = list(filter(None, [caution(ledger.terms.budget)]))
    if not console.is_terminal:  # nothing is cut or broken for programs and files
        lines = [*(f"{name:<6}  {value}" for name, value in facts), *large]
        lines += ["", text_table(columns, ["entry"])] if entries else []
        typer.echo("\n".join([*lines, *(f"\n{words}" for words in below)]))
        return
    shown_facts = Table(show_header=False, show_edge=False, pad_edge=False, box=None)
    for name, value in facts:
        shown_facts.add_row(Text(name, style="bold"), Text(value, overflow="fold"))
    console.print(shown_facts)
    for said in large:
        console.print(Text(said))
    if entries:
        table = Table(show_edge=False, pad_edge=False)
        shown = [name for name in columns if name != "mechanism" or console.width >= WIDE]
        for name in shown:
            table.add_column(name, justify="right" if name == "entry" else "left", overflow="fold")
        for cells in zip(*(columns[name] for name in shown), strict=True):
            table.add_row(*map(Text, cells))
        console.print()
        console.print(table)
    for words in below:
        console.print()
        console.print(Text(words), overflow="fold")


def _facts(ledger: Ledger) -> list[tuple[str, str]]:
    standing, delta = ledger.standing, str(ledger).partition(DELTA)[2]
    facts = [
        ("ledger", ledger.path),
        ("budget", str(ledger.terms)),
        ("risk", _risk(ledger)),
        ("booked", f"{standing.so_far}, {standing.times}"),
        ("left", ledger.closed or standing.admits),
        *([("delta", delta)] if delta else []),
        ("head", ledger.head),
    ]
    return [(name, terminal_safe(value)) for name, value in facts]


def _risk(ledger: Ledger) -> str:
    """Return what all releases together can reveal about one user."""
    if ledger.terms.mixed:
        return "not bounded by the budget: charges for users who are added and for users who are replaced are added up"
    guess = percent(risk(ledger.terms.budget).guess)
    return f"once all is spent, a guess whether one user is in the data is right at most {guess} of the time"


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


def _waiting(entries: list[LedgerEntry], *, rho: bool) -> list[str]:
    """What nobody has approved yet, in all its words, however narrow the terminal: whoever approves approves these."""
    done = {entry.request for entry in entries}
    return [
        f"entry {one.number} {cost_in_words(one, rho=rho)} yet; {one.unit}; {one.mechanism}; {one.source}"
        for one in entries
        if one.kind == "request" and one.number not in done
    ]
