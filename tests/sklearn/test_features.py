"""Private feature selection: what it adds up, how far one row moves that, its price, and scikit-learn's own checks."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import shortlist as sl
import shortlist.sklearn as features
from shortlist.sklearn import CELL, LogisticRegression, SelectKBest
from shortlist.testing import check_sensitivity, seeded
from tests.sklearn.shared import UNFIT


def scores_of(monkeypatch, statistic, X, y):
    """The scores that are handed to the mechanism."""
    handed = []

    def record(scores, *rest, **words):
        handed.append(scores)
        return SimpleNamespace(guarantee=None)

    monkeypatch.setattr(features, "top_k", record)
    SelectKBest(k=1, statistic=statistic, classes=(0, 1)).fit(X, y)
    return handed[0]


@pytest.mark.parametrize("statistic", ["sum", "difference"])
def test_nothing_refutes_the_claimed_sensitivity(monkeypatch, statistic):
    rows = [{"user": n, "a": 0.1 * n, "b": -1.0 * n, "y": n % 2} for n in range(6)]

    def score(table):
        table = list({repr(row["user"]): row for row in sorted(table, key=repr)}.values())  # one row is one person
        X = np.array([[row["a"], row["b"]] for row in table]).reshape(-1, 2)
        X, y = np.vstack([X, [[0.0, 0.0]]]), np.array([*(row["y"] for row in table), 0])
        return scores_of(monkeypatch, statistic, X, y).values.tolist()

    claim = {"user": "user", "monotone": statistic == "sum", "tries": 60}
    verdict = check_sensitivity(score, rows, sensitivity=CELL, **claim)
    assert not verdict.refuted, verdict
    assert check_sensitivity(score, rows, sensitivity=CELL / 2, **claim).refuted


@pytest.mark.parametrize(("statistic", "whole"), [("sum", CELL), ("difference", 2 * CELL)])
def test_the_range_that_noise_is_for(monkeypatch, statistic, whole):
    assert scores_of(monkeypatch, statistic, np.ones((3, 2)), [0, 1, 1]).range_sensitivity == whole


def test_it_finds_the_features_that_tell_classes_apart():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (4000, 8))
    y = (X[:, 2] - X[:, 5] > 0).astype(int)
    chosen = SelectKBest(2, epsilon=1.0, statistic="difference", classes=(0, 1), rng=seeded(1)).fit(X, y)
    assert chosen.get_support(indices=True).tolist() == [2, 5]
    assert chosen.guarantee_ == sl.PureDP(1.0)
    assert chosen.transform(X).shape == (4000, 2)
    model = make_pipeline(
        SelectKBest(2, statistic="difference", classes=(0, 1)), LogisticRegression(epsilon=1.0, clip=2.0)
    ).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.8


def test_its_price_is_booked(tmp_path):
    ledger = sl.Ledger(tmp_path / "k.db", budget=sl.PureDP(1.0))
    SelectKBest(1, epsilon=0.75).fit(np.ones((5, 2)), ledger=ledger, purpose="columns")
    with pytest.raises(sl.BudgetExceeded):
        SelectKBest(1, epsilon=0.75).fit(np.ones((5, 2)), ledger=ledger)


def test_what_is_refused():
    for k in (0, 9):
        with pytest.raises(ValueError, match="k must be between 1"):
            SelectKBest(k).fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="statistic must be"):
        SelectKBest(1, statistic="chi2").fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="clip must be"):
        SelectKBest(1, clip=0.0).fit(np.ones((5, 2)))


@pytest.mark.parametrize(
    "labels", [["no", "yes"] * 3, list(range(6)), [0, 1] * 3], ids=["text", "six classes", "0 and 1"]
)
def test_the_classes_of_a_difference_must_be_named_whatever_the_labels_are(labels):
    """With a default of (0, 1), other labels counted for nothing, and the selection was noise."""
    with pytest.raises(ValueError, match=r"classes must be the two labels to compare, for example classes=\(0, 1\)"):
        SelectKBest(1, statistic="difference").fit(np.ones((6, 2)), labels)


def test_text_labels_select_the_feature_that_differs():
    X = np.zeros((400, 5))
    X[::2, 3] = 1.0
    y = np.where(np.arange(400) % 2, "no", "yes")
    chosen = SelectKBest(1, statistic="difference", classes=("no", "yes"), rng=seeded(1)).fit(X, y)
    assert chosen.get_support(indices=True).tolist() == [3]


def test_scikit_learn_checks_it():
    check_estimator(SelectKBest(k=1, epsilon=100.0), on_skip=None, expected_failed_checks=UNFIT)


def test_without_its_package_it_says_what_to_install():
    code = "import sys; sys.modules['sklearn'] = None; import shortlist.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = "MissingPackageError: shortlist.sklearn needs scikit-learn: pip install 'shortlist[sklearn]'"
    assert done.stderr.strip().endswith(said)
    assert "another exception" not in done.stderr
