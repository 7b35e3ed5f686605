"""Knowing before spending: exact comparisons and plans on public, described or made-up scores."""

from shortlist.planning.answer import Plan
from shortlist.planning.compare import Comparison, compare, epsilon_for
from shortlist.planning.plans import plan

__all__ = ["Comparison", "Plan", "compare", "epsilon_for", "plan"]
