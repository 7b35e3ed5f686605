"""Refuse, as a public list, what is visibly the private table: the same object, file or memory.

Only identities, paths and addresses are compared, never cells, so a refusal does not depend on the data. A copy, such
as `column.unique()`, cannot be told from a public list. Categories of a column are a part of its type, and may have
been declared: they are not refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from shortlist.tables.file_sources import files_at

Span = tuple[int, int]
"""Addresses, from the first byte to after the last."""
FEW = 100
"""A list with more parts is not one of columns."""


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
