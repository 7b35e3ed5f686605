"""The chances of all sets, against certified laws and against their sum."""

import numpy as np
import pytest

from shortlist.audit.certified import base
from shortlist.utility.race import set_probabilities
from tests.helpers.inside import EXPONENTIAL, GUMBEL, KINDS, LAPLACE

X = [5.0, 3.5, 3.0, 0.0, 3.0]


@pytest.mark.parametrize("noise", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_sets_have_their_certified_chances(noise, k):
    found = set_probabilities(np.array(X), k, noise)
    certified = base.set_law(X, k, noise.name, 1)
    assert found.keys() == certified.keys()
    for members, chance in certified.items():
        assert found[members] == pytest.approx(float(chance.mid()), abs=1e-9)


def test_a_law_that_is_a_little_wrong_would_be_seen():
    found, other = (set_probabilities(np.array(x), 2, GUMBEL) for x in (X, [5.0, 3.5, 3.0, 0.0, 3.001]))
    assert max(abs(found[one] - other[one]) for one in found) > 1e-5


def test_whoever_is_never_chosen_is_in_no_set():
    found = set_probabilities(np.array([-np.inf, *X]), 2, LAPLACE)
    expected = set_probabilities(np.array(X), 2, LAPLACE)
    assert found == {tuple(i + 1 for i in members): pytest.approx(p, abs=1e-12) for members, p in expected.items()}
    assert set_probabilities(np.array([1.0, -np.inf, 2.0]), 2, GUMBEL) == {(0, 2): 1.0}


def test_too_many_sets_are_refused():
    with pytest.raises(ValueError, match=r"more than 100,000 sets; ask for quality"):
        set_probabilities(np.zeros(40), 10, EXPONENTIAL)


@pytest.mark.parametrize("rate", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("noise", [EXPONENTIAL, LAPLACE, GUMBEL], ids=repr)
def test_with_a_line_the_chances_add_up(noise, rate):
    for k in (1, 2, 7):
        found = set_probabilities(np.array([2.0, 0.5, 0.5, -1.0]), k, noise, rate)
        assert sum(found.values()) == pytest.approx(1, abs=1e-9)
        assert {len(members) for members in found} == set(range(min(k, 4) + 1))


def test_a_line_far_below_is_not_there():
    values = np.array(X)
    alone, ran = set_probabilities(values, 2, LAPLACE), set_probabilities(values + 200, 2, LAPLACE, 1.0)
    assert all(ran[members] == pytest.approx(chance, abs=1e-9) for members, chance in alone.items())
