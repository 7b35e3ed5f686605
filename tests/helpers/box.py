"""What the quadratures in this folder share; the enumerations themselves are in `shortlist.audit`."""

from __future__ import annotations

from itertools import product

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def shifts(d, monotone):
    """How one person may move d scores of sensitivity 1: all one way, or each any way."""
    if monotone:
        return [*product((0, 1), repeat=d), *product((0, -1), repeat=d)]
    return list(product((-1, 0, 1), repeat=d))
