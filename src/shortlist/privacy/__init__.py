"""Guarantees as values, their conversions, their composition and their calibration."""

from shortlist.privacy.calibration import Budget, calibrate
from shortlist.privacy.guarantees import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    Composition,
    ExPost,
    Guarantee,
    GumbelDP,
    PureDP,
    RenyiDP,
    compose,
)

__all__ = [
    "ZCDP",
    "ApproxDP",
    "BoundedRange",
    "Budget",
    "Composition",
    "ExPost",
    "Guarantee",
    "GumbelDP",
    "PureDP",
    "RenyiDP",
    "calibrate",
    "compose",
]
