"""Files of parquet, CSV and JSON lines, counted by DuckDB out of core."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shortlist._arrays import Indices
from shortlist.errors import bad_value
from shortlist.tables import sql
from shortlist.tables.candidates import known_rows
from shortlist.tables.column_types import Row, kind_of
from shortlist.tables.dialect import PLAIN, TextForm
from shortlist.tables.errors import TableError
from shortlist.tables.file_sources import (
    check_lines,
    column_names,
    connect,
    files_at,
    format_of,
    listing,
    runner,
    source_of,
    stamps,
)
from shortlist.tables.groups.grouping import candidates_of_groups
from shortlist.tables.groups.held import GroupHeld
from shortlist.tables.groups.in_duckdb import Names, held_groups, listed_groups
from shortlist.tables.progress import watched
from shortlist.tables.question import Question

TABLE = "counts"
KNOWN = "known_candidates"


def count_files(
    path: str,
    question: Question,
    candidates: object,
    memory: str | None,
    text: TextForm,
    progress: Callable[[float], None] | None,
) -> sql.DuckDBCounts | GroupHeld:
    """The counts in a DuckDB of our own, which goes to a private folder of its own when memory is short.

    It ends with the counts, and removes its files then without any code of ours: an interrupt cannot keep it from that.
    """
    connection = connect(memory)
    try:
        return _counted(connection, path, question, candidates, text, progress)
    except BaseException:
        connection.close()  # whoever keeps the error keeps our frames, but not the rows
        raise


def _counted(
    connection: Any,
    path: str,
    question: Question,
    candidates: object,
    text: TextForm,
    progress: Callable[[float], None] | None,
) -> sql.DuckDBCounts | GroupHeld:
    counts = sql.DuckDBCounts(runner(connection, path), TABLE, question.keys, None, question.weighted)
    before = stamps(path)
    source = source_of(counts.run, path, question.columns, text)
    question.check_columns(source.columns, declared=not source.as_text)
    source.check(question)
    if question.grouping is not None:
        with watched(connection, progress):
            grouped = held_groups(
                counts.run, source, question, candidates, lambda: _known(counts.run, candidates, source, question),
                Names("counts"), before=lambda: check_lines(path, text),
            )  # fmt: skip
        _check_same(path, before)
        return grouped
    known = None if candidates is None else _known(counts.run, candidates, source, question)
    if known is not None:  # a table of its own: of a statement with a list in it DuckDB tells no progress
        counts.run(f"CREATE TEMP TABLE {KNOWN} AS {known}")
        known = f"SELECT * FROM {KNOWN}"
    held = sql.matched(sql.counting(source, question, known), known, question)
    check_lines(path, text)
    with watched(connection, progress):
        counts.run(f"CREATE TEMP TABLE {TABLE} AS {held}")
    _check_same(path, before)
    return counts


def _check_same(path: str, before: list[tuple[int, ...]]) -> None:
    if stamps(path) != before:
        raise TableError(f"{path} cannot be counted: it changed while it was read")


def check_file(
    path: str, question: Question, candidates: object, memory: str | None = None, text: TextForm = PLAIN
) -> int | None:
    """Refuse a file that lacks the columns, before anything is charged for it; the number of candidates, if public.

    Only names and types are looked at: the footer of a parquet file, the header of a CSV file, nothing of JSON lines.
    """
    connection = connect(memory)
    try:
        run = runner(connection, path)
        source = source_of(run, path, question.columns, text)
        question.check_columns(source.columns, declared=not source.as_text)
        source.check(question)
        if candidates is None:
            return None
        known = _known(run, candidates, source, question)
        return int(run(f"SELECT count(*) FROM (SELECT DISTINCT {', '.join(question.keys)} FROM ({known}))")[0][0])
    finally:
        connection.close()


def check_groups_of_file(
    path: str, question: Question, candidates: object, memory: str | None = None, text: TextForm = PLAIN
) -> tuple[Indices | None, list[Row] | None]:
    """The same for groups: (how many candidates each of them has, their keys), where these are public."""
    single = None if isinstance(candidates, Mapping) else candidates
    number = check_file(path, question, single, memory, text)
    connection = connect(memory)
    try:
        source = source_of(runner(connection, path), path, question.columns, text)
        listed = listed_groups(source, question)
        lists = candidates_of_groups(candidates, listed)
        kinds = [source.kind(item) for item in question.items]
        if lists is not None:
            return np.array(
                [len(known_rows(one, question.items, kinds, source.written)) for one in lists], np.int64
            ), listed
    finally:
        connection.close()
    return None if number is None else np.full(len(listed or ()), number, np.int64), listed


def check_public(candidates: str, table: str, user: str) -> None:
    """Refuse, as a public list, the table itself or a file with its column of people, by headers and footers alone.

    Of JSON lines, which have no header, the first line is looked at. A private list without that column cannot be told
    from a public one.

    Raises
    ------
    ValueError
        saying why the file can be no public list.
    """
    listed = files_at(candidates)
    names = {name.strip().casefold() for file in listed if os.path.isfile(file) for name in column_names(file)}
    if user.strip().casefold() in names:
        raise bad_value(
            f"$candidates: that file has a column {user!r}, of people, so it is no public list; give a file with the "
            "items alone, or none if their names are private"
        )


def _known(run: sql.Run, candidates: object, source: sql.TableSource, question: Question) -> str:
    """Candidates as a statement; a table file with the same kinds of columns stays in the engine."""
    kinds = [source.kind(item) for item in question.items]
    if not isinstance(candidates, str | os.PathLike) or format_of(path := os.fspath(candidates)) is None:
        return sql.listed(known_rows(candidates, question.items, kinds, source.written), source, question)
    listed = listing(run, path, question.items)
    if kinds != [kind_of(sql.declared(listed.types[item])) for item in question.items]:
        return sql.listed(known_rows(path, question.items, kinds, source.written), source, question)
    parts = [f"{listed.item(item)} AS {key}" for key, item in zip(question.keys, question.items, strict=True)]
    present = " AND ".join(f"{key} IS NOT NULL" for key in question.keys)
    statement = f"SELECT * FROM (SELECT {', '.join(parts)} FROM {listed.relation}) WHERE {present}"
    if not run(f"SELECT 1 FROM ({statement}) LIMIT 1"):
        raise bad_value("$candidates must not be empty: there is nothing to choose from")
    return statement
