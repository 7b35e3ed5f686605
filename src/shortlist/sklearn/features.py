"""Private selection of features: the k columns with the largest sums of clipped numbers."""

from __future__ import annotations

import operator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from shortlist.choose import top_k
from shortlist.mechanisms.checks import checked_source
from shortlist.privacy import Ledger
from shortlist.sampling.entropy import Source
from shortlist.scores import Scores
from shortlist.sklearn.statistics import (
    CELL,
    checked_rows,
    clipped_cells,
    labels_of,
    positive,
    signs,
    two_classes,
    valid_numbers,
)


class SelectKBest(SelectorMixin, BaseEstimator):
    """The k features with the largest private scores: epsilon-DP for one row added or removed.

    `statistic="sum"` adds up each column, its numbers clipped to [0, clip]: of zeros and ones, how many rows have it.
    One row moves every sum up, by at most `clip`. `statistic="difference"` is the distance between the sums of two
    public classes, numbers clipped to [-clip, clip]: one row moves it up or down by at most `clip`, which needs twice
    the noise. Sums are of whole steps of clip / 2^20, so that the bound holds to the last bit.

    Parameters
    ----------
    k
        How many features; at most as many as there are.
    epsilon
        Of the choice.
    statistic
        `"sum"`, or `"difference"` between two classes.
    clip
        A public bound on one number.
    classes
        Required for `"difference"`: the two labels to compare, public knowledge. Rows with other labels are ignored.
    rng
        None is the secure source; `sl.testing.seeded(7)` is for tests.

    Examples
    --------
    >>> X = np.zeros((1000, 4)); X[:, 2] = 1.0; X[:600, 1] = 1.0
    >>> SelectKBest(k=2, epsilon=1.0).fit(X).get_support(indices=True).tolist()
    [1, 2]
    """

    def __init__(
        self,
        k: int = 20,
        *,
        epsilon: float = 1.0,
        statistic: str = "sum",
        clip: float = 1.0,
        classes: tuple[Any, Any] | None = None,
        rng: Source | None = None,
    ) -> None:
        self.k = k
        self.epsilon = epsilon
        self.statistic = statistic
        self.clip = clip
        self.classes = classes
        self.rng = rng

    def fit(self, X: Any, y: Any = None, *, ledger: Ledger | None = None, purpose: str = "") -> Self:
        """Choose; `release_` says how, at what price.

        Parameters
        ----------
        X, y
            Rows, and their labels for `statistic="difference"`. What is no number counts for nothing.
        ledger, purpose
            Where the charge is booked, and what for.
        """
        clip, epsilon, source = positive("clip", self.clip), positive("epsilon", self.epsilon), checked_source(self.rng)
        if self.statistic not in ("sum", "difference"):
            raise ValueError('statistic must be "sum" or "difference"')
        classes = None if self.statistic == "sum" else two_classes(self.classes)
        X = checked_rows(valid_numbers(self, X))
        if not 1 <= operator.index(self.k) <= X.shape[1]:
            raise ValueError(f"k must be between 1 and the number of features, which is {X.shape[1]}: write k=1")
        if classes is None:
            sums = clipped_cells(X, clip, signed=False).sum(axis=0)
        else:
            labels = labels_of(y)
            if len(labels) != len(X):  # scikit-learn's own refusal counts the rows, and one more or less is protected
                raise ValueError("X and y must be of the same rows: give one label for each of them")
            sums = np.abs(signs(labels, classes) @ clipped_cells(X, clip, signed=True))
        scores = Scores(sums, sensitivity=CELL, monotone=self.statistic == "sum", unit="row")
        release = top_k(scores, self.k, epsilon=epsilon, rng=source, ledger=ledger, purpose=purpose)
        self.release_, self.guarantee_ = release, release.guarantee
        return self

    def _get_support_mask(self) -> Any:
        check_is_fitted(self, "release_")
        mask = np.zeros(self.n_features_in_, bool)
        mask[np.array(self.release_.indices or [], np.int64)] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self.statistic == "difference"
        tags.non_deterministic = self.rng is None
        return tags
