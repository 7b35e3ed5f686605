"""What the statistical tests share: a test with a stated significance, and its power on a wrong law."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
import pytest
from flint import ctx
from hypothesis import strategies as st
from scipy.special import chdtrc

T = TypeVar("T")

FULL = bool(os.environ.get("SHORTLIST_FULL"))
"""Whether tests run at their full size, as in `make audit`."""

full_size = pytest.mark.sized
"""Of a test whose size depends on that."""


def sized(suite: T, *, full: T) -> T:
    """How many draws or examples, or how wrong the wrong law is: in the suite, and at full size."""
    return full if FULL else suite


def in_suite(cases: Iterable[Any], *kept: int) -> list[Any]:
    """The cases of a parametrised test: those at these places run in the suite, the others in `make audit` alone."""
    return [
        pytest.param(*(case if type(case) is tuple else (case,)), marks=() if place in kept else pytest.mark.long)
        for place, case in enumerate(cases)
    ]


def once_at_each_precision(exact):
    """A sum that is the same at every draw, made once for each precision: the tests draw it thousands of times."""
    made: dict[tuple[int, int], Any] = {}

    def kept(of):
        key = id(of), ctx.prec
        if key not in made:
            made[key] = exact(of)
        return made[key]

    return kept


LETTERS = st.characters(exclude_categories=["Cs"])
"""All that UTF-8 has, as `st.text()` has it by trying each of a million: this takes seconds less."""

SIGNIFICANCE = 1e-7
"""A right law fails a seeded test with this chance, once, when the seed is chosen; afterwards never."""


def p_value(counts, law) -> float:
    """Pearson's chi-square, cells merged (smallest first) until each expects at least 8."""
    counts, law = np.asarray(counts, float), np.asarray(law, float)
    assert counts.shape == law.shape
    assert abs(law.sum() - 1) < 1e-6
    expected = law * counts.sum()
    if (counts[expected == 0] > 0).any():
        return 0.0
    order = np.argsort(expected)
    cell = np.minimum(np.floor(np.cumsum(expected[order]) / 8), 1e9)
    large = expected[order] >= 8
    cell[large] = 1e9 + np.arange(large.sum())
    _, cell = np.unique(cell, return_inverse=True)
    observed = np.bincount(cell, counts[order])
    wanted = np.bincount(cell, expected[order])
    keep = wanted > 0
    statistic = ((observed - wanted)[keep] ** 2 / wanted[keep]).sum()
    return float(chdtrc(max(keep.sum() - 1, 1), statistic))


def assert_law(counts, law, *, wrong=None) -> None:
    """The counts agree with the law, and (power) refute the wrong one."""
    assert p_value(counts, law) > SIGNIFICANCE
    if wrong is not None:
        assert p_value(counts, wrong) < SIGNIFICANCE, "this test could not have failed"


def histogram(winners, d: int):
    return np.bincount(np.asarray(winners).ravel(), minlength=d)


def p_value_of_two(one, two) -> float:
    """Chi-square of two samples of cells (any hashable codes in arrays), rare cells merged."""
    cells, inverse = np.unique(np.concatenate([one, two]), return_inverse=True)
    a, b = (np.bincount(part, minlength=len(cells)) for part in np.split(inverse, [len(one)]))
    rare = (a + b) * min(len(one), len(two)) < 8 * (len(one) + len(two))
    a, b = (np.append(part[~rare], part[rare].sum()).astype(float) for part in (a, b))
    keep = a + b > 0
    ratio = np.sqrt(len(two) / len(one))
    statistic = ((ratio * a - b / ratio)[keep] ** 2 / (a + b)[keep]).sum()
    return float(chdtrc(max(keep.sum() - 1, 1), statistic))
