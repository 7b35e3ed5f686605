"""Public lists of candidates and of groups: read in whatever form they come, and refused where they are the table.

A list is refused if it is visibly the private table: the same object, file or memory. Only identities, paths and
addresses are compared, never cells, so a refusal does not depend on the data. A copy, such as `column.unique()`, cannot
be told from a public list. Categories of a column are a part of its type, and may have been declared: they are not
refused.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from shortlist._runtime import IMPORTS
from shortlist.errors import Text, bad_value
from shortlist.tables.column_types import Kind, Row, check_texts, fit_rows
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.files import files_at, rows_of_file

ENGINES = {"duckdb", "_duckdb", "ibis", "pyspark"}
UNREAD = "the candidates cannot be read"
WRONG = Text("$candidates must be a list, a series, a frame, a path or a query that gives the item columns")
Span = tuple[int, int]
"""Addresses, from the first byte to after the last."""
FEW = 100
"""A list with more parts is not one of columns."""


def family_of(value: object) -> set[str]:
    """Return the libraries that the type of a value comes from."""
    return {kind.__module__.partition(".")[0] for kind in type(value).__mro__}


def fit_list(candidates: Any, items: tuple[str, ...], kinds: Collection[Kind], written: Collection[str]) -> list[Row]:
    """Return one tuple per distinct candidate, in the kinds of the item columns and in the order given.

    The list is public, so its errors may depend on it. `written` are columns of text whatever it looks like.
    """
    rows = _read_rows(candidates, items)
    if not rows:
        raise bad_value("$candidates must not be empty: there is nothing to choose from")
    if any(type(None) in set(map(type, cells)) for cells in zip(*rows, strict=True)):
        raise bad_value("$candidates must not be missing; drop the empty ones")
    check_texts("candidates", "item", items, kinds, written, rows)
    return fit_rows(rows, kinds)


def list_in_words(candidates: Any, items: tuple[str, ...]) -> str:
    """Describe a public list for the record: by a hash of its cells, in any order; a query of an engine by its kind."""
    if candidates is None:
        return ""
    if isinstance(candidates, Mapping):
        lists = sorted(f"{key!r}: {list_in_words(one, items)}" for key, one in candidates.items())
        return f"candidates of {len(lists):,} groups of sha256 {_digest(lists)}"
    engines = family_of(candidates) & ENGINES
    if engines and not isinstance(candidates, str | os.PathLike):
        return f"candidates by a query of {min(engines).removeprefix('_')}"
    lines = sorted(set(map(repr, _read_rows(candidates, items))))
    return f"{len(lines):,} candidates of sha256 {_digest(lines)}"


def are_a_candidate(names: tuple[str, ...], candidates: object) -> bool:
    """Whether columns are called like one of the public candidates: the line with their names is then a row of data."""
    return names in fit_list(candidates, names, ["text"] * len(names), names)


def _digest(lines: list[str]) -> str:
    """Return the SHA-256 of the lines, each with its end."""
    ends = "\n" if lines else ""
    return hashlib.sha256(("\n".join(lines) + ends).encode(errors="backslashreplace")).hexdigest()


def _read_rows(candidates: Any, items: tuple[str, ...]) -> list[Row]:
    """Return the candidates as tuples, as they come."""
    family, width = family_of(candidates), len(items)
    if isinstance(candidates, str | os.PathLike):
        return rows_of_file(os.fspath(candidates), items)
    if family & {"duckdb", "_duckdb"}:
        with IMPORTS:
            import duckdb

        return in_one_sentence(UNREAD, lambda: candidates.select(*map(duckdb.ColumnExpression, items)).fetchall())
    if family & {"pandas", "polars", "pyarrow"}:
        return _rows_of_frame(candidates, items)
    if isinstance(candidates, Mapping | bytes) or not isinstance(candidates, Iterable):
        raise TypeError(WRONG)
    return _as_tuples(candidates.tolist() if hasattr(candidates, "tolist") else candidates, width)


def _rows_of_frame(candidates: Any, items: tuple[str, ...]) -> list[Row]:
    with IMPORTS:
        import narwhals as nw

    native = nw.from_native(candidates, allow_series=True, pass_through=True)
    if isinstance(native, nw.LazyFrame):
        native = in_one_sentence(UNREAD, native.collect)
    if not isinstance(native, nw.DataFrame):  # a series, a pandas index, an arrow array
        read = native.to_list if isinstance(native, nw.Series) else getattr(candidates, "to_pylist", None)
        return _as_tuples(in_one_sentence(UNREAD, read or candidates.tolist), len(items))
    if any(name not in native.columns for name in items):
        raise bad_value("$candidates: the frame must have the item columns, by the same names")
    frame = native.select(*items)
    return in_one_sentence(UNREAD, lambda: list(frame.iter_rows()))


def _as_tuples(cells: Iterable[Any], width: int) -> list[Row]:
    if width == 1:
        return [(one,) for one in cells]
    rows = list(cells)
    if any(not isinstance(one, tuple | list) or len(one) != width for one in rows):
        raise bad_value(f"$candidates must be tuples of {width}: one part for each item column")
    return list(map(tuple, rows))


def check_public_list(name: str, listed: Any, table: Any) -> None:
    """Refuse the table itself, its file, and whatever shares memory with one of its columns.

    Raises
    ------
    ValueError
        naming the argument, and nothing that is in it.
    """
    if listed is None:
        return
    parts = [listed]
    if isinstance(listed, Mapping):
        parts += listed.values()
    elif isinstance(listed, list | tuple) and len(listed) <= FEW:
        parts += [one for one in listed if not isinstance(one, str | os.PathLike)]  # a label is no path
    if any(one is table or _is_same_file(one, table) or _is_of_ibis(one, table) for one in parts):
        raise ValueError(REFUSED.format(name=name, what="the table itself"))
    known = [span for one in parts for span in _spans(one)]
    if known and _overlap(known, _spans(table)):
        raise ValueError(REFUSED.format(name=name, what="a column of the table"))


REFUSED = (
    "{name}: {what} is not a public list. Give a list that does not come from the table; if its names are private, "
    "leave it out and give a delta"
)


def _is_same_file(listed: Any, table: Any) -> bool:
    if not (isinstance(listed, str | os.PathLike) and isinstance(table, str | os.PathLike)):
        return False
    try:
        files = files_at(os.fspath(table))
        return any(os.path.samefile(one, other) for one in files_at(os.fspath(listed)) for other in files)
    except (OSError, ValueError):
        return False


def _is_of_ibis(listed: Any, table: Any) -> bool:
    """Whether an Ibis expression is that table, or columns of it as they are. Nothing is run."""
    if not all(type(one).__module__.startswith("ibis.") and hasattr(one, "op") for one in (listed, table)):
        return False
    part, whole = listed.op(), table.op()
    columns = list(part.values.values()) if type(part).__name__ == "Project" else [part]
    return _is_same_table(part, whole) or all(_is_same_table(getattr(one, "rel", None), whole) for one in columns)


def _is_same_table(one: Any, other: Any) -> bool:
    """Whether two nodes are one table: one object, or one name in one connection, asked for twice alike."""
    if one is other:
        return True
    return all(type(node).__name__ == "DatabaseTable" for node in (one, other)) and bool(one == other)


def _overlap(some: list[Span], others: list[Span]) -> bool:
    """Whether one of some and one of the others have a byte in common."""
    marks = sorted([(*span, 0) for span in some] + [(*span, 1) for span in others])
    ends = [-1, -1]
    for start, end, side in marks:
        if start < ends[1 - side]:
            return True
        ends[side] = max(ends[side], end)
    return False


def _spans(value: Any) -> list[Span]:
    """Where the cells of a frame, a series or an array are; nothing where that cannot be told without copying them."""
    library = next((one for one in SPANS if any(of.__module__.startswith(one) for of in type(value).__mro__)), None)
    if library is None:
        return []
    try:
        return [(start, end) for start, end in SPANS[library](value) if start < end]
    except Exception:  # another version of the library: the list is then taken for public, as a copy is
        return []


def _of_numpy(array: Any) -> Iterator[Span]:
    if isinstance(array, np.ndarray):
        yield np.lib.array_utils.byte_bounds(array)


def _of_pandas(value: Any) -> Iterator[Span]:
    columns = [value.iloc[:, n] for n in range(value.shape[1])] if value.ndim == 2 else [value]
    for column in columns:
        array = getattr(column, "array", column)
        for name in ("_ndarray", "_data", "_codes"):
            yield from _of_numpy(getattr(array, name, None))
        if hasattr(array, "_pa_array"):
            yield from _of_pyarrow(array._pa_array)


def _of_polars(value: Any) -> Iterator[Span]:
    import polars as pl

    if not isinstance(value, pl.DataFrame | pl.Series):
        return
    for column in value if isinstance(value, pl.DataFrame) else [value]:
        if not column.dtype.is_nested():
            for chunk in column.to_physical().get_chunks():  # several at once would be copied
                yield from _of_pyarrow(chunk.to_arrow(compat_level=pl.CompatLevel.newest()))


def _of_pyarrow(value: Any) -> Iterator[Span]:
    import pyarrow as pa

    if isinstance(value, pa.Table | pa.RecordBatch):
        for column in value.columns:
            yield from _of_pyarrow(column)
    for array in value.chunks if isinstance(value, pa.ChunkedArray) else [value]:
        if isinstance(array, pa.Array):
            yield from _of_array(array.indices if isinstance(array, pa.DictionaryArray) else array)


def _of_array(array: Any) -> Iterator[Span]:
    """Numbers, offsets and letters. Of a view array not the letters: a join shares these with a list that is public."""
    import pyarrow as pa

    if pa.types.is_nested(array.type):
        return
    views = str(array.type) in ("string_view", "binary_view")
    for buffer in array.buffers()[1 : 2 if views else None]:
        if buffer is not None:
            yield buffer.address, buffer.address + buffer.size


SPANS: dict[str, Callable[[Any], Iterator[Span]]] = {
    "pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_pyarrow, "numpy": _of_numpy,
}  # fmt: skip
"""By the module of the type."""
