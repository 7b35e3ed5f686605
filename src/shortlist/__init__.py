"""shortlist: pick winners from private data and show nobody's secret.

>>> import shortlist as sl
>>> release = sl.top_k([900, 20, 500, 7], k=2, epsilon=1.0, monotone=True)
>>> release.items, release.guarantee
([0, 2], PureDP(epsilon=1.0))
"""

from shortlist import testing
from shortlist.audit import audit
from shortlist.choose import select, top_k
from shortlist.planning import compare, epsilon_for, plan
from shortlist.privacy import ZCDP, ApproxDP, BudgetExceeded, Ledger, PureDP
from shortlist.release import Release
from shortlist.scores import Scores
from shortlist.tables import count

__all__ = [
    "ZCDP",
    "ApproxDP",
    "BudgetExceeded",
    "Ledger",
    "PureDP",
    "Release",
    "Scores",
    "audit",
    "compare",
    "count",
    "epsilon_for",
    "plan",
    "select",
    "testing",
    "top_k",
]
