"""Estimators for scikit-learn: a private search over hyperparameters, private feature selection, a private classifier.

`pip install shortlist[sklearn]`. One row is one person; the number of columns and the two classes are public.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Self, TypeVar

import numpy as np

from shortlist._runtime import MissingPackageError

try:
    import sklearn  # noqa: F401
except ModuleNotFoundError:
    said = "shortlist.sklearn needs scikit-learn: pip install 'shortlist[sklearn]'"
    raise MissingPackageError(said, name="sklearn") from None

from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import ParameterGrid
from sklearn.utils import _safe_indexing, column_or_1d, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data

from shortlist._arrays import Floats, Indices, Mask, check_flag
from shortlist.api import top_k
from shortlist.exact.noise import LAPLACE
from shortlist.mechanisms.base import Budget, check_source
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, Ledger, PureDP, calibrate
from shortlist.sampling.entropy import Source, WordStream, subset
from shortlist.sampling.thresholds import add_whole_noise
from shortlist.scores import Scores
from shortlist.tuned import RunLaw
from shortlist.tuning import tune

__all__ = ["LogisticRegression", "PrivateSearchCV", "SelectKBest"]

Result = TypeVar("Result")

PLAIN = "biufUS"
"""Types of arrays in which a label cannot change another's."""
CELL = 1 << 20
"""Steps between 0 and the clip of a single number."""
ROW = 1 << 10
"""Steps of a row's absolute sum: products of two are below its square."""
MOST_ROWS = 1 << 40
"""Sums of so many products fit into 64 bits."""


def clip_cells(X: Floats, clip: float, *, signed: bool) -> Indices:
    """Each number clipped to [0, clip], or [-clip, clip], in whole steps of clip / CELL. What is no number is 0."""
    with np.errstate(all="ignore"):
        steps = np.rint(np.clip(np.nan_to_num(X / clip), -1.0 if signed else 0.0, 1.0) * CELL)
    return np.clip(steps.astype(np.int64), -CELL if signed else 0, CELL)


def bound_rows(X: Floats, clip: float, most: int) -> Indices:
    """Rows in steps of clip / most, cut towards 0, scaled down where their absolute values sum to more than `most`."""
    with np.errstate(all="ignore"):
        rows = np.nan_to_num(X / clip, posinf=0.0, neginf=0.0)
        sums = np.abs(rows).sum(axis=1, keepdims=True)
        steps: Indices = np.trunc(np.nan_to_num(rows / np.maximum(sums, 1.0)) * most).astype(np.int64)
    steps[np.abs(steps).sum(axis=1) > most] = 0  # rounding above; a function of the row alone
    return steps


def add_noise(sums: Indices, *, sensitivity: int, epsilon: float, source: Source) -> Indices:
    """Whole sums plus exact Laplace noise of scale sensitivity / epsilon, rounded: epsilon-DP if one person moves
    the sums by at most `sensitivity` in all."""
    scale = Fraction(sensitivity) / Fraction(epsilon)
    return add_whole_noise(sums.ravel(), scale=scale, noise=LAPLACE, source=source).reshape(sums.shape)


def labels_of(y: Any) -> Any:
    """One label a row. An array of one plain type stays as it is; of anything else each label stays what it was.

    One odd label must not turn the others into text.
    """
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None")
    made = np.asarray(y) if hasattr(y, "__array__") else None
    if made is not None and made.ndim != 1:  # scikit-learn's own refusals may show cells
        if made.ndim != 2 or made.shape[1] != 1:
            raise ValueError(f"y should be a 1d array, got one of {made.ndim} dimensions instead")
        if made.dtype.kind == "c":
            raise ValueError("Complex data not supported: y must be labels, one for each row")
        return column_or_1d(made, warn=True)
    if made is not None and made.dtype.kind in PLAIN:
        return made
    if isinstance(y, str | bytes) or not hasattr(y, "__len__"):
        raise TypeError("y must be a list or an array of labels, one for each row")
    cells = np.empty(len(y), object)
    for place, one in enumerate(y):
        cells[place] = one
    return cells


def signs(y: Any, classes: Sequence[Any]) -> Indices:
    """1 for the second class, -1 for the first, 0 for anything else; each by itself."""
    labels = labels_of(y)
    return same(labels, classes[1]).astype(np.int64) - same(labels, classes[0]).astype(np.int64)


def same(labels: Any, other: Any) -> Mask:
    """Whether each label is the other, which may be one for all: what cannot be compared is not."""
    others = other if isinstance(other, np.ndarray) and other.shape == labels.shape else [other] * len(labels)
    return np.fromiter(map(_same, labels.tolist(), getattr(others, "tolist", lambda: others)()), np.bool_, len(labels))


def _same(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:
        return False


def check_table(X: Any) -> None:
    """Refuse what is no table of numbers or text, by its shape and type alone: scikit-learn would show its cells."""
    if issparse(X):
        return
    kinds = getattr(X, "dtypes", None) if hasattr(X, "columns") else None
    array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object) if kinds is None else None
    if array is not None and array.ndim != 2:
        raise ValueError(f"Expected 2D array, got {array.ndim}D array instead. Reshape your data: array.reshape(-1, 1)")
    kind = "O" if array is None else array.dtype.kind
    if kind == "c":
        raise ValueError("Complex data not supported: X must be numbers")
    if kind not in "biufOUS":
        raise ValueError("X must be numbers, or text: convert it first")


def in_one_line(check: Callable[[], Result]) -> Result:
    """What scikit-learn gives; where it refuses a table, its first line alone, for cells may come after it."""
    try:
        return check()
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        line = str(error).partition("\n")[0]
    raise kind(line)


def numbers_of(X: Any) -> Any:
    """Rows whose cells are numbers. Where they may be anything, what is no number is missing, cell by cell, and raises
    nothing: an error would tell of it, and show it."""
    check_table(X)
    frame = hasattr(X, "columns") and hasattr(X, "dtypes")
    kinds = X.dtypes if frame else [X.dtype] if isinstance(X, np.ndarray) else [None]
    if issparse(X) or all(getattr(kind, "kind", "O") in "biuf" for kind in kinds):
        return X
    cells = np.asarray(X, dtype=object)
    numbers = np.array([[_number(cell) for cell in row] for row in cells.tolist()], np.float64).reshape(cells.shape)
    return type(X)(numbers, columns=X.columns) if frame and hasattr(X, "iloc") else numbers


def valid_numbers(estimator: Any, X: Any, *, reset: bool = True) -> Floats:
    """The rows as floats, as many columns as the estimator has seen (`reset`: they are its first)."""
    words: dict[str, Any] = {"dtype": np.float64, "reset": reset, "ensure_all_finite": False}
    with np.errstate(all="ignore"):  # a number beyond all floats: a warning would tell of it
        numbers: Floats = in_one_line(lambda: validate_data(estimator, numbers_of(X), **words))
    if len(numbers) > MOST_ROWS:  # their number is public
        raise ValueError("X must have at most 2^40 rows")
    return numbers


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except Exception:
        return math.nan


def two_classes(classes: object) -> tuple[Any, Any]:
    """Return the two labels, which are public knowledge. Whether `y` has them is private and is not checked."""
    if not isinstance(classes, Sequence | np.ndarray) or isinstance(classes, str) or len(classes) != 2:
        raise ValueError("classes must be the two labels to compare, for example classes=(0, 1)")
    first, second = classes
    if first == second:
        raise ValueError("classes must be two different labels: write classes=(0, 1)")
    return first, second


def positive(name: str, value: object) -> float:
    """A finite number above 0."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not 0 < plain < math.inf:
        raise ValueError(f"{name} must be a number above 0: write {name}=1.0, for example")
    return float(plain)


@dataclass(eq=False, repr=False)
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

    k: int = 20
    _: KW_ONLY
    epsilon: float = 1.0
    statistic: str = "sum"
    clip: float = 1.0
    classes: tuple[Any, Any] | None = None
    rng: Source | None = None

    def fit(self, X: Any, y: Any = None, *, ledger: Ledger | None = None, purpose: str = "") -> Self:
        """Choose; `release_` says how, at what price.

        Parameters
        ----------
        X, y
            Rows, and their labels for `statistic="difference"`. What is no number counts for nothing.
        ledger, purpose
            Where the charge is booked, and what for.
        """
        clip, epsilon, source = positive("clip", self.clip), positive("epsilon", self.epsilon), check_source(self.rng)
        if self.statistic not in ("sum", "difference"):
            raise ValueError('statistic must be "sum" or "difference"')
        classes = None if self.statistic == "sum" else two_classes(self.classes)
        X = valid_numbers(self, X)
        if not 1 <= operator.index(self.k) <= X.shape[1]:
            raise ValueError(f"k must be between 1 and the number of features, which is {X.shape[1]}: write k=1")
        if classes is None:
            sums = clip_cells(X, clip, signed=False).sum(axis=0)
        else:
            labels = labels_of(y)
            if len(labels) != len(X):  # scikit-learn's own refusal counts the rows, and one more or less is protected
                raise ValueError("X and y must be of the same rows: give one label for each of them")
            sums = np.abs(signs(labels, classes) @ clip_cells(X, clip, signed=True))
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


HALF = ROW // 2


@dataclass(eq=False, repr=False)
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

    _: KW_ONLY
    epsilon: float = 1.0
    clip: float = 1.0
    C: float = 1.0
    classes: tuple[Any, Any] = (0, 1)
    rng: Source | None = None

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
        classes, source = two_classes(self.classes), check_source(self.rng)
        X = valid_numbers(self, X)
        y = labels_of(y)
        check_consistent_length(X, y)
        way = signs(y, classes)
        rows = np.hstack([bound_rows(X, clip, HALF), np.full((len(X), 1), HALF)])  # the last is for the intercept
        used = rows * np.abs(way)[:, None]
        upper = np.triu_indices(rows.shape[1])
        # one row replaced moves the first sums by at most 2 ROW in all; the second by ROW^2, for the square of the
        # intercept's entry stays: 4 HALF^2 of the others, or 3 HALF^2 where a label is neither class
        linear = add_noise(used.T @ way, sensitivity=2 * ROW, epsilon=epsilon / 2, source=source)
        square = add_noise((used.T @ used)[upper], sensitivity=ROW**2, epsilon=epsilon / 2, source=source)
        weights = _solve(linear / ROW, square / ROW**2, upper, strength) / 2
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


def _solve(linear: Floats, square: Floats, upper: Any, strength: float) -> Floats:
    """The least of -b w/2 + w A w/8 + |w|^2/(2 C), A with no direction of negative weight: noise may make one."""
    matrix = np.zeros((len(linear), len(linear)))
    matrix[upper] = square
    matrix = matrix + np.triu(matrix, 1).T
    values, vectors = np.linalg.eigh(matrix)
    stiff = np.maximum(values, 0.0) / 4 + 1 / strength
    return vectors @ ((vectors.T @ (linear / 2)) / stiff)


@dataclass(eq=False, repr=False)
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
    >>> X, y = np.linspace(-1, 1, 4000)[:, None], np.arange(4000) >= 2000
    >>> search = PrivateSearchCV(
    ...     LogisticRegression(epsilon=0.5, classes=(False, True)), {"C": [0.01, 100.0]}, budget=sl.PureDP(0.9)
    ... )
    >>> search.fit(X, y).predict([[0.9], [-0.9]]).tolist(), search.guarantee_.as_pure().epsilon <= 0.9
    ([True, False], True)
    """

    estimator: Any
    param_grid: Any
    _: KW_ONLY
    guarantee: Guarantee | None = None
    runs: RunLaw | None = None
    budget: Guarantee | None = None
    eta: float | None = None
    cap: int | None = None
    pad: bool = False
    delta: float | None = None
    held_out: float = 0.25
    rowwise: bool = False
    rng: Source | None = None

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
        X, y = self._check(X, y)
        source = check_source(self.rng)
        grid = list(ParameterGrid(self.param_grid))
        models = [self._model(candidate) for candidate in grid]
        promises = [_check_promise(self.guarantee, model) for model in models]
        epsilons = [_score_epsilon(promise) for promise in promises]
        rows, rowwise = self._parts(len(y), source), check_flag("rowwise", self.rowwise)

        def run(place: int) -> tuple[Any, float]:
            parts = [_safe_indexing(values, part) for part in rows for values in (X, y)]  # of its own: it may write
            model = self._model(grid[place]).fit(parts[0], parts[1])
            right = right_answers(model, parts[2], labels_of(parts[3]), source, rowwise=rowwise)
            noisy = add_noise(np.array([right]), sensitivity=1, epsilon=epsilons[place], source=source)[0]
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

    def _check(self, X: Any, y: Any) -> Any:
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
    answers = _answers(model, X) if alone else None
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


def _check_promise(guarantee: object, model: Any) -> Budget:
    if guarantee is None and isinstance(model, PrivateSearchCV):
        raise TypeError("guarantee must say what a whole search inside a search promises: its guarantee_ after a fit")
    promise = getattr(model, "guarantee", None) if guarantee is None else guarantee
    if not isinstance(promise, PureDP | ZCDP | ApproxDP):
        raise TypeError("guarantee must say what one fit promises: PureDP(0.5), ZCDP(0.1) or ApproxDP(0.5, 1e-6)")
    return promise


def _score_epsilon(promise: Budget) -> float:
    """The largest epsilon that is within what one fit promises: pure noise on a score then is too."""
    return promise.epsilon if isinstance(promise, PureDP) else calibrate(PureDP, promise)
