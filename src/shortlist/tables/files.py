"""Table files at a path: what DuckDB reads of parquet, CSV and JSON lines, and their columns.

Fields of CSV and JSON lines are text by a fixed dialect: to guess types or separators from the rows would let one
person's row change how another's is read.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO, Any

from shortlist._files import check_path, literal, note_engine, quote_name, spill_folder
from shortlist._runtime import IMPORTS
from shortlist._text import suggest
from shortlist.errors import bad_value
from shortlist.tables.columns import PLAIN, TextForm
from shortlist.tables.dialect import MARK, PACKED_BLOCK, Dialect, check_packing, packing, plain_name, read
from shortlist.tables.errors import TableError, in_one_sentence

FORMATS = {
    ".parquet": "parquet", ".pq": "parquet",
    ".csv": "csv", ".tsv": "tsv",
    ".jsonl": "json", ".ndjson": "json", ".json": "json",
}  # fmt: skip


Run = Callable[[str], list[Any]]
"""Runs one statement in the engine and returns its rows."""


@dataclass(frozen=True, slots=True)
class Source:
    """A table as a statement sees it: what to select from, the expression and the type of each column."""

    relation: str
    columns: dict[str, str]
    types: dict[str, str]
    as_text: bool = False
    """Whether the fields are text whatever they look like, so that a number must be tried."""
    from_memory: bool = False
    """Whether texts may be no UTF-8, which only `decode` looks at, and of which a sort makes other texts."""


def connect(memory: str | None) -> Any:
    """A DuckDB in memory. When it is closed or forgotten it removes what it put on the disk, whatever happens to us."""
    with IMPORTS:
        import duckdb

    if memory is not None and (not isinstance(memory, str) or not re.fullmatch(r"\d+(\.\d+)? ?[KMGT]i?B", memory)):
        raise bad_value('$memory must be a size, for example $memory="512MB"')
    spill = spill_folder()
    settings: dict[str, Any] = {"temp_directory": spill} | ({} if memory is None else {"memory_limit": memory})
    try:
        connection = duckdb.connect(":memory:", config=settings)
        note_engine(spill, connection)
        connection.execute("SET preserve_insertion_order = false")
    except duckdb.Error:
        note_engine(spill, None)
        if memory is None:
            raise
        raise bad_value('$memory must be a size that DuckDB takes, for example $memory="512MB"') from None
    return connection


def runner(connection: Any, path: str) -> Run:
    """Runs statements; what goes wrong is told in one sentence that names the path alone."""

    def run(statement: str) -> list[Any]:
        return in_one_sentence(f"{path} cannot be counted", lambda: connection.execute(statement).fetchall())

    return run


def source_of(run: Run, path: str, wanted: tuple[str, ...], text: TextForm) -> Source:
    """What DuckDB reads at that path, and the types of its columns."""
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory; write {os.path.join(path, '*.parquet')} for the files in it")
    kind = format_of(path)
    if path == "-":
        raise ValueError("standard input is not read, for a table is read twice: write it to a file")
    if kind is None:
        raise ValueError(f"{path}: its name must end in {', '.join(FORMATS)} (.gz or .zst too for text)")
    files, dialect = _files(path), _dialect(path, text)
    for file in files:
        check_packing(file)
        check_path(file)
    if dialect is not None:
        return _text(path, files, dialect)
    return _parquet(run, path, files, wanted) if kind == "parquet" else _json(files, wanted)


def _parquet(run: Run, path: str, files: list[str], wanted: tuple[str, ...]) -> Source:
    """Every file has the same types, for DuckDB would cast the others to those of the first."""
    schemas = [_types(run, file) for file in files]
    if any(types.get(name) != schemas[0].get(name) for types in schemas for name in wanted):
        raise TableError(f"{path} cannot be counted: its files must have the same types in the columns that are read")
    columns = {column: quote_name(column) for column in schemas[0]}
    return Source(f"read_parquet({_file_list(files)})", columns, schemas[0])


def _types(run: Run, file: str) -> dict[str, str]:
    return {row[0]: str(row[1]) for row in run(f"DESCRIBE SELECT * FROM read_parquet({_file_list([file])})")}


def _json(files: list[str], wanted: tuple[str, ...]) -> Source:
    """A field that a line does not have is missing. That no line has it would be told by one person's line."""
    names = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in wanted)
    options = f"format = 'newline_delimited', records = true, columns = {{{names}}}"
    relation = f"read_json({_file_list(files)}{_compression(files)}, {options})"
    columns = {name: quote_name(name) for name in wanted}
    return Source(relation, columns, dict.fromkeys(wanted, "VARCHAR"), as_text=True)


def _text(path: str, files: list[str], dialect: Dialect) -> Source:
    """Every file has the same header, for DuckDB reads the others by position."""
    header = dialect.header(files[0])
    if any(dialect.header(file) != header for file in files[1:]):
        raise TableError(f"{path} cannot be counted: its files must have the same header")
    names = ", ".join(f"'c{n}': 'VARCHAR'" for n in range(len(header)))
    relation = f"read_csv({_file_list(files)}{_compression(files)}, {dialect.options()}, columns = {{{names}}})"
    columns = {name: f"c{n}" for n, name in enumerate(header) if header.count(name) == 1}
    return Source(relation, columns, dict.fromkeys(columns, "VARCHAR"), as_text=True)


def _compression(files: list[str]) -> str:
    """By the ending, as our own check reads the file; in a word that DuckDB 1.5 knows for JSON too."""
    return f", compression = '{packing(files[0])}'"


def _file_list(files: list[str]) -> str:
    """The files, escaped: what DuckDB gets is never a pattern. Folders say nothing: `a=1/` is no column."""
    escaped = ", ".join(literal(glob.escape(file)) for file in files)
    return f"[{escaped}], hive_partitioning = false"


def format_of(path: str) -> str | None:
    """What its ending says that a file is; None for a file of lines."""
    return FORMATS.get(PurePath(plain_name(path)).suffix.lower())


def files_at(path: str) -> list[str]:
    """The files at a path or glob, if there are any."""
    return [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))


def _files(path: str) -> list[str]:
    if "://" in path:
        raise bad_value("$source must be a file on this machine: read others with DuckDB, and give that table")
    files = files_at(path)
    if not files:
        raise FileNotFoundError(f"{path} is not there{_near_file(path)}")
    for file in files:
        if not os.access(file, os.R_OK):
            raise PermissionError(f"{file} may not be read")
        if not os.path.isfile(file):  # a pipe gives other bytes each time it is opened: checked is not what is counted
            raise OSError(f"{file} is no regular file; write the table into one first")
    return [os.path.abspath(file) for file in files]


def _near_file(path: str) -> str:
    """The end of a sentence that says which file may be meant by a path where there is none; empty if nobody knows."""
    try:
        return suggest(os.path.basename(path), sorted(os.listdir(os.path.dirname(path) or ".")))
    except OSError:
        return ""


def stamps(path: str) -> list[tuple[int, ...]]:
    """What changes with the bytes of the files: what was checked must be what is counted."""
    facts = map(os.stat, files_at(path))
    return [(one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns) for one in facts]


def check_lines(path: str, text: TextForm) -> None:
    """Read the bytes of text tables once, and refuse what is outside the dialect (dialect.py), or packed and not whole.

    Of a zstd file that was cut DuckDB counts what is there, and says nothing.
    """
    dialect = _dialect(path, text)
    if dialect is None and packing(path) == "uncompressed":
        return
    for file in _files(path):
        if dialect is None:
            read(file, lambda lines: all(iter(lambda: lines.read(PACKED_BLOCK), b"")))
        else:
            dialect.check(file)


def _dialect(path: str, text: TextForm = PLAIN) -> Dialect | None:
    """How a path's text is written; None for other tables. JSON has no quotes that could run on over lines."""
    kind = format_of(path)
    for name, given in (("multiline", text.multiline), ("separator", text.separator)):
        if given and kind != "csv":
            raise bad_value(f"${name} is for CSV files (.csv): others say themselves how their fields are written")
    if kind == "csv":
        return Dialect(text.separator or ",", quoted=True, multiline=text.multiline)
    return Dialect("\t", quoted=False) if kind == "tsv" else None


def column_names(file: str, text: TextForm = PLAIN) -> list[str]:
    """What the columns of a table file are called, written in that form; a file of lines has none."""
    kind = format_of(file)
    if kind == "parquet":
        with closing(connect(None)) as connection:
            return list(_types(runner(connection, file), os.path.abspath(file)))
    if kind != "json":
        dialect = _dialect(file, text)
        return [] if dialect is None else dialect.header(file)
    line = read(file, _first_line)
    if len(line) > LONGEST_OBJECT:
        raise TableError(f"{file} cannot be read: its first line is longer than 16 MB")
    try:
        parsed = json.loads(line.removeprefix(MARK))
        return list(parsed) if isinstance(parsed, dict) else []
    except (ValueError, RecursionError):
        pass
    raise TableError(f"{file} cannot be read: it is no JSON object a line")


LONGEST_OBJECT = 1 << 24
"""Bytes of a line of JSON: DuckDB's own limit."""


def _first_line(lines: IO[bytes]) -> bytes:
    """The first line that is not blank, cut where it is too long; none after so many bytes of blank lines."""
    blank = 0
    while blank <= LONGEST_OBJECT and (line := lines.readline(LONGEST_OBJECT + 1)):
        if line.strip():
            return line
        blank += len(line)
    return b"{}"


def listing(run: Run, path: str, items: tuple[str, ...]) -> Source:
    """A table file of candidates. It is public, so its fields may hold line breaks."""
    text = TextForm(multiline=format_of(path) == "csv")
    source = source_of(run, path, items, text)
    if any(item not in source.columns for item in items):
        raise bad_value("$candidates: the file must have the item columns, by the same names")
    check_lines(path, text)
    return source


def rows_of_file(path: str, items: tuple[str, ...]) -> list[Any]:
    """The candidates in a file, for tables that are not files."""
    if format_of(path) is None:
        return _lines(path, items)
    with closing(connect(None)) as connection:
        run = runner(connection, path)
        source = listing(run, path, items)
        columns = [source.columns[item] for item in items]
        present = " AND ".join(f"{column} IS NOT NULL" for column in columns)
        return run(f"SELECT DISTINCT {', '.join(columns)} FROM {source.relation} WHERE {present}")


def _lines(path: str, items: tuple[str, ...]) -> list[Any]:
    """One candidate a line; empty lines are none."""
    if len(items) > 1:
        raise ValueError("candidates of several columns come from a table file with those columns, not from lines")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory; name the file with the candidates")
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} is not there: it should hold the candidates, one a line{_near_file(path)}")
    try:
        with open(path, encoding="utf-8-sig", newline=None) as file:
            return [(line,) for line in file.read().split("\n") if line]
    except UnicodeDecodeError:
        pass
    raise TableError(f"{path} cannot be read: the candidates must be UTF-8 text")


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
        raise bad_value(f"$candidates: a file with a column of people, {user!r}, is no public list: give items alone")
