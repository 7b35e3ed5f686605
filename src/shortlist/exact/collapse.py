"""Where canonical top-k collapses: below one epsilon the crowd of junk sets outweighs the true top k (Definition 124).

The classes of sets (i, j), i = 0..k-1, j = 0..d-k-1, hold C(i + j, i) sets each, every one with the weight
e^{-(eps / R) ((1 - g) A_i + g B_j)} of the top set, A_i = x_[k-i] - x_[k+1] and B_j = x_[k] - x_[k+1+j]. The top set
stands out from every class while ln C(i + j, i) is less than the exponent; the collapse point is the largest epsilon
at which some class still reaches it.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist._arrays import Values
from shortlist._imports import IMPORTS


def collapse_point(values: Values, k: int, gamma: float, range_sensitivity: float = 1.0) -> float:
    """max over (i, j) of R ln C(i + j, i) / ((1 - g) A_i + g B_j); infinite if a tie makes a crowd out of the top set.

    Parameters
    ----------
    values
        The scores, in any order.
    k, gamma
        How many are chosen, and the weight of the worst score inside.

    Examples
    --------
    >>> step = np.repeat([100, 0], [100, 3996])  # 100 of 4,096 at 100, the rest at 0
    >>> round(collapse_point(step, 100, 0.5), 2)
    4.63
    """
    with IMPORTS:
        from scipy.special import gammaln

    x = np.sort(np.asarray(values, np.float64))[::-1]
    x = x[x > -np.inf]
    if not 1 <= k < len(x):
        return 0.0
    log_factorial = gammaln(np.arange(len(x) + 1) + 1.0)
    fall = gamma * (x[k - 1] - x[k:])
    j = np.arange(len(fall))
    largest = 0.0
    for i in range(1, k):
        sets = log_factorial[i + j] - log_factorial[i] - log_factorial[j]
        loss = (1.0 - gamma) * (x[k - 1 - i] - x[k]) + fall
        crowded = (sets > 0) & (loss <= 0)
        if crowded.any():
            return math.inf
        apart = loss > 0
        if apart.any():
            largest = max(largest, float((sets[apart] / loss[apart]).max()))
    return range_sensitivity * largest
