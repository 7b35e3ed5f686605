"""The private logistic regression: its exact price on a box of rows, what it learns, and scikit-learn's own checks."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import shortlist as sl
import shortlist.sklearn as logistic
from shortlist.sklearn import LogisticRegression
from shortlist.testing import seeded
from tests.sklearn.shared import UNFIT

NUMBERS = [-7.0, -1.0, -0.4, 0.0, 0.3, 1.0, np.nan, np.inf]


def loss(monkeypatch, one, two, epsilon=1.0):
    """The largest log ratio of the noisy sums of two tables: exact, from the sums and the noise that was asked for."""
    asked = []

    def record(sums, *, sensitivity, epsilon, source):
        asked.append((sums.copy(), Fraction(epsilon) / sensitivity))
        return sums

    monkeypatch.setattr(logistic, "add_noise", record)
    for X, y in (one, two):
        LogisticRegression(epsilon=epsilon).fit(X, y)
    half = len(asked) // 2
    return sum(int(np.abs(a - b).sum()) * rate for (a, rate), (b, _) in zip(asked[:half], asked[half:], strict=True))


def test_one_row_replaced_costs_at_most_epsilon(monkeypatch):
    rows = [(x, y) for x in product(NUMBERS[::2], NUMBERS[1::2]) for y in (0, 1, 7)]
    others = [(np.array([0.2, 0.1]), 1)]
    worst = Fraction(0)
    for (x, y), (z, w) in product(rows[::2], rows[1::3]):
        tables = [(np.array([row, others[0][0]]), np.array([label, 1])) for row, label in ((x, y), (z, w))]
        worst = max(worst, loss(monkeypatch, *tables))
    assert Fraction(3, 4) < worst <= 1


def test_some_rows_cost_all_of_epsilon(monkeypatch):
    """So that a forgotten factor would be seen."""
    one, two = ([[1.0, 0.0], [0.1, 0.1]], [1, 1]), ([[0.0, 1.0], [0.1, 0.1]], [0, 1])
    assert loss(monkeypatch, one, two) == 1


def test_it_learns():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (6000, 3)) / 3
    y = (X @ [3.0, -2.0, 0.5] + 0.2 * rng.normal(size=6000) > 0.1).astype(int)
    model = LogisticRegression(epsilon=1.0, C=100.0, rng=seeded(1)).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.85
    assert model.guarantee == sl.PureDP(1.0)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    released = {"n_features_in_", "classes_", "coef_", "intercept_"}
    assert set(vars(model)) == released | set(model.get_params())


def test_without_noise_to_speak_of_it_is_the_quadratic_loss():
    X = np.linspace(-1, 1, 101)[:, None]
    y = (X[:, 0] > 0.2).astype(int)
    model = LogisticRegression(epsilon=1e9, C=1e9, rng=seeded(1)).fit(X, y)
    z = np.hstack([np.trunc(X * 512) / 512, np.ones((101, 1))])
    known = 4 * np.linalg.solve(z.T @ z, z.T @ (y - 0.5))
    assert [*model.coef_[0], *model.intercept_] == pytest.approx(known, rel=1e-3)


def test_what_is_refused():
    for words in ({"epsilon": 0.0}, {"clip": -1.0}, {"C": np.inf}, {"classes": (1, 1)}):
        with pytest.raises(ValueError, match=next(iter(words))):
            LogisticRegression(**words).fit([[1.0], [2.0]], [0, 1])
    assert clone(LogisticRegression(C=3.0)).C == 3.0


def test_scikit_learn_checks_it():
    check_estimator(LogisticRegression(epsilon=1000.0), on_skip=None, expected_failed_checks=UNFIT)
