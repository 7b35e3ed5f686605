"""Certified laws in ball arithmetic, written from the formulas: they share nothing with what draws."""
