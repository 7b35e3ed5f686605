"""What is booked of a release: the finest statement of it that has room."""

from typing import Any

import pytest

import shortlist as sl
from shortlist import ZCDP, ApproxDP, BudgetExceeded, Ledger, PureDP
from shortlist.mechanisms import CanonicalTopK, NoisyMax, OneshotTopK, OrderedCanonicalTopK
from shortlist.testing import seeded

COUNTS = [40, 35, 20, 9, 8, 3, 2, 1]
BUDGET = ApproxDP(1.0, 1e-6)


def only(ledger):
    (entry,) = ledger.entries()
    return entry


@pytest.mark.parametrize(
    "mechanism",
    [
        NoisyMax(budget=BUDGET, noise="gumbel"),
        OneshotTopK(k=5, budget=BUDGET, noise="gumbel"),
        CanonicalTopK(k=3, budget=BUDGET),
        OrderedCanonicalTopK(k=3, budget=BUDGET),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_release_at_the_whole_budget_is_admitted(tmp_path, mechanism):
    ledger = Ledger(tmp_path / "year.db", budget=BUDGET)
    assert mechanism.charge != mechanism.guarantee
    release = mechanism.release(COUNTS, monotone=True, ledger=ledger, rng=seeded(1))
    assert release.charge == mechanism.guarantee
    assert only(ledger).guarantee == repr(BUDGET)
    with pytest.raises(BudgetExceeded):
        mechanism.release(COUNTS, monotone=True, ledger=ledger, rng=seeded(1))
    assert ledger.verify() == 1


def test_the_finer_statement_comes_first(tmp_path):
    mechanism = NoisyMax(budget=BUDGET, noise="gumbel")
    ledger = Ledger(tmp_path / "year.db", budget=ApproxDP(3.0, 1e-6))
    release = mechanism.release(COUNTS, monotone=True, ledger=ledger, rng=seeded(1))
    assert release.charge == mechanism.charge
    assert only(ledger).guarantee == repr(mechanism.charge)


def test_a_statement_that_cannot_be_counted_is_passed_over(tmp_path):
    ledger = Ledger(tmp_path / "year.db", budget=PureDP(1.0))
    assert ledger.with_room(ZCDP(0.1), PureDP(0.5)) == PureDP(0.5)
    assert ledger.with_room(PureDP(2.0), PureDP(3.0)) == PureDP(2.0)  # none has room: the error is about the first


def test_what_a_release_is_about_is_noted_with_it(tmp_path):
    ledger = Ledger(tmp_path / "year.db", budget=PureDP(9.0))
    rows = {"who": [1, 2, 3], "what": ["tea", "milk", "tea"], "cups": [1.0, 2.0, 3.0]}
    words: Any = {"user": "who", "item": "what", "value": "cups", "candidates": ["tea", "milk"], "epsilon": 1.0}
    sl.top_k(_frame(rows), k=1, clip=(0, 5), ledger=ledger, **words)
    sl.top_k(_frame(rows), k=1, clip=(0, 50), ledger=ledger, largest=False, rng=seeded(1), **words)
    one, two = (str(entry.source) for entry in ledger.entries())
    assert "value cups from 0 to 5; 2 candidates of sha256 " in one
    assert "value cups from 0 to 50; 2 candidates of sha256 " in two
    assert two.endswith("; the smallest; not private: seeded randomness")


def _frame(rows):
    import polars as pl

    return pl.DataFrame(rows)


def test_nothing_is_given_back_of_the_coarser_statement(tmp_path):
    """What a refundable release has kept is said of its finer statement alone."""
    ledger = Ledger(tmp_path / "year.db", budget=BUDGET)
    counts = sl.Scores({f"film {n}": 900 - 40 * n for n in range(20)}, monotone=True, public=False)
    release = sl.top_k(counts, k=10, budget=BUDGET, method="limited-domain", ledger=ledger, rng=seeded(1))
    assert release.charge == BUDGET
    assert [entry.kind for entry in ledger.entries()] == ["charge"]
