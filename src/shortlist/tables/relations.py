"""DuckDB relations, counted in the connection they belong to."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any

from shortlist._files import quote_name
from shortlist.release_io import own_frame
from shortlist.tables import sql
from shortlist.tables.candidates import known_rows
from shortlist.tables.errors import fresh, in_one_sentence
from shortlist.tables.groups.held import GroupHeld
from shortlist.tables.groups.in_duckdb import Names, held_groups
from shortlist.tables.question import Question


def count_relation(relation: Any, question: Question, candidates: object) -> sql.DuckDBCounts | GroupHeld:
    """The counts in a temporary table of the relation's own connection, dropped with the scores."""
    view, table = fresh(), fresh()
    try:
        return _counted(relation, view, table, question, candidates)
    except BaseException:
        _forget(relation, view, table, *Names(table).all)  # the connection lives on: no counts may stay in it
        raise


def _counted(
    relation: Any, view: str, table: str, question: Question, candidates: object
) -> sql.DuckDBCounts | GroupHeld:
    def run(statement: str) -> list[Any]:
        def ask() -> list[Any]:
            result = relation.query(view, statement)
            return [] if result is None else result.fetchall()

        return in_one_sentence("the relation cannot be counted", ask)

    question.check_columns(relation.columns)
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    source = sql.TableSource(view, {column: quote_name(column) for column in types}, types, from_memory=True)
    source.check(question)
    kinds = [source.kind(item) for item in question.items]
    frame = own_frame("duckdb", [sql.TYPES[kind] for kind in kinds])
    if question.grouping is not None:
        keys = [sql.TYPES[kind] for kind in question.grouping.kinds(source.declared)]
        names = Names(table)
        grouped = held_groups(
            run, source, question, candidates,
            lambda: sql.listed(known_rows(candidates, question.items, kinds), source, question), names,
            own_frame("duckdb", [*keys, *(sql.TYPES[kind] for kind in kinds)]),
        )  # fmt: skip
        weakref.finalize(grouped.engine, _forget, relation, view, *names.all)
        return grouped
    known = None
    if candidates is not None:
        known = sql.listed(known_rows(candidates, question.items, kinds), source, question)
    held = sql.matched(sql.counting(source, question, known), known, question)
    run(f"CREATE TEMP TABLE {table} AS {held}")
    texts = [key for key, kind in zip(question.keys, kinds, strict=True) if kind == "text"]
    if texts:  # taken over from memory they may be no UTF-8, which only `decode` looks at: refuse now, not when named
        run(f"SELECT {', '.join(f'max(length(decode(encode({key}))))' for key in texts)} FROM {table}")
    counts = sql.DuckDBCounts(run, table, question.keys, frame, question.weighted)
    weakref.finalize(counts, _forget, relation, view, table)
    return counts


def _forget(relation: Any, view: str, *tables: str) -> None:
    with contextlib.suppress(Exception):  # the caller may have closed the connection
        for table in tables:
            relation.query(view, f"DROP TABLE IF EXISTS {table}")
        relation.query(view, f"DROP VIEW IF EXISTS {view}")
