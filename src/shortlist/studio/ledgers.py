"""The ledgers of the folder: how each stands, a new one, and the view of whoever answers for one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from shortlist._text import csv_table, terminal_safe
from shortlist.ledger.chain import LedgerEntry
from shortlist.pages.ledger_page import (
    DELTA,
    HEAD,
    MOST_ROWS,
    booked_guarantee,
    cost_in_words,
    entry_cells,
    ledger_page,
    mixed_caution,
    report_columns,
    rules_in_words,
    verified_in_words,
    waiting,
)
from shortlist.pages.summary import caution, in_short, percent, risk
from shortlist.privacy import Ledger, Standing
from shortlist.studio.inputs import LEDGER_SECONDS, LEDGERS, Folder, budget_in, page_words, text_in

SHOWN = 5
"""So many entries stand beside the ledger that pays."""
LOOKED_AT = 100
"""So many tell for which tables it paid."""
NOTHING_LEFT = (
    "Nothing is left. Ask whoever keeps this budget: a new ledger for the same people would add to what they have "
    "given away already."
)


GLANCE = 0.5
"""Seconds to wait for the lock of one file that may be a ledger."""
GLANCES = 2.0
"""Seconds to wait for all of them: a request must not hang because a database in the folder is in use."""


def all_facts(folder: Folder) -> list[dict[str, Any]]:
    """How every ledger of the folder stands. A file that stays locked is left out: nobody can tell what it is."""
    until, facts = time.monotonic() + GLANCES, []
    for one in folder.files(LEDGERS):
        wait = max(0.0, min(GLANCE, until - time.monotonic()))
        facts.append(ledger_facts(folder.root / one["name"], one["name"], wait))
    return [one for one in facts if one is not None]


def ledger_facts(path: Path, name: str, wait: float = GLANCE) -> dict[str, Any] | None:
    """How a ledger stands, or None if the file is none or stays locked."""
    try:
        ledger = Ledger(path, wait=wait)
        standing, entries = ledger.standing, ledger.entries(last=LOOKED_AT)
    except Exception:  # any file may be called .db
        return None
    rho = ledger.terms.order is None
    return {
        "name": name,
        "standing": str(standing),
        "left": _left(standing),
        "delta": str(ledger).partition(DELTA)[2],
        "share": standing.share,
        "number": entries[-1].number if entries else 0,
        "tables": sorted({_table(one) for one in entries if one.kind in ("charge", "request")}),
        "caution": page_words(caution(ledger.terms.budget)),
        "entries": [
            {"number": one.number, "time": one.time[:16].replace("T", " "), "cost": cost_in_words(one, rho=rho),
             "purpose": terminal_safe(one.purpose) or ("not said" if one.kind == "charge" else one.kind)}
            for one in reversed(entries[-SHOWN:])
        ],
    }  # fmt: skip


def _left(standing: Standing) -> str:
    """What is left, before anything else; if it is nothing, whom to ask."""
    if standing.nothing_left:
        return NOTHING_LEFT
    exact = standing.currency == "epsilon" and not standing.delta
    return f"{'' if exact else 'Up to '}{'E' if exact else 'e'}psilon {standing.left_text} is left."


def _table(entry: LedgerEntry) -> str:
    """The name of the table that an entry is about, without where it is."""
    return (entry.source or "").partition(": ")[0].rpartition(" in ")[0]


def budget_risk(request: dict[str, Any]) -> dict[str, Any]:
    """What a budget can give away once all of it is spent, before a ledger is made with it."""
    budget = budget_in(request)
    right = percent(risk(budget).guess)
    said = f"Once all of it is spent: best guess whether one user is in the data, right at most {right} of the time."
    return {"risk": said, "caution": page_words(caution(budget))}


def new_ledger(folder: Folder, request: dict[str, Any]) -> Path:
    """Make a ledger in the folder; its budget is fixed for good."""
    name = text_in(request, "name")
    path = folder.inside(name if name.endswith(LEDGERS) else f"{name}.db", LEDGERS, "ledger", there=False)
    if path.exists():
        raise ValueError("ledger: there is a file of that name already; choose another")
    if not path.parent.is_dir():
        raise ValueError("ledger: the folder for it does not exist")
    Ledger(path, budget=budget_in(request))
    return path


@dataclass(frozen=True, slots=True)
class OfficersView:
    """A ledger whose chain was verified, with every entry. It holds what was asked and what it cost: no data."""

    folder: Folder
    name: str
    ledger: Ledger
    verified: int
    entries: list[LedgerEntry]

    @classmethod
    def of(cls, folder: Folder, name: object) -> Self:
        """Read every entry again.

        Raises
        ------
        ValueError, OSError, LedgerError
            if there is no such ledger, or its chain is broken.
        """
        path = folder.inside(name, LEDGERS, "ledger")
        ledger = Ledger(path, wait=LEDGER_SECONDS)
        return cls(folder, folder.name(path), ledger, ledger.verify(), ledger.entries())

    def told(self) -> dict[str, Any]:
        """What the page shows."""
        ledger, standing, here = self.ledger, self.ledger.standing, self.folder.without
        newest = self.entries[-MOST_ROWS:]
        budget, booked, rho = ledger.terms.budget, booked_guarantee(standing), ledger.terms.order is None
        return {
            "name": self.name,
            "promise": in_short(budget),
            "terms": rules_in_words(ledger.terms) or "plain sums",
            "so_far": standing.so_far,
            "times": standing.times,
            "admits": standing.admits,
            "share": standing.share,
            "guess": risk(budget).guess,
            "guess_text": percent(risk(budget).guess),
            "booked_guess": 0.5 if booked is None else risk(booked).guess,
            "booked_text": "50%" if booked is None else percent(risk(booked).guess),
            "caution": page_words(" ".join(filter(None, [caution(budget), mixed_caution(self.entries)]))),
            "verified": self.verified,
            "chain": verified_in_words(self.verified),
            "head": ledger.head,
            "columns": list(HEAD),
            "entries": [list(map(here, cells)) for cells in entry_cells(newest, self.entries, rho=rho)],
            "waiting": [
                {"number": one.number, "who": terminal_safe(one.who or ""), "purpose": terminal_safe(one.purpose),
                 "source": here(terminal_safe(one.source or ""))}
                for one in waiting(self.entries)
            ],
        }  # fmt: skip

    def download(self, kind: str) -> tuple[str, str, bytes] | None:
        """(file name, type, bytes) of the page or its table, as `ledger.report` writes them."""
        stem = Path(self.name).stem
        if kind == "report.html":
            page = ledger_page(self.ledger, self.entries, self.verified)
            return f"{stem}-ledger.html", "text/html; charset=utf-8", page.encode()
        if kind == "report.csv":
            columns = report_columns(self.ledger, self.entries)
            return f"{stem}-ledger.csv", "text/csv; charset=utf-8", csv_table(columns).encode()
        return None
