"""Guarantees as values, their conversions, their composition and their calibration; and the ledger that books them."""

from shortlist.accounting.guarantees import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    Budget,
    Composition,
    ExPost,
    Guarantee,
    GumbelDP,
    PureDP,
    RenyiDP,
    ThinnedRange,
    calibrate,
    compose,
)
from shortlist.accounting.tuned import Binomial, Capped, Mixed, NegativeBinomial, Poisson, Tuned
from shortlist.ledger.chain import ApprovalNeeded, LedgerError, OutcomeUnknown
from shortlist.ledger.filter import Balance, BudgetExceeded, Standing
from shortlist.ledger.ledger import Ledger, Receipt, Reservation

__all__ = [
    "ZCDP",
    "ApprovalNeeded",
    "ApproxDP",
    "Balance",
    "Binomial",
    "BoundedRange",
    "Budget",
    "BudgetExceeded",
    "Capped",
    "Composition",
    "ExPost",
    "Guarantee",
    "GumbelDP",
    "Ledger",
    "LedgerError",
    "Mixed",
    "NegativeBinomial",
    "OutcomeUnknown",
    "Poisson",
    "PureDP",
    "Receipt",
    "RenyiDP",
    "Reservation",
    "Standing",
    "ThinnedRange",
    "Tuned",
    "calibrate",
    "compose",
]
