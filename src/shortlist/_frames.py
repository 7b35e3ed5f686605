"""Released tables as data frames of the caller's kind."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from shortlist._arrays import FRAMES, Engine, Frame
from shortlist._files import unnested

NUMBERS = ("rank", "q", "value", "margin", "gap")
"""The columns that are no part of an item; item columns of these names are renamed (`Release.columns`)."""

ARROW = ("string", "large_string", "int64", "uint64", "bool", "date32[day]")
TYPES: dict[Engine, Collection[str]] = {
    "polars": ("String", "Int64", "UInt64", "Boolean", "Date"),
    "pandas": ("str", "string", "object", "int64", "uint64", "bool", "Int64", "UInt64", "boolean",
               *(f"{word}[pyarrow]" for word in ARROW)),
    "pyarrow": ARROW,
    "duckdb": ("VARCHAR", "BIGINT", "UBIGINT", "BOOLEAN", "DATE"),
    "ibis": ("string", "int64", "uint64", "boolean", "date"),
    "spark": ("string", "bigint", "boolean", "date"),
}  # fmt: skip
"""What an item column may be in each engine: a closed list, so that no name of a type can tell anything of the data."""

WIDTHS: dict[Engine, tuple[str, str, str]] = {
    "polars": ("Int64", "Float64", "Date"), "pandas": ("int64", "float64", "object"),
    "pyarrow": ("int64", "float64", "date32[day]"), "duckdb": ("BIGINT", "DOUBLE", "DATE"),
    "ibis": ("int64", "float64", "date"), "spark": ("bigint", "double", "date"),
}  # fmt: skip
"""The types of ranks, of values and gaps, and of quantiles that are dates."""

Columns = Mapping[str, list[Any]]
Types = Mapping[str, str]


def own_frame(engine: Engine, types: list[str]) -> Frame:
    """The words for a frame of these types; without the types if one of them is not on the list."""
    return Frame(engine, tuple(types) if set(types) <= set(TYPES[engine]) else ())


def released_frame(columns: Columns, frame: Frame, note: str = "") -> Any:
    """The columns as a frame of that kind, the items in their own types where those are known.

    The `note` goes into the metadata of those kinds that have such (`NOTED`).

    Otherwise in the types that the library tells them to be, and as text if it knows none.
    """
    parts = [name for name in columns if name not in NUMBERS]
    may_guess = frame.engine in FRAMES and not frame.types
    if not set(frame.types) <= set(TYPES[frame.engine]) or (len(frame.types) != len(parts) and not may_guess):
        raise ValueError("the frame of this release has a type that this version does not know; read .columns()")
    whole, real, day = WIDTHS[frame.engine]
    types = {name: whole if name == "rank" else real for name in columns if name in NUMBERS}
    types |= {name: day for name in types if any(isinstance(cell, datetime.date) for cell in columns[name])}
    types |= dict(zip(parts, frame.types, strict=True)) if frame.types else {}
    uniform = _uniform(columns, types)
    try:
        return noted(MAKERS[frame.engine](uniform, types), frame.engine, note)
    except ImportError:
        raise
    except Exception:  # each library has its own
        if frame.engine not in FRAMES:
            raise
    if not may_guess:  # only a file that was edited has such
        raise ValueError("the items of this release do not fit the types that it has for them; read .columns()")
    texts = {name: uniform[name] if name in types else list(map(str, uniform[name])) for name in uniform}
    return noted(MAKERS[frame.engine](texts, types), frame.engine, note)


def noted(table: Any, engine: Engine, note: str) -> Any:
    """The table with a note in its metadata, under our name; as it is where its kind has no place for one."""
    return NOTED[engine](table, note) if note and engine in NOTED else table


def item_columns(items: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """The parts of each item under the names of their columns, which are none of ours."""
    columns: dict[str, list[Any]] = {}
    for n, column in enumerate(names):
        name = column
        while name in (*NUMBERS, *columns):
            name = f"item {name}"
        columns[name] = [item[n] for item in items]
    return columns


def _uniform(columns: Columns, types: Types) -> Columns:
    """A column has one type: labels of several become text."""
    mixed = [name for name in columns if name not in types and len(set(map(type, columns[name]))) > 1]
    return {name: list(map(str, cells)) if name in mixed else cells for name, cells in columns.items()}


def _polars(columns: Columns, types: Types) -> Any:
    import polars as pl

    return pl.DataFrame(columns, schema_overrides={name: getattr(pl, word) for name, word in types.items()})


def _pandas(columns: Columns, types: Types) -> Any:
    import pandas as pd

    series = {name: pd.Series(cells, dtype=_pandas_type(types.get(name))) for name, cells in columns.items()}
    return pd.DataFrame(series)


def _pandas_type(word: str | None) -> Any:
    import pandas as pd

    if word is None or not word.endswith("[pyarrow]"):
        return word
    return pd.ArrowDtype(_arrow_type(word.removesuffix("[pyarrow]")))


def _pyarrow(columns: Columns, types: Types) -> Any:
    import pyarrow as pa

    return pa.table(
        {name: pa.array(cells, _arrow_type(types[name]) if name in types else None) for name, cells in columns.items()}
    )


def _arrow_type(word: str) -> Any:
    import pyarrow as pa

    return pa.date32() if word == "date32[day]" else pa.type_for_alias(word)


def _duckdb(columns: Columns, types: Types) -> Any:
    import duckdb

    parts = (unnested(cells, types[name], name) for name, cells in columns.items())
    return duckdb.sql(f"SELECT {', '.join(parts)}")


def _ibis(columns: Columns, types: Types) -> Any:
    import ibis

    arrow = {"boolean": "bool", "date": "date32[day]"}
    return ibis.memtable(_pyarrow(columns, {name: arrow.get(word, word) for name, word in types.items()}))


def _spark(columns: Columns, types: Types) -> Any:
    from pyspark.sql import SparkSession
    from pyspark.sql import types as st

    session = SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError(
            "a Spark DataFrame needs an active session, and a release keeps none: start one with "
            "SparkSession.builder.getOrCreate(), or read release.columns()"
        )
    kinds = {"string": st.StringType(), "bigint": st.LongType(), "boolean": st.BooleanType(), "date": st.DateType(),
             "double": st.DoubleType()}  # fmt: skip
    schema = st.StructType([st.StructField(name, kinds[types[name]]) for name in columns])
    return session.createDataFrame(list(zip(*columns.values(), strict=True)), schema)


MAKERS: dict[Engine, Callable[[Columns, Types], Any]] = {
    "polars": _polars, "pandas": _pandas, "pyarrow": _pyarrow, "duckdb": _duckdb, "ibis": _ibis, "spark": _spark,
}  # fmt: skip


def _in_pandas(table: Any, note: str) -> Any:
    table.attrs[NAME] = note
    return table


def _in_pyarrow(table: Any, note: str) -> Any:
    return table.replace_schema_metadata({**(table.schema.metadata or {}), NAME: note})


def _in_spark(table: Any, note: str) -> Any:
    """Of every column: a Spark DataFrame has no metadata of its own, and keeps those of its columns in parquet."""
    for name in table.columns:
        table = table.withMetadata(name, {NAME: note})
    return table


NAME = "shortlist"
"""Under which the note stands, as in parquet files of the command line."""
NOTED: dict[Engine, Callable[[Any, str], Any]] = {"pandas": _in_pandas, "pyarrow": _in_pyarrow, "spark": _in_spark}
"""Kinds of frames that have metadata. polars, DuckDB and Ibis have none: there `release.note` has the words."""
