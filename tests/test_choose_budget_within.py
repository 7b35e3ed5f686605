"""Three releases at a tenth of a budget of .3 each: the last is drawn for what is left, whichever door it comes by."""

from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import shortlist as sl
from shortlist.testing import seeded

ROWS = pl.DataFrame({"who": range(300), "what": ["tea"] * 200 + ["milk"] * 100, "age": [30] * 300, "at": ["CH"] * 300})
TABLE: dict[str, Any] = {"user": "who", "item": "what", "candidates": ["tea", "milk", "ale", "gin"]}
BY: dict[str, Any] = {**TABLE, "by": "at", "groups": ["CH", "DE"]}
SPAN: dict[str, Any] = {"q": 0.5, "lower": 0, "upper": 120}
DOORS: dict[str, Any] = {
    "select": lambda **words: sl.select([9, 4, 1], **words),
    "top_k": lambda **words: sl.top_k([9, 4, 1, 0], k=2, **words),
    "a table": lambda **words: sl.top_k(ROWS, k=2, **TABLE, **words),
    "groups": lambda **words: sl.top_k(ROWS, k=1, **BY, **words),
    "quantile": lambda **words: sl.quantile(ROWS, user="who", value="age", **SPAN, **words),
}


@pytest.mark.parametrize("door", DOORS)
def test_three_tenths_fit_and_the_promise_of_the_last_is_what_was_left(door, tmp_path):
    ledger = sl.Ledger(tmp_path / "year.db", budget=sl.PureDP(0.3))
    releases = [DOORS[door](epsilon=0.1, ledger=ledger, rng=seeded(n)) for n in range(3)]
    promises = [Fraction(release.guarantee.epsilon) for release in releases]
    assert promises[:2] == [Fraction(0.1)] * 2
    assert (1 - Fraction(1, 2**40)) * Fraction(0.1) <= promises[2] < Fraction(0.1)
    assert sum(promises) <= Fraction(0.3)
    with pytest.raises(sl.BudgetExceeded, match="no further charge"):
        DOORS[door](epsilon=0.1, ledger=ledger, rng=seeded(3))


def test_names_with_a_delta_too(tmp_path):
    ledger = sl.Ledger(tmp_path / "year.db", budget=sl.ApproxDP(0.3, 3e-6), split=0.0)
    words: dict[str, Any] = {"user": "who", "item": "what", "most": 1, "epsilon": 0.1, "delta": 1e-6}
    releases: list[Any] = [sl.keys(ROWS, **words, ledger=ledger, rng=seeded(n)) for n in range(3)]
    assert sum(Fraction(release.guarantee.epsilon) for release in releases) <= Fraction(0.3)


def test_without_a_ledger_nothing_is_less_than_was_asked():
    assert sl.select([9, 4, 1], epsilon=0.1).guarantee == sl.PureDP(0.1)
