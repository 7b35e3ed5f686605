"""Of pairs that are alike the box compares one: that loses nothing, and a law that minds names is not spared."""

from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pytest
from flint import arb

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP, Scores
from shortlist.audit import Law, alike, certify, neighbours, prove, prove_mechanism
from shortlist.audit.attack import default_pairs
from shortlist.mechanisms import (
    CanonicalTopK,
    GumbelTopKValues,
    HybridTopK,
    NoisyHistogram,
    NoisyMax,
    OneshotTopK,
    SparseVector,
    StableTopK,
    TopKWithGaps,
)


@pytest.mark.parametrize("monotone", [False, True], ids=["general", "monotone"])
@pytest.mark.parametrize(
    ("mechanism", "d"),
    [
        (NoisyMax(epsilon=1.0), 3),
        (OneshotTopK(k=2, epsilon=1.0), 3),
        (CanonicalTopK(k=2, epsilon=1.0), 3),
        (TopKWithGaps(k=1, epsilon=1.0), 2),
        (HybridTopK(threshold=1, k=1, epsilon=1.0), 2),
        (GumbelTopKValues(k=1, budget=ApproxDP(1.0, 0.01)), 2),
        (SparseVector(threshold=1, k=1, epsilon=1.0), 2),
    ],
    ids=lambda one: getattr(one, "name", None),
)
def test_all_pairs_say_what_those_say_that_are_not_alike(mechanism, d, monotone):
    def law(x):
        return certify(mechanism, Scores(list(x), monotone=monotone))

    pairs = neighbours(d, 1, monotone=monotone, everywhere=not mechanism.exchangeable)
    every, some = prove(law, pairs, mechanism.charge), prove_mechanism(mechanism, d=d, top=1, monotone=monotone)
    assert every.holds
    assert some.holds
    assert some.pairs == every.pairs
    for number in ("log_ratio", "least_log_ratio", "spread", "hockey_stick", "renyi"):
        assert getattr(some, number) == pytest.approx(getattr(every, number), abs=1e-12)


def test_alike_are_pairs_up_to_direction_names_and_a_shift():
    free, bound = (partial(alike, exchangeable=one, shift_invariant=False) for one in (True, False))
    assert free((0, 1), (1, 1)) == free((1, 0), (1, 1)) == free((1, 1), (0, 1))
    assert bound((0, 1), (1, 1)) == bound((1, 1), (0, 1)) != bound((1, 0), (1, 1))
    assert free((0, 1), (1, 1)) != free((1, 2), (2, 2))
    assert free((0, 1), (1, 0)) != free((0, 1), (0, 1))
    shifted = partial(alike, exchangeable=True, shift_invariant=True)
    assert shifted((0, 1), (1, 1)) == shifted((1, 2), (2, 2)) == shifted((0, 1), (2, 2))


def test_a_law_that_minds_the_order_is_compared_in_every_order():
    """Everywhere, pairs of another order are other pairs: (0, 1) is spared here, (1, 0) is not."""

    def law(x):
        loud = arb(0.9) if x[0] > x[1] else arb(0.5)
        return Law({"loud": loud, "silent": 1 - loud})

    pairs = list(neighbours(2, 1, everywhere=True))
    assert not prove(law, pairs, PureDP(0.1), alike=partial(alike, exchangeable=False, shift_invariant=True)).holds


@pytest.mark.parametrize(
    ("mechanism", "d"), [(NoisyMax(epsilon=30.0), 2), (NoisyHistogram(k=1, most=1, budget=ZCDP(1.0)), 1)]
)
def test_moments_beyond_all_floats_convict_nobody(mechanism, d):
    """e^(63 epsilon), or e^(2016 mu^2) of Gaussian noise, is no float: it was taken for an infinite divergence."""
    assert prove_mechanism(mechanism, d=d, top=1).holds


def test_a_large_divergence_is_still_found():
    claim = prove_mechanism(NoisyHistogram(k=1, most=1, budget=ZCDP(1.0)), d=1, top=1, claim=ZCDP(0.99))
    assert "Renyi divergence of order 1.5 is 1.5" in claim.violation


@pytest.mark.parametrize("monotone", [False, True], ids=["general", "monotone"])
@pytest.mark.parametrize("sensitivity", [2, 0.5, (0, 3), (1, 2), Fraction(1, 3), (Decimal("0.5"), 2)], ids=str)
def test_neighbors_move_as_far_as_the_scores_say(sensitivity, monotone):
    """Some pair reaches the promise, none breaks it, and the noise for smaller steps is refuted."""
    box: dict[str, Any] = {"d": 3, "top": 1, "monotone": monotone, "sensitivity": sensitivity}
    proof = prove_mechanism(NoisyMax(epsilon=1.0), **box)
    assert proof.holds
    assert proof.least_log_ratio > 0.6
    assert not prove_mechanism(NoisyMax(epsilon=1.0), **box, claim=PureDP(0.6)).holds


def test_an_attack_moves_scores_as_far_as_they_say():
    def steep(scores, draws, rng):  # noise for scores that move by 1
        noisy = np.array([scores]) + rng.gumbel(scale=2.0, size=(draws, len(scores)))
        return noisy.argmax(axis=1)

    words: dict[str, Any] = {"claim": PureDP(1.0), "trials": 40_000, "seed": 1, "workers": 1}
    assert not sl.audit(steep, **words).violated
    assert sl.audit(steep, **words, sensitivity=2).violated


def test_a_sensitivity_is_refused_where_neighbors_are_people():
    """They move each count by 1: with noise for another step, half of it was proved, and the right one convicted."""
    mechanism = StableTopK(k=1, epsilon=2.0, delta=0.1)
    assert prove_mechanism(mechanism, sensitivity=1.0).holds
    for words in ({"sensitivity": 2, "claim": ApproxDP(1.0, 0.1)}, {"sensitivity": 0.5}):
        with pytest.raises(ValueError, match="leave sensitivity= out"):
            prove_mechanism(mechanism, **words)
        with pytest.raises(ValueError, match="leave sensitivity= out"):
            sl.audit(mechanism, **words, trials=1_000, workers=1)


def test_draws_of_another_sensitivity_are_not_resumed(tmp_path):
    words: dict[str, Any] = {"pairs": [((0, 0), (0, 1))], "trials": 2_000, "workers": 1, "resume": tmp_path / "notes"}
    sl.audit(NoisyMax(epsilon=1.0), **words)
    with pytest.raises(ValueError, match="another audit"):
        sl.audit(NoisyMax(epsilon=1.0), **words, sensitivity=2)


def test_an_attack_with_a_pair_tries_the_larger_steps_first():
    """Few pairs of neighbors are looked at: smaller steps in each direction would take the places of other shapes."""
    pairs = [islice(default_pairs(NoisyMax(epsilon=1.0), 3, monotone=True, sensitivity=one), 60) for one in (2, (1, 2))]
    assert list(pairs[0]) == list(pairs[1])
