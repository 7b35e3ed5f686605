"""Where canonical and one-shot top-k have the same recall on six public data sets, by exact distributions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from shortlist import Scores
from shortlist.mechanisms import CanonicalTopK, OneshotTopK

DATA = Path(__file__).parents[4] / "shared" / "data"
NAMES = ("NETFLIX.n17770", "PATENT.n4096", "SEARCHLOGS.n4096", "HEPTH.n4096", "MEDCOST.n4096", "INCOME.n4096")
MULTIPLES = (0.7, 0.85, 1.0, 1.1, 1.2, 1.35, 2.0)


def data() -> list[Any]:
    return [np.sort(np.load(DATA / f"{name}.npy").astype(np.int64))[::-1].copy() for name in NAMES]


def one_shot(x: Any, k: int, epsilon: float) -> float:
    plain = OneshotTopK(k=k, epsilon=epsilon, noise="exponential")
    return _mean(plain.number_correct(Scores(x, monotone=True)))


def canonical(x: Any, k: int, epsilon: float) -> float:
    return _mean(CanonicalTopK(k=k, epsilon=epsilon).number_correct(Scores(x, monotone=True)))


def crossing(x: Any, k: int) -> float:
    """The last epsilon at which one-shot has the larger recall, to a part in 300."""
    low, high = 1e-7, 1e4
    while high / low > 1.08:  # canonical's recall passes .9 just above
        middle = math.sqrt(low * high)
        low, high = (low, middle) if canonical(x, k, middle) > 0.9 else (middle, high)
    above, here, least = None, 1.5 * high, 0.02 * high
    while here > least and one_shot(x, k, here) <= canonical(x, k, here):
        above, here = here, here / 1.12
    if above is None or here <= least:
        return high
    while above / here > 1.003:
        middle = math.sqrt(here * above)
        here, above = (middle, above) if one_shot(x, k, middle) > canonical(x, k, middle) else (here, middle)
    return here


def _mean(chances: Any) -> float:
    return float(chances @ np.arange(len(chances))) / (len(chances) - 1)
