"""The best of a random number of private runs."""

from shortlist.tuning.best import Best, tune

__all__ = ["Best", "tune"]
