"""Exact enumeration: no outcome's odds move by more than e^epsilon on a box of neighbouring scores (SPEC 16)."""

from fractions import Fraction

import numpy as np
import pytest

from shortlist import Scores
from shortlist.mechanisms import NoisyMax, OneshotTopK
from shortlist.noise.kinds import KINDS
from shortlist.noise.piecewise import piecewise_noise

from .box import ordered_law, set_law, worst_log_ratio

TOLERANCE = 1e-9
every = pytest.mark.parametrize("noise", KINDS.values(), ids=list(KINDS))
kind = pytest.mark.parametrize("monotone", [False, True], ids=["general", "monotone"])


def law_of(scale, k, noise, release):
    return lambda x: release(ordered_law(np.array(x) / float(scale), k, noise))


def scale_of(mechanism, monotone):
    """The scale the mechanism really uses, from its own formula."""
    return mechanism._scale(Scores([0, 1], monotone=monotone))


@every
@kind
def test_noisy_max_keeps_epsilon(noise, monotone):
    mechanism = NoisyMax(epsilon=0.8, noise=noise.name)
    scale = scale_of(mechanism._top_one, monotone)
    worst = worst_log_ratio(law_of(scale, 1, noise, dict), 3, monotone)
    assert worst <= 0.8 * (1 + TOLERANCE)
    assert worst > 0.8 * 0.6  # the box is large enough to see most of it


@every
@kind
@pytest.mark.parametrize("release", [dict, set_law], ids=["ordered", "set"])
def test_one_shot_keeps_epsilon(noise, monotone, release):
    mechanism = OneshotTopK(k=2, epsilon=1.0, noise=noise.name)
    worst = worst_log_ratio(law_of(scale_of(mechanism, monotone), 2, noise, release), 4, monotone)
    assert worst <= 1.0 + TOLERANCE


@every
def test_forgetting_the_factor_two_for_general_scores_is_caught(noise):
    scale = scale_of(OneshotTopK(k=1, epsilon=1.0), True)
    assert worst_log_ratio(law_of(scale, 1, noise, dict), 3, False) > 1.0 + 0.01


@every
def test_not_charging_for_k_is_caught(noise):
    scale = scale_of(OneshotTopK(k=1, epsilon=1.0), True)
    assert worst_log_ratio(law_of(scale, 2, noise, dict), 4, True, top=1) > 1.0 + 0.01


def test_dividing_by_the_sensitivity_twice_is_caught():
    """Algorithm 2 as printed (ERRATA 002), counts with sens 1/2: scale k R / (2 epsilon)."""
    scale = scale_of(OneshotTopK(k=2, epsilon=1.0), True) / 2
    assert worst_log_ratio(law_of(scale, 2, KINDS["exponential"], set_law), 4, True, top=1) > 1.5


HAZARD = piecewise_noise([0, 5, 10, 15, 20, 25, 30, 35], [-1, 0, -1, 0, -1, 0, -1, Fraction(-1)])
"""Hazard 1 on [10 j, 10 j + 5] and 0 elsewhere: the counterexample of SPEC 6, cut at 35."""


def test_the_order_under_custom_noise_would_break_the_guarantee_and_the_set_does_not():
    here, there = (ordered_law(np.array(s), 2, HAZARD) for s in ((5, 0, 5), (5.25, 0.25, 4.75)))
    assert abs(np.log(here[0, 1] / there[0, 1])) == pytest.approx(3.0056, abs=2e-3)
    sets = set_law(here), set_law(there)
    assert max(abs(np.log(sets[0][o] / sets[1][o])) for o in sets[0]) <= 1.0
    assert not OneshotTopK(k=2, epsilon=1.0, noise=HAZARD).ordered


CUSTOM = piecewise_noise([0, 1, Fraction(5, 2)], [Fraction(-1, 2), 0, -1])


@kind
def test_sets_under_custom_noise_keep_epsilon(monotone):
    mechanism = OneshotTopK(k=2, epsilon=1.0, noise=CUSTOM)
    worst = worst_log_ratio(law_of(scale_of(mechanism, monotone), 2, CUSTOM, set_law), 4, monotone, top=1)
    assert worst <= 1.0 + TOLERANCE


def test_permute_and_flip_has_no_bounded_range_and_gumbel_has():
    """The log ratios of the outcomes spread over 1.6636 at epsilon 1 (SPEC 7); for Gumbel noise over at most 1."""

    def spread(noise):
        here, there = (ordered_law(np.array(s), 1, noise) for s in ((0, -0.5), (-0.5, 0)))
        logs = [np.log(here[o] / there[o]) for o in here]
        return max(logs) - min(logs)

    assert spread(KINDS["exponential"]) == pytest.approx(1.6636, abs=1e-4)
    assert spread(KINDS["gumbel"]) <= 1.0 + TOLERANCE
    assert NoisyMax(epsilon=1.0, noise="gumbel").charge != NoisyMax(epsilon=1.0, noise="exponential").charge
