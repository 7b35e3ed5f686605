"""Rough noise is as near to the exact noise as it says."""

import numpy as np
import pytest
from flint import ctx

from shortlist.exact import noise as exact_noise
from tests.helpers.inside import KINDS, Seeded

EDGES = [exact_noise.PLAIN, exact_noise.PLAIN + 1, 3 << 60, 1 << 63, (1 << 63) - 1, (1 << 64) - exact_noise.PLAIN - 1]


@pytest.mark.parametrize("noise", KINDS.values(), ids=list(KINDS))
def test_rough_noise_is_within_what_it_says_of_the_exact_noise_up_to_one_constant(noise):
    words = np.append(Seeded(1).words(300), np.array(EDGES, np.uint64))
    words = words[(words >= exact_noise.PLAIN) & (words < (1 << 64) - exact_noise.PLAIN)]
    with ctx.workprec(200):
        exact = [[float(noise.exact_quantile(int(word) + more, 64).mid()) for more in (0, 1)] for word in words]
    off = np.asarray(noise.rough(words))[:, None] - np.array(exact)
    assert np.ptp(off) <= exact_noise.ROUGH
