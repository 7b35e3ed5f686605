"""How the golden ledgers were made, by shortlist 0.1.0. They are never made again: old files must open for ever."""

import json
import sys
from pathlib import Path
from typing import Any

from shortlist import Ledger
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, ExPost, PureDP, compose

BUDGETS: dict[str, tuple[Any, dict[str, Any]]] = {
    "pure": (PureDP(3.0), {}),
    "zcdp": (ZCDP(0.5, 1e-6), {}),
    "split": (ApproxDP(3.0, 1e-6), {"split": 0.75}),
    "order": (ApproxDP(1.5, 1e-7), {"order": 12.5}),
}
PURPOSES = ("", "Überblick 概要 🗳", "'; DROP TABLE entries; --", "a\x00b\nc\x1b[31m", "weekly chart")


def fill(ledger: Ledger) -> None:
    """Charges of every form, two refunds, an empty purpose and odd ones."""
    for number, purpose in enumerate(PURPOSES):
        ledger.charge(BoundedRange(0.05 + 0.01 * number), purpose=purpose, mechanism="NoisyMax(..)", unit="user")
    reservation = ledger.reserve(BoundedRange(0.1).repeat(4), refundable=("pure", "zcdp"), purpose="zurück ↩")
    reservation.refund(BoundedRange(0.1).repeat(3))
    ledger.reserve(PureDP(0.3), refundable=("pure",), unit="訪問者").refund(ExPost(0.3, 0.0))
    if ledger.terms.limits.delta:
        ledger.charge(compose(ApproxDP(0.0, 1e-9), BoundedRange(0.01)), purpose="with a delta")
    if ledger.terms.limits.curve:
        ledger.charge(ZCDP(0.0001), purpose="closes rule (a)")
    ledger.charge(PureDP(0.01))


def facts(ledger: Ledger) -> dict[str, object]:
    """What must be read from the file for ever."""
    last = ledger.entries(last=1)
    sums = [last[0].total_epsilon, last[0].total_curve, last[0].total_delta] if last else None
    spent, left = ([one.epsilon, one.rho, one.renyi, one.delta] for one in (ledger.spent, ledger.remaining))
    limits = ledger.terms.limits.as_text()
    found = {"entries": ledger.verify(), "head": ledger.head, "sums": sums, "limits": limits}
    return {**found, "budget": repr(ledger.budget), "spent": spent, "remaining": left}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    found: dict[str, Any] = {}
    for name, (budget, words) in BUDGETS.items():
        ledger = Ledger(folder / f"{name}.db", budget=budget, **words)
        fill(ledger)
        empty = Ledger(folder / f"{name}-empty.db", budget=budget, **words)
        found |= {f"{name}.db": facts(ledger), f"{name}-empty.db": facts(empty)}
    (folder / "facts.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
