"""The best of a random number of private runs."""

from shortlist.tuning.best import Best
from shortlist.tuning.tune import tune

__all__ = ["Best", "tune"]
