"""Private logistic regression without a gradient: noisy sums, then a linear equation (docs/sklearn.md).

The logistic loss ln(1 + e^-z) is replaced by ln 2 - z/2 + z^2/8, its expansion at 0 (the functional mechanism of Zhang
and others, 2012): then the data enter by the sums of y x and of x x' alone.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from shortlist._arrays import Floats
from shortlist.mechanisms.checks import checked_source
from shortlist.privacy import PureDP
from shortlist.sampling.entropy import Source
from shortlist.sklearn.statistics import (
    ROW,
    bounded_rows,
    checked_rows,
    labels_of,
    noisy_sums,
    positive,
    signs,
    two_classes,
    valid_numbers,
)

HALF = ROW // 2


class LogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression on two public classes whose coefficients are epsilon-DP for one row replaced.

    Half of epsilon is for the sum of y x and half for the sum of x x', both of whole numbers, both with exact Laplace
    noise. Coefficients are a function of the noisy sums.

    Parameters
    ----------
    epsilon
        Of one fit.
    clip
        Rows are divided by it, and those whose absolute values still sum to more than 1 are scaled down to 1. Public.
    C
        The smaller, the stronger the regularisation, as in scikit-learn.
    classes
        The two labels, public; other labels in `y` count for nothing.
    rng
        None is the secure source; `sl.testing.seeded(7)` is for tests.

    Examples
    --------
    >>> X, y = np.linspace(-1, 1, 2000)[:, None], np.arange(2000) >= 1000
    >>> LogisticRegression(epsilon=2.0, classes=(False, True)).fit(X, y).predict([[0.9], [-0.9]]).tolist()
    [True, False]
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        clip: float = 1.0,
        C: float = 1.0,
        classes: tuple[Any, Any] = (0, 1),
        rng: Source | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.clip = clip
        self.C = C
        self.classes = classes
        self.rng = rng

    @property
    def guarantee(self) -> PureDP:
        """What one fit promises."""
        return PureDP(positive("epsilon", self.epsilon))

    def fit(self, X: Any, y: Any) -> Self:
        """Coefficients from noisy sums.

        Parameters
        ----------
        X, y
            Rows and their labels. What is no number counts as 0.
        """
        epsilon, clip, strength = (positive(name, getattr(self, name)) for name in ("epsilon", "clip", "C"))
        classes, source = two_classes(self.classes), checked_source(self.rng)
        X = checked_rows(valid_numbers(self, X))
        y = labels_of(y)
        check_consistent_length(X, y)
        way = signs(y, classes)
        rows = np.hstack([bounded_rows(X, clip, HALF), np.full((len(X), 1), HALF)])  # the last is for the intercept
        used = rows * np.abs(way)[:, None]
        upper = np.triu_indices(rows.shape[1])
        # one row replaced moves the first sums by at most 2 ROW in all; the second by ROW^2, for the square of the
        # intercept's entry stays: 4 HALF^2 of the others, or 3 HALF^2 where a label is neither class
        linear = noisy_sums(used.T @ way, sensitivity=2 * ROW, epsilon=epsilon / 2, source=source)
        square = noisy_sums((used.T @ used)[upper], sensitivity=ROW**2, epsilon=epsilon / 2, source=source)
        weights = _solved(linear / ROW, square / ROW**2, upper, strength) / 2
        self.classes_ = np.array(classes)
        self.coef_, self.intercept_ = weights[None, :-1] / clip, weights[-1:]
        return self

    def decision_function(self, X: Any) -> Floats:
        """How far each row of `X` is on the side of the second class."""
        check_is_fitted(self)
        X = np.nan_to_num(valid_numbers(self, X, reset=False))
        with np.errstate(all="ignore"):  # a warning would tell of a row
            return np.asarray(X @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> Any:
        """One class for each row of `X`."""
        check_is_fitted(self)
        return self.classes_[(self.decision_function(X) > 0).astype(np.int64)]

    def predict_proba(self, X: Any) -> Floats:
        """The logistic function of `decision_function`, for both classes."""
        above = 1 / (1 + np.exp(-np.clip(self.decision_function(X), -700, 700)))
        return np.column_stack([1 - above, above])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        tags.non_deterministic = self.rng is None
        return tags


def _solved(linear: Floats, square: Floats, upper: Any, strength: float) -> Floats:
    """The least of -b w/2 + w A w/8 + |w|^2/(2 C), A with no direction of negative weight: noise may make one."""
    matrix = np.zeros((len(linear), len(linear)))
    matrix[upper] = square
    matrix = matrix + np.triu(matrix, 1).T
    values, vectors = np.linalg.eigh(matrix)
    stiff = np.maximum(values, 0.0) / 4 + 1 / strength
    solved: Floats = vectors @ ((vectors.T @ (linear / 2)) / stiff)
    return solved
