"""Guarantees as values, their conversions, their composition and their calibration."""

from shortlist.privacy.guarantees import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    Composition,
    Guarantee,
    GumbelDP,
    PureDP,
    RenyiDP,
    compose,
)

__all__ = ["ZCDP", "ApproxDP", "BoundedRange", "Composition", "Guarantee", "GumbelDP", "PureDP", "RenyiDP", "compose"]
