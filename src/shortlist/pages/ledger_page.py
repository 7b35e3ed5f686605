"""A whole ledger as a page, for whoever answers for it: every release, what the budget can give away, what is left.

Nothing on it comes from the data: a ledger holds what was asked, and what it cost.
"""

from __future__ import annotations

import os
import re
from fractions import Fraction
from typing import TYPE_CHECKING

from shortlist._text import terminal_safe
from shortlist.accounting.curves import up
from shortlist.accounting.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from shortlist.errors import bad_type, bad_value
from shortlist.pages.standing import number_text
from shortlist.pages.summary import in_short, mechanism_in_words, percent, risk
from shortlist.pages.theme import caution_in, document, facts, meter, page_safe, price_in, risk_box, table, warning
from shortlist.release_io import csv_table, path_text, write_text

if TYPE_CHECKING:
    from shortlist.ledger.chain import LedgerEntry
    from shortlist.ledger.filter import Terms
    from shortlist.ledger.ledger import Ledger
    from shortlist.pages.standing import Standing

MOST_ROWS = 2_000
"""Entries on the page, the newest; the table beside it has them all."""

AFTER = "After all releases of the whole budget, with the best possible attack, at most"
HEAD = ("entry", "when (UTC)", "who asked", "what for", "table and columns", "how", "cost")
"""What is shown of an entry."""


def write_ledger(ledger: Ledger, path: str | os.PathLike[str], title: str = "") -> None:
    """The page, and its table beside it: each whole, or what was there before. New files are for their owner alone."""
    name = path_text(path, "q4.html")
    if not isinstance(title, str):
        raise bad_type('$title must be text, for example $title="Budget of the fourth quarter"')
    if not name.lower().endswith(".html"):
        raise bad_value('$path must end in .html, for example "q4.html"; the table goes beside it as .csv')
    beside = name[: -len(".html")] + ".csv"
    for one in (name, beside):
        if os.path.realpath(one) == os.path.realpath(ledger.path):
            raise bad_value("$path must not lead to the ledger itself: choose another name")
    many, entries = ledger.verify(), ledger.entries()
    write_text(beside, csv_table(report_columns(ledger, entries)))
    write_text(name, ledger_page(ledger, entries, many, title))


def ledger_columns(entries: list[LedgerEntry], *, rho: bool) -> dict[str, list[object]]:
    """The entries as columns: numbers as floats, rounded up."""
    plain = ("number", "kind", "time", "who", "purpose", "source", "unit", "mechanism", "guarantee")
    columns: dict[str, list[object]] = {name: [getattr(entry, name) for entry in entries] for name in plain}
    curve = "rho" if rho else "renyi"
    for name, column in (("epsilon", "epsilon"), ("curve", curve), ("delta", "delta")):
        for total, kind in (("", "amounts"), ("total_", "total")):
            exact = [getattr(getattr(entry, kind), name) for entry in entries]
            columns[f"{total}{column}"] = [None if one is None else up(one) for one in exact]
    for name in ("refundable", "refund_of", "request", "version", "hash"):
        columns[name] = [getattr(entry, name) for entry in entries]
    return columns


def report_columns(ledger: Ledger, entries: list[LedgerEntry]) -> dict[str, list[object]]:
    """The same for the table beside a page, which leaves this machine: without the folders of files."""
    columns = ledger_columns(entries, rho=ledger.terms.order is None)
    columns["source"] = [None if entry.source is None else without_folder(entry.source) for entry in entries]
    return columns


FOLDER = re.compile(
    r" in (?:/|[A-Za-z]:[\\/]|\\\\).*?(?P<written>(?:, separator '[^']*')?(?:, quoted fields over several lines)?"
    r": (?:user|each row) )(?!.*: (?:user|each row) )"
)
"""Where a file is, up to how it is written and the last words that begin its columns."""
DIGEST = re.compile(r"( of sha256 [0-9a-f]{8})[0-9a-f]{56}")


def without_folder(source: str) -> str:
    """Which table and columns, without where the file is on a machine. Entries have it: an approval is for that file.

    >>> without_folder("films.parquet in /home/ada/data: user user_id, item film")
    'films.parquet: user user_id, item film'
    """
    return FOLDER.sub(r"\g<written>", source, count=1)


def ledger_page(ledger: Ledger, entries: list[LedgerEntry], verified: int, title: str = "") -> str:
    """The page as HTML, about a ledger of which so many entries were verified."""
    standing, budget = ledger.standing, ledger.terms.budget
    units = sorted({entry.unit for entry in entries if entry.unit})
    unit = page_safe(units[0].partition(" (")[0]) if units else "person"
    lead = (
        f"All releases booked here, together, keep {price_in(budget)} for every single {unit}, however each was chosen "
        "after the ones before it."
    )
    added_up = (
        f"<b>Several units of privacy.</b> {page_safe(', '.join(units))}: they were added up as if they were the same, "
        "and the promise is for each of them as it was noted."
    )
    rows = [
        ("Budget", page_safe(f"{in_short(budget)}{rules_in_words(ledger.terms, ', ')}")),
        ("Booked so far", page_safe(standing.so_far)),
        ("Releases", f"{standing.releases:,}"),
        ("Left", page_safe(ledger.closed or standing.admits)),
        ("Chain", f"{verification_text(verified)} Head <code>{page_safe(ledger.head)}</code>"),
    ]
    mixed = mixture_caution(entries)
    parts = [
        warning(mixed and f"<b>Charges for different neighbors.</b> {mixed}"),
        warning(added_up if len(units) > 1 else ""),
        caution_in(budget),
        f"<h2>Where it stands</h2>{meter(standing.share)}{facts(rows)}",
        _promise(budget, standing, unit),
        _waiting(entries),
        _releases(ledger, entries),
    ]
    footer = " for whoever answers for the budget. It holds what was asked and what it cost, and nothing of the data."
    heading = terminal_safe(title or f"Privacy budget {ledger.name}")
    return document("a privacy budget", heading, lead, parts, footer, "pages/ledger.css")


def mixture_caution(entries: list[LedgerEntry]) -> str:
    """What the promise of a ledger that has added up both neighboring relations is worth; "" for any other."""
    if len({entry.relation for entry in entries} - {""}) < 2:
        return ""
    return (
        "Some charges hold when one is added or removed, some when one is replaced by another. Their sum bounds "
        "neither: the promise is not kept for one who is replaced, and for one who is added or removed the others "
        "promise nothing."
    )


def rules_in_words(terms: Terms, before: str = "") -> str:
    """By which rules a ledger adds up, beside its budget; "" for the plain sum."""
    rules = [
        f"{100 * terms.split:g}% of δ is kept for sharper sums" if terms.split else "",
        f"sums of Rényi divergence at order {terms.order:g}" if terms.order is not None else "",
        terms.relation_words,
        terms.approval_words,
    ]
    said = ", ".join(filter(None, rules))
    return f"{before}{said}" if said else ""


def verification_text(entries: int) -> str:
    """That so many entries were verified."""
    few = ("it has no entries yet.", "it has one entry.")[entries : entries + 1]
    return f"verified: {few[0] if few else f'all {entries:,} entries follow from one another.'}"


def _promise(budget: Guarantee, standing: Standing, unit: str) -> str:
    box = risk_box(risk(budget), "Before they read anything, they guess right", AFTER)
    so_far, progress = guarantee_so_far(standing), "Nothing is booked yet."
    if so_far is not None:
        progress = (
            f"Progress, and no promise: for what is booked so far ({page_safe(standing.so_far)}) the same number is "
            f"{percent(risk(so_far).guess)}. Whoever may go on asking can use the whole budget."
        )
    return (
        "<h2>What the whole budget can give away</h2><p>Think of somebody who knows everything else, all the other "
        f"people in the data and every release, and who wants to know whether one particular {unit} is in the data at "
        f'all. They have no idea: fifty-fifty.</p>{box}<p class="note">{progress}</p>'
    )


def guarantee_so_far(standing: Standing) -> Guarantee | None:
    """What is booked so far, as a guarantee; None if that is nothing."""
    booked, delta = standing.booked, standing.delta
    if not standing.releases or not (booked or delta):
        return None
    if standing.currency == "rho":
        return ZCDP(booked, delta)
    return ApproxDP(booked, delta) if delta else PureDP(booked)


def waiting(entries: list[LedgerEntry]) -> list[LedgerEntry]:
    """The requests that nobody has approved yet."""
    approved = {entry.request for entry in entries if entry.kind == "approval"}
    return [entry for entry in entries if entry.kind == "request" and entry.number not in approved]


def _waiting(entries: list[LedgerEntry]) -> str:
    facts = [(f"{one.number:,}", one.who or "not noted", one.purpose or "not said") for one in waiting(entries)]
    rows = [tuple(map(terminal_safe, cells)) for cells in facts]
    if not rows:
        return ""
    return (
        "<h2>Waiting for approval</h2><p>Somebody else than who asked may approve them: <code>shortlist ledger approve "
        f"LEDGER ENTRY</code>.</p>{table(('entry', 'who asked', 'what for'), rows, 'stack')}"
    )


def _releases(ledger: Ledger, entries: list[LedgerEntry]) -> str:
    shown = entries[-MOST_ROWS:]
    rows = entry_cells(shown, entries, rho=ledger.terms.order is None)
    more = f"<p>The newest {len(shown):,} of {len(entries):,}.</p>" if len(shown) < len(entries) else ""
    if not rows:
        return "<h2>Every release</h2><p>None so far.</p>"
    note = (
        '<p class="note">All columns are in the table beside this page (.csv); exact fractions by '
        "<code>shortlist ledger export --exact</code>.</p>"
    )
    return f'<h2>Every release</h2>{more}<div class="entries">{table(HEAD, rows, "stack")}</div>{note}'


def entry_cells(shown: list[LedgerEntry], entries: list[LedgerEntry], *, rho: bool) -> list[tuple[str, ...]]:
    """The entries that are `shown`, of all `entries`, as texts under `HEAD`."""
    approvals = {entry.request: entry.who for entry in entries if entry.kind == "approval"}
    rows = []
    for entry in shown:
        who = entry.who or "not noted"
        if entry.kind == "charge" and entry.request is not None:
            who += f", approved by {approvals.get(entry.request) or 'nobody'}"
        source = DIGEST.sub(r"\1…", without_folder(entry.source or "not noted"))
        how, cost = mechanism_in_words(entry.mechanism) or "not noted", cost_in_words(entry, rho=rho)
        time = entry.time[:16].replace("T", " ")
        row = (f"{entry.number:,}", time, who, entry.purpose or "not said", source, how, cost)
        rows.append(tuple(map(terminal_safe, row)))
    return rows


def cost_in_words(entry: LedgerEntry, *, rho: bool) -> str:
    """What an entry books, in words, by the first rule that counts it."""
    amounts, curve = entry.amounts, "rho" if rho else "divergence"
    name, value = ("epsilon", amounts.epsilon) if amounts.epsilon is not None else (curve, amounts.curve)
    delta = f", delta {number_text(up(amounts.delta))}" if amounts.delta else ""
    cost = f"{name} {number_text(up(value or Fraction(0)))}{delta}"
    claim = f" of {cost}" if value or amounts.curve or amounts.delta else ""  # those of older ledgers do not say
    words = {
        "request": f"asks for approval{claim}: no charge",
        "approval": f"approves entry {entry.request}: no charge",
        "refund": f"{cost} given back, of entry {entry.refund_of}",
    }
    return words.get(entry.kind, cost)
