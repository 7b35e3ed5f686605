"""Guarded draws have the certified law of the set and of the way it went."""

import numpy as np
import pytest

import shortlist as sl
from shortlist import ZCDP, PureDP, Scores
from shortlist.audit.certified import sets
from shortlist.mechanisms import GuardedTopK
from tests.helpers.support import assert_law
from tests.helpers.typed import present

X = np.array([9, 7, 6, 4, 3, 1, 0])
SCORES = Scores(X, monotone=True)
BUDGETS = {"guard": PureDP(1.0), "switch": ZCDP(0.7)}
budgets = pytest.mark.parametrize("budget", BUDGETS.values(), ids=list(BUDGETS))


def law_of(budget):
    """P[each set with the way it went], 1 for one-shot, in balls."""
    chances = sets.law_of_guarded_set(GuardedTopK(k=3, budget=budget), SCORES).chances
    return {(*chosen, int(used == "one-shot")): float(chance) for (chosen, used), chance in chances.items()}


@budgets
def test_draws_have_the_certified_law(budget):
    draws = 20_000
    found = GuardedTopK(k=3, budget=budget).release_many(SCORES, draws=draws, rng=sl.testing.seeded(41))
    rows = np.column_stack([found.indices, present(found.chosen)]).tolist()
    law = law_of(budget)
    wrong = law_of(PureDP(3.0) if isinstance(budget, PureDP) else ZCDP(4.0))
    places = {key: n for n, key in enumerate(law)}
    counts = np.bincount([places[tuple(row)] for row in rows], minlength=len(law))
    assert counts[[key[-1] for key in law].index(1) :].sum() not in (0, draws)
    assert_law(counts, list(law.values()), wrong=list(wrong.values()))
