"""MeasuredSet: its parts, the law of its values, its box, and what `values=True` means."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP
from shortlist.audit import certify, prove, prove_mechanism
from shortlist.audit.certified import race
from shortlist.exact.geometric import Geometric
from shortlist.exact.thresholds import keeps
from shortlist.mechanisms import GuardedTopK, LimitedDomainTopK, MeasuredSet, MeasuredTopK, NamesChoice
from shortlist.privacy import BoundedRange
from shortlist.testing import seeded
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import present

COUNTS = [900, 500, 400, 30, 22, 18, 9, 3]
NAMES = {f"n{i}": count for i, count in enumerate(COUNTS)}


@pytest.mark.parametrize(
    ("mechanism", "less"),
    [
        (MeasuredSet(k=1, budget=ApproxDP(1.0, 0.05)), ApproxDP(0.8, 0.05)),
        (MeasuredSet(k=1, budget=ApproxDP(1.0, 0.0)), PureDP(0.8)),
        (MeasuredSet(k=1, budget=PureDP(1.0)), PureDP(0.9)),
        (MeasuredSet(k=2, budget=PureDP(1.0)), PureDP(0.6)),
        (MeasuredSet(k=2, budget=ApproxDP(1.0, 0.05)), ApproxDP(0.5, 0.05)),
        (MeasuredSet(k=1, budget=ZCDP(0.3)), ZCDP(0.2)),
    ],
    ids=repr,
)
def test_measured_sets_are_proved_on_a_box(mechanism, less):
    proof = prove_mechanism(mechanism, d=mechanism.k + 1, top=1, monotone=True)
    assert proof.holds, proof.violation
    assert not prove_mechanism(mechanism, d=mechanism.k + 1, top=1, monotone=True, claim=less).holds


@pytest.mark.parametrize("budget", [PureDP(1.0), ApproxDP(1.0, 0.05)], ids=repr)
def test_general_scores_are_proved_too(budget):
    mechanism = MeasuredSet(k=1, budget=budget)
    assert prove_mechanism(mechanism, d=2, top=1, monotone=False).holds
    assert not prove_mechanism(mechanism, d=2, top=1, monotone=False, claim=PureDP(0.7)).holds


def test_a_guarded_selection_and_its_values_are_proved_together(monkeypatch):
    """Of three of six, where the guard has sets to weigh; what is read of a value is whether it is 0, 1 or 2."""
    monkeypatch.setattr(race, "LOW", 0)
    monkeypatch.setattr(race, "HIGH", 2)
    mechanism = MeasuredSet(k=3, budget=PureDP(1.0))
    pairs = [
        ((2, 2, 2, 1, 1, 1), (2, 2, 2, 2, 2, 2)),
        ((1, 1, 1, 1, 1, 1), (2, 2, 2, 1, 1, 1)),
        ((2, 1, 1, 0, 0, 0), (2, 2, 1, 1, 0, 0)),
    ]

    def law(x):
        return certify(mechanism, sl.Scores(list(x), monotone=True, public=True))

    assert {way for (_, way), _ in law(pairs[0][0]).chances} == {"canonical", "one-shot"}
    assert prove(law, pairs, PureDP(1.0)).holds
    assert not prove(law, pairs, PureDP(0.5)).holds


def test_labels_from_the_data_are_proved_too():
    mechanism = MeasuredSet(k=2, budget=ApproxDP(1.0, 0.05))
    assert isinstance(mechanism._parts(False).selection, NamesChoice)
    pairs = [((0, 0), (1, 1)), ((2, 1), (3, 1)), ((3, 3), (4, 4)), ((0, 3), (1, 4))]

    def law(x):
        return certify(mechanism, sl.Scores(list(x), labels=list("ab"), monotone=True, public=False))

    assert prove(law, pairs, ApproxDP(1.0, 0.05)).holds
    assert not prove(law, pairs, ApproxDP(0.3, 0.002)).holds


@pytest.mark.parametrize("epsilon", [1.0, 0.37, 1e-9, 700.0])
@pytest.mark.parametrize("k", [1, 9, 400])
def test_half_of_a_pure_budget_selects(k, epsilon):
    parts = MeasuredSet(k=k, budget=PureDP(epsilon))._parts(True)
    paid = parts.selection.guarantee
    assert isinstance(paid, PureDP)
    assert parts.epsilon is not None
    assert Fraction(paid.epsilon) + parts.epsilon == Fraction(epsilon)
    assert paid.epsilon == pytest.approx(epsilon / 2, rel=1e-12)


@full_size
def test_margins_hold_where_many_candidates_stand_close_behind():
    truth = np.array([5000, 4000, 3000, 2000, 1500] + [100] * 10_000)
    draws = sized(300, full=3000)

    def covered(mechanism):
        scores = sl.Scores(truth, monotone=True, public=True)
        half = present(mechanism.release(scores, rng=seeded(1)).margins)[0].half_width
        many = mechanism.release_many(scores, draws=draws, rng=seeded(2))
        error = present(many.reals)[:, -mechanism.k :] - truth[many.indices]
        return np.count_nonzero(np.abs(error) <= half)

    total = 10 * draws
    assert covered(MeasuredSet(k=10, budget=PureDP(1.0))) > 0.95 * total - 5 * (0.05 * 0.95 * total) ** 0.5
    assert covered(MeasuredTopK(k=10, epsilon=1.0)) < 0.3 * total, "what the leads say of values holds no longer here"


def test_a_margin_is_that_of_a_name_and_not_that_of_a_rank():
    """Rows stand in the order of their values: the first is too high more often, the last too low."""
    truth, mechanism = [5000] * 30 + [100] * 3, MeasuredSet(k=30, budget=PureDP(1.0))
    half = present(mechanism.release(truth, monotone=True, rng=seeded(1)).margins)[0].half_width
    draws = mechanism.release_many(truth, draws=400, monotone=True, rng=seeded(2))
    covers = np.abs(present(draws.reals) - np.array(truth)[draws.indices]) <= half
    assert covers.mean() > 0.94
    assert covers[:, 0].mean() < 0.6 > covers[:, -1].mean()


@pytest.mark.parametrize(
    "budget",
    [
        ApproxDP(1e-200, 1e-300),
        ApproxDP(1e-200, 1e-200),
        ApproxDP(2.0, 1e-323),
        ApproxDP(1.0, 5e-324),
        ApproxDP(1e300, 0.1),
    ],
    ids=repr,
)
def test_budgets_at_the_ends_of_floats_are_shared_too(budget):
    """Searches stood still there: products of floats were none, steps of a billionth too short, half a delta none."""
    parts = MeasuredSet(k=9, budget=budget)._parts(True)
    selects = parts.selection.guarantee
    assert isinstance(selects, ApproxDP)
    left = Fraction(budget.epsilon) - Fraction(selects.epsilon)
    if parts.epsilon is not None:
        assert parts.epsilon <= left
    else:
        assert keeps(left, budget.delta / 2, 1 / present(parts.deviation))


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("budget", [ApproxDP(1.0, 1e-6), ZCDP(0.1, 1e-6), ApproxDP(0.37, 1e-9)])
@pytest.mark.parametrize("k", [1, 3, 8, 9, 40])
def test_the_parts_fit_the_budget(k, budget, public):
    parts = MeasuredSet(k=k, budget=budget)._parts(public)
    paid = parts.selection.guarantee
    if isinstance(budget, ZCDP):
        assert isinstance(paid, ZCDP)
        assert parts.deviation is not None
        assert Fraction(paid.rho) + 1 / (2 * parts.deviation**2) <= Fraction(budget.rho)
        assert paid.delta == budget.delta
        return
    assert isinstance(paid, ApproxDP)
    if parts.epsilon is not None:
        assert k < 40
        assert Fraction(paid.epsilon) + parts.epsilon == Fraction(budget.epsilon)
        assert paid.delta == budget.delta
    else:
        assert k > 8
        left = Fraction(budget.epsilon) - Fraction(paid.epsilon)
        assert 2 * paid.delta <= budget.delta
        for deviation, fits in (
            (float(present(parts.deviation)) * (1 + 1e-9), True),
            (float(present(parts.deviation)) * (1 - 1e-5), False),
        ):
            a, b = 1 / (2 * deviation), float(left) * deviation
            lost = norm.cdf(a - b) - np.exp(float(left)) * norm.cdf(-a - b)  # the tight delta of Gaussian noise
            assert (lost <= budget.delta / 2 * (1 + 1e-9)) == fits


@pytest.mark.parametrize("k", [1, 5, 9, 20, 50])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_a_delta_never_makes_a_margin_wider(k, epsilon):
    def half_width(budget):
        return present(MeasuredSet(k=k, budget=budget).release(range(60), public=True, rng=seeded(1)).margins)[
            0
        ].half_width

    pure = half_width(PureDP(epsilon))
    widths = [half_width(ApproxDP(epsilon, delta)) for delta in (1e-14, 1e-9, 1e-6)]
    assert [pure, *widths] == sorted([pure, *widths], reverse=True)
    assert k < 50 or widths[-1] < 0.7 * pure


@full_size
def test_values_follow_their_law():
    mechanism = MeasuredSet(k=2, budget=ApproxDP(1.0, 1e-6))
    draws = sized(20_000, full=200_000)
    found = mechanism.release_many(COUNTS, monotone=True, draws=draws, rng=seeded(1))
    scale = mechanism._parts(True).noise(2, Fraction(1))
    noise = Geometric(1 / scale)
    first = present(found.reals)[found.indices == 0] - COUNTS[0]
    window = np.arange(-25, 26)
    masses = np.array([float(noise.chance(int(x))) for x in window])
    inside = first[np.abs(first) <= 25]
    counted = np.array([np.count_nonzero(inside == x) for x in window])
    wrong = np.exp(-np.abs(window) / (1.1 * float(scale)))
    assert_law(counted, masses / masses.sum(), wrong=wrong / wrong.sum())


@pytest.mark.parametrize(
    ("budget", "public"),
    [
        (PureDP(2.0), True),
        *((budget, public) for budget in (ApproxDP(2.0, 1e-6), ZCDP(0.5, 1e-6)) for public in (True, False)),
    ],
)
def test_a_value_is_a_noisy_count_of_that_very_item(budget, public):
    scores = sl.Scores(NAMES, monotone=True, public=public)
    for seed in range(10):
        release = sl.top_k(scores, 3, budget=budget, values=True, rng=seeded(seed))
        assert release.ordered
        for item, value, margin in zip(
            present(release.items), present(release.values), present(release.margins), strict=True
        ):
            assert value == int(value)
            assert abs(value - NAMES[str(item)]) < 5 * margin.half_width
        assert present(release.values) == sorted(present(release.values), reverse=True)


def test_sums_that_are_not_whole_get_real_noise():
    release = sl.top_k([0.5, 30.25, 90.0], 2, budget=ZCDP(0.5), values=True, sensitivity=0.5, rng=seeded(1))
    assert release.items == [2, 1]
    assert release.values != [round(value) for value in present(release.values)]
    assert sl.top_k([0.5, 30.25], 1, budget=ApproxDP(9.0, 1e-6), values=True, rng=seeded(1)).margins


def test_what_is_selected_with():
    assert isinstance(MeasuredSet(k=3, budget=ZCDP(0.1))._parts(True).selection, GuardedTopK)
    assert isinstance(MeasuredSet(k=1, budget=ApproxDP(1.0, 1e-6))._parts(False).selection, LimitedDomainTopK)


def test_nothing_selected_is_nothing_measured():
    release = sl.top_k({"a": 1}, 2, epsilon=1.0, delta=1e-9, values=True, monotone=True, public=False, rng=seeded(1))
    assert (release.items, release.values, release.margins) == ([], [], [])


def test_what_values_mean_by_name():
    scores = sl.Scores(COUNTS, monotone=True)
    assert sl.top_k(scores, 2, epsilon=1.0, values=True).mechanism == "measured top-2"
    assert sl.top_k(scores, 2, epsilon=1.0, values=True, gaps=True).mechanism.startswith("measured top-2 with gaps")
    assert sl.top_k(scores, 2, budget=ApproxDP(1.0, 1e-6), values=True).mechanism == "measured top-2"
    by_name = sl.top_k(scores, 2, budget=ApproxDP(1.0, 1e-6), values=True, method="gumbel-values")
    assert by_name.mechanism == "Gumbel top-2 with values"
    assert by_name.margins is None


def test_what_does_not_fit_is_refused():
    with pytest.raises(TypeError, match="PureDP"):
        MeasuredSet(k=2, budget=BoundedRange(1.0))
    with pytest.raises(ValueError, match="greater than 0"):
        MeasuredSet(k=2, budget=ZCDP(0.0, 1e-6))
    with pytest.raises(ValueError, match="need a delta"):
        MeasuredSet(k=2, budget=ZCDP(0.1)).release(NAMES, monotone=True)
    with pytest.raises(ValueError, match="values need a fixed k"):
        sl.top_k(NAMES, None, epsilon=1.0, delta=1e-6, monotone=True, values=True)
    with pytest.raises(ValueError, match="gaps need a public list"):
        sl.top_k(NAMES, 2, epsilon=1.0, delta=1e-6, monotone=True, gaps=True)
    with pytest.raises(ValueError, match='"measured-set"'):
        sl.top_k(NAMES, 2, epsilon=1.0, delta=1e-6, monotone=True, values=True, method="limited-domain")


@pytest.mark.parametrize("sensitivity", [1.0, 2.0**61])
def test_sums_beyond_all_whole_numbers_are_cut_and_neither_wrapped_nor_refused(sensitivity):
    ends = np.array([2**63 - 1, -(2**63), 2**62, -(2**62)])
    mechanism = MeasuredSet(k=2, budget=ApproxDP(1.0, 0.01))
    for n in range(40):
        release = mechanism.release(sl.Scores(ends, sensitivity=sensitivity, public=True), rng=seeded(n))
        for item, value in zip(present(release.indices), present(release.values), strict=True):
            assert abs(value) <= 2**62
            assert sensitivity > 1 or abs(value - np.clip(ends[item], -(2**62), 2**62)) < 1000


def test_all_candidates_are_measured_and_nobody_says_that_it_was_free():
    release = sl.top_k([3, 1, 5], 3, epsilon=1.0, values=True, rng=seeded(1))
    assert (release.guarantee, release.notes) == (PureDP(1.0), ())
