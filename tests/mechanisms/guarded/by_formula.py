"""The laws of guarded sets beyond pure budgets, by enumeration in floats: (the way it went, set or list) by chance."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
from scipy.special import expit, gammainc

from tests.mechanisms.canonical.by_formula import guarded_law, junk_mass, losses


def peeled(x, k, e):
    """{list: chance} of k rounds of the exponential mechanism."""
    weight = np.exp(e * (np.array(x, float) - max(x)))
    law = {}
    for order in permutations(range(len(x)), k):
        left, chance = weight.sum(), 1.0
        for i in order:
            chance *= weight[i] / left
            left -= weight[i]
        law[order] = chance
    return law


def masses(x, k, rate, junk):
    """(mass of the junk, mass of all other sets), the top k having 1."""
    heavy = junk_mass(x, k, rate, junk)
    return heavy, sum(math.exp(-loss) for loss in losses(x, k, rate).values()) - heavy


def gumbel_sets(x, k, rate):
    """{set: chance} of canonical top-k with Gumbel noise."""
    weight = {y: math.exp(-loss) for y, loss in losses(x, k, rate).items()}
    total = sum(weight.values())
    return {y: w / total for y, w in weight.items()}


def guarded_gumbel_law(x, k, rate, a, tau, junk):
    """As `guarded_law`, with Gumbel noise on the sets: P[guard] = Gamma(1 + a) q^-a P(a, q)."""
    heavy, rest = masses(x, k, rate, junk)
    q = (heavy + rest) / (heavy * math.exp(tau))
    guard = math.gamma(1 + a) * q**-a * float(gammainc(a, q))
    return {y: (1 - guard) * p for y, p in gumbel_sets(x, k, rate).items()} | {None: guard}


def followed(law, after):
    """{("canonical", set) or ("one-shot", list): chance}."""
    chances = {("canonical", y): p for y, p in law.items() if y is not None}
    return chances | {("one-shot", y): law[None] * p for y, p in after.items()}


def raced(x, k, rate, a, tau, junk, e, *, gumbel=False):
    """The race at `rate`, and peeling with e where the guard wins."""
    race = guarded_gumbel_law if gumbel else guarded_law
    return followed(race(x, k, rate, a, tau, junk), peeled(x, k, e))


def switched(x, k, rate, t, tau, junk, e=None):
    """The switch at `rate`, then canonical or peeling with e (rate / sqrt k)."""
    heavy, rest = masses(x, k, rate, junk)
    phi = float(expit(t * (math.log(rest / heavy) - tau)))
    law = {y: phi * p for y, p in gumbel_sets(x, k, rate).items()} | {None: 1 - phi}
    return followed(law, peeled(x, k, rate / math.sqrt(k) if e is None else e))


def as_sets(law):
    """{set: chance}, whichever way it went and in whichever order."""
    found: dict[tuple[int, ...], float] = {}
    for (_, y), p in law.items():
        found[tuple(sorted(y))] = found.get(tuple(sorted(y)), 0.0) + p
    return found


def recall(law, x, k):
    """The expected share of the items that score at least the k-th largest."""
    kth = sorted(x)[-k]
    return sum(p * sum(x[i] >= kth for i in y) / k for y, p in as_sets(law).items())


def stick(one, two, epsilon):
    """The hockey-stick divergence."""
    return sum(max(0.0, p - math.exp(epsilon) * two[y]) for y, p in one.items())


def renyi(one, two, order):
    """The Renyi divergence."""
    return math.log(sum(p**order * two[y] ** (1 - order) for y, p in one.items())) / (order - 1)
