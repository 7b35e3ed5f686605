"""A released table carries its note where its kind of frame has a place for one, and is the same table everywhere."""

import dataclasses

import pyarrow.parquet as pq
import pytest

import shortlist as sl
from shortlist._arrays import Frame

RELEASE = sl.top_k({"ada": 900, "bob": 500, "cy": 20}, 2, epsilon=1.0, monotone=True, public=True, values=True)
LISTS = sl.top_k([[90, 2, 50], [1, 70, 3]], 1, epsilon=8.0, monotone=True, values=True)


def framed(release, engine):
    types = ("VARCHAR",) if engine == "duckdb" else ("string",) if engine == "ibis" else ()
    return dataclasses.replace(release, frame=Frame(engine, types)).to_frame()


def test_the_note_says_what_no_column_says():
    for release in (RELEASE, LISTS):
        assert release.summary in release.note
        assert release.line() in release.note
        assert "A margin is half of the interval" in release.note
        assert all(note[1:] in release.note for note in release.notes)
    assert "margin" not in sl.top_k([9, 1], 1, epsilon=1.0).note


@pytest.mark.parametrize("release", [RELEASE, LISTS], ids=["one", "groups"])
def test_pandas_and_arrow_carry_it(release, tmp_path):
    assert framed(release, "pandas").attrs["shortlist"] == release.note
    table = framed(release, "pyarrow")
    assert table.schema.metadata[b"shortlist"].decode() == release.note
    pq.write_table(table, tmp_path / "list.parquet")
    assert pq.read_schema(tmp_path / "list.parquet").metadata[b"shortlist"].decode() == release.note


@pytest.mark.parametrize("engine", ["polars", "pandas", "pyarrow", "duckdb", "ibis"])
def test_the_columns_are_the_same_with_a_place_for_it_and_without(engine):
    frame = framed(RELEASE, engine)
    assert list(frame.columns if engine != "pyarrow" else frame.column_names) == list(RELEASE.columns())
