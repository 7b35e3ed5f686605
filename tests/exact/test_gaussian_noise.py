"""Gaussian noise: its law, its tail, and quantiles certified against Arb."""

import math

import numpy as np
import pytest
from flint import arb, ctx
from scipy import stats

from tests.helpers.inside import GAUSSIAN, KINDS


def test_the_law_is_the_textbook_one():
    x = np.linspace(-12, 12, 241)
    np.testing.assert_allclose(GAUSSIAN.log_survival(x), stats.norm.logsf(x), rtol=1e-12)
    np.testing.assert_allclose(GAUSSIAN.log_cdf(x), stats.norm.logcdf(x), rtol=1e-12)
    np.testing.assert_allclose(GAUSSIAN.log_density(x), stats.norm.logpdf(x), rtol=1e-12)


def test_the_tail_bound_holds_and_never_falls():
    x = np.linspace(-20, 60, 4001)
    decay = GAUSSIAN.decay(x)
    assert (decay <= -GAUSSIAN.log_survival(x) + 1e-12).all()
    assert (np.diff(decay) >= 0).all()


@pytest.mark.parametrize("level", [0, 3, 60, 200])
def test_float_quantiles_are_within_their_error(level):
    random = np.random.default_rng(level).integers(0, 2**64, 300, dtype=np.uint64)
    words = np.append(random, np.array([0, 1, 9, 2**40, 2**63 - 1, 2**63, 2**64 - 9, 2**64 - 1], np.uint64))
    q, error = GAUSSIAN.quantile(words, level)
    with ctx.workprec(400):
        for word, value, slack in zip(words.tolist(), q, error, strict=True):
            if math.isinf(slack):
                assert min(word, 2**64 - 1 - word) < 8
                continue
            for v in (word, word + 1):
                assert abs(float(GAUSSIAN.exact_quantile(v, 64 + level)) - value) <= slack
            assert slack < 1e-6 or min(word, 2**64 - word) < 2**30


def test_exact_quantiles_invert_the_survival_function():
    with ctx.workprec(200):
        for v, bits in ((1, 70), (5, 7), (64, 7), (65, 7), (127, 7), (2**70 - 1, 70)):
            x = GAUSSIAN.exact_quantile(v, bits)
            assert abs((x / arb(2).sqrt()).erfc() / 2 - arb(v) / 2**bits) < 1e-40
        assert float(GAUSSIAN.exact_quantile(0, 8)) == math.inf
        assert float(GAUSSIAN.exact_quantile(256, 8)) == -math.inf


def test_it_is_not_a_named_kind():
    """Its tail is lighter than exponential: one-shot lists and sets have no guarantee under it."""
    assert "gaussian" not in KINDS
    hazard = np.exp(GAUSSIAN.log_density(np.array([3.0])) - GAUSSIAN.log_survival(np.array([3.0])))
    assert hazard[0] > 3
