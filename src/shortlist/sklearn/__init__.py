"""Estimators for scikit-learn: a private search over hyperparameters, private feature selection, a private classifier.

`pip install shortlist[sklearn]`. One row is one person; the number of columns and the two classes are public.
"""

from shortlist._runtime import MissingPackageError

try:
    import sklearn  # noqa: F401
except ModuleNotFoundError:
    raise MissingPackageError(
        "shortlist.sklearn needs scikit-learn: pip install 'shortlist[sklearn]'", name="sklearn"
    ) from None

from shortlist.sklearn.estimators import LogisticRegression, SelectKBest
from shortlist.sklearn.search import PrivateSearchCV

__all__ = ["LogisticRegression", "PrivateSearchCV", "SelectKBest"]
