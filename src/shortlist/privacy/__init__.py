"""Guarantees as values, their conversions, their composition and their calibration."""

from shortlist.privacy.guarantees import ZCDP, ApproxDP, BoundedRange, GumbelDP, PureDP, RenyiDP

__all__ = ["ZCDP", "ApproxDP", "BoundedRange", "GumbelDP", "PureDP", "RenyiDP"]
