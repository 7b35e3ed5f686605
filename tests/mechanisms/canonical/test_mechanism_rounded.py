"""Canonical sets by the rounded loss: its guarantee on boxes, its draws, and where it is better."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from flint import ctx

import shortlist as sl
from shortlist import PureDP
from shortlist.audit import Law, certify, prove, prove_mechanism
from shortlist.audit.certified import base, sets
from shortlist.mechanisms import CanonicalTopK
from shortlist.testing import seeded
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import of_kind

NOISES = ["gumbel", "exponential"]


def rounded(k=2, epsilon=1.0, **words):
    return CanonicalTopK(k=k, epsilon=epsilon, loss="rounded", **words)


def in_halves(d, top):
    """Neighbors whose scores are multiples of 1/2, of which one user moves each by up to 1 either way."""
    before = list(product(range(0, 2 * top + 1), repeat=d))
    return [(x, tuple(np.add(x, move).tolist())) for x in before for move in product((-2, -1, 1, 2), repeat=d)]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("k", [1, 2])
def test_the_rounded_loss_is_proved_on_a_box(k, monotone, noise):
    proof = prove_mechanism(rounded(k, noise=noise), d=4, top=2, monotone=monotone)
    assert proof.holds, proof.violation
    assert proof.log_ratio > 0.3  # the box is not empty of what could go wrong


@pytest.mark.parametrize("noise", NOISES)
def test_the_rounded_loss_is_proved_for_scores_between_whole_users(noise):
    """Where rounding does something: a difference of 1/2 counts as a whole user."""
    mechanism = rounded(1, noise=noise)
    law = cache(lambda x: certify(mechanism, sl.Scores([value / 2 for value in x])))
    proof = prove(law, in_halves(3, 1), mechanism.charge)
    assert proof.holds, proof.violation
    assert proof.log_ratio > 0.5


def test_steps_of_two_users_are_refuted():
    """The same loss rounded up to twice as much moves by a whole range either way."""

    @cache
    def law(x, steps):
        with ctx.workprec(base.PRECISION):
            u = sets.utilities_in_users(x, 2, 2 * steps)  # general scores of sensitivity 1: R = 2
            return Law(dict(zip(u, base.choice_law([value / 2 for value in u.values()], "gumbel"), strict=True)))

    box = list(product(range(3), repeat=4))
    pairs = [(x, tuple(np.add(x, move).tolist())) for x in box[::3] for move in product((-1, 1), repeat=4)]
    assert prove(lambda x: law(x, 1), pairs, PureDP(1.0)).holds
    assert not prove(lambda x: law(x, 2), pairs, PureDP(1.0)).holds


@full_size
@pytest.mark.traced
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("values", [[3.0, 1.5, 1.2, 0.25], [2, 2, 1, 1], [5.0, 4.9, 4.8, 4.7, 0.0]], ids=str)
def test_sets_are_drawn_with_their_certified_chances(values, monotone, noise):
    """Losses of whole monotone scores are whole steps, where exact arithmetic decides what they are rounded to."""
    mechanism, scores = rounded(noise=noise, epsilon=2.0), sl.Scores(values, monotone=monotone)
    laws = [
        of_kind(Law, certify(one, scores)).chances for one in (mechanism, CanonicalTopK(k=2, epsilon=0.5, noise=noise))
    ]
    exact = mechanism.probabilities(scores)
    assert max(abs(chance - float(laws[0][key])) for key, chance in exact.items()) < 1e-12
    drawn = mechanism.release_many(scores, draws=sized(2_000, full=6_000), rng=seeded(1))
    counts = [int((drawn == key).all(axis=1).sum()) for key in exact]
    assert_law(counts, list(exact.values()), wrong=[float(laws[1][key]) for key in exact])


def test_a_table_is_drawn_as_its_counts_are():
    scores = sl.Scores([9, 7, 7, 3, 1, 0], sensitivity=2)
    many = sl.Scores(np.repeat([9, 7, 3, 0], [1, 2, 1, 70_000]), sensitivity=2)
    assert len(rounded(epsilon=3.0).release(scores, rng=seeded(1)).indices or []) == 2
    assert rounded(epsilon=60.0).release(many, rng=seeded(1)).indices in ([0, 1], [0, 2])


def test_whole_counts_under_add_remove_are_not_rounded():
    counts = [7, 5, 4, 1, 0]
    same = [CanonicalTopK(k=2, epsilon=1.0, gamma=0.5, loss=loss).probabilities(counts, monotone=True)
            for loss in ("rounded", "paper")]  # fmt: skip
    assert same[0] == same[1]


@pytest.mark.parametrize(("gap", "best"), [(0.1, "rounded"), (4.0, "gap-aware")])
def test_which_loss_is_better_depends_on_how_close_the_scores_are(gap, best):
    scores, top = [6 * gap, 5 * gap, 4 * gap, gap, 0.0], {}
    for loss in ("rounded", "gap-aware", "paper"):
        top[loss] = CanonicalTopK(k=2, epsilon=1.0, gamma=0.5, loss=loss).probabilities(scores)[0, 1]
    assert max(top, key=lambda loss: top[loss]) == best
    assert top["rounded"] >= top["paper"]


def test_what_is_not_proved_or_not_known_is_refused():
    with pytest.raises(ValueError, match=r"gamma=0\.5 alone"):
        rounded(gamma=0.9)
    assert rounded(gamma=0.5).name == "canonical top-2 with exponential noise and the loss of the paper, rounded up"
    with pytest.raises(ValueError, match=r"read \.probabilities"):
        rounded().success_probability([3, 2, 1])
    with pytest.raises(ValueError, match="would take hours"):
        rounded(k=10_000).release(np.zeros(20_000))
