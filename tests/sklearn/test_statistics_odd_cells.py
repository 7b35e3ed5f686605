"""One person's odd label or cell counts for nothing: it changes nobody else's, and shows by no error and no warning."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shortlist import NegativeBinomial, PureDP
from shortlist.sklearn import LogisticRegression, PrivateSearchCV, SelectKBest, labels_of, numbers_of, same, signs
from shortlist.testing import seeded
from tests.helpers.typed import present

RUNS = NegativeBinomial(mean=3, eta=0)
ODD = ["x", b"q", pd.NA, complex(1, 1), None, object()]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
@pytest.mark.parametrize("made", [list, lambda y: np.array(y, object), pd.Series], ids=["list", "array", "series"])
def test_an_odd_label_changes_no_other(odd, made):
    labels: Any = [1, 0] * 20
    labels[0] = odd
    assert signs(labels_of(made(labels)), (0, 1)).tolist() == [0, -1, *[1, -1] * 19]


@pytest.mark.parametrize("odd", ["Mr Smith", pd.NA, 10**400, 1j, None], ids=str)
def test_an_odd_cell_is_missing_and_raises_nothing(odd):
    rows = np.array([[odd, 1.0], [2, 3.0]], object)
    frame = pd.DataFrame({"a": pd.Series([odd, 2], dtype=object), "b": [1.0, 3.0]})
    for table in (rows, rows.tolist(), frame):
        numbers = np.asarray(numbers_of(table), np.float64)
        assert np.isnan(numbers[0, 0]) or odd == 10**400
        assert numbers[:, 1].tolist() == [1.0, 3.0]
        LogisticRegression(epsilon=1.0, rng=seeded(1)).fit(table, [0, 1])
        SelectKBest(k=1, epsilon=1.0, rng=seeded(1)).fit(table)


def test_an_infinite_row_warns_of_nothing():
    model = LogisticRegression(epsilon=100.0, rng=seeded(1)).fit(np.array([[1.0], [-1.0]] * 50), np.array([1, 0] * 50))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(np.array([[np.inf], [-np.inf], [np.nan]])).shape == (3,)


class Wide(LogisticRegression):
    """Its answers have another shape, and it writes into its rows."""

    def predict(self, X):
        X *= 2
        return super().predict(X)[:, None]


def test_answers_of_another_shape_are_wrong():
    """A refusal would tell of the rows: a model may answer so for some of them alone."""
    X, y = np.ones((40, 1)), np.array([1, 0] * 20)
    search = PrivateSearchCV(Wide(epsilon=1.0), {"C": [1.0]}, runs=RUNS, rng=seeded(1)).fit(X, y)
    assert abs(present(search.best_score_)) < 5  # none is right, with noise of scale 1 on ten rows
    assert (X == 1).all()


def test_a_search_in_a_search_must_say_what_it_promises():
    inner = PrivateSearchCV(LogisticRegression(epsilon=1.0), {"C": [1.0]}, guarantee=PureDP(1.0), runs=RUNS)
    with pytest.raises(TypeError, match="search inside a search"):
        PrivateSearchCV(inner, {"held_out": [0.25]}, runs=RUNS).fit(np.ones((40, 1)), np.array([1, 0] * 20))


def test_labels_are_compared_one_by_one():
    assert same(labels_of([1, "x", 0]), np.array([1, 1, 0])).tolist() == [True, False, True]
