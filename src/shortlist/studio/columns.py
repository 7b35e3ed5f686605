"""The names of a table's columns, for who asks for them: from a footer or a header, and no row is read."""

from __future__ import annotations

from typing import Any

from shortlist.studio.fields import flag_in
from shortlist.studio.folder import TABLES, Folder
from shortlist.tables.file_sources import column_names, format_of

MOST = 500
"""So many names are offered at most."""

READ = {
    "parquet": "The footer of the file was read: the names of its columns, no rows.",
    "json": "The first line of the file was read, which is a row of data; only the names of its fields are shown.",
}
HEADER = "The first line of the file was read: the names of its columns, no rows."


def columns_of(folder: Folder, request: dict[str, Any]) -> dict[str, Any]:
    """What the columns of the chosen table are called, and what was read for it.

    Raises
    ------
    ValueError, OSError
        if there is no such table; for JSON lines, whose names stand in rows, unless the first line is allowed.
    """
    path = folder.inside(request.get("table"), TABLES, "table")
    kind = format_of(str(path)) or ""
    if kind == "json" and not flag_in(request, "first_line"):
        raise ValueError(
            "table: JSON lines have no header, so the names stand in the first row of data; allow that it is read, or "
            "write the names yourself"
        )
    names = [name for name in column_names(str(path)) if name and name.isprintable()]
    return {"columns": names[:MOST], "read": READ.get(kind, HEADER)}
