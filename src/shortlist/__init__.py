"""shortlist: pick winners from private data and show nobody's secret.

>>> import shortlist as sl
>>> release = sl.top_k([900, 20, 500, 7], k=2, epsilon=1.0, monotone=True)
>>> release.items, release.guarantee
([0, 2], PureDP(epsilon=1.0))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shortlist import testing
from shortlist.audit import audit
from shortlist.privacy import ZCDP, ApproxDP, BudgetExceeded, Ledger, PureDP
from shortlist.release import Release
from shortlist.scores import Scores

if TYPE_CHECKING:
    from shortlist.choose import select, top_k
    from shortlist.planning import compare, epsilon_for, plan
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

_ON_DEMAND = {
    "compare": "shortlist.planning",
    "count": "shortlist.tables",
    "epsilon_for": "shortlist.planning",
    "plan": "shortlist.planning",
    "select": "shortlist.choose",
    "top_k": "shortlist.choose",
}
"""Where the names live that are imported when first used, so that `import shortlist` stays quick."""


def __getattr__(name: str) -> Any:
    if name not in _ON_DEMAND:
        raise AttributeError(f"module 'shortlist' has no attribute {name!r}")
    return getattr(import_module(_ON_DEMAND[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
