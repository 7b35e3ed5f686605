"""Every small histogram and every user, new labels included: the hockey stick is at most delta, or delta + V.

Lists with either noise (Theorem 111, 112) and sets (Theorem 115).
"""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from shortlist.exact import thresholds
from shortlist.privacy import ThinnedRange
from tests.helpers.inside import canonical_offset, dummies
from tests.mechanisms.limited_domain.by_formula import canonical_law, exponential_law, gumbel_law, neighbours, worst

TINY = 1e-9


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize(("e", "delta"), [(0.3, 0.05), (1.0, 0.3), (1.0, 0.05)])
def test_the_list_costs_k_rounds_and_delta_once(e, delta, limit):
    for k in range(1, limit + 1):
        rounds = ThinnedRange(e, k, delta)
        xs = [0.0, k * e / 4, k * e / 2, k * e]
        found = worst(lambda h, k=k: gumbel_law(h, k, limit, e, dummies(limit, Fraction(delta))), neighbours(3, 3), xs)
        assert found[-1] <= delta + TINY
        assert (found <= [rounds.delta_at(x) + TINY for x in xs]).all()


@pytest.mark.parametrize("reverse", [False, True])
def test_any_tie_rule_will_do_for_the_gumbel_list(reverse):
    for limit in (1, 2):
        m = dummies(limit, Fraction(1, 20))

        def law(h, limit=limit, m=m):
            seen = h[::-1] if reverse else h
            return gumbel_law(seen, 2, limit, 1.0, m, strict=False)

        assert worst(law, neighbours(3, 3, any_order=True), 2.0) <= 0.05 + TINY


def test_the_delta_is_reached_by_a_user_with_only_new_labels():
    limit, delta, m = 3, 0.05, dummies(3, Fraction(1, 20))
    for k in (1, 2, 3):
        law = gumbel_law((1, 1, 1), k, limit, 1.0, m)
        assert 1 - law[("#",)] == pytest.approx(limit / (limit + m))
        assert limit / (limit + m) == pytest.approx(delta, rel=0.02)


def violation(law, x=1.0, **pairs):
    return worst(law, neighbours(3, 3, **pairs), x)


def test_broken_bars_are_found_out():
    """No +1, no limit in the bar, a cap with the strict list, no noise on the bar (Proposition 114)."""
    real = 2 * 0.95 / 0.05
    assert violation(lambda h: gumbel_law(h, 1, 2, 1.0, real, above=0)) == pytest.approx(0.12516, abs=1e-5)
    assert violation(lambda h: gumbel_law(h, 1, 2, 1.0, real / 2)) == pytest.approx(0.09524, abs=1e-5)
    one_label = [(h, tuple(a + (i == j) for j, a in enumerate(h))) for h, _ in neighbours(4, 1) for i in range(4)]
    capped = worst(lambda h: gumbel_law(h, 1, 3, 1.0, 0.95 / 0.05), one_label, 1.0)
    assert capped == pytest.approx(0.13636, abs=1e-5)
    safe = worst(lambda h: gumbel_law(h, 1, 3, 1.0, 0.95 / 0.05, strict=False), one_label, 1.0)
    assert safe <= 0.05 + TINY
    bars = np.linspace(-8, 8, 3201)  # one label against a fixed bar: below it with probability exp(-e^-bar)
    fixed = (np.exp(-np.exp(-bars)) - exp(1.0) * np.exp(-np.exp(1 - bars))).max()
    assert fixed == pytest.approx(0.197379, abs=1e-5)


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 2])
def test_exponential_noise_costs_k_epsilon_and_delta(limit, k):
    delta = 0.05
    offset = float(thresholds.exponential_offset(limit, Fraction(1), Fraction(delta)))
    found = worst(lambda h: exponential_law(h, k, limit, 1.0, offset), neighbours(3, 2), float(k))
    assert found <= delta + 1e-7
    if limit > 1:
        low = float(thresholds.exponential_offset(1, Fraction(1), Fraction(delta)))  # a bar for one label only
        assert worst(lambda h: exponential_law(h, k, limit, 1.0, low), neighbours(3, 2), float(k)) > delta + 0.02


@pytest.mark.parametrize(("k", "limit"), [(1, 1), (1, 2), (2, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize(
    ("e", "delta", "gamma"), [(1.0, 0.05, 0.85), (0.4, 0.2, 0.85), (1.0, 0.05, 1.0), (1.0, 0.1, 0.5)]
)
@pytest.mark.parametrize("strict", [True, False])
def test_the_canonical_set_costs_one_round_and_delta(k, limit, e, delta, gamma, strict):
    offset = float(canonical_offset(k, limit, Fraction(gamma) * Fraction(e), Fraction(delta)))
    xs = [0.0, e / 2, e]
    rounds = ThinnedRange(e, 1, delta)
    pairs = neighbours(4, 3) if strict else neighbours(3, 3, any_order=True)
    found = worst(lambda h: canonical_law(h, k, limit, e, gamma, offset, strict=strict), pairs, xs)
    assert (found <= [rounds.delta_at(x) + TINY for x in xs]).all()
    assert found[-1] <= delta + TINY


def test_a_canonical_bar_that_is_too_low_is_found_out():
    """No +1, one label instead of all sets, and the delta of one label."""
    delta, k, limit = Fraction(1, 20), 2, 3
    right = float(canonical_offset(k, limit, Fraction(17, 20), delta))
    for offset, above in ((right, 0), (float(canonical_offset(1, 1, Fraction(17, 20), delta)), 1)):
        assert (
            worst(lambda h, o=offset, a=above: canonical_law(h, k, limit, 1.0, 0.85, o, above=a), neighbours(4, 3), 1.0)
            > 0.06
        )
