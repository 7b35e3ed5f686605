"""Knowing before spending: exact comparisons and plans on public, described or made-up scores."""

from shortlist.planning.comparison import Comparison, compare, epsilon_for
from shortlist.planning.plans import Plan, plan

__all__ = ["Comparison", "Plan", "compare", "epsilon_for", "plan"]
