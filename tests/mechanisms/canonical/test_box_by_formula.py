"""Exact enumeration of all k-subsets on a box: no set's odds move by more than e^epsilon (Theorem 63)."""

from functools import cache
from itertools import combinations, product
from math import comb, log
from typing import Any

import numpy as np
import pytest

from shortlist.audit import alike
from shortlist.exact.noise import EXPONENTIAL, GUMBEL, KINDS
from shortlist.mechanisms import CanonicalTopK
from shortlist.noise import piecewise_noise
from tests.helpers.box import shifts
from tests.helpers.laws import winner_probabilities
from tests.helpers.subset_law import subset_law

CUSTOM = piecewise_noise([0, 1, 2], [-0.5, 0, -1])
ALL = [*KINDS.values(), CUSTOM]
kind = pytest.mark.parametrize("monotone", [False, True], ids=["general", "monotone"])


def pairs(d, monotone, top):
    """Sorted scores and all their neighbours, up to names and a common shift: the mechanism does not see them."""
    found: dict[Any, Any] = {}
    for x in product(range(top + 1), repeat=d):
        if list(x) == sorted(x):
            for shift in shifts(d, monotone):
                y = tuple(a + b for a, b in zip(x, shift, strict=True))
                found.setdefault(alike(x, y, exchangeable=True, shift_invariant=True), (x, y))
    return list(found.values())


def log_ratios(law_of, d, monotone, top=2):
    """All log ratios of all sets, one row per pair of neighbours."""
    law = cache(lambda x: np.log(list(law_of(x).values())))
    return np.array([law(x) - law(y) for x, y in pairs(d, monotone, top)])


@kind
@pytest.mark.parametrize("noise", ALL, ids=[noise.name for noise in ALL])
def test_every_noise_keeps_epsilon(noise, monotone):
    rate = 1.0 if monotone else 0.5
    found = log_ratios(lambda x: subset_law(x, 2, rate, 0.5, noise), 4, monotone, top=1)
    assert np.abs(found).max() <= 1 + 1e-9


def test_probabilities_are_those_of_the_enumeration():
    for noise in ALL:
        m = CanonicalTopK(k=2, epsilon=0.7, gamma=0.4, noise=noise)
        law = subset_law([3, 1, 2, 2], 2, 0.7, 0.4, noise)
        assert m.probabilities([3, 1, 2, 2], monotone=True) == pytest.approx(law, abs=1e-11)


def test_dividing_by_the_sensitivity_twice_is_caught():
    """Counts have sens 1/2 under add-remove; dividing scores by it twice doubles the rate (Proposition 140)."""
    found = log_ratios(lambda x: subset_law(x, 2, 2.0, 0.5, EXPONENTIAL), 4, True)
    assert np.abs(found).max() > 1.9


def test_forgetting_the_factor_two_for_general_scores_is_caught():
    found = log_ratios(lambda x: subset_law(x, 2, 1.0, 0.5, GUMBEL), 4, False)
    assert np.abs(found).max() > 1.5


def by_classes(x, k, rate, gamma, size):
    """The law of a Gumbel class sampler in which class (h, t) weighs size(h, t), its members drawn uniformly."""
    order = sorted(range(len(x)), key=lambda item: -x[item])
    s = [x[item] for item in order]
    law, d = {}, len(x)
    weights = {tuple(range(k)): np.exp(rate * (gamma * s[k - 1] - (1 - gamma) * s[k]))}
    for h, t in product(range(k), range(k + 1, d + 1)):
        members = [(*range(h), *body, t - 1) for body in combinations(range(h + 1, t - 1), k - 1 - h)]
        weight = size(h, t) * np.exp(rate * (gamma * s[t - 1] - (1 - gamma) * s[h])) / len(members)
        weights |= dict.fromkeys(members, weight)
    total = sum(weights.values())
    for ranks, weight in weights.items():
        law[tuple(sorted(order[r] for r in ranks))] = weight / total
    return dict(sorted(law.items()))


@pytest.mark.parametrize(("k", "d", "printed"), [(2, 5, 0.7236), (3, 6, 1.1278)])
def test_the_printed_update_of_class_sizes_is_caught(k, d, printed):
    """Printed: (t - (h + 1)) / (k - (h + 1)) where (t - (h + 2)) / (k - (h + 1)) is meant (Proposition 138)."""

    def wrong(h, t):
        size = 1.0
        for new in range(k - 2, h - 1, -1):
            size *= (t - (new + 1)) / (k - (new + 1))
        return size

    rate, x = 0.1, tuple(range(d, 0, -1))
    right = by_classes(x, k, rate, 0.5, lambda h, t: comb(t - h - 2, k - 1 - h))
    assert right == pytest.approx(subset_law(x, k, rate, 0.5, GUMBEL), abs=1e-12)
    worst = 0.0
    for here, there in pairs(d, True, 1):
        a, b = (by_classes(y, k, rate, 0.5, wrong) for y in (here, there))
        worst = max(worst, *(abs(log(a[y] / b[y])) for y in a))
    assert worst > 3 * rate
    assert worst <= printed + 1e-3


def test_the_printed_start_for_gamma_one_is_caught():
    """The top set starts at x_[k] instead of (eps / 2) x_[k]: (100, 99) against (99, 100) has log ratio 95.05."""

    def law(x):
        noiseless = 0.05 * np.array(x, float)
        noiseless[np.argmax(x)] = max(x)
        return winner_probabilities(noiseless, GUMBEL)

    assert np.abs(np.log(law((100, 99)) / law((99, 100)))).max() == pytest.approx(95.05, abs=1e-6)
