"""A person who brings new labels, from the table to the release: exact laws of all branches, and draws of `top_k`.

The tables are counted by the library, the weights are those it made, and the mechanism is the one its rule takes. Three
labels and k = 3, so that the certified law of a key set covers it too.
"""

from dataclasses import replace
from functools import cache

import pandas as pd
import pytest
from flint import ctx

import shortlist as sl
from shortlist import ZCDP, ApproxDP
from shortlist.audit import Law, prove
from shortlist.audit.certified import base, unknown_domain
from shortlist.execute import choose_mechanism
from shortlist.mechanisms import NamesChoice
from shortlist.mechanisms.base import Request
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import of_kind, present

LABELS = ("a", "new", "newer")
OTHERS = (), (("a",),), (("a",),) * 3, (("a",),) * 8, (("a",),) * 20
NEWCOMERS = [("new",), ("a", "new"), ("new", "newer"), LABELS]
ONE = ApproxDP(1.0, 0.05)
BUDGETS = [ONE, ApproxDP(2.0, 0.01), ZCDP(0.1, 0.05)]


def counted(people, most=None):
    """The scores that the library counts of these people's rows."""
    rows = [(who, what) for who, labels in enumerate(people) for what in labels]
    table = pd.DataFrame({"who": [who for who, _ in rows], "what": pd.Series([what for _, what in rows], dtype="str")})
    return sl.count(table, user="who", item="what", most=most)


@cache
def columns(people, most=None):
    """(counts, weights in units of 2^-20) of the three labels, as the engine has them."""
    public = counted(people, most).as_public()
    capped = present(public._weights)
    people_of = dict(zip(public.labels, public.values.tolist(), strict=True))
    heavy: dict[object, int] = {}
    place = 0
    for score, size in zip(capped.scores.tolist(), capped.sizes.tolist(), strict=True):
        heavy |= dict.fromkeys(capped.names(range(place, place + size)), score)
        place += size
    return tuple(people_of.get(one, 0) for one in LABELS), tuple(heavy.get(one, 0) for one in LABELS)


def taken(budget, most=None):
    return of_kind(NamesChoice, choose_mechanism(Request(3, budget, public=False, most=most, weighed=True)).mechanism)


def law_of(mechanism):
    @cache
    def law(point):
        with ctx.workprec(base.PRECISION):
            return unknown_domain.both_law(mechanism, point[:3], point[3:])

    return law


def neighbours(most=None):
    for others in OTHERS:
        for newcomer in NEWCOMERS:
            without, with_them = columns(others, most), columns((*others, newcomer), most)
            yield (*without[0], *without[1]), (*with_them[0], *with_them[1])


@pytest.mark.filterwarnings("ignore:delta=")
@pytest.mark.parametrize(("most", "share"), [(None, 16), (3, 2)])
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_new_labels_cost_no_more_than_the_budget_whichever_way_it_goes(budget, most, share):
    """With a cap of three and three new labels more than half of delta is spent; 64 leave more room."""
    mechanism = taken(budget, most)
    assert {one.kind for one in mechanism.branches} == {"sets", "list", "keys"}
    pairs, law = list(neighbours(most)), law_of(mechanism)
    epsilons = [budget.epsilon] if isinstance(budget, ApproxDP) else [0.3, 1.0, 12.0]
    proof = prove(law, pairs, budget, epsilons=epsilons)
    assert proof.holds, proof.violation
    less = replace(budget, delta=budget.delta / share)
    assert not prove(law, pairs, less, epsilons=epsilons).holds  # it can fail


@pytest.mark.filterwarnings("ignore:delta=")
def test_every_branch_names_a_new_label_now_and_then_and_all_together_with_delta_at_most():
    mechanism = taken(ONE)
    point = next(after for _, after in neighbours() if after[1:3] == (1, 1))
    law = of_kind(Law, law_of(mechanism)(point)).chances
    new: dict[str, float] = {}
    for (kind, _, shown), chance in law.items():
        if set(shown) & {1, 2}:
            new[kind] = new.get(kind, 0.0) + float(chance)
    assert new.keys() == {"sets", "list", "keys"}
    assert all(chance > 0 for chance in new.values())
    assert sum(new.values()) <= ONE.delta


@full_size
@pytest.mark.filterwarnings("ignore:delta=")
def test_releases_of_the_whole_call_have_that_law():
    people, budget = (("a",),) * 8 + (("a", "new"),) * 6 + (LABELS,), ApproxDP(3.0, 0.2)
    mechanism, scores, draws = taken(budget), counted(people), sized(300, full=12_000)
    both = columns(people)
    law = of_kind(Law, law_of(mechanism)((*both[0], *both[1]))).chances
    ways = {(one.kind, one.row): one.used for one in mechanism.branches}
    table: dict[tuple[str, tuple[str, ...]], float] = {}
    for (kind, row, shown), chance in law.items():
        cell = (ways[kind, row], tuple(sorted(LABELS[i] for i in shown)))
        table[cell] = table.get(cell, 0.0) + float(chance)
    seen = dict.fromkeys(table, 0)
    for seed in range(draws):
        release = sl.top_k(scores, 3, budget=budget, rng=sl.testing.seeded(seed))
        seen[present(release.used), tuple(sorted(map(str, present(release.items))))] += 1
    assert sum(table.values()) == pytest.approx(1)
    best = max(table, key=lambda cell: table[cell])
    moved = sized(0.4, full=0.2)
    wrong = [chance * (1 - moved) + (moved if cell == best else 0.0) for cell, chance in table.items()]
    assert_law(list(seen.values()), list(table.values()), wrong=wrong)
