"""LimitedDomainTopK and CanonicalLimitedDomain: their laws, their refusals, and what they never tell."""

from collections import Counter
from fractions import Fraction
from math import comb, log, tanh
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import ApproxDP, Ledger, Scores
from shortlist.exact import thresholds
from shortlist.mechanisms import CanonicalLimitedDomain, LimitedDomainTopK
from shortlist.privacy import ZCDP, BoundedRange, PureDP, ThinnedRange
from tests.helpers.inside import canonical_offset, dummies
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import of_kind, present
from tests.mechanisms.limited_domain.by_formula import canonical_law, exponential_law, gumbel_law

ORACLE = (7, 5, 4, 3, 3, 1)
NAMES = dict(zip("abcdef", ORACLE, strict=True))
BOTH = [LimitedDomainTopK, CanonicalLimitedDomain]


def counted(found, law, k, ordered):
    """How often each outcome of the law was drawn."""
    rows = (tuple(i for i in row if i >= 0) for row in found)  # -1 is no label
    drawn = Counter(row if ordered else tuple(sorted(row)) for row in rows)
    plain = {o: tuple(i for i in o if i != "#") for o in law}
    assert set(drawn) <= set(plain.values())
    return [drawn[plain[o]] for o in law]


def test_the_gumbel_law_is_that_of_the_table():
    law = gumbel_law(ORACLE, 2, 3, 1.0, 297)
    wanted = {("#",): 0.92579945, (0, "#"): 0.06183588, (0, 1): 0.00056595, (1, "#"): 0.00791166, (2, 1): 0.0000265}
    assert all(abs(law[o] - p) < 1e-8 for o, p in wanted.items())
    tied = gumbel_law(ORACLE, 1, 4, 1.0, 396)  # d and e tie at the end of the list and both fall out
    assert tied[("#",)] == pytest.approx(0.94329776, abs=1e-8)
    assert tied[(0,)] == pytest.approx(0.04784506, abs=1e-8)


def test_the_canonical_law_is_that_of_the_table():
    law = canonical_law(ORACLE, 2, 3, 1.0, 0.85, log(6 * 99) / 0.85)
    wanted = {(): 0.96666094, (0,): 0.02084196, (0, 1): 0.00380748, (1,): 0.00380748, (0, 2): 0.00162738}
    assert all(abs(law[o] - p) < 1e-8 for o, p in wanted.items())
    sets = sum(comb(5, j) for j in (1, 2, 3))
    law = canonical_law((30, 22, 21, 20, 9, 3, 3, 1), 3, 5, 1.0, 0.85, log(sets * 9999) / 0.85)
    wanted = {(0, 1, 2): 0.41741312, (0, 1, 3): 0.15355771, (0, 2, 3): 0.13216834, (0, 1): 0.04761713, (0,): 0.04098445}
    assert all(abs(law[o] - p) < 1e-8 for o, p in wanted.items())


def test_the_exponential_law_is_that_of_the_table():
    offset = float(thresholds.exponential_offset(3, Fraction(1), Fraction(1, 100)))
    law = exponential_law(ORACLE, 1, 3, 1.0, offset)
    wanted = {("#",): 0.92145161, (0,): 0.06669471, (1,): 0.00867449, (2,): 0.00317919}
    assert all(abs(law[o] - p) < 1e-6 for o, p in wanted.items())


@pytest.mark.parametrize(("limit", "delta", "tau"), [(1000, 1e-6, 20.03011799), (10**4, 1e-6, 22.33270308)])
def test_the_exponential_bar_is_that_of_the_table_rounded_up(limit, delta, tau):
    found = thresholds.exponential_offset(limit, Fraction(1), Fraction(delta))
    assert tau - 1e-8 <= found <= tau + 2 / thresholds.GRID
    assert found * thresholds.GRID == int(found * thresholds.GRID)
    assert thresholds.exponential_offset(limit, Fraction(1, 10), Fraction(delta)) == pytest.approx(10 * tau, abs=2e-6)


def test_bars_are_whole_dummies_and_grid_points_rounded_up():
    assert dummies(10**4, Fraction(1, 10**6)) == 10**4 * (10**6 - 1)
    assert log(dummies(10**3, Fraction(1e-6))) == pytest.approx(20.72326484, abs=1e-8)
    for k, limit in ((1, 1), (2, 4), (50, 100)):
        exact = log(sum(comb(limit, j) for j in range(1, k + 1)) * (1e6 - 1)) / 0.85
        found = float(canonical_offset(k, limit, Fraction(17, 20), Fraction(1, 10**6)))
        assert exact - 1e-9 <= found <= exact + 2 / thresholds.GRID


SHAPES = [
    ({"k": 2, "limit": 3}, (9, 7, 6, 3, 3, 1), 0.3),
    ({"k": 3, "limit": 5}, (9, 8, 4, 2), 0.2),
]


@pytest.mark.parametrize(("shape", "h", "delta"), SHAPES)
def test_gumbel_draws_follow_the_law(shape, h, delta):
    k, limit = shape["k"], shape["limit"]
    m = LimitedDomainTopK(**shape, budget=ZCDP(k * 0.1233016, delta))  # rounds of epsilon 1
    rows = m.release_many(h, monotone=True, draws=20_000, rng=sl.testing.seeded(1))
    law = gumbel_law(h, k, limit, m._rates[0], dummies(limit, Fraction(delta)))
    wrong = list(gumbel_law(h, k, limit, m._rates[0], dummies(limit, Fraction(delta)), above=0.75).values())
    assert_law(counted(rows, law, k, ordered=True), list(law.values()), wrong=wrong)


@pytest.mark.parametrize("k", [1, 2])
def test_exponential_draws_follow_the_law(k):
    h, limit, delta = (9, 7, 6, 3, 3, 1), 3, 0.3
    m = LimitedDomainTopK(k=k, limit=limit, epsilon=1.0 * k, delta=delta, noise="exponential")
    rows = m.release_many(h, monotone=True, draws=20_000, rng=sl.testing.seeded(2))
    offset = float(thresholds.exponential_offset(limit, Fraction(1), Fraction(delta)))
    law = exponential_law(h, k, limit, 1.0, offset)
    wrong = list(exponential_law(h, k, limit, 1.0, offset - 0.5).values())
    assert_law(counted(rows, law, k, ordered=True), list(law.values()), wrong=wrong)


@full_size
@pytest.mark.parametrize(
    ("k", "limit", "h", "delta"),
    [
        (2, 3, ORACLE, 0.3),
        (3, 5, (30, 22, 21, 20, 9, 3, 3, 1), 1e-4),
        (2, 6, (16, 15, 15, 14, 1), 0.01),
        (3, 3, (2, 1), 0.4),
        (1, 2, (14, 12, 3), 0.01),
    ],
)
def test_canonical_draws_follow_the_law(k, limit, h, delta):
    m = CanonicalLimitedDomain(k=k, limit=limit, epsilon=1.0, delta=delta)
    rows = m.release_many(h, monotone=True, draws=sized(8_000, full=20_000), rng=sl.testing.seeded(3))
    law = canonical_law(h, k, limit, 1.0, 0.85, float(m.offset))
    wrong = list(canonical_law(h, k, limit, 1.0, 0.6, float(m.offset)).values()) if len(h) > 3 else None
    assert_law(counted(rows, law, k, ordered=False), list(law.values()), wrong=wrong)


def test_rows_of_sets_are_sorted_and_end_in_minus_one():
    m = CanonicalLimitedDomain(k=3, limit=5, epsilon=1.0, delta=0.3)
    rows = m.release_many((9, 1, 7, 8, 6), monotone=True, draws=500, rng=sl.testing.seeded(4))
    assert rows.shape == (500, 3)
    assert set(np.count_nonzero(rows < 0, axis=1).tolist()) >= {0, 1}
    ends = np.where(rows < 0, 99, rows)
    assert (np.sort(ends, axis=1) == ends).all()
    assert (m.release_many({}, monotone=True, draws=4) == -1).all()


@pytest.mark.parametrize("mechanism", BOTH)
def test_no_data_releases_nothing(mechanism):
    m = mechanism(k=3, epsilon=1.0, delta=0.4)
    for nobody in ({}, {"a": 0, "b": 0}):
        assert all(m.release(nobody, monotone=True).items == [] for _ in range(50))


@pytest.mark.parametrize("mechanism", BOTH)
def test_relabelling_and_reordering_never_change_the_law(mechanism):
    """The same bits give the same counts at the winning ranks, wherever the rows stand; ties fall out together."""
    h = [40, 31, 25, 7, 7, 7, 2]
    m = mechanism(k=3, limit=4, epsilon=2.0, delta=0.1)
    rng = np.random.default_rng(0)

    def won(order):
        rows = m.release_many([h[i] for i in order], monotone=True, draws=60, rng=sl.testing.seeded(5))
        return [sorted(h[order[i]] for i in row if i >= 0) for row in rows]

    base = won(list(range(7)))
    assert all(won(rng.permutation(7).tolist()) == base for _ in range(5))
    assert all(7 not in row for row in base)  # rank 4 ties with rank 5: not in the list


@pytest.mark.parametrize("mechanism", BOTH)
def test_a_limit_beyond_the_data_says_nothing(mechanism, recwarn):
    release = mechanism(k=2, limit=5000, epsilon=1.0, delta=1e-6).release({"x": 900, "y": 800}, monotone=True)
    assert release.items is not None
    assert sorted(release.items) == ["x", "y"]
    assert not recwarn.list


def test_positions_of_unpublished_rows_are_not_released():
    release = LimitedDomainTopK(k=1, epsilon=1.0, delta=1e-6).release({"x": 3, "y": 800}, monotone=True)
    assert release.indices is None
    assert release.item == "y"
    with pytest.raises(AttributeError, match="not public"):
        release.index  # noqa: B018
    public = CanonicalLimitedDomain(k=1, epsilon=1.0, delta=1e-6).release([3, 800], monotone=True)
    assert public.index == 1


def test_the_list_is_ordered_and_the_set_is_not():
    rho = ZCDP(0.05, 1e-6)
    wide = {"z": 9000, "y": 5000, "x": 2000, "w": 1}
    listed = LimitedDomainTopK(k=3, budget=rho).release(wide, monotone=True)
    assert listed.items == ["z", "y", "x"]
    assert listed.ordered
    assert listed.stopped is False
    assert listed.as_set().items == ["x", "y", "z"]
    found = CanonicalLimitedDomain(k=3, epsilon=1.0, delta=1e-6).release(wide, monotone=True)
    assert found.items == ["x", "y", "z"]
    assert not found.ordered
    short = LimitedDomainTopK(k=4, budget=rho).release(wide, monotone=True)
    assert short.stopped
    assert short.items == ["z", "y", "x"]


def test_guarantees_and_charges():
    m = CanonicalLimitedDomain(k=10, epsilon=1.0, delta=1e-6)
    assert m.guarantee == ApproxDP(1.0, 1e-6)
    assert m.charge == ThinnedRange(1.0, 1, 1e-6)
    assert m.charge.epsilon_at(1e-6) == 1.0
    m = CanonicalLimitedDomain(k=10, budget=ZCDP(0.02), delta=1e-6)
    assert m.guarantee == ZCDP(0.02, 1e-6)
    assert present(m.charge.as_zcdp()).rho <= 0.02
    own = LimitedDomainTopK(k=10, epsilon=1.0, delta=1e-6)
    assert own.guarantee == ApproxDP(1.0, 1e-6)
    assert own.charge.epsilon_at(1e-6) <= 1.0
    assert of_kind(ThinnedRange, own.charge).rounds == 10
    assert own.offset < 165  # 143.6; a limit of 10^4 would need 159.1
    exponential = LimitedDomainTopK(k=10, epsilon=1.0, delta=1e-6, noise="exponential")
    assert exponential.charge == ApproxDP(1.0, 1e-6)
    assert of_kind(ThinnedRange, LimitedDomainTopK(k=2, epsilon=1.0, delta=1e-6, split=0.5).charge).delta == 5e-7
    assert of_kind(ThinnedRange, LimitedDomainTopK(k=2, epsilon=1.0, delta=1e-6, split=0.0).charge).epsilon == 0.5


@full_size
@pytest.mark.parametrize(
    ("k", "epsilon", "delta"),
    [
        (1, 0.5, 0.01),
        pytest.param(2, 3.0, 0.01, marks=pytest.mark.long),
        pytest.param(3, 0.0113, 1e-6, marks=pytest.mark.long),
        (10, 1000.0, 1e-6),
        pytest.param(7, 0.01, 1e-5, marks=pytest.mark.long),
        pytest.param(30, 3.0, 1e-6, marks=pytest.mark.long),
    ],
)
def test_no_other_split_has_a_lower_bar_and_the_chosen_one_fits(k, epsilon, delta):
    budget = ApproxDP(epsilon, delta)
    own = LimitedDomainTopK(k=k, budget=budget)
    paid = of_kind(ThinnedRange, own.charge)
    assert own.bar_delta() == paid.delta
    converts = Fraction(delta) - Fraction(paid.delta)
    left = float(converts) if Fraction(float(converts)) <= converts else np.nextafter(float(converts), 0.0)
    rounds = ApproxDP(epsilon, left) if left else PureDP(epsilon)
    assert rounds.excess(BoundedRange(paid.epsilon).repeat(k)) <= 0
    for split in sized((0.0, 0.05, 0.25, 0.5), full=(0.0, 1 / 64, 0.05, 0.1, 0.25, 0.35, 0.5, 0.6)):
        assert own.offset <= LimitedDomainTopK(k=k, budget=budget, split=split).offset * (1 + 1.1e-3), split


@pytest.mark.parametrize(
    ("noise", "budget", "rounds"),
    [
        ("gumbel", ZCDP(1.0, 1e-3), "rho"),
        ("gumbel", ApproxDP(5.0, 1e-3), "epsilon"),
        ("exponential", ApproxDP(5.0, 1e-3), "epsilon"),
    ],
)
def test_rounds_that_were_not_run_come_back_and_delta_never_does(tmp_path, noise, budget, rounds):
    m = LimitedDomainTopK(k=10, epsilon=1.0, delta=1e-6, noise=noise)
    with Ledger(tmp_path / "budget.db", budget=budget) as ledger:
        release = m.release({"x": 10**6, "y": 1}, monotone=True, ledger=ledger)
        assert release.items == ["x"]
        spent = ledger.spent
        whole = m.charge.as_zcdp() if rounds == "rho" else None
        kept = getattr(spent, rounds)
        charge: Any = m.charge
        assert kept == pytest.approx(whole.rho / 5 if whole else 2 * (charge.epsilon if noise == "gumbel" else 0.1))
        assert spent.delta == charge.delta
        assert ledger.verify() == 2
        if noise == "exponential":
            assert spent.rho == pytest.approx(tanh(0.5))  # no refund of rho: k e tanh(k e / 2)


def test_a_set_gets_nothing_back(tmp_path):
    with Ledger(tmp_path / "budget.db", budget=ZCDP(1.0, 1e-3)) as ledger:
        CanonicalLimitedDomain(k=10, epsilon=1.0, delta=1e-6).release({"x": 1}, monotone=True, ledger=ledger)
        assert ledger.spent.rho == 0.12330156148224454
        assert ledger.spent.delta == 1e-6


@pytest.mark.parametrize("mechanism", BOTH)
@pytest.mark.parametrize(
    ("scores", "question", "match"),
    [
        ({"a": 3}, {}, "monotone=True"),
        ({"a": 3}, {"monotone": True, "sensitivity": 2}, "sensitivity=1"),
        ({"a": 3}, {"monotone": True, "sensitivity": (0, 1)}, "sensitivity=1"),
        ({"a": 3}, {"neighbours": "replace"}, "add/remove"),
        ({"a": 3.5}, {"monotone": True}, "whole-number"),
        ([3, 4], {"monotone": True, "public": False}, "labels="),
    ],
)
def test_scores_that_are_not_counts_are_refused(mechanism, scores, question, match):
    with pytest.raises(ValueError, match=match):
        mechanism(k=1, epsilon=1.0, delta=1e-6).release(scores, **question)


@pytest.mark.parametrize("mechanism", BOTH)
@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"epsilon": 1.0}, ValueError, "delta"),
        ({"budget": PureDP(1.0)}, ValueError, "delta"),
        ({"budget": ZCDP(0.1)}, ValueError, "delta"),
        ({"delta": 1e-6}, TypeError, "epsilon="),
        ({"epsilon": 1.0, "delta": 0.0}, ValueError, "delta"),
        ({"epsilon": 1.0, "delta": 1.0}, ValueError, "delta"),
        ({"epsilon": 1.0, "delta": 1e-6, "limit": 4}, ValueError, "limit"),
        ({"epsilon": 1.0, "delta": 1e-6, "limit": 2.5}, ValueError, "limit"),
        ({"epsilon": 1.0, "delta": 1e-6, "limit": 2**31}, ValueError, "limit"),
        ({"budget": ApproxDP(1.0, 1e-6), "delta": 1e-5}, ValueError, "twice"),
        ({"budget": ApproxDP(0.0, 1e-6)}, ValueError, "greater than 0"),
        ({"budget": ThinnedRange(1.0)}, TypeError, "ApproxDP"),
    ],
)
def test_arguments_are_checked_before_any_data(mechanism, arguments, error, match):
    with pytest.raises(error, match=match):
        mechanism(k=5, **arguments)


def test_arguments_of_one_kind_only():
    with pytest.raises(ValueError, match="gamma"):
        CanonicalLimitedDomain(k=5, epsilon=1.0, delta=1e-6, gamma=0)
    with pytest.raises(ValueError, match="1/2"):
        CanonicalLimitedDomain(k=5, epsilon=1.0, delta=0.5)
    with pytest.raises(ValueError, match="k times limit"):
        CanonicalLimitedDomain(k=5000, epsilon=1.0, delta=1e-6)
    with pytest.raises(ValueError, match="no lower bar"):
        LimitedDomainTopK(k=5, epsilon=1.0, delta=1e-6, noise="laplace")
    with pytest.raises(ValueError, match="gumbel"):
        LimitedDomainTopK(k=5, budget=ZCDP(0.1, 1e-6), noise="exponential")
    with pytest.raises(ValueError, match="split"):
        LimitedDomainTopK(k=5, epsilon=1.0, delta=1e-6, noise="exponential", split=0.5)
    with pytest.raises(ValueError, match="split"):
        LimitedDomainTopK(k=5, epsilon=1.0, delta=1e-6, split=1.0)


@pytest.mark.parametrize("mechanism", BOTH)
def test_nothing_private_is_said(mechanism):
    """The number of labels, the list, c and the bar stay inside."""
    scores = Scores({f"secret {i}": 5 for i in range(77)}, monotone=True)
    release = mechanism(k=3, limit=5, epsilon=1.0, delta=1e-6).release(scores)
    told = f"{release}{release!r}{release._repr_html_()}{scores!r}{release.notes}"
    assert "77" not in told
    assert "secret" not in told
    with pytest.raises(ValueError, match="as_public"):
        mechanism(k=3, epsilon=1.0, delta=1e-6).release_many(scores._as_counted(), draws=2)


def test_huge_counts_are_drawn_exactly():
    """Differences far beyond 2^53 in noise units: the winners are certain, and floats do not lose them."""
    h = {"x": 2**62, "y": 2**62 - 10**6, "z": 2**62 - 2 * 10**6, "w": 7}
    for mechanism in BOTH:
        release = mechanism(k=2, limit=3, epsilon=1.0, delta=1e-6).release(h, monotone=True)
        assert sorted(release.items) == ["x", "y"]


@pytest.mark.parametrize("epsilon", [1e-300, 1e300])
def test_extreme_budgets_end(epsilon):
    h = {"a": 900, "b": 3}
    found = CanonicalLimitedDomain(k=1, epsilon=epsilon, delta=1e-6).release(h, monotone=True).items
    listed = LimitedDomainTopK(k=1, epsilon=epsilon, delta=1e-6, noise="exponential").release(h, monotone=True).items
    assert found == listed == (["a"] if epsilon > 1 else [])


def test_a_budget_too_small_for_conversion_is_added_up():
    m = LimitedDomainTopK(k=2, epsilon=1e-12, delta=1e-270)
    assert m.release({"a": 900}, monotone=True).items == []
    assert of_kind(ThinnedRange, m.charge).epsilon * 2 <= 1e-12


@pytest.mark.parametrize("rows", [(3, 1, 2), (2, 3, 1)])
def test_labels_that_compare_only_partly_do_not_show_the_order_of_the_rows(rows):
    """Sets of numbers: neither is less than another, and `sorted` would keep the order in which they came."""
    counts = {frozenset([row]): 9000 - place for place, row in enumerate(rows)}
    release = CanonicalLimitedDomain(k=3, epsilon=1.0, delta=1e-6).release(counts, monotone=True)
    assert release.items == [frozenset([1]), frozenset([2]), frozenset([3])]


def test_an_empty_series_is_told_from_no_other():
    import pandas as pd

    mechanism = CanonicalLimitedDomain(k=2, epsilon=1.0, delta=1e-6)
    assert mechanism.release(pd.Series({}, dtype=int), monotone=True).items == []


@pytest.mark.parametrize("mechanism", [CanonicalLimitedDomain, LimitedDomainTopK])
def test_a_delta_that_no_part_would_survive_is_refused_at_once(mechanism):
    with pytest.raises(ValueError, match="delta is too small"):
        mechanism(k=5, epsilon=1.0, delta=5e-324)


@pytest.mark.parametrize(
    ("k", "epsilon", "delta"),
    [
        pytest.param(10, 0.02313, 1.75e-4, marks=pytest.mark.long),
        (2, 0.5, 1e-7),
        pytest.param(80, 10.7, 6.05e-6, marks=pytest.mark.long),
        pytest.param(80, 0.01711, 0.015, marks=pytest.mark.long),
    ],
)
def test_what_a_ledger_books_fits_the_budget_that_was_asked_for(k, epsilon, delta):
    assert LimitedDomainTopK(k=k, epsilon=epsilon, delta=delta).charge.epsilon_at(delta) <= epsilon


@full_size
def test_extreme_budgets_work_or_are_refused():
    assert LimitedDomainTopK(k=1, limit=1, epsilon=1.0, delta=0.6).offset == 0  # one dummy, at c + 1
    assert LimitedDomainTopK(k=sized(1, full=3), epsilon=1e-300, delta=1e-6).offset > 1e6
    for budget in (ApproxDP(5e-324, 1e-6), ZCDP(5e-324, 1e-6)):
        with pytest.raises(ValueError, match="too small to be shared"):
            LimitedDomainTopK(k=100, budget=budget)
