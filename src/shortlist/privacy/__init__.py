"""Guarantees as values, their conversions, their composition and their calibration; and the ledger that books them."""

from shortlist.privacy.calibration import Budget, calibrate
from shortlist.privacy.filter import Balance, BudgetExceeded
from shortlist.privacy.finer_guarantees import BoundedRange, ExPost, GumbelDP, RenyiDP, ThinnedRange
from shortlist.privacy.guarantees import ZCDP, ApproxDP, Composition, Guarantee, PureDP, compose
from shortlist.privacy.ledger import Ledger, Receipt, Reservation
from shortlist.privacy.ledger_turn import LedgerError

__all__ = [
    "ZCDP",
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
    "ThinnedRange",
    "calibrate",
    "compose",
]
