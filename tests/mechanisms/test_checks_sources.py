"""Noise comes from the secure source, or from a seeded one that says so; from nothing that merely looks like one."""

import numpy as np
import pytest

import shortlist as sl
from shortlist.mechanisms import NoisyMax, SparseVector
from shortlist.pate import MultiLabelPATE


class Looking:
    """It has all that a source has, and calls itself secure."""

    secure = True

    def words(self, count):
        return np.zeros(count, np.uint64)


@pytest.mark.parametrize(
    "ask",
    [
        lambda rng: NoisyMax(epsilon=1.0).release([3, 1], rng=rng),
        lambda rng: NoisyMax(epsilon=1.0).release_many([3, 1], draws=2, rng=rng),
        lambda rng: sl.top_k([3, 1, 2], 2, epsilon=1.0, rng=rng),
        lambda rng: SparseVector(threshold=1, k=1, epsilon=1.0).stream([3], rng=rng),
        lambda rng: MultiLabelPATE(rho=0.5, delta=1e-6, queries=1).label([[1, 0]] * 9, rng=rng),
    ],
    ids=["release", "many", "top_k", "stream", "pate"],
)
@pytest.mark.parametrize("rng", [Looking(), 7, np.random.default_rng(1), np.random], ids=lambda one: type(one).__name__)
def test_other_generators_are_refused(ask, rng):
    with pytest.raises(TypeError, match="rng must be None"):
        ask(rng)
