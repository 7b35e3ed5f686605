"""Privacy at the level of rows: whatever one user does, every score moves by at most the sensitivity."""

import datetime
import decimal
import uuid
from fractions import Fraction
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shortlist as sl
from shortlist.tables.question import Clip
from tests.helpers.support import full_size, sized
from tests.tables.tables import found

LISTED = ["a", "b", "c", "never"]
ROW = st.tuples(
    st.sampled_from([1, 2, 3, None]), st.sampled_from(["a", "b", "c", "x", "", None]),
    st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True), st.integers(-10, 10).map(float)),
)  # fmt: skip
ENGINES = ("polars", "pandas", "csv")


def table(rows, engine, folder):
    frame = pl.DataFrame(
        rows, schema={"user": pl.Int64, "item": pl.String, "value": pl.Float64}, orient="row", strict=False
    )
    if engine == "pandas":
        return frame.to_pandas()
    if engine == "csv":
        path = folder / f"{len(list(folder.iterdir()))}.csv"  # a file for each table: two are compared
        frame.write_csv(path)
        return str(path)
    return frame


def moves(before, after, **question):
    one, other = (sl.count(rows, user="user", item="item", **question) for rows in (before, after))
    first, second = found(one), found(other)
    labels = {*first, *second}
    steps = [Fraction(second.get(label, 0)) - Fraction(first.get(label, 0)) for label in labels]
    return one, steps


@full_size
@pytest.mark.usefixtures("one_duckdb")
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=sized(9, full=100))
@given(rows=st.lists(ROW, max_size=12), own=st.lists(ROW, max_size=12), others=st.lists(ROW, max_size=6))
def test_adding_or_removing_all_rows_of_a_user_moves_counts_one_way_by_at_most_one(
    engine, rows, own, others, tmp_path_factory
):
    folder = tmp_path_factory.mktemp("rows")
    mine = [(9, item, value) for _, item, value in own]  # any number of rows, repeated ones too
    with_me = [*rows[: len(rows) // 2], *mine, *rows[len(rows) // 2 :]]
    for question in ({"candidates": LISTED}, {}):
        before, steps = moves(table(rows, engine, folder), table(with_me, engine, folder), **question)
        assert all(0 <= step <= before.largest_sensitivity == 1 for step in steps)
    changed = [*rows, *((9, item, value) for _, item, value in others)]
    _, steps = moves(table(with_me, engine, folder), table(changed, engine, folder), candidates=LISTED)
    assert all(-1 <= step <= 1 for step in steps)  # a change is a removal and an addition


CELL: st.SearchStrategy[Any] = st.sampled_from(
    ["a", "0", "1", "1.0", "true", "", 0, 1, True, 1.0, 2.5, -0.0, float("nan"), None, decimal.Decimal("1.000"), b"a",
     decimal.Decimal("sNaN"), datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29), "2024-02-29", ("a",),
     10**5000, "\ud800", [], uuid.UUID(int=1)],
)  # fmt: skip


@full_size
@settings(max_examples=sized(14, full=300))
@given(rows=st.lists(st.tuples(CELL, CELL), max_size=8), own=st.lists(CELL, max_size=6), first=st.booleans())
def test_whatever_objects_a_user_has_in_a_pandas_column_only_their_own_rows_count(rows, own, first):
    """No cell changes how another is read, and every label looks the same whoever has it."""
    mine = [("me", item) for item in own]
    questions: list[dict[str, Any]] = [{"candidates": [0, "1", True, "a", datetime.date(2024, 2, 29)]}, {}]
    for question in questions:
        both = [*mine, *rows] if first else [*rows, *mine]
        one, other = (
            found(
                sl.count(
                    pd.DataFrame(table, columns=["user", "item"], dtype=object), user="user", item="item", **question
                )
            )
            for table in (rows, both)
        )
        assert all(type(label) is str for label in (*one, *other))
        assert all(0 <= other.get(label, 0) - one.get(label, 0) <= 1 for label in {*one, *other})


@full_size
@pytest.mark.usefixtures("one_duckdb")
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=sized(12, full=150))
@given(
    clip=st.sampled_from([(0, 5), (-2, 0), (-1.5, 4), (0.1, 0.3), (1, 3), (-1e-9, 1e9), (-3, -1), (-0.3, -0.3)]),
    rows=st.lists(ROW, max_size=12),
    own=st.lists(ROW, max_size=12),
)
def test_sums_move_within_the_clip_in_the_arithmetic_that_is_used(engine, clip, rows, own, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    mine = [(9, item, value) for _, item, value in own]
    scores, steps = moves(
        table(rows, engine, folder), table([*rows, *mine], engine, folder), candidates=LISTED, value="value", clip=clip
    )
    low, high = (Fraction(end) for end in clip)
    assert all(min(low, Fraction(0)) <= step <= max(high, Fraction(0)) for step in steps)
    assert scores.range_sensitivity == max(high, Fraction(0)) - min(low, Fraction(0))
    assert not scores.monotone or all(step >= 0 for step in steps) or all(step <= 0 for step in steps)
    assert max(steps) - min(steps) <= scores.range_sensitivity


@pytest.mark.parametrize("clip", [(0, 5), (-1.5, 4)])
def test_the_bound_on_sums_is_attained(clip):
    nobody = pl.DataFrame(schema={"user": pl.Int64, "item": pl.String, "value": pl.Float64})
    me = pl.DataFrame({"user": [9, 9], "item": ["a", "b"], "value": [1e12, -1e12]})
    scores, steps = moves(nobody, me, candidates=LISTED, value="value", clip=clip)
    assert max(steps) - min(steps) == scores.range_sensitivity


def test_summing_before_clipping_is_what_is_done():
    rows = pl.DataFrame({"user": [1, 1, 1, 2], "item": ["a"] * 4, "stars": [3.0, 3.0, -1.0, 4.0]})
    scores = sl.count(rows, user="user", item="item", candidates=["a"], value="stars", clip=(0, 5))
    assert found(scores) == {"a": 9.0}


@pytest.mark.parametrize("clip", [(-0.3, -0.3), (0.3, 0.3), (-0.1, -0.1 + 1e-12), (1e-9, 1e-9), (-7, 1e-30)])
def test_no_share_is_larger_than_its_clip_even_where_that_holds_no_step_of_the_grid(clip):
    steps = Clip.of(clip)
    assert min(Fraction(clip[0]), Fraction(0)) <= steps.low * Fraction(steps.grid)
    assert steps.low <= steps.high
    assert steps.high * Fraction(steps.grid) <= max(Fraction(clip[1]), Fraction(0))
