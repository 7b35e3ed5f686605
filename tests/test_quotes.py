"""What a call would run and cost is what it runs and costs; and no row, nor a header, is looked at for it."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import shortlist as sl
from shortlist.privacy import ZCDP, ApproxDP, PureDP
from tests.helpers.typed import of_kind

ROWS = pl.DataFrame(
    {
        "who": [f"u{n}" for n in range(600)],
        "what": [("tea", "milk", "wine")[n % 3] for n in range(600)],
        "land": [("CH", "DE")[n % 2] for n in range(600)],
        "age": [n % 90 for n in range(600)],
    }
)
KNOWN = ["milk", "tea", "water", "wine"]
ASK: Any = {"user": "who", "item": "what"}
CALLS: dict[str, tuple[Any, tuple[int, ...], dict[str, Any]]] = {
    "a list": (sl.top_k, (2,), {**ASK, "candidates": KNOWN, "epsilon": 1.0}),
    "in order": (sl.top_k, (2,), {**ASK, "candidates": KNOWN, "epsilon": 1.0, "ordered": True}),
    "with values": (sl.top_k, (2,), {**ASK, "candidates": KNOWN, "epsilon": 1.0, "values": True, "at_least": 3.0}),
    "named": (sl.top_k, (2,), {**ASK, "candidates": KNOWN, "epsilon": 1.0, "method": "oneshot-gumbel"}),
    "zCDP": (sl.top_k, (2,), {**ASK, "candidates": KNOWN, "budget": ZCDP(0.1)}),
    "names from the data": (sl.top_k, (2,), {**ASK, "epsilon": 1.0, "delta": 1e-6}),
    "capped": (sl.top_k, (2,), {**ASK, "epsilon": 1.0, "delta": 1e-6, "most": 1}),
    "the smallest": (sl.top_k, (2,), {**ASK, "candidates": KNOWN, "epsilon": 1.0, "largest": False}),
    "one": (sl.select, (), {**ASK, "candidates": KNOWN, "epsilon": 1.0}),
    "groups": (sl.top_k, (2,), {**ASK, "candidates": KNOWN, "epsilon": 1.0, "by": "land", "groups": ["CH", "DE"]}),
    "keys": (sl.keys, (), {**ASK, "epsilon": 1.0, "delta": 1e-6}),
    "a median": (sl.quantile, (), {"user": "who", "value": "age", "lower": 0, "upper": 120, "epsilon": 1.0}),
    "medians": (sl.quantile, (), {"user": "who", "value": "age", "lower": 0, "upper": 120, "epsilon": 1.0, "by": "land",
                                  "groups": ["CH", "DE"]}),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_a_quote_is_what_is_run_and_booked(case, tmp_path):
    call, first, words = CALLS[case]
    ROWS.write_parquet(tmp_path / "rows.parquet")
    ledger = sl.Ledger(tmp_path / "year.db", budget=ApproxDP(9.0, 1e-5))
    told: list[float] = []
    paid: dict[str, Any] = {"ledger": ledger, "purpose": "once", "rng": sl.testing.seeded(1), "progress": told.append}
    unread = sl.quote(call, "not there.parquet", *first, **words, **paid)
    looked = sl.quote(call, tmp_path / "rows.parquet", *first, header=True, **words)
    release = call(tmp_path / "rows.parquet", *first, **words, **paid)
    assert replace(unread, charge=looked.charge) == looked
    assert (looked.guarantee, looked.charge) == (release.guarantee, release.charge)
    assert unread.charge == (unread.guarantee if case == "zCDP" else looked.charge), "or what is booked is finer"
    assert release.mechanism.startswith(unread.mechanism.name)
    assert release.why.removeprefix("auto: ") == (unread.why or "named by the caller")
    assert unread.candidates == (len(KNOWN) if "candidates" in words else None)
    assert ledger.entries()[0].guarantee == repr(looked.charge)
    assert (told[0], told[-1]) == (0.0, 1.0)


def test_progress_is_told_when_the_charge_is_booked_and_not_before(tmp_path):
    ledger, seen = sl.Ledger(tmp_path / "year.db", budget=ApproxDP(30.0, 1e-4)), list[Any]()

    def tell(share):
        seen.append((share, len(ledger.entries())))

    for number, (call, first, words) in enumerate(CALLS.values(), 1):
        seen.clear()
        call(ROWS, *first, **words, ledger=ledger, progress=tell)
        assert seen[0] == (0.0, number)
    seen.clear()
    with pytest.raises(sl.BudgetExceeded):
        sl.top_k(ROWS, 2, **ASK, candidates=KNOWN, epsilon=29.0, ledger=ledger, progress=tell)
    assert not seen
    for call, first, words in CALLS.values():
        with pytest.raises(TypeError, match="progress must be a function"):
            call(ROWS, *first, **words, progress=1)


def test_scores_and_plain_values_have_a_quote_too():
    scores = sl.count(ROWS, **ASK, candidates=KNOWN)
    assert sl.quote(sl.top_k, scores, 2, epsilon=1.0).guarantee == PureDP(1.0)
    assert sl.quote(sl.select, [3, 1, 2], epsilon=1.0, monotone=True).candidates == 3
    lists = sl.quote(sl.top_k, [[3, 1, 2], [5, 4, 1]], 1, epsilon=1.0, monotone=True)
    release = of_kind(sl.GroupedRelease, sl.top_k([[3, 1, 2], [5, 4, 1]], 1, epsilon=1.0, monotone=True))
    assert lists.charge == release.charge
    assert sl.quote(sl.quantile, [1, 2, 3], lower=0, upper=9, epsilon=1.0).guarantee == PureDP(1.0)


@pytest.mark.parametrize(
    ("call", "words", "told"),
    [
        (sl.top_k, {"k": 2, **ASK, "candidates": KNOWN}, "epsilon"),
        (sl.top_k, {"k": 2, **ASK, "candidates": KNOWN, "epsilon": 1.0, "itme": 1}, "itme is no word"),
        (sl.top_k, {"k": 0, **ASK, "candidates": KNOWN, "epsilon": 1.0}, "k must be"),
        (sl.top_k, {**ASK, "candidates": KNOWN, "epsilon": 1.0}, "'k'"),
        (sl.keys, {**ASK, "epsilon": 1.0}, "delta"),
        (sl.quantile, {"user": "who", "value": "age", "epsilon": 1.0}, "lower"),
        (sl.count, {**ASK}, "release must be"),
        (sl.top_k, {"k": 2, **ASK, "candidates": KNOWN, "epsilon": 1.0, "header": 3}, "header"),
    ],
)
def test_what_the_call_would_refuse_is_refused(call, words, told):
    with pytest.raises((TypeError, ValueError), match=told):
        sl.quote(call, "rows.parquet", **words)


def test_a_header_that_does_not_fit_is_found_when_it_is_looked_at(tmp_path):
    ROWS.write_parquet(tmp_path / "rows.parquet")
    for call, first, words in CALLS.values():
        with pytest.raises(ValueError, match="no column of that name"):
            sl.quote(call, tmp_path / "rows.parquet", *first, header=True, **{**words, "user": "nobody"})


def test_a_table_of_people_is_no_public_list_in_python_either(tmp_path):
    ROWS.write_parquet(tmp_path / "rows.parquet")
    ROWS.select("who", "what").write_parquet(tmp_path / "copy.parquet")
    ledger = sl.Ledger(tmp_path / "year.db", budget=PureDP(1.0))
    for private in ("rows.parquet", "copy.parquet"):
        with pytest.raises(ValueError, match="public list"):
            sl.top_k(tmp_path / "rows.parquet", 1, **ASK, candidates=tmp_path / private, epsilon=1.0, ledger=ledger)
    assert not ledger.entries()
