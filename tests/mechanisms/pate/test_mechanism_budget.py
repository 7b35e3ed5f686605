"""PATE by epsilon and delta, and with a fixed number of labels (Proposition 255)."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from shortlist.audit import prove_pate
from shortlist.audit.certified import stable
from shortlist.pate import PATE, MultiLabelPATE
from shortlist.privacy import ZCDP, ApproxDP
from shortlist.testing import seeded
from tests.helpers.support import assert_law

VOTES = [[1, 1, 0]] * 240 + [[1, 0, 1]] * 10


@pytest.mark.parametrize("queries", [1, 40])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("make", [MultiLabelPATE, lambda **w: MultiLabelPATE(k=2, **w), partial(PATE, classes=3)])
def test_a_total_epsilon_is_kept_and_nearly_used(make, epsilon, queries):
    crowd = make(epsilon=epsilon, delta=1e-6, queries=queries)
    assert crowd.guarantee.delta == 1e-6
    assert crowd.guarantee.epsilon <= epsilon
    assert crowd.guarantee.epsilon > 0.75 * epsilon  # a few exact rounds are cheaper than their rho says
    whole = make(rho=1.5 * crowd.rho, delta=1e-6, queries=queries)
    assert whole.guarantee.epsilon > crowd.guarantee.epsilon


def test_rho_or_epsilon_and_not_both():
    both: list[Any] = [{}, {"rho": 0.5, "epsilon": 1.0}]
    for words in both:
        for make in (MultiLabelPATE, partial(PATE, classes=3)):
            with pytest.raises(TypeError, match="either rho= or epsilon="):
                make(delta=1e-6, queries=3, **words)
    assert MultiLabelPATE(0.5, 1e-6, 10).rho == MultiLabelPATE(rho=0.5, delta=1e-6, queries=10).rho


def test_a_fixed_number_of_labels():
    crowd = MultiLabelPATE(epsilon=3.0, delta=1e-6, queries=10, k=2)
    assert crowd.label(VOTES) == frozenset({0, 1})
    cost = crowd.query
    assert isinstance(cost, ZCDP)
    assert cost.rho <= crowd.rho / 10
    assert cost.rho == pytest.approx(crowd.rho / 10)
    assert "k=2" in repr(crowd)
    assert MultiLabelPATE(epsilon=3.0, delta=1e-6, queries=10, k=1).label([[1, 1, 0]] * 250) is None  # a tie
    assert MultiLabelPATE(epsilon=3.0, delta=1e-6, queries=10, k=3).label([[1, 1, 1]] * 250) == frozenset({0, 1, 2})
    with pytest.raises(ValueError, match="k=4 is more than the 3 labels"):
        MultiLabelPATE(epsilon=3.0, delta=1e-6, queries=10, k=4).label(VOTES)
    for words in ({"limit": 2}, {"regularizer": [0, 0]}):
        with pytest.raises(ValueError, match="leave them out, or leave k= out"):
            MultiLabelPATE(epsilon=3.0, delta=1e-6, queries=10, k=1, **words)
    with pytest.raises(ValueError, match="k must be at least 1"):
        MultiLabelPATE(epsilon=3.0, delta=1e-6, queries=10, k=0)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_fixed_number_keeps_its_promise_on_a_box(k):
    crowd = MultiLabelPATE(rho=0.8, delta=0.02, queries=1, k=k)
    proof = prove_pate(crowd, teachers=6)
    assert proof.holds, proof
    if k < 3:
        assert not prove_pate(crowd, teachers=6, claim=ZCDP(crowd.query.rho / 4, 0.01)).holds  # type: ignore[attr-defined]
        assert not prove_pate(crowd, teachers=6, claim=ZCDP(crowd.query.rho, 0.001)).holds  # type: ignore[attr-defined]


def test_the_slack_of_add_and_remove_breaks_it(monkeypatch):
    crowd = MultiLabelPATE(rho=0.8, delta=0.02, queries=1, k=1)
    narrow = MultiLabelPATE(rho=0.8, delta=0.02, queries=1, k=1)
    object.__setattr__(narrow._test, "slack", 1)
    assert prove_pate(crowd, teachers=6).holds
    assert not prove_pate(narrow, teachers=6, claim=crowd.query).holds


def test_draws_of_a_fixed_number_follow_its_law():
    crowd = MultiLabelPATE(rho=20.0, delta=0.2, queries=1, k=2)
    votes = [[1, 1, 0]] * 3 + [[1, 1, 1]] * 2
    sets = crowd.label_many(votes, draws=4000, rng=seeded(2))
    assert sets.chosen is not None
    passed = int(np.count_nonzero(sets.chosen[:, 1]))
    chance = float(stable.pate_law(crowd, [5, 5, 2]).chances[0, 1].mid())
    assert_law([passed, 4000 - passed], [chance, 1 - chance], wrong=[0.9 * chance, 1 - 0.9 * chance])
    assert set(map(tuple, sets.indices[sets.chosen[:, 1] == 1].tolist())) == {(0, 1)}
    assert ApproxDP(1.0, 1e-6).excess(MultiLabelPATE(epsilon=1.0, delta=1e-6, queries=3, k=2).guarantee) <= 0
