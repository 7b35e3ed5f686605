"""Votes on a grid by DuckDB: files out of core, relations in their own connection; all in whole tokens."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from shortlist._sql import bytewise, quoted
from shortlist.tables import sql
from shortlist.tables.column_types import FIRST, LAST, check_user, kind_of
from shortlist.tables.errors import TableError, fresh, in_one_sentence
from shortlist.tables.file_sources import check_lines, connect, runner, source_of, stamps
from shortlist.tables.progress import watched
from shortlist.tables.values import SATURATED, TOKENS, Placed, ValueQuestion, counted, is_dated
from shortlist.votes import Grid

WIDE = 1 << 20
"""On grids of more points places are not grouped in the engine."""
PACKED = 1 << 17
"""A place below 2^40 and at most 2^16 tokens fit into 64 bits, and sort by place."""


def dated_in(source: sql.TableSource, question: ValueQuestion) -> bool:
    """Whether values are dates, and refusals, from names and types alone. Text files have what the bounds are."""
    question.check_columns(source.columns)
    if question.user is not None:
        check_user(question.user, sql.declared(source.types[question.user]))
    if source.as_text:
        return question.grid.kind == "date"
    return is_dated(question.value, sql.declared(source.types[question.value]))


def placing(source: sql.TableSource, question: ValueQuestion, grid: Grid) -> str:
    """The statement that gives places and weights: added up and in order, or packed into one number each."""
    rows = _rows(source, question, grid)
    if question.user is None:
        votes = f"SELECT i, 1 AS w FROM ({rows})"
    else:
        votes = f"WITH r AS MATERIALIZED ({rows}) {_votes(question, grid)}"
    if grid.size > WIDE:  # hardly two rows have one place: numpy sorts faster than any engine groups
        return f"SELECT CAST(i * {PACKED} + w AS BIGINT) AS packed FROM ({votes})"
    return f"SELECT i, CAST(sum(w) AS BIGINT) AS w FROM ({votes}) GROUP BY i HAVING sum(w) > 0 ORDER BY i"


def _rows(source: sql.TableSource, question: ValueQuestion, grid: Grid) -> str:
    """(u, i), rows without a person or a number left out; i is a place, or whole steps where they are added up."""
    number = _number(source, question, grid)
    low, high, step = (f"{end!r}::DOUBLE" for end in grid.ends)
    place = f"floor((least(greatest(v, {low}), {high}) - {low}) / {step} + 0.5::DOUBLE)"
    place = f"CAST(least(greatest({place}, 0), {grid.size - 1}) AS BIGINT)"
    if question.per_user == "sum" and question.user is not None:
        held = f"least(greatest(v / {step}, {-SATURATED!r}::DOUBLE), {SATURATED!r}::DOUBLE)"
        place = f"CAST(floor({held} + 0.5::DOUBLE) AS BIGINT)"
    present = ["v IS NOT NULL", f"NOT {sql.is_nan('v')}"]
    user = []
    if question.user is not None:
        user, text = (
            [f"{source.user(question.user)} AS u"],
            kind_of(sql.declared(source.types[question.user])) == "text",
        )
        if text and source.from_memory:
            user = [f"{bytewise(f'decode(encode(CAST({source.columns[question.user]} AS VARCHAR)))')} AS u"]
        present += ["u IS NOT NULL", *(["CAST(u AS VARCHAR) <> ''"] if text else [])]
    inner = f"SELECT {', '.join([*user, f'{number} AS v'])} FROM {source.relation}"
    shown = ", ".join([*(["u"] if user else []), f"{place} AS i"])
    return f"SELECT {shown} FROM ({inner}) WHERE {' AND '.join(present)}"


def _number(source: sql.TableSource, question: ValueQuestion, grid: Grid) -> str:
    """The value as a DOUBLE; a day by its ordinal."""
    if grid.kind != "date":
        return source.number(question.value)
    day = source.columns[question.value]
    day = f"TRY_CAST({day} AS DATE)" if source.as_text else day
    inside = f"CASE WHEN {day} BETWEEN DATE '{FIRST}' AND DATE '{LAST}' THEN {day} END"
    return f"CAST(date_diff('day', DATE '{FIRST}', {inside}) + 1 AS DOUBLE)"


def _votes(question: ValueQuestion, grid: Grid) -> str:
    """(i, w) of every person, from r(u, i): a window of that person's rows alone, in the order of places."""
    rank = (
        "SELECT i, row_number() OVER (PARTITION BY u ORDER BY i) AS j, count(*) OVER (PARTITION BY u) AS n "
        "FROM r SEMI JOIN (SELECT u FROM p WHERE n > 1) AS several USING (u)"
    )
    people = "SELECT u, count(*) AS n, min(i) AS i FROM r GROUP BY u"
    own = {
        "min": "min(i)",
        "max": "max(i)",
        "mean": "CAST(sum(i) // count(*) AS BIGINT)",
        "sum": f"CAST(least(greatest(sum(i) + {grid.start}, 0), {grid.size - 1}) AS BIGINT)",
    }
    if question.per_user in own:
        return f"SELECT {own[question.per_user]} AS i, 1 AS w FROM r GROUP BY u"
    if question.per_user == "median":
        several = f"SELECT i, 1 AS w FROM ({rank}) WHERE j = (n + 1) // 2"
        return f", p AS MATERIALIZED ({people}) SELECT i, 1 AS w FROM p WHERE n = 1 UNION ALL {several}"
    token = f"{TOKENS} * j // n - {TOKENS} * (j - 1) // n"
    several = f"SELECT i, {token} AS w FROM ({rank})"
    return f", p AS MATERIALIZED ({people}) SELECT i, {TOKENS} AS w FROM p WHERE n = 1 UNION ALL {several}"


def _arrays(counts: dict[str, Any]) -> Placed:
    if "packed" in counts:
        packed = np.sort(np.asarray(counts["packed"], np.int64))
        return counted(packed // PACKED, packed % PACKED)
    return np.asarray(counts["i"], np.int64), np.asarray(counts["w"], np.int64)


def file_dated(path: str, question: ValueQuestion, memory: str | None, multiline: bool) -> bool:
    """From the footer of a parquet file or the header of a CSV file; of JSON lines from nothing."""
    connection = connect(memory)
    try:
        return dated_in(source_of(runner(connection, path), path, question.columns, multiline), question)
    finally:
        connection.close()


def places_in_files(
    path: str,
    question: ValueQuestion,
    grid: Grid,
    memory: str | None,
    multiline: bool,
    progress: Callable[[float], None] | None,
) -> Placed:
    """By a DuckDB of our own, which goes to a private folder of its own when memory is short."""
    connection = connect(memory)
    try:
        before = stamps(path)
        source = source_of(runner(connection, path), path, question.columns, multiline)
        dated_in(source, question)
        check_lines(path, multiline)
        statement = placing(source, question, grid)
        with watched(connection, progress):
            counts = in_one_sentence(f"{path} cannot be counted", lambda: connection.execute(statement).fetchnumpy())
        if stamps(path) != before:
            raise TableError(f"{path} cannot be counted: it changed while it was read")
        return _arrays(counts)
    finally:
        connection.close()


def _source(relation: Any, view: str) -> sql.TableSource:
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    return sql.TableSource(view, {column: quoted(column) for column in types}, types, from_memory=True)


def relation_dated(relation: Any, question: ValueQuestion) -> bool:
    """From names and types alone."""
    question.check_columns(relation.columns)
    return dated_in(_source(relation, "unread"), question)


def places_in_relation(relation: Any, question: ValueQuestion, grid: Grid) -> Placed:
    """In the connection it belongs to."""
    view = fresh()
    statement = placing(_source(relation, view), question, grid)
    try:
        counts = in_one_sentence("the relation cannot be counted", lambda: relation.query(view, statement).fetchnumpy())
        return _arrays(counts)
    finally:
        with contextlib.suppress(Exception):
            relation.query(view, f"DROP VIEW IF EXISTS {view}")
