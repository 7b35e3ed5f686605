"""The private search: one run's law and price, what it charges, what it shows, and scikit-learn's own checks."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import check_estimator

import shortlist as sl
from shortlist.privacy import ZCDP, ApproxDP, PureDP, Tuned
from shortlist.sklearn import LogisticRegression, PrivateSearchCV, _score_epsilon, right_answers
from shortlist.testing import seeded
from tests.helpers.support import assert_law
from tests.helpers.typed import present
from tests.sklearn.shared import UNFIT, rounded_laplace

ONE = sl.Binomial(1, 1.0)
X, Y = np.linspace(-1, 1, 400)[:, None], (np.arange(400) >= 200).astype(int)


class Constant(ClassifierMixin, BaseEstimator):
    """Says one thing whatever it sees, which is private; `broken` fails."""

    def __init__(self, says=0, broken=False, random_state=None):
        self.says, self.broken, self.random_state = says, broken, random_state

    guarantee = PureDP(0.5)

    def fit(self, X, y):
        if self.broken:
            raise ArithmeticError("a private reason")
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.full(len(X), self.says)


def search(estimator=None, grid=None, **words):
    return PrivateSearchCV(estimator or Constant(), grid or {"says": [0, 1]}, **({"runs": ONE} | words))


def test_a_score_is_a_count_of_right_answers_with_laplace_noise():
    source = seeded(4)
    scores = [
        search(grid={"says": [1]}, rng=source).fit(X[:40], np.ones(40, int)).best_score_ * 10 - 10 for _ in range(400)
    ]
    counts = np.bincount(np.clip(np.rint(scores).astype(int), -13, 12) + 13, minlength=26)
    assert_law(counts, rounded_laplace(2.0, 12), wrong=rounded_laplace(1.0, 12))


def test_parts_are_drawn_without_a_look_and_share_no_row():
    train, test = search()._parts(100, seeded(1))
    assert sorted([*train, *test]) == list(range(100))
    assert len(test) == 25


@pytest.mark.parametrize("promise", [PureDP(0.7), ZCDP(0.1), ApproxDP(0.7, 1e-6)], ids=repr)
def test_noise_on_a_score_is_within_what_one_fit_promises(promise):
    epsilon = _score_epsilon(promise)
    assert promise.excess(PureDP(epsilon)) <= 0 < promise.excess(PureDP(epsilon * 1.001))


def test_it_tunes_and_says_its_price():
    chosen = PrivateSearchCV(
        LogisticRegression(epsilon=0.5), {"clip": [1.0, 1e4]}, runs=sl.NegativeBinomial(mean=10), rng=seeded(2)
    ).fit(np.tile(X, (20, 1)), np.tile(Y, 20))
    assert chosen.best_params_ == {"clip": 1.0}
    assert chosen.guarantee_ == Tuned(PureDP(0.5), sl.NegativeBinomial(mean=10))
    assert 0.8 < present(chosen.best_score_) < 1.1
    assert (chosen.predict(X) == Y).mean() > 0.9
    assert chosen.predict_proba(X).shape == (400, 2)
    assert not hasattr(chosen, "cv_results_")
    within = search(LogisticRegression(epsilon=0.5), {"C": [1.0]}, runs=None, budget=sl.PureDP(0.95)).fit(X, Y)
    assert within.guarantee_.as_pure().epsilon <= 0.95


def test_every_candidate_has_its_own_promise():
    grid = {"epsilon": [0.25, 0.5]}
    chosen = search(LogisticRegression(), grid, runs=sl.NegativeBinomial(mean=3)).fit(X, Y)
    assert chosen.guarantee_.as_pure() == Tuned(PureDP(0.5), sl.NegativeBinomial(mean=3)).as_pure()


def test_the_charge_is_booked_before_the_first_fit(tmp_path):
    ledger = sl.Ledger(tmp_path / "s.db", budget=sl.PureDP(0.75))
    search().fit(X, Y, ledger=ledger, purpose="pick")
    fits = []

    class Watched(Constant):
        def fit(self, X, y):
            fits.append(1)
            return super().fit(X, y)

    with pytest.raises(sl.BudgetExceeded):
        search(Watched()).fit(X, Y, ledger=ledger)
    assert not fits


def test_a_failed_fit_is_an_outcome_and_shows_nothing():
    failed = search(Constant(broken=True)).fit(X, Y)
    assert failed.tuned_.failed
    with pytest.raises(NotFittedError, match="no model came out"):
        failed.predict(X)
    with pytest.raises(NotFittedError):
        search().predict(X)


def test_what_is_refused():
    for words, says in (
        ({"estimator": Constant(random_state=1)}, "random_state must be None"),
        ({"grid": {"random_state": [0, 1]}}, "random_state must be None"),
        ({"held_out": 1.5}, "held_out must be"),
        ({"held_out": 0.001}, "held_out must leave"),
    ):
        with pytest.raises(ValueError, match=says):
            search(**words).fit(X, Y)
    with pytest.raises(TypeError, match="estimator must be a classifier"):
        search(Ridge(), {"alpha": [1.0]}, guarantee=PureDP(1.0)).fit(X, Y)
    with pytest.raises(TypeError, match="guarantee must say"):
        search(guarantee=1.0).fit(X, Y)
    assert clone(search(held_out=0.5)).held_out == 0.5


def test_scikit_learn_checks_it():
    subject = PrivateSearchCV(LogisticRegression(epsilon=1000.0), {"C": [1.0, 10.0]}, runs=sl.Binomial(2, 1.0))
    types = {"check_dtype_object": "columns of any type go to the estimator, which may be a pipeline"}
    check_estimator(subject, on_skip=None, expected_failed_checks=UNFIT | types)


class Base(ClassifierMixin, BaseEstimator):
    """Looks at nothing when it is fitted, so that only `predict` can give a held-out row away."""

    guarantee = PureDP(1e6)  # next to no noise: the score is the count itself

    def fit(self, X, y):
        self.classes_, self.seen_ = np.array([0, 1]), []
        return self


class Centering(Base):
    """As a transformer that subtracts the mean of whatever rows it is given."""

    def predict(self, X):
        return (X[:, 0] > X[:, 0].mean()).astype(int)


class Remembering(Base):
    """Compares a row with all that it has seen before."""

    def predict(self, X):
        self.seen_ += X[:, 0].tolist()
        return (X[:, 0] > np.mean(self.seen_)).astype(int)


class Refusing(Base):
    """As scikit-learn's own: one cell that is not a number refuses all rows."""

    def predict(self, X):
        if not np.isfinite(X).all():
            raise ValueError("Input X contains NaN")
        return (X[:, 0] > 0).astype(int)


class Skipping(Base):
    """Gives no answer for rows that it does not like."""

    def predict(self, X):
        return (X[np.isfinite(X[:, 0])][:, 0] > 0).astype(int)


def score(model, X, y, **words):
    """(the count of right answers, whether the run failed, the model), with the same rows held out each time."""
    found = PrivateSearchCV(model, {}, runs=ONE, rng=seeded(3), **words).fit(X, y)
    count = None if found.best_score_ == -np.inf else round(present(found.best_score_) * 20)
    return count, found.tuned_.failed, found.best_estimator_


@pytest.mark.parametrize("odd", [1e9, -1e9, np.nan, np.inf])
@pytest.mark.parametrize("kind", [Centering, Remembering, Refusing, Skipping])
def test_a_held_out_row_moves_the_count_of_right_answers_by_one_at_most(kind, odd):
    """Whatever `predict` does with the other rows it is given, keeps of them, or refuses."""
    X = np.random.default_rng(2).normal(size=(80, 1))
    y = (X[:, 0] > 0).astype(int)
    first = score(kind(), X, y)[0]
    assert first is not None
    moved = 0
    for row in range(80):  # of which 20 are held out
        other = X.copy()
        other[row] = odd
        count, failed, model = score(kind(), other, y)
        assert not failed
        assert model.seen_ == []  # the model that is released has seen no held-out row
        assert abs(count - first) <= 1
        moved += count != first
    assert moved or kind is Centering or kind is Remembering


@pytest.mark.parametrize("kind", [Refusing, Skipping])
def test_rows_at_once_are_those_one_by_one_where_each_is_classified_by_itself(kind):
    X = np.random.default_rng(2).normal(size=(80, 1))
    y = (X[:, 0] > 0.3).astype(int)
    for odd in (0.0, np.nan):
        X[::7] = odd
        assert score(kind(), X, y, rowwise=True)[0] == score(kind(), X, y)[0]
    with pytest.raises(TypeError, match="rowwise must be True or False"):
        search(rowwise="yes").fit(X, y)


def test_our_own_classifier_is_asked_once_and_gives_the_same_count(monkeypatch):
    X, y = np.random.default_rng(1).normal(size=(200, 3)), np.arange(200) % 2
    X[::9] = np.nan
    model, source = LogisticRegression(epsilon=1.0, rng=seeded(1)).fit(X, y), seeded(2)
    rows = [right_answers(model, X[[row]], y[[row]], source, rowwise=False) for row in range(200)]
    assert right_answers(model, X, y, source, rowwise=False) == sum(rows)
    calls: list[int] = []

    def predict(self, X):
        calls.append(len(X))
        return np.zeros(len(X))

    monkeypatch.setattr(LogisticRegression, "predict", predict)
    right_answers(model, X, y, source, rowwise=False)
    assert calls == [200]
