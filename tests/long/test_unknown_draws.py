"""The oracles of unknown domains (Table 163) at a million draws."""

from collections import Counter
from fractions import Fraction

import pytest

import shortlist as sl
from shortlist.mechanisms import CanonicalLimitedDomain, LimitedDomainTopK
from shortlist.privacy import ZCDP
from tests.helpers.inside import dummies
from tests.helpers.support import assert_law
from tests.mechanisms.limited_domain.by_formula import canonical_law, gumbel_law

pytestmark = pytest.mark.long
ORACLE = (7, 5, 4, 3, 3, 1)


@pytest.mark.parametrize(
    ("h", "k", "limit", "delta"), [(ORACLE, 2, 3, 0.01), ((30, 22, 21, 20, 9, 3, 3, 1), 3, 5, 1e-4)]
)
def test_a_million_canonical_sets(h, k, limit, delta):
    m = CanonicalLimitedDomain(k=k, limit=limit, epsilon=1.0, delta=delta)
    rows = m.release_many(h, monotone=True, draws=10**6, rng=sl.testing.seeded(1)).tolist()
    found = Counter(tuple(i for i in row if i >= 0) for row in rows)
    law = canonical_law(h, k, limit, 1.0, 0.85, float(m.offset))
    wrong = canonical_law(h, k, limit, 1.0, 0.85, float(m.offset) - 0.1)
    assert_law([found[y] for y in law], list(law.values()), wrong=list(wrong.values()))


def test_many_limited_lists():
    m = LimitedDomainTopK(k=2, limit=3, budget=ZCDP(0.25, 0.01))
    rows = m.release_many(ORACLE, monotone=True, draws=10**6, rng=sl.testing.seeded(2)).tolist()
    found = Counter(tuple(i for i in row if i >= 0) for row in rows)
    law = gumbel_law(ORACLE, 2, 3, m._rates[0], dummies(3, Fraction(0.01)))
    wrong = gumbel_law(ORACLE, 2, 3, m._rates[0], 280)
    counts = [found[tuple(i for i in y if i != "#")] for y in law]
    assert_law(counts, list(law.values()), wrong=list(wrong.values()))
