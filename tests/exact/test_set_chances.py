"""The chances of all sets, against certified laws and against their sum."""

import numpy as np
import pytest

from shortlist.audit.certified import base
from shortlist.mechanisms import OneshotTopK
from tests.helpers.laws import NOISES

X = [5.0, 3.5, 3.0, 0.0, 3.0]


def set_probabilities(s, k, noise):
    return OneshotTopK(k=k, epsilon=float(k), noise=noise).probabilities(s, monotone=True)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_sets_have_their_certified_chances(noise, k):
    found = set_probabilities(np.array(X), k, noise)
    certified = base.set_law(X, k, noise, 1)
    assert found.keys() == certified.keys()
    for members, chance in certified.items():
        assert found[members] == pytest.approx(float(chance.mid()), abs=1e-9)


def test_a_law_that_is_a_little_wrong_would_be_seen():
    found, other = (set_probabilities(np.array(x), 2, "gumbel") for x in (X, [5.0, 3.5, 3.0, 0.0, 3.001]))
    assert max(abs(found[one] - other[one]) for one in found) > 1e-5


def test_whoever_is_never_chosen_is_in_no_set():
    found = set_probabilities(np.array([-np.inf, *X]), 2, "laplace")
    expected = set_probabilities(np.array(X), 2, "laplace")
    assert found == {tuple(i + 1 for i in members): pytest.approx(p, abs=1e-12) for members, p in expected.items()}
    assert set_probabilities(np.array([1.0, -np.inf, 2.0]), 2, "gumbel") == {(0, 2): 1.0}


def test_too_many_sets_are_refused():
    with pytest.raises(ValueError, match=r"more than 100,000 sets; ask for quality"):
        set_probabilities(np.zeros(40), 10, "exponential")
