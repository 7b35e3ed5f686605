"""Sums of whole numbers: how far one row moves them, whatever it holds, and the noise on them."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from shortlist.sklearn import (
    CELL,
    ROW,
    add_noise,
    bound_rows,
    clip_cells,
    positive,
    signs,
    two_classes,
)
from shortlist.testing import seeded
from tests.helpers.support import assert_law
from tests.sklearn.shared import rounded_laplace

ODD = [0.0, -0.0, 1.0, -1.0, 0.3, 1e-320, -1e308, 1e308, math.nan, math.inf, -math.inf, np.nextafter(1.0, 2.0)]


@pytest.mark.parametrize("clip", [1.0, 1e-3, 1e300, 5e-324])
def test_one_row_is_bounded_whatever_it_holds(clip):
    rows = bound_rows(np.array(list(product(ODD, repeat=3))), clip, ROW)
    assert np.abs(rows).sum(axis=1).max() == ROW
    upper = np.triu_indices(3)
    squares = np.einsum("ij,ik->ijk", rows, rows)[:, upper[0], upper[1]]
    assert np.abs(squares).sum(axis=1).max() <= ROW**2
    for signed in (False, True):
        cells = clip_cells(np.array([ODD]), clip, signed=signed)
        assert cells.max() == CELL
        assert cells.min() == (-CELL if signed else 0)


def test_many_small_numbers_do_not_round_above_the_bound():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2000, 40)) * 10.0 ** rng.integers(-5, 5, (2000, 1))
    assert np.abs(bound_rows(rows, 1.0, ROW)).sum(axis=1).max() <= ROW


def test_noise_on_sums_is_rounded_laplace_noise_of_the_stated_scale():
    sums = add_noise(np.zeros(4000, np.int64), sensitivity=6, epsilon=2.0, source=seeded(5))
    counts = np.bincount(np.clip(sums, -31, 30) + 31, minlength=62)
    assert_law(counts, rounded_laplace(3.0, 30), wrong=rounded_laplace(2.5, 30))


def test_labels_that_are_not_the_two_count_for_nothing():
    assert signs([0, 1, 2, -1], (0, 1)).tolist() == [-1, 1, 0, 0]
    assert signs(np.array(["a", "b", "c"]), ("b", "a")).tolist() == [1, -1, 0]


@pytest.mark.parametrize("classes", [(0,), (1, 1), "ab", None, (0, 1, 2)])
def test_classes_are_two(classes):
    with pytest.raises(ValueError, match="classes must be"):
        two_classes(classes)


@pytest.mark.parametrize("value", [0, -1.0, math.inf, math.nan, "1", True, None])
def test_numbers_are_positive(value):
    with pytest.raises(ValueError, match="epsilon must be a number above 0"):
        positive("epsilon", value)
    assert positive("epsilon", np.float32(0.5)) == Fraction(1, 2)
