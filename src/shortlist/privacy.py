"""Guarantees as values, their conversions, their composition and their calibration; and the ledger that books them."""

from shortlist.accounting.calibration import Budget, calibrate
from shortlist.accounting.finer_guarantees import BoundedRange, ExPost, GumbelDP, RenyiDP, ThinnedRange
from shortlist.accounting.guarantees import ZCDP, ApproxDP, Composition, Guarantee, PureDP, compose
from shortlist.ledger.approval import ApprovalNeeded
from shortlist.ledger.filter import Balance, BudgetExceeded
from shortlist.ledger.ledger import Ledger, Receipt, Reservation
from shortlist.ledger.standing import Standing
from shortlist.ledger.turn import LedgerError

__all__ = [
    "ZCDP",
    "ApprovalNeeded",
    "ApproxDP",
    "Balance",
    "BoundedRange",
    "Budget",
    "BudgetExceeded",
    "Composition",
    "ExPost",
    "Guarantee",
    "GumbelDP",
    "Ledger",
    "LedgerError",
    "PureDP",
    "Receipt",
    "RenyiDP",
    "Reservation",
    "Standing",
    "ThinnedRange",
    "calibrate",
    "compose",
]
