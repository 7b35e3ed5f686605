"""The names of a table's columns, for who asks for them: from a footer or the first line, and nothing else is read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from shortlist._text import meant
from shortlist.studio.fields import flag_in, separator_in
from shortlist.studio.folder import TABLES, Folder
from shortlist.tables.dialect import SEPARATORS as SEPARATORS_OF_FILES
from shortlist.tables.dialect import TextForm
from shortlist.tables.file_sources import column_names, format_of

MOST = 500
"""So many names are offered at most."""
SHOWN = 8
"""So many are told beside one that is none of them."""
SEPARATORS = (";", "\t", "|")
"""What may stand between fields in place of a comma."""

READ = {
    "parquet": "The footer of the file was read: the names of its columns, no rows.",
    "json": "The first line of the file was read, which is a row of data; only the names of its fields are shown.",
}
HEADER = (
    "The first line of the file was read, nothing else. If it is a person's row, stop here: add a line of names to the "
    "file first."
)
NO_NAME = re.compile(r"[-+]?[\d.,]*\d[\d.,]*(?:[eE][-+]?\d+)?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|.*@.*")
"""A number, a date or an address of mail: what stands in rows, and hardly ever above a column."""
QUOTES = " \"'"
"""What may stand around a cell, with blanks."""


def columns_of(folder: Folder, request: dict[str, Any]) -> dict[str, Any]:
    """What the columns of the chosen table are called, what was read, and what may part its fields.

    Raises
    ------
    ValueError, OSError
        if there is no such table; for JSON lines, whose names stand in rows, unless the first line is allowed; for a
        first line of text that looks like a row of data, without a word of it.
    """
    path = folder.inside(request.get("table"), TABLES, "table")
    kind = format_of(str(path)) or ""
    if kind == "json" and not flag_in(request, "first_line"):
        raise ValueError(
            "table: JSON lines have no header, so the names stand in the first row of data; allow that it is read, or "
            "write the names yourself"
        )
    separator = separator_in(request) if kind == "csv" else None
    header = column_names(str(path), TextForm.of(False, separator))
    if kind not in READ and any(NO_NAME.fullmatch(cell.strip(QUOTES)) for cell in _cells(header)):
        raise ValueError(
            "table: the first line of the file looks like a row of data, so it is not shown; the first line must hold "
            "the names of the columns: add such a line, or write the names yourself if it is one"
        )
    names = [name for name in header if name and name.isprintable()]
    return {
        "columns": names[:MOST],
        "all": kind != "json" and len(names) <= MOST,  # a line of JSON need not have all fields
        "read": READ.get(kind, HEADER),
        "between": next((one for one in SEPARATORS if kind == "csv" and len(header) == 1 and one in header[0]), None),
    }


def _cells(header: list[str]) -> list[str]:
    """What may be cells of a first line that was cut at another separator than its own: one with 3,5 in a line of
    semicolons is cut into two fields, and neither of them looks like a number."""
    between = SEPARATORS_OF_FILES if len(header) == 1 else SEPARATORS_OF_FILES.replace(":", "")  # a name may have one
    return [*header, *(cell for name in header for cell in re.split(f"[{between}]", name))]


def check_columns(request: dict[str, Any], columns: Iterable[tuple[str, str]]) -> None:
    """Compare (field, column) with the names that the page has read, if its user asked for them. No file is opened.

    Raises
    ------
    ValueError
        naming the field, and what the table has instead.
    """
    known = request.get("columns")
    if known is None:
        return
    if not isinstance(known, list) or not known or not all(isinstance(name, str) for name in known):
        raise ValueError("table: read the names of the columns again")
    for field, column in columns:
        if column and column not in known:
            near = meant(column, known) or f"; it has {', '.join(known[:SHOWN])}{', …' if len(known) > SHOWN else ''}"
            raise ValueError(f"{field}: the table has no column {column}{near}")
