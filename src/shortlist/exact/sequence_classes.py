"""The joint exponential mechanism's sequences, counted by their loss (Theorem 78).

With ranks 0, 1, .. by decreasing score, a sequence of k distinct ranks has the loss max_i (x_i - x_{s_i}). It loses at
most t iff each s_i is one of the n_i(t) = #{j : x_j >= x_i - t} best ranks; these sets are nested, so
N(t) = prod_i (n_i(t) - i) sequences do. Since e^-u = Int_u^inf e^-t dt, drawing a sequence with probability
proportional to e^-loss is drawing a level t with density proportional to N(t) e^-t, then one of the N(t) sequences
uniformly: positive terms only, whatever their size. N is a step function; its steps are the *rungs*.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shortlist._arrays import Floats, Indices, Values
from shortlist.exact.partial_reals import rounded

MOST = 5 * 10**7
"""The largest k d for which the ladder of integer scores fits into memory."""

MOST_FLOATS = 2 * 10**6
"""The same for floats, whose exact differences may not fit into 64 bits."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """Scores as integers in decreasing order, and the rungs of N in increasing order, the first at loss 0."""

    scores: Values
    k: int
    rungs: Values
    log_counts: Floats
    """ln N on each rung, to an absolute error of 1e-4 at MOST pairs and far less below."""

    def reach(self, loss: int) -> Indices:
        """n_i(loss) for every place i, exactly."""
        return len(self.scores) - np.searchsorted(self.scores[::-1], self.scores[: self.k] - loss, side="left")

    def log_weights(self, rate: Fraction) -> Floats:
        """ln of N(t) e^(-rate t), integrated over each rung up to the next one."""
        steps = np.append(_times(np.diff(self.rungs), rate), np.inf)
        with np.errstate(divide="ignore"):  # a step too small for a float has no weight in one
            logs: Floats = self.log_counts - _times(self.rungs, rate) + np.log(-np.expm1(-steps))
        return logs

    def chances(self, rate: Fraction) -> Floats:
        """P[the level is on each rung]."""
        logs = self.log_weights(rate)
        weights: Floats = np.exp(logs - logs.max())
        return weights / float(weights.sum())


def _times(whole: Values, rate: Fraction) -> Floats:
    """whole * rate in floats, to a relative error of 2^-51, whatever the sizes."""
    if whole.dtype == object:
        return np.array([rounded(rate * value) for value in whole.tolist()])
    exponent = rate.numerator.bit_length() - rate.denominator.bit_length()
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(whole.astype(np.float64) * float(rate / Fraction(2) ** exponent), exponent)


def ladder(scores: Values, k: int) -> Ladder:
    """The ladder of integer scores (int64, or Python integers in an object array) in decreasing order."""
    d = len(scores)
    first = d - np.searchsorted(scores[::-1], scores[:k], side="left")  # n_i(0)
    places = np.repeat(np.arange(k), d - first)
    ranks = np.concatenate([np.arange(start, d) for start in first])
    losses = scores[places] - scores[ranks]
    order = np.argsort(losses, kind="stable")
    losses = losses[order]
    gain = np.cumsum(
        np.log1p(1.0 / (ranks - places)[order])
    )  # n_i grows from j to j + 1: a factor (j + 1 - i) / (j - i)
    last = np.append(losses[1:] != losses[:-1], True)[: len(losses)].astype(np.bool_)
    start = float(np.log(first - np.arange(k)).sum())
    zero = np.zeros(1, losses.dtype)
    return Ladder(scores, k, np.concatenate([zero, losses[last]]), np.concatenate([[start], start + gain[last]]))


RARE_RUNGS = 1e-13
"""Rungs whose chances together are below this are left out of sums, and the rest is raised to 1."""


def _likely(steps: Ladder, rate: Fraction) -> tuple[Floats, Indices]:
    """(chances of the rungs that matter, n_i on each of them, one row per rung)."""
    chances = steps.chances(rate)
    order = np.argsort(-chances)
    order = order[: int(np.searchsorted(np.cumsum(chances[order]), 1.0 - RARE_RUNGS)) + 1]
    reach = np.array([steps.reach(steps.rungs[rung]) for rung in order])
    return chances[order] / chances[order].sum(), reach


def within(steps: Ladder, rate: Fraction, head: int, last: int) -> float:
    """P[the first `head` ranks are all in the sequence and no rank beyond `last` is], head <= k <= last.

    Place i takes one of its n_i ranks that are left, uniformly. After t heads it takes another one with chance
    (min(n_i, head) - t) / (n_i - i), and a further rank up to `last` with
    (min(n_i, last) - min(n_i, head) - i + t) / (n_i - i).
    """
    chances, reach = _likely(steps, rate)
    state = np.zeros((len(chances), head + 1))
    state[:, 0] = chances
    heads = np.arange(head + 1)
    for i, n in enumerate(reach.T):
        inside = np.minimum(n, head)[:, None]
        to_head = np.maximum(inside - heads, 0) / (n - i)[:, None]
        to_other = np.maximum(np.minimum(n, last)[:, None] - inside - i + heads, 0) / (n - i)[:, None]
        moved = state * to_other
        moved[:, 1:] += (state * to_head)[:, :-1]
        state = moved
    return float(state[:, head].sum())


def number_correct(steps: Ladder, rate: Fraction, correct: int) -> Floats:
    """P[c of the k items are among the first `correct` ranks], c = 0..k."""
    chances, reach = _likely(steps, rate)
    state = np.zeros((len(chances), steps.k + 1))
    state[:, 0] = chances
    found = np.arange(steps.k + 1)
    for i, n in enumerate(reach.T):
        hit = np.maximum(np.minimum(n, correct)[:, None] - found, 0) / (n - i)[:, None]
        moved = state * np.maximum(1.0 - hit, 0.0)
        moved[:, 1:] += (state * hit)[:, :-1]
        state = moved
    return np.asarray(state.sum(axis=0))


def inclusion_of_ranks(steps: Ladder, rate: Fraction) -> Floats:
    """P[rank r is in the sequence] for every rank: it escapes every place i that may take it but for 1 / (n_i - i)."""
    chances, reach = _likely(steps, rate)
    places = np.arange(steps.k)
    escape = np.cumprod((1.0 - 1.0 / (reach - places))[:, ::-1], axis=1)[:, ::-1]  # from place i on
    change = np.zeros(len(steps.scores) + 1)
    starts = np.concatenate([np.zeros((len(reach), 1), reach.dtype), reach[:, :-1]], axis=1)
    caught = chances[:, None] * (1.0 - escape)  # ranks in [n_(i-1), n_i) are first exposed at place i
    np.add.at(change, starts, caught)
    np.add.at(change, reach, -caught)
    return np.cumsum(change[:-1])
