"""Rough noise is as near to the exact noise as it says."""

import numpy as np
import pytest
from flint import ctx

from shortlist import _scan, _scan_hits
from shortlist.exact.noise_distributions import KINDS
from shortlist.exact.rough_noise import KINDS as BY_NUMBER
from shortlist.exact.rough_noise import PLAIN, ROUGH
from shortlist.sampling.entropy import Seeded
from tests.helpers.typed import present

EDGES = [PLAIN, PLAIN + 1, 3 << 60, 1 << 63, (1 << 63) - 1, (1 << 64) - PLAIN - 1]


@pytest.mark.parametrize("noise", KINDS.values(), ids=list(KINDS))
def test_rough_noise_is_within_what_it_says_of_the_exact_noise_up_to_one_constant(noise):
    words = np.append(Seeded(1).words(300), np.array(EDGES, np.uint64))
    words = words[(words >= PLAIN) & (words < (1 << 64) - PLAIN)]
    with ctx.workprec(200):
        exact = [[float(noise.exact_quantile(int(word) + more, 64).mid()) for more in (0, 1)] for word in words]
    off = np.asarray(noise.rough(words))[:, None] - np.array(exact)
    assert np.ptp(off) <= ROUGH


@pytest.mark.skipif(_scan.LIBRARY is None, reason="not built here")
@pytest.mark.parametrize("noise", KINDS.values(), ids=list(KINDS))
def test_noise_of_compiled_passes_is_as_near_at_every_level(noise):
    words = np.append(Seeded(1).words(60), np.array(EDGES, np.uint64))
    words = words[(words >= PLAIN) & (words < (1 << 64) - PLAIN)]
    for level in (0, 1, 4, 5, 13, 40):
        with ctx.workprec(200):
            exact = [
                [float(noise.exact_quantile(int(word) + more, 64 + level).mid()) for more in (0, 1)] for word in words
            ]
        for in_rows in (False, True):
            found = present(_scan_hits.noises(words, np.full(len(words), level), BY_NUMBER[noise.rough], in_rows))
            assert np.abs(found[:, None] - np.array(exact)).max() <= ROUGH
