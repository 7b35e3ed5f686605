"""LargeGap and StableTopK: their laws, what they say and what they refuse."""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import ApproxDP, Ledger, PureDP, Scores
from shortlist.mechanisms import LargeGap, StableTopK
from shortlist.privacy import ZCDP, BoundedRange
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import of_kind, present
from tests.mechanisms.sparse_vector.test_mechanism import two_sample_p
from tests.mechanisms.stable.test_box_by_formula import adaptive_law, chances, ranks_law

CLIFF = {f"good {i}": 700 for i in range(30)} | {f"bad {i}": i % 4 for i in range(200)}


def read(drawn):
    """(the rank, the set or None) of each draw."""
    for row, (j, passed) in zip(drawn.indices, drawn.chosen.tolist(), strict=True):
        found = row[row >= 0].tolist()
        assert found == sorted(found)
        assert bool(found) == bool(passed)
        yield j, found if passed else None


def softmax(values):
    weights = np.exp(np.asarray(values, float) - max(values))
    return weights / weights.sum()


@pytest.mark.parametrize(
    ("scores", "question", "gaps", "scale"),
    [
        ([9, 7, 4, 3, 3], {"monotone": True}, [2, 3, 1, 0], 2.0),
        ([9, 7, 4, 3, 3], {}, [2, 3, 1, 0], 4.0),
        ([4.5, 0.25, 1.5, -np.inf], {"sensitivity": 0.5}, [3.0, 1.25], 2.0),
        ([9, 7, 4], {"sensitivity": (1, 2)}, [2, 3], 6.0),
    ],
)
def test_large_gap_follows_its_law(scores, question, gaps, scale):
    """Gumbel noise of scale 2 R / epsilon: a gap moves by R either way."""
    ranks = LargeGap(epsilon=1.0).release_many(scores, draws=200_000, rng=sl.testing.seeded(1), **question)
    counts = np.bincount(ranks, minlength=len(gaps) + 1)[1:]
    law = softmax(np.array(gaps) / scale)
    assert_law(counts, law, wrong=softmax(np.array(gaps) * 1.2 / scale))


def test_the_regularizer_and_the_limit_are_public_choices():
    scores = Scores([50, 40, 39, 20, 19], monotone=True)
    by_list = LargeGap(epsilon=1.0, regularizer=[0.5, 3.25, -np.inf])
    assert by_list.limit == 3
    ranks = by_list.release_many(scores, draws=3000, rng=sl.testing.seeded(2))
    assert_law(
        np.bincount(ranks, minlength=4)[1:], [*softmax([10.5 / 2, 4.25 / 2]), 0.0], wrong=[*softmax([5, 0.5]), 0.0]
    )
    assert LargeGap(epsilon=1.0, regularizer=lambda j: 1000 * (j == 2)).release(scores).k == 2
    release = LargeGap(epsilon=1.0, limit=2).release(scores)
    assert release.k in (1, 2)
    assert release.items == []
    assert f"k = {release.k}" in str(release)


def test_large_gap_needs_no_public_list_and_no_delta():
    release = LargeGap(epsilon=1.0, limit=50).release(CLIFF, monotone=True)
    assert release.k == 30
    assert release.guarantee == PureDP(1.0)
    assert release.charge == BoundedRange(1.0)
    assert of_kind(BoundedRange, LargeGap(budget=ZCDP(0.125), limit=50).charge).epsilon == pytest.approx(1.00695851215)
    assert 1 <= present(LargeGap(epsilon=1.0).release({}, monotone=True).k) <= 1000


def test_large_gap_takes_huge_and_tiny_numbers():
    assert LargeGap(epsilon=1e-9).release([2**62, -(2**62), -(2**62) + 5], monotone=True).k == 1
    assert LargeGap(epsilon=1.0).release([1e300, 1e-300, 0.0], sensitivity=1e-300).k == 1


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({}, TypeError, "epsilon"),
        ({"epsilon": 1.0, "limit": 0}, ValueError, "limit"),
        ({"epsilon": 1.0, "regularizer": "abc"}, TypeError, "regularizer"),
        ({"epsilon": 1.0, "regularizer": [1.0, 2.0], "limit": 3}, ValueError, "as many as limit"),
        ({"epsilon": 1.0, "regularizer": [np.nan, 2.0]}, ValueError, "finite"),
        ({"epsilon": 1.0, "regularizer": [-np.inf]}, ValueError, "at least one"),
        ({"epsilon": 1.0, "regularizer": ["x"]}, TypeError, "numbers"),
    ],
)
def test_large_gap_checks_its_arguments(arguments, error, match):
    with pytest.raises(error, match=match):
        LargeGap(**arguments)


def test_large_gap_checks_its_question():
    with pytest.raises(ValueError, match="at least two"):
        LargeGap(epsilon=1.0).release([3])
    with pytest.raises(ValueError, match="less than the 3"):
        LargeGap(epsilon=1.0, limit=3).release([3, 2, 1])
    with pytest.raises(ValueError, match="whole-number"):
        LargeGap(epsilon=1.0).release({"a": 0.5}, monotone=True)
    with pytest.raises(ValueError, match="finite"):
        LargeGap(epsilon=1.0, regularizer=lambda j: float("inf")).release([3, 2, 1])


# StableTopK

DRAWN = (8, 6, 2, 1, 0)


@pytest.mark.parametrize("test", ["optimal", "laplace", "gaussian"])
def test_adaptive_draws_follow_the_law(test):
    m = StableTopK(epsilon=2.0, delta=0.2, test=test, limit=4)
    rows = read(m.release_many(DRAWN, monotone=True, draws=20_000, rng=sl.testing.seeded(3)))
    parts = m._parts
    law = adaptive_law(DRAWN, 4, parts.gap, chances(parts.test))
    found = Counter((j, None if items is None else frozenset(items)) for j, items in rows)
    assert set(found) <= set(law)
    wrong = [dict(adaptive_law(DRAWN, 4, 1.4 * present(parts.gap), chances(parts.test))).get(o, 0.0) for o in law]
    assert_law([found[o] for o in law], list(law.values()), wrong=wrong)


@pytest.mark.parametrize(("test", "budget"), [("optimal", ApproxDP(0.5, 0.05)), ("gaussian", ZCDP(0.05, 0.05))])
@pytest.mark.parametrize("gap", [0, 1, 4, 9])
def test_fixed_k_passes_with_its_probability(test, budget, gap):
    m = StableTopK(k=2, budget=budget)
    assert m.test == test
    rows = list(read(m.release_many([20, 5 + gap, 5], monotone=True, draws=4000, rng=sl.testing.seeded(4))))
    assert all(j == 0 for j, _ in rows)
    passed = sum(items is not None for _, items in rows)
    chance = chances(m._parts.test)(gap)
    if gap == 0:
        assert passed == 0  # ties are never certified
        return
    assert_law([passed, 4000 - passed], [chance, 1 - chance], wrong=[chance / 2, 1 - chance / 2])
    assert all(items in (None, [0, 1]) for _, items in rows)


def test_a_cliff_is_released_whole_and_nothing_else_is():
    release = StableTopK(epsilon=1.0, delta=1e-6).release(CLIFF, monotone=True)
    assert release.items == sorted(name for name in CLIFF if name.startswith("good"))
    assert release.k == 30
    assert release.indices is None
    assert not release.ordered
    assert release.values is None
    none = StableTopK(k=29, epsilon=1.0, delta=1e-6).release(CLIFF, monotone=True)
    assert none.items is None
    assert none.indices is None
    assert "did not pass" in str(none)
    assert none.columns() == {"item": []}
    assert len(none.to_frame()) == 0
    assert none.as_set().items is None
    with pytest.raises(AttributeError, match="0 items"):
        none.item  # noqa: B018
    assert none.plot() is not None


def test_no_data_releases_nothing():
    for nobody in ({}, {"a": 0}):
        for m in (StableTopK(epsilon=1.0, delta=0.4), StableTopK(k=1, epsilon=1.0, delta=0.4)):
            assert all(m.release(nobody, monotone=True).items is None for _ in range(20))
        m = StableTopK(k=2, epsilon=1.0, delta=0.4, fill=True)
        assert all(m.release(nobody, monotone=True).items == [] for _ in range(20))


def test_a_rank_beyond_the_data_never_passes():
    m = StableTopK(k=5, epsilon=1.0, delta=0.4)
    assert all(m.release({"a": 900, "b": 800}, monotone=True).items is None for _ in range(50))


def test_filling_up_keeps_the_stable_set_and_names_k():
    good = sorted(name for name in CLIFF if name.startswith("good"))
    steps = CLIFF | {"next": 300, "last": 200}
    filled = StableTopK(k=32, epsilon=4.0, delta=1e-6, fill=True).release(steps, monotone=True)
    assert filled.items == sorted([*good, "next", "last"])
    assert filled.used == "stable and filled up"
    assert filled.k == 30
    inside = StableTopK(k=7, epsilon=1.0, delta=1e-6, fill=True).release(CLIFF, monotone=True)
    assert len(present(inside.items)) == 7
    assert set(present(inside.items)) <= set(good)
    assert inside.used == "chosen inside the stable set"
    same = StableTopK(k=30, epsilon=1.0, delta=1e-6, fill=True).release(CLIFF, monotone=True)
    assert same.items == good
    assert same.used == "stable"
    public = StableTopK(k=40, epsilon=1.0, delta=1e-6, fill=True).release(CLIFF, monotone=True, public=True)
    assert set(good) < set(present(public.items))
    assert len(present(public.items)) == 40
    flat = {f"x{i}": 1000 - i for i in range(50)}
    alone = StableTopK(k=3, epsilon=1.0, delta=1e-6, fill=True, limit=20).release(flat, monotone=True)
    assert alone.used == "filled up"


@full_size
@pytest.mark.parametrize("labels", [None, list("abcd")], ids=["public", "named"])
def test_many_filled_draws_have_the_law_of_one(labels):
    """Two samples of (rank, set), and (power) one with four times the noise (at full size twice)."""
    scores = Scores([9, 6, 2, 1], labels=labels, monotone=True)
    m, other = (StableTopK(k=2, epsilon=e, delta=0.3, fill=True, limit=3) for e in (4.0, sized(1.0, full=2.0)))
    source, runs = sl.testing.seeded(8), sized(400, full=5000)
    one = Counter(
        (found.extras.k, tuple(sorted(present(found.indices))))
        for found in (m._draw(scores, source) for _ in range(runs))
    )

    def many(mechanism):
        drawn = mechanism.release_many(scores, draws=runs, rng=source)
        assert drawn.indices.shape == (runs, 2)
        assert set(drawn.chosen[:, 1].tolist()) == {0, 1}
        rows = zip(drawn.chosen[:, 0].tolist(), drawn.indices.tolist(), strict=True)
        return Counter((j, tuple(i for i in row if i >= 0)) for j, row in rows)

    right, wrong = many(m), many(other)
    cells = sorted({*one, *right, *wrong})
    assert two_sample_p(*([count[cell] for cell in cells] for count in (one, right))) > 1e-7
    assert two_sample_p(*([count[cell] for cell in cells] for count in (one, wrong))) < 1e-7


def test_many_draws_of_no_data_and_of_a_rank_beyond_it():
    nobody = Scores([], labels=[], monotone=True)
    drawn = StableTopK(epsilon=1.0, delta=0.4).release_many(nobody, draws=20)
    assert drawn.indices.shape == (20, 0)
    assert not present(drawn.chosen)[:, 1].any()
    few = Scores([900, 800], labels=["a", "b"], monotone=True)
    for k in (5, 2**70):
        beyond = StableTopK(k=k, epsilon=1.0, delta=0.4).release_many(few, draws=20)
        assert beyond.indices.tolist() == [[-1, -1]] * 20
        assert not present(beyond.chosen).any()


@pytest.mark.parametrize("arguments", [{}, {"k": 5}, {"k": 5, "fill": True}])
@pytest.mark.parametrize("budget", [ApproxDP(1.0, 1e-6), ZCDP(0.02, 1e-6)])
def test_the_parts_fit_the_budget(arguments, budget):
    m = StableTopK(budget=budget, **arguments)
    assert m.guarantee == budget
    if isinstance(budget, ZCDP):
        found = present(m.charge.as_zcdp())
        assert found.rho <= 0.02
        assert found.rho == pytest.approx(0.02, rel=1e-8)
        assert found.delta <= 1e-6
    else:
        assert m.charge.epsilon_at(1e-6) <= 1.0


def test_the_gaussian_test_splits_delta_under_epsilon_and_delta():
    m = StableTopK(epsilon=1.0, delta=1e-6, test="gaussian")
    cost: Any = m._parts.cost
    assert cost.delta == 5e-7
    assert m.charge.epsilon_at(1e-6) <= 1.0
    cost = StableTopK(epsilon=1.0, delta=1e-6, test="gaussian", split=0.25)._parts.cost
    assert cost.delta == pytest.approx(7.5e-7)


def test_a_ledger_books_all_parts(tmp_path):
    with Ledger(tmp_path / "budget.db", budget=ZCDP(1.0, 1e-3)) as ledger:
        m = StableTopK(k=3, budget=ZCDP(0.02, 1e-6), fill=True)
        m.release(CLIFF, monotone=True, ledger=ledger)
        assert ledger.spent.rho == pytest.approx(0.02, rel=1e-8)
        assert ledger.spent.delta == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"epsilon": 1.0}, ValueError, "delta"),
        ({"epsilon": 1.0, "delta": 0.5}, ValueError, "1/2"),
        ({"budget": ZCDP(0.0, 1e-6)}, ValueError, "greater than 0"),
        ({"budget": ZCDP(0.1, 1e-6), "test": "optimal"}, ValueError, "test"),
        ({"epsilon": 1.0, "delta": 1e-6, "test": "best"}, ValueError, "test"),
        ({"epsilon": 1.0, "delta": 1e-6, "fill": True}, ValueError, "fixed k"),
        ({"epsilon": 1.0, "delta": 1e-6, "k": 10, "limit": 9}, ValueError, "limit"),
        ({"epsilon": 1.0, "delta": 1e-6, "k": 0}, ValueError, "k must"),
        ({"epsilon": 1.0, "delta": 1e-6, "split": 0.5}, ValueError, "split"),
    ],
)
def test_arguments_are_checked_before_any_data(arguments, error, match):
    with pytest.raises(error, match=match):
        StableTopK(**arguments)


@pytest.mark.parametrize(
    ("scores", "question", "match"),
    [
        ({"a": 3}, {}, "monotone=True"),
        ({"a": 3}, {"neighbours": "replace"}, "add/remove"),
        ({"a": 0.5}, {"monotone": True}, "whole-number"),
    ],
)
def test_scores_that_are_not_counts_are_refused(scores, question, match):
    with pytest.raises(ValueError, match=match):
        StableTopK(epsilon=1.0, delta=1e-6).release(scores, **question)


def test_relabelling_never_changes_the_law():
    h = [9, 9, 4, 4, 1, 0]
    m = StableTopK(epsilon=3.0, delta=0.3, limit=4)

    def won(order):
        rows = read(m.release_many([h[i] for i in order], monotone=True, draws=200, rng=sl.testing.seeded(6)))
        return [(j, items and sorted(h[order[i]] for i in items)) for j, items in rows]

    rng, base = np.random.default_rng(0), won(list(range(6)))
    assert all(won(rng.permutation(6).tolist()) == base for _ in range(4))
    assert ranks_law(h, 4, 1.0) == ranks_law(h[::-1], 4, 1.0)


def test_too_many_to_fill_up_are_refused_before_anything_is_drawn():
    m = StableTopK(k=3000, epsilon=1.0, delta=1e-6, fill=True)
    with pytest.raises(ValueError, match="too large"):
        m.release(CLIFF, monotone=True)


def test_a_public_list_needs_k_candidates():
    with pytest.raises(ValueError, match="more than the 2"):
        StableTopK(k=3, epsilon=1.0, delta=1e-6).release([5, 4], monotone=True)
    whole = StableTopK(k=2, epsilon=1.0, delta=1e-6).release([500, 400], monotone=True)
    assert whole.items == [0, 1]
    assert Fraction(of_kind(ApproxDP, whole.guarantee).delta) == Fraction(1e-6)


@pytest.mark.parametrize("arguments", [{"epsilon": 1e-200, "delta": 1e-270}, {"budget": ZCDP(1e-200, 1e-200)}])
def test_tiny_budgets_name_nobody_and_end(arguments):
    assert StableTopK(**arguments).release({"a": 900, "b": 3}, monotone=True).items is None


def test_a_gap_of_any_size_is_decided():
    huge = {"a": 2**62, "b": 3}
    assert StableTopK(k=1, epsilon=1e-6, delta=1e-6).release(huge, monotone=True).items == ["a"]
    assert StableTopK(k=1, epsilon=1e30, delta=1e-6).release({"a": 900, "b": 3}, monotone=True).items == ["a"]
