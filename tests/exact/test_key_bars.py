"""How much noise a key set needs and where its bar stands: oracles, the finite check, and what breaks it."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from shortlist.exact import geometric
from shortlist.exact import thresholds as key_bars
from tests.helpers.inside import UNIT, Cap, Geometric, pair_bar, weight
from tests.helpers.typed import present


def worst(bar, epsilon, cap):
    return max(float(loss.max()) for _, loss in key_bars.losses(bar, epsilon, cap))


@pytest.mark.parametrize(("epsilon", "sigma"), [(0.1, 36.304690), (0.5, 8.057618), (1.0, 4.224679), (2.0, 2.230476)])
def test_the_deviation_of_one_gaussian_release(epsilon, sigma):
    assert 1 / key_bars.gaussian_rate(epsilon, 1e-6) == pytest.approx(sigma, abs=1e-6)


def test_the_rate_at_a_large_delta():
    assert key_bars.gaussian_rate(1.0, 1e-2) == pytest.approx(0.53251665, abs=1e-8)


@pytest.mark.parametrize(("t", "z"), [(1, 4.753424), (2, 4.891638), (16, 5.286029), (64, 5.534285)])
def test_the_quantiles_of_the_best_of_t_new_labels(t, z):
    assert key_bars.bar_of(1.0, 1e-6, Cap(t, weighted=False)) - 1 == pytest.approx(z, abs=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "most", "bar"), [(1.0, 1, 21.091732), (1.0, 16, 22.592941), (1.0, 64, 23.517268), (0.5, 64, 44.740455)]
)
def test_bars_with_all_of_delta(epsilon, most, bar):
    sigma = float(key_bars.MARGIN) / key_bars.gaussian_rate(epsilon, 1e-6)
    cap = Cap(most, weighted=True)
    assert key_bars.bar_of(sigma, 1e-6, cap) == pytest.approx(bar, abs=1e-6)
    found = pair_bar(epsilon, 1e-6, cap)
    assert float(found.sigma) == pytest.approx(sigma)
    assert 0 <= float(found.reach) - bar < float(found.grid)


def test_bars_of_an_even_split_are_higher():
    for epsilon, most, bar in ((1.0, 1, 22.352760), (1.0, 16, 23.872023), (1.0, 64, 24.808011), (0.5, 64, 47.331042)):
        found = key_bars.bar_of(1 / key_bars.gaussian_rate(epsilon, 5e-7), 5e-7, Cap(most, weighted=True))
        assert found == pytest.approx(bar, abs=1e-5)


def test_bars_of_zcdp():
    assert float(key_bars.zcdp_bar(0.02, 1e-6, Cap(64, weighted=True)).sigma) == pytest.approx(5.0)
    assert key_bars.bar_of(5.0, 1e-6, Cap(64, weighted=True)) == pytest.approx(27.796426, abs=1e-6)
    assert key_bars.bar_of(20.0, 1e-6, Cap(16, weighted=False)) / 4 == pytest.approx(26.680145, abs=1e-6)
    for cap in (Cap(64, weighted=True), Cap(16, weighted=False), Cap(1, weighted=False)):
        found = key_bars.zcdp_bar(0.02, 1e-6, cap, True)
        assert found.measured is not None
        assert cap.squares / (2 * found.sigma**2) + 1 / (2 * found.measured**2) <= Fraction(0.02)


def test_two_labels_in_people():
    found = pair_bar(1.0, 0.01, Cap(2, weighted=False))
    assert float(found.sigma) == pytest.approx(2.65704495, abs=1e-8)
    assert key_bars.bar_of(float(found.sigma), 0.01, Cap(2, weighted=False)) == pytest.approx(7.84178832, abs=1e-8)
    assert found.step == 9


def test_the_worst_number_of_new_labels_is_not_always_the_largest():
    assert key_bars.bar_of(0.5, 0.01, Cap(64, weighted=True)) == pytest.approx(2.163174, abs=1e-6)
    assert key_bars.bar_of(1.0, 0.01, Cap(64, weighted=True)) == pytest.approx(3.728428, abs=1e-6)
    assert key_bars.bar_of(0.5, 0.01, Cap(64, weighted=True)) == pytest.approx(
        key_bars.bar_of(0.5, 0.01, Cap(1, weighted=True))
    )


def test_measured_bars_are_searched():
    for epsilon, sigma, bar, error in ((1.0, 4.880678, 27.136065, 8.454), (0.5, 9.308788, 51.642490, 16.123)):
        cap = Cap(64, weighted=True)
        found = pair_bar(epsilon, 1e-6, cap, True)
        assert found.measured is not None
        assert float(found.sigma) == pytest.approx(sigma, abs=1e-5)
        assert float(found.measured) == pytest.approx(error, abs=1e-3)
        assert float(found.reach) == pytest.approx(bar, abs=2 * float(found.grid))
        assert worst(found, epsilon, cap) <= 1e-6


def test_the_bar_of_names_alone_is_too_low_where_counts_are_measured_too():
    cap = Cap(16, weighted=True)
    found = pair_bar(0.05, 0.01, cap, True)
    low = key_bars.KeyBar(
        found.sigma,
        Fraction(1, 1 << 20),
        int(key_bars.bar_of(float(found.sigma), 0.01, cap) * (1 << 20)),
        found.measured,
    )
    assert worst(low, 0.05, cap) / 0.01 == pytest.approx(1.0626, abs=1e-3)
    assert key_bars.worst_pair(low, 0.05, 0.01, cap) is not None
    assert key_bars.worst_pair(found, 0.05, 0.01, cap) is None


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_pair_is_within_delta_and_nearly_reaches_it(epsilon, delta, weighted):
    for most in (1, 2, 8, 48):
        cap = Cap(most, weighted)
        found = pair_bar(epsilon, delta, cap)
        assert key_bars.worst_pair(found, epsilon, delta, cap) is None
        assert 0.5 * delta < worst(found, epsilon, cap) <= delta * (1 + 1e-9)
        if epsilon >= 0.5 or weighted:  # else a step of a whole person is little
            lower = key_bars.KeyBar(found.sigma, found.grid, found.step - 2)
            assert key_bars.worst_pair(lower, epsilon, delta, cap) is not None or float(found.sigma) > 20


def test_the_check_fails_with_too_little_noise():
    cap = Cap(16, weighted=True)
    found = pair_bar(1.0, 1e-6, cap)
    less = key_bars.KeyBar(found.sigma * Fraction(99, 100), found.grid, found.step + 100)
    assert key_bars.worst_pair(less, 1.0, 1e-6, cap) == (1, 0)


def test_a_calibration_that_fails_its_check_is_raised(monkeypatch):
    """Noise that is a little too small, and a bar that is too low, are found by the check and mended."""
    cap = Cap(8, weighted=True)
    right = pair_bar(1.0, 1e-5, cap)
    pair_bar.cache_clear()
    rate = key_bars.gaussian_rate(1.0, 1e-5)
    monkeypatch.setattr(key_bars, "gaussian_rate", lambda epsilon, delta: rate * 1.01)
    raised = pair_bar(1.0, 1e-5, cap)
    pair_bar.cache_clear()
    assert key_bars.worst_pair(raised, 1.0, 1e-5, cap) is None
    assert right.sigma * Fraction(999, 1000) < raised.sigma < right.sigma * Fraction(1002, 1000)


def test_floats_and_balls_agree_on_the_losses():
    from flint import ctx

    cap = Cap(5, weighted=True)
    bar = pair_bar(0.7, 1e-4, cap, True)
    for t, found in key_bars.losses(bar, 0.7, cap):
        for j in range(t + 1):
            with ctx.workprec(200):
                exact = max(map(float, key_bars._loss_balls(bar, 0.7, cap, t, j)))
            assert found[j] == pytest.approx(exact, rel=1e-9)


def test_weights_are_whole_and_of_length_at_most_one():
    assert [weight(t) for t in (1, 2, 3, 4, 5, 64)] == [1048576, 741455, 605395, 524288, 468937, 131072]
    assert all(t * weight(t) ** 2 <= UNIT**2 < t * (weight(t) + 1) ** 2 for t in range(1, 4097))


@pytest.mark.parametrize(
    ("epsilon", "reach", "lam", "p"),
    [
        (1, 14, 0.932546, 0.699887),
        (0.5, 25, 0.147389, 0.413639),
        (2, 7, 0.090633, 0.188229),
        (0.1, 109, 0.802593, 0.515117),
    ],
)
def test_the_public_coin(epsilon, reach, lam, p):
    coin = geometric.public_coin(Fraction(epsilon), Fraction(1e-6))
    assert coin.reach == reach
    share = float(coin.chance())
    assert share == pytest.approx(lam, abs=1e-6)
    named = [float(noise.survival(np.array([present(noise.reach) + 1.0 - reach]))[0]) for noise in coin.noises()]
    assert (1 - share) * named[0] + share * named[1] == pytest.approx(p, abs=1e-6)
    ends = [float(geometric.end_chance(coin.epsilon, noise.reach or 0)) for noise in coin.noises()]
    assert (1 - share) * ends[0] + share * ends[1] == pytest.approx(1e-6, rel=1e-12)
    assert ends[0] <= 1e-6 < ends[1]


def test_the_truncated_geometric_law():
    noise = Geometric(Fraction(1), 14)
    assert float(noise.chance(14)) == pytest.approx(3.842639e-7, rel=1e-6)
    assert sqrt(noise.variance()) == pytest.approx(1.3569, abs=1e-4)
    masses = [float(noise.chance(x)) for x in range(-15, 16)]
    assert sum(masses) == pytest.approx(1)
    assert [float(noise.chance_at_least(x)) for x in range(-15, 16)] == pytest.approx(
        np.cumsum(masses[::-1])[::-1].tolist()
    )
    assert noise.survival(np.arange(-15.0, 16.0)) == pytest.approx(np.cumsum(masses[::-1])[::-1])
    whole = Geometric(Fraction(1, 20))
    assert sqrt(whole.variance()) == pytest.approx(28.281, abs=1e-3)
    assert float(whole.chance_at_least(-3)) == pytest.approx(float(whole.survival(np.array([-3.0]))[0]))
