"""Estimators for scikit-learn."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Self, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from shortlist._arrays import Floats, Indices, Mask
from shortlist.api import top_k
from shortlist.exact.noise import LAPLACE
from shortlist.mechanisms.base import check_source
from shortlist.privacy import Ledger, PureDP
from shortlist.sampling.entropy import Source
from shortlist.sampling.thresholds import add_whole_noise
from shortlist.scores import Scores

Result = TypeVar("Result")

PLAIN = "biufUS"
"""Types of arrays in which a label cannot change another's."""
CELL = 1 << 20
"""Steps between 0 and the clip of a single number."""
ROW = 1 << 10
"""Steps of a row's absolute sum: products of two are below its square."""
MOST_ROWS = 1 << 40
"""Sums of so many products fit into 64 bits."""


def checked_rows(X: Floats) -> Floats:
    """Refuse a table so long that sums would not fit; its length is public."""
    if len(X) > MOST_ROWS:
        raise ValueError("X must have at most 2^40 rows")
    return X


def clipped_cells(X: Floats, clip: float, *, signed: bool) -> Indices:
    """Each number clipped to [0, clip], or [-clip, clip], in whole steps of clip / CELL. What is no number is 0."""
    with np.errstate(all="ignore"):
        steps = np.rint(np.clip(np.nan_to_num(X / clip), -1.0 if signed else 0.0, 1.0) * CELL)
    return np.clip(steps.astype(np.int64), -CELL if signed else 0, CELL)


def bounded_rows(X: Floats, clip: float, most: int) -> Indices:
    """Rows in steps of clip / most, cut towards 0, scaled down where their absolute values sum to more than `most`."""
    with np.errstate(all="ignore"):
        rows = np.nan_to_num(X / clip, posinf=0.0, neginf=0.0)
        sums = np.abs(rows).sum(axis=1, keepdims=True)
        steps: Indices = np.trunc(np.nan_to_num(rows / np.maximum(sums, 1.0)) * most).astype(np.int64)
    steps[np.abs(steps).sum(axis=1) > most] = 0  # rounding above; a function of the row alone
    return steps


def noisy_sums(sums: Indices, *, sensitivity: int, epsilon: float, source: Source) -> Indices:
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
    ways: Indices = same(labels, classes[1]).astype(np.int64) - same(labels, classes[0]).astype(np.int64)
    return ways


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
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data: array.reshape(-1, 1) if it has "
            "one feature, array.reshape(1, -1) if it has one row"
        )
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
    if frame and all(getattr(kind, "kind", "O") in "biuf" for kind in X.dtypes):
        return X
    if issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf"):
        return X
    cells = np.asarray(X, dtype=object)
    numbers = np.array([[_number(cell) for cell in row] for row in cells.tolist()], np.float64).reshape(cells.shape)
    return type(X)(numbers, columns=X.columns) if frame and hasattr(X, "iloc") else numbers


def valid_numbers(estimator: Any, X: Any, *, reset: bool = True) -> Floats:
    """The rows as floats, as many columns as the estimator has seen (`reset`: they are its first)."""
    words: dict[str, Any] = {"dtype": np.float64, "reset": reset, "ensure_all_finite": False}
    with np.errstate(all="ignore"):  # a number beyond all floats: a warning would tell of it
        numbers: Floats = in_one_line(lambda: validate_data(estimator, numbers_of(X), **words))
    return numbers


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except Exception:
        return math.nan


def two_classes(classes: object) -> tuple[Any, Any]:
    """Return the two labels, which are public knowledge. Whether `y` has them is private and is not checked."""
    if not isinstance(classes, Sequence | np.ndarray) or isinstance(classes, str) or len(classes) != 2:
        raise ValueError(
            'classes must be the two labels to compare, for example classes=(0, 1) or classes=("no", "yes")'
        )
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
        clip, epsilon, source = positive("clip", self.clip), positive("epsilon", self.epsilon), check_source(self.rng)
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
        classes, source = two_classes(self.classes), check_source(self.rng)
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
