"""PATE: votes in, label sets out, every query charged, one training record protected."""

from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import ApproxDP, BudgetExceeded, Ledger
from shortlist.mechanisms import StableTopK
from shortlist.pate import PATE, MultiLabelPATE
from shortlist.privacy import ZCDP, BoundedRange, RenyiDP, compose
from tests.helpers.processes import finish, start
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import present
from tests.mechanisms.stable.test_box_by_formula import chances, sorted_sets

CLEAR = np.array([[1, 1, 0, 0]] * 290 + [[0, 1, 1, 0]] * 10)


def votes_of(counts, teachers):
    """A 0/1 matrix with these column sums."""
    return (np.arange(teachers)[:, None] < np.array(counts)).astype(int)


def test_a_clear_majority_is_labelled():
    pate = MultiLabelPATE(rho=0.5, delta=1e-6, queries=5)
    for votes in (CLEAR, CLEAR.tolist(), CLEAR.astype(bool), CLEAR.astype(float)):
        assert pate.label(votes) == frozenset({0, 1})
    assert pate.remaining == 1


def test_a_crowd_without_a_gap_gets_no_label_and_pays_all_the_same():
    pate = MultiLabelPATE(rho=0.5, delta=1e-6, queries=10)
    even = np.tile([[1, 0], [0, 1]], (50, 1))
    for n in range(1, 11):
        assert pate.label(even) in (None, frozenset({0, 1}))
        assert pate.spent.rho == pytest.approx(0.05 * n, rel=1e-6)
        assert pate.spent.delta == pytest.approx(5e-8 * n, rel=1e-6)
    with pytest.raises(BudgetExceeded, match="no room"):
        pate.label(even)
    assert pate.spent.rho <= 0.5
    assert pate.spent.delta <= 5e-7


def test_all_queries_together_keep_the_tightest_sound_epsilon():
    pate = MultiLabelPATE(rho=0.5, delta=1e-6, queries=10)
    assert pate.guarantee.delta == 1e-6
    assert pate.guarantee.epsilon < ZCDP(0.5).epsilon_at(5e-7)
    assert present(pate.query.repeat(10).as_zcdp()).rho <= 0.5
    assert MultiLabelPATE(rho=0.5, delta=1e-6, queries=1000).guarantee.epsilon == pytest.approx(5.3, abs=0.1)


def test_the_published_setting_by_sound_accounting():
    """600 queries, sigma 50 and 60, delta 1e-6 with 1e-9 a query: 3.92 and 8.6, where 3.6 was printed."""
    tau = 50 * 6**0.5 / np.pi  # Gumbel noise with a standard deviation of 50

    def total(range_of_gaps, sensitivity):
        query = compose(BoundedRange(range_of_gaps / tau), ZCDP(sensitivity**2 / (2 * 60**2), 1e-9))
        return query.repeat(600)

    assert total(2, 1).as_zcdp().rho == pytest.approx(0.28072, abs=1e-5)
    assert ZCDP(total(2, 1).as_zcdp().rho).epsilon_at(4e-7) == pytest.approx(3.917, abs=1e-3)
    assert ZCDP(total(4, 2).as_zcdp().rho).epsilon_at(4e-7) == pytest.approx(8.580, abs=1e-3)
    assert total(2, 1).epsilon_at(1e-6) < 3.917
    assert total(4, 2).epsilon_at(1e-6) < 8.580
    charged = 600 * (1 / (2 * 50**2) + 1 / (2 * 60**2))  # what the paper charges: no factor for the gap, no ln 40
    assert charged + 2 * (charged * np.log(1 / 4e-7)) ** 0.5 == pytest.approx(3.665, abs=1e-3)
    orders = np.linspace(1.2, 80, 4000)
    honest = 600 * (2 * orders / 50**2 + np.log(40) / (orders - 1) + orders / (2 * 60**2))
    assert (honest + np.log(1 / 4e-7) / (orders - 1)).min() == pytest.approx(71.4, abs=0.1)
    assert RenyiDP(orders.tolist(), honest.tolist()).epsilon_at(4e-7) == pytest.approx(71.4, abs=0.3)


@full_size
def test_draws_follow_the_law_of_replacement():
    """Noise of scale 4 / e on the gaps, and a test clamped at 2."""
    counts, draws = (9, 8, 3, 0), sized(suite=1000, full=2500)
    pate = MultiLabelPATE(rho=2.0 * draws, delta=0.4, queries=draws)
    pate._test = type(pate._test)(pate._test.rate, 1.0, 2)  # a test that passes now and then
    votes, source = votes_of(counts, 10), sl.testing.seeded(1)
    found: dict[Any, int] = {}
    for _ in range(draws):
        label = pate.label(votes, rng=source)
        found[label] = found.get(label, 0) + 1

    def law(scale, slack):
        weights = np.exp(np.array([sorted_sets(counts, j)[0] for j in range(1, 5)]) / scale)
        chance = chances(type(pate._test)(pate._test.rate, 1.0, slack))
        result = {}
        for j, p in enumerate(weights / weights.sum(), 1):
            gap, names = sorted_sets(counts, j)
            if names is not None:
                result[names] = p * chance(gap)
        return {**result, None: 1 - sum(result.values())}

    right = law(4 / present(pate._gap), 2)
    assert set(found) <= set(right)
    wrong = [law(2 / present(pate._gap), 1).get(o, 0.0) for o in right]
    assert_law([found.get(o, 0) for o in right], list(right.values()), wrong=wrong)
    spent, drawn = pate.spent, pate.label_many(votes, draws=100_000, rng=source)
    assert pate.spent == spent  # nothing is booked
    sets = [
        frozenset(row) - {-1} if passed else None
        for row, (_, passed) in zip(drawn.indices.tolist(), present(drawn.chosen).tolist(), strict=True)
    ]
    near = [law(4.4 / present(pate._gap), 2).get(o, 0.0) for o in right]
    assert_law([sets.count(o) for o in right], list(right.values()), wrong=near)


def test_a_ledger_is_charged_before_the_votes_are_counted(tmp_path):
    with Ledger(tmp_path / "budget.db", budget=ApproxDP(2.0, 1e-5)) as ledger:
        pate = MultiLabelPATE(rho=0.1, delta=1e-6, queries=10)
        pate.label(CLEAR, ledger=ledger, purpose="a photograph")
        assert ledger.spent.rho == pytest.approx(0.01, rel=1e-6)
        assert ledger.spent.delta == pytest.approx(5e-8)
        assert "replaces one teacher" in ledger.entries()[0].unit
        broke = MultiLabelPATE(rho=100.0, delta=1e-6, queries=1)
        with pytest.raises(BudgetExceeded):
            broke.label(CLEAR, ledger=ledger)
        assert broke.remaining == 1


def test_the_regularizer_and_the_limit_are_public_choices():
    one = MultiLabelPATE(rho=5.0, delta=1e-6, queries=10, limit=1)
    assert one.label(votes_of([300, 20, 10], 300)) == frozenset({0})
    assert one.label(votes_of([300, 300, 10], 300)) is None
    two = MultiLabelPATE(rho=5.0, delta=1e-6, queries=10, regularizer=lambda j: 10**6 * (j == 2))
    assert two.label(votes_of([300, 200, 10], 300)) == frozenset({0, 1})
    wide = MultiLabelPATE(rho=5.0, delta=1e-6, queries=10, limit=50)
    assert wide.label(votes_of([300, 299, 10], 300)) == frozenset({0, 1})
    never = MultiLabelPATE(rho=5.0, delta=1e-6, queries=10, regularizer=[float("-inf"), 0.0])
    with pytest.raises(ValueError, match="regularizer"):
        never.label([[1], [0]])
    assert never.remaining == 10


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"rho": 0.0}, "rho"),
        ({"rho": -1.0}, "rho"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"queries": 0}, "queries"),
        ({"queries": 2.5}, "queries"),
        ({"limit": 0}, "limit"),
    ],
)
def test_arguments_are_checked(arguments, match):
    with pytest.raises(ValueError, match=match):
        MultiLabelPATE(**{"rho": 0.5, "delta": 1e-6, "queries": 10, **arguments})


@pytest.mark.parametrize(
    ("votes", "error", "match"),
    [
        ([[0, 1], [1]], ValueError, "every teacher"),
        ([0, 1], ValueError, "2 dimensions"),
        ([[]], ValueError, "not be empty"),
        ([["a", "b"]], ValueError, "whole numbers"),
        ("01", TypeError, "list or an array"),
    ],
)
def test_votes_are_checked_and_nothing_is_charged(votes, error, match):
    pate = MultiLabelPATE(rho=0.5, delta=1e-6, queries=10)
    with pytest.raises(error, match=match):
        pate.label(votes)
    assert pate.remaining == 10


def test_the_number_of_teachers_stays():
    pate = MultiLabelPATE(rho=0.5, delta=1e-6, queries=10)
    pate.label(CLEAR)
    with pytest.raises(ValueError, match="300 teachers"):
        pate.label(CLEAR[:-1])
    assert pate.remaining == 9


def test_only_replacement_is_offered():
    assert MultiLabelPATE.neighbours == PATE.neighbours == "replace"
    with pytest.raises(TypeError):
        MultiLabelPATE(rho=0.5, delta=1e-6, queries=10, monotone=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        MultiLabelPATE(rho=0.5, delta=1e-6, queries=10, neighbours="add-remove")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="add/remove"):  # and the mechanism for names from the data refuses votes
        StableTopK(epsilon=1.0, delta=1e-6).release({"a": 3, "b": 2, "c": 1}, neighbours="replace")


# One label for each query


def test_single_labels_follow_the_exponential_mechanism_of_replacement():
    draws = 4000
    pate = PATE(rho=draws * 0.1233015615, delta=1e-6, queries=draws, classes=3)  # epsilon 1 a query: noise of scale 2
    source = sl.testing.seeded(2)
    found = np.bincount([pate.label([0, 0, 0, 0, 1, 1, 2], rng=source) for _ in range(draws)], minlength=3)
    law, wrong = (np.exp(np.array([4.0, 2.0, 1.0]) / scale) for scale in (2, 1))
    assert_law(found, law / law.sum(), wrong=wrong / wrong.sum())
    assert pate.spent.rho <= draws * 0.1233015615
    with pytest.raises(BudgetExceeded):
        pate.label([0] * 7)
    spent, many = pate.spent, pate.label_many([0, 0, 0, 0, 1, 1, 2], draws=100_000, rng=source)
    assert pate.spent == spent  # nothing is booked
    near = np.exp(np.array([4.0, 2.0, 1.0]) / 2.2)
    assert_law(np.bincount(many.indices[:, 0]), law / law.sum(), wrong=near / near.sum())


def test_single_labels_check_their_votes():
    pate = PATE(rho=0.5, delta=1e-6, queries=2, classes=3)
    for votes, match in (([[1]], "1 dimension"), (["0"], "whole")):
        with pytest.raises(ValueError, match=match):
            pate.label(votes)
    assert pate.remaining == 2
    assert pate.label(np.array([1] * 400)) == 1
    assert pate.guarantee.epsilon == pytest.approx(pate.query.repeat(2).epsilon_at(1e-6))
    assert pate.spent.rho == pytest.approx(0.25)
    assert "classes=3" in repr(pate)
    with pytest.raises(ValueError, match="classes"):
        PATE(rho=0.5, delta=1e-6, queries=2, classes=0)


def test_a_budget_in_memory_cannot_be_copied_and_spent_twice():
    import copy
    import pickle

    pate = MultiLabelPATE(rho=0.5, delta=1e-6, queries=5)
    for double in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="spent twice"):
            double(pate)


@pytest.mark.parametrize(
    ("pate", "votes"),
    [
        (MultiLabelPATE(rho=0.5, delta=1e-6, queries=5), CLEAR),
        (PATE(rho=0.5, delta=1e-6, queries=5, classes=2), [1] * 400),
    ],
    ids=["labels", "one label"],
)
def test_a_budget_in_memory_does_not_multiply_by_forks(pate, votes, tmp_path):
    ledger = Ledger(tmp_path / "budget.db", budget=ApproxDP(2.0, 1e-5))

    def refused():
        for book in (None, ledger):
            with pytest.raises(RuntimeError, match="belongs to the process that was forked"):
                pate.label(votes, ledger=book)
        return True

    assert all(finish(*child) for child in [start(refused) for _ in range(4)])
    assert not ledger.entries(), "nothing was booked either"
    pate.label(votes, ledger=ledger)
    assert pate.remaining == 4


def test_a_shallow_copy_shares_the_budget():
    import copy

    pate = PATE(rho=0.5, delta=1e-6, queries=2, classes=2)
    twin = copy.copy(pate)
    pate.label([1] * 400)
    twin.label([1] * 400)
    for one in (pate, twin):
        with pytest.raises(BudgetExceeded):
            one.label([1] * 400)


def test_a_delta_that_no_query_would_get_is_refused():
    with pytest.raises(ValueError, match="delta is too small"):
        MultiLabelPATE(rho=0.5, delta=5e-324, queries=2)


ODD = [-1, 2**62, 2**64, -(2**63) - 1, 2**2000, 0.5, -np.inf, np.inf, np.nan, 1e300]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", ODD)
def test_a_vote_for_nothing_is_charged_as_any_other_and_counts_for_nobody(odd):
    """A refusal would tell of one teacher's vote for free; without it that vote changes no count."""
    many = MultiLabelPATE(rho=0.5, delta=1e-6, queries=2)
    assert many.label([[1, 0]] * 300 + [[odd, odd]], rng=sl.testing.seeded(1)) == frozenset({0})
    assert many.remaining == 1
    single = PATE(rho=0.5, delta=1e-6, queries=2, classes=3)
    assert single.label([1] * 400 + [odd], rng=sl.testing.seeded(1)) == 1
    assert single.remaining == 1
    with_it, without = (single.label_many([0, 0, 1, *one], draws=50, rng=sl.testing.seeded(2)) for one in ([odd], []))
    assert np.array_equal(with_it.indices, without.indices)
    with_it, without = (
        many.label_many([[1, 0]] * 3 + [[one, one]], draws=50, rng=sl.testing.seeded(2)) for one in (odd, 0)
    )
    assert np.array_equal(with_it.indices, without.indices)
