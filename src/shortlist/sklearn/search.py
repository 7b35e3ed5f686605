"""A search over hyperparameters whose whole result is private: the best of a random number of private fits."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from fractions import Fraction
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ParameterGrid
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
    validate_data,
)

from shortlist._arrays import Indices, checked_flag
from shortlist.accounting.tuned import RunLaw
from shortlist.exact.noise import LAPLACE
from shortlist.mechanisms.base import check_source
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, Ledger, PureDP, calibrate
from shortlist.sampling.entropy import Source
from shortlist.sampling.thresholds import add_whole_noise
from shortlist.sampling.uniforms import WordStream, subset
from shortlist.sklearn.estimators import LogisticRegression, check_table, in_one_line, labels_of, same
from shortlist.tuning.best import tune


class PrivateSearchCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """The best of a random number of private classifiers, each with hyperparameters drawn from a public grid.

    A public share of the rows, drawn at random, is held out. One run fits a fresh copy of `estimator` on the others and
    counts its right answers on those, with exact Laplace noise. A row is in one of the parts, so that model and score
    together keep what one fit promises, and `sl.tune` chooses among runs (docs/sklearn.md). One row is one person, and
    tables are compared with those of which one row is replaced: their number is public.

    Parameters
    ----------
    estimator
        A private classifier whose every fit uses fresh randomness: `random_state` must be None.
    param_grid
        As for scikit-learn's `GridSearchCV`; public.
    guarantee
        What one fit promises for one row replaced: `PureDP`, `ZCDP` or `ApproxDP`. None asks `estimator.guarantee`,
        with the hyperparameters set.
    runs, budget, eta, cap, pad, delta
        As for `sl.tune`: how many runs, or what they may cost in all.
    held_out
        The share of rows that are held out for scores.
    rowwise
        True: you promise that `predict` classifies each row by itself, whatever the other rows are, and keeps nothing
        of them. Rows are then classified in one call, which is faster. Otherwise each row is classified alone, by a
        fresh copy of the fitted model; for linear models that takes about a millisecond a row.
    rng
        None is the secure source; `sl.testing.seeded(7)` is for tests.

    Examples
    --------
    >>> import shortlist as sl
    >>> from shortlist.sklearn import LogisticRegression
    >>> X, y = np.linspace(-1, 1, 4000)[:, None], np.arange(4000) >= 2000
    >>> search = PrivateSearchCV(
    ...     LogisticRegression(epsilon=0.5, classes=(False, True)), {"C": [0.01, 100.0]}, budget=sl.PureDP(0.9)
    ... )
    >>> search.fit(X, y).predict([[0.9], [-0.9]]).tolist(), search.guarantee_.as_pure().epsilon <= 0.9
    ([True, False], True)
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        guarantee: Guarantee | None = None,
        runs: RunLaw | None = None,
        budget: Guarantee | None = None,
        eta: float | None = None,
        cap: int | None = None,
        pad: bool = False,
        delta: float | None = None,
        held_out: float = 0.25,
        rowwise: bool = False,
        rng: Source | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.guarantee = guarantee
        self.runs = runs
        self.budget = budget
        self.eta = eta
        self.cap = cap
        self.pad = pad
        self.delta = delta
        self.held_out = held_out
        self.rowwise = rowwise
        self.rng = rng

    def fit(self, X: Any, y: Any, *, ledger: Ledger | None = None, purpose: str = "") -> Self:
        """Search, and keep the best model: `best_estimator_`, `best_params_`, `best_score_`, `guarantee_`, `tuned_`.

        `best_score_` is the noisy share of right answers; it may be below 0 or above 1. Nothing is fitted again on all
        rows, for that would have to be paid for; there is no `cv_results_`, which would tell how many runs there were.

        Parameters
        ----------
        X, y
            Rows and their labels.
        ledger, purpose
            Where the charge is booked before the first fit, and what for.
        """
        if not is_classifier(self.estimator):
            raise TypeError("estimator must be a classifier: its right answers are what is counted")
        X, y = self._checked(X, y)
        source = check_source(self.rng)
        grid = list(ParameterGrid(self.param_grid))
        models = [self._model(candidate) for candidate in grid]
        promises = [_promised(self.guarantee, model) for model in models]
        noises = {place: _score_epsilon(promise) for place, promise in enumerate(promises)}
        rows, rowwise = self._parts(len(y), source), checked_flag("rowwise", self.rowwise)

        def run(place: int) -> tuple[Any, float]:
            parts = [_safe_indexing(values, part) for part in rows for values in (X, y)]  # of its own: it may write
            model = self._model(grid[place]).fit(parts[0], parts[1])
            right = right_answers(model, parts[2], labels_of(parts[3]), source, rowwise=rowwise)
            scale = 1 / Fraction(noises[place])
            noisy = add_whole_noise(np.array([right]), scale=scale, noise=LAPLACE, source=source)[0]
            return model, int(noisy) / len(rows[1])

        best = tune(
            run, range(len(grid)), guarantee=promises, runs=self.runs, budget=self.budget, eta=self.eta, cap=self.cap,
            pad=self.pad, delta=self.delta, unit="row", neighbours="replace", ledger=ledger, purpose=purpose,
            rng=source,
        )  # fmt: skip
        self.tuned_, self.guarantee_ = best, best.guarantee
        self.best_index_, self.best_score_, self.best_estimator_ = best.index, best.score, best.output
        self.best_params_ = None if best.index is None else grid[best.index]
        if best.output is not None:
            self.classes_ = best.output.classes_
        return self

    def _checked(self, X: Any, y: Any) -> Any:
        """Rows and labels that can be divided; refuses what every fit would refuse, by shapes and types alone."""
        if y is None:
            raise ValueError("this search requires y to be passed, but the target y is None")
        sparse = self.estimator.__sklearn_tags__().input_tags.sparse
        if not hasattr(X, "columns"):  # a frame may hold text, which a pipeline encodes
            check_table(X)
            words: dict[str, Any] = {"dtype": None, "ensure_all_finite": False, "ensure_min_samples": 2}
            in_one_line(lambda: check_array(X, accept_sparse=sparse, **words))
        validate_data(self, X, skip_check_array=True)
        return indexable(X, labels_of(y))

    def _model(self, candidate: Mapping[str, Any]) -> Any:
        """A fresh copy with these hyperparameters, and randomness of its own."""
        model = clone(self.estimator).set_params(**clone(dict(candidate), safe=False))
        words = model.get_params()
        if any(name.split("__")[-1] == "random_state" and value is not None for name, value in words.items()):
            raise ValueError("random_state must be None: every run needs fresh randomness, or no guarantee holds")
        if self.rng is not None and "rng" in words:
            model.set_params(rng=self.rng)
        return model

    def _parts(self, count: int, source: Source) -> tuple[Indices, Indices]:
        """(rows to fit, rows held out): drawn without a look at the data."""
        share = self.held_out
        if not isinstance(share, float) or not 0 < share < 1:
            raise ValueError("held_out must be a share between 0 and 1: write held_out=0.25")
        size = round(share * count)
        if not 0 < size < count:
            raise ValueError("held_out must leave rows to fit and rows to score: give more rows")
        test = subset(count, size, WordStream(source))
        return np.setdiff1d(np.arange(count), test), test

    def _best(self) -> Any:
        check_is_fitted(self, "tuned_")
        if self.best_estimator_ is None:
            raise NotFittedError("no model came out: nothing was run, or every run failed; see tuned_")
        return self.best_estimator_

    def predict(self, X: Any) -> Any:
        """One class for each row of `X`, by the best model."""
        return self._best().predict(X)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """By the best model."""
        return self._best().predict_proba(X)

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X: Any) -> Any:
        """By the best model."""
        return self._best().decision_function(X)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), self.estimator.__sklearn_tags__()
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        tags.non_deterministic = self.rng is None
        return tags


def right_answers(model: Any, X: Any, labels: Any, source: Source, *, rowwise: bool) -> int:
    """Count the rows that are classified right, so that replacing one row moves the count by at most 1.

    Unless `rowwise` is promised, each row is classified by a copy of the model that has seen no other held-out row,
    and the model itself, which may be released, sees none. A row that `predict` refuses counts as wrong.
    """
    alone = rowwise or type(model) is LogisticRegression  # ours is known to classify each row by itself
    if alone:
        answers = _answers(model, X)
        if answers is not None and answers.shape == (len(labels),):
            return int(np.count_nonzero(same(labels, answers)))
    right = 0
    for row in range(len(labels)):
        answers = _answers(model if alone else deepcopy(model, {id(source): source}), _safe_indexing(X, [row]))
        right += answers is not None and answers.shape == (1,) and bool(same(labels[row : row + 1], answers)[0])
    return right


def _answers(model: Any, X: Any) -> Any:
    """Return what the model predicts; None if it raises: whether it did is a fact about these rows alone."""
    try:
        return np.asarray(model.predict(X))
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # time limits of some libraries are not an Exception
        return None


def _promised(guarantee: object, model: Any) -> Guarantee:
    if guarantee is None and isinstance(model, PrivateSearchCV):
        raise TypeError("guarantee must say what a whole search inside a search promises: its guarantee_ after a fit")
    promise = getattr(model, "guarantee", None) if guarantee is None else guarantee
    if not isinstance(promise, PureDP | ZCDP | ApproxDP):
        raise TypeError("guarantee must say what one fit promises: PureDP(0.5), ZCDP(0.1) or ApproxDP(0.5, 1e-6)")
    return promise


def _score_epsilon(promise: Guarantee) -> float:
    """The largest epsilon that is within what one fit promises: pure noise on a score then is too."""
    assert isinstance(promise, PureDP | ZCDP | ApproxDP)
    return promise.epsilon if isinstance(promise, PureDP) else calibrate(PureDP, promise)
