"""Guarantees as values, their conversions, their composition and their calibration; and the ledger that books them."""

from typing import TYPE_CHECKING

from shortlist._runtime import lazy_import
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
from shortlist.ledger.chain import ApprovalNeeded, LedgerError, OutcomeUnknown
from shortlist.ledger.filter import Balance, BudgetExceeded
from shortlist.ledger.ledger import Ledger, Receipt, Reservation

if TYPE_CHECKING:
    from shortlist.pages.standing import Standing
    from shortlist.tuned import Binomial, Capped, Mixed, NegativeBinomial, Poisson, Tuned

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

_TUNING = ("Binomial", "Capped", "Mixed", "NegativeBinomial", "Poisson", "Tuned")


def __getattr__(name: str) -> object:
    """Return a class of a module that no release stands on: it is loaded when it is asked for."""
    if name not in (*_TUNING, "Standing"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return lazy_import("shortlist.tuned" if name in _TUNING else "shortlist.pages.standing", name)


def __dir__() -> list[str]:
    return __all__
