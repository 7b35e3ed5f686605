"""Broken sparse vectors (four are of Lyu, Su and Li 2017), with epsilon 1 and k = 1 unless they say otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from studies.broken.entry import Broken
from studies.broken.selection import coarse

Rng = Any
Array = Any

THRESHOLD, QUESTION = 2.0, 4.0
"""Right scales for epsilon 1, halves, k = 1, general questions: 1 / e0 and 2 / e1. The threshold is 0."""


def _stopped(above: Array, k: int = 1) -> Array:
    """The answers up to the k-th "above", -1 after it."""
    before = np.cumsum(above, axis=1) - above
    return np.where(before < k, above.astype(np.int64), -1)


def _first(above: Array) -> Array:
    """Which question was the first "above": all that a run with k = 1 says; -1 if none was."""
    return np.where(above.any(1), above.argmax(1), -1)


def _bare_questions(x: Array, draws: int, rng: Rng) -> Array:
    return _stopped(x > rng.laplace(scale=THRESHOLD, size=(draws, 1)))


def _redrawn(x: Array, draws: int, rng: Rng) -> Array:
    size = (draws, len(x))
    return _first(x + rng.laplace(scale=QUESTION, size=size) > rng.laplace(scale=THRESHOLD, size=size))


def _bare_threshold(x: Array, draws: int, rng: Rng) -> Array:
    return _first(x + rng.laplace(scale=QUESTION, size=(draws, len(x))) > 0)


def _answers(x: Array, draws: int, rng: Rng, scale: float = QUESTION) -> Array:
    line = rng.laplace(scale=THRESHOLD, size=(draws, 1))
    return x + rng.laplace(scale=scale, size=(draws, len(x))) > line


def _halves(above: Array) -> Array:
    """How many "above" in the first half of the questions, and in the second."""
    half = above.shape[1] // 2
    return np.stack([above[:, :half].sum(1), above[:, half:].sum(1)], axis=1)


def _unlimited(x: Array, draws: int, rng: Rng) -> Array:
    return _halves(_answers(x, draws, rng))


def _noisy_values(x: Array, draws: int, rng: Rng) -> tuple[Array, Array]:
    """k = 1: which question was the first above, and its noisy value instead of its gap."""
    line = rng.laplace(scale=THRESHOLD, size=(draws, 1))
    noisy = x + rng.laplace(scale=QUESTION, size=(draws, len(x)))
    first = _first(noisy > line)
    return first, np.where(first >= 0, coarse(noisy[np.arange(draws), first]), np.nan)


def _not_scaled_by_k(x: Array, draws: int, rng: Rng) -> Array:
    return _halves(_stopped(_answers(x, draws, rng), k=12) == 1)


def _reused(x: Array, draws: int, rng: Rng) -> Array:
    """After the stop the run goes on with the same noisy threshold, as a new run that costs nothing: 20 times."""
    return _halves(_stopped(_answers(x, draws, rng), k=20) == 1)


def _cheap(x: Array, draws: int, rng: Rng) -> Array:
    """`branches=(64,)`: up to 64 answers for the price of one, with its noise and not 64 times that."""
    return _halves(_stopped(_answers(x, draws, rng), k=64) == 1)


_SPLIT = ((0,) * 40, (1,) * 20 + (-1,) * 20)

ENTRIES = (
    Broken(
        name="sparse vector, no noise on questions",
        what="only the threshold is noisy: questions in reverse order cannot give the same answers",
        source="Stoddard et al. 2014 (Lyu et al., Algorithm 5)",
        run=_bare_questions,
        pairs=(((0, 1), (1, 0)),),
    ),
    Broken(
        name="sparse vector, threshold noise redrawn",
        what="fresh noise on the threshold for every question: each answer below costs",
        source="a common slip: it must be drawn once",  # (Proposition 144)
        run=_redrawn,
        pairs=(((0,) * 10, (1,) * 10),),
        trials=1_000_000,
    ),
    Broken(
        name="sparse vector, no threshold noise",
        what="each answer below costs, and is given away",
        source="a common slip",  # (Proposition 144)
        run=_bare_threshold,
        pairs=(((0,) * 8, (1,) * 8),),
        trials=400_000,
    ),
    Broken(
        name="sparse vector, unlimited answers",
        what="no stop after k answers above",
        source="Chen et al. 2015 (Lyu et al., Algorithm 6)",
        run=_unlimited,
        pairs=(_SPLIT,),
    ),
    Broken(
        name="sparse vector, noisy values",
        what="the noisy value of an answer above bounds the threshold, and the answers below are no longer free",
        source="Roth 2011, lecture notes (Lyu et al., Algorithm 3)",
        run=_noisy_values,
        pairs=(((0,) * 9, (1,) * 8 + (-1,)),),
        trials=3_000_000,
    ),
    Broken(
        name="sparse vector, noise not scaled by k",
        what="k = 12 answers above, each with the noise of one",
        source="Lee and Clifton 2014 (Lyu et al., Algorithm 4)",
        run=_not_scaled_by_k,
        pairs=(_SPLIT,),
    ),
    Broken(
        name="threshold noise reused",
        what="a run goes on after its stop with the same noisy threshold",
        source="a common slip: after the stop a new run needs new noise",  # (Proposition 144)
        run=_reused,
        pairs=(_SPLIT,),
    ),
    Broken(
        name="cheaper tests without their noise",
        what="an answer above at a 64th of the cost, under the noise of a whole one",
        source="by hand: what a test of the adaptive sparse vector costs is what its noise allows",  # (Theorem 257)
        run=_cheap,
        pairs=(_SPLIT,),
    ),
)
