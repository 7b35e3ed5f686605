"""The law of sparse-vector transcripts, by an integral (or a sum) over the threshold's noise. The threshold is 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.mechanisms.gaps.by_formula import nodes

BELOW = "below"


@dataclass(frozen=True)
class One:
    """One test of a question, in floats: noise kind, scale, centre, least gap."""

    name: str
    noise: object
    scale: float
    centre: float
    cut: float


def the_tests(rules):
    return [
        One(b.name, b.test.noise, float(b.test.scale), float(b.test.centre), float(b.test.cut)) for b in rules.branches
    ]


def threshold_law(rules, kinks=()):
    """(z, weights): the threshold's noise."""
    scale = float(rules.threshold_scale)
    if rules.whole:
        z = np.arange(int(50 * scale))
        return z.astype(float), -np.expm1(-1 / scale) * np.exp(-z / scale)
    low = 0.0 if rules.noise.name == "exponential" else -45 * scale
    z, weight = nodes([0.0, *kinks], low=low, high=45 * scale, width=scale)
    return z, weight * np.exp(rules.noise.log_density(z / scale)) / scale


def passing(one, q, z, whole):
    """P(the gap is at least the cut | z)."""
    need = (one.cut + z + one.centre - q) / one.scale
    return np.exp(-np.maximum(need, 0)) if whole else np.exp(one.noise.log_survival(need))


def at_gap(one, q, z, gap, whole):
    """The density (or mass) of that gap, given z; 0 below the cut."""
    need = (gap + z + one.centre - q) / one.scale
    if gap < one.cut:
        return np.zeros_like(z)
    if whole:
        return np.where(need >= -1e-12, np.exp(-need), 0) * -np.expm1(-1 / one.scale)
    return np.exp(one.noise.log_density(need)) / one.scale


def factor(q, outcome, tests, z, whole):
    """P(outcome | z). An outcome is "below", the name of a test that passed, or (name, gap)."""
    name, gap = outcome if isinstance(outcome, tuple) else (outcome, None)
    result = np.ones_like(z)
    for one in tests:
        if one.name == name:
            return result * (passing(one, q, z, whole) if gap is None else at_gap(one, q, z, gap, whole))
        result = result * (1 - passing(one, q, z, whole))
    assert name == BELOW
    return result


def transcript(rules, queries, outcomes, tests=None):
    """The probability (or density) of a sequence of outcomes."""
    tests = the_tests(rules) if tests is None else tests
    kinks = [
        q - one.centre - g
        for q, outcome in zip(queries, outcomes, strict=True)
        for one in tests
        for g in (one.cut, outcome[1] if isinstance(outcome, tuple) else 0.0)
    ]
    z, weight = threshold_law(rules, kinks)
    with np.errstate(divide="ignore"):
        for q, outcome in zip(queries, outcomes, strict=True):
            weight = weight * factor(q, outcome, tests, z, rules.whole)
    return float(weight.sum())


def patterns(rules, length):
    """All sequences of outcomes without gaps, cut where the run stops, with what each has spent."""
    done: list[tuple[tuple[str, ...], int]] = []
    open_: list[tuple[tuple[str, ...], int]] = [((), 0)]
    for _ in range(length):
        grown = []
        for before, spent in open_:
            grown.append(((*before, BELOW), spent))
            for branch in rules.branches:
                after = ((*before, branch.name), spent + branch.cost)
                (done if rules.stops(after[1]) else grown).append(after)
        open_ = grown
    return [*done, *open_]
