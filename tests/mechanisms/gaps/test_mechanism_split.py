"""MeasuredTopK with any split of its budget, and the one with the least variance (Proposition 259)."""

import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest

import shortlist as sl
from shortlist import Scores
from shortlist.audit import prove_mechanism
from shortlist.mechanisms import MeasuredTopK
from shortlist.testing import seeded
from tests.helpers.typed import present


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("theta", [0.2, 0.8, None])
def test_any_split_keeps_the_promise_on_a_box(theta, monotone):
    proof = prove_mechanism(MeasuredTopK(k=1, epsilon=1.0, theta=theta), d=2, top=1, monotone=monotone)
    assert proof.holds, proof
    assert proof.log_ratio > 0.95


def test_a_part_that_is_spent_twice_is_refuted(monkeypatch):
    """The planted bug: the measurements take all of epsilon beside the selection's share."""
    right = MeasuredTopK._scales

    def scales(mechanism, scores):
        selection, scale = right(mechanism, scores)
        return selection, scale * (1 - Fraction(mechanism.share(scores)))

    monkeypatch.setattr(MeasuredTopK, "_scales", scales)
    assert not prove_mechanism(MeasuredTopK(k=1, epsilon=1.0, theta=0.8), d=2, top=1, monotone=True).holds


def test_the_scales_are_those_of_the_shares():
    scores = Scores([9, 5, 2, 1], sensitivity=2)
    selection, scale = MeasuredTopK(k=3, epsilon=2.0, theta=0.75)._scales(scores)
    assert selection == Fraction(3 * 4) / Fraction(3, 2)
    assert scale == Fraction(3 * 2) / Fraction(1, 2)
    halves = MeasuredTopK(k=3, epsilon=2.0)
    assert halves._scales(scores) == (Fraction(12), Fraction(6))
    assert "theta" not in repr(halves)
    assert "theta=0.75" in repr(MeasuredTopK(k=3, epsilon=2.0, theta=0.75))
    assert pickle.loads(pickle.dumps(halves)) == halves == dataclasses.replace(halves, theta=0.5)


@pytest.mark.parametrize(
    ("k", "relative", "noise"), [(20, 1.0, "exponential"), (100, 1.0, "laplace"), (900, 2.0, "exponential")]
)
def test_the_least_variance_is_the_least_and_no_selection_is_worse(k, relative, noise):
    def variance(theta):
        ratio = ({"exponential": 1.0, "laplace": 2**0.5}[noise] * relative * (1 - theta) / theta) ** 2 / 2
        return 2 / (1 - theta) ** 2 * (1 + ratio * k) / (1 + ratio)

    scores = Scores(range(k + 1), monotone=relative == 1)
    chosen = MeasuredTopK(k=k, epsilon=1.0, theta=None, noise=noise)
    best = chosen.share(scores)
    assert best >= 0.5
    assert variance(best) <= variance(np.linspace(0.5, 0.999, 100_000)).min() * (1 + 1e-5)
    assert variance(best) < variance(0.5)
    pair = (chosen, dataclasses.replace(chosen, theta=0.5))
    errors = [present(one.release(scores, rng=seeded(1)).margins)[0].error for one in pair]
    assert errors[0] ** 2 / errors[1] ** 2 == pytest.approx(variance(best) / variance(0.5), rel=1e-6)


@pytest.mark.parametrize("theta", [0.25, 0.8])
def test_values_have_the_stated_error_for_any_split(theta):
    """Seeded: scores so far apart that nobody is selected for its noise; the error of halves is refuted."""
    scores = Scores([60_000, 40_000, 20_000, 0], monotone=True)
    mechanism = MeasuredTopK(k=3, epsilon=1.0, theta=theta)
    many = mechanism.release_many(scores, draws=4000, rng=seeded(2))
    errors = present(many.reals)[:, 3:] - [60_000, 40_000, 20_000]
    stated = present(mechanism.release(scores, rng=seeded(1)).margins)[0]
    assert np.sqrt((errors**2).mean()) == pytest.approx(stated.error, rel=0.05)
    assert (abs(errors) <= stated.half_width).mean() == pytest.approx(0.95, abs=0.015)
    halves = present(MeasuredTopK(k=3, epsilon=1.0).release(scores, rng=seeded(1)).margins)[0]
    assert abs(halves.error / stated.error - 1) > 0.1


def test_what_is_no_share_is_refused():
    for theta in (0.0, 1.0, -0.5, float("nan"), "half"):
        with pytest.raises(ValueError, match="theta must be a number"):
            MeasuredTopK(k=2, epsilon=1.0, theta=theta)  # type: ignore[arg-type]
    assert sl.top_k([9, 5, 1], 2, epsilon=1.0, values=True, monotone=True, rng=seeded(1)).values is not None
