"""Every engine's own counts of groups on a whole box of neighbours, against certified laws.

One person brings any few rows to others who are in one group or in three: into one group, into several, into groups
that nobody was in. What that person moves in the joint law of all lists must be within the charge for two groups.
"""

import itertools
from functools import cache
from typing import Any

import polars as pl
import pytest
from flint import arb, ctx

import shortlist as sl
from shortlist import ApproxDP, PureDP
from shortlist.audit import Law, certify, prove
from shortlist.audit.certified import base
from shortlist.mechanisms import LimitedDomainTopK, NoisyMax
from shortlist.tables import question as caps
from tests.helpers.support import full_size, sized
from tests.helpers.typed import of_kind
from tests.tables.groups.test_grouping import SALT, found
from tests.tables.tables import source
from tests.test_groups import together

SLOW = [pytest.param(engine, marks=pytest.mark.long) for engine in ("duckdb", "ibis")]
ENGINES = ["parquet", "csv", "jsonl", "polars", "pandas", "pyarrow", *SLOW]
ITEMS, KEYS = ("a", "b"), ("X", "Y", "Z")
EACH = 2
"""Groups of one person."""
ROWS = list(itertools.product(KEYS, ITEMS))
NOBODY: tuple[Any, ...] = ()
OTHERS = (("X", "a"),), (("X", "a"), ("Y", "a"), ("Y", "b"), ("Z", "b"))
MAX, NAMES = NoisyMax(epsilon=1.0, noise="gumbel"), LimitedDomainTopK(k=1, budget=ApproxDP(1.0, 0.05), limit=2)


SOME = [
    (), (("X", "a"),), (("X", "a"), ("X", "b")), (("X", "a"), ("Y", "a")), (("X", "a"), ("Y", "b"), ("Z", "a")),
    (("X", "a"), ("Y", "a"), ("Y", "b"), ("Z", "b")), tuple(ROWS),
]  # fmt: skip
"""In one group, in two, in three of equal and of different weight."""


def brought():
    """What one person may bring: some of the sets of rows, and at full size all of them."""
    every = [own for many in range(len(ROWS) + 1) for own in itertools.combinations(ROWS, many)]
    return sized(SOME, full=every)


@pytest.fixture(autouse=True)
def salted(monkeypatch):
    monkeypatch.setattr(caps, "fresh_salt", lambda: SALT)


@pytest.fixture
def counted(engine, tmp_path, one_duckdb):
    """From what each person has to the counts of every group, by the engine."""

    @cache
    def counts(people, public):
        rows = [(f"p{who}", item, key) for who, own in enumerate(people) for key, item in own]
        frame = pl.DataFrame(rows, schema={"who": pl.String, "what": pl.String, "where": pl.String}, orient="row")
        asked: dict[str, Any] = {"groups": KEYS, "candidates": ITEMS} if public else {}
        table = source(engine, frame, tmp_path)
        held = found(sl.count(table, user="who", item="what", by="where", groups_per_user=EACH, **asked))
        return tuple(tuple(held.get(key, {}).get(item, 0) for item in ITEMS) for key in KEYS)

    return counts


@cache
def best(counts):
    """The law of one group with public candidates."""
    return certify(MAX, sl.Scores(list(counts), monotone=True))


@cache
def named(counts):
    """The law of one group with names from the data: an empty list is not told from a group that nobody is in."""
    if not any(counts):
        return Law({"not listed": arb(1)})
    chances: dict[Any, Any] = {}
    present = [count for count in counts if count]  # a name that nobody has is not there
    found_law = of_kind(Law, certify(NAMES, sl.Scores(present, monotone=True, public=False)))
    labels = [item for item, count in zip(ITEMS, counts, strict=True) if count]
    for (order, _), chance in found_law.chances.items():
        key = tuple(labels[place] for place in order) or "not listed"
        chances[key] = chances.get(key, arb(0)) + chance
    return Law(chances)


def neighbours(others):
    return [((*others, ()), (*others, own)) for own in brought()]


@full_size
@pytest.mark.parametrize("engine", ENGINES)
def test_one_person_is_within_the_charge_for_two_groups(counted):
    def law(people):
        with ctx.workprec(base.PRECISION):
            return together(best(counts) for counts in counted(people, True))

    alone = prove(law, neighbours(NOBODY), MAX.charge.repeat(EACH), epsilons=[2.0])
    assert alone.holds, alone.violation
    assert alone.log_ratio == pytest.approx(1.2402290, abs=1e-6)
    assert not prove(law, neighbours(NOBODY), MAX.charge, epsilons=[1.0]).holds  # one group's charge is too little
    beside = prove(law, neighbours(OTHERS), MAX.charge.repeat(EACH), epsilons=[2.0])
    assert beside.holds, beside.violation
    moves = [((one,), (two,)) for one, two in itertools.permutations(brought(), 2)]
    moved = prove(law, moves, PureDP(2.0 * EACH), epsilons=[2.0 * EACH])  # out of groups, into others: two steps
    assert moved.holds, moved.violation


@full_size
@pytest.mark.parametrize("engine", ENGINES)
def test_new_groups_are_within_epsilon_and_delta(counted):
    def law(people):
        with ctx.workprec(base.PRECISION):
            return together(named(counts) for counts in counted(people, False))

    claim = NAMES.budget.repeat(EACH)
    for others in (NOBODY, OTHERS):
        proof = prove(law, neighbours(others), claim, epsilons=[2.0])
        assert proof.holds, proof.violation
    listed = 1 - float(named((1, 1)).chances["not listed"])
    too_little = ApproxDP(1.0, 1.01 * listed)  # of one new group
    assert prove(law, [((), ((("X", "a"), ("X", "b")),))], too_little, epsilons=[1.0]).holds
    assert not prove(law, [((), (tuple(ROWS),))], too_little, epsilons=[1.0]).holds
