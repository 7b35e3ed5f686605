"""Votes on a grid by DuckDB: files out of core, relations in their own connection; all in whole tokens."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from shortlist._files import bytewise, quote_name
from shortlist.scores import Grid
from shortlist.tables import sql
from shortlist.tables.column_types import FIRST, LAST, check_user, kind_of
from shortlist.tables.dialect import TextForm
from shortlist.tables.errors import TableError, fresh, in_one_sentence
from shortlist.tables.file_sources import check_lines, connect, runner, source_of, stamps
from shortlist.tables.groups.in_duckdb import kept_groups, numbered_groups
from shortlist.tables.progress import watched
from shortlist.tables.values import (
    SATURATED,
    TOKENS,
    Looked,
    Placed,
    PlacedGroups,
    ValueQuestion,
    added,
    is_dated,
    parted,
)

WIDE = 1 << 20
"""On grids of more points places are not grouped in the engine."""
BITS = 17
PACKED = 1 << BITS
"""A place below 2^40 and at most 2^16 tokens fit into 64 bits, and sort by place."""


def look_at(source: sql.TableSource, question: ValueQuestion) -> Looked:
    """Whether values are dates, and refusals, from names and types alone. Text files have what the bounds are."""
    question.check_columns(source.columns, declared=not source.as_text)
    if question.user is not None:
        check_user(question.user, sql.declared(source.types[question.user]))
    dated = question.grid.kind == "date"
    if not source.as_text:
        dated = is_dated(question.value, sql.declared(source.types[question.value]))
    return question.looked_at(dated, source.declared, sql.TYPES, source.written)


def placing_groups(source: sql.TableSource, question: ValueQuestion, grid: Grid, lists: bool = True) -> str:
    """The statement that gives groups, places and weights, added up: one vote for each person in a group."""
    grouping = question.grouping
    assert grouping is not None
    listed, kinds = question.listed(source.declared, source.written)
    user = "" if question.user is None else "u, "
    rows = f"SELECT {user}n, i FROM ({_rows(source, question, grid)}) JOIN listed USING ({', '.join(grouping.keys)})"
    parts = [f"listed AS MATERIALIZED (SELECT {numbered_groups(listed, kinds, grouping)})"]
    if question.user is None:
        votes = f"WITH {', '.join(parts)} SELECT n, i, 1 AS w FROM ({rows})"
    else:
        steps, last = kept_groups(rows, grouping, "listed", listed)
        parts += [*steps, f"r AS MATERIALIZED (SELECT * FROM {last})"]
        votes = f"WITH {', '.join(parts)} {_votes(question, grid, lists, 'u, n', 'n, ')}"
    return f"SELECT n, i, CAST(sum(w) AS BIGINT) AS w FROM ({votes}) GROUP BY n, i HAVING sum(w) > 0"


def placing(source: sql.TableSource, question: ValueQuestion, grid: Grid, lists: bool = True) -> str:
    """The statement that gives places and weights: added up and in order, or packed into one number each.

    Where each row is a person, and hardly two have one place, it gives the places alone.
    """
    rows = _rows(source, question, grid)
    if question.user is None:
        if grid.size > WIDE:
            return f"SELECT i AS place FROM ({rows})"
        votes = f"SELECT i, 1 AS w FROM ({rows})"
    else:
        votes = f"WITH r AS MATERIALIZED ({rows}) {_votes(question, grid, lists)}"
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
    keys = [f"{_key(source, column)} AS {ours}" for ours, column in question.keys.items()]
    present += [f"{ours} IS NOT NULL" for ours in question.keys]
    inner = f"SELECT {', '.join([*user, *keys, f'{number} AS v'])} FROM {source.relation}"
    shown = ", ".join([*(["u"] if user else []), *question.keys, f"{place} AS i"])
    return f"SELECT {shown} FROM ({inner}) WHERE {' AND '.join(present)}"


def _key(source: sql.TableSource, column: str) -> str:
    """A part of the key of a group; a text from memory is looked at, as a user is."""
    if source.from_memory and kind_of(sql.declared(source.types[column])) == "text":
        return bytewise(f"decode(encode(CAST({source.columns[column]} AS VARCHAR)))")
    return source.item(column)


def _number(source: sql.TableSource, question: ValueQuestion, grid: Grid) -> str:
    """The value as a DOUBLE; a day by its ordinal."""
    if grid.kind != "date":
        return source.number(question.value)
    day = source.columns[question.value]
    day = f"TRY_CAST({day} AS DATE)" if source.as_text else day
    inside = f"CASE WHEN {day} BETWEEN DATE '{FIRST}' AND DATE '{LAST}' THEN {day} END"
    return f"CAST(date_diff('day', DATE '{FIRST}', {inside}) + 1 AS DOUBLE)"


def _votes(question: ValueQuestion, grid: Grid, lists: bool, person: str = "u", group: str = "") -> str:
    """(i, w) of every person, from r(u, i): a window of that person's rows alone, in the order of places.

    Of groups (n, i, w), from r(u, n, i): a person is one in each of them.
    """
    rows = f"FROM r SEMI JOIN (SELECT {person} FROM p WHERE held > 1) AS more USING ({person})"
    if lists:  # far faster than windows, but of lists all must fit into memory
        sorted_rows = f"SELECT {group}list_sort(list(i)) AS own {rows} GROUP BY {person}"
        parts = "unnest(own) AS i, generate_subscripts(own, 1) AS j, len(own) AS held"
        rank = f"SELECT {group}{parts} FROM ({sorted_rows})"
    else:
        order = f"row_number() OVER (PARTITION BY {person} ORDER BY i) AS j"
        rank = f"SELECT {group}i, {order}, count(*) OVER (PARTITION BY {person}) AS held {rows}"
    people = f"SELECT {person}, count(*) AS held, min(i) AS i FROM r GROUP BY {person}"
    own = {
        "min": "min(i)",
        "max": "max(i)",
        "mean": "CAST(sum(i) // count(*) AS BIGINT)",
        "sum": f"CAST(least(greatest(sum(i) + {grid.start}, 0), {grid.size - 1}) AS BIGINT)",
    }
    if question.per_user in own:
        return f"SELECT {group}{own[question.per_user]} AS i, 1 AS w FROM r GROUP BY {person}"
    whole, weight, some = TOKENS, f"{TOKENS} * j // held - {TOKENS} * (j - 1) // held", ""
    if question.per_user == "median":
        whole, weight, some = 1, "1", " WHERE j = (held + 1) // 2"
    several = f"SELECT {group}i, {weight} AS w FROM ({rank}){some}"
    one = f"SELECT {group}i, {whole} AS w FROM p WHERE held = 1"
    return f", p AS MATERIALIZED ({people}) {one} UNION ALL {several}"


def _arrays(counts: dict[str, Any]) -> Placed:
    if "place" in counts:  # of one vote each
        places = np.asarray(counts["place"], np.int64)
        places.sort()
        return added(places, np.ones(len(places), np.int64))
    if "packed" in counts:
        packed = np.asarray(counts["packed"], np.int64)
        packed.sort()
        return added(packed >> BITS, packed & (PACKED - 1))
    return np.asarray(counts["i"], np.int64), np.asarray(counts["w"], np.int64)


Statement = Callable[[sql.TableSource, bool], str]
"""By a table, and by whether a person's rows may be held as lists."""


def _counts(execute: Callable[[str], Any], statement_of: Statement, source: sql.TableSource) -> dict[str, Any]:
    """What the statement gives; where memory is too short for lists, by windows, which go to the disk."""
    for lists in (True, False):
        try:
            counts: dict[str, Any] = execute(statement_of(source, lists)).fetchnumpy()
            return counts
        except Exception as error:
            if not lists or type(error).__name__ != "OutOfMemoryException":
                raise
    raise AssertionError


def _parted(counts: dict[str, Any], question: ValueQuestion) -> PlacedGroups:
    assert question.grouping is not None
    assert question.grouping.listed is not None
    groups, places, weights = (np.asarray(counts[name], np.int64) for name in ("n", "i", "w"))
    return parted(groups, places, weights, len(question.grouping.listed))


def look_at_file(path: str, question: ValueQuestion, memory: str | None, text: TextForm) -> Looked:
    """From the footer of a parquet file or the header of a CSV file; of JSON lines from nothing."""
    connection = connect(memory)
    try:
        return look_at(source_of(runner(connection, path), path, question.columns, text), question)
    finally:
        connection.close()


def places_in_files(
    path: str,
    question: ValueQuestion,
    grid: Grid,
    memory: str | None,
    text: TextForm,
    progress: Callable[[float], None] | None,
) -> Placed:
    """By a DuckDB of our own, which goes to a private folder of its own when memory is short."""
    return _arrays(
        _from_files(
            path, question, memory, text, progress, lambda source, lists: placing(source, question, grid, lists)
        )
    )


def groups_in_files(
    path: str,
    question: ValueQuestion,
    grid: Grid,
    memory: str | None,
    text: TextForm,
    progress: Callable[[float], None] | None,
) -> PlacedGroups:
    """The same for every group."""
    counts = _from_files(
        path, question, memory, text, progress, lambda source, lists: placing_groups(source, question, grid, lists)
    )
    return _parted(counts, question)


def _from_files(
    path: str,
    question: ValueQuestion,
    memory: str | None,
    text: TextForm,
    progress: Callable[[float], None] | None,
    statement_of: Statement,
) -> dict[str, Any]:
    connection = connect(memory)
    try:
        before = stamps(path)
        source = source_of(runner(connection, path), path, question.columns, text)
        look_at(source, question)
        check_lines(path, text)
        with watched(connection, progress):
            counts = in_one_sentence(
                f"{path} cannot be counted", lambda: _counts(connection.execute, statement_of, source)
            )
        if stamps(path) != before:
            raise TableError(f"{path} cannot be counted: it changed while it was read")
        return counts
    finally:
        connection.close()


def _source(relation: Any, view: str) -> sql.TableSource:
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    return sql.TableSource(view, {column: quote_name(column) for column in types}, types, from_memory=True)


def look_at_relation(relation: Any, question: ValueQuestion) -> Looked:
    """From names and types alone."""
    question.check_columns(relation.columns)
    return look_at(_source(relation, "unread"), question)


def places_in_relation(relation: Any, question: ValueQuestion, grid: Grid) -> Placed:
    """In the connection it belongs to."""
    return _arrays(_from_relation(relation, lambda source, lists: placing(source, question, grid, lists)))


def groups_in_relation(relation: Any, question: ValueQuestion, grid: Grid) -> PlacedGroups:
    """The same for every group."""
    return _parted(
        _from_relation(relation, lambda source, lists: placing_groups(source, question, grid, lists)), question
    )


def _from_relation(relation: Any, statement_of: Statement) -> dict[str, Any]:
    view = fresh()
    source = _source(relation, view)

    def execute(statement: str) -> Any:
        return relation.query(view, statement)

    try:
        return in_one_sentence("the relation cannot be counted", lambda: _counts(execute, statement_of, source))
    finally:
        with contextlib.suppress(Exception):
            relation.query(view, f"DROP VIEW IF EXISTS {view}")
