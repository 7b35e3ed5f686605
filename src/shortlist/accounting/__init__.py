"""Guarantees as values: their curves, conversions, composition and calibration. Nothing here sees a score."""
