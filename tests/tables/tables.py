"""The same rows in every engine, and what counting them must give."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl

from shortlist.query import Query
from shortlist.scores import Scores
from shortlist.sources import open_source

ENGINES = ("parquet", "csv", "jsonl", "polars", "polars lazy", "pandas", "pyarrow", "duckdb", "ibis")
TEXT = ("csv", "jsonl")
"""Engines in which every field is text."""
AFRESH: dict[str, Any] = {"enable_external_file_cache": False}
"""Tests write other rows to a path within one tick of the clock, and DuckDB 1.5 would still have the old ones."""


@cache
def _duckdb():
    import duckdb

    return duckdb.connect(config=AFRESH)


@cache
def _ibis():
    import ibis

    return ibis.duckdb.connect(**AFRESH)


def write_file(rows: pl.DataFrame, kind: str, path) -> None:
    """The rows as a file of that kind."""
    write: dict[str, Any] = {"parquet": rows.write_parquet, "csv": rows.write_csv, "jsonl": rows.write_ndjson}
    write[kind](path)


def source(engine, rows: pl.DataFrame, folder) -> Any:
    """The rows as that engine has them."""
    if engine in ("parquet", "csv", "jsonl"):
        path = folder / f"rows.{engine}"
        write_file(rows, engine, path)
        return str(path)
    if engine in ("duckdb", "ibis"):
        rows.write_parquet(folder / "rows.parquet")
    if engine == "duckdb":
        return _duckdb().cursor().read_parquet(str(folder / "rows.parquet"))
    if engine == "ibis":
        return _ibis().read_parquet(folder / "rows.parquet")
    frames = {
        "polars": lambda: rows,
        "polars lazy": rows.lazy,
        "pandas": lambda: rows.to_pandas(use_pyarrow_extension_array=True),
        "pyarrow": rows.to_arrow,
    }
    return frames[engine]()


def opened(call, table, **words) -> Any:
    """A table and what a call asks of it, checked by the words alone."""
    return open_source(Query(call=call, source=table, written={}, is_table=True, **words))


def votes(table, value, lower, upper, step=None, per_user="share", user: str | None = "u", **words):
    """(places, weights) on the grid of a quantile: of everybody, or of each group."""
    asked = {"value": value, "lower": lower, "upper": upper, "step": step, "per_user": per_user, "user": user}
    scores = opened("quantile", table, **asked, **words).read(None)
    parts: list[Any] = [scores] if isinstance(scores, Scores) else [scores._group(n) for n in range(scores._number)]
    return [(one._content.places, one._content.weights_there) for one in parts]


def counts_of(rows, items=("item",)):
    """Distinct users per item in plain Python, missing users and items dropped."""
    people: dict[Any, set[Any]] = {}
    for row in rows.to_dicts():
        item = tuple(row[name] for name in items)
        if missing(row["user"]) or any(missing(part) for part in item):
            continue
        people.setdefault(item, set()).add(row["user"])
    return {item if len(item) > 1 else item[0]: len(users) for item, users in people.items()}


def missing(value):
    return value is None or value != value


def found(scores):
    """Label to score, asked for by name."""
    shown = scores.as_public()
    return dict(zip(shown.labels, shown.values.tolist(), strict=True))


def as_text(label):
    """A label as CSV and JSON lines have it."""
    if isinstance(label, tuple):
        return tuple(map(as_text, label))
    return str(label).lower() if isinstance(label, bool) else str(label)
