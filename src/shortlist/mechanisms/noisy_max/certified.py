"""The certified law of one winner (Proposition 54), with weights of the candidates too (Theorem 241)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import arb

from shortlist.certified.curves import power, rational
from shortlist.certified.law import Law, noise_name
from shortlist.certified.races import ordered_law

if TYPE_CHECKING:
    from shortlist.mechanisms.noisy_max.mechanism import NoisyMax
    from shortlist.scores import Scores


def law(mechanism: NoisyMax, scores: Scores) -> Law:
    """{(winner,): chance}: one-shot top-k of one; with a prior, weights times powers of e."""
    if mechanism.prior is not None:
        return _weighted(mechanism, scores)
    return Law(ordered_law(scores.values.tolist(), 1, noise_name(mechanism.noise), mechanism._top_one._scale(scores)))


def _weighted(mechanism: NoisyMax, scores: Scores) -> Law:
    """P[i] = w_i e^(x_i / scale) / sum; nothing of a candidate at -inf."""
    scale, prior = rational(mechanism._top_one._scale(scores)), mechanism.prior or ()
    places = [None if x == -float("inf") else rational(x) / scale for x in scores.values.tolist()]
    shares = [arb(0) if s is None else arb(rational(w)) * power(s) for w, s in zip(prior, places, strict=True)]
    total = sum(shares, arb(0))
    return Law({(i,): share / total for i, share in enumerate(shares)})
