"""Exact laws of stable sets, against the certified law and against draws."""

import numpy as np
import pytest

import shortlist as sl
from shortlist.audit.certified import stable
from shortlist.mechanisms import LargeGap, StableTopK
from shortlist.privacy import ZCDP
from tests.helpers.support import assert_law
from tests.helpers.typed import present

CASES = [
    ([9, 7, 3, 2], {}, StableTopK(epsilon=2.0, delta=0.01)),
    ([9, 7, 3, 3], {"public": False}, StableTopK(epsilon=2.0, delta=0.05, limit=5)),
    ([9.5, 7, 3, 2], {"sensitivity": 0.5, "monotone": False}, StableTopK(budget=ZCDP(1.0, 0.01))),
    ([9, 7, 3, 2], {}, StableTopK(k=2, epsilon=2.0, delta=0.01)),
    ([9, 7, 7, 2], {}, StableTopK(k=2, epsilon=2.0, delta=0.01)),
    ([9, 7, 3, 2, 0], {}, StableTopK(k=2, epsilon=6.0, delta=0.05, fill=True)),
    ([9, 7, 3, 2, 2], {"public": False}, StableTopK(k=3, epsilon=6.0, delta=0.05, fill=True, limit=4)),
    ([9, 9, 3, 2, 2], {}, StableTopK(k=3, epsilon=6.0, delta=0.05, fill=True)),
    ([5, 4, 4, 2, 2], {}, StableTopK(k=1, epsilon=2.0, delta=0.05, fill=True)),
]


@pytest.mark.parametrize(("x", "words", "mechanism"), CASES)
def test_every_number_is_that_of_the_certified_law(x, words, mechanism):
    scores = sl.Scores(x, labels=list("abcdef")[: len(x)], **{"monotone": True, "public": True, **words})
    certified = {
        outcome: float(chance.mid()) for outcome, chance in stable.stable_law(mechanism, scores).chances.items()
    }
    best = sorted(x, reverse=True)

    def right(members):
        size = len(members or ()) if mechanism.k is None else mechanism.k
        return members is not None and sorted((x[i] for i in members), reverse=True) == best[:size]

    expected = sum(chance for outcome, chance in certified.items() if right(outcome[-1]))
    assert mechanism.success_probability(scores) == pytest.approx(expected, abs=1e-8)
    if mechanism.fill:
        with pytest.raises(ValueError, match="without fill"):
            mechanism.probabilities(scores)
    else:
        found, sets = mechanism.probabilities(scores), dict.fromkeys((one[-1] for one in certified), 0.0)
        for (_, members), chance in certified.items():
            sets[members] += chance
        assert {one: p for one, p in sets.items() if p} == {
            one: pytest.approx(p, abs=1e-12) for one, p in found.items()
        }
        assert sum(found.values()) == pytest.approx(1)
    if mechanism.fill or mechanism.k is None:
        with pytest.raises(ValueError, match="quality is known for a fixed k without fill"):
            mechanism.quality(scores)
    else:
        assert mechanism.quality(scores).recall == mechanism.success_probability(scores)


@pytest.mark.parametrize("fill", [False, True])
def test_draws_have_this_success(fill):
    x, draws = [9, 7, 3, 2, 0], 300 if fill else 3000
    mechanism = StableTopK(k=2, epsilon=1.0, delta=0.02, fill=True) if fill else StableTopK(epsilon=2.5, delta=0.02)
    drawn = mechanism.release_many(x, draws=draws, monotone=True, rng=sl.testing.seeded(3))
    right = (drawn.indices == [0, 1]).all(axis=1) if fill else present(drawn.chosen)[:, 1] == 1
    seen, p = int(np.count_nonzero(right)), mechanism.success_probability(x, monotone=True)
    assert 0.1 < p < 0.95
    off = 0.65 if fill else 0.85
    assert_law([seen, draws - seen], [p, 1 - p], wrong=[off * p, 1 - off * p])


def test_the_rank_aimed_at_is_the_one_with_the_largest_sum():
    x = [9, 7, 3, 2]
    for mechanism, best in (
        (LargeGap(epsilon=2.0), [1]),
        (LargeGap(epsilon=2.0, regularizer=[2, 0, 0]), [0, 1]),
        (LargeGap(epsilon=2.0, regularizer=[0, -float("inf"), 2.5]), [2]),
    ):
        chances = mechanism.probabilities(x, monotone=True)
        assert mechanism.success_probability(x, monotone=True) == pytest.approx(chances[best].sum(), abs=1e-12)
        assert mechanism.success_probability(x, monotone=True) > 0.4
