"""Knowing before spending: exact comparisons of mechanisms on public or made-up scores."""

from shortlist.planning.compare import Comparison, compare, epsilon_for

__all__ = ["Comparison", "compare", "epsilon_for"]
