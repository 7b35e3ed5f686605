"""Candidates stay in their engine: the law of the names is exact, and nothing but winners is ever told."""

import inspect
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

import shortlist as sl
from shortlist import mechanisms
from shortlist._arrays import Runs
from shortlist.mechanisms import CanonicalTopK, GuardedTopK, JointTopK, Mechanism, OneshotTopK, SparseVector
from shortlist.scores import Remote
from shortlist.tables import duckdb as engines
from shortlist.tables.count import Histogram, Ranking
from shortlist.tables.question import Plan, Question
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import present
from tests.tables.tables import source


class Counted:
    """An engine that notes what it is asked."""

    plan = Plan(Question(user="user"))

    def __init__(self, classes):
        self.held = classes
        self.asked = []

    def classes(self, column="score"):
        scores, sizes = np.array(self.held, np.int64).T
        return np.zeros_like(scores), scores, sizes

    def winners(self, places, column="score"):
        self.asked += places
        return [(f"{score}/{rank}",) for _, score, rank in places]

    def counts(self, places):
        raise AssertionError("nobody asks for these")


def scores_of(classes, public=True):
    engine: Any = Counted(classes)
    question: dict[str, Any] = {
        "sensitivity": 1.0,
        "monotone": True,
        "unit": "user",
        "frame": None,
        "columns": (),
    }
    return engine, sl.Scores._of_table(Remote(Ranking(Histogram(engine), 0)), public=public, **question)


def draws(scores, mechanism, n, seed):
    rng = sl.testing.seeded(seed)
    return Counter(tuple(mechanism.release(scores, rng=rng).items) for _ in range(n))


@full_size
@pytest.mark.parametrize(
    "mechanism", [CanonicalTopK(k=2, epsilon=0.6), OneshotTopK(k=2, epsilon=0.6), GuardedTopK(k=3, epsilon=0.9)]
)
def test_names_have_the_law_of_the_labelled_scores(mechanism):
    """Classes and ranks against the exact law on labels: with power, for one rank in place of all is refuted."""
    _, held = scores_of([(5, 1), (3, 3), (0, 4)])
    labels = ["5/1", "3/1", "3/2", "3/3", "0/1", "0/2", "0/3", "0/4"]
    plain = sl.Scores([5, 3, 3, 3, 0, 0, 0, 0], labels=labels, monotone=True, public=True)
    found: Counter[Any] = Counter()
    for items, n in draws(held, mechanism, sized(250, full=6000), 11).items():
        for item in items:
            found[item] += n
    law = np.asarray(mechanism.inclusion_probabilities(plain)) / mechanism.k
    counts = np.array([found[label] for label in labels])
    first = law.copy()
    first[1:4] = law[1:4].sum(), 0, 0
    assert_law(counts, law, wrong=first)


@full_size
def test_sets_have_the_law_of_the_labelled_scores():
    _, held = scores_of([(4, 1), (3, 2), (1, 2)])
    labels = ["4/1", "3/1", "3/2", "1/1", "1/2"]
    mechanism = CanonicalTopK(k=2, epsilon=0.8)
    law = mechanism.probabilities(sl.Scores([4, 3, 3, 1, 1], monotone=True))
    found = draws(held, mechanism, sized(600, full=8000), 12)
    sets = list(combinations(range(5), 2))
    counts = [found[tuple(sorted(labels[i] for i in one))] for one in sets]
    assert_law(counts, [law[one] for one in sets], wrong=np.full(len(sets), 1 / len(sets)))


@pytest.mark.parametrize("epsilon", [0.02, 0.3, 3.0])
@pytest.mark.parametrize(("kind", "k"), [(CanonicalTopK, 1), (CanonicalTopK, 2), (CanonicalTopK, 7), (GuardedTopK, 2),
                                         (GuardedTopK, 7), (GuardedTopK, 30), (GuardedTopK, 45)])  # fmt: skip
def test_runs_draw_bit_for_bit_what_arrays_draw(kind, k, epsilon):
    classes = [(90, 1), (60, 4), (59, 2), (31, 9), (2, 12), (0, 20)]
    _, held = scores_of(classes)
    values = np.repeat([score for score, _ in classes], [size for _, size in classes])
    plain = sl.Scores(values, labels=held.as_public().labels, monotone=True, public=True)
    mechanism = kind(k=k, epsilon=epsilon)
    for seed in range(12):
        one, other = (mechanism.release(scores, rng=sl.testing.seeded(seed)) for scores in (held, plain))
        assert (one.items, one.used) == (other.items, other.used)


def test_other_noises_and_budgets_draw_from_runs_too():
    classes = [(9, 2), (4, 3), (0, 5)]
    _, held = scores_of(classes)
    plain = sl.Scores(np.repeat([9, 4, 0], [2, 3, 5]), labels=held.as_public().labels, monotone=True, public=True)
    for mechanism in (CanonicalTopK(k=3, epsilon=0.5, noise="laplace"), CanonicalTopK(k=3, budget=sl.ZCDP(0.01))):
        for seed in range(5):
            one, other = (mechanism.release(scores, rng=sl.testing.seeded(seed)) for scores in (held, plain))
            assert one.items == other.items


@pytest.mark.parametrize("budget", [sl.ApproxDP(0.3, 1e-3), sl.ZCDP(0.01), sl.ZCDP(0.3)], ids=str)
@pytest.mark.parametrize("k", [7, 45])
def test_the_guard_draws_from_runs_under_every_budget(budget, k):
    classes = [(90, 1), (60, 4), (59, 2), (31, 9), (2, 12), (0, 20)]
    _, held = scores_of(classes)
    values = np.repeat([score for score, _ in classes], [size for _, size in classes])
    plain = sl.Scores(values, labels=held.as_public().labels, monotone=True, public=True)
    for seed in range(6):
        one, other = (
            GuardedTopK(k=k, budget=budget).release(scores, rng=sl.testing.seeded(seed)) for scores in (held, plain)
        )
        assert (one.items, one.used) == (other.items, other.used)


def test_runs_read_like_the_array_they_stand_for():
    runs = Runs.of(np.array([9, 4, 0]), np.array([2, 3, 1]))
    plain = np.array([9, 9, 4, 4, 4, 0])
    assert runs.expand().tolist() == plain.tolist()
    assert len(runs) == 6
    assert [runs[i] for i in range(6)] == plain.tolist()
    for start in range(6):
        assert runs[start:].expand().tolist() == plain[start:].tolist()
        assert runs[:start].tolist() == plain[:start].tolist()
    rising = Runs(-runs.values, runs.ends)
    for side in ("left", "right"):
        probes = np.array([-10, -9, -5, -4, 0, 1])
        assert rising.searchsorted(probes, side=side).tolist() == np.searchsorted(-plain, probes, side=side).tolist()
    assert len(Runs.of(np.array([], np.int64), np.array([], np.int64))) == 0
    assert Runs.of(np.array([2**40]), np.array([2])).expand().dtype == np.int64
    assert Runs.of(np.array([-(2**63)]), np.array([2])).expand().tolist() == [-(2**63)] * 2  # it has no absolute value


def test_only_winners_are_asked_for():
    engine, held = scores_of([(50, 3), (1, 1_000_000)])
    release = sl.top_k(held, 3, epsilon=1.0)
    assert len(engine.asked) == len(present(release.items)) == 3
    assert repr(held) == "Scores(1000003 candidates, sensitivity=1.0, monotone, add-remove, public)"


def test_positions_tell_a_rank_and_are_not_released():
    _, held = scores_of([(50, 1), (1, 4)])
    for release in (sl.top_k(held, 2, epsilon=1.0), sl.select(held, epsilon=1.0)):
        assert release.indices is None
    with pytest.raises(AttributeError, match=r"read \.item"):
        sl.select(held, epsilon=1.0).index  # noqa: B018


def test_mechanisms_that_ask_in_an_order_refuse_candidates_without_one():
    """Best score first is an order that the data made: a sparse vector over it would be no sparse vector."""
    engine, held = scores_of([(50, 1), (1, 4)])
    with pytest.raises(ValueError, match="in an order that must be public"):
        SparseVector(threshold=10, k=1, epsilon=1.0, monotone=True).release(held)
    assert not engine.asked


def test_every_mechanism_says_whether_it_treats_candidates_alike():
    kinds = [kind for kind in vars(mechanisms).values() if inspect.isclass(kind) and issubclass(kind, Mechanism)]
    ordered = {kind.__name__ for kind in kinds if not kind.exchangeable}
    assert ordered == {"Mechanism", "Quantile", "SparseVector"}


@full_size
@pytest.mark.parametrize("mechanism", [JointTopK(k=2, epsilon=0.7), mechanisms.TopKWithGaps(k=2, epsilon=0.7),
                                       mechanisms.HybridTopK(threshold=3, k=2, epsilon=0.7),
                                       mechanisms.HybridSparseVector(threshold=3, k=2, epsilon=0.7)])  # fmt: skip
def test_tied_candidates_are_chosen_alike(mechanism):
    _, held = scores_of([(4, 4), (0, 2)])
    found = Counter(
        item
        for items, n in draws(held, mechanism, sized(350, full=6000), 3).items()
        for item in items
        for _ in range(n)
    )
    tied = [found[f"4/{rank}"] for rank in (1, 2, 3, 4)]
    one = sized(0.46, full=0.4)  # the first of them, where its place counts
    assert_law(tied, np.full(4, 0.25), wrong=np.array([one, *[(1 - one) / 3] * 3]))


def test_utility_of_counted_scores_needs_as_public():
    rows = pl.DataFrame({"user": [1, 2, 2], "item": ["a", "a", "b"]})
    scores = sl.count(rows, user="user", item="item", candidates=["a", "b", "c"])
    mechanism = CanonicalTopK(k=1, epsilon=1.0)
    with pytest.raises(ValueError, match="as_public"):
        mechanism.success_probability(scores)
    assert 0 < mechanism.success_probability(scores.as_public()) < 1
    assert sum(mechanism.probabilities(scores.as_public()).values()) == pytest.approx(1)


@pytest.mark.parametrize("engine", ["parquet", "duckdb"])
def test_only_the_histogram_and_the_winners_leave_duckdb(engine, tmp_path, monkeypatch):
    rows = pl.DataFrame({"user": range(3000), "item": [f"item {n % 500}" for n in range(3000)]})
    cells = []
    made = engines.Rows

    def noting(plan, frame, run, *rest):
        def noted(statement):
            result = run(statement)
            if "FROM" in statement and not statement.startswith(("CREATE", "DESCRIBE")):
                cells.append(sum(len(row) for row in result))
            return result

        return made(plan, frame, noted, *rest)

    monkeypatch.setattr(engines, "Rows", noting)
    scores = sl.count(
        source(engine, rows, tmp_path), user="user", item="item", candidates=["item 7", *map(str, range(99))]
    )
    release = sl.top_k(scores, 4, epsilon=1.0)
    assert cells[-2:] == [3 * 1, 2 * 4]  # one score that is not 0, four names and their places
    assert len(present(release.items)) == 4


def test_nothing_is_left_in_the_connection_of_a_relation(tmp_path):
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE rows AS SELECT range % 7 AS user, range % 3 AS item FROM range(100)")
    scores = sl.count(connection.table("rows"), user="user", item="item", candidates=[0, 1, 2, 3])
    assert len(sl.top_k(scores, 2, epsilon=1.0).to_frame()) == 2
    del scores
    left = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    assert left == [("rows",)]


def test_a_table_that_changed_in_between_is_noticed():
    engine, held = scores_of([(5, 2)])
    engine.winners = lambda places, column: []
    with pytest.raises(RuntimeError, match="count again"):
        sl.select(held, epsilon=1.0)
