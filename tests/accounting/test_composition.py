"""Compositions against exact enumeration, against every order of play, and against themselves."""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln

from shortlist.accounting import compose as accountant
from shortlist.accounting import curves
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, Composition, GumbelDP, PureDP, RenyiDP, compose
from tests.helpers.inside import many_rounds
from tests.helpers.typed import of_kind

KINDS = [
    PureDP(0.2),
    ApproxDP(0.1, 1e-7),
    ZCDP(0.01),
    ZCDP(0.02, delta=1e-8),
    RenyiDP([2.0, 8.0, 32.0], [0.01, 0.04, 0.2]),
    BoundedRange(0.2),
    GumbelDP(0.05, k=3),
    GumbelDP(0.05, k=2, monotone=False),
]


def exact_delta(parts: list[tuple[float, float, int]], epsilon: float) -> float:
    """Randomised responses with their deltas, by the binomial law of each kind."""
    losses, logs, kept = np.zeros(1), np.zeros(1), 0.0
    for each, delta, times in parts:
        ups = np.arange(times + 1)
        binomial = gammaln(times + 1) - gammaln(ups + 1) - gammaln(times - ups + 1)
        law = binomial + ups * each - times * np.log1p(np.exp(each))
        losses = np.add.outer(losses, each * (2 * ups - times)).ravel()
        logs = np.add.outer(logs, law).ravel()
        kept += times * math.log1p(-delta)
    over = losses > epsilon
    finite = float(np.exp(logs[over]) @ -np.expm1(epsilon - losses[over]))
    return 1 - math.exp(kept) * (1 - finite) if kept else finite


@pytest.mark.parametrize(
    ("parts", "epsilons"),
    [
        ([(0.3, 0.0, 3), (0.2, 1e-3, 2), (0.7, 0.0, 1)], [0.0, 0.4, 1.3, 1.9]),
        ([(0.05, 0.0, 200), (0.3, 0.0, 10), (1.0, 0.0, 1)], [1.0, 4.5955, 7.0, 10.0, 13.0]),
        ([(0.01, 0.0, 300), (0.0317, 0.0, 100)], [0.1, 1.0, 2.0]),
        ([(0.1, 0.0, 100)], [1.0, 5.0, 8.0, 9.5]),
        ([(2.0, 0.0, 4), (0.001, 0.0, 50)], [0.5, 3.99, 6.0, 8.0]),
        ([(12.0, 0.0, 2), (0.1, 0.0, 2)], [0.5, 12.0, 23.9]),
    ],
)
def test_products_of_randomised_responses_are_exact(parts, epsilons):
    total = compose(*(ApproxDP(each, delta).repeat(times) for each, delta, times in parts))
    for epsilon in epsilons:
        lower, upper = total.delta_bounds(epsilon)
        truth = exact_delta(parts, epsilon)
        assert lower <= truth * (1 + 1e-9)
        assert truth * (1 - 1e-9) <= upper <= truth * (1 + 2e-3)


def test_a_million_randomised_responses_are_exact():
    epsilon = PureDP(0.001).repeat(10**6).epsilon_at(1e-6)
    assert exact_delta([(0.001, 0.0, 10**6)], epsilon) <= 1e-6
    assert exact_delta([(0.001, 0.0, 10**6)], epsilon * (1 - 1e-5)) > 1e-6


def test_a_delta_of_one_in_ten_to_the_forty_keeps_its_accuracy():
    parts = [(0.1, 0.0, 400)]
    total = PureDP(0.1).repeat(400)
    epsilon = 26.0
    truth = exact_delta(parts, epsilon)
    assert 1e-45 < truth < 1e-30
    assert truth <= total.delta_at(epsilon) <= truth * (1 + 1e-6)
    assert total.epsilon_at(truth * (1 + 1e-5)) == pytest.approx(epsilon, rel=1e-6)


def play(order: tuple[str, ...], x: np.ndarray, wide: float, response: float) -> np.ndarray:
    """What an adversary gets from rounds in this order, each bounded-range window chosen from the loss so
    far.
    """
    if not order:
        return np.maximum(-np.expm1(x), 0.0)
    if order[0] == "response":
        chance = 1 / (1 + math.exp(-response))
        rest = order[1:]
        up, down = play(rest, x - response, wide, response), play(rest, x + response, wide, response)
        return chance * up + (1 - chance) * down
    t = np.linspace(0.0, wide, 161)
    low = np.expm1(t) / math.expm1(wide)
    above = play(order[1:], x[..., None] - t, wide, response)
    below = play(order[1:], x[..., None] - t + wide, wide, response)
    return ((1 - low) * above + low * below).max(axis=-1)


def test_every_order_of_play_is_covered_and_the_worst_comes_last():
    """Pairs first, then the windows: docs/accounting.md. The adversary here is a real one, so it is a lower
    bound.
    """
    wide, response = 0.8, 0.5
    total = compose(BoundedRange(wide).repeat(2), PureDP(response).repeat(2))
    for x in [0.0, 0.6, 1.2]:
        gains = {
            order: float(play(order, np.array([x]), wide, response)[0])
            for order in set(itertools.permutations(["window", "window", "response", "response"]))
        }
        assert max(gains.values()) == gains[("response", "response", "window", "window")]
        upper = total.delta_at(x)
        assert max(gains.values()) <= upper <= max(gains.values()) * 1.002


def test_unequal_windows_are_covered_in_both_orders():
    """(.4 then 1.2) gains .299134 at 0, reversed .291313 (Proposition 32)."""
    assert compose(BoundedRange(0.4), BoundedRange(1.2)).delta_at(0.0) >= 0.299134


def test_one_round_is_the_supremum_over_its_windows():
    epsilon, x = 1.3, np.linspace(-1.3, 1.3, 101)
    sup = np.max([curves.two_point(t, t - epsilon)(x) for t in np.linspace(1e-4, epsilon - 1e-4, 4001)], axis=0)
    assert np.all(curves.one_round(epsilon)(x) >= sup * (1 - 1e-12))
    assert np.allclose(curves.one_round(epsilon)(x), sup, atol=1e-6)


def test_blocks_of_rounds_cover_the_rounds():
    """Twice the pair of 20 rounds is no better than the recursion of 40, and hardly worse."""
    x = 1.0
    whole = float(many_rounds(0.1, 40)(np.array([x]))[0])
    blocks = accountant.convolve([curves.Pair(many_rounds(0.1, 20), 2, 2.0)], tilt=8.0, small=1e-15).delta(x)
    assert whole <= blocks <= whole * 1.1


def test_many_smooth_losses_are_enclosed():
    """A thousand single values in one direction are a thousand values at once, whose profile is exact."""
    for rounds, mu in [(100_000, 0.002), (30, 0.1)]:
        for epsilon in (0.5, 2.0):
            truth = float(curves.forward(mu, rounds)(np.array([epsilon]))[0])
            lower, upper = GumbelDP(mu).repeat(rounds).delta_bounds(epsilon)
            grid = accountant.convolve([curves.Pair(curves.forward(mu, 1), rounds)], tilt=5.0, small=1e-15)
            assert 0.3 * truth < lower < truth < grid.delta(epsilon) < 1.01 * truth
            assert truth < upper


@pytest.mark.parametrize("tilt", [1e-6, 0.3, 3.0, 30.0, 300.0])
def test_a_badly_chosen_tilt_costs_tightness_and_not_soundness(tilt):
    """Tilted too far, the window lies above the epsilon asked for and has not seen all losses beyond it."""
    product = accountant.convolve([curves.Pair(curves.two_point(0.01, -0.01), 10_000, 0.01)], tilt=tilt, small=1e-15)
    for epsilon in (0.0, 0.5, 2.0, 5.0, 8.0, 20.0):
        assert product.delta(epsilon) >= exact_delta([(0.01, 0.0, 10_000)], epsilon) * (1 - 1e-12)


def test_connected_dots_lie_above_the_profile():
    pair = curves.Pair(many_rounds(0.3, 7), 1, 2.1)
    step = 2.1 / 97
    atoms = accountant.connect(pair, 2.1, step, 4096)
    x = np.linspace(-2.0, 2.0, 333)
    excess = np.maximum(-np.expm1(x[:, None] - atoms.losses(step)), 0.0) @ atoms.masses + atoms.infinite
    assert np.all(excess >= pair.profile(x) * (1 - 1e-12))
    assert atoms.masses.sum() + atoms.infinite == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_composing_n_times_equals_repeating(kind):
    composed = compose(kind, kind).compose(kind)
    assert composed.epsilon_at(1e-5) == pytest.approx(kind.repeat(3).epsilon_at(1e-5), rel=1e-9)
    assert kind.repeat(1) == kind
    assert kind.repeat(2).repeat(3).charges == kind.repeat(6).charges or isinstance(kind, ZCDP)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_more_costs_more(kind):
    epsilons = [kind.repeat(n).epsilon_at(1e-5) for n in (1, 2, 5, 20)]
    assert epsilons == sorted(epsilons)
    five = kind.repeat(5)
    by_delta = [five.epsilon_at(delta) for delta in (1e-9, 1e-6, 1e-3, 0.1)]
    assert by_delta == sorted(by_delta, reverse=True)
    by_epsilon = [five.delta_at(epsilon) for epsilon in (0.0, 0.3, 1.0, 3.0)]
    assert by_epsilon == sorted(by_epsilon, reverse=True)
    assert all(0.0 <= delta <= 1.0 for delta in by_epsilon)


@pytest.mark.parametrize("make", [PureDP, BoundedRange, ZCDP, lambda each: GumbelDP(each, 4)])
def test_a_larger_parameter_costs_more(make):
    epsilons = [make(each).repeat(7).epsilon_at(1e-6) for each in (0.01, 0.05, 0.051, 0.3)]
    assert epsilons == sorted(epsilons)


SECOND = [PureDP(0.5), BoundedRange(0.4), ZCDP(0.05), GumbelDP(0.1, k=2)]
TWO_KINDS = [
    pytest.param(first, second, id=f"{second}-{first}", marks=[] if (i + j) % 4 == 0 else [pytest.mark.long])
    for i, first in enumerate(KINDS)
    for j, second in enumerate(SECOND)
]


@pytest.mark.parametrize(("first", "second"), TWO_KINDS)
def test_the_lower_bound_is_never_above_the_upper(first, second):
    total = compose(first.repeat(3), second)
    lower, upper = total.epsilon_bounds(1e-5)
    assert 0 <= lower <= upper
    below, above = total.delta_bounds(0.3)
    assert 0 <= below <= above <= 1
    assert upper <= total.epsilon_at(1e-6)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_epsilon_and_delta_are_inverse(kind):
    for total in (kind, kind.repeat(4), compose(kind, PureDP(0.3))):
        epsilon = total.epsilon_at(1e-5)
        assert total.delta_at(epsilon) <= 1e-5 * (1 + 1e-4)
        assert total.delta_at(epsilon * 0.98) > 1e-5


def test_composition_counts_and_does_not_care_for_order():
    one = compose(PureDP(0.1), BoundedRange(0.2), PureDP(0.1))
    assert one == compose(BoundedRange(0.2), PureDP(0.1).repeat(2))
    assert isinstance(one, Composition)
    assert one.charges == ((BoundedRange(0.2), 1), (PureDP(0.1), 2))
    assert hash(one) == hash(compose(PureDP(0.1), PureDP(0.1), BoundedRange(0.2)))


def test_zcdp_stays_zcdp():
    assert ZCDP(0.125).repeat(4) == ZCDP(0.5)
    assert compose(ZCDP(0.25), ZCDP(0.5, delta=1e-6)) == ZCDP(0.75, delta=1e-6)
    twice = of_kind(ZCDP, ZCDP(0.25, delta=1e-6).repeat(2))
    assert 2e-6 - 1e-12 <= twice.delta <= 2e-6


def test_the_adversary_of_a_filter_is_not_served_by_a_composition():
    """Both paths compose to delta(1) = .05, the interaction does not (Proposition 35)."""
    one = compose(PureDP(0.5), PureDP(0.6313)).delta_at(1.0)
    other = compose(PureDP(0.5), ApproxDP(0.0, 0.05)).delta_at(1.0)
    assert one == pytest.approx(0.05, abs=1e-4)
    assert other == pytest.approx(0.05, abs=1e-9)
    interaction = 1 / (1 + math.exp(-0.5)) * float(curves.two_point(0.6313, -0.6313)(np.array([0.5]))[0]) + 0.05 / (
        1 + math.exp(0.5)
    )
    assert interaction == pytest.approx(0.0689, abs=1e-4)


@pytest.mark.parametrize(
    "total",
    [
        PureDP(0.001).repeat(10**6),
        ApproxDP(0.001, 1e-14).repeat(10**6),
        BoundedRange(0.001).repeat(10**6),
        GumbelDP(0.001).repeat(10**6),
        GumbelDP(0.001, monotone=False).repeat(10**6),
        RenyiDP([2, 8], [1e-7, 4e-7]).repeat(10**6),
        compose(*(kind.repeat(1000) for kind in KINDS), PureDP(0.01).repeat(999), BoundedRange(0.01).repeat(1001)),
        pytest.param(
            compose(*(BoundedRange(0.01 * (1 + i)).repeat(1000) for i in range(10))),
            marks=pytest.mark.long,
            id="10 kinds of ranges",
        ),
    ],
    ids=lambda total: f"{len(total.charges)} kinds",
)
def test_the_work_of_an_answer_does_not_grow_with_the_number_of_charges(total, monkeypatch):
    """Counted, not timed: calls in the accounting, and points that go through the Fourier transform.

    At most four times the calls that a thousandth of the charges needs, and few of either in any case.
    """
    few = compose(*(kind.repeat(max(times // 1000, 2)) for kind, times in total.charges))
    (calls, points), (fewer, _) = work_of(total, monkeypatch), work_of(few, monkeypatch)
    assert calls < min(4 * fewer, 20_000)
    assert points < 2**24


def work_of(total, monkeypatch):
    """(how many functions of the accounting are called, how many points are transformed) for one answer."""
    folder, calls, points = str(Path(accountant.__file__).parent), [], []
    curves.recursion.cache_clear()

    def noted(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(folder):
            calls.append(1)

    rfft = np.fft.rfft

    def transformed(line):
        points.append(len(line))
        return rfft(line)

    with monkeypatch.context() as patch:
        patch.setattr(np.fft, "rfft", transformed)
        before = sys.getprofile()
        sys.setprofile(noted)
        try:
            assert total.epsilon_at(1e-6) > 0
        finally:
            sys.setprofile(before)
    return len(calls), sum(points)


def test_a_composition_of_nothing_is_refused():
    with pytest.raises(ValueError, match="parts must not be empty"):
        Composition(())
