"""The order that intervals alone tell is the exact one, word for word, and where they do not tell nothing is said."""

from fractions import Fraction

import numpy as np
import pytest

import shortlist as sl
from shortlist.exact.noise import EXPONENTIAL, GUMBEL, LAPLACE
from shortlist.exact.reals import clear_order, ranking
from shortlist.sampling import race as module
from shortlist.sampling.race import race


def refused(i):
    raise AssertionError("intervals that are apart need no exact number")


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_it_is_the_ranking_where_it_says_anything(seed, k):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=20)
    high = low + rng.choice([1e-9, 0.02], size=20)
    order = clear_order(low, high, k)
    asked: list[int] = []

    def exact(i):
        asked.append(i)
        return object()

    if order is not None:
        assert order.tolist() == ranking(low, high, k, refused).tolist()
    else:
        with pytest.raises(AttributeError):  # it would have to compare exact numbers
            ranking(low, high, k, exact)
        assert asked


def test_intervals_that_touch_or_are_endless_are_not_told_apart():
    low, high = np.array([0.0, 1.0, 2.0]), np.array([0.5, 2.0, 2.5])
    assert clear_order(low, high, 1) is None
    assert clear_order(low, high, 2) is None
    assert clear_order(low, np.array([np.inf, 1.5, 2.5]), 1) is None
    assert clear_order(np.array([-np.inf, -np.inf]), np.array([-np.inf, -np.inf]), 1) is None
    assert clear_order(np.array([np.nan, 1.0]), np.array([np.nan, 2.0]), 1) is None


@pytest.mark.traced(False)
@pytest.mark.parametrize("noise", [EXPONENTIAL, GUMBEL, LAPLACE], ids=lambda noise: noise.name)
@pytest.mark.parametrize("k", [1, 3, 7])
def test_races_agree_bit_for_bit_with_those_that_always_rank(noise, k, monkeypatch):
    """On the same words, values and gaps too; and the source stands where it would."""
    values = np.array([5, 5, 5, 4, 9, 9, 0, 3, 8])
    words = {"k": k, "scale": Fraction(2), "noise": noise}

    def run(seed):
        source = sl.testing.seeded(seed)
        finish = race(values, source=source, **words)
        return finish.indices.tolist(), finish.values(), finish.gaps(), source.words(2).tolist()

    quick = [run(seed) for seed in range(60)]
    monkeypatch.setattr(module, "clear_order", lambda low, high, k: None)
    assert [run(seed) for seed in range(60)] == quick
