"""Many guarded draws at once have the certified law of the set and of the way it went, however they are decided."""

import numpy as np
import pytest

import shortlist as sl
from shortlist import ZCDP, PureDP, Scores
from shortlist.audit.certified.sets import guarded_law as certified_law
from shortlist.mechanisms import GuardedTopK
from shortlist.sampling import sets as sampler
from shortlist.sampling import sets as switch
from shortlist.sampling import subset_rows
from shortlist.sampling.entropy import Seeded
from shortlist.sampling.sets import Guard, weights_for
from shortlist.sampling.uniforms import WordStream
from tests.helpers.support import assert_law
from tests.helpers.typed import of_kind, present

X = np.array([9, 7, 6, 4, 3, 1, 0])
SCORES = Scores(X, monotone=True)
BUDGETS = {"guard": PureDP(1.0), "switch": ZCDP(0.7)}
budgets = pytest.mark.parametrize("budget", BUDGETS.values(), ids=list(BUDGETS))


def law_of(budget):
    """P[each set with the way it went], 1 for one-shot, in balls."""
    chances = certified_law(GuardedTopK(k=3, budget=budget), SCORES).chances
    return {(*chosen, int(used == "one-shot")): float(chance) for (chosen, used), chance in chances.items()}


def assert_draws(budget, draws=4_000):
    found = GuardedTopK(k=3, budget=budget).release_many(SCORES, draws=draws, rng=sl.testing.seeded(41))
    rows = np.column_stack([found.indices, present(found.chosen)]).tolist()
    law = law_of(budget)
    wrong = law_of(PureDP(3.0) if isinstance(budget, PureDP) else ZCDP(4.0))
    places = {key: n for n, key in enumerate(law)}
    counts = np.bincount([places[tuple(row)] for row in rows], minlength=len(law))
    assert counts[[key[-1] for key in law].index(1) :].sum() not in (0, draws)
    assert_law(counts, list(law.values()), wrong=list(wrong.values()))


@budgets
def test_draws_in_rows_have_the_certified_law(budget):
    assert_draws(budget, draws=20_000)


@pytest.mark.traced
@budgets
@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        (subset_rows, "ROUNDING", 1e9),  # floats tell nothing
        (subset_rows, "ROUNDING", 0.01),  # they tell some
        (subset_rows, "LEAST", np.uint64(1 << 62)),
        (sampler, "BLOCK", 64),
        (sampler, "MOST_MEMBERS", 1),  # one by one
    ],
    ids=["never sure", "often unsure", "short words", "small blocks", "one by one"],
)
def test_every_rare_way_has_the_certified_law(budget, where, name, value, monkeypatch):
    monkeypatch.setattr(where, name, value)
    if name == "ROUNDING":
        monkeypatch.setattr(switch, name, value)
    assert_draws(budget, draws=1_000)


def test_a_guarded_race_in_floats_is_the_plain_one_on_the_same_words(monkeypatch):
    """Who wins, and whether the guard does, for every row."""
    seen: dict[str, subset_rows.Record] = {}
    monkeypatch.setattr(subset_rows.Record, "__init__", lambda self: seen.update(record=self) or _fresh(self))
    guard = of_kind(Guard, present(GuardedTopK(k=3, epsilon=1.0)._prepared(SCORES)).guard)
    weights = present(weights_for(guard.ranking, 500, top=False))
    classes, won = guard.in_rows(weights, 500, Seeded(42))
    assert 0 < won.sum() < 500
    for row in range(500):
        guarded, one = guard._first(weights, WordStream(Seeded(43), given=seen["record"].of(row)), weights.halvings)
        assert (classes.i[row], classes.j[row]) == ((-1, 0) if one is None else (one.i, one.j))
        assert won[row] == (guarded and one is None)


def test_a_switch_in_floats_is_the_exact_one_on_the_same_words(monkeypatch):
    chooser = of_kind(switch.Switch, present(GuardedTopK(k=3, budget=ZCDP(0.7))._prepared(SCORES)).guard)
    weights = present(weights_for(chooser.ranking, 500, top=True))
    quick = chooser.in_rows(weights, 500, Seeded(44))
    monkeypatch.setattr(switch, "ROUNDING", 1e9)
    plain = chooser.in_rows(weights, 500, Seeded(44))
    assert np.array_equal(quick[1], plain[1])
    assert np.array_equal(quick[0].i, plain[0].i)
    assert np.array_equal(quick[0].j, plain[0].j)


def _fresh(record):
    object.__setattr__(record, "parts", [])
