"""What is no table of numbers, or no list of labels, is refused by shape and type, in words that show no cell."""

from typing import Any

import numpy as np
import pytest

from shortlist import NegativeBinomial
from shortlist.sklearn import LogisticRegression, PrivateSearchCV, SelectKBest
from shortlist.testing import seeded

Y = np.array([0, 1] * 4)
ODD_ROWS: dict[str, Any] = {
    "1d": np.full(8, 777.25),
    "1d list": [777.25] * 8,
    "1d objects": np.array(["777"] * 8, object),
    "scalar": 777.25,
    "text": np.full((8, 2), "Mr 777"),
    "complex": np.full((8, 2), 777.25 + 1j),
    "void": np.full((8, 2), b"777", "V4"),
}
ODD_LABELS: dict[str, Any] = {
    "complex": np.full((8, 2), 777.25 + 1j),
    "complex column": np.full((8, 1), 777.25 + 1j),
    "two columns": np.full((8, 2), 777.25),
    "scalar": 777.25,
}


def estimators() -> list[Any]:
    model = LogisticRegression(epsilon=1.0, rng=seeded(1))
    return [
        model,
        SelectKBest(k=1, epsilon=1.0, statistic="difference", classes=(0, 1), rng=seeded(1)),
        PrivateSearchCV(LogisticRegression(epsilon=1.0), {"C": [1.0]}, runs=NegativeBinomial(mean=2), rng=seeded(1)),
    ]


def said(action) -> str:
    """Every text of the error, and of those behind it; nothing where there is none."""
    try:
        action()
    except (ValueError, TypeError) as error:
        return f"{error}{error.__context__ or ''}"
    return ""


@pytest.mark.parametrize("kind", ODD_ROWS)
def test_no_cell_of_odd_rows_is_shown(kind):
    rows = ODD_ROWS[kind]
    fitted = LogisticRegression(epsilon=1.0, rng=seeded(1)).fit(np.ones((8, 2)), Y)
    texts = [said(lambda one=one: one.fit(rows, Y)) for one in estimators()]
    texts.append(said(lambda: fitted.predict(rows)))
    assert not any("777" in text or "\n" in text for text in texts)
    if kind != "text":  # which counts as missing
        assert all(texts)
    if kind == "complex":
        assert all("Complex data not supported" in text for text in texts)
    if "1d" in kind or kind == "scalar":
        assert all("Reshape your data" in text for text in texts)


@pytest.mark.parametrize("kind", ODD_LABELS)
def test_no_odd_label_is_shown(kind):
    for one in estimators():
        text = said(lambda one=one: one.fit(np.ones((8, 2)), ODD_LABELS[kind]))
        assert text
        assert "777" not in text
        assert "\n" not in text


@pytest.mark.parametrize("labels", [np.zeros(776), [0] * 776, np.zeros((777, 2)), np.zeros((777, 2, 1))])
def test_a_choice_of_features_does_not_count_its_rows(labels):
    """Its promise is for a row more or less, so that their number is private."""
    one = SelectKBest(k=1, epsilon=1.0, statistic="difference", classes=(0, 1), rng=seeded(1))
    text = said(lambda: one.fit(np.ones((777, 2)), labels))
    assert text
    assert "77" not in text


@pytest.mark.filterwarnings("error")
def test_a_number_beyond_all_floats_warns_of_nothing():
    rows = np.ones((8, 2), np.longdouble)
    rows[0, 0] = np.finfo(np.longdouble).max
    assert SelectKBest(k=1, epsilon=1.0, rng=seeded(1)).fit(rows).release_.items
    assert LogisticRegression(epsilon=1.0, rng=seeded(1)).fit(rows, Y).predict(rows).shape == (8,)
