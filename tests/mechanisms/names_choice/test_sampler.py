"""Which mechanism runs is drawn by its exact law."""

from fractions import Fraction

import numpy as np

import shortlist as sl
from shortlist.sampling.entropy import WordStream
from shortlist.sampling.unknown_domain import Choice


def far(observed, expected, draws):
    """How far from its mean a count is, in standard deviations: 6 is about 1e-9."""
    return abs(observed - draws * expected) / max(1.0, (draws * expected * (1 - expected)) ** 0.5)


def test_the_choice_is_drawn_by_its_law():
    choice, draws = Choice([Fraction(30), Fraction(61, 2), Fraction(10**15), Fraction(36)], Fraction(1, 3)), 20_000
    chances, stream = choice.chances(), WordStream(sl.testing.seeded(5), ahead=1024)
    found = np.bincount([choice.draw(stream) for _ in range(draws)], minlength=4)
    assert chances[2] == 0.0
    assert all(far(n, p, draws) < 6 for n, p in zip(found, chances, strict=True))
    assert far(found[0], chances[3], draws) > 6
    one = [choice.draw(WordStream(sl.testing.seeded(n))) for n in range(2000)]
    assert far(one.count(0), chances[0], 2000) < 6
