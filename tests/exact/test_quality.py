"""The words for the quality of a set."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from fractions import Fraction
from math import ceil, floor

import pytest

from shortlist.exact.quality import Quality, good_ranks, great_ranks


def test_ranks_are_those_of_the_definition_for_every_k():
    for k in range(1, 2001):
        assert great_ranks(k) == (ceil(Fraction(k, 10)), floor(Fraction(11, 10) * k))
        assert good_ranks(k) == (ceil(Fraction(k, 100)), floor(Fraction(3, 2) * k))


def test_a_good_set_may_be_any_great_set():
    for k in range(1, 2001):
        assert good_ranks(k)[0] <= great_ranks(k)[0] <= k <= great_ranks(k)[1] <= good_ranks(k)[1]


def test_quality_is_a_value():
    found = Quality(top=0.1, great=0.2, good=0.3, recall=0.4)
    assert found == Quality(0.1, 0.2, 0.3, 0.4)
    with pytest.raises(FrozenInstanceError):
        found.top = 1.0  # type: ignore[misc]
