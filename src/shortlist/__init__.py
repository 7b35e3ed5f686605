"""shortlist: pick winners from private data, so that no single person's data shows.

>>> import shortlist as sl
>>> release = sl.top_k([900, 20, 500, 7], k=2, epsilon=1.0, monotone=True)
>>> release.items, release.guarantee
([0, 2], PureDP(epsilon=1.0))
"""

import sys
from importlib import import_module
from types import ModuleType

from shortlist._runtime import IMPORTS, lazy_import

TYPE_CHECKING = False  # that of `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from shortlist import mechanisms as mechanisms
    from shortlist import noise as noise
    from shortlist import planning as planning
    from shortlist import privacy as privacy
    from shortlist import tables as tables
    from shortlist import testing
    from shortlist import tuning as tuning
    from shortlist.api import keys, quantile, quote, select, top_k
    from shortlist.audit import audit
    from shortlist.errors import PrivacyWarning
    from shortlist.example import example
    from shortlist.pages.summary import risk
    from shortlist.planning import compare, epsilon_for, plan
    from shortlist.privacy import ZCDP, ApproxDP, Binomial, BudgetExceeded, Ledger, NegativeBinomial, Poisson, PureDP
    from shortlist.release import GroupedRelease, Release
    from shortlist.scores import GroupedScores, Scores
    from shortlist.tables import count
    from shortlist.tuning import tune

    __version__: str

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Binomial",
    "BudgetExceeded",
    "GroupedRelease",
    "GroupedScores",
    "Ledger",
    "NegativeBinomial",
    "Poisson",
    "PrivacyWarning",
    "PureDP",
    "Release",
    "Scores",
    "audit",
    "compare",
    "count",
    "epsilon_for",
    "example",
    "keys",
    "plan",
    "quantile",
    "quote",
    "risk",
    "select",
    "testing",
    "top_k",
    "tune",
]

_HOMES = {
    "api": "keys quantile quote select top_k",
    "audit": "audit",
    "errors": "PrivacyWarning",
    "example": "example",
    "pages.summary": "risk",
    "planning": "compare epsilon_for plan",
    "privacy": "ZCDP ApproxDP Binomial BudgetExceeded Ledger NegativeBinomial Poisson PureDP",
    "release": "GroupedRelease Release",
    "scores": "GroupedScores Scores",
    "tables": "count",
    "tuning": "tune",
}
_ON_DEMAND = {name: f"shortlist.{home}" for home, names in _HOMES.items() for name in names.split()}
"""Where the names live. All are imported when first used: `import shortlist` is quick, and the command line takes over
signals before anything that takes time is loaded."""

_ROOMS = ("mechanisms", "noise", "planning", "privacy", "tables", "testing", "tuning")
"""Modules that may be used as attributes without an import of their own."""

_DRAWS = ("numpy.ma", "flint")
_LAWS = (*_DRAWS, "scipy.special")
_LATER = dict.fromkeys(("mechanisms", "select", "top_k"), _DRAWS) | dict.fromkeys(
    ("compare", "epsilon_for", "keys", "plan", "planning", "quantile", "quote", "tune", "tuning"), _LAWS
)
"""What others wrote and their first call would import inside functions. It comes first: a room is an attribute once it
is imported."""


def __getattr__(name: str) -> object:
    if name == "__version__":
        return lazy_import("shortlist._runtime", "version")()
    if name not in _ON_DEMAND and name not in _ROOMS:
        near = "" if name.startswith("_") else lazy_import("shortlist.pages.calls", "other_word")(name, __all__)
        raise AttributeError(f"module 'shortlist' has no attribute {name!r}{near}")
    with IMPORTS:
        for module in _LATER.get(name, ()):
            import_module(module)
        if name in _ROOMS:
            return import_module(f"shortlist.{name}")
        value: object = getattr(import_module(_ON_DEMAND[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS, "__version__"})


class _Package(ModuleType):
    """`sl.audit` and `sl.example` are the functions, also after the import of the modules of these names."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, getattr(value, name, value) if name in ("audit", "example") else value)


sys.modules[__name__].__class__ = _Package
