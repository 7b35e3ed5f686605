"""Certified distributions of a random number of runs, and of the best of them, each from its formula.

The catalogue convicts wrong accounting of tuning by them, and the tests compare the sound accounting with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import factorial
from typing import Any

from flint import arb, fmpz

from shortlist.audit import Law
from shortlist.audit.certified.base import rational

Generating = Callable[[arb], arb]


def chances(runs: Any, most: int) -> list[arb]:
    """P[K = k] for k = 0, .., most, each from its formula."""
    kind = type(runs).__name__
    if kind == "Capped":
        known = chances(runs.runs, min(most, runs.cap))
        whole = sum(chances(runs.runs, runs.cap), arb(0))
        return [one / whole for one in known] + [arb(0)] * (most - len(known) + 1)
    if kind == "Poisson":
        mean = arb(rational(runs.mean))
        return [(-mean).exp() * mean**k / arb(factorial(k)) for k in range(most + 1)]
    if kind == "Binomial":
        p = arb(rational(runs.p))
        return [arb(fmpz.bin_uiui(runs.n, k)) * p**k * (1 - p) ** (runs.n - k) if k <= runs.n else arb(0)
                for k in range(most + 1)]  # fmt: skip
    gamma, eta = arb(rational(runs.gamma)), arb(rational(runs.eta))
    ladder = [arb(0)]
    for k in range(1, most + 1):
        if runs.eta == 0:
            ladder.append((1 - gamma) ** k / (k * -gamma.log()))
            continue
        term = (1 - gamma) ** k / (gamma ** (-eta) - 1)
        for step in range(k):
            term *= (step + eta) / (step + 1)
        ladder.append(term)
    return ladder


def generating(runs: Any) -> Generating:
    """f(x) = E x^K."""
    kind = type(runs).__name__
    if kind == "Capped":
        known = chances(runs, runs.cap)
        return lambda x: sum((one * x**k for k, one in enumerate(known)), arb(0))
    if kind == "Poisson":
        return lambda x: (arb(rational(runs.mean)) * (x - 1)).exp()
    if kind == "Binomial":
        return lambda x: (1 - arb(rational(runs.p)) * (1 - x)) ** runs.n
    gamma, eta = arb(rational(runs.gamma)), arb(rational(runs.eta))
    if runs.eta == 0:
        return lambda x: (1 - (1 - gamma) * x).log() / gamma.log()
    return lambda x: ((1 - (1 - gamma) * x) ** (-eta) - 1) / (gamma ** (-eta) - 1)


def best_law(one_run: Mapping[Any, tuple[float, arb]], f: Generating) -> Law:
    """The law of the winner: outcomes with their scores and chances in one run; None is "nothing was run".

    Outcomes of one score share f(at most it) - f(below it) in proportion to their chances.
    """
    law: dict[Any, arb] = {None: f(arb(0))}
    for outcome, (score, chance) in one_run.items():
        below = sum((p for value, p in one_run.values() if value < score), arb(0))
        alike = sum((p for value, p in one_run.values() if value == score), arb(0))
        law[outcome] = chance / alike * (f(below + alike) - f(below))
    return Law(law)
